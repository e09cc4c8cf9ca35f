"""Places of extreme elements, and sorted fragments.

NaN counts as larger than every number, as in numpy. Equal elements keep their order.
"""

from __future__ import annotations

import math as python_math
from typing import Any, NamedTuple

from ..integers import check_integer
from ..math import where
from ..reductions import any as any_of
from ..reductions import max as max_of
from ..reductions import min as min_of
from ..shapes import (
    broadcast_to,
    check_axis,
    check_tile,
    full,
    index,
    iota,
    reshape,
)
from ..types import f32, i32, i64, u8, u64
from ..values import Scalar, Tile
from .joining import stack
from .resizing import resize


def argmax(
    value: Tile, axis: int | None = None, keepdims: bool = False
) -> Tile | Scalar:
    """The coordinate of the first largest element along an axis, as i32.

    Args:
        value: a fragment. NaN is larger than every number.
        axis: the axis; with None, the place in all elements, counted row by row.
        keepdims: leave an extent of one in the place of the axis.

    Raises:
        LanguageError: `value` is no fragment, or the axis is out of range.

    Example:
        >>> x = tl.arange(5) % 3  # 0, 1, 2, 0, 1
        >>> tl.argmax(x)
        2
    """
    return _find(value, max_of, axis, keepdims, "tl.argmax")


def argmin(
    value: Tile, axis: int | None = None, keepdims: bool = False
) -> Tile | Scalar:
    """The coordinate of the first smallest element along an axis, as i32.

    A NaN is found before every number, as in numpy. Arguments and errors as for
    :func:`argmax`.

    Example:
        >>> x = tl.arange(1, 6) % 3  # 1, 2, 0, 1, 2
        >>> tl.argmin(x)
        2
    """
    return _find(value, min_of, axis, keepdims, "tl.argmin")


def _find(
    value: Tile, extreme: Any, axis: int | None, keepdims: bool, what: str
) -> Tile | Scalar:
    value = check_tile(value, what)
    if value.dtype.is_bool:
        value = value.to(u8)
    if axis is None:
        flat = _find(
            reshape(value, (python_math.prod(value.shape),)), extreme, 0, False, what
        )
        if not keepdims:
            return flat
        return broadcast_to(flat, (1,) * value.ndim)
    axis = check_axis(axis, value.ndim, what)
    extent = value.shape[axis]
    found: Any = value == extreme(value, axis, keepdims=True)
    if value.dtype.is_float:
        is_nan: Any = value != value
        found = where(any_of(is_nan, axis, keepdims=True), is_nan, found)
    places = iota([extent if dim == axis else 1 for dim in range(value.ndim)], axis)
    return min_of(where(found, places, extent), axis, keepdims)


class Sorted(NamedTuple):
    """Elements in order, and the coordinates that they had."""

    values: Tile
    indices: Tile


def sort(value: Tile, axis: int = -1, descending: bool = False) -> Tile:
    """The elements along an axis in ascending order; NaN comes last.

    Bitonic sort (Batcher: Sorting networks and their applications. AFIPS 1968): an
    extent of 2^n takes n (n + 1) / 2 rounds of comparisons.

    Another extent is padded to one in shared memory.

    Args:
        value: a fragment.
        axis: the axis.
        descending: whether the largest element comes first.

    Raises:
        LanguageError: `value` is no fragment, or the axis is out of range.

    Example:
        >>> x = tl.arange(8) * 5 % 8  # 0, 5, 2, 7, 4, 1, 6, 3
        >>> tl.sort(x, descending=True)
        [7, 6, 5, 4, 3, 2, 1, 0]
    """
    value = check_tile(value, "tl.sort")
    axis = check_axis(axis, value.ndim, "tl.sort")
    (result,) = _sort([_pad(value, axis, descending)], axis, descending)
    return _cut(result, value).to(value.dtype)


