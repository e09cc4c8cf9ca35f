"""Buffers: allocation, regions, copies, loads and stores."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, overload

from .. import ir
from .._mlir_libs import _tilews
from ..dialects import memref, tensor, tile
from ..errors import CompileError, LanguageError
from .arithmetic import as_index, as_value, is_number
from .builder import Builder, chip_type, current, index_constant
from .integers import INT64_MAX, as_integer, check_integer
from .layouts import SharedSpec, shared_layout
from .symbolic import difference
from .types import DType, dtype_hint, index
from .unloaded import load_hint
from .values import Buffer, BufferRegion, Scalar, Tile, Value, describe


def static_shape(shape: Any, what: str) -> tuple[int, ...]:
    """A shape of positive Python integers; one integer is a shape of rank one.

    Raises:
        LanguageError: an extent is not a number, or known only at launch.
    """
    if is_number(shape) or isinstance(shape, Scalar):
        shape = (shape,)
    if not isinstance(shape, (tuple, list)):
        raise LanguageError(f"{what}: expected a shape, found {describe(shape)}")
    for extent in shape:
        if isinstance(extent, Scalar):
            raise LanguageError(
                f"{what}: the shape has an extent known only at launch",
                "make it a constexpr parameter or fix it with compile(NAME=...)",
            )
    return tuple(_extent(extent, what) for extent in shape)


def _extent(extent: Any, what: str) -> int:
    if isinstance(extent, float) and extent.is_integer():
        extent = int(extent)  # The result of an exact division.
    return check_integer(extent, f"{what}: an extent")


def check_dtype(dtype: Any, what: str) -> DType:
    """An element type, of the target; LanguageError unless `dtype` is one."""
    if not isinstance(dtype, DType):
        raise LanguageError(
            f"{what}: expected an element type such as tl.f16, found {describe(dtype)}",
            dtype_hint(dtype),
        )
    return chip_type(dtype)


def _shared_type(
    shape: tuple[int, ...], dtype: DType, layout: SharedSpec | None, what: str
) -> ir.Type:
    space = ir.Attribute.parse("#gpu.address_space<workgroup>")
    places = None if layout is None else shared_layout(layout, shape, dtype, what)
    return ir.MemRefType.get(shape, dtype.to_ir(), places, space)


def alloc_shared(
    shape: Sequence[int],
    dtype: DType,
    *,
    alignment: int | None = None,
    layout: SharedSpec | None = None,
    versions: int | None = None,
) -> Buffer:
    """Allocates a buffer in shared memory; its contents are undefined until written.

    Args:
        shape: static extents.
        dtype: the element type.
        alignment: in bytes, a power of two.
        layout: the places of the elements, which the compiler then has to use: a name
            (``swizzle_128B``, ``swizzle_64B``, ``swizzle_32B``, ``linear``,
            ``padded``, ``cdna_xor``), shape:stride text in elements, a layout of
            :mod:`tilews.layout`, the text of a ``#tile.shared``, or a function from
            coordinates to an offset in elements. If the buffer gets several versions,
            each has the layout.
        versions: the number of versions, along a new leading dimension, for the slots
            of a :func:`channel`; each has the layout.

    Raises:
        LanguageError: the shape is not static, or the layout does not fit the buffer.

    Example:
        >>> As = tl.alloc_shared((2, 4), tl.f16)
        >>> As[0, 0] = tl.full((2, 4), 1.0, tl.f16)
        >>> tl.load(As)
        [[1, 1, 1, 1], [1, 1, 1, 1]]
    """
    what = "tl.alloc_shared"
    current(what)
    shape = static_shape(shape, what)
    type_ = _shared_type(shape, check_dtype(dtype, what), layout, what)
    if alignment is not None:
        alignment = check_integer(alignment, f"{what}: the alignment")
    if versions is not None:
        type_ = _versions(type_, versions, what)
    return Buffer(tile.alloc_shared(type_, alignment=alignment))


def _versions(type_: ir.Type, versions: Any, what: str) -> ir.Type:
    """The type of several versions of a buffer."""
    versions = check_integer(versions, f"{what}: versions", 1, 64)
    try:
        return _tilews._versioned_type(type_, versions, ir.Location.unknown())
    except CompileError as error:
        reason = str(error).removeprefix("unknown: error: ")
        raise LanguageError(f"{what}: {reason}") from None


def view(buffer: Buffer, shape: Sequence[int], dtype: DType | None = None) -> Buffer:
    """The same bytes of shared memory with another shape or element type.

    Args:
        buffer: a shared buffer.
        shape: static extents.
        dtype: the element type; by default that of the buffer.

    Raises:
        LanguageError: `buffer` is no buffer, or the shape is not static.
        KernelError: the buffer is not shared, or the number of bytes differs.

    Example:
        >>> words = tl.alloc_shared((4,), tl.i32)
        >>> words[0] = tl.full((4,), 0x00020001, tl.i32)
        >>> tl.load(tl.view(words, (4, 2), tl.i16))
        [[1, 2], [1, 2], [1, 2], [1, 2]]
    """
    _check_buffer(buffer, "tl.view")
    shape = static_shape(shape, "tl.view")
    dtype = buffer.dtype if dtype is None else check_dtype(dtype, "tl.view")
    type_ = _shared_type(shape, dtype, None, "tl.view")
    return Buffer(tile.view(type_, buffer.ir))


def may_alias(a: Buffer, b: Buffer) -> None:
    """Declares that two arguments of the kernel may overlap in memory.

    A launch then accepts arrays that overlap, also if the kernel writes one of them,
    and the compiler keeps the order of reads of one and writes of the other.

    Args:
        a, b: two tensors among the kernel's parameters.

    Raises:
        LanguageError: an argument is not a parameter of the kernel, both are the same,
            or the declaration is in a loop or a conditional.

    Example:
        @tilews.kernel
        def double(A: tl.Tensor["64", tl.f32], C: tl.Tensor["64", tl.f32]):
            tl.may_alias(A, C)
            C[0] = 2.0 * tl.load(A)

        x = np.ones(64, np.float32)
        double(x, x)  # without the declaration, a LaunchError
        assert (x == 2).all()
    """
    builder = current("tl.may_alias")
    if builder.regions:
        raise LanguageError(
            "tl.may_alias is about the whole kernel, but is in a loop or a conditional",
            "call it at the start of the kernel",
        )
    numbers = [_argument_number(buffer, builder) for buffer in (a, b)]
    if numbers[0] == numbers[1]:
        raise LanguageError(f"tl.may_alias: {describe(a)} is named twice")
    name = "tile.may_alias"
    pairs: list[ir.Attribute] = [ir.DenseI32ArrayAttr.get(sorted(numbers))]
    if name in builder.kernel.attributes:
        pairs = [*ir.ArrayAttr(builder.kernel.attributes[name]), *pairs]
    builder.kernel.attributes[name] = ir.ArrayAttr.get(pairs)


def _argument_number(buffer: Any, builder: Builder) -> int:
    """The number of the kernel's argument that a buffer is."""
    _check_buffer(buffer, "tl.may_alias")
    arguments = list(builder.entry.arguments)
    if buffer.ir not in arguments:
        raise LanguageError(
            f"tl.may_alias: expected an argument of the kernel, found "
            f"{describe(buffer)}",
            "buffers that the kernel allocates never overlap an argument",
        )
    return arguments.index(buffer.ir)


