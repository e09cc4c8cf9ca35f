"""Elementwise functions of fragments and scalars."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any, Protocol, cast, overload

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
)
from .types import bf16, f16, f32, i1
from .values import Scalar, Tile, Value, describe, wrap


class UnaryFunction(Protocol):
    """The type of a function of one value: a fragment of a fragment, else a scalar."""

    @overload
    def __call__(self, value: Tile) -> Tile: ...
    @overload
    def __call__(self, value: Scalar | float) -> Scalar: ...


class BinaryFunction(Protocol):
    """The type of a function of two values: a fragment if one of them is."""

    @overload
    def __call__(self, lhs: Tile, rhs: Tile | Scalar | float) -> Tile: ...
    @overload
    def __call__(self, lhs: Scalar | float, rhs: Tile) -> Tile: ...
    @overload
    def __call__(self, lhs: Scalar, rhs: Scalar | float) -> Scalar: ...
    @overload
    def __call__(self, lhs: float, rhs: Scalar) -> Scalar: ...
    @overload
    def __call__(self, lhs: float, rhs: float) -> float: ...


def _unary(
    name: str,
    op: str,
    summary: str,
    example: tuple[float, float],
) -> UnaryFunction:
    """A function of floating point.

    Args:
        name: its name.
        op: the name of the operation in the dialect `math`.
        summary: what it returns.
        example: an argument and its result.
    """

    def function(value: Any) -> Any:
        (value,) = unify(f"tl.{name}", float(value) if is_number(value) else value)
        if not value.dtype.is_float:
            raise LanguageError(
                f"tl.{name} takes floating point, found {value.dtype}",
                "convert it with .to(tl.f32)",
            )
        return wrap(getattr(math_ops, op)(value.ir))

    function.__name__ = function.__qualname__ = name
    argument, result = example
    function.__doc__ = f"""{summary}, element by element.

    Args:
        value: a fragment, a scalar or a number of floating point.

    Returns:
        A value of the same shape and element type.

    Raises:
        LanguageError: the value is no floating point.

    Example:
        >>> tl.{name}({argument})
        {result}
    """
    return cast(UnaryFunction, function)


exp = _unary("exp", "exp", "The exponential", (1.0, 2.71828))
exp2 = _unary("exp2", "exp2", "The power of two", (3.0, 8.0))
expm1 = _unary("expm1", "expm1", "The exponential minus one", (1.0, 1.71828))
log = _unary("log", "log", "The natural logarithm", (10.0, 2.30259))
log2 = _unary("log2", "log2", "The logarithm to base two", (8.0, 3.0))
log10 = _unary("log10", "log10", "The logarithm to base ten", (1000.0, 3.0))
log1p = _unary("log1p", "log1p", "The logarithm of one plus x", (1.0, 0.69315))
sqrt = _unary("sqrt", "sqrt", "The square root", (2.0, 1.41421))
rsqrt = _unary("rsqrt", "rsqrt", "The reciprocal of the square root", (4.0, 0.5))
sin = _unary("sin", "sin", "The sine", (1.0, 0.84147))
cos = _unary("cos", "cos", "The cosine", (1.0, 0.5403))
tan = _unary("tan", "tan", "The tangent", (1.0, 1.55741))
tanh = _unary("tanh", "tanh", "The hyperbolic tangent", (1.0, 0.76159))
erf = _unary("erf", "erf", "The error function", (1.0, 0.8427))
floor = _unary("floor", "floor", "The largest integer not above", (-1.5, -2.0))
ceil = _unary("ceil", "ceil", "The smallest integer not below", (-1.5, -1.0))
trunc = _unary("trunc", "trunc", "The integer towards zero", (-1.5, -1.0))
round = _unary("round", "roundeven", "The nearest integer, ties to even", (2.5, 2.0))


@overload
def sigmoid(value: Tile) -> Tile: ...
@overload
def sigmoid(value: Any) -> Any: ...
def sigmoid(value: Any) -> Any:
    """``1 / (1 + exp(-x))``, element by element.

    Args:
        value: a fragment, a scalar or a number of floating point.

    Raises:
        LanguageError: the value is no floating point.

    Example:
        >>> tl.sigmoid(1.0)
        0.73106
    """
    if isinstance(value, (Tile, Scalar)) and value.dtype in (f16, bf16):
        # In f16, 1 + exp(-x) would be infinite below x = -11.1.
        return sigmoid(value.to(f32)).to(value.dtype)
    return 1.0 / (1.0 + exp(-value))


@overload
def abs(value: Tile) -> Tile: ...
@overload
def abs(value: Any) -> Any: ...
def abs(value: Any) -> Any:
    """The absolute value, element by element; a Python number for a Python number.

    The lowest integer of a type has none in that type, and stays as it is.

    Args:
        value: a fragment, a scalar or a number.

    Raises:
        LanguageError: the value is memory, or nothing to compute with.

    Example:
        >>> tl.abs(tl.arange(-2, 2))
        [2, 1, 0, 1]
    """
    if is_number(value):
        return builtins.abs(number(value))
    (value,) = unify("tl.abs", value)
    if value.dtype.is_int and not value.dtype.has_sign:
        return value
    op = math_ops.absf if value.dtype.is_float else math_ops.absi
    return wrap(op(value.ir))


def _extremum(
    name: str,
    on_float: str,
    on_signed: str,
    on_unsigned: str,
    on_number: Callable[..., Any],
    summary: str,
    with_nan: str,
) -> BinaryFunction:
    def function(lhs: Any, rhs: Any) -> Any:
        if is_number(lhs) and is_number(rhs):
            return on_number(lhs, rhs)
        lhs, rhs = unify(f"tl.{name}", lhs, rhs)
        on_int = on_signed if lhs.dtype.has_sign else on_unsigned
        op = on_float if lhs.dtype.is_float else on_int
        return wrap(getattr(arith, op)(lhs.ir, rhs.ir), lhs.dtype)

    function.__name__ = function.__qualname__ = name
    larger = name.endswith("max") or name.startswith("max")
    function.__doc__ = f"""{summary}.

    Args:
        lhs, rhs: fragments, scalars or numbers of one element type. Shapes broadcast.

    Raises:
        LanguageError: the element types differ, or the shapes do not broadcast.

    Example:
        >>> tl.{name}(tl.arange(4), 2)
        {[2, 2, 2, 3] if larger else [0, 1, 2, 2]}
        >>> tl.{name}(tl.full((1,), math.nan, tl.f32), 1.0)
        [{with_nan}]
    """
    return cast(BinaryFunction, function)


maximum = _extremum(
    "maximum",
    *("maximumf", "maxsi", "maxui", builtins.max),
    "The larger of two values, NaN if one of them is",
    "nan",
)
minimum = _extremum(
    "minimum",
    *("minimumf", "minsi", "minui", builtins.min),
    "The smaller of two values, NaN if one of them is",
    "nan",
)
fmax = _extremum(
    "fmax",
    *("maxnumf", "maxsi", "maxui", builtins.max),
    "The larger of two values, the other one if one is NaN",
    "1.0",
)
fmin = _extremum(
    "fmin",
    *("minnumf", "minsi", "minui", builtins.min),
    "The smaller of two values, the other one if one is NaN",
    "1.0",
)


def fma(a: Any, b: Any, c: Any) -> Any:
    """``a * b + c``, rounded once.

    Args:
        a, b, c: fragments, scalars or numbers of one floating point type. Shapes
            broadcast.

    Raises:
        LanguageError: the operands are integers, have different element types, or
            shapes that do not broadcast.

    Example:
        >>> tl.fma(tl.arange(3).to(tl.f32), 2.0, 0.5)
        [0.5, 2.5, 4.5]
    """
    a, b, c = unify("tl.fma", a, b, c)
    if not a.dtype.is_float:
        raise LanguageError(f"tl.fma takes floating point, found {a.dtype}")
    return wrap(math_ops.fma(a.ir, b.ir, c.ir))


@overload
def clamp(value: Tile, low: Any, high: Any) -> Tile: ...
@overload
def clamp(value: Any, low: Any, high: Any) -> Any: ...
def clamp(value: Any, low: Any, high: Any) -> Any:
    """`value`, but at least `low` and at most `high`; NaN if one of them is.

    Where `low` is above `high`, the result is `high`.

    Args:
        value, low, high: fragments, scalars or numbers of one element type. Shapes
            broadcast.

    Raises:
        LanguageError: the element types differ, or the shapes do not broadcast.

    Example:
        >>> tl.clamp(tl.arange(-2, 4), 0, 2)
        [0, 0, 0, 1, 2, 2]
    """
    return minimum(maximum(value, low), high)


def isnan(value: Any) -> Any:
    """Whether elements are NaN, as i1; false for integers.

    Args:
        value: a fragment, a scalar or a number.

    Raises:
        LanguageError: the value is memory, or nothing to compute with.

    Example:
        >>> x = tl.arange(3).to(tl.f32)
        >>> tl.isnan(x / x)
        [True, False, False]
    """
    (value,) = unify("tl.isnan", value)
    return value != value


def _with_infinity(value: Any) -> Any:
    """The value in a type with infinities, which some small types lack."""
    return value.to(f32) if value.dtype.bits <= 8 else value


def isinf(value: Any) -> Any:
    """Whether elements are an infinity, as i1; false for integers.

    Args:
        value: a fragment, a scalar or a number.

    Raises:
        LanguageError: the value is memory, or nothing to compute with.

    Example:
        >>> x = tl.arange(3).to(tl.f32)
        >>> tl.isinf(1.0 / x)
        [True, False, False]
    """
    (value,) = unify("tl.isinf", value)
    if not value.dtype.is_float:
        return value != value
    return abs(_with_infinity(value)) == math.inf


def isfinite(value: Any) -> Any:
    """Whether elements are neither NaN nor an infinity, as i1; true for integers.

    Args:
        value: a fragment, a scalar or a number.

    Raises:
        LanguageError: the value is memory, or nothing to compute with.

    Example:
        >>> x = tl.arange(3).to(tl.f32)
        >>> tl.isfinite(1.0 / x)
        [False, True, True]
    """
    (value,) = unify("tl.isfinite", value)
    if not value.dtype.is_float:
        return value == value
    return abs(_with_infinity(value)) < math.inf


def pow(base: Any, exponent: Any) -> Any:
    """``base ** exponent``, element by element.

    Args:
        base: a fragment, a scalar or a number. Floating point, unless the exponent is
            a Python number from 1 to 4.
        exponent: the same, of the same element type.

    Raises:
        LanguageError: the operands are integers, or do not fit.

    Example:
        >>> tl.pow(tl.arange(4).to(tl.f32), 0.5)
        [0.0, 1.0, 1.41421, 1.73205]
        >>> tl.pow(tl.arange(4), 2)
        [0, 1, 4, 9]
    """
    (base,) = unify("tl.pow", base)
    unify("tl.pow", exponent)  # The operator would not take other objects.
    return base**exponent


@overload
def where(condition: Tile, if_true: Any, if_false: Any) -> Tile: ...
@overload
def where(condition: Any, if_true: Any, if_false: Any) -> Any: ...
def where(condition: Any, if_true: Any, if_false: Any) -> Any:
    """`if_true` where the condition holds, otherwise `if_false`, element by element.

    Both are computed.

    Args:
        condition: a fragment of i1, a scalar, or a Python value.
        if_true, if_false: fragments, scalars or numbers of one element type.

    Raises:
        LanguageError: the types differ, the condition is no i1, or the shapes do not
            broadcast.

    Example:
        >>> x = tl.arange(4)
        >>> tl.where(x % 2 == 0, x, -1)
        [0, -1, 2, -1]
    """
    if not isinstance(condition, Value):
        return if_true if condition else if_false
    if_true, if_false = unify("tl.where", if_true, if_false)
    if not isinstance(condition, Tile):
        condition = as_condition(condition, "tl.where")
        chosen = arith.select(condition.ir, if_true.ir, if_false.ir)
        return wrap(chosen, if_true.dtype)
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
    return wrap(arith.select(condition.ir, if_true.ir, if_false.ir), if_true.dtype)


def cdiv(lhs: Any, rhs: Any) -> Any:
    """``lhs / rhs`` for integers, rounded up.

    Args:
        lhs, rhs: fragments, scalars or numbers of one integer type. Two Python numbers
            give a Python number.

    Raises:
        LanguageError: the operands are no integers, or their types differ.

    Example:
        >>> tl.cdiv(130, 64)
        3
        >>> tl.cdiv(tl.arange(5), 2)
        [0, 1, 1, 2, 2]
    """
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
    op = arith.ceildivui if lhs.dtype.is_unsigned else arith.ceildivsi
    return wrap(op(lhs.ir, rhs.ir), lhs.dtype)


def logical_not(value: Any) -> Any:
    """``not value`` for a condition."""
    if not isinstance(value, Value):
        return not value
    return binary("^", as_condition(value, "'not'"), 1)