def argsort(value: Tile, axis: int = -1, descending: bool = False) -> Sorted:
    """The sorted elements, and the coordinates (i32) that they had along the axis.

    The order is stable: equal elements keep theirs. Arguments and errors as for
    :func:`sort`.

    Returns:
        A named tuple `values`, `indices` of fragments of the shape of the argument.

    Example:
        >>> x = tl.arange(4) * 3 % 4  # 0, 3, 2, 1
        >>> values, indices = tl.argsort(x)
        >>> values
        [0, 1, 2, 3]
        >>> indices
        [0, 3, 2, 1]
    """
    return _argsort(value, axis, descending, "tl.argsort")


def _argsort(value: Tile, axis: int, descending: bool, what: str) -> Sorted:
    value = check_tile(value, what)
    axis = check_axis(axis, value.ndim, what)
    padded = _pad(value, axis, descending)
    values, indices = _sort([padded, iota(padded.shape, axis)], axis, descending)
    return Sorted(_cut(values, value).to(value.dtype), _cut(indices, value))


def _pad(value: Tile, axis: int, descending: bool) -> Tile:
    """The fragment with elements that come last, up to a power of two."""
    dtype, extent = value.dtype, value.shape[axis]
    if not extent & (extent - 1):
        return value
    if dtype.is_float:
        pad = -python_math.inf if descending else python_math.nan
    elif descending:
        pad = -(1 << (dtype.bits - 1)) if dtype.has_sign else 0
    else:
        pad = (1 << (dtype.bits - dtype.has_sign)) - 1
    shape = [*value.shape]
    shape[axis] = 1 << extent.bit_length()
    if dtype.is_float and dtype.bits <= 8:
        # These formats may lack infinities or NaN.
        wide: Any = value.to(f32)
        return resize(wide, shape, pad)
    return resize(value, shape, pad)


def _cut(value: Tile, like: Tile) -> Tile:
    """The elements of what may have been padded and converted."""
    if value.shape == like.shape:
        return value
    cut: Any = resize(value, like.shape)
    return cut


def topk(value: Tile, k: int, axis: int = -1) -> Sorted:
    """The k largest elements along an axis, the largest first, and their coordinates.

    Args:
        value: a fragment. NaN is larger than every number.
        k: at most the extent.
        axis: the axis. A small `k` takes three reductions for each element; for others,
            an axis whose extent is no power of two is padded.

    Raises:
        LanguageError: `value` is no fragment, or k or the axis is out of range.

    Returns:
        A named tuple `values`, `indices` of fragments with the extent k along the axis.

    Example:
        >>> x = tl.arange(8) * 5 % 8  # 0, 5, 2, 7, 4, 1, 6, 3
        >>> values, indices = tl.topk(x, 2)
        >>> values
        [7, 6]
        >>> indices
        [3, 6]
    """
    what = "tl.topk"
    value = check_tile(value, what)
    axis = check_axis(axis, value.ndim, what)
    k = check_integer(k, f"{what}: k", 1, value.shape[axis])
    steps = (value.shape[axis] - 1).bit_length()
    if k <= steps * (steps + 1) // 6 and value.dtype not in (i64, u64):
        return _select(value, k, axis)
    items: list[Any] = [slice(None)] * value.ndim
    items[axis] = slice(0, k)
    found = _argsort(value, axis, True, what)
    return Sorted(*(index(part, tuple(items)) for part in found))


def _select(value: Tile, k: int, axis: int) -> Sorted:
    """The k largest elements, found one after the other by three reductions each.

    With few elements, this is less than the n (n + 1) / 2 rounds of a sort of 2^n.
    """
    keys: Any = _keys(value)
    lowest = -(1 << (keys.dtype.bits - 1))
    extent = value.shape[axis]
    extents = [extent if dim == axis else 1 for dim in range(value.ndim)]
    places: Any = iota(extents, axis)
    # The bits of floating point: a key is the same for both zeros.
    wide: Any = _widened(value)
    bits = wide.bitcast(keys.dtype) if wide.dtype.is_float else keys
    values, indices = [], []
    for _ in range(k):
        is_top = keys == max_of(keys, axis, keepdims=True)
        first: Any = min_of(where(is_top, places, extent), axis, keepdims=True)
        is_first = places == first
        values.append(max_of(where(is_first, bits, lowest), axis))
        indices.append(index(first, (*(slice(None),) * axis, 0)))
        keys = where(is_first, lowest, keys)
    found: Any = _stacked(values, axis)
    if wide.dtype.is_float:
        found = found.bitcast(wide.dtype)
    return Sorted(found.to(value.dtype), _stacked(indices, axis))


