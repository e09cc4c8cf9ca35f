"""Matmuls of fp8 with scales: of tensors, of rows, and of blocks of 128 elements."""

import dataclasses
import functools
import math
from typing import Any

import tilews
import tilews.language as tl

from ...runtime import device_target
from ...runtime.arrays import is_on_host
from ..host import FLOATS, as_rows, check_array, check_type, fail, result
from ..operation import operation
from ..scratch import allocate, can_allocate, take_tickets
from .dense import add_parts, epilogue, is_direct, store_part
from .tiling import PROCESSORS, Tiling, candidates, fastest

#: The elements along the depth that share a scale, and those of a step.
DEPTH = 128
#: The most elements of a tile that a thread adds up. It has their sums twice: those of
#: a step, and those of all steps.
_ELEMENTS = 64
#: Types of operands.
_FP8 = (tl.e4m3, tl.e5m2, tl.e4m3fnuz, tl.e5m2fnuz)


@tilews.func
def load_scales(
    Scales: Any, first: Any, COUNT: Any, block: Any, SPAN: Any, OF_BLOCKS: Any
) -> Any:
    """The scales of COUNT rows of an operand: a vector, or one number for all.

    SPAN is the rows and the elements along the depth that share a scale, 0 for all. Of
    scales of blocks and scales of whole rows only those asked for are there."""
    ROWS, SHARED_DEPTH = SPAN
    if (SHARED_DEPTH > 0) != OF_BLOCKS:
        return 1.0
    if ROWS == 1:
        return tl.load(Scales[first : first + COUNT, block])
    return tl.load(Scales[first // ROWS if ROWS else 0, block])


@tilews.func
def scale_tile(x: Any, left: Any, right: Any) -> Any:
    """``x * left * right`` with scales of rows and columns, or numbers."""
    if isinstance(left, tl.Tile) and isinstance(right, tl.Tile):
        return x * right[None, :] * left[:, None]
    both = left * right
    if isinstance(left, tl.Tile):
        return x * both[:, None]
    return x * (both[None, :] if isinstance(right, tl.Tile) else both)


@tilews.func
def scaled_sum(
    operands: Any, shared: Any, scales: Any, place: Any, steps: Any, MODE: Any
) -> Any:
    """The scaled sum of the products of some steps of the depth, for a tile.

    A step is summed by matrix instructions. Its sum is scaled and added in f32."""
    A, B = operands
    As, Bs = shared
    STAGES, (SPAN_A, SPAN_B) = MODE
    BM, BN = As.shape[0], Bs.shape[0]
    m, n = place
    acc = tl.zeros((BM, BN), tl.f32)
    first, last = steps
    for i in tl.range(first, last, num_stages=STAGES):
        # Before the copies, so that they arrive while the block waits for these.
        left = load_scales(scales[0], m, BM, i, SPAN_A, True)
        right = load_scales(scales[1], n, BN, i, SPAN_B, True)
        k = i * DEPTH
        tl.copy(A[m : m + BM, k : k + DEPTH], As)
        tl.copy(B[n : n + BN, k : k + DEPTH], Bs)
        acc += scale_tile(tl.gemm(As, Bs, transpose_rhs=True), left, right)
    return acc


@tilews.func
def store_scaled(
    total: Any, scales: Any, Bias: Any, C: Any, place: Any, SPANS: Any
) -> None:
    """Stores a tile with the scales of whole rows and tensors, and the bias."""
    BM, BN = total.shape
    m, n = place
    left = load_scales(scales[0], m, BM, 0, SPANS[0], False)
    right = load_scales(scales[1], n, BN, 0, SPANS[1], False)
    y = scale_tile(total, left, right)
    epilogue(y, (Bias, None, None, None), C, (0, m, n), 1.0, None)


@tilews.kernel
def scaled_tiles(
    A: tl.Tensor["M, K", "T"],
    B: tl.Tensor["N, K", "S"],
    ScaleA: tl.Tensor["MA, KA", tl.f32],
    ScaleB: tl.Tensor["NB, KB", tl.f32],
    Bias: tl.Tensor["N", "V"] | None,
    Parts: tl.Tensor["P, BM, BN", tl.f32] | None,
    Tickets: tl.Tensor["Q", tl.i32] | None,
    C: tl.Tensor["1, M, N", "U"],
    parts: tl.i32 = 1,
    BM: tl.constexpr = 128,
    BN: tl.constexpr = 128,
    STAGES: tl.constexpr = 4,
    BLOCKS: tl.constexpr = 0,
    SPLIT: tl.constexpr = False,
    SPANS: tl.constexpr = ((1, 128), (128, 128)),
) -> None:
    """Tiles of C = A @ B.T with scales. SPANS has the rows and the elements along the
    depth that share a scale of A, and of B; 0 stands for all. Of 128 columns of B, BN
    divides them. BLOCKS and SPLIT are as for `matmul_tiles`."""
    _, M, N = C.shape
    shared = (
        tl.alloc_shared((BM, DEPTH), A.dtype),
        tl.alloc_shared((BN, DEPTH), B.dtype),
    )
    operands, scales, mode = (A, B), (ScaleA, ScaleB), (STAGES, SPANS)
    steps = tl.cdiv(A.shape[1], DEPTH)
    if BLOCKS:
        tl.grid(BLOCKS)
        columns, rows = tl.cdiv(N, BN), tl.cdiv(M, BM)
        for x, y in tl.persistent(columns, rows, order="row", panel=8):
            place = (y * BM, x * BN)
            total = scaled_sum(operands, shared, scales, place, (0, steps), mode)
            store_scaled(total, scales, Bias, C, place, SPANS)
    else:
        x, y, part = tl.grid(tl.cdiv(N, BN), tl.cdiv(M, BM), parts)
        tl.rasterize("row", panel=8)
        place = (y * BM, x * BN)
        own = (steps * part // parts, steps * (part + 1) // parts)
        if SPLIT:
            total = scaled_sum(operands, shared, scales, place, own, mode)
            tile = y * tl.cdiv(N, BN) + x
            if store_part(total, Parts, Tickets, tile, (part, parts)):
                total = add_parts(Parts, tile, parts)
                store_scaled(total, scales, Bias, C, place, SPANS)
        else:
            total = scaled_sum(operands, shared, scales, place, (0, steps), mode)
            store_scaled(total, scales, Bias, C, place, SPANS)


@functools.lru_cache(maxsize=4096)
def choose_scaled(
    shape: tuple[int, int, int], target: str, is_direct: bool, can_split: bool
) -> Tiling:
    """The fastest tiling by the model of :func:`fastest`.

    Args:
        shape: M, N and K.
        target: a chip, or "cpu".
        is_direct: whether TMA copies the operands.
        can_split: whether there is memory for the sums of parts of the depth.
    """
    found = []
    for one in candidates(target, 1, is_direct):
        fits = one.bm * one.bn <= _ELEMENTS * one.threads and DEPTH % one.bn == 0
        if fits and not one.blocks:
            found.append(dataclasses.replace(one, bk=DEPTH))
    if target != "cpu" and is_direct:
        largest = max(found, key=lambda one: one.bm * one.bn)
        found.append(dataclasses.replace(largest, blocks=PROCESSORS))
    return fastest(found, (1, *shape), 1, can_split)


def read_scale(
    name: str, label: str, scale: Any, rows: tuple[int, ...], depth: int, spans: Any
) -> tuple[Any, tuple[int, int]]:
    """Checks the scales of an operand; returns them as a matrix, and what shares one.

    Args:
        name: the name of the operation, for errors.
        label: the name of the argument.
        scale: the argument.
        rows: the shape of the operand without its last extent.
        depth: the last extent.
        spans: what may share a scale, as rows and elements along the depth; 0 is all.

    Raises:
        LaunchError: the scales do not fit.
    """
    blocks = math.ceil(depth / DEPTH)
    shapes: dict[tuple[int, int], tuple[int, ...]] = {
        (0, 0): (1,),
        (1, 0): rows,
        (1, DEPTH): (*rows, blocks),
        (DEPTH, DEPTH): (math.ceil(rows[-1] / DEPTH), blocks),
    }
    check_array(name, label, scale, ("...",), (tl.f32,))
    found = tuple(scale.shape) or (1,)
    for span in spans:
        if found == shapes[span]:
            inner = blocks if span[1] else 1
            return scale.reshape((math.prod(found) // max(inner, 1), inner)), span
    known = " or ".join(str(shapes[span]) for span in spans)
    raise fail(name, f"'{label}': expected shape {known}, found {tuple(scale.shape)}")


@operation(scaled_tiles)
def scaled_matmul(
    a: Any,
    b: Any,
    scale_a: Any,
    scale_b: Any,
    *,
    bias: Any = None,
    out_dtype: Any = tl.bf16,
    out: Any = None,
    **launch: Any,
) -> Any:
    """A matmul of fp8 with scales, ``a @ b.T``, whose blocks are added in f32.

    ``y[m, n] = bias[n] + sum(scale_a * scale_b * dot(a[m, K], b[n, K]))`` over the
    blocks K of 128 elements along the depth. An operand has one scale, one for each
    row, or one for each block: of a row, or of 128 rows of b (DeepSeek-AI: DeepSeek-V3
    Technical Report, 2024, section 3.3). Tensor cores of Hopper keep 13 bits of the
    fraction of a sum; so each block is summed on its own, scaled, and added in f32. For
    less precise sums, :func:`matmul` with `scale_a` and `scale_b` for rows is faster.

    Args:
        a: (..., M, K) of fp8.
        b: (N, K) of fp8; e4m3 and e5m2 may be mixed.
        scale_a: of f32: () or (1) for all of a, (..., M) for its rows, or
            (..., M, K / 128), as :func:`cast_to_fp8` makes them with ``group=128``.
        scale_b: of f32: () or (1), (N), (N, K / 128), or (N / 128, K / 128). Quotients
            are rounded up.
        bias: (N) of f16, bf16 or f32.
        out_dtype: f16, bf16 or f32.
        out: the result, allocated if not given.
        launch: `stream`, `target` and `run` of a call of the kernel.

    Returns:
        The result, (..., M, N).

    Raises:
        LaunchError: an argument does not fit; nothing was started.

    Example:
        x = np.array([[1] * 128 + [300] * 128], np.float32)
        a, scale_a = kernels.cast_to_fp8(x, group=128)
        b, scale_b = a, np.array([[2 / 448, 1]], np.float32)
        y = kernels.scaled_matmul(a, b, scale_a, scale_b, out_dtype=tl.f32)
        assert np.allclose(y, 128 * 1 * 2 + 128 * 300 * 448)
    """
    name = "scaled_matmul"
    kinds = [check_array(name, "a", a, ("...", "M", "K"), _FP8)]
    kinds.append(check_array(name, "b", b, ("N", a.shape[-1]), _FP8))
    dtype = check_type(name, "out_dtype", out_dtype, FLOATS)
    (*outer, depth), columns = a.shape, b.shape[0]
    spans = [(0, 0), (1, 0), (1, DEPTH)]
    left = read_scale(name, "scale_a", scale_a, tuple(outer), depth, spans)
    spans.append((DEPTH, DEPTH))
    right = read_scale(name, "scale_b", scale_b, (columns,), depth, spans)
    if bias is not None:
        check_array(name, "bias", bias, (columns,), FLOATS)
    y = result(name, out, a, (*outer, columns), dtype)
    if 0 not in y.shape:
        launch_scaled((as_rows(a), b), (left, right), bias, y, launch)
    return y


def launch_scaled(
    operands: tuple[Any, Any], scales: Any, bias: Any, y: Any, launch: dict[str, Any]
) -> None:
    """Launches a matmul of matrices with scales: see :func:`read_scale`."""
    a, b = operands
    (m, k), n = a.shape, b.shape[0]
    on_host = is_on_host(a)
    target = launch.get("target") or ("cpu" if on_host else device_target())
    direct = is_direct(tl.e4m3, (k, k), (False, True))
    tiling = choose_scaled((m, n, k), target, direct, can_allocate(a))
    parts = tickets = None
    if tiling.splits > 1:
        tiles = math.ceil(m / tiling.bm) * math.ceil(n / tiling.bn)
        shape = (tiles * tiling.splits, tiling.bm, tiling.bn)
        parts = allocate(a, launch.get("stream"), shape, tl.f32)
        tickets = take_tickets(a, launch.get("stream"), tiles)
    (scale_a, span_a), (scale_b, span_b) = scales
    scaled_tiles(
        a,
        b,
        scale_a,
        scale_b,
        bias,
        parts,
        tickets,
        y.reshape((1, m, n)),
        tiling.splits,
        BM=tiling.bm,
        BN=tiling.bn,
        STAGES=tiling.stages,
        BLOCKS=tiling.blocks,
        SPLIT=tiling.splits > 1,
        SPANS=(span_a, span_b),
        threads=tiling.threads,
        **launch,
    )
