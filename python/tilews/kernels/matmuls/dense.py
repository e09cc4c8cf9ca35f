"""Matmuls of matrices and of batches of them, with epilogues."""

import dataclasses
import math
from typing import Any

import tilews
import tilews.language as tl

from ...runtime.arrays import is_on_host
from ..host import FLOATS, check_array, check_number, check_type, fail, result
from ..operation import operation
from ..rows.gated import find_activation
from ..scratch import allocate, can_allocate, is_last_part, take_tickets
from .tiling import choose

#: Types of operands, and those of results.
OPERANDS = (*FLOATS, tl.e4m3, tl.e5m2, tl.e4m3fnuz, tl.e5m2fnuz, tl.i8)
RESULTS = (*FLOATS, tl.i32)


@tilews.func
def epilogue(
    acc: Any, finish: Any, C: Any, place: Any, scale: Any, activation: Any
) -> None:
    """Stores ``activation(acc * scales + bias) + residual`` at a place of C."""
    Bias, Residual, RowScales, ColumnScales = finish
    g, m, n = place
    BM, BN = acc.shape
    y = acc.to(tl.f32) * scale if C.dtype.is_float else acc
    if RowScales is not None:
        y *= tl.load(RowScales[g, m : m + BM])[:, None]
    if ColumnScales is not None:
        y *= tl.load(ColumnScales[0, n : n + BN])
    if Bias is not None:
        y += tl.load(Bias[n], (BN,)).to(tl.f32)
    if activation is not None:
        y = activation(y)
    if Residual is not None:
        y += tl.load(Residual[g, m : m + BM, n : n + BN]).to(tl.f32)
    C[g, m : m + BM, n : n + BN] = y.to(C.dtype)


@tilews.func
def tile_sum(
    A: Any, B: Any, As: Any, Bs: Any, g: Any, m: Any, n: Any, steps: Any, MODE: Any
) -> Any:
    """The sum of the products of some steps of the depth, for a tile."""
    STAGES, transpose_a, transpose_b, tf32 = MODE
    BM, BK = As.shape[::-1] if transpose_a else As.shape
    BN = Bs.shape[0] if transpose_b else Bs.shape[1]
    acc = tl.zeros((BM, BN), tl.f32 if A.dtype.is_float else tl.i32)
    first, last = steps
    for i in tl.range(first, last, num_stages=STAGES):
        k = i * BK
        if transpose_a:
            tl.copy(A[g, k : k + BK, m : m + BM], As)
        else:
            tl.copy(A[g, m : m + BM, k : k + BK], As)
        if transpose_b:
            tl.copy(B[g, n : n + BN, k : k + BK], Bs)
        else:
            tl.copy(B[g, k : k + BK, n : n + BN], Bs)
        acc = tl.gemm(
            As,
            Bs,
            acc,
            transpose_lhs=transpose_a,
            transpose_rhs=transpose_b,
            allow_tf32=tf32,
        )
    return acc


@tilews.func
def store_part(acc: Any, Parts: Any, Tickets: Any, tile: Any, own: Any) -> Any:
    """Stores the sum of a part of the depth; returns whether all parts are there."""
    part, parts = own
    BM, BN = acc.shape
    Parts[tile * parts + part, 0:BM, 0:BN] = acc
    return is_last_part(Tickets, tile, parts)


@tilews.func
def add_parts(Parts: Any, tile: Any, parts: Any) -> Any:
    """The sums of all parts of a tile, added up in their order."""
    _, BM, BN = Parts.shape
    acc = tl.load(Parts[tile * parts, 0:BM, 0:BN])
    for other in tl.range(1, parts):
        acc += tl.load(Parts[tile * parts + other, 0:BM, 0:BN])
    return acc


