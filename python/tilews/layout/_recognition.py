"""Layouts recognised in functions from coordinates to offsets."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .._mlir_libs._tilews.layout import Layout

#: No block can hold as many elements in shared memory or registers.
MAX_ELEMENTS = 1 << 19


def tabulate(function: Callable[..., int], shape: Sequence[int]) -> np.ndarray:
    """The offsets that a function gives to all coordinates of a shape.

    Raises:
        ValueError: an offset is no integer or is negative, two elements share one,
            or the shape is too large to try.
    """
    if math.prod(shape) > MAX_ELEMENTS:
        raise ValueError(
            f"a shape of {math.prod(shape)} elements is too large to recognise a "
            f"layout in a function, the limit is {MAX_ELEMENTS}"
        )
    offsets = np.empty(shape, dtype=np.int64)
    for coord in itertools.product(*map(range, shape)):
        offset = function(*coord)
        if not isinstance(offset, (int, np.integer)) or isinstance(offset, bool):
            raise ValueError(
                f"element {coord} has the offset {offset!r}, expected an integer"
            )
        if offset < 0:
            raise ValueError(
                f"element {coord} lies at offset {offset}, before the buffer"
            )
        offsets[coord] = offset
    values, first = np.unique(offsets, return_index=True)
    if len(values) != offsets.size:
        second = np.setdiff1d(np.arange(offsets.size), first)[0]
        place = offsets.flat[second]
        first = np.flatnonzero(offsets == place)[0]
        one, other = (
            tuple(int(i) for i in np.unravel_index(n, offsets.shape))
            for n in (first, second)
        )
        raise ValueError(f"elements {one} and {other} both lie at offset {place}")
    return offsets


def recognize(function: Callable[..., int], shape: Sequence[int]) -> Layout:
    """The layout, one mode a dimension, that a function describes.

    Strides are read off each dimension, the bits of a swizzle are those that make
    the rest a sum over dimensions; then every element is compared.

    Args:
        function: called with one coordinate a dimension, returns an offset in
            elements.
        shape: extents of the dimensions.

    Raises:
        ValueError: there is no such layout; the message names the elements at fault.
    """
    shape = tuple(shape)
    offsets = tabulate(function, shape)
    if offsets.size and offsets.flat[0] != 0:
        raise ValueError(
            f"the first element lies at offset {offsets.flat[0]}, expected 0"
        )
    sample = np.random.default_rng(0).integers(0, shape, (64, len(shape)))
    for swizzle in _swizzles(int(offsets.max(initial=0))):
        # Most swizzles fail at a few elements.
        picked = [_axis(offsets, dim)[sample[:, dim]] for dim in range(len(shape))]
        parts = sum((_apply(swizzle, part) for part in picked), np.zeros(64, int))
        if (parts != _apply(swizzle, offsets[tuple(sample.T)])).any():
            continue
        plain = _apply(swizzle, offsets)
        if not _is_sum(plain):
            continue
        modes = [_digits(plain, dim) for dim in range(len(shape))]
        if None in modes:
            continue
        layout = Layout(_text(swizzle, modes))
        if (layout.offsets().reshape(shape, order="F") == offsets).all():
            return layout
    raise ValueError(_explain(offsets))


def _swizzles(largest: int) -> Iterator[tuple[int, int, int]]:
    """The swizzles (bits, base, shift) that change offsets up to `largest`.

    Simple ones come first.
    """
    yield (0, 0, 0)
    places = min(largest.bit_length(), 20)
    for bits in range(1, 6):
        for shift in range(bits, places):
            for base in range(places - shift):
                yield (bits, base, shift)


def _apply(swizzle: tuple[int, int, int], offsets: np.ndarray) -> np.ndarray:
    """Swizzles; a second time, that undoes the first one."""
    bits, base, shift = swizzle
    return offsets ^ ((offsets >> shift) & (((1 << bits) - 1) << base))


def _axis(offsets: np.ndarray, dim: int) -> np.ndarray:
    """The offsets along one dimension, the others being zero."""
    return offsets[tuple(slice(None) if d == dim else 0 for d in range(offsets.ndim))]


def _is_sum(offsets: np.ndarray) -> bool:
    """Whether every offset is the sum of those of its coordinates."""
    total = np.zeros((), dtype=np.int64)
    for dim in range(offsets.ndim):
        total = np.add.outer(total, _axis(offsets, dim))
    return bool((total == offsets).all())


def _digits(offsets: np.ndarray, dim: int) -> tuple[list[int], list[int]] | None:
    """Extents and strides of the digits of one dimension, fastest first.

    None if its offsets are no sums of digits.
    """
    axis = rest = _axis(offsets, dim)
    total = np.zeros(1, dtype=np.int64)
    extents, strides = [], []
    while len(rest) > 1:
        stride = int(rest[1])
        steps = rest == np.arange(len(rest)) * stride
        extent = len(rest) if steps.all() else int(np.argmin(steps))
        if extent < 2 or len(rest) % extent or stride < 0:
            return None
        extents.append(extent)
        strides.append(stride)
        total = np.add.outer(np.arange(extent) * stride, total).ravel()
        rest = rest[::extent]
    if (total != axis).any():
        return None
    return extents or [1], strides or [0]


def _text(swizzle: tuple[int, int, int], modes: Sequence[Any]) -> str:
    def group(numbers: Sequence[int]) -> str:
        text = ",".join(map(str, numbers))
        return f"({text})" if len(numbers) > 1 else text

    shape = ",".join(group(extents) for extents, _ in modes)
    stride = ",".join(group(strides) for _, strides in modes)
    bits, base, shift = swizzle
    return f"Sw<{bits},{base},{shift}> o ({shape}):({stride})"


def _explain(offsets: np.ndarray) -> str:
    """The reason why there is no layout.

    That is an element that differs from the sum of its coordinates' offsets, or a
    dimension that has no strides.
    """
    total = np.zeros((), dtype=np.int64)
    for dim in range(offsets.ndim):
        if _digits(offsets, dim) is None:
            return (
                f"the offsets along dimension {dim} are no multiples of strides, and "
                "no XOR of their bits makes them so"
            )
        total = np.add.outer(total, _axis(offsets, dim))
    wrong = np.argmax(total != offsets)
    coord = tuple(int(i) for i in np.unravel_index(wrong, offsets.shape))
    return (
        f"element {coord} lies at offset {offsets[coord]}, but strides put it at "
        f"{total[coord]}, and no XOR of bits of the offsets explains that"
    )
