"""Regions: what ``buffer[items]`` names, and how the operations take it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import ir
from ..._support.lazy import LazyModule
from ...errors import LanguageError
from ..arithmetic import as_index
from ..integers import INT64_MAX, as_integer, check_integer
from ..symbolic import difference
from ..unloaded import load_hint
from ..values import Buffer, BufferRegion, Scalar, describe

if TYPE_CHECKING:
    from . import buffers, gathers
else:  # They import this module.
    buffers = LazyModule("tilews.language.memory.buffers")
    gathers = LazyModule("tilews.language.memory.gathers")


def region(buffer: Buffer, items: Any) -> BufferRegion:
    """The region that ``buffer[items]`` names, as for numpy arrays."""
    items = list(items) if isinstance(items, tuple) else [items]
    ellipses = [place for place, item in enumerate(items) if item is Ellipsis]
    missing = [slice(None)] * (buffer.ndim - len(items) + len(ellipses))
    place = ellipses[0] if ellipses else len(items)
    items[place : place + 1] = missing
    if len(items) != buffer.ndim or len(ellipses) > 1:
        raise LanguageError(
            f"found {len(items)} indices for {describe(buffer)} of rank {buffer.ndim}"
        )
    if any(map(gathers.is_index, items)):
        return gathers.indexed_region(buffer, items)
    if not any(isinstance(item, slice) for item in items):
        return BufferRegion(buffer, tuple(map(as_offset, items)), None, None)
    offsets: list[int | Scalar] = []
    sizes: list[int | Scalar | None] = []
    slices = [dim for dim, item in enumerate(items) if isinstance(item, slice)]
    for dim, item in enumerate(items):
        start, size = resolve_slice(buffer, dim, item) if dim in slices else (item, 1)
        offsets.append(as_offset(start))
        sizes.append(size)
    static = tuple(size for size in sizes if isinstance(size, int))
    if len(static) < len(sizes):
        parts = tuple(slices), tuple(sizes)
        return BufferRegion(buffer, tuple(offsets), None, None, (), *parts)
    shape = tuple(static[dim] for dim in slices)
    return BufferRegion(buffer, tuple(offsets), static, shape)


def as_offset(item: Any) -> int | Scalar:
    """The offset that an item in brackets is.

    Raises:
        LanguageError: it is no integer.
    """
    if as_integer(item) is not None:
        return check_integer(item, "an index", -INT64_MAX, INT64_MAX)
    if isinstance(item, Scalar) and item.dtype.is_int:
        return item
    raise LanguageError(
        f"an index has to be an integer scalar or a slice, found {describe(item)}",
        _index_hint(item),
    )


def _index_hint(item: Any) -> str | None:
    """What to do with an index that is memory: load the element, or the whole part."""
    if not isinstance(item, BufferRegion) or not (item.shape or item.ragged):
        return load_hint(item)
    if item.buffer.ndim > 1:
        return "load the region with the indices first, by tl.load"
    size, shape = "n", ", (64,)"
    if item.shape:
        size, shape = str(item.shape[0]), ""
    part = f"{item.buffer.name or 'A'}[i:i + {size}]"
    return f"load the vector of indices first, such as tl.load({part}{shape})"


def resolve_slice(
    buffer: Buffer, dim: int, item: slice
) -> tuple[int | Scalar, int | Scalar | None]:
    """The start and the size of a slice.

    The size is None if the slice goes on to the end of a run-time extent: it is then
    that of the other side, and what lies beyond is outside of the buffer.
    """
    if item.step not in (None, 1):
        raise LanguageError(
            f"slices of buffers have step 1, found {item.step}",
            "name the elements by a fragment of indices: A[tl.arange(64) * 2]",
        )
    start = 0 if item.start is None else as_offset(item.start)
    stop = item.stop
    if stop is None:
        stop = buffer.static_shape[dim]
        if stop is None and isinstance(start, int) and start == 0:
            return 0, None
        if stop is None:
            stop = buffers.extent(buffer, dim)
    size = difference(as_offset(stop), start)
    if size is None:
        return start, gathers.run_time_size(as_offset(stop), start)
    if size < 1:
        raise LanguageError(
            f"a slice has to have a positive size, found {size}",
            "write it as A[i:i + 128], with a Python integer",
        )
    return start, size


def as_region(value: Any, what: str) -> BufferRegion:
    """A region; a buffer is the region of all of it, without offsets or sizes."""
    if isinstance(value, Buffer):
        extents = [extent for extent in value.static_shape if extent is not None]
        shape = tuple(extents) if len(extents) == value.ndim else None
        return BufferRegion(value, (), None, shape)
    if isinstance(value, BufferRegion):
        return value
    hint = None
    if what.startswith("tl.atomic_") and what != "tl.atomic_load":
        before = "expected, x" if what == "tl.atomic_cas" else "x"
        hint = f"memory comes last: {what}({before}, A[0])"
    raise LanguageError(
        f"{what}: expected a buffer or a region of one, found {describe(value)}", hint
    )


def mlir_region(region: BufferRegion) -> tuple[list[ir.Value], Any, Any]:
    """Dynamic offsets, static offsets and sizes as the operations take them."""
    dynamic, static = [], []
    for offset in region.offsets:
        if isinstance(offset, Scalar):
            dynamic.append(as_index(offset, "an offset"))
            static.append(ir.ShapedType.get_dynamic_size())
        else:
            static.append(offset)
    return (
        dynamic,
        ir.DenseI64ArrayAttr.get(static),
        ir.DenseI64ArrayAttr.get(list(region.sizes or ())),
    )