@tilews.kernel
def matmul_tiles(
    A: tl.Tensor["G, RA, CA", "T"],
    B: tl.Tensor["G, RB, CB", "T"],
    Bias: tl.Tensor["N", "V"] | None,
    Residual: tl.Tensor["G, M, N", "W"] | None,
    RowScales: tl.Tensor["G, M", tl.f32] | None,
    ColumnScales: tl.Tensor["1, N", tl.f32] | None,
    Parts: tl.Tensor["P, BM, BN", "S"] | None,
    Tickets: tl.Tensor["Q", tl.i32] | None,
    C: tl.Tensor["G, M, N", "U"],
    scale: tl.f32,
    parts: tl.i32 = 1,
    BM: tl.constexpr = 128,
    BN: tl.constexpr = 128,
    BK: tl.constexpr = 64,
    STAGES: tl.constexpr = 3,
    BLOCKS: tl.constexpr = 0,
    PING_PONG: tl.constexpr = False,
    CLUSTER: tl.constexpr = 1,
    SPLIT: tl.constexpr = False,
    TRANSPOSE_A: tl.constexpr = False,
    TRANSPOSE_B: tl.constexpr = False,
    TF32: tl.constexpr = False,
    activation: tl.constexpr = None,
) -> None:
    """Tiles of C[g] = A[g] @ B[g]. BLOCKS persistent blocks compute them, or each has a
    block. With SPLIT, several blocks each sum up one of some parts of the depth. With
    CLUSTER, so many blocks compute tiles below each other, some outside of C."""
    G, M, N = C.shape
    As = tl.alloc_shared((BK, BM) if TRANSPOSE_A else (BM, BK), A.dtype)
    Bs = tl.alloc_shared((BN, BK) if TRANSPOSE_B else (BK, BN), B.dtype)
    K = A.shape[1] if TRANSPOSE_A else A.shape[2]
    MODE = (STAGES, TRANSPOSE_A, TRANSPOSE_B, TF32)
    steps = tl.cdiv(K, BK)
    finish = (Bias, Residual, RowScales, ColumnScales)
    if BLOCKS:
        tl.grid(BLOCKS)
        for x, y, g in tl.persistent(
            tl.cdiv(N, BN),
            tl.cdiv(M, BM * CLUSTER) * CLUSTER,
            G,
            order="row",
            panel=8,
            ping_pong=PING_PONG,
        ):
            m, n = y * BM, x * BN
            total = tile_sum(A, B, As, Bs, g, m, n, (0, steps), MODE)
            epilogue(total, finish, C, (g, m, n), scale, activation)
    else:
        x, y, z = tl.grid(tl.cdiv(N, BN), tl.cdiv(M, BM), G * parts)
        tl.rasterize("row", panel=8)
        m, n = y * BM, x * BN
        if SPLIT:
            g, part = z // parts, z % parts
            own = (steps * part // parts, steps * (part + 1) // parts)
            total = tile_sum(A, B, As, Bs, g, m, n, own, MODE)
            tile = (g * tl.cdiv(M, BM) + y) * tl.cdiv(N, BN) + x
            if store_part(total, Parts, Tickets, tile, (part, parts)):
                total = add_parts(Parts, tile, parts)
                epilogue(total, finish, C, (g, m, n), scale, activation)
        else:
            total = tile_sum(A, B, As, Bs, z, m, n, (0, steps), MODE)
            epilogue(total, finish, C, (z, m, n), scale, activation)


#: The same kernel, whose blocks fetch shared columns of B once for two of them.
matmul_tile_pairs = tilews.kernel(matmul_tiles.python, cluster=(2, 1, 1))


@dataclasses.dataclass(frozen=True)
class Operands:
    """The operands of a matmul.

    Attributes:
        a, b: the arrays, with three dimensions.
        outer: the shape of the result.
        shape: batches, M, N and K.
        dtype: the type of the operands.
        is_direct: whether Hopper copies the operands by TMA, and multiplies them as
            they are stored.
    """

    a: Any
    b: Any
    outer: tuple[int, ...]
    shape: tuple[int, int, int, int]
    dtype: tl.DType
    is_direct: bool


def result_type(name: str, kind: tl.DType, out_dtype: Any) -> tl.DType:
    """The type of a result of operands of a type: the caller's, or the default.

    Raises:
        LaunchError: there are no such results.
    """
    default = kind if kind in FLOATS else tl.bf16 if kind.is_float else tl.i32
    return check_type(name, "out_dtype", out_dtype or default, RESULTS)


def is_direct(
    kind: tl.DType, columns: tuple[int, int], transposed: tuple[bool, bool]
) -> bool:
    """Whether Hopper copies operands by TMA, and multiplies them as they are stored.

    Args:
        kind: the type of both.
        columns: the lengths of their rows in memory.
        transposed: whether they are stored transposed.
    """
    width = 128 // kind.bits
    return all(extent % width == 0 for extent in columns) and (
        kind.bits == 16 or transposed == (False, True)
    )


def read_operands(name: str, a: Any, b: Any, transposed: tuple[bool, bool]) -> Operands:
    """Checks the operands of a matmul. A batch with one right matrix is one matmul.

    Raises:
        LaunchError: they do not fit.
    """
    left = ("K", "M") if transposed[0] else ("M", "K")
    right = ("N", "K") if transposed[1] else ("K", "N")
    dtype = check_array(name, "a", a, ("...", *left), OPERANDS)
    check_array(name, "b", b, ("...", *right), (dtype,))
    m, k = a.shape[-2:][:: -1 if transposed[0] else 1]
    depth, n = b.shape[-2:][:: -1 if transposed[1] else 1]
    if depth != k:
        raise fail(
            name,
            f"'b': expected a depth of {k} as that of 'a', found {depth} (shape "
            f"{tuple(b.shape)}, {'' if transposed[1] else 'not '}transposed)",
        )
    outer = tuple(a.shape[:-2])
    is_flat = b.ndim == 2
    if tuple(b.shape[:-2]) != outer and (not is_flat or transposed[0]):
        raise fail(
            name,
            f"'b': expected a batch of shape {outer} as that of 'a', found "
            f"{tuple(b.shape[:-2])}",
        )
    batches = math.prod(outer)
    count = 1 if is_flat else batches
    rows = m * batches if is_flat else m
    stored = (k, rows) if transposed[0] else (rows, k)
    return Operands(
        a.reshape((count, *stored)),
        b.reshape((count, *b.shape[-2:])),
        (*outer, m, n),
        (count, rows, n, k),
        dtype,
        is_direct(dtype, (a.shape[-1], b.shape[-1]), transposed),
    )


@operation(matmul_tiles)
def matmul(
    a: Any,
    b: Any,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    scale: float = 1.0,
    scale_a: Any = None,
    scale_b: Any = None,
    bias: Any = None,
    activation: str | None = None,
    residual: Any = None,
    allow_tf32: bool = True,
    out_dtype: Any = None,
    out: Any = None,
    **launch: Any,
) -> Any:
    """A matmul with an epilogue.

    ``activation(a @ b * scale * scale_a[:, None] * scale_b + bias) + residual``, summed
    and computed in f32, for i8 summed in i32. If the result has few tiles, several
    blocks share the depth, and the last one to finish a tile adds up their parts in a
    fixed order.

    Args:
        a: (..., M, K), or (..., K, M) with `transpose_a`, of f16, bf16, f32, fp8 or i8.
        b: (..., K, N), or (..., N, K) with `transpose_b`, of the type of a, with the
            batch of a, or one matrix for all.
        transpose_a: whether `a` is stored transposed.
        transpose_b: whether `b` is stored transposed; the fastest order for fp8.
        scale: a factor.
        scale_a: (..., M) of f32: a factor for each row.
        scale_b: (N) of f32: a factor for each column.
        bias: (N) of f16, bf16 or f32.
        activation: 'silu', 'gelu', 'gelu_tanh', 'relu' or None.
        residual: like the result, of f16, bf16 or f32.
        allow_tf32: whether f32 operands may be rounded to 10 bits of fraction, which
            tensor cores multiply.
        out_dtype: f16, bf16, f32 or i32; by default that of `a`, bf16 for fp8, and i32
            for i8. A result of i32 has no epilogue.
        out: the result, allocated if not given.
        launch: `stream`, `target` and `run` of a call of the kernel.

    Returns:
        The result, (..., M, N).

    Raises:
        LaunchError: an argument does not fit; nothing was started.

    Example:
        a, b = np.ones((3, 2, 8), np.float16), np.full((5, 8), -2, np.float16)
        y = kernels.matmul(a, b, transpose_b=True, scale=0.5, out_dtype=np.float32)
        assert y.shape == (3, 2, 5) and (y == -8).all()
    """
    name = "matmul"
    both = read_operands(name, a, b, (transpose_a, transpose_b))
    kind = both.dtype
    dtype = result_type(name, kind, out_dtype)
    y = result(name, out, a, both.outer, dtype)
    function = None if activation is None else find_activation(name, activation)
    finish = read_epilogue(name, both, bias, residual, scale_a, scale_b)
    has_epilogue = any(part is not None for part in (*finish, function))
    scale = check_number(name, "scale", scale)
    if not dtype.is_float and (scale != 1 or has_epilogue):
        raise fail(name, "a result of i32 has no epilogue; pass out_dtype=tl.f32")
    if 0 not in y.shape:
        options = {
            "TRANSPOSE_A": transpose_a,
            "TRANSPOSE_B": transpose_b,
            "TF32": allow_tf32 and kind == tl.f32,
        }
        launch_matmul(both, (finish, y, scale, function), options, launch)
    return y


def read_epilogue(
    name: str, both: Operands, bias: Any, residual: Any, scale_a: Any, scale_b: Any
) -> tuple[Any, ...]:
    """Checks the arrays of an epilogue, and gives them the shapes of the kernel.

    Raises:
        LaunchError: one does not fit.
    """
    batches, m, n, _ = both.shape
    parts = []
    for label, array, shape, flat, allowed in (
        ("bias", bias, (n,), (n,), FLOATS),
        ("residual", residual, both.outer, (batches, m, n), FLOATS),
        ("scale_a", scale_a, both.outer[:-1], (batches, m), (tl.f32,)),
        ("scale_b", scale_b, (n,), (1, n), (tl.f32,)),
    ):
        if array is not None:
            check_array(name, label, array, shape, allowed)
        parts.append(None if array is None else array.reshape(flat))
    return tuple(parts)


def launch_matmul(
    both: Operands,
    finish: tuple[tuple[Any, ...], Any, float, Any],
    options: dict[str, Any],
    launch: dict[str, Any],
) -> None:
    """Launches a matmul.

    Args:
        both: the operands.
        finish: the arrays of the epilogue, the result, a factor, the activation.
        options: of the kernel.
        launch: options of the launch.
    """
    arrays, y, scale, activation = finish
    batches, m, n, _ = both.shape
    size = both.dtype.bits // 8
    target, on_host = launch.get("target"), is_on_host(both.a)
    can_split = can_allocate(both.a)
    tiling = choose(both.shape, size, target, on_host, both.is_direct, can_split)
    parts = tickets = None
    if tiling.splits > 1:
        tiles = batches * math.ceil(m / tiling.bm) * math.ceil(n / tiling.bn)
        shape = (tiles * tiling.splits, tiling.bm, tiling.bn)
        total = tl.f32 if both.dtype.is_float else tl.i32
        stream = launch.get("stream")
        parts = allocate(both.a, stream, shape, total)
        tickets = take_tickets(both.a, stream, tiles)
    kernel = matmul_tiles if tiling.cluster == 1 else matmul_tile_pairs
    kernel(
        both.a,
        both.b,
        *arrays,
        parts,
        tickets,
        y.reshape(batches, m, n),
        scale,
        tiling.splits,
        BM=tiling.bm,
        BN=tiling.bn,
        BK=tiling.bk,
        STAGES=tiling.stages,
        BLOCKS=tiling.blocks,
        PING_PONG=tiling.ping_pong,
        CLUSTER=tiling.cluster,
        SPLIT=tiling.splits > 1,
        activation=activation,
        threads=tiling.threads,
        **options,
        **launch,
    )
