"""Sources of copies as rows at one vector of indices.

A copy takes a vector of indices along one dimension. Several vectors become one where
their dimensions, with those of scalars between them, lie one after the other: the row
of ``K[page, place, h, :]`` has the number ``page * K.shape[1] + place`` in a buffer
whose first two dimensions count as one. A mask makes the index of a row -1, which is
outside.
"""

from __future__ import annotations

import dataclasses
import math as python_math
from typing import TYPE_CHECKING, Any

from ... import ir
from ..._support.lazy import LazyModule
from ...dialects import memref
from ...errors import LanguageError
from .. import math, shapes
from ..arithmetic import broadcast_shapes, cast
from ..builder import current
from ..types import i1, i32, i64
from ..values import Buffer, BufferRegion, Scalar, Tile
from . import buffers, gathers

if TYPE_CHECKING:
    from . import accesses
else:  # It imports this module.
    accesses = LazyModule("tilews.language.memory.accesses")


def one_vector(source: BufferRegion, dest: BufferRegion, mask: Any) -> BufferRegion:
    """The source of a copy with at most one vector of indices and without a mask.

    Raises:
        LanguageError: the indices are no vectors, their dimensions do not lie one after
            the other, or the mask is not that of whole rows.
    """
    if mask is None and len(source.indices) < 2:
        return source
    inside = None
    if mask is not None:
        source, inside = _masked(source, dest, mask)
    first, last = source.indices[0][0], source.indices[-1][0]
    vectors = {
        dim: accesses.load(index) if isinstance(index, Buffer) else index
        for dim, index in source.indices
    }
    common: tuple[int, ...] = () if inside is None else inside.shape
    for vector in vectors.values():
        common = broadcast_shapes("indices", common, vector.shape)
    if len(common) != 1:
        raise LanguageError(
            f"tl.copy: the source has indices of shape {common}, expected vectors",
            "write tl.store(tl.load(A[i, j, :]), S)",
        )
    strided = not ir.MemRefType(source.buffer.ir.type).layout == _identity(source)
    if any(first < dim < last for dim in source.slices) or (first < last and strided):
        raise LanguageError(
            "tl.copy: the dimensions with indices do not lie one after the other in "
            "memory",
            "copy with one vector of indices, or write "
            "tl.store(tl.load(A[i, :, j]), S)",
        )
    numbers = _numbers(source, first, last, vectors, inside)
    merged = _merge(source.buffer, first, last)
    sizes = source.sizes or ()
    return BufferRegion(
        merged,
        (*source.offsets[:first], 0, *source.offsets[last + 1 :]),
        (*sizes[:first], common[0], *sizes[last + 1 :]),
        source.shape,
        ((first, shapes.broadcast_to(numbers, common)),),
    )


def _identity(source: BufferRegion) -> ir.Attribute:
    rank = source.buffer.ndim
    return ir.AffineMapAttr.get(ir.AffineMap.get_identity(rank))


def _numbers(
    source: BufferRegion, first: int, last: int, vectors: dict[int, Tile], inside: Any
) -> Any:
    """The places of rows in dimensions that count as one; -1 for those outside."""
    extents = [
        source.buffer.static_shape[dim] or buffers.extent(source.buffer, dim)
        for dim in range(first, last + 1)
    ]
    static = [extent for extent in extents if isinstance(extent, int)]
    narrow = all(vector.dtype.bits <= i32.bits for vector in vectors.values())
    small = len(static) == len(extents) and python_math.prod(static) <= 2**31 - 1
    dtype = i32 if small and narrow else i64
    numbers: Any = None
    for dim, extent in enumerate(extents, first):
        place: Any = vectors.get(dim, source.offsets[dim])
        if isinstance(place, (Tile, Scalar)):
            place = cast(place, dtype)
        size = cast(extent, dtype) if isinstance(extent, Scalar) else extent
        if isinstance(place, int) and place >= 0 and not isinstance(size, int):
            within: Any = place < size
        elif isinstance(place, int):
            # Both are known here.
            within = shapes.full((1,), 0 <= place < size, i1)
        else:
            within = (place >= 0) & (place < size)
        inside = within if inside is None else inside & within
        numbers = place if numbers is None else numbers * size + place
    return math.where(inside, numbers, -1)


