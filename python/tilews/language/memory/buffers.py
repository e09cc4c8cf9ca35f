"""Buffers: shared memory, views of it, arguments that overlap, extents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ... import _tilews, ir
from ..._support.lazy import LazyModule
from ...dialects import memref, tile
from ...errors import CompileError, LanguageError
from ..builder import Builder, chip_type, current, index_constant
from ..integers import check_integer, static_shape
from ..layouts import shared_layout
from ..types import DType, dtype_hint, index, u8
from ..values import Buffer, BufferRegion, Scalar, Tile, describe

if TYPE_CHECKING:
    from ..layouts import SharedSpec
    from . import packed, regions
else:  # They import this module.
    packed = LazyModule("tilews.language.memory.packed")
    regions = LazyModule("tilews.language.memory.regions")


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
    shape = packed.byte_shape(shape, dtype, what)
    element = u8 if dtype.packing > 1 else dtype
    places = None if layout is None else shared_layout(layout, shape, element, what)
    return ir.MemRefType.get(shape, element.to_ir(), places, space)


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
        layout: the places of the elements, which the compiler then has to use. It is a
            name (``swizzle_128B``, ``swizzle_64B``, ``swizzle_32B``, ``linear``,
            ``padded``, ``cdna_xor``), shape:stride text in elements, a layout of
            :mod:`tilews.layout`, or the text of a ``#tile.shared``. It may also be a
            function from coordinates to an offset in elements; in bytes for elements of
            4 bits. If the buffer gets several versions, each has the layout.
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
    dtype = check_dtype(dtype, what)
    type_ = _shared_type(shape, dtype, layout, what)
    if alignment is not None:
        alignment = check_integer(alignment, f"{what}: the alignment")
    if versions is not None:
        type_ = _versions(type_, versions, what)
    buffer = tile.alloc_shared(type_, alignment=alignment)
    return Buffer(buffer, dtype=dtype)


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
    if isinstance(buffer, Tile):
        raise LanguageError(
            f"tl.view: expected a buffer, found {describe(buffer)}",
            "write x.reshape(2, 4), or x.bitcast(tl.i32) for the bits",
        )
    _check_buffer(buffer, "tl.view")
    shape = static_shape(shape, "tl.view")
    dtype = buffer.dtype if dtype is None else check_dtype(dtype, "tl.view")
    type_ = _shared_type(shape, dtype, None, "tl.view")
    return Buffer(tile.view(type_, buffer.ir), dtype=dtype)


def part(region: BufferRegion, what: str) -> Buffer:
    """The part of a shared buffer that a region is, as a buffer without dimensions of
    size one.

    Raises:
        LanguageError: the buffer is global, or the region is no part whose offsets are
            multiples of its sizes.
    """
    dtype = region.buffer.dtype
    if not region.buffer.is_shared:
        raise LanguageError(
            f"{what}: found {describe(region)}",
            "load it with tl.load, or copy it to shared memory with tl.copy",
        )
    if region.sizes is None:
        raise LanguageError(
            f"{what}: {describe(region)} has no static size",
            "write S[i] for a matrix of a buffer of three dimensions, or "
            "S[0:64, 32:64]",
        )
    if dtype.packing > 1:
        region = packed.as_bytes(region, what)
    buffer, sizes = region.buffer, region.sizes or ()
    for dim, (offset, size) in enumerate(zip(region.offsets, sizes, strict=True)):
        if isinstance(offset, Scalar):
            fits = size == 1
        else:
            extent = buffer.static_shape[dim] or 0
            fits = 0 <= offset <= extent - size and offset % size == 0
            fits = fits and extent % size == 0
        if not fits and not isinstance(offset, Scalar) and offset < 0:
            raise LanguageError(
                f"{what}: a negative index is outside of {buffer!r}: it does not count "
                "from the end",
                f"write {buffer.static_shape[dim] or 0} - {-offset} for {offset}",
            )
        if not fits:
            shown = "a run-time offset" if isinstance(offset, Scalar) else offset
            raise LanguageError(
                f"{what}: a part of a shared buffer starts at a multiple of its size, "
                f"found {shown} and size {size} along dimension {dim} of "
                f"{buffer!r}",
                "allocate the parts along a dimension of their own, and write S[i]",
            )
    dynamic, offsets, sizes = regions.mlir_region(region)
    view = tile.subview(buffer.ir, dynamic, offsets, sizes)
    return Buffer(view, dtype=dtype)


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
    size = Scalar(memref.DimOp(buffer.ir, index_constant(dim)).result, index)
    if dim != buffer.ndim - 1 or buffer.dtype.packing == 1:
        return size
    elements: Scalar = size * buffer.dtype.packing
    return elements
