"""Regions with indices or run-time sizes, and masks of loads and stores.

An index is a fragment of integers in place of an offset, ``A[ids, k:k + 64]``. Several
indices of a region are broadcast against each other by numpy's rules. The dimensions of
the result that come from indices stand where the first of them is: ``A[0:16, ids]`` has
the shape (16, n) for n indices. So do stored values and masks.

A region with a run-time size, ``A[i:i + n, :]``, is one of the static size of the other
side in a buffer that ends at ``i + n``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ... import ir
from ..._support.lazy import LazyModule
from ...dialects import tile
from ...errors import LanguageError
from .. import math, shapes, types
from ..arithmetic import as_index, broadcast_shapes, cast
from ..builder import current
from ..symbolic import known_difference
from ..types import i1, i32, i64
from ..values import Buffer, BufferRegion, Scalar, Tile, describe
from . import buffers, regions

if TYPE_CHECKING:
    from . import accesses
else:  # It imports this module.
    accesses = LazyModule("tilews.language.memory.accesses")


def is_index(item: Any) -> bool:
    """Whether an item in brackets is a list of indices."""
    return isinstance(item, (Tile, Buffer))


def indexed_region(buffer: Buffer, items: Sequence[Any]) -> BufferRegion:
    """The region that ``buffer[items]`` names, where some items are indices.

    Raises:
        LanguageError: an index is no vector of integers, or the shapes do not fit.
    """
    offsets: list[Any] = []
    sizes: list[int] = []
    shape: list[int] = []
    indices: list[tuple[int, Tile | Buffer]] = []
    slices: list[int] = []
    place = 0
    for dim, item in enumerate(items):
        start: Any = 0
        size = 1
        if is_index(item):
            place = len(shape) if not indices else place
            indices.append((dim, _check_index(item)))
        elif isinstance(item, slice):
            start, extent = regions.resolve_slice(buffer, dim, item)
            if not isinstance(extent, int):
                raise LanguageError(
                    "a region has indices or a run-time size, not both",
                    "give the slice a static size, A[ids, 0:64], and the access a mask",
                )
            size = extent
            shape.append(size)
            slices.append(dim)
        else:
            start = regions.as_offset(item)
        offsets.append(start)
        sizes.append(size)
    common: tuple[int, ...] = ()
    for _, index in indices:
        common = broadcast_shapes("indices", common, _shape(index))
    shape[place:place] = common
    if len(indices) == 1 and len(common) == 1:
        sizes[indices[0][0]] = common[0]
    found = (tuple(offsets), tuple(sizes), tuple(shape))
    return BufferRegion(buffer, *found, tuple(indices), tuple(slices))


def _shape(index: Tile | Buffer) -> tuple[int, ...]:
    if isinstance(index, Tile):
        return index.shape
    return tuple(extent or 0 for extent in index.static_shape)


def _check_index(item: Tile | Buffer) -> Tile | Buffer:
    if item.dtype.is_bool:
        raise LanguageError(
            f"an index has to be of integers, found {describe(item)}",
            "a mask goes to the function: tl.load(A[i:i + 128], mask=m)",
        )
    if not item.dtype.is_int:
        raise LanguageError(
            f"an index has to be of integers, found {describe(item)}",
            "convert it with .to(tl.i32)",
        )
    if isinstance(item, Buffer) and (item.ndim != 1 or None in item.static_shape):
        raise LanguageError(
            f"an index in memory has to be a vector of a static size, found "
            f"{describe(item)} of rank {item.ndim}",
            "load a part of it: A[tl.load(ids[i:i + 128]), :]",
        )
    if isinstance(item, Tile) and item.dtype.is_unsigned:
        # The operations read indices with a sign.
        widened: Tile = item.to(i32 if item.dtype.bits < 32 else i64)
        return widened
    return item


@dataclasses.dataclass(frozen=True)
class Placement:
    """Indices and mask as the operations take them.

    Attributes:
        shape: of the operation's fragment.
        order: the axes of the fragment that the dimensions of the region are, in their
            order, if that is not the fragment's own.
        indices: for each indexed dimension.
        dims: the indexed dimensions.
        mask: or None.
    """

    shape: tuple[int, ...]
    order: tuple[int, ...] | None
    indices: list[ir.Value]
    dims: ir.DenseI64ArrayAttr
    mask: ir.Value | None

    def to_region(self, fragment: Tile) -> Tile:
        """The operation's fragment with the dimensions of the region."""
        return shapes.transpose(fragment, self.order) if self.order else fragment

    def to_operation(self, fragment: Tile) -> Tile:
        """A fragment of the region with the dimensions of the operation."""
        if not self.order:
            return fragment
        axes = sorted(range(len(self.order)), key=self.order.__getitem__)
        return shapes.transpose(fragment, axes)


