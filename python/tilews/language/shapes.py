"""Functions that create fragments and change their shape."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import ir
from ..dialects import tensor, tile
from ..errors import LanguageError
from .arithmetic import as_value, broadcast, broadcast_shapes, is_number
from .builder import current
from .integers import INT64_MAX, as_integer, check_integer, static_shape
from .memory.buffers import check_dtype
from .types import DType, i32
from .unloaded import load_hint
from .values import Scalar, Tile, describe


def check_tile(value: Any, what: str) -> Tile:
    """The value, a fragment.

    Raises:
        LanguageError: it is anything else.
    """
    if not isinstance(value, Tile):
        raise LanguageError(
            f"{what}: expected a fragment, found {describe(value)}", load_hint(value)
        )
    return value


def check_axis(axis: Any, rank: int, what: str) -> int:
    """An axis counted from the front; negative axes count from the end.

    Raises:
        LanguageError: the axis is no integer from -`rank` to `rank` - 1.
    """
    if isinstance(axis, (tuple, list)):
        raise LanguageError(
            f"{what}: the axis is one integer, found {describe(axis)}",
            "do one axis after the other, such as tl.sum(tl.sum(x, 1), 0)",
        )
    return check_integer(axis, f"{what}: the axis", -rank, rank - 1) % rank


def full(shape: Sequence[int], value: Any, dtype: DType) -> Tile:
    """A fragment in which all elements are equal.

    Args:
        shape: static extents.
        value: a number, or a scalar of type `dtype`.
        dtype: the element type.

    Raises:
        LanguageError: the shape is not static, or an argument has the wrong type.

    Example:
        >>> tl.full((2, 3), 0.5, tl.f16)
        [[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]
    """
    current("tl.full")
    shape = static_shape(shape, "tl.full")
    if not is_number(value) and not isinstance(value, Scalar):
        raise LanguageError(
            f"tl.full: expected a number or a scalar, found {describe(value)}",
            load_hint(value),
        )
    return as_value(value, check_dtype(dtype, "tl.full"), shape)


def zeros(shape: Sequence[int], dtype: DType) -> Tile:
    """A fragment of zeros; arguments and errors as for :func:`full`.

    Example:
        >>> tl.zeros((2, 2), tl.i32)
        [[0, 0], [0, 0]]
    """
    return full(static_shape(shape, "tl.zeros"), 0, check_dtype(dtype, "tl.zeros"))


def iota(shape: Sequence[int], axis: int = 0, dtype: DType = i32) -> Tile:
    """A fragment whose elements are their coordinates along `axis`.

    Args:
        shape: static extents.
        axis: the axis, negative ones counted from the last.
        dtype: an integer type.

    Raises:
        LanguageError: the shape is not static, the axis is out of range, or `dtype` is
            no integer type.

    Example:
        >>> tl.iota((2, 3), axis=1)
        [[0, 1, 2], [0, 1, 2]]
    """
    current("tl.iota")
    shape = static_shape(shape, "tl.iota")
    if not check_dtype(dtype, "tl.iota").is_int:
        raise LanguageError(f"tl.iota: expected an integer type, found {dtype}")
    axis = check_axis(axis, len(shape), "tl.iota")
    type_ = ir.RankedTensorType.get(shape, dtype.to_ir())
    return Tile(tile.iota(type_, axis), dtype)


def arange(start: int, stop: int | None = None, dtype: DType = i32) -> Tile:
    """A fragment of shape (stop - start,) with the integers from `start` on.

    With one bound, that is `stop`, and `start` is zero.

    Args:
        start, stop: Python integers. Their difference is the extent; it need not be a
            power of two.
        dtype: an integer type.

    Raises:
        LanguageError: a bound is no Python integer, or `dtype` is no integer type.

    Example:
        >>> tl.arange(4)
        [0, 1, 2, 3]
        >>> tl.arange(-2, 1)
        [-2, -1, 0]
    """
    if stop is None:
        start, stop = 0, start
    if isinstance(start, Scalar) or isinstance(stop, Scalar):
        raise LanguageError(
            "tl.arange: bounds have to be Python integers",
            "add a scalar afterwards: tl.arange(128) + i",
        )
    start = check_integer(start, "tl.arange: a bound", -INT64_MAX, INT64_MAX)
    stop = check_integer(stop, "tl.arange: a bound", -INT64_MAX, INT64_MAX)
    result = iota((stop - start,), 0, dtype)
    return result + start if start else result


def broadcast_to(value: Any, shape: Sequence[int]) -> Tile:
    """A fragment or a scalar repeated to `shape`, by numpy's rules.

    Args:
        value: a fragment or a scalar.
        shape: static extents.

    Raises:
        LanguageError: the shapes do not fit.

    Example:
        >>> tl.broadcast_to(tl.arange(3), (2, 3))
        [[0, 1, 2], [0, 1, 2]]
    """
    shape = static_shape(shape, "tl.broadcast_to")
    if isinstance(value, Scalar):
        return as_value(value, value.dtype, shape)
    value = check_tile(value, "tl.broadcast_to")
    if broadcast_shapes("tl.broadcast_to", value.shape, shape) != shape:
        raise LanguageError(
            f"tl.broadcast_to: a fragment of shape {value.shape} does not repeat to "
            f"{shape}"
        )
    return broadcast(value, shape)


def expand_dims(value: Tile, axis: int) -> Tile:
    """A fragment with a dimension of extent one inserted before `axis`.

    ``x[:, None]`` does the same.

    Args:
        value: a fragment.
        axis: the place of the new dimension; negative ones count from the end.

    Raises:
        LanguageError: `value` is no fragment, or the axis is out of range.

    Example:
        >>> tl.expand_dims(tl.arange(3), 1)
        [[0], [1], [2]]
    """
    value = check_tile(value, "tl.expand_dims")
    axis = check_axis(axis, value.ndim + 1, "tl.expand_dims")
    return Tile(tile.expand_dims(value.ir, axis), value.dtype)


def index(value: Tile, items: Any) -> Any:
    """Indexing of fragments: ``value[:, None]``, ``value[:, 64:128]``, ``value[:, 0]``.

    Each None inserts a dimension of extent one. A pair of constant bounds takes a part
    of a dimension. A Python integer takes one element of a dimension and drops it;
    negative ones count from the end. ``...`` stands for the dimensions that have no
    index.

    Returns:
        A fragment, or a scalar if no dimension is left.

    Raises:
        LanguageError: an index is of another kind or out of range.
    """
    items = _expand_ellipsis(value, items if isinstance(items, tuple) else (items,))
    axis, shape = 0, []
    for item in items:
        if item is None:
            shape.append(1)
            continue
        if isinstance(item, slice) and item.step is None:
            if item.start is not None or item.stop is not None:
                value = _take_part(value, axis, item)
            shape.append(value.shape[axis])
        else:
            value = _take_element(value, axis, item)
        axis += 1
    shape += value.shape[axis:]
    if not any(as_integer(item) is not None for item in items):
        # Inserted dimensions keep the layout, which a reshape may change.
        for axis, item in enumerate(items):
            if item is None:
                value = expand_dims(value, axis)
        return value
    return as_scalar(reshape(value, shape)) if not shape else reshape(value, shape)


def _expand_ellipsis(value: Tile, items: tuple[Any, ...]) -> tuple[Any, ...]:
    """The indices, with full slices in the place of ``...``."""
    places = [place for place, item in enumerate(items) if item is Ellipsis]
    given = sum(item is not None and item is not Ellipsis for item in items)
    if given > value.ndim or len(places) > 1:
        raise LanguageError(
            f"found {given} indices for {describe(value)} with {value.ndim} dimensions"
            if len(places) < 2
            else "an index has '...' once"
        )
    if not places:
        return items
    missing = (slice(None),) * (value.ndim - given)
    return (*items[: places[0]], *missing, *items[places[0] + 1 :])


def _take_element(value: Tile, axis: int, item: Any) -> Tile:
    """The part of extent one at a constant index along ``axis``."""
    if isinstance(item, slice):
        raise LanguageError(
            f"expected a part of a fragment with step 1, found step {item.step}",
            f"tl.flip(x, {axis}) reverses it; x.reshape(n // 2, 2)[:, 0] has "
            "each second element",
        )
    if as_integer(item) is None:
        raise LanguageError(
            "a fragment is indexed with ':', None, constant integers and constant "
            f"bounds, as in x[:, None] or x[:, 0:64], found {describe(item)}",
            "its elements are in the registers of many threads; index a buffer, or "
            "choose elements with tl.where",
        )
    extent = value.shape[axis]
    what = f"an index of dimension {axis} of {describe(value)}"
    place = check_integer(item, what, -extent, extent - 1) % extent
    return _take_part(value, axis, slice(place, place + 1))


def as_scalar(value: Tile) -> Scalar:
    """The element of a fragment without dimensions."""
    return Scalar(tensor.extract(value.ir, []), value.dtype)


def _take_part(value: Tile, axis: int, bounds: slice) -> Tile:
    """The part of ``value`` between constant bounds along ``axis``."""
    extent = value.shape[axis]
    start = 0 if bounds.start is None else bounds.start
    stop = extent if bounds.stop is None else bounds.stop
    if as_integer(start) is None or as_integer(stop) is None:
        raise LanguageError(
            "the bounds of a part of a fragment are constants, found "
            f"{start!r}:{stop!r}",
            "which register holds an element has to be known to the compiler",
        )
    size = stop - start
    if not 0 <= start < stop <= extent:
        raise LanguageError(
            f"the part {start}:{stop} is empty or not within dimension {axis}, which "
            f"has extent {extent}",
            f"negative bounds do not count from the end: write {extent + start}:{stop}"
            if -extent <= start < 0
            else "bounds count from the first element, as in x[:, 0:64]",
        )
    unit = math.gcd(start, size, extent)
    if unit == size:
        return equal_part(value, axis, size, start // size)
    # The dialect has equal parts only. This module is one that these are made of.
    from .composed import joining, resizing

    if size // unit > joining.MAX_PARTS:
        shape, first = [*value.shape], [0] * value.ndim
        shape[axis], first[axis] = size, start
        return resizing.resize(value, shape, start=first)
    places = range(start // unit, stop // unit)
    return joining.cat([equal_part(value, axis, unit, i) for i in places], axis)


def equal_part(value: Tile, axis: int, size: int, number: int) -> Tile:
    """One of the parts of ``size`` elements into which an axis can be cut."""
    shape = [*value.shape]
    shape[axis] = size
    type_ = ir.RankedTensorType.get(shape, value.dtype.to_ir())
    return Tile(tile.slice(type_, value.ir, axis, number), value.dtype)


def transpose(value: Tile, axes: Sequence[int] | None = None) -> Tile:
    """A fragment with permuted dimensions.

    Args:
        value: a fragment.
        axes: dimension i of the result is dimension ``axes[i]`` of `value`; by default
            the dimensions are reversed.

    Raises:
        LanguageError: `axes` is no permutation of the dimensions.

    Example:
        >>> tl.transpose(tl.arange(6).reshape(2, 3))
        [[0, 3], [1, 4], [2, 5]]
        >>> tl.transpose(tl.arange(4).reshape(1, 2, 2), (0, 2, 1))
        [[[0, 2], [1, 3]]]
    """
    value = check_tile(value, "tl.transpose")
    axes = range(value.ndim)[::-1] if axes is None else axes
    axes = [check_axis(axis, value.ndim, "tl.transpose") for axis in axes]
    if sorted(axes) != list(range(value.ndim)):
        raise LanguageError(
            f"tl.transpose: expected each of {value.ndim} axes once, found {axes}"
        )
    return Tile(tile.transpose(value.ir, axes), value.dtype)


def flip(value: Tile, axis: int | None = None) -> Tile:
    """A fragment with the elements along an axis in reverse order.

    Args:
        value: a fragment.
        axis: the axis; None for all axes.

    Raises:
        LanguageError: `value` is no fragment, or the axis is out of range.

    Example:
        >>> tl.flip(tl.arange(4))
        [3, 2, 1, 0]
    """
    value = check_tile(value, "tl.flip")
    places = range(value.ndim) if axis is None else [axis]
    axes = [check_axis(place, value.ndim, "tl.flip") for place in places]
    return Tile(tile.flip(value.ir, axes), value.dtype)


def reshape(value: Tile, shape: Sequence[int]) -> Tile:
    """The same elements, counted row by row, with another shape.

    Args:
        value: a fragment.
        shape: static extents, with as many elements.

    Raises:
        LanguageError: the shape is not static.
        KernelError: the shape has another number of elements.

    Example:
        >>> tl.reshape(tl.arange(6), (2, 3))
        [[0, 1, 2], [3, 4, 5]]
    """
    value = check_tile(value, "tl.reshape")
    extents = shape if isinstance(shape, (tuple, list)) else (shape,)
    if -1 in map(as_integer, extents):
        raise LanguageError(
            "tl.reshape: -1 stands for no extent",
            f"write each extent; there are {math.prod(value.shape)} elements",
        )
    shape = static_shape(shape, "tl.reshape")
    type_ = ir.RankedTensorType.get(shape, value.dtype.to_ir())
    return Tile(tile.reshape(type_, value.ir), value.dtype)
