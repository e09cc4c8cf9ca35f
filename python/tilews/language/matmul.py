"""Matrix multiplication: dense, and with 2:4 sparse left operands."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from .. import ir
from .._support.chips import fp8_family
from ..dialects import tile
from ..errors import LanguageError
from .builder import current
from .composed import small_matmul as small
from .composed.joining import stack
from .composed.scaled_matmul import scaled_gemm
from .memory import accesses
from .memory.buffers import part
from .shapes import zeros
from .types import (
    FNUZ,
    DType,
    e2m1,
    e2m3,
    e3m2,
    e8m0,
    f32,
    f64,
    i4,
    i32,
    u4,
    u8,
    u16,
    u32,
    u64,
)
from .values import Buffer, BufferRegion, Tile, describe

Operand = Buffer | BufferRegion | Tile

#: Element types that are no operands, and what they are converted to.
_NO_FACTORS = {
    **dict.fromkeys((i4, u4), "f16"),
    **{u8: "f16", u16: "f32", u32: "f32", u64: "f32", e8m0: "bf16"},
}
#: Those that are operands of dense matmuls only.
_DENSE_FACTORS: dict[DType, str | None] = dict.fromkeys((e2m1, e2m3, e3m2), "f16")


def _check(what: str, others: Mapping[DType, str | None], **operands: Any) -> None:
    """Refuses operands of other kinds, and elements that are no factors.

    ``others`` has further element types, and None for those that are factors here.
    """
    refused = {
        dtype: other
        for dtype, other in {**_NO_FACTORS, **others}.items()
        if other is not None
    }
    for name, operand in operands.items():
        dtype = getattr(operand, "dtype", None)
        if dtype in refused and name != "metadata":
            raise LanguageError(
                f"{what}: {name} has elements of {dtype}, which are no factors",
                f"convert it: tl.load({name}).to(tl.{refused[dtype]})",
            )
        if not isinstance(operand, (Buffer, BufferRegion, Tile)):
            raise LanguageError(
                f"{what}: {name} has to be a shared buffer, a part of one or a "
                f"fragment, found {describe(operand)}"
            )


def _matrix(operand: Operand, what: str) -> Buffer | Tile:
    """An operand as a value; a part of a shared buffer becomes a view of it."""
    return part(operand, what) if isinstance(operand, BufferRegion) else operand


def _extent(operand: Buffer | Tile, dim: int, what: str) -> int:
    shape = operand.shape if isinstance(operand, Tile) else operand.static_shape
    extent = shape[dim] if len(shape) == 2 else None
    if extent is None:
        raise LanguageError(
            f"{what}: operands are matrices of static shape, found {describe(operand)}"
        )
    return extent


def _check_fp8(lhs: Operand, rhs: Operand, what: str) -> None:
    """Refuses types of fp8 that the target does not multiply."""
    chip = current(what).chip
    if chip is None:
        return
    family = fp8_family(chip)
    for dtype in (lhs.dtype, rhs.dtype):
        if not dtype.is_float or dtype.bits < 8:
            continue
        found = "ocp" if dtype in FNUZ else "fnuz" if dtype in FNUZ.values() else family
        if found == family:
            continue
        raise LanguageError(
            f"{what}: {chip} does not multiply {dtype}",
            "use f16 or bf16, or a chip with fp8 such as sm_90a, gfx942 or gfx950"
            if family is None
            else "declare tl.e4m3 or tl.e5m2, which stand for the chip's own types",
        )


def _accumulator(
    acc: Any, m: int, n: int, operand: DType, dtype: DType | None, what: str
) -> Tile:
    if acc is None:
        if dtype is None:
            dtype = i32 if operand.is_int else f64 if operand == f64 else f32
        return zeros((m, n), dtype)
    if not isinstance(acc, Tile):
        raise LanguageError(
            f"{what}: the accumulator has to be a fragment, found {describe(acc)}",
            "start with tl.zeros((M, N), tl.f32)",
        )
    return acc


def _policy(policy: str, what: str) -> ir.Attribute:
    if policy not in ("square", "full_row", "full_col"):
        raise LanguageError(
            f"{what}: policy is 'square', 'full_row' or 'full_col', found {policy!r}"
        )
    return ir.Attribute.parse(f"#tile.warps<{policy}>")


def _rank(operand: Operand) -> int | None:
    """The number of dimensions of an operand; None for a part without a size."""
    if isinstance(operand, BufferRegion):
        return None if operand.shape is None else len(operand.shape)
    return operand.ndim


def _batch_shape(operand: Any, name: str) -> tuple[int, ...]:
    """The shape of an operand of a batched matmul."""
    shape: tuple[int | None, ...] = ()
    if isinstance(operand, Buffer) and operand.is_shared:
        shape = operand.static_shape
    elif isinstance(operand, Tile):
        shape = operand.shape
    static = tuple(extent for extent in shape if extent is not None)
    if len(static) != 3:
        raise LanguageError(
            f"tl.gemm: batched matmuls take shared buffers and fragments of three "
            f"dimensions, found {describe(operand)} for {name}"
        )
    return static


def _batched(
    lhs: Operand,
    rhs: Operand,
    acc: Any,
    scales: tuple[Any, Any],
    options: dict[str, Any],
) -> Tile:
    """The matmul of each pair of matrices along the first dimension."""
    shapes = [_batch_shape(lhs, "lhs"), _batch_shape(rhs, "rhs")]
    if acc is not None:
        shapes.append(_batch_shape(acc, "acc"))
    if len({shape[0] for shape in shapes}) != 1:
        found = " and ".join(map(str, shapes))
        raise LanguageError(
            f"tl.gemm: the first dimension counts the matmuls, found shapes {found}"
        )
    return stack(
        [
            gemm(
                lhs[i],
                rhs[i],
                None if acc is None else acc[i],
                lhs_scale=None if scales[0] is None else scales[0][i],
                rhs_scale=None if scales[1] is None else scales[1][i],
                **options,
            )
            for i in range(shapes[0][0])
        ]
    )


def _scale(scale: Any) -> Any:
    """The scales of an operand; those of ``e8m0`` are loaded from global memory."""
    if not isinstance(scale, (Buffer, BufferRegion)) or scale.dtype != e8m0:
        return scale
    if isinstance(scale, BufferRegion) and scale.buffer.is_shared:
        return part(scale, "tl.gemm")
    if isinstance(scale, BufferRegion) or not scale.is_shared:
        return accesses.load(scale)
    return scale


def _plain_gemm(options: dict[str, Any]) -> Callable[..., Tile]:
    """The matmul without scales and packed operands, added to an accumulator."""
    changed = {"clear": False, "lhs_type": None, "rhs_type": None}
    return functools.partial(gemm, **{**options, **changed})


def _small_gemm(
    operands: tuple[small.SmallOperand, small.SmallOperand],
    scales: tuple[Any, Any],
    acc: Tile,
    options: dict[str, Any],
) -> Tile:
    """The matmul of fp8, fp6 and fp4: one operation, or that of converted operands."""
    transposed = options["transpose_lhs"], options["transpose_rhs"]
    if not small.fits_instruction(operands, scales):
        start = zeros(acc.shape, acc.dtype) if options["clear"] else acc
        plain = _plain_gemm(options)
        return small.converted_gemm(plain, operands, scales, transposed, start)
    lhs, rhs = (operand.as_fp8() for operand in operands)
    result = tile.gemm(
        lhs.matrix.ir,
        rhs.matrix.ir,
        acc.ir,
        small.fill_scales(operands, scales),
        transpose_lhs=transposed[0],
        transpose_rhs=transposed[1],
        clear_accumulator=options["clear"],
        policy=_policy(options["policy"], "tl.gemm"),
        lhs_type=lhs.type_attribute,
        rhs_type=rhs.type_attribute,
    )
    return Tile(result)


def gemm(
    lhs: Operand,
    rhs: Operand,
    acc: Tile | None = None,
    *,
    transpose_lhs: bool = False,
    transpose_rhs: bool = False,
    clear: bool = False,
    policy: str = "square",
    allow_tf32: bool = False,
    dtype: DType | None = None,
    lhs_scale: Operand | None = None,
    rhs_scale: Operand | None = None,
    lhs_type: DType | None = None,
    rhs_type: DType | None = None,
) -> Tile:
    """``acc + lhs @ rhs``.

    Args:
        lhs: MxK matrix, KxM with `transpose_lhs`: a shared buffer, a part of one such
            as ``S[i]`` or ``S[0:64, 32:64]``, or a fragment. The offsets of a part are
            multiples of its sizes, or indices.
        rhs: KxN matrix, NxK with `transpose_rhs`.
        acc: MxN fragment to add to; zeros if not given. If all three have a further
            first dimension, the matmul is batched: acc[i] + lhs[i] @ rhs[i].
        transpose_lhs, transpose_rhs: whether an operand is stored transposed.
        clear: whether the accumulator counts as zero.
        policy: how warps divide the result: 'square', 'full_row' or 'full_col'.
        allow_tf32: whether f32 operands may be rounded to 10 bits of fraction.
        dtype: the type of the accumulator if `acc` is not given; by default f32, i32
            for integers and f64 for f64.
        lhs_scale, rhs_scale: a fragment with a factor for each block of the operand,
            stored as it is: (M, K // 32) for blocks of 1x32, (M // 128, K // 128) for
            128x128. The matmul of a block is scaled and added in f32. A scale of
            ``tl.e8m0`` may also be a buffer, or a region with sizes. On gfx950 those
            of 1x32 are operands of the instruction, for mxfp8, mxfp6 and mxfp4.
        lhs_type, rhs_type: ``tl.e2m1``, ``tl.e2m3`` or ``tl.e3m2``: what is packed
            along K, the last dimension, in the bytes of an operand of ``tl.u8``.
            Buffers of ``tl.e2m1`` need no such type.

    Returns:
        The MxN fragment, of the type of the accumulator; BxMxN for B matmuls.

    Raises:
        LanguageError: an operand is no matrix of static shape, the policy is unknown,
            a part or a scale does not fit, or the chip does not multiply these types of
            fp8.
        KernelError: the shapes or the types of the operands and the accumulator do not
            fit.

    Example:
        @tilews.kernel
        def multiply(
            A: tl.Tensor["64, 32", tl.f16],
            B: tl.Tensor["128, 32", tl.f16],
            C: tl.Tensor["64, 128", tl.f32],
        ):
            As = tl.alloc_shared((64, 32), tl.f16)
            Bs = tl.alloc_shared((128, 32), tl.f16)
            tl.copy(A, As)
            tl.copy(B, Bs)
            C[0, 0] = tl.gemm(As, Bs, transpose_rhs=True)
            # Row 0 of blocks again, by parts of the operands.
            acc = tl.zeros((32, 128), tl.f32)
            for k in tl.static_range(0, 32, 16):
                lhs, rhs = As[0:32, k : k + 16], Bs[:, k : k + 16]
                acc = tl.gemm(lhs, rhs, acc, transpose_rhs=True)
            C[0, 0] = acc

        a = (np.arange(64 * 32) % 7).reshape(64, 32).astype(np.float16)
        b = (np.arange(128 * 32) % 5).reshape(128, 32).astype(np.float16)
        c = np.zeros((64, 128), np.float32)
        multiply(a, b, c)
        assert (c == a.astype(np.float32) @ b.T).all()
    """
    for name, operand, packed in (("lhs", lhs, lhs_type), ("rhs", rhs, rhs_type)):
        _check("tl.gemm", {} if packed is None else {u8: None}, **{name: operand})
    _check_fp8(lhs, rhs, "tl.gemm")
    options: dict[str, Any] = {
        "transpose_lhs": transpose_lhs,
        "transpose_rhs": transpose_rhs,
        "clear": clear,
        "policy": policy,
        "allow_tf32": allow_tf32,
        "dtype": dtype,
        "lhs_type": lhs_type,
        "rhs_type": rhs_type,
    }
    scales = lhs_scale, rhs_scale
    if 3 in (_rank(lhs), _rank(rhs)):
        return _batched(lhs, rhs, acc, scales, options)
    lhs, rhs = _matrix(lhs, "tl.gemm"), _matrix(rhs, "tl.gemm")
    m = _extent(lhs, 1 if transpose_lhs else 0, "tl.gemm")
    n = _extent(rhs, 0 if transpose_rhs else 1, "tl.gemm")
    operands = (
        small.as_operand(lhs, lhs_type, 0 if transpose_lhs else 1, "lhs"),
        small.as_operand(rhs, rhs_type, 1 if transpose_rhs else 0, "rhs"),
    )
    acc = _accumulator(acc, m, n, operands[0].dtype, dtype, "tl.gemm")
    scales = _scale(lhs_scale), _scale(rhs_scale)
    if small.is_small(operands, scales):
        return _small_gemm(operands, scales, acc, options)
    if any(scale is not None for scale in scales):
        start = zeros(acc.shape, acc.dtype) if clear else acc
        transposed = transpose_lhs, transpose_rhs
        return scaled_gemm(_plain_gemm(options), (lhs, rhs), scales, transposed, start)
    result = tile.gemm(
        lhs.ir,
        rhs.ir,
        acc.ir,
        [],
        transpose_lhs=transpose_lhs,
        transpose_rhs=transpose_rhs,
        clear_accumulator=clear,
        allow_tf32=allow_tf32,
        policy=_policy(policy, "tl.gemm"),
    )
    return Tile(result)


def gemm_sp(
    lhs: Operand,
    metadata: Operand,
    rhs: Operand,
    acc: Tile | None = None,
    *,
    transpose_rhs: bool = False,
    clear: bool = False,
    policy: str = "square",
    dtype: DType | None = None,
) -> Tile:
    """``acc + lhs @ rhs`` with a 2:4 sparse left operand.

    Args:
        lhs: the nonzeros, Mx(K/2).
        metadata: the places of the nonzeros: a nibble for each group of four elements
            of a row, ``i0 | i1 << 2``, packed into i8, i16 or i32, signed or not.
        rhs, acc, transpose_rhs, clear, policy, dtype: as for :func:`gemm`.

    Returns:
        The MxN fragment, of the type of the accumulator.

    Raises:
        LanguageError: as for :func:`gemm`.

    Example:
        @tilews.kernel
        def multiply(
            A: tl.Tensor["64, 32", tl.f16],
            E: tl.Tensor["64, 4", tl.i16],
            B: tl.Tensor["64, 32", tl.f16],
            C: tl.Tensor["64, 32", tl.f32],
        ):
            As, Es = tl.alloc_shared((64, 32), tl.f16), tl.alloc_shared((64, 4), tl.i16)
            Bs = tl.alloc_shared((64, 32), tl.f16)
            tl.copy(A, As)
            tl.copy(E, Es)
            tl.copy(B, Bs)
            C[0, 0] = tl.gemm_sp(As, Es, Bs)

        a, b = np.ones((64, 32), np.float16), np.ones((64, 32), np.float16)
        b[1::4] = 2.0  # rows 1, 5, ...
        e = np.full((64, 4), 0x4444, np.int16)  # the nonzeros are elements 0 and 1 of 4
        c = np.zeros((64, 32), np.float32)
        multiply(a, e, b, c)
        assert (c == 16 * (1 + 2)).all()
    """
    _check("tl.gemm_sp", _DENSE_FACTORS, lhs=lhs, metadata=metadata, rhs=rhs)
    _check_fp8(lhs, rhs, "tl.gemm_sp")
    lhs, metadata, rhs = (_matrix(x, "tl.gemm_sp") for x in (lhs, metadata, rhs))
    m = _extent(lhs, 0, "tl.gemm_sp")
    n = _extent(rhs, 0 if transpose_rhs else 1, "tl.gemm_sp")
    acc = _accumulator(acc, m, n, lhs.dtype, dtype, "tl.gemm_sp")
    result = tile.gemm_sp(
        lhs.ir,
        metadata.ir,
        rhs.ir,
        acc.ir,
        transpose_rhs=transpose_rhs,
        clear_accumulator=clear,
        policy=_policy(policy, "tl.gemm_sp"),
    )
    return Tile(result)
