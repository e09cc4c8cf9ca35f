"""Matmuls of operands with a scale for each block."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...errors import LanguageError
from ..arithmetic import cast
from ..shapes import broadcast_to, reshape, zeros
from ..types import f32
from ..values import Buffer, Tile, describe

_WHAT = "tl.gemm"


def scaled_gemm(
    multiply: Callable[[Any, Any, Tile], Tile],
    operands: tuple[Buffer | Tile, Buffer | Tile],
    scales: tuple[Any, Any],
    transposed: tuple[bool, bool],
    acc: Tile,
) -> Tile:
    """Adds the scaled matmuls of blocks along K.

    Each block is multiplied on its own, in f32; the sum is multiplied by the scales of
    its rows and columns, and added to the accumulator.

    Args:
        multiply: the matmul without scales.
        operands: two matrices.
        scales: for each operand, the scales of its blocks, or None.
        transposed: whether K is the first dimension of the left operand, and the last
            one of the right operand.
        acc: what is added to.
    """
    for operand, name in zip(operands, ("lhs", "rhs"), strict=True):
        if not operand.dtype.is_float:
            raise LanguageError(
                f"{_WHAT}: scales are for operands of floating point, found {name} of "
                f"{operand.dtype}",
                "scale the sum of each block along K: acc += tl.gemm(a, b).to(tl.f32) "
                "* x[:, None] * y[None, :]",
            )
    lhs = _Blocks(operands[0], scales[0], "lhs_scale", 0 if transposed[0] else 1)
    rhs = _Blocks(operands[1], scales[1], "rhs_scale", 1 if transposed[1] else 0)
    if acc.dtype != f32:
        raise LanguageError(f"{_WHAT}: scaled matmuls add up in f32, not {acc.dtype}")
    depth = math.gcd(lhs.depth, rhs.depth)
    for k in range(0, lhs.extent, depth):
        block = multiply(lhs.part(k, depth), rhs.part(k, depth), zeros(acc.shape, f32))
        for blocks, dim in ((lhs, 1), (rhs, 0)):
            factors = blocks.factors(k)
            if factors is not None:
                block = block * (factors[:, None] if dim else factors[None, :])
        acc = acc + block
    return acc


class _Blocks:
    """An operand in blocks along K, and their scales.

    Attributes:
        extent: the elements along K.
        depth: the elements of a block along K.
    """

    def __init__(
        self, operand: Buffer | Tile, scales: Any, name: str, k_dim: int
    ) -> None:
        extents = operand.static_shape if isinstance(operand, Buffer) else operand.shape
        shape = tuple(extent or 0 for extent in extents)  # They are static.
        self._operand = operand
        self._k_dim = k_dim
        self._rows = shape[1 - k_dim]
        self.extent = shape[k_dim]
        self.depth = self.extent
        self._scales = scales
        if scales is None:
            return
        if not isinstance(scales, Tile) or not scales.dtype.is_float:
            raise LanguageError(
                f"{_WHAT}: {name} has to be a fragment of floating point, found "
                f"{describe(scales)}",
                "load the scales: tl.load(S[i, j], (128, 4))",
            )
        fits = scales.ndim == 2 and all(
            extent % count == 0
            for extent, count in zip(shape, scales.shape, strict=True)
        )
        if not fits:
            raise LanguageError(
                f"{_WHAT}: {name} has a scale for each block of the operand of shape "
                f"{shape}, found shape {scales.shape}",
                "extents of the operand are multiples of those of the scales",
            )
        self.depth = self.extent // scales.shape[k_dim]
        self._scales = cast(scales, f32)

    def part(self, start: int, size: int) -> Any:
        """The elements from a place along K on."""
        inside = slice(start, start + size)
        whole = slice(None)
        return self._operand[(whole, inside) if self._k_dim else (inside, whole)]

    def factors(self, start: int) -> Tile | None:
        """The scale of each row, or column, for the block at a place along K."""
        if self._scales is None:
            return None
        block = start // self.depth
        whole = slice(None)
        scales = self._scales[(whole, block) if self._k_dim else (block, whole)]
        count = scales.shape[0]
        repeated = broadcast_to(scales[:, None], (count, self._rows // count))
        return reshape(repeated, (self._rows,))
