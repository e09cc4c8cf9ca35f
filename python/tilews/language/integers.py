"""Integers that a kernel is built with: numbers of stages, threads, panels, ...

A kernel from the cache on disk is launched without the other modules of the language,
so that this one imports them where a value is no number.
"""

from __future__ import annotations

from typing import Any

from ..errors import LanguageError

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
        from .values import describe

        found = describe(value if number is None else number)
        raise LanguageError(f"{what} is {kind} from {low} to {high}, found {found}")
    return number


def static_shape(shape: Any, what: str) -> tuple[int, ...]:
    """A shape of positive Python integers; one integer is a shape of rank one.

    Raises:
        LanguageError: an extent is not a number, or known only at launch.
    """
    if not isinstance(shape, (tuple, list)):
        from .arithmetic import is_number
        from .values import Scalar, describe

        if not (is_number(shape) or isinstance(shape, Scalar)):
            raise LanguageError(f"{what}: expected a shape, found {describe(shape)}")
        shape = (shape,)
    for extent in shape:
        if as_integer(extent) is None and isinstance(extent, _scalar_class()):
            raise LanguageError(
                f"{what}: the shape has an extent known only at launch",
                "make it a constexpr parameter or fix it with compile(NAME=...)",
            )
    return tuple(_extent(extent, what) for extent in shape)


def _scalar_class() -> type:
    from .values import Scalar

    return Scalar


def _extent(extent: Any, what: str) -> int:
    if isinstance(extent, float) and extent.is_integer():
        extent = int(extent)  # The result of an exact division.
    return check_integer(extent, f"{what}: an extent")
