"""Elementwise functions of unsigned integers, and of the bits of integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dialects import arith
from ..dialects import math as math_ops
from ..errors import LanguageError
from .arithmetic import unify, unsigned
from .integers import check_integer
from .types import i32, u32
from .values import Value, wrap


def udiv(lhs: Any, rhs: Any) -> Any:
    """``lhs // rhs`` of unsigned integers; all bits are set where `rhs` is zero.

    Args:
        lhs, rhs: fragments, scalars or numbers of one integer type.

    Raises:
        LanguageError: the operands are no integers, or their types differ.

    Example:
        >>> tl.udiv(tl.full((2,), -1, tl.i8), 2).to(tl.i32)
        [127, 127]
    """
    return unsigned("udiv", lhs, rhs)


def umod(lhs: Any, rhs: Any) -> Any:
    """``lhs % rhs`` of unsigned integers; `lhs` where `rhs` is zero.

    Args:
        lhs, rhs: fragments, scalars or numbers of one integer type.

    Raises:
        LanguageError: the operands are no integers, or their types differ.

    Example:
        >>> tl.umod(tl.full((1,), -1, tl.i32), 10)  # 4294967295 % 10
        [5]
    """
    return unsigned("umod", lhs, rhs)


def ushr(lhs: Any, rhs: Any) -> Any:
    """``lhs >> rhs`` that shifts in zeros (a logical shift).

    Args:
        lhs, rhs: fragments, scalars or numbers of one integer type. The result is zero
            for a count that is negative, or not below the width.

    Raises:
        LanguageError: the operands are no integers, or their types differ.

    Example:
        >>> tl.ushr(tl.full((1,), -1, tl.i32), 28)
        [15]
        >>> tl.ushr(tl.full((1,), -1, tl.i32), 32)
        [0]
    """
    return unsigned("ushr", lhs, rhs)


def _integers(what: str, *values: Any) -> list[Value]:
    """Integers of one type and shape; Python numbers alone are i32."""
    operands = [value for value in values if isinstance(value, Value)]
    if not operands:
        values = tuple(i32(value) for value in values)
    found = unify(what, *values)
    if not found[0].dtype.is_int or found[0].dtype.is_bool:
        raise LanguageError(f"{what} takes integers, found {found[0].dtype}")
    return found


def _unary_of_bits(
    name: str, op: str, summary: str, results: list[int]
) -> Callable[[Any], Any]:
    def function(value: Any) -> Any:
        (value,) = _integers(f"tl.{name}", value)
        return wrap(getattr(math_ops, op)(value.ir), value.dtype)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{summary}, element by element.

    Args:
        value: a fragment or a scalar of integers; a Python number counts as i32.

    Returns:
        Integers of the type of `value`.

    Raises:
        LanguageError: the value is no integer, or an i1.

    Example:
        >>> tl.{name}(tl.arange(5))
        {results}
    """
    return function


popcount = _unary_of_bits(
    "popcount", "ctpop", "The number of bits that are one", [0, 1, 1, 2, 1]
)
clz = _unary_of_bits(
    "clz",
    "ctlz",
    "The number of leading zero bits, which is the width for 0",
    [32, 31, 30, 30, 29],
)
ctz = _unary_of_bits(
    "ctz",
    "cttz",
    "The number of trailing zero bits, which is the width for 0",
    [32, 0, 1, 0, 2],
)


def mulhi(lhs: Any, rhs: Any) -> Any:
    """The upper half of ``lhs * rhs``, in twice the width of the integers.

    Args:
        lhs, rhs: fragments, scalars or numbers of one integer type.

    Raises:
        LanguageError: the operands are no integers, are i1, or their types differ.

    Example:
        >>> tl.mulhi(tl.full((1,), -1, tl.i32), 2)
        [-1]
    """
    lhs, rhs = _integers("tl.mulhi", lhs, rhs)
    if lhs.dtype.is_unsigned:
        return umulhi(lhs, rhs)
    return wrap(arith.MulSIExtendedOp(lhs.ir, rhs.ir).high)


def umulhi(lhs: Any, rhs: Any) -> Any:
    """The upper half of ``lhs * rhs`` of unsigned integers, in twice their width.

    Args:
        lhs, rhs: fragments, scalars or numbers of one integer type.

    Raises:
        LanguageError: the operands are no integers, are i1, or their types differ.

    Example:
        >>> tl.umulhi(tl.full((1,), -1, tl.i32), 2)
        [1]
    """
    lhs, rhs = _integers("tl.umulhi", lhs, rhs)
    return wrap(arith.MulUIExtendedOp(lhs.ir, rhs.ir).high, lhs.dtype)


def byte_perm(low: Any, high: Any, selector: int) -> Any:
    """Four of the eight bytes of two 32-bit integers.

    Args:
        low, high: i32 or u32; bytes 0 to 3 are those of `low`, 4 to 7 those of
            `high`, each from the least significant one on.
        selector: a Python integer of 16 bits; its digits in base 16, from the least
            significant one on, are the bytes of the result. ``0x3210`` is `low`.

    Raises:
        LanguageError: the operands are neither i32 nor u32, or a digit of the selector
            is above 7.

    Example:
        >>> x = tl.full((1,), 0x04030201, tl.i32)
        >>> tl.byte_perm(x, 0, 0x0123) == 0x01020304
        [True]
    """
    low, high = _integers("tl.byte_perm", low, high)
    if low.dtype not in (i32, u32):
        raise LanguageError(f"tl.byte_perm takes i32 or u32, found {low.dtype}")
    selector = check_integer(selector, "tl.byte_perm: the selector", 0, 0x7777)
    result: Any = 0
    for place in range(4):
        digit = selector >> 4 * place & 0xF
        if digit > 7:
            raise LanguageError(
                f"tl.byte_perm: digit {place} of the selector {selector:#x} is "
                f"{digit}, expected at most 7"
            )
        source = low if digit < 4 else high
        result = result | _byte(source, digit % 4, place)
    return result


def _byte(value: Any, source: int, dest: int) -> Any:
    """A byte of a 32-bit integer at another place, with zeros around it."""
    byte = value & (0xFF << 8 * source)
    if source > dest:
        return (value >> 8 * (source - dest)) & (0xFF << 8 * dest)
    return byte << 8 * (dest - source)
