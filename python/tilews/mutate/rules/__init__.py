"""Rules by which mutants are equivalent, as far as the IR shows."""

from __future__ import annotations

from ._channel_rules import original_of, same_program
from ._joint_rules import JOINT_RULES
from ._needless_rules import RULES

__all__ = ["JOINT_RULES", "RULES", "original_of", "same_program"]