def _stacked(parts: list[Any], axis: int) -> Any:
    """Parts side by side along a new axis; those of a vector are scalars."""
    tiles = [
        part if isinstance(part, Tile) else full((1,), part, part.dtype)
        for part in parts
    ]
    if tiles[0] is parts[0]:
        return stack(tiles, axis)
    return reshape(stack(tiles, 0), (len(tiles),))


def _widened(value: Any) -> Any:
    """Elements in a type of 32 or 64 bits, whose bits are a floating point number's."""
    if value.dtype.is_float:
        return value if value.dtype.bits >= 32 else value.to(f32)
    return value.to(i64 if value.dtype.bits >= 32 else i32)


def _keys(value: Any) -> Any:
    """Integers in the order of the elements, above the lowest integer of their type."""
    wide = _widened(value)
    if not wide.dtype.is_float:
        return wide
    dtype = i64 if wide.dtype.bits == 64 else i32
    highest = (1 << (dtype.bits - 1)) - 1
    # The sum makes zeros equal; negative numbers fall with their bits.
    bits = (wide + 0.0).bitcast(dtype)
    ordered = where(bits < 0, bits ^ highest, bits)
    return where(wide != wide, highest, ordered)


def _sort(values: list[Tile], axis: int, descending: bool) -> list[Tile]:
    """Sorts the first fragment, and takes the others along.

    With others, the last one has the coordinates, which decide between equal elements.
    The extent is a power of two.
    """
    steps = values[0].shape[axis].bit_length() - 1
    for run in range(1, steps + 1):
        for distance in reversed(range(run)):
            # Runs of 2^run elements alternate between both directions.
            values = _exchange(values, axis, distance, run - distance - 1, descending)
    return values


def _exchange(
    values: list[Tile], axis: int, distance: int, bit: int, descending: bool
) -> list[Tile]:
    """Puts pairs of elements that are 2^distance apart in order.

    The axis becomes three: pairs of blocks, the two blocks of a pair, and the places in
    a block. The direction is a bit of the number of the pair.
    """
    shape = values[0].shape
    outer, inner = shape[axis] >> (distance + 1), 1 << distance
    lows: list[Any] = []
    highs: list[Any] = []
    for value in values:
        parts = reshape(value, (*shape[:axis], outer, 2, inner, *shape[axis + 1 :]))
        items: list[Any] = [slice(None)] * parts.ndim
        for part, halves in enumerate((lows, highs)):
            items[axis + 1] = part
            halves.append(parts[tuple(items)])
    extents = [1] * lows[0].ndim
    extents[axis] = outer
    # Without an order between equal elements, falling runs may exchange them.
    falls: Any = (iota(extents, axis) >> bit) & 1 != 0
    swaps = falls ^ _comes_later(lows, highs, descending)
    return [
        reshape(
            stack((where(swaps, high, low), where(swaps, low, high)), axis + 1), shape
        )
        for low, high in zip(lows, highs, strict=True)
    ]


def _comes_later(lhs: list[Any], rhs: list[Any], descending: bool) -> Any:
    """Whether elements of `lhs` come after those of `rhs` in the sorted fragment."""
    if descending:
        later = _is_larger(rhs[0], lhs[0])
    else:
        later = _is_larger(lhs[0], rhs[0])
    if len(lhs) == 1:
        return later
    is_equal = ~_is_larger(lhs[0], rhs[0]) & ~_is_larger(rhs[0], lhs[0])
    return later | (is_equal & (lhs[-1] > rhs[-1]))


def _is_larger(lhs: Any, rhs: Any) -> Any:
    """``lhs > rhs``, where NaN is larger than every number."""
    if not lhs.dtype.is_float:
        return lhs > rhs
    return (lhs > rhs) | ((lhs != lhs) & (rhs == rhs))
