"""Buffers of elements of 4 bits: two elements in a byte, in the language.

The operations of the dialect access bytes. A buffer of `n` elements along its last
dimension is one of `n / 2` bytes, the first element of a pair in the lower half; a
fragment of its elements is a fragment of bytes under :func:`tile.bitcast`. So all
copies, layouts and swizzles are those of bytes.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._support.lazy import LazyModule
from ...errors import LanguageError
from .. import math, reductions, shapes
from ..arithmetic import as_value, bitcast, cast, is_number, number
from ..builder import number_attribute
from ..symbolic import quotient
from ..types import DTYPES, DType, i32, u4, u8
from ..values import Buffer, BufferRegion, Scalar, Tile, describe
from . import gathers

if TYPE_CHECKING:
    from . import accesses
else:  # It imports this module.
    accesses = LazyModule("tilews.language.memory.accesses")

#: The bits of numpy's element types that can be packed in bytes.
_BITS = {dtype.numpy: dtype.bits for dtype in DTYPES if dtype.bits in (4, 6)}


def byte_shape(shape: tuple[int, ...], dtype: DType, what: str) -> tuple[int, ...]:
    """The shape in memory of elements of a shape.

    Raises:
        LanguageError: the elements of a line do not fill whole bytes.
    """
    if dtype.packing == 1:
        return shape
    if not shape or shape[-1] % dtype.packing:
        raise LanguageError(
            f"{what}: two elements of {dtype} share a byte, so the last extent is "
            f"even; found shape {shape}"
        )
    return (*shape[:-1], shape[-1] // dtype.packing)


def as_bytes(region: BufferRegion, what: str) -> BufferRegion:
    """The bytes of a region.

    Raises:
        LanguageError: the region may have half of a byte.
    """
    _check_indices(region, what)
    dtype, offsets = region.dtype, region.offsets
    buffer = Buffer(region.buffer.ir, region.buffer.name, u8)
    if offsets:
        offsets = (*offsets[:-1], _half(offsets[-1], dtype, what))
    found = dataclasses.replace(region, buffer=buffer, offsets=offsets)
    if region.sizes is not None:
        sizes = byte_shape(region.sizes, dtype, what)
        found = dataclasses.replace(found, sizes=sizes)
    if region.shape is not None:
        shape = byte_shape(region.shape, dtype, what)
        found = dataclasses.replace(found, shape=shape)
    if region.ragged:
        size = region.ragged[-1]
        half = None if size is None else _half(size, dtype, what)
        ragged = (*region.ragged[:-1], half)
        found = dataclasses.replace(found, ragged=ragged)
    return found


def _check_indices(region: BufferRegion, what: str) -> None:
    """Refuses indices along the last dimension.

    Raises:
        LanguageError: there are some.
    """
    if any(dim == region.buffer.ndim - 1 for dim, _ in region.indices):
        raise LanguageError(
            f"{what}: indices along the last dimension of {describe(region.buffer)}, "
            f"where two elements of {region.dtype} share a byte",
            "load whole rows, and choose elements with tl.where",
        )


def _half(place: int | Scalar, dtype: DType, what: str) -> int | Scalar:
    """The byte in which an element at an even place is."""
    half = quotient(place, dtype.packing)
    if half is None:
        shown = place if isinstance(place, int) else "a scalar that may be odd"
        raise LanguageError(
            f"{what}: two elements of {dtype} share a byte, so a place along the last "
            f"dimension is even; found {shown}",
            "write it as a multiple: A[i, j * 64 : j * 64 + 64]",
        )
    return half


def _in_byte(pad: Any, dtype: DType, what: str) -> int | None:
    """A byte of two equal elements; None without one."""
    if pad is None:
        return None
    if not is_number(pad):
        raise LanguageError(
            f"{what}: the padding of {dtype} is a Python number, found {describe(pad)}"
        )
    number_attribute(number(pad), dtype)  # Raises if it does not fit.
    code = int(np.array(number(pad)).astype(dtype.numpy).view(np.uint8)) & 15
    return code * 17


def load(source: BufferRegion, shape: tuple[int, ...], mask: Any, pad: Any) -> Tile:
    """Loads elements; see :func:`tl.load`."""
    what, dtype = "tl.load", source.dtype
    if mask is not None:
        gathers.check_mask(mask, shape, what)
    if source.sizes is not None and source.sizes[-1] == 1:
        return _load_column(source, shape, mask, pad)
    byte = _in_byte(pad, dtype, what)
    bytes_ = as_bytes(source, what)
    extents = byte_shape(shape, dtype, what)
    if mask is None or not _splits_bytes(mask):
        return bitcast(accesses.load(bytes_, extents, pad=byte, mask=mask), dtype)
    pairs = shapes.reshape(mask, (*mask.shape[:-1], extents[-1], dtype.packing))
    some = reductions.any(pairs, axis=-1)
    found = bitcast(accesses.load(bytes_, extents, pad=byte, mask=some), dtype)
    other = as_value(0 if pad is None else pad, dtype, found.shape)
    chosen: Tile = math.where(mask, found, other)
    return chosen


def _splits_bytes(mask: Tile) -> bool:
    """Whether a mask may be different for the elements of a byte."""
    return bool(mask.shape) and mask.shape[-1] != 1


def _load_column(
    source: BufferRegion, shape: tuple[int, ...], mask: Any, pad: Any
) -> Tile:
    """Loads elements at one place along the last dimension."""
    _check_indices(source, "tl.load")
    place = source.offsets[-1]
    column = dataclasses.replace(
        source,
        buffer=Buffer(source.buffer.ir, source.buffer.name, u8),
        offsets=(*source.offsets[:-1], _floor_half(place)),
    )
    byte = _in_byte(pad, source.dtype, "tl.load")
    found = accesses.load(column, shape, pad=byte, mask=mask)
    return _nibble(found, place, source.dtype)


def _floor_half(place: int | Scalar) -> Any:
    return place // 2


def _nibble(byte: Any, place: int | Scalar, dtype: DType) -> Any:
    """The element at a place, from the byte that it is in."""
    shift: Any = (
        cast(place % 2 * 4, i32) if isinstance(place, Scalar) else place % 2 * 4
    )
    return bitcast(cast(cast(byte, i32) >> shift, u4), dtype)


def load_element(source: BufferRegion) -> Scalar:
    """Loads one element; see :func:`tl.load`."""
    place = source.offsets[-1]
    offsets = (*source.offsets[:-1], _floor_half(place))
    buffer = Buffer(source.buffer.ir, source.buffer.name, u8)
    byte = accesses.load(BufferRegion(buffer, offsets, None, None))
    element: Scalar = _nibble(byte, place, source.dtype)
    return element


def store(value: Tile | Scalar, dest: BufferRegion, mask: Any) -> None:
    """Stores elements; see :func:`tl.store`."""
    what, dtype = "tl.store", dest.dtype
    if not isinstance(value, Tile):
        raise LanguageError(
            f"{what}: a single element of {dtype} is half of a byte, whose other half "
            "another thread may write",
            "store two neighbors: a fragment whose last extent is even",
        )
    if mask is not None:
        gathers.check_mask(mask, value.shape, what)
    if mask is not None and _splits_bytes(mask):
        raise LanguageError(
            f"{what}: a mask along the last dimension could split a byte of two "
            f"elements of {dtype}",
            "give the mask a last extent of 1, or load, choose with tl.where and store",
        )
    byte_shape(value.shape, dtype, what)
    accesses.store(bitcast(value, u8), as_bytes(dest, what), mask=mask)


def refuse(region: BufferRegion, what: str) -> BufferRegion:
    """A region of elements that have bytes of their own.

    Raises:
        LanguageError: two elements share a byte.
    """
    if region.dtype.packing > 1:
        raise LanguageError(
            f"{what}: elements of {region.dtype} share a byte with others, and cannot "
            "be updated one by one",
            "declare the buffer as tl.u8 or wider, and update whole elements",
        )
    return region


def pack_elements(array: Any) -> np.ndarray:
    """An array of elements of 4 or 6 bits, packed in bytes as kernels take it.

    Args:
        array: an array of an ``ml_dtypes`` type of 4 bits, whose last extent is even,
            or of 6 bits, whose last extent is a multiple of 4.

    Returns:
        An array of uint8, with half or three quarters of the last extent. The bits of a
        line follow each other from the lowest bit of its first byte on: element
        ``2 * i`` of 4 bits is the lower half of byte ``i``.

    Raises:
        LanguageError: the elements have another width, or do not fill whole bytes.

    Example:
        >>> import ml_dtypes, numpy, tilews
        >>> tilews.pack_elements(numpy.array([1, -1], ml_dtypes.int4)).tolist()
        [241]
    """
    codes = np.asarray(array)
    bits = _BITS.get(codes.dtype, 8)
    if bits == 8 or not codes.shape or codes.shape[-1] % (2 if bits == 4 else 4):
        raise LanguageError(
            "tilews.pack_elements: expected elements of 4 bits and an even last "
            "extent, or of 6 bits and a multiple of 4, found "
            f"{codes.dtype} of shape {codes.shape}"
        )
    places = np.unpackbits(codes.view(np.uint8)[..., None], axis=-1, bitorder="little")
    line = places[..., :bits].reshape(*codes.shape[:-1], -1)
    return np.packbits(line, axis=-1, bitorder="little")


def unpack_elements(array: Any, dtype: DType) -> np.ndarray:
    """The elements of an array that are packed in bytes; undoes :func:`pack_elements`.

    Args:
        array: an array of bytes.
        dtype: ``tl.i4``, ``tl.u4``, ``tl.e2m1``, ``tl.e2m3`` or ``tl.e3m2``.

    Raises:
        LanguageError: the elements of the array are no bytes, or those of the type
            have another width.

    Example:
        >>> import numpy, tilews, tilews.language as tl
        >>> tilews.unpack_elements(numpy.array([0xF1], numpy.uint8), tl.i4).tolist()
        [1, -1]
    """
    codes = np.asarray(array)
    bits = _BITS.get(dtype.numpy, 8) if isinstance(dtype, DType) else 8
    if codes.dtype.itemsize != 1 or bits == 8 or codes.shape[-1] * 8 % bits:
        raise LanguageError(
            "tilews.unpack_elements: expected bytes and an element type of 4 or 6 "
            f"bits, found {codes.dtype} and {dtype!r}"
        )
    places = np.unpackbits(codes.view(np.uint8), axis=-1, bitorder="little")
    line = places.reshape(*codes.shape[:-1], -1, bits)
    codes = np.packbits(line, axis=-1, bitorder="little")[..., 0]
    if dtype.is_float:
        return codes.view(dtype.numpy)
    if not dtype.is_unsigned:
        codes = (codes ^ 8).astype(np.int8) - np.int8(8)
    return codes.astype(dtype.numpy)
