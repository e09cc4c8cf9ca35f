"""Elementwise functions of fragments and scalars, and of their bits."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

from .. import ir
from ..dialects import arith
from ..dialects import math as math_ops
from ..errors import LanguageError
from .arithmetic import (
    as_condition,
    as_value,
    binary,
    broadcast,
    broadcast_shapes,
    is_number,
    number,
    unify,
    unsigned,
)
from .integers import check_integer
from .types import i1, i32
from .values import Tile, Value, describe, wrap


def _unary(
    name: str, op: Callable[[ir.Value], ir.Value], summary: str
) -> Callable[[Any], Any]:
    def function(value: Any) -> Any:
        (value,) = unify(f"tl.{name}", float(value) if is_number(value) else value)
        if not value.dtype.is_float:
            raise LanguageError(
                f"tl.{name} takes floating point, found {value.dtype}",
                "convert it with .to(tl.f32)",
            )
        return wrap(op(value.ir))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{summary}, element by element."
    return function


exp = _unary("exp", math_ops.exp, "The exponential")
exp2 = _unary("exp2", math_ops.exp2, "The power of two")
expm1 = _unary("expm1", math_ops.expm1, "The exponential minus one")
log = _unary("log", math_ops.log, "The natural logarithm")
log2 = _unary("log2", math_ops.log2, "The logarithm to base two")
log10 = _unary("log10", math_ops.log10, "The logarithm to base ten")
log1p = _unary("log1p", math_ops.log1p, "The logarithm of one plus x")
sqrt = _unary("sqrt", math_ops.sqrt, "The square root")
rsqrt = _unary("rsqrt", math_ops.rsqrt, "The reciprocal of the square root")
sin = _unary("sin", math_ops.sin, "The sine")
cos = _unary("cos", math_ops.cos, "The cosine")
tan = _unary("tan", math_ops.tan, "The tangent")
tanh = _unary("tanh", math_ops.tanh, "The hyperbolic tangent")
erf = _unary("erf", math_ops.erf, "The error function")
floor = _unary("floor", math_ops.floor, "The largest integer not above")
ceil = _unary("ceil", math_ops.ceil, "The smallest integer not below")
trunc = _unary("trunc", math_ops.trunc, "The integer towards zero")
round = _unary("round", math_ops.roundeven, "The nearest integer, ties to even")


def sigmoid(value: Any) -> Any:
    """``1 / (1 + exp(-x))``, element by element."""
    return 1.0 / (1.0 + exp(-value))


def abs(value: Any) -> Any:
    """The absolute value, element by element; a Python number for a Python number."""
    if is_number(value):
        return builtins.abs(number(value))
    (value,) = unify("tl.abs", value)
    op = math_ops.absf if value.dtype.is_float else math_ops.absi
    return wrap(op(value.ir))


def _extremum(
    name: str,
    on_float: Callable[..., Any],
    on_int: Callable[..., Any],
    on_number: Callable[..., Any],
    summary: str,
) -> Callable[[Any, Any], Any]:
    def function(lhs: Any, rhs: Any) -> Any:
        if is_number(lhs) and is_number(rhs):
            return on_number(lhs, rhs)
        lhs, rhs = unify(f"tl.{name}", lhs, rhs)
        return wrap((on_float if lhs.dtype.is_float else on_int)(lhs.ir, rhs.ir))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{summary}; integers compare as signed."
    return function


maximum = _extremum(
    "maximum",
    *(arith.maximumf, arith.maxsi, builtins.max),
    "The larger of two values, NaN if one of them is",
)
minimum = _extremum(
    "minimum",
    *(arith.minimumf, arith.minsi, builtins.min),
    "The smaller of two values, NaN if one of them is",
)
fmax = _extremum(
    "fmax",
    *(arith.maxnumf, arith.maxsi, builtins.max),
    "The larger of two values, the other one if one is NaN",
)
fmin = _extremum(
    "fmin",
    *(arith.minnumf, arith.minsi, builtins.min),
    "The smaller of two values, the other one if one is NaN",
)


def fma(a: Any, b: Any, c: Any) -> Any:
    """``a * b + c``, rounded once."""
    a, b, c = unify("tl.fma", a, b, c)
    if not a.dtype.is_float:
        raise LanguageError(f"tl.fma takes floating point, found {a.dtype}")
    return wrap(math_ops.fma(a.ir, b.ir, c.ir))


def clamp(value: Any, low: Any, high: Any) -> Any:
    """`value`, but at least `low` and at most `high`; NaN if one of them is.

    Where `low` is above `high`, the result is `high`.
    """
    return minimum(maximum(value, low), high)


def isnan(value: Any) -> Any:
    """Whether elements are NaN; false for integers."""
    (value,) = unify("tl.isnan", value)
    return value != value


def isinf(value: Any) -> Any:
    """Whether elements are an infinity; false for integers."""
    (value,) = unify("tl.isinf", value)
    return abs(value) == math.inf if value.dtype.is_float else value != value


def isfinite(value: Any) -> Any:
    """Whether elements are neither NaN nor an infinity; true for integers."""
    (value,) = unify("tl.isfinite", value)
    return abs(value) < math.inf if value.dtype.is_float else value == value


def pow(base: Any, exponent: Any) -> Any:
    """``base ** exponent``, element by element."""
    (base,) = unify("tl.pow", base)
    return base**exponent


def where(condition: Any, if_true: Any, if_false: Any) -> Any:
    """`if_true` where the condition holds, otherwise `if_false`, element by element.

    Both are computed.

    Args:
        condition: a fragment of i1, a scalar, or a Python value.
        if_true, if_false: fragments, scalars or numbers of one element type.

    Raises:
        LanguageError: the types differ, or the shapes do not broadcast.
    """
    if not isinstance(condition, Value):
        return if_true if condition else if_false
    if_true, if_false = unify("tl.where", if_true, if_false)
    if not isinstance(condition, Tile):
        condition = as_condition(condition, "tl.where")
        return wrap(arith.select(condition.ir, if_true.ir, if_false.ir))
    if not condition.dtype.is_bool:
        raise LanguageError(
            f"tl.where: the condition has type {condition.dtype}, expected i1",
            "compare it: tl.where(x != 0, a, b)",
        )
    shapes = [condition.shape, if_true.shape or ()]
    shape = broadcast_shapes("tl.where", *shapes)
    condition = broadcast(condition, shape)
    if_true = as_value(if_true, if_true.dtype, shape)
    if_false = as_value(if_false, if_false.dtype, shape)
    return wrap(arith.select(condition.ir, if_true.ir, if_false.ir))


def cdiv(lhs: Any, rhs: Any) -> Any:
    """``lhs / rhs`` for integers, rounded up."""
    for operand in (lhs, rhs):
        if is_number(operand) and isinstance(number(operand), float):
            raise LanguageError(
                f"tl.cdiv takes integers, found {describe(operand)}",
                "write tl.ceil(a / b) for floating point",
            )
    if is_number(lhs) and is_number(rhs):
        return -(-lhs // rhs)
    lhs, rhs = unify("tl.cdiv", lhs, rhs)
    if not lhs.dtype.is_int or lhs.dtype == i1:
        raise LanguageError(f"tl.cdiv takes integers, found {lhs.dtype}")
    return wrap(arith.ceildivsi(lhs.ir, rhs.ir))


def udiv(lhs: Any, rhs: Any) -> Any:
    """``lhs // rhs`` of unsigned integers."""
    return unsigned("udiv", lhs, rhs)