def place(
    region: BufferRegion, shape: tuple[int, ...], mask: Any, what: str
) -> Placement:
    """The placement of an access to a region as a fragment of `shape`.

    Raises:
        LanguageError: the mask is no fragment of i1 that fits the shape.
    """
    tiles = [_load_index(index) for _, index in region.indices]
    common: tuple[int, ...] = ()
    for index in tiles:
        common = broadcast_shapes("indices", common, index.shape)
    rank, count = len(shape), len(common)
    first = _place_of_indices(region)
    is_vector = len(tiles) == 1 and count == 1
    order = None
    if not is_vector and first > 0 and count > 0:
        # The operation has the dimensions of indices in front.
        rest = range(count, rank)
        order = (*rest[:first], *range(count), *rest[first:])
    start = first if is_vector else 0
    placed = [_stretch(index, start, count, rank).ir for index in tiles]
    dims = ir.DenseI64ArrayAttr.get([dim for dim, _ in region.indices])
    found = Placement(
        shape if order is None else (*common, *shape[:first], *shape[first + count :]),
        order,
        placed,
        dims,
        None,
    )
    if mask is None:
        return found
    mask = check_mask(mask, shape, what)
    for _ in range(rank - mask.ndim):
        mask = shapes.expand_dims(mask, 0)
    return dataclasses.replace(found, mask=found.to_operation(mask).ir)


def _place_of_indices(region: BufferRegion) -> int:
    """The first dimension of the region's shape that comes from indices."""
    first = region.indices[0][0] if region.indices else 0
    return sum(dim < first for dim in region.slices)


def _load_index(index: Tile | Buffer) -> Tile:
    if isinstance(index, Tile):
        return index
    loaded = _check_index(accesses.load(index))
    assert isinstance(loaded, Tile)
    return loaded


def _stretch(index: Tile, start: int, count: int, rank: int) -> Tile:
    """An index with extents of 1 around its `count` dimensions from `start` on."""
    for _ in range(count - index.ndim):
        index = shapes.expand_dims(index, 0)
    for _ in range(start):
        index = shapes.expand_dims(index, 0)
    for _ in range(rank - start - count):
        index = shapes.expand_dims(index, index.ndim)
    return index


def check_mask(mask: Any, shape: tuple[int, ...], what: str) -> Tile:
    """A mask of an access to a region of a shape.

    Raises:
        LanguageError: it is no fragment of i1 that fits the shape.
    """
    if isinstance(mask, bool) or (isinstance(mask, Scalar) and mask.dtype.is_bool):
        # One condition for all elements.
        mask = shapes.full((1,) * max(len(shape), 1), mask, i1)
    if not isinstance(mask, Tile) or not mask.dtype.is_bool:
        raise LanguageError(
            f"{what}: expected a mask of i1, found {describe(mask)}",
            "compare to make one: mask=tl.arange(128) < n",
        )
    if broadcast_shapes(what, mask.shape, shape) != shape:
        raise LanguageError(
            f"{what}: a mask of shape {mask.shape} does not fit the region of shape "
            f"{shape}"
        )
    return mask


# ===--- Run-time sizes ---=== #


def run_time_size(stop: int | Scalar, start: int | Scalar) -> Scalar:
    """The size of a slice, a scalar: `n` itself for `i:i + n`."""
    known = known_difference(stop, start)
    if known is not None:
        return known
    size = stop - start
    assert isinstance(size, Scalar)
    return size


