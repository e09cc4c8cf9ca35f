"""Elementwise functions of fragments and scalars."""

from __future__ import annotations

import builtins
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
from .types import i1
from .values import Tile, Value, wrap


def _unary(
    name: str, op: Callable[[ir.Value], ir.Value], summary: str
) -> Callable[[Any], Value]:
    def function(value: Any) -> Value:
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


def sigmoid(value: Any) -> Value:
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


def fma(a: Any, b: Any, c: Any) -> Value:
    """``a * b + c``, rounded once."""
    a, b, c = unify("tl.fma", a, b, c)
    if not a.dtype.is_float:
        raise LanguageError(f"tl.fma takes floating point, found {a.dtype}")
    return wrap(math_ops.fma(a.ir, b.ir, c.ir))


def pow(base: Any, exponent: Any) -> Value:
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
    if is_number(lhs) and is_number(rhs):
        return -(-lhs // rhs)
    lhs, rhs = unify("tl.cdiv", lhs, rhs)
    if not lhs.dtype.is_int or lhs.dtype == i1:
        raise LanguageError(f"tl.cdiv takes integers, found {lhs.dtype}")
    return wrap(arith.ceildivsi(lhs.ir, rhs.ir))


def udiv(lhs: Any, rhs: Any) -> Value:
    """``lhs // rhs`` of unsigned integers."""
    return unsigned("udiv", lhs, rhs)


def umod(lhs: Any, rhs: Any) -> Value:
    """``lhs % rhs`` of unsigned integers."""
    return unsigned("umod", lhs, rhs)


def ushr(lhs: Any, rhs: Any) -> Value:
    """``lhs >> rhs`` that shifts in zeros (a logical shift)."""
    return unsigned("ushr", lhs, rhs)


def logical_not(value: Any) -> Any:
    """``not value`` for a condition."""
    if not isinstance(value, Value):
        return not value
    return binary("^", as_condition(value, "'not'"), 1)
