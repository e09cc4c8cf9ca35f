"""Compares Spin with the verifier."""

from __future__ import annotations

import dataclasses
from typing import Any

from .. import ir, passes
from ..errors import CompileError
from ._explore import SpinVerdict, check


@dataclasses.dataclass(frozen=True)
class Comparison:
    """What the verifier and Spin say of a kernel.

    Attributes:
        verdict: Of the verifier: ``"proved"``, ``"wrong"`` or ``"unsupported"``.
        reason: The verifier's fault or obstacle.
        spin: What Spin says.
    """

    verdict: str
    reason: str
    spin: SpinVerdict

    @property
    def outcome(self) -> str:
        """Whether they agree.

        ``"agreed"``, ``"missed by the verifier"``, ``"missed by Spin"``, or
        ``"open"``: one of the two has no verdict.
        """
        has_spin = self.spin.outcome in ("right", "wrong")
        if self.verdict == "unsupported" or not has_spin:
            return "open"
        if (self.verdict == "proved") == (self.spin.outcome == "right"):
            return "agreed"
        if self.verdict == "proved":
            return "missed by the verifier"
        return "missed by Spin"

    def __str__(self) -> str:
        return f"{self.outcome}\nverifier: {self.verdict} {self.reason}".rstrip() + (
            f"\nspin: {self.spin}"
        )


def ask_verifier(text: str) -> tuple[str, str]:
    """The verifier's verdict on the kernel in a module, and the reason for it."""
    with ir.Context(), ir.Location.unknown():
        try:
            remarks = passes.verify_schedule(ir.Module.parse(text), report=True)
        except CompileError as error:
            return "wrong", str(error).split("\n")[0]
    for remark in remarks:
        if "tile-verify-0001" in remark:
            return "unsupported", remark.split("\n")[0]
    return "proved", ""


def compare(text: str, **options: Any) -> Comparison:
    """Asks the verifier and Spin about the kernel in a module.

    Args:
        text: The module.
        options: Those of :func:`tilews.spin.check`.

    Raises:
        MissingSpin: Spin or a C compiler is not installed.
    """
    verdict, reason = ask_verifier(text)
    return Comparison(verdict, reason, check(text, **options))