def bound(
    region: BufferRegion, shape: tuple[int, ...] | None, mask: Any, what: str
) -> tuple[BufferRegion, Any]:
    """A region of static sizes in place of one of run-time sizes, and its mask.

    A slice up to the end of a run-time extent gets the size of the fragment. The first
    run-time size becomes the limit of the region, others become masks. A slice of
    run-time size that starts before the buffer has no elements.

    Args:
        region: any region.
        shape: of the fragment on the other side; None for a scalar.
        mask: the mask given so far, or None.
        what: the function, for errors.

    Raises:
        LanguageError: the shape does not fit.
    """
    if not region.ragged:
        return region, mask
    sizes = [region.ragged[dim] for dim in region.slices]
    if shape is None or len(shape) != len(sizes):
        raise LanguageError(
            f"{what}: a region of {len(sizes)} slices, one of them of a run-time size, "
            f"needs a fragment of rank {len(sizes)}, found "
            + ("a scalar" if shape is None else f"one of shape {shape}")
        )
    limit = None
    for axis, (size, extent) in enumerate(zip(sizes, shape, strict=True)):
        dim = region.slices[axis]
        if size is None:
            continue
        if not isinstance(size, Scalar):
            if size != extent:
                raise LanguageError(
                    f"{what}: a slice has the size {size}, but the fragment has shape "
                    f"{shape}"
                )
        elif limit is None and not _splits_bytes(region, dim):
            limit = _end(region.offsets[dim], size, extent), dim
        else:
            part = _below(region.offsets[dim], size, extent)
            for _ in range(len(shape) - 1 - axis):
                part = shapes.expand_dims(part, part.ndim)
            mask = part if mask is None else mask & part
    extents = dict(zip(region.slices, shape, strict=True))
    static = tuple(extents.get(dim, 1) for dim in range(len(region.ragged)))
    bounded = BufferRegion(
        region.buffer, region.offsets, static, tuple(shape), limit=limit
    )
    return bounded, mask


def _splits_bytes(region: BufferRegion, dim: int) -> bool:
    """Whether elements along a dimension share a byte, which a limit could split."""
    return region.dtype.packing > 1 and dim == region.buffer.ndim - 1


def _end(start: int | Scalar, size: Scalar, extent: int) -> ir.Value:
    """The index after the last element of a slice, of which `extent` matter."""
    # The sum of a huge size and the offset, or of two i32, would wrap.
    least = cast(math.minimum(size, extent), types.index)
    return as_index(cast(start, types.index) + least, "a slice")


def _below(start: int | Scalar, size: Scalar, extent: int) -> Tile:
    """Which numbers from 0 to `extent` are below the size of a slice."""
    # A size may exceed 32 bits.
    least = math.minimum(size, extent).to(i32)
    if isinstance(start, Scalar):
        least = math.where(start < 0, 0, least)
    below: Tile = shapes.arange(extent) < least
    return below


def limited(region: BufferRegion, other: BufferRegion) -> BufferRegion:
    """A side of a copy as a region of static sizes.

    Args:
        region: any region.
        other: the region on the other side.

    Raises:
        LanguageError: the shapes do not fit, or several sizes are run-time sizes.
    """
    what = "tl.copy"
    if region.ragged and other.ragged:
        raise LanguageError(
            "tl.copy: both regions have sizes that are known only at run time",
            "copy from or to a whole buffer, whose size the copy then has",
        )
    if sum(isinstance(size, Scalar) for size in region.ragged) > 1:
        raise LanguageError(
            "tl.copy: a region has several sizes that are known only at run time",
            "copy with one of them, or write tl.store(tl.load(A[...], shape), S)",
        )
    return bound(region, other.shape, None, what)[0]


# ===--- Accesses ---=== #


