"""A second opinion on schedules, by the model checker Spin.

:func:`check` writes the model of a kernel in Promela (``tilews-translate
--to=promela``), and lets Spin explore all of its runs. The model has its own semantics
of channels and barriers; it shares no rule with the verifier. docs/promela.md describes
it.

Spin is the Debian package ``spin``. It needs a C compiler.
"""

from ._comparison import Comparison, compare
from ._explore import MissingSpin, SpinVerdict, check, explore, export_model

__all__ = [
    "Comparison",
    "MissingSpin",
    "SpinVerdict",
    "check",
    "compare",
    "explore",
    "export_model",
]