def _merge(buffer: Buffer, first: int, last: int) -> Buffer:
    """The buffer with the dimensions from `first` to `last` as one."""
    if first == last:
        return buffer
    shape = list(buffer.static_shape)
    group = shape[first : last + 1]
    static = [extent for extent in group if extent is not None]
    merged = python_math.prod(static) if len(static) == len(group) else None
    extents = [*shape[:first], merged, *shape[last + 1 :]]
    if buffer.is_shared:
        return buffers.view(buffer, tuple(extent or 0 for extent in extents))
    dynamic = ir.ShapedType.get_dynamic_size()
    type_ = ir.MemRefType.get(
        [dynamic if extent is None else extent for extent in extents],
        ir.MemRefType(buffer.ir.type).element_type,
    )
    groups = [[dim] for dim in range(first)]
    groups.append(list(range(first, last + 1)))
    groups += [[dim] for dim in range(last + 1, len(shape))]
    builder = current("tl.copy")
    with ir.InsertionPoint.at_block_begin(builder.entry):
        collapsed = memref.collapse_shape(type_, buffer.ir, groups)
    return Buffer(collapsed, dtype=buffer.dtype)


def _masked(
    source: BufferRegion, dest: BufferRegion, mask: Any
) -> tuple[BufferRegion, Tile]:
    """The source with indices along the dimension of the mask, and the mask as a
    vector."""
    what = "tl.copy"
    if source.ragged or not dest.buffer.is_shared:
        raise LanguageError(
            "tl.copy: a mask is for copies of a static size to shared memory",
            "write tl.store(tl.load(A[i, j], shape), C[i, j], mask=mask)",
        )
    shape = source.shape if source.shape is not None else dest.shape
    if shape is None:
        raise LanguageError("tl.copy: neither side has a size")
    mask = gathers.check_mask(mask, shape, what)
    for _ in range(len(shape) - mask.ndim):
        mask = shapes.expand_dims(mask, 0)
    axes = [axis for axis, extent in enumerate(mask.shape) if extent > 1]
    if source.indices:
        place = sum(dim < source.indices[0][0] for dim in source.slices)
        axis = place
    else:
        axis = axes[0] if axes else 0
    if any(other != axis for other in axes):
        raise LanguageError(
            f"tl.copy: a mask of shape {mask.shape} does not choose whole rows",
            "write tl.store(tl.load(A[i, j], shape, mask=mask), S)",
        )
    vector = shapes.reshape(mask, (mask.shape[axis],))
    if source.indices:
        return source, vector
    dim = _dimension(source, shape, axis)
    offsets = source.offsets or (0,) * source.buffer.ndim
    sizes = source.sizes or (
        *(1,) * (source.buffer.ndim - len(shape)),
        *shape,
    )
    start = offsets[dim]
    places: Any = shapes.arange(shape[axis])
    if isinstance(start, Scalar):
        places = cast(places, i64) + cast(start, i64)
    elif start:
        places = places + start
    replaced = dataclasses.replace(
        source,
        offsets=(*offsets[:dim], 0, *offsets[dim + 1 :]),
        sizes=tuple(sizes),
        shape=tuple(shape),
        indices=((dim, places),),
    )
    return replaced, vector


def _dimension(source: BufferRegion, shape: tuple[int, ...], axis: int) -> int:
    """The dimension of the buffer that an axis of the region is."""
    if source.sizes is None:
        return source.buffer.ndim - len(shape) + axis
    place = sum(extent != 1 for extent in shape[:axis])
    dims = [dim for dim, size in enumerate(source.sizes) if size != 1]
    return dims[place] if shape[axis] != 1 and place < len(dims) else 0