def _unpack(
    region: BufferRegion, placed: Placement
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A region, indices and mask as the operations take them, and what is optional."""
    dynamic, static, sizes = regions.mlir_region(region)
    operands = region.buffer.ir, dynamic, placed.indices, static, sizes, placed.dims
    optional: dict[str, Any] = {"mask": placed.mask}
    if region.limit is not None:
        optional["limit"], optional["limit_dim"] = region.limit
    return operands, optional


def load(
    source: BufferRegion, shape: tuple[int, ...], mask: Any, pad: ir.Value | None
) -> Tile:
    """Loads elements at indices, under a mask or up to a limit."""
    placed = place(source, shape, mask, "tl.load")
    operands, optional = _unpack(source, placed)
    type_ = ir.RankedTensorType.get(placed.shape, source.dtype.to_ir())
    loaded = tile.gather(type_, *operands, padding=pad, **optional)
    return placed.to_region(Tile(loaded, source.dtype))


def store(value: Tile, dest: BufferRegion, mask: Any) -> None:
    """Stores elements at indices, under a mask or up to a limit."""
    placed = place(dest, _stored_shape(value, dest, "tl.store"), mask, "tl.store")
    operands, optional = _unpack(dest, placed)
    tile.scatter(placed.to_operation(value).ir, *operands, **optional)


def update(
    kind: ir.Attribute,
    value: Tile,
    dest: BufferRegion,
    mask: Any,
    attributes: dict[str, Any],
    what: str,
) -> Tile:
    """Combines elements at indices, under a mask or up to a limit, and returns the old
    ones."""
    placed = place(dest, _stored_shape(value, dest, what), mask, what)
    operand = placed.to_operation(value).ir
    operands, optional = _unpack(dest, placed)
    op = tile.AtomicScatterOp(
        operand.type, kind, operand, *operands, **optional, **attributes
    )
    return placed.to_region(Tile(op.results[0], value.dtype))


def _stored_shape(value: Tile, dest: BufferRegion, what: str) -> tuple[int, ...]:
    if dest.shape is not None and value.shape != dest.shape:
        raise LanguageError(
            f"{what}: the value has shape {value.shape}, but the region {dest.shape}"
        )
    return value.shape


# ===--- Copies ---=== #


def row_vector(source: BufferRegion) -> tuple[ir.Value | None, int | None]:
    """The vector in memory with the rows of a copy's source, and their dimension.

    Raises:
        LanguageError: the source has several indices, or one that is no vector.
    """
    if not source.indices:
        return None, None
    (dim, index), *others = source.indices
    if others or len(_shape(index)) != 1:
        raise LanguageError(
            "tl.copy: the source has several indices, or one that is no vector",
            "copy with one vector of indices, or write "
            "tl.store(tl.load(A[i, j, :]), S)",
        )
    if index.dtype not in (i32, i64):
        raise LanguageError(
            f"tl.copy: indices have type {index.dtype}, expected i32 or i64",
            "convert them with .to(tl.i32)",
        )
    if isinstance(index, Buffer):
        return index.ir, dim
    return _spill(index), dim


def _spill(index: Tile) -> ir.Value:
    """A vector in shared memory with the indices; one for all copies.

    Threads copy other rows than those whose indices they hold.
    """
    builder = current("tl.copy")
    if index.ir in builder.row_vectors:
        return builder.row_vectors[index.ir]
    with ir.InsertionPoint.at_block_begin(builder.entry):
        vector = buffers.alloc_shared(index.shape, index.dtype)
    with builder.after(index.ir):
        accesses.store(index, vector)
    builder.row_vectors[index.ir] = vector.ir
    return vector.ir


def refuse_indices(
    region: BufferRegion, what: str, *, but_sizes: bool = False
) -> BufferRegion:
    """A region without indices and, unless `but_sizes`, without run-time sizes.

    Raises:
        LanguageError: it has some.
    """
    if region.indices or (region.ragged and not but_sizes):
        kinds = "indices" if but_sizes else "indices or run-time sizes"
        raise LanguageError(
            f"{what} takes no region with {kinds}",
            "tl.load, tl.store and the updates of tl.atomic_* do, and tl.copy for its "
            "source",
        )
    return region