def umod(lhs: Any, rhs: Any) -> Any:
    """``lhs % rhs`` of unsigned integers."""
    return unsigned("umod", lhs, rhs)


def ushr(lhs: Any, rhs: Any) -> Any:
    """``lhs >> rhs`` that shifts in zeros (a logical shift)."""
    return unsigned("ushr", lhs, rhs)


def logical_not(value: Any) -> Any:
    """``not value`` for a condition."""
    if not isinstance(value, Value):
        return not value
    return binary("^", as_condition(value, "'not'"), 1)


# ===--- Bits of integers ---=== #


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
    name: str, op: Callable[[ir.Value], ir.Value], summary: str
) -> Callable[[Any], Any]:
    def function(value: Any) -> Any:
        (value,) = _integers(f"tl.{name}", value)
        return wrap(op(value.ir))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{summary}, element by element."
    return function


popcount = _unary_of_bits("popcount", math_ops.ctpop, "The number of bits that are one")
clz = _unary_of_bits(
    "clz", math_ops.ctlz, "The number of leading zero bits; the width for 0"
)
ctz = _unary_of_bits(
    "ctz", math_ops.cttz, "The number of trailing zero bits; the width for 0"
)


def mulhi(lhs: Any, rhs: Any) -> Any:
    """The upper half of ``lhs * rhs`` of signed integers, in twice their width."""
    lhs, rhs = _integers("tl.mulhi", lhs, rhs)
    return wrap(arith.MulSIExtendedOp(lhs.ir, rhs.ir).high)


def umulhi(lhs: Any, rhs: Any) -> Any:
    """The upper half of ``lhs * rhs`` of unsigned integers, in twice their width."""
    lhs, rhs = _integers("tl.umulhi", lhs, rhs)
    return wrap(arith.MulUIExtendedOp(lhs.ir, rhs.ir).high)


def byte_perm(low: Any, high: Any, selector: int) -> Any:
    """Four of the eight bytes of two 32-bit integers.

    Args:
        low, high: i32; bytes 0 to 3 are those of `low`, 4 to 7 those of `high`, each
            from the least significant one on.
        selector: a Python integer of 16 bits; its digits in base 16, from the least
            significant one on, are the bytes of the result. ``0x3210`` is `low`.

    Raises:
        LanguageError: the operands are not i32, or a digit of the selector is above 7.
    """
    low, high = _integers("tl.byte_perm", low, high)
    if low.dtype != i32:
        raise LanguageError(f"tl.byte_perm takes i32, found {low.dtype}")
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
