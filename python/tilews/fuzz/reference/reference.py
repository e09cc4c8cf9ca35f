"""The part of the language that random kernels use, in numpy.

A kernel's function runs on it as plain Python, block after block: a second opinion
about what a kernel means, which shares no code with the frontend, the passes and
the interpreter.
"""

from __future__ import annotations

import builtins
import collections
import contextlib
import itertools
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ...language.memory.packed import unpack_elements
from ..data import DTYPES, NIBBLES, PACKED, Array, Number
from ..random_program import RandomProgram
from . import reference_roles, reference_values
from .reference_values import NumpyTile


class NumpyRegion:
    """A part of a buffer, which may reach over its bounds.

    Attributes:
        starts: for each dimension the first place, or the indices of all places.
        sizes: for each dimension the number of places; None for a single one.
    """

    def __init__(self, array: np.ndarray, items: Any) -> None:
        items = items if isinstance(items, tuple) else (items,)
        self.array = array
        self.starts: list[Any] = []
        self.sizes: list[int | None] = []
        for item, extent in zip(items, array.shape, strict=True):
            if isinstance(item, slice):
                start = int(item.start or 0)
                stop = extent if item.stop is None else int(item.stop)
                self.starts.append(start)
                self.sizes.append(stop - start)
            elif np.ndim(item):
                self.starts.append(np.asarray(item, np.int64))
                self.sizes.append(len(item))
            else:
                self.starts.append(int(item))
                self.sizes.append(None)

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Sizes, if there are any; a single place has no dimension."""
        if builtins.all(size is None for size in self.sizes):
            return None
        return tuple(size for size in self.sizes if size is not None)

    def _full(self, shape: Sequence[int]) -> tuple[int, ...]:
        """A shape with extents of one for the single places that it leaves out."""
        if len(shape) == len(self.starts):
            return tuple(shape)
        left = iter(shape)
        return tuple(1 if size is None else next(left) for size in self.sizes)

    def _places(self, shape: Sequence[int]) -> tuple[tuple[Any, ...], np.ndarray]:
        """Indices of a tile's elements, and which of them exist."""
        places = []
        inside = np.ones(shape, bool)
        for dim, (start, size, extent, own) in enumerate(
            zip(self.starts, shape, self.array.shape, self.sizes, strict=True)
        ):
            steps = np.arange(size)
            along = start if np.ndim(start) else start + steps
            exists = (along >= 0) & (along < extent)
            if own is not None:
                exists = exists & (steps < own)
            form = [-1 if dim == other else 1 for other in builtins.range(len(shape))]
            places.append(np.clip(along, 0, builtins.max(extent - 1, 0)).reshape(form))
            inside &= exists.reshape(form)
        return tuple(places), inside

    def read(self, shape: Sequence[int], pad: float = 0) -> np.ndarray:
        places, inside = self._places(self._full(shape))
        if not self.array.size:
            return np.full(shape, pad, self.array.dtype)
        values = np.where(inside, self.array[places], self.array.dtype.type(pad))
        return values.reshape(shape)

    def write(self, values: np.ndarray, mask: Any = True) -> None:
        values = np.asarray(values)
        shape = self._full(values.shape)
        places, inside = self._places(shape)
        inside = inside & np.broadcast_to(mask, values.shape).reshape(shape)
        full = np.broadcast_arrays(*places, values.reshape(shape))
        self.array[tuple(each[inside] for each in full[:-1])] = full[-1][inside]


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
_extents: tuple[int, ...] = (1,)


def grid(*extents: int) -> Any:
    global _extents
    _extents = extents
    ids = []
    rest = _block
    for extent in extents:
        ids.append(rest % extent)
        rest //= extent
    return ids[0] if len(ids) == 1 else tuple(ids)


def block_id(axis: int) -> int:
    ids = grid(*_extents)
    return int(ids[axis] if isinstance(ids, tuple) else ids)


def num_blocks(axis: int) -> int:
    return _extents[axis]


def rasterize(order: str, panel: int) -> None:
    """No block depends on another one."""


def use_swizzle(panel: int) -> None:
    """As :func:`rasterize`."""


def persistent(*extents: int, order: str = "", panel: int = 0) -> Iterator[Any]:
    places = itertools.product(*map(builtins.range, reversed(extents)))
    for place in list(places)[_block::_blocks]:
        yield place[0] if len(place) == 1 else place[::-1]