def _check_buffer(value: Any, what: str) -> None:
    if not isinstance(value, Buffer):
        raise LanguageError(f"{what}: expected a buffer, found {describe(value)}")


def extent(buffer: Buffer, dim: int) -> Scalar:
    """The extent of a dimension, as an index scalar."""
    return Scalar(memref.DimOp(buffer.ir, index_constant(dim)).result, index)


# ===--- Regions ---=== #


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
    sizes: list[int | Scalar] = []
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
        load_hint(item),
    )


def resolve_slice(
    buffer: Buffer, dim: int, item: slice
) -> tuple[int | Scalar, int | Scalar]:
    """The start and the size of a slice."""
    if item.step not in (None, 1):
        raise LanguageError("slices of buffers have step 1")
    start = 0 if item.start is None else as_offset(item.start)
    stop = item.stop
    if stop is None:
        stop = buffer.static_shape[dim]
        if stop is None:
            raise LanguageError(
                f"the slice of dimension {dim} of {describe(buffer)} ends at an "
                "extent known only at launch",
                "give the slice an end: write A[i:i + 128]",
            )
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
    raise LanguageError(
        f"{what}: expected a buffer or a region of one, found {describe(value)}"
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


# ===--- Moving data ---=== #


def copy(source: Buffer | BufferRegion, dest: Buffer | BufferRegion) -> None:
    """Copies a region of one buffer to a region of another.

    Reads outside of the source give zero; writes outside of the destination are
    dropped.

    Args:
        source, dest: buffers or regions of the same element type. At least one of them
            has a static size, which both then have. The source may have a vector of
            indices along one dimension, ``A[ids, k:k + 64]``: a fragment, or a vector
            in memory.

    Raises:
        LanguageError: an argument is no buffer or region, or the element types differ.
        KernelError: both sides have sizes, which differ, or no side has one.

    Example:
        @tilews.kernel
        def copy_rows(A: tl.Tensor["M, 64", tl.f16], C: tl.Tensor["M, 64", tl.f16]):
            i = tl.grid(tl.cdiv(A.shape[0], 32))
            As = tl.alloc_shared((32, 64), tl.f16)
            tl.copy(A[i * 32, 0], As)  # 32 x 64, the size of As
            tl.copy(As, C[i * 32, 0])

        a = np.arange(50 * 64).reshape(50, 64).astype(np.float16)
        c = np.zeros_like(a)
        copy_rows(a, c)  # the second block has 18 rows
        assert (c == a).all()
    """
    source, dest = as_region(source, "tl.copy"), as_region(dest, "tl.copy")
    _check_fit(source, dest)
    gathers.refuse_indices(dest, "tl.copy: the destination")
    source = gathers.with_rows(source, dest.shape)
    rows, row_dim = gathers.row_vector(source)
    if source.dtype != dest.dtype:
        raise LanguageError(
            f"tl.copy: source has element type {source.dtype}, destination "
            f"{dest.dtype}",
            "convert on the way: tl.store(tl.load(source).to(...), dest)",
        )
    from_dynamic, from_static, from_sizes = mlir_region(source)
    to_dynamic, to_static, to_sizes = mlir_region(dest)
    tile.copy(
        source.buffer.ir,
        from_dynamic,
        dest.buffer.ir,
        to_dynamic,
        from_static,
        from_sizes,
        to_static,
        to_sizes,
        rows=rows,
        row_dim=row_dim,
    )


@overload
def load(
    source: Buffer | BufferRegion,
    shape: Sequence[int],
    *,
    pad: Any = None,
    mask: Any = None,
) -> Tile: ...


@overload
def load(
    source: Buffer | BufferRegion,
    shape: None = None,
    *,
    pad: Any = None,
    mask: Any = None,
) -> Any: ...


def load(
    source: Buffer | BufferRegion,
    shape: Sequence[int] | None = None,
    *,
    pad: Any = None,
    mask: Any = None,
) -> Tile | Scalar:
    """Loads a region into a fragment, or one element into a scalar.

    The region may have indices, fragments of integers, in place of offsets:
    ``A[ids, k:k + 64]`` has the shape (n, 64) for n indices.

    In the condition of a ``while``, an element of global memory whose index does not
    change is read by :func:`atomic_load` with ``order="acquire"``: the loop waits for
    another block.

    Args:
        source: a buffer, a region with sizes, or the first element of a region.
        shape: the static shape of the fragment, if the source has no size.
        pad: a number or a scalar, the value of elements outside of the buffer or
            whose mask is false; zero by default. A negative index is outside.
        mask: a fragment of i1 whose shape broadcasts to the region's: elements whose
            mask is false are not read.

    Returns:
        A fragment of that shape and the source's element type; a scalar if the source
        is a single element and no shape is given.

    Raises:
        LanguageError: `source` is no buffer or region, its extents are unknown and no
            shape is given, `pad` has another type, or `mask` does not fit.

    Example:
        @tilews.kernel
        def minimum(X: tl.Tensor["N", tl.f32], Y: tl.Tensor["1", tl.f32]):
            x = tl.load(X[0], (64,), pad=math.inf)  # infinity after the last element
            Y[0] = tl.minimum(tl.min(x), tl.load(X[0]))

        y = np.zeros(1, np.float32)
        minimum(np.arange(3, 40, dtype=np.float32), y)
        assert y[0] == 3
    """
    source = as_region(source, "tl.load")
    if shape is not None:
        shape = static_shape(shape, "tl.load")
        source, mask = gathers.bound(source, shape, mask, "tl.load")
    elif source.ragged:
        raise LanguageError(
            "tl.load: the size of the region is known only at run time",
            "give the fragment's shape: tl.load(A[i:i + n, :], (128, 64))",
        )
    elif source.shape is not None:
        shape = source.shape
    elif not source.offsets:
        raise LanguageError(
            "tl.load: the buffer's extents are known only at launch",
            "give the fragment's shape: tl.load(A[i, j], (128, 64))",
        )
    if shape is None:
        if pad is not None:
            raise LanguageError("tl.load: a single element has no padding")
        if mask is not None:
            raise LanguageError(
                "tl.load: a single element has no mask", "load it in an 'if'"
            )
        return _load_element(source)
    padding = _padding(pad, source)
    if source.indices or mask is not None:
        return gathers.load(source, shape, mask, padding)
    dynamic, static, sizes = mlir_region(source)
    type_ = ir.RankedTensorType.get(shape, source.dtype.to_ir())
    loaded = tile.load(type_, source.buffer.ir, dynamic, static, sizes, padding=padding)
    return Tile(loaded)


def _check_fit(source: BufferRegion, dest: BufferRegion) -> None:
    """Refuses a region that is larger than the whole buffer on the other side."""
    for part, whole in ((source, dest), (dest, source)):
        if not part.shape or whole.offsets or not whole.shape:
            continue
        sizes, extents = (
            [size for size in shape if size != 1] for shape in (part.shape, whole.shape)
        )
        if len(sizes) == len(extents) and any(map(operator.gt, sizes, extents)):
            raise LanguageError(
                f"tl.copy: the region has shape {part.shape}, but "
                f"{describe(whole.buffer)} on the other side {whole.shape}",
                "copy a part of it: the rest would be dropped",
            )


def _padding(pad: Any, source: BufferRegion) -> ir.Value | None:
    """The value of elements that a load does not read; None for zero."""
    if pad is None:
        return None
    if isinstance(pad, Scalar) and pad.dtype != source.dtype:
        raise LanguageError(
            f"tl.load: padding has type {pad.dtype}, the buffer {source.dtype}",
            f"convert it with .to(tl.{source.dtype})",
        )
    return as_value(pad, source.dtype, None).ir


def _load_element(source: BufferRegion) -> Scalar:
    """The load of one element; in a condition, of one that other blocks may change."""
    # Elements of less than a byte, except bools, cannot be read in one step.
    has_bytes = source.dtype.bits >= 8 or source.dtype.is_bool
    is_global = not source.buffer.is_shared
    if has_bytes and is_global and current("tl.load").repeats(source.offsets):
        return _poll(source)
    offsets = [as_index(offset, "an index") for offset in source.offsets]
    element = memref.LoadOp(source.buffer.ir, offsets).result
    return Scalar(element, source.dtype)


def _poll(source: BufferRegion) -> Scalar:
    """The load of one element in a loop that waits until another block changes it."""
    type_ = ir.RankedTensorType.get((), source.dtype.to_ir())
    order = ir.Attribute.parse("#tile.order<acquire>")
    op = tile.AtomicLoadOp(type_, source.buffer.ir, *mlir_region(source), order=order)
    return Scalar(tensor.extract(op.result, []), source.dtype)


def as_stored(value: Any, dest: BufferRegion, what: str) -> Value:
    """A stored value with the destination's element type."""
    if isinstance(value, Value) and value.dtype != dest.dtype:
        adapts = isinstance(value, Scalar) and index in (value.dtype, dest.dtype)
        if not adapts or not (value.dtype.is_int and dest.dtype.is_int):
            raise LanguageError(
                f"{what}: the value has type {value.dtype}, the buffer {dest.dtype}",
                f"convert it with .to(tl.{dest.dtype})",
            )
    if not isinstance(value, Value) and not is_number(value):
        raise LanguageError(
            f"{what}: expected a fragment, a scalar or a number, found "
            f"{describe(value)}",
            load_hint(value),
        )
    if isinstance(value, Tile):
        return value
    return as_value(value, dest.dtype, dest.shape)


def store(value: Any, dest: Buffer | BufferRegion, *, mask: Any = None) -> None:
    """Stores a value to a region; elements outside of the buffer are dropped.

    The region may have indices, as for :func:`load`. If two elements have one place,
    one of them is stored.

    Args:
        value: a fragment of the region's shape and element type; or a number or a
            scalar, which fills a region that has a size. To a single element, the
            block stores a scalar once.
        dest: a buffer, a region, or the first element of a region.
        mask: a fragment of i1 whose shape broadcasts to the region's: elements whose
            mask is false are not written.

    Raises:
        LanguageError: the element types differ, `value` is no such value, or `mask`
            does not fit.
        KernelError: the shapes differ.

    Example:
        @tilews.kernel
        def fill(C: tl.Tensor["N", tl.i32], D: tl.Tensor["2", tl.i32]):
            tl.store(tl.arange(64), C[0])  # the same as C[0] = tl.arange(64)
            tl.store(7, D[0:2])

        c, d = np.zeros(10, np.int32), np.zeros(2, np.int32)
        fill(c, d)  # elements 10 to 63 are dropped
        assert (c == np.arange(10)).all() and (d == 7).all()
    """
    dest = as_region(dest, "tl.store")
    value = as_stored(value, dest, "tl.store")
    if dest.ragged:
        dest, mask = gathers.bound(dest, value.shape, mask, "tl.store")
    if isinstance(value, Tile) and (dest.indices or mask is not None):
        return gathers.store(value, dest, mask)
    if mask is not None:
        raise LanguageError(
            "tl.store: a single element has no mask", "store it in an 'if'"
        )
    if isinstance(value, Scalar):
        if not dest.offsets:
            raise LanguageError(
                "tl.store: the buffer's extents are known only at launch",
                "store to a region of it: C[i:i + 128, j:j + 64]",
            )
        offsets = [as_index(offset, "an index") for offset in dest.offsets]
        memref.StoreOp(value.ir, dest.buffer.ir, offsets)
        return
    tile.store(value.ir, dest.buffer.ir, *mlir_region(dest))


# This module works on the functions above.
from . import gathers  # noqa: E402
