"""Matmuls of fp8, fp6 and fp4, with scales of 32 elements: mxfp8, mxfp6 and mxfp4.

An operation of the dialect computes them where the chip has an instruction, and in the
interpreter. It takes fp8, and bytes in which elements of fp6 and fp4 are packed along
K. Other operands are converted, exactly: to fp8, or to f16 on chips without fp8. Scales
are then applied to the sums of blocks.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from ... import ir
from ..._support.chips import fp8_family
from ...errors import LanguageError
from ..arithmetic import bitcast, cast
from ..builder import chip_type, current
from ..memory import accesses
from ..shapes import full, reshape
from ..types import FNUZ, DType, e2m1, e2m3, e3m2, e4m3, e5m2, e8m0, f16, i8, i32, u8
from ..values import Buffer, Tile, describe
from .joining import stack
from .scaled_matmul import scaled_gemm

_WHAT = "tl.gemm"
#: Elements that share bytes in an operand of the operation.
_PACKED = (e2m1, e2m3, e3m2)
_SMALL = (e4m3, e5m2, *FNUZ.values(), *_PACKED)
#: The elements along K that a scale of the operation is for.
_BLOCK = 32

Matrix = Buffer | Tile


@dataclasses.dataclass
class SmallOperand:
    """An operand of a small type.

    Attributes:
        matrix: its elements, or the bytes in which they are.
        dtype: the type of the elements.
        packed: whether `matrix` has bytes with elements packed along K, its last
            dimension.
        k_dim: the dimension of K.
    """

    matrix: Matrix
    dtype: DType
    packed: bool
    k_dim: int

    @property
    def shape(self) -> tuple[int, int]:
        """The extents in elements."""
        matrix = self.matrix
        found = matrix.shape if isinstance(matrix, Tile) else matrix.static_shape
        rows, columns = (extent or 0 for extent in found)  # They are static.
        if matrix.dtype != self.dtype:  # Others count elements already.
            columns = columns * 8 // self.dtype.bits
        return rows, columns

    @property
    def type_attribute(self) -> ir.Attribute | None:
        """The attribute of the operation that says what is packed."""
        return ir.TypeAttr.get(self.dtype.to_ir()) if self.packed else None

    def converted(self) -> Tile | Buffer:
        """The elements as numbers that every chip multiplies."""
        if self.dtype not in _PACKED:
            return self.matrix
        chip = current(_WHAT).chip
        factor = f16 if chip and fp8_family(chip) is None else chip_type(e4m3)
        converted: Any = cast(self._unpacked(), factor)
        return converted  # A fragment.

    def as_fp8(self) -> SmallOperand:
        """The operand in a form that the operation takes."""
        if self.packed or self.dtype not in _PACKED:
            return self
        return SmallOperand(self.converted(), e4m3, False, self.k_dim)

    def _unpacked(self) -> Tile:
        matrix = self.matrix
        values: Any = matrix
        if isinstance(matrix, Buffer):
            values = accesses.load(matrix)
        if not self.packed or values.dtype == self.dtype:
            elements: Tile = values
        elif self.dtype.packing > 1:
            elements = bitcast(values, self.dtype)
        else:
            elements = _unpack_six(values, self.dtype)
        return elements


def _unpack_six(values: Tile, dtype: DType) -> Tile:
    """The elements of 6 bits in groups of three bytes."""
    rows, columns = values.shape
    numbers: Any = cast(bitcast(values, u8), i32)
    groups = reshape(numbers, (rows, columns // 3, 3))
    word = groups[:, :, 0] | groups[:, :, 1] << 8 | groups[:, :, 2] << 16
    codes = [word >> 6 * i & 63 for i in range(4)]
    elements = reshape(stack(codes, axis=2), (rows, columns // 3 * 4))
    found: Tile = bitcast(cast(elements, u8), dtype)
    return found


def as_operand(
    matrix: Matrix, dtype: DType | None, k_dim: int, name: str
) -> SmallOperand:
    """An operand, with the type of what is packed in it if that is given.

    Raises:
        LanguageError: the operand does not hold such elements.
    """
    if dtype is None:
        if matrix.dtype != e2m1 or k_dim == 0:
            return SmallOperand(matrix, matrix.dtype, False, k_dim)
        bytes_: Any = bitcast(matrix, u8) if isinstance(matrix, Tile) else matrix
        return SmallOperand(bytes_, e2m1, True, k_dim)
    if dtype not in _PACKED:
        raise LanguageError(
            f"{_WHAT}: {name}_type is tl.e2m1, tl.e2m3 or tl.e3m2, found {dtype!r}",
            "other elements are not packed in bytes: leave it out",
        )
    if matrix.dtype not in (u8, i8):
        raise LanguageError(
            f"{_WHAT}: {name} has bytes in which {dtype} are packed, tl.u8, found "
            f"{describe(matrix)}"
        )
    operand = SmallOperand(matrix, dtype, True, k_dim)
    if k_dim == 0 or operand.shape[1] * dtype.bits % 24 * (dtype.bits == 6):
        raise LanguageError(
            f"{_WHAT}: elements of {name} are packed along K, its last dimension, "
            f"found {describe(matrix)}",
            "store the left operand as (M, K), and the right one as (N, K) with "
            "transpose_rhs=True; 4 elements of 6 bits take 3 bytes",
        )
    return operand


def is_small(
    operands: tuple[SmallOperand, SmallOperand], scales: tuple[Any, Any]
) -> bool:
    """Whether the operands, with their scales, are those of the operation.

    Raises:
        LanguageError: a packed operand is multiplied with a wider one.
    """
    has_packed = any(operand.dtype in _PACKED for operand in operands)
    for operand in operands:
        if operand.dtype not in _SMALL and has_packed:
            raise LanguageError(
                f"{_WHAT}: multiplies fp6 and fp4 with fp8, fp6 and fp4, found "
                f"{operands[0].dtype} and {operands[1].dtype}",
                f"convert both to one type: tl.load(x).to(tl.{operand.dtype.name})",
            )
    if has_packed:
        return True
    if any(operand.dtype not in _SMALL for operand in operands):
        return False
    return any(scale is not None for scale in scales) and all(
        scale is None or _is_of_blocks(operand, scale)
        for operand, scale in zip(operands, scales, strict=True)
    )


def _is_of_blocks(operand: SmallOperand, scale: Any) -> bool:
    """Whether a scale has a power of two for 32 elements along K."""
    if not isinstance(scale, (Buffer, Tile)) or scale.dtype != e8m0:
        return False
    shape = scale.shape if isinstance(scale, Tile) else scale.static_shape
    return tuple(shape) == _scale_shape(operand)


def _scale_shape(operand: SmallOperand) -> tuple[int, ...]:
    shape = list(operand.shape)
    shape[operand.k_dim] //= _BLOCK
    return tuple(shape)


def fits_instruction(
    operands: tuple[SmallOperand, SmallOperand], scales: tuple[Any, Any]
) -> bool:
    """Whether the target computes the operation: the interpreter always does.

    "AMD Instinct CDNA4 Instruction Set Architecture": 32x32x64 and 16x16x128.
    """
    given = [scale is not None for scale in scales]
    if any(given) and not all(
        scale is None or _is_of_blocks(operand, scale)
        for operand, scale in zip(operands, scales, strict=True)
    ):
        return False
    lhs, rhs = operands
    depth, columns = lhs.shape[lhs.k_dim], rhs.shape[1 - rhs.k_dim]
    if any(given) and depth % _BLOCK:
        return False
    if any(operand.dtype in FNUZ.values() for operand in operands):
        return False
    chip = current(_WHAT).chip
    if chip is None:
        return True
    return chip == "gfx950" and depth % (64 if columns % 32 == 0 else 128) == 0


def fill_scales(
    operands: tuple[SmallOperand, SmallOperand], scales: tuple[Any, Any]
) -> list[ir.Value]:
    """The scales of both operands, 1 for an operand without; none if both have none."""
    if all(scale is None for scale in scales):
        return []
    filled = []
    for operand, scale in zip(operands, scales, strict=True):
        if scale is None:
            scale = full(_scale_shape(operand), 1.0, e8m0)
        filled.append(scale.ir)
    return filled


def converted_gemm(
    multiply: Callable[[Any, Any, Tile], Tile],
    operands: tuple[SmallOperand, SmallOperand],
    scales: tuple[Any, Any],
    transposed: tuple[bool, bool],
    acc: Tile,
) -> Tile:
    """The matmul of converted operands; scales multiply the sums of blocks.

    Args:
        multiply: the matmul without scales.
        operands: two operands.
        scales: for each, the scales of its blocks, or None.
        transposed: as for :func:`scaled_gemm`.
        acc: what is added to.
    """
    lhs, rhs = (operand.converted() for operand in operands)
    if all(scale is None for scale in scales):
        return multiply(lhs, rhs, acc)
    loaded = [
        accesses.load(scale) if isinstance(scale, Buffer) else scale for scale in scales
    ]
    return scaled_gemm(multiply, (lhs, rhs), (loaded[0], loaded[1]), transposed, acc)