def range(*bounds: Any, **schedule: Any) -> builtins.range:
    return builtins.range(*map(int, bounds))


pipelined = static_range = range


def run(program: RandomProgram, arguments: Sequence[Any]) -> None:
    """Runs a kernel over its grid and updates the arrays in place."""
    global _block, _blocks
    names = {**DTYPES, **vars(reference_values), **vars(reference_roles), **globals()}
    program = reference_roles.in_order(program)
    function = program.function(types.SimpleNamespace(**names))
    _blocks = program.blocks
    values = program.assemble(arguments, _argument)
    with np.errstate(all="ignore"), contextlib.suppress(StopIteration):
        for _block in builtins.range(_blocks):
            function(**values)


def _argument(parameter: Array | Number, value: Any) -> Any:
    """What a parameter is in the kernel."""
    if not isinstance(parameter, Array):
        return value
    if parameter.dtype in NIBBLES:
        # Such arrays are read only.
        value = unpack_elements(value, NIBBLES[parameter.dtype])
    return NumpyBuffer(value)


# --- Memory -----------------------------------------------------------------------


def alloc_shared(
    shape: Sequence[int],
    dtype: np.dtype,
    layout: str | None = None,
    versions: int | None = None,
) -> Any:
    def make() -> NumpyBuffer:
        return NumpyBuffer(np.zeros(shape, dtype))

    return make() if versions is None else collections.defaultdict(make)


def view(buffer: NumpyBuffer, shape: Sequence[int]) -> NumpyBuffer:
    return NumpyBuffer(buffer.array.reshape(shape))


def copy(
    source: NumpyBuffer | NumpyRegion,
    dest: NumpyBuffer | NumpyRegion,
    *,
    mask: Any = True,
) -> None:
    source, dest = _region(source), _region(dest)
    # A slice of the source may have a run-time size, which is that of nothing else.
    shape = dest.shape if source.array.ndim == dest.array.ndim else source.shape
    values = source.read(shape or source.shape or ())
    dest.write(np.where(mask, values, values.dtype.type(0)))


def load(
    source: NumpyBuffer | NumpyRegion,
    shape: Sequence[int] | None = None,
    *,
    mask: Any = True,
    pad: float = 0,
) -> Any:
    source = _region(source)
    shape = shape or source.shape
    if shape is None:
        return source.array[tuple(source.starts)]
    values = source.read(shape, pad)
    return np.where(mask, values, values.dtype.type(pad)).view(NumpyTile)


def store(value: Any, dest: NumpyBuffer | NumpyRegion, *, mask: Any = True) -> None:
    dest = _region(dest)
    if not np.shape(value):
        if dest.shape is None:
            dest.array[tuple(dest.starts)] = value
            return
        value = np.full(dest.shape, value)
    dest.write(np.asarray(value).astype(dest.array.dtype), mask)


def _update(
    function: Callable[[Any, Any], Any], value: Any, dest: NumpyRegion, mask: Any = True
) -> Any:
    """Replaces elements one by one, and returns the old ones."""
    if dest.shape is None and not np.shape(value):
        place = tuple(dest.starts)
        old = dest.array[place]
        dest.array[place] = function(old, dest.array.dtype.type(value))
        return old
    shape = dest.shape or np.shape(value)
    full = dest._full(shape)
    places, inside = dest._places(full)
    values = np.broadcast_to(value, shape).reshape(full)
    inside = inside & np.broadcast_to(mask, shape).reshape(full)
    places = np.broadcast_arrays(*places)
    found = np.zeros(full, dest.array.dtype)
    for place in zip(*np.nonzero(inside), strict=True):
        at = tuple(each[place] for each in places)
        found[place] = dest.array[at]
        dest.array[at] = function(found[place], values[place])
    return found.reshape(shape).view(NumpyTile)


def atomic_add(value: Any, dest: NumpyRegion, *, mask: Any = True, **order: str) -> Any:
    return _update(np.add, value, dest, mask)


def atomic_max(value: Any, dest: NumpyRegion, *, mask: Any = True, **order: str) -> Any:
    return _update(np.maximum, value, dest, mask)


def atomic_min(value: Any, dest: NumpyRegion, *, mask: Any = True, **order: str) -> Any:
    return _update(np.minimum, value, dest, mask)


def atomic_and(value: Any, dest: NumpyRegion, *, mask: Any = True, **order: str) -> Any:
    return _update(np.bitwise_and, value, dest, mask)


