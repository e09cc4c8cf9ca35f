"""Reductions and scans along an axis."""

from __future__ import annotations

from .. import ir
from ..dialects import tile
from .shapes import as_scalar, check_axis, check_tile, expand_dims
from .types import i1
from .values import Scalar, Tile

_KINDS = ("sum", "max", "min", "absmax", "absmin", "and", "or", "xor", "any", "all")


def reduce(
    value: Tile, kind: str, axis: int | None = None, keepdims: bool = False
) -> Tile | Scalar:
    """Combines the elements along an axis, or all of them.

    Args:
        value: a fragment.
        kind: sum, max, min, absmax, absmin, and, or, xor, any or all. Maxima and
            minima pass over NaN; integers compare as signed.
        axis: the axis, negative ones counted from the last; None for all.
        keepdims: leave an extent of one in its place.

    Returns:
        A fragment, or a scalar if no dimension is left.
    """
    what = f"tl.{kind}"
    value = check_tile(value, what)
    if kind not in _KINDS:
        raise ValueError(f"tl.reduce: expected one of {', '.join(_KINDS)}: {kind!r}")
    if kind in ("any", "all"):
        value = value.to(i1)
    attribute = ir.Attribute.parse(f"#tile.reduction<{kind}>")
    if axis is None:
        axes = list(range(value.ndim))
    else:
        axes = [check_axis(axis, value.ndim, what)]
    result = value
    for place in reversed(axes):
        result = Tile(tile.reduce(attribute, result.ir, place))
        if keepdims:
            result = expand_dims(result, place)
    return result if result.shape else as_scalar(result)


def sum(value: Tile, axis: int | None = None, keepdims: bool = False) -> Tile | Scalar:
    """The sum along an axis, or of all elements; see :func:`reduce`."""
    return reduce(value, "sum", axis, keepdims)


def max(value: Tile, axis: int | None = None, keepdims: bool = False) -> Tile | Scalar:
    """The maximum along an axis; NaN only if all elements are."""
    return reduce(value, "max", axis, keepdims)


def min(value: Tile, axis: int | None = None, keepdims: bool = False) -> Tile | Scalar:
    """The minimum along an axis; NaN only if all elements are."""
    return reduce(value, "min", axis, keepdims)


def absmax(
    value: Tile, axis: int | None = None, keepdims: bool = False
) -> Tile | Scalar:
    """The largest absolute value along an axis."""
    return reduce(value, "absmax", axis, keepdims)


def absmin(
    value: Tile, axis: int | None = None, keepdims: bool = False
) -> Tile | Scalar:
    """The smallest absolute value along an axis."""
    return reduce(value, "absmin", axis, keepdims)


def reduce_and(
    value: Tile, axis: int | None = None, keepdims: bool = False
) -> Tile | Scalar:
    """The bitwise and along an axis."""
    return reduce(value, "and", axis, keepdims)


def reduce_or(
    value: Tile, axis: int | None = None, keepdims: bool = False
) -> Tile | Scalar:
    """The bitwise or along an axis."""
    return reduce(value, "or", axis, keepdims)


def reduce_xor(
    value: Tile, axis: int | None = None, keepdims: bool = False
) -> Tile | Scalar:
    """The bitwise exclusive or along an axis."""
    return reduce(value, "xor", axis, keepdims)


def any(value: Tile, axis: int | None = None, keepdims: bool = False) -> Tile | Scalar:
    """Whether any element along an axis is true (other than zero)."""
    return reduce(value, "any", axis, keepdims)


def all(value: Tile, axis: int | None = None, keepdims: bool = False) -> Tile | Scalar:
    """Whether all elements along an axis are true (other than zero)."""
    return reduce(value, "all", axis, keepdims)


def scan(value: Tile, kind: str, axis: int = 0, reverse: bool = False) -> Tile:
    """The running sum, maximum or minimum along an axis.

    Args:
        value: a fragment.
        kind: 'sum', 'max' or 'min'.
        axis: the dimension.
        reverse: whether to start at the end of the axis.

    Returns:
        A fragment of the same shape and type.

    Raises:
        LanguageError: `value` is no fragment, or the axis is out of range.
        ValueError: `kind` is unknown.
    """
    value = check_tile(value, "tl.scan")
    if kind not in ("sum", "max", "min"):
        raise ValueError(f"tl.scan: expected 'sum', 'max' or 'min', found {kind!r}")
    axis = check_axis(axis, value.ndim, "tl.scan")
    attribute = ir.Attribute.parse(f"#tile.reduction<{kind}>")
    return Tile(tile.scan(attribute, value.ir, axis, reverse=reverse))


def cumsum(value: Tile, axis: int = 0, reverse: bool = False) -> Tile:
    """The running sum along an axis."""
    return scan(value, "sum", axis, reverse)


def cummax(value: Tile, axis: int = 0, reverse: bool = False) -> Tile:
    """The running maximum along an axis."""
    return scan(value, "max", axis, reverse)


def cummin(value: Tile, axis: int = 0, reverse: bool = False) -> Tile:
    """The running minimum along an axis."""
    return scan(value, "min", axis, reverse)
