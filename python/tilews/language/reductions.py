"""Reductions and scans along an axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import ir
from ..dialects import tile
from ..errors import LanguageError
from .composed.combining import reduce_by, scan_by
from .math import fmax, fmin
from .shapes import as_scalar, check_axis, check_tile, expand_dims
from .types import i1
from .values import Tile, describe

_KINDS = ("sum", "max", "min", "absmax", "absmin", "and", "or", "xor", "any", "all")
_PAIRWISE: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda a, b: a + b,
    "max": fmax,
    "min": fmin,
}


_UNSIGNED_KINDS = {"max": "umax", "min": "umin", "absmax": "umax", "absmin": "umin"}


def _attribute(kind: str, value: Tile) -> ir.Attribute:
    """The kind of a reduction or a scan, for the elements of a fragment."""
    if value.dtype.is_unsigned:
        kind = _UNSIGNED_KINDS.get(kind, kind)
    return ir.Attribute.parse(f"#tile.reduction<{kind}>")


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
            unknown, or the function does not return what it takes.

    Example:
        >>> x = tl.arange(1, 7).reshape(2, 3)
        >>> tl.reduce(x, "max", axis=0)
        [4, 5, 6]
        >>> tl.reduce(x, lambda a, b: a * b, axis=1, keepdims=True)
        [[6], [120]]
    """
    if callable(kind):
        return reduce_by(value, kind, axis, keepdims)
    known = isinstance(kind, str) and kind in _KINDS
    what = f"tl.{kind}" if known else "tl.reduce"
    value = check_tile(value, what)
    if not known:
        raise LanguageError(
            f"tl.reduce: expected a function, or one of {', '.join(_KINDS)}, found "
            f"{describe(kind)}"
        )
    if kind in ("any", "all"):
        value = value.to(i1)
    attribute = _attribute(kind, value)
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


def scan(
    value: Any,
    kind: str | Callable[..., Any],
    axis: int = 0,
    reverse: bool = False,
    exclusive: bool = False,
    initial: Any = None,
) -> Any:
    """The combinations of all elements up to each element along an axis.

    Args:
        value: a fragment; for a function, also a tuple of fragments of one shape.
        kind: 'sum', 'max' or 'min', or an associative function as for :func:`reduce`.
        axis: the dimension.
        reverse: whether to start at the end of the axis. A function then has as `a`
            the value from larger coordinates.
        exclusive: whether an element leaves itself out. Then `initial` comes first.
        initial: what an exclusive scan starts with: a number, or one for each fragment
            of the tuple; by default 0 for 'sum'.

    Returns:
        A fragment of the same shape and type; a tuple for a tuple.

    Raises:
        LanguageError: as for :func:`reduce`; or `initial` is missing or not wanted.

    Example:
        >>> x = tl.arange(1, 5)
        >>> tl.scan(x, "sum")
        [1, 3, 6, 10]
        >>> tl.scan(x, "sum", exclusive=True)
        [0, 1, 3, 6]
        >>> tl.scan(x, lambda a, b: a * b, reverse=True)
        [24, 24, 12, 4]
    """
    if exclusive and initial is None and kind == "sum":
        initial = 0
    if exclusive == (initial is None):
        raise LanguageError(
            "tl.scan: an exclusive scan takes initial=, and no other scan does",
            "write for example tl.scan(x, 'max', exclusive=True, initial=-math.inf)",
        )
    if callable(kind) or exclusive:
        combine = _PAIRWISE.get(kind, kind) if isinstance(kind, str) else kind
        if callable(combine):
            return scan_by(value, combine, axis, reverse, initial)
        kind = combine
    value = check_tile(value, "tl.scan")
    if not isinstance(kind, str) or kind not in _PAIRWISE:
        raise LanguageError(
            f"tl.scan: expected a function, or one of {', '.join(_PAIRWISE)}, found "
            f"{describe(kind)}"
        )
    axis = check_axis(axis, value.ndim, "tl.scan")
    scanned = tile.scan(_attribute(kind, value), value.ir, axis, reverse=reverse)
    return Tile(scanned, value.dtype)


def cumsum(value: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The running sum along an axis.

    Args:
        value: a fragment.
        axis: the axis, negative ones counted from the last.
        reverse: whether to start at the end of the axis.

    Returns:
        A fragment of the same shape and type.

    Raises:
        LanguageError: `value` is no fragment, or the axis is out of range.

    Example:
        >>> x = (tl.arange(5) - 2) * (tl.arange(5) - 2)  # 4, 1, 0, 1, 4
        >>> tl.cumsum(x)
        [4, 5, 5, 6, 10]
        >>> tl.cumsum(x, reverse=True)
        [10, 6, 5, 5, 4]
    """
    return scan(value, "sum", axis, reverse)


def cummax(value: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The running maximum along an axis.

    Args:
        value: a fragment.
        axis: the axis, negative ones counted from the last.
        reverse: whether to start at the end of the axis.

    Returns:
        A fragment of the same shape and type.

    Raises:
        LanguageError: `value` is no fragment, or the axis is out of range.

    Example:
        >>> x = (tl.arange(5) - 2) * (tl.arange(5) - 2)  # 4, 1, 0, 1, 4
        >>> tl.cummax(x)
        [4, 4, 4, 4, 4]
        >>> tl.cummax(x, reverse=True)
        [4, 4, 4, 4, 4]
    """
    return scan(value, "max", axis, reverse)


def cummin(value: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The running minimum along an axis.

    Args:
        value: a fragment.
        axis: the axis, negative ones counted from the last.
        reverse: whether to start at the end of the axis.

    Returns:
        A fragment of the same shape and type.

    Raises:
        LanguageError: `value` is no fragment, or the axis is out of range.

    Example:
        >>> x = (tl.arange(5) - 2) * (tl.arange(5) - 2)  # 4, 1, 0, 1, 4
        >>> tl.cummin(x)
        [4, 1, 0, 0, 0]
        >>> tl.cummin(x, reverse=True)
        [0, 0, 0, 1, 4]
    """
    return scan(value, "min", axis, reverse)
