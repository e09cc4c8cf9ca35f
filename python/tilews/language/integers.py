"""Integers that a kernel is built with: numbers of stages, threads, panels, ..."""

from __future__ import annotations

from typing import Any

from ..errors import LanguageError
from .values import describe

#: What an i32 attribute holds.
INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1


def as_integer(value: Any) -> int | None:
    """A Python or numpy integer as a Python integer; None for everything else.

    True is no integer here: what is a count or a place was not meant to be a truth
    value.
    """
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        value = value.item()  # A scalar of numpy.
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def check_integer(
    value: Any, what: str, low: int = 1, high: int = INT32_MAX, multiple: int = 1
) -> int:
    """A Python or numpy integer in a range, as a Python integer.

    Raises:
        LanguageError: it is something else; nothing is rounded, or wraps around.
    """
    number = as_integer(value)
    if number is None or not low <= number <= high or number % multiple:
        kind = "an integer" if multiple == 1 else f"a multiple of {multiple}"
        found = describe(value if number is None else number)
        raise LanguageError(f"{what} is {kind} from {low} to {high}, found {found}")
    return number
