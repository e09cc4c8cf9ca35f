"""Reductions along an axis."""

from __future__ import annotations

from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any

import numpy as np

from .. import ir
from ..dialects import tile
from ..errors import LanguageError
from .composed.combining import reduce_by
from .shapes import as_scalar, check_axis, check_tile, expand_dims
from .types import i1
from .values import Tile, describe

_KINDS = ("sum", "max", "min", "absmax", "absmin", "and", "or", "xor", "any", "all")
_UNSIGNED_KINDS = {"max": "umax", "min": "umin", "absmax": "umax", "absmin": "umin"}


#: The reductions of numbers, and what to write for those of conditions.
_OF_NUMBERS = {
    "sum": "",
    **dict.fromkeys(("max", "absmax"), "write tl.any(x), or "),
    **dict.fromkeys(("min", "absmin"), "write tl.all(x), or "),
}


def reduction_kind(kind: str, value: Tile, what: str) -> ir.Attribute:
    """The kind of a reduction or a scan, for the elements of a fragment.

    Raises:
        LanguageError: the elements are conditions, but the kind takes numbers; `what`
            names the caller in the message.
    """
    if value.dtype.is_bool and kind in _OF_NUMBERS:
        instead = "" if what == "tl.scan" else _OF_NUMBERS[kind]
        raise LanguageError(
            f"{what}: '{kind}' takes numbers, found {value.dtype}",
            f"{instead}convert the conditions: x.to(tl.i32)",
        )
    if value.dtype.is_unsigned:
        kind = _UNSIGNED_KINDS.get(kind, kind)
    return ir.Attribute.parse(f"#tile.reduction<{kind}>")


#: What functions of Python, numpy and torch that are no kinds stand for.
_NAMES = {
    **{name: name for name in _KINDS},
    **{"amax": "max", "maximum": "max", "fmax": "max"},
    **{"amin": "min", "minimum": "min", "fmin": "min"},
    **{"add": "sum", "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor"},
}


def kind_hint(kind: Any, what: str) -> str | None:
    """What to write for a kind that does not exist."""
    if kind in ("prod", "product", "mul"):
        return f"write {what}(x, lambda a, b: a * b, axis)"
    return "write tl.sum(x, axis) / n" if kind in ("mean", "avg") else None


def refuse_reduction(kind: Any, what: str) -> None:
    """Refuses functions such as max, which are no function of two fragments."""
    name = getattr(kind, "__name__", "")
    is_whole = id(kind) in map(id, (sum, max, min, absmax, absmin, any, all))
    is_foreign = isinstance(kind, (BuiltinFunctionType, np.ufunc)) and (
        getattr(kind, "__module__", "builtins") != "_operator"
    )
    if not is_whole and not is_foreign:
        return
    known = _NAMES.get(name)
    raise LanguageError(
        f"{what}: {name} is no function of two fragments",
        f"write {what}(x, {known!r})"
        if known
        else f"write {what}(x, lambda a, b: ...) with functions of tl",
    )


def reduce(
    value: Any,
    kind: str | Callable[..., Any],
    axis: int | None = None,
    keepdims: bool = False,
) -> Any:
    """Combines the elements along an axis, or all of them.

    Args:
        value: a fragment; for a function, also a tuple of fragments of one shape.
        kind: sum, max, min, absmax, absmin, and, or, xor, any or all. Maxima and
            minima pass over NaN. Or an associative function of two values,
            ``combine(a, b)``, with `a` from smaller coordinates than `b`; for a tuple
            of n fragments it takes 2 n values and returns n.
        axis: the axis, negative ones counted from the last; None for all.
        keepdims: leave an extent of one in its place.

    Returns:
        A fragment, or a scalar if no dimension is left; a tuple for a tuple.

    Raises:
        LanguageError: `value` is no fragment, the axis is out of range, `kind` is
            unknown, or the function does not return what it takes, or does more than
            compute with pairs of elements.

    Example:
        >>> x = tl.arange(1, 7).reshape(2, 3)
        >>> tl.reduce(x, "max", axis=0)
        [4, 5, 6]
        >>> tl.reduce(x, lambda a, b: a * b, axis=1, keepdims=True)
        [[6], [120]]
    """
    refuse_reduction(kind, "tl.reduce")
    if callable(kind):
        return reduce_by(value, kind, axis, keepdims)
    known = isinstance(kind, str) and kind in _KINDS
    what = f"tl.{kind}" if known else "tl.reduce"
    value = check_tile(value, what)
    if not known:
        raise LanguageError(
            f"tl.reduce: expected a function, or one of {', '.join(_KINDS)}, found "
            f"{describe(kind)}",
            kind_hint(kind, "tl.reduce"),
        )
    if kind in ("any", "all"):
        value = value.to(i1)
    attribute = reduction_kind(kind, value, what)
    if axis is None:
        axes = list(range(value.ndim))
    else:
        axes = [check_axis(axis, value.ndim, what)]
    result = value
    for place in reversed(axes):
        result = Tile(tile.reduce(attribute, result.ir, place), value.dtype)
        if keepdims:
            result = expand_dims(result, place)
    return result if result.shape else as_scalar(result)


