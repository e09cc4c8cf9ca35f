"""The part of the language that random kernels use, in numpy.

A kernel's function runs on it as plain Python, block after block: a second opinion
about what a kernel means, which shares no code with the frontend, the passes and
the interpreter.
"""

from __future__ import annotations

import builtins
import contextlib
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .data import DTYPES
from .program import Program

globals().update(DTYPES)


class NumpyTile(np.ndarray):
    """A fragment."""

    def to(self, dtype: np.dtype) -> NumpyTile:
        return self.astype(dtype).view(NumpyTile)


class NumpyRegion:
    """A part of a buffer, which may reach over its bounds."""

    def __init__(self, array: np.ndarray, items: Any) -> None:
        items = items if isinstance(items, tuple) else (items,)
        self.array = array
        self.starts = []
        self.sizes: list[int | None] = []
        for item, extent in zip(items, array.shape, strict=True):
            is_slice = isinstance(item, slice)
            start = int((item.start or 0) if is_slice else item)
            stop = extent if is_slice and item.stop is None else item
            stop = int(item.stop) if is_slice and item.stop is not None else stop
            self.starts.append(start)
            self.sizes.append(int(stop) - start if is_slice else None)

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Sizes, if there are any; indices between slices count as one."""
        if builtins.all(size is None for size in self.sizes):
            return None
        return tuple(1 if size is None else size for size in self.sizes)

    def _overlap(self, shape: Sequence[int]) -> tuple[Any, Any]:
        """What is in bounds: slices of the array, and of a tile of a shape."""
        inside, outside = [], []
        for start, size, extent in zip(
            self.starts, shape, self.array.shape, strict=True
        ):
            first = builtins.max(start, 0)
            last = builtins.max(builtins.min(start + size, extent), first)
            inside.append(slice(first, last))
            outside.append(slice(first - start, last - start))
        return tuple(inside), tuple(outside)

    def read(self, shape: Sequence[int]) -> np.ndarray:
        inside, outside = self._overlap(shape)
        values = np.zeros(shape, self.array.dtype)
        values[outside] = self.array[inside]
        return values

    def write(self, values: np.ndarray) -> None:
        inside, outside = self._overlap(values.shape)
        self.array[inside] = values[outside]


class NumpyBuffer:
    """A buffer in global or shared memory."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __getitem__(self, items: Any) -> NumpyRegion:
        return NumpyRegion(self.array, items)

    def __setitem__(self, items: Any, value: Any) -> None:
        store(value, self[items])


def _region(value: NumpyBuffer | NumpyRegion) -> NumpyRegion:
    if isinstance(value, NumpyRegion):
        return value
    return value[tuple(slice(0, extent) for extent in value.array.shape)]


# --- The grid -------------------------------------------------------------------

_block = 0
_blocks = 1


def grid(*extents: int) -> Any:
    ids = []
    rest = _block
    for extent in extents:
        ids.append(rest % extent)
        rest //= extent
    return ids[0] if len(ids) == 1 else tuple(ids)


def persistent(*extents: int) -> Iterator[Any]:
    places = itertools.product(*map(builtins.range, reversed(extents)))
    for place in list(places)[_block::_blocks]:
        yield place[0] if len(place) == 1 else place[::-1]


def range(*bounds: Any, num_stages: int | None = None) -> builtins.range:
    return builtins.range(*map(int, bounds))


def run(program: Program, arguments: Sequence[Any]) -> None:
    """Runs a kernel over its grid and updates the arrays in place."""
    global _block, _blocks
    import sys

    function = program.function(sys.modules[__name__])
    _blocks = program.blocks
    values = [NumpyBuffer(a) if isinstance(a, np.ndarray) else a for a in arguments]
    with np.errstate(all="ignore"), contextlib.suppress(StopIteration):
        for _block in builtins.range(_blocks):
            function(*values)


# --- Memory -----------------------------------------------------------------------


def alloc_shared(
    shape: Sequence[int], dtype: np.dtype, layout: str | None = None
) -> NumpyBuffer:
    return NumpyBuffer(np.zeros(shape, dtype))


def view(buffer: NumpyBuffer, shape: Sequence[int]) -> NumpyBuffer:
    return NumpyBuffer(buffer.array.reshape(shape))


def copy(source: NumpyBuffer | NumpyRegion, dest: NumpyBuffer | NumpyRegion) -> None:
    source, dest = _region(source), _region(dest)
    values = source.read(source.shape or dest.shape or ())
    dest.write(values)


def load(source: NumpyBuffer | NumpyRegion, shape: Sequence[int] | None = None) -> Any:
    source = _region(source)
    shape = shape or source.shape
    if shape is None:
        return source.array[tuple(source.starts)]
    return source.read(shape).view(NumpyTile)


def store(value: Any, dest: NumpyBuffer | NumpyRegion) -> None:
    dest = _region(dest)
    if not np.shape(value):
        if dest.shape is None:
            dest.array[tuple(dest.starts)] = value
            return
        value = np.full(dest.shape, value)
    dest.write(np.asarray(value).astype(dest.array.dtype))


def atomic_add(value: np.ndarray, dest: NumpyRegion) -> None:
    dest.write(dest.read(value.shape) + value)


# --- Values -----------------------------------------------------------------------


def full(shape: Sequence[int], value: Any, dtype: np.dtype) -> NumpyTile:
    return np.full(shape, value, dtype).view(NumpyTile)


def zeros(shape: Sequence[int], dtype: np.dtype) -> NumpyTile:
    return full(shape, 0, dtype)


def _reduce(function: Any, value: NumpyTile, axis: int | None) -> Any:
    result = function(np.asarray(value), axis=axis).astype(value.dtype)
    return result if axis is None else np.asarray(result).view(NumpyTile)


def sum(value: NumpyTile, axis: int | None = None) -> Any:
    return _reduce(lambda x, axis: np.sum(x, axis, np.float64), value, axis)


def max(value: NumpyTile, axis: int | None = None) -> Any:
    return _reduce(np.max, value, axis)


def any(value: NumpyTile) -> bool:
    return bool(np.any(value))


def all(value: NumpyTile) -> bool:
    return bool(np.all(value))


maximum, minimum, exp2 = np.maximum, np.minimum, np.exp2


def gemm(
    lhs: NumpyBuffer | NumpyTile,
    rhs: NumpyBuffer | NumpyTile,
    acc: NumpyTile,
    *,
    transpose_lhs: bool = False,
    transpose_rhs: bool = False,
    clear: bool = False,
) -> NumpyTile:
    a, b = (
        np.asarray(x.array if isinstance(x, NumpyBuffer) else x).astype(np.float64)
        for x in (lhs, rhs)
    )
    product = (a.T if transpose_lhs else a) @ (b.T if transpose_rhs else b)
    start = 0 if clear else np.asarray(acc).astype(np.float64)
    return (start + product).astype(acc.dtype).view(NumpyTile)