def atomic_or(value: Any, dest: NumpyRegion, *, mask: Any = True, **order: str) -> Any:
    return _update(np.bitwise_or, value, dest, mask)


def atomic_xor(value: Any, dest: NumpyRegion, *, mask: Any = True, **order: str) -> Any:
    return _update(np.bitwise_xor, value, dest, mask)


def atomic_exchange(
    value: Any, dest: NumpyRegion, *, mask: Any = True, **order: str
) -> Any:
    return _update(lambda old, new: new, value, dest, mask)


def atomic_cas(expected: Any, value: Any, dest: NumpyRegion, **order: str) -> Any:
    return _update(lambda old, new: new if old == expected else old, value, dest)


def atomic_store(value: Any, dest: NumpyRegion, **order: str) -> None:
    store(value, dest)


def atomic_load(source: NumpyRegion, **order: str) -> Any:
    return load(source)


def fence(**order: str) -> None:
    """Blocks run one after the other."""


def may_alias(first: NumpyBuffer, second: NumpyBuffer) -> None:
    """Arrays of random kernels do not overlap."""


def device_assert(condition: Any, message: str = "") -> None:
    assert np.all(condition), message


def print(*values: Any) -> None:
    """Prints nothing: what kernels print is compared in :mod:`~tilews.fuzz.check`."""


def role_registers(**registers: int) -> None:
    """Results do not depend on registers."""


# --- Matmuls ------------------------------------------------------------------


def _matrix(
    value: NumpyBuffer | NumpyRegion | NumpyTile, packed: np.dtype | None = None
) -> np.ndarray:
    """An operand, whose bytes may have elements of a type packed in them."""
    if isinstance(value, NumpyRegion):
        found = value.read(value.shape or ())
    else:
        found = np.asarray(value.array if isinstance(value, NumpyBuffer) else value)
    return found if packed is None else unpack_elements(found, PACKED[packed])


def _scaled(matrix: np.ndarray, scale: Any) -> np.ndarray:
    """A matrix whose blocks are multiplied by their scales."""
    if scale is None:
        return matrix
    scales = _matrix(scale)
    for axis in (0, 1):
        scales = np.repeat(scales, matrix.shape[axis] // scales.shape[axis], axis)
    return matrix * np.asarray(scales).astype(np.float64)


def gemm(
    lhs: NumpyBuffer | NumpyRegion | NumpyTile,
    rhs: NumpyBuffer | NumpyRegion | NumpyTile,
    acc: NumpyTile,
    *,
    transpose_lhs: bool = False,
    transpose_rhs: bool = False,
    clear: bool = False,
    lhs_scale: Any = None,
    rhs_scale: Any = None,
    lhs_type: np.dtype | None = None,
    rhs_type: np.dtype | None = None,
) -> NumpyTile:
    a, b = _matrix(lhs, lhs_type), _matrix(rhs, rhs_type)
    a, b = a.astype(np.float64), b.astype(np.float64)
    a, b = _scaled(a, lhs_scale), _scaled(b, rhs_scale)
    a = np.swapaxes(a, -1, -2) if transpose_lhs else a
    product = a @ (np.swapaxes(b, -1, -2) if transpose_rhs else b)
    start = 0 if clear else np.asarray(acc).astype(np.float64)
    return (start + product).astype(acc.dtype).view(NumpyTile)


def _expanded(kept: np.ndarray, metadata: np.ndarray) -> np.ndarray:
    """The dense matrix of what a 2:4 sparse one keeps."""
    packed = np.ascontiguousarray(metadata).view(np.uint8)
    nibbles = np.stack((packed & 15, packed >> 4), -1).reshape(len(packed), -1)
    rows, groups = np.indices(nibbles.shape)
    dense = np.zeros((*nibbles.shape, 4))
    for which in (0, 1):
        places = nibbles >> 2 * which & 3
        dense[rows, groups, places] += kept[:, which::2].astype(np.float64)
    return dense.reshape(len(packed), -1)


def gemm_sp(
    lhs: NumpyBuffer | NumpyRegion | NumpyTile,
    metadata: NumpyBuffer | NumpyRegion | NumpyTile,
    rhs: NumpyBuffer | NumpyRegion | NumpyTile,
    acc: NumpyTile,
    *,
    transpose_rhs: bool = False,
) -> NumpyTile:
    dense = _expanded(_matrix(lhs), _matrix(metadata))
    return gemm(dense.view(NumpyTile), rhs, acc, transpose_rhs=transpose_rhs)