def sum(value: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """The sum along an axis, or of all elements.

    Sums of f16, bf16 and fp8 are rounded to their type: convert to f32 before.

    Args:
        value: a fragment.
        axis: the axis, negative ones counted from the last; None for all elements.
        keepdims: leave an extent of one in its place.

    Returns:
        A fragment of the element type, without the axis; a scalar if no dimension is
        left.

    Raises:
        LanguageError: `value` is no fragment, or the axis is out of range.

    Example:
        >>> x = tl.arange(6).reshape(2, 3)
        >>> tl.sum(x, axis=1)
        [3, 12]
        >>> tl.sum(x)
        15
    """
    return reduce(value, "sum", axis, keepdims)


def max(value: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """The maximum along an axis; NaN only if all elements are.

    Args:
        value: a fragment.
        axis: the axis, negative ones counted from the last; None for all elements.
        keepdims: leave an extent of one in its place.

    Returns:
        A fragment of the element type, without the axis; a scalar if no dimension is
        left.

    Raises:
        LanguageError: `value` is no fragment, or the axis is out of range.

    Example:
        >>> x = tl.arange(6).reshape(2, 3)
        >>> tl.max(x, axis=1)
        [2, 5]
        >>> tl.max(x)
        5
    """
    return reduce(value, "max", axis, keepdims)


def min(value: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """The minimum along an axis; NaN only if all elements are.

    Args:
        value: a fragment.
        axis: the axis, negative ones counted from the last; None for all elements.
        keepdims: leave an extent of one in its place.

    Returns:
        A fragment of the element type, without the axis; a scalar if no dimension is
        left.

    Raises:
        LanguageError: `value` is no fragment, or the axis is out of range.

    Example:
        >>> x = tl.arange(6).reshape(2, 3)
        >>> tl.min(x, axis=1)
        [0, 3]
        >>> tl.min(x)
        0
    """
    return reduce(value, "min", axis, keepdims)


def absmax(value: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """The largest absolute value along an axis; NaN only if all elements are.

    Args:
        value: a fragment.
        axis: the axis, negative ones counted from the last; None for all elements.
        keepdims: leave an extent of one in its place.

    Returns:
        A fragment of the element type, without the axis; a scalar if no dimension is
        left.

    Raises:
        LanguageError: `value` is no fragment, or the axis is out of range.

    Example:
        >>> x = tl.arange(-4, 2).reshape(2, 3)
        >>> tl.absmax(x, axis=1)
        [4, 1]
        >>> tl.absmax(x)
        4
    """
    return reduce(value, "absmax", axis, keepdims)


def absmin(value: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """The smallest absolute value along an axis; NaN only if all elements are.

    Args:
        value: a fragment.
        axis: the axis, negative ones counted from the last; None for all elements.
        keepdims: leave an extent of one in its place.

    Returns:
        A fragment of the element type, without the axis; a scalar if no dimension is
        left.

    Raises:
        LanguageError: `value` is no fragment, or the axis is out of range.

    Example:
        >>> x = tl.arange(-4, 2).reshape(2, 3)
        >>> tl.absmin(x, axis=1)
        [2, 0]
        >>> tl.absmin(x)
        0
    """
    return reduce(value, "absmin", axis, keepdims)


def reduce_and(value: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """The bitwise and of integers along an axis.

    Args:
        value: a fragment.
        axis: the axis, negative ones counted from the last; None for all elements.
        keepdims: leave an extent of one in its place.

    Returns:
        A fragment of the element type, without the axis; a scalar if no dimension is
        left.

    Raises:
        LanguageError: `value` is no fragment, or the axis is out of range.

    Example:
        >>> x = tl.arange(4, 8).reshape(2, 2)
        >>> tl.reduce_and(x, axis=1)
        [4, 6]
        >>> tl.reduce_and(x)
        4
    """
    return reduce(value, "and", axis, keepdims)


def reduce_or(value: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """The bitwise or of integers along an axis.

    Args:
        value: a fragment.
        axis: the axis, negative ones counted from the last; None for all elements.
        keepdims: leave an extent of one in its place.

    Returns:
        A fragment of the element type, without the axis; a scalar if no dimension is
        left.

    Raises:
        LanguageError: `value` is no fragment, or the axis is out of range.

    Example:
        >>> x = tl.arange(4, 8).reshape(2, 2)
        >>> tl.reduce_or(x, axis=1)
        [5, 7]
        >>> tl.reduce_or(x)
        7
    """
    return reduce(value, "or", axis, keepdims)


def reduce_xor(value: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """The bitwise exclusive or of integers along an axis.

    Args:
        value: a fragment.
        axis: the axis, negative ones counted from the last; None for all elements.
        keepdims: leave an extent of one in its place.

    Returns:
        A fragment of the element type, without the axis; a scalar if no dimension is
        left.

    Raises:
        LanguageError: `value` is no fragment, or the axis is out of range.

    Example:
        >>> x = tl.arange(4, 8).reshape(2, 2)
        >>> tl.reduce_xor(x, axis=1)
        [1, 1]
        >>> tl.reduce_xor(x)
        0
    """
    return reduce(value, "xor", axis, keepdims)


def any(value: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """Whether any element along an axis is true (other than zero).

    Args:
        value: a fragment.
        axis: the axis, negative ones counted from the last; None for all elements.
        keepdims: leave an extent of one in its place.

    Returns:
        The same of i1: a fragment without the axis, or a scalar.

    Raises:
        LanguageError: `value` is no fragment, or the axis is out of range.

    Example:
        >>> x = tl.arange(6).reshape(2, 3) > 4
        >>> tl.any(x, axis=1)
        [False, True]
        >>> tl.any(x)
        True
    """
    return reduce(value, "any", axis, keepdims)


def all(value: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """Whether all elements along an axis are true (other than zero).

    Args:
        value: a fragment.
        axis: the axis, negative ones counted from the last; None for all elements.
        keepdims: leave an extent of one in its place.

    Returns:
        The same of i1: a fragment without the axis, or a scalar.

    Raises:
        LanguageError: `value` is no fragment, or the axis is out of range.

    Example:
        >>> x = tl.arange(6).reshape(2, 3) > 2
        >>> tl.all(x, axis=1)
        [False, True]
        >>> tl.all(x)
        False
    """
    return reduce(value, "all", axis, keepdims)
