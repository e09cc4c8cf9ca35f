"""The peers in TileLang: pipelined matmuls, dense and sparse, and attention."""

import functools
import math
from collections.abc import Callable
from typing import Any

import tilelang
import tilelang.language as T

from .cases import Case
from .kernels import is_aligned
from .sparse_kernels import BLOCK

DTYPES = {"f16": "float16", "bf16": "bfloat16", "e4m3": "float8_e4m3fn"}


def gemms(
    case: Case, output: str
) -> list[tuple[str, Callable[[], Callable[..., Any]]]]:
    """Functions that compile a matmul of A, B and C, with labels."""
    depth = 128 if case.dtype == "e4m3" else 64
    # Tile extents, threads and stages. A configuration takes seconds to compile, so
    # only the layout that is measured in all sizes has all of them.
    configs = [(128, 128, depth, 128, 3), (128, 256, depth, 256, 3)]
    if case.layout == "NT" and is_aligned(case.shape):
        configs += [
            (128, 128, depth, 128, 4),
            (128, 128, depth, 256, 4),
            (128, 256, depth, 256, 4),
            (256, 128, depth, 256, 3),
        ]
    return [
        (
            f"{bm}x{bn}x{bk} t{threads} s{stages}",
            functools.partial(_compile, case, output, bm, bn, bk, threads, stages),
        )
        for bm, bn, bk, threads, stages in configs
    ]


def _compile(
    case: Case, output: str, bm: int, bn: int, bk: int, threads: int, stages: int
) -> Callable[..., Any]:
    m, n, k = case.shape
    transpose_a, transpose_b = (letter == "T" for letter in case.layout)
    a_shape, b_shape = (
        (k, m) if transpose_a else (m, k),
        (n, k) if transpose_b else (k, n),
    )
    a_tile, b_tile = (
        (bk, bm) if transpose_a else (bm, bk),
        (bn, bk) if transpose_b else (bk, bn),
    )
    inputs, result = DTYPES[case.dtype], DTYPES[output]

    @T.prim_func
    def gemm(
        A: T.Tensor(a_shape, inputs),
        B: T.Tensor(b_shape, inputs),
        C: T.Tensor((m, n), result),
    ):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=threads) as (x, y):
            a = T.alloc_shared(a_tile, inputs)
            b = T.alloc_shared(b_tile, inputs)
            total = T.alloc_fragment((bm, bn), "float32")
            T.use_swizzle(panel_size=8)
            T.clear(total)
            for i in T.Pipelined(T.ceildiv(k, bk), num_stages=stages):
                if transpose_a:
                    T.copy(A[i * bk, y * bm], a)
                else:
                    T.copy(A[y * bm, i * bk], a)
                if transpose_b:
                    T.copy(B[x * bn, i * bk], b)
                else:
                    T.copy(B[i * bk, x * bn], b)
                T.gemm(a, b, total, transpose_A=transpose_a, transpose_B=transpose_b)
            T.copy(total, C[y * bm, x * bn])

    return tilelang.compile(gemm)


def structured(case: Case) -> list[tuple[str, Callable[[], Callable[..., Any]]]]:
    """Functions that compile a 2:4 sparse matmul of A, its metadata E, B (N, K) and C,
    with labels."""
    # Tile extents, threads and stages.
    configs = [
        (128, 128, 64, 128, 3),
        (128, 128, 128, 256, 3),
        (128, 256, 64, 256, 3),
        (128, 256, 128, 256, 2),
    ]
    return [
        (
            f"{bm}x{bn}x{bk} t{threads} s{stages}",
            functools.partial(_structured, case, bm, bn, bk, threads, stages),
        )
        for bm, bn, bk, threads, stages in configs
    ]


def _structured(
    case: Case, bm: int, bn: int, bk: int, threads: int, stages: int
) -> Callable[..., Any]:
    m, n, k = case.shape
    kind = DTYPES[case.dtype]

    @T.prim_func
    def gemm_sp(
        A: T.Tensor((m, k // 2), kind),
        E: T.Tensor((m, k // 16), "int16"),
        B: T.Tensor((n, k), kind),
        C: T.Tensor((m, n), kind),
    ):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=threads) as (x, y):
            a = T.alloc_shared((bm, bk // 2), kind)
            e = T.alloc_shared((bm, bk // 16), "int16")
            b = T.alloc_shared((bn, bk), kind)
            total = T.alloc_fragment((bm, bn), "float32")
            T.use_swizzle(panel_size=8)
            T.clear(total)
            for i in T.Pipelined(T.ceildiv(k, bk), num_stages=stages):
                T.copy(A[y * bm, i * bk // 2], a)
                T.copy(E[y * bm, i * bk // 16], e)
                T.copy(B[x * bn, i * bk], b)
                T.gemm_sp(a, e, b, total, transpose_B=True)
            T.copy(total, C[y * bm, x * bn])

    return tilelang.compile(gemm_sp)


def blocks(case: Case) -> list[tuple[str, Callable[[], Callable[..., Any]]]]:
    """Functions that compile a block-sparse matmul of A, B, the mask and C, with
    labels."""
    # Threads and stages. The tile is a block of the mask.
    return [
        (f"t{threads} s{stages}", functools.partial(_blocks, case, threads, stages))
        for threads, stages in ((128, 2), (128, 3), (256, 2), (256, 3))
    ]


def _blocks(case: Case, threads: int, stages: int) -> Callable[..., Any]:
    (m, n, k), (bm, bn, bk) = case.shape, BLOCK
    kind = DTYPES[case.dtype]

    @T.prim_func
    def block_sparse(
        A: T.Tensor((m, k), kind),
        B: T.Tensor((k, n), kind),
        Mask: T.Tensor((m // bm, n // bn, k // bk), "bool"),
        C: T.Tensor((m, n), kind),
    ):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=threads) as (x, y):
            a = T.alloc_shared((bm, bk), kind)
            b = T.alloc_shared((bk, bn), kind)
            total = T.alloc_fragment((bm, bn), "float32")
            T.use_swizzle(panel_size=8)
            T.clear(total)
            for i in T.Pipelined(T.ceildiv(k, bk), num_stages=stages):
                if Mask[y, x, i]:
                    T.copy(A[y * bm, i * bk], a)
                    T.copy(B[i * bk, x * bn], b)
                    T.gemm(a, b, total)
            T.copy(total, C[y * bm, x * bn])

    return tilelang.compile(block_sparse)


def attentions(
    case: Case, causal: bool
) -> list[tuple[str, Callable[[], Callable[..., Any]]]]:
    """Functions that compile an attention of Q, K, V and the result, all (B, S, H, D),
    with labels."""
    # Queries and keys of a tile, threads and stages.
    configs = [
        (128, 128, 256, 1),
        (128, 128, 256, 2),
        (128, 64, 256, 2),
        (192, 128, 384, 2),
    ]
    return [
        (
            f"{queries}x{keys} t{threads} s{stages}",
            functools.partial(_attention, case, causal, queries, keys, threads, stages),
        )
        for queries, keys, threads, stages in configs
    ]


def _online_softmax(queries: int, keys: int, scale: float) -> Any:
    """A macro that turns scores into weights relative to the highest score so far.

    It updates that score and the sum of the weights. `factor` becomes the factor of
    earlier results.
    """
    Matrix = T.FragmentBuffer((queries, keys), "float32")
    Rows = T.FragmentBuffer((queries,), "float32")

    @T.macro
    def update(
        scores: Matrix, top: Rows, before: Rows, factor: Rows, added: Rows, total: Rows
    ):
        T.copy(top, before)
        T.fill(top, -T.infinity("float32"))
        T.reduce_max(scores, top, dim=1, clear=False)
        for i in T.Parallel(queries):
            top[i] = T.max(top[i], before[i])
            factor[i] = T.exp2(before[i] * scale - top[i] * scale)
        for i, j in T.Parallel(queries, keys):
            scores[i, j] = T.exp2(scores[i, j] * scale - top[i] * scale)
        T.reduce_sum(scores, added, dim=1)
        for i in T.Parallel(queries):
            total[i] = total[i] * factor[i] + added[i]

    return update


def _attention(
    case: Case, causal: bool, queries: int, keys: int, threads: int, stages: int
) -> Callable[..., Any]:
    batch, heads, length, depth = case.shape
    shape = (batch, length, heads, depth)
    kind = DTYPES[case.dtype]
    tiles = -(-length // queries)
    scale = math.log2(math.e) / math.sqrt(depth)  # for powers of two
    rows, update = T.GemmWarpPolicy.FullRow, _online_softmax(queries, keys, scale)

    @T.prim_func
    def attention(
        Q: T.Tensor(shape, kind),
        K: T.Tensor(shape, kind),
        V: T.Tensor(shape, kind),
        Y: T.Tensor(shape, kind),
    ):
        with T.Kernel(tiles, heads, batch, threads=threads) as (x, h, b):
            q = T.alloc_shared((queries, depth), kind)
            k = T.alloc_shared((keys, depth), kind)
            v = T.alloc_shared((keys, depth), kind)
            y = T.alloc_shared((queries, depth), kind)
            scores = T.alloc_fragment((queries, keys), "float32")
            weights = T.alloc_fragment((queries, keys), kind)
            out = T.alloc_fragment((queries, depth), "float32")
            top = T.alloc_fragment((queries,), "float32")
            before = T.alloc_fragment((queries,), "float32")
            factor = T.alloc_fragment((queries,), "float32")
            added = T.alloc_fragment((queries,), "float32")
            total = T.alloc_fragment((queries,), "float32")
            T.copy(Q[b, x * queries : (x + 1) * queries, h, :], q)
            T.fill(out, 0)
            T.fill(total, 0)
            T.fill(top, -T.infinity("float32"))
            blocks = T.ceildiv((x + 1) * queries if causal else length, keys)
            for n in T.Pipelined(blocks, num_stages=stages):
                T.copy(K[b, n * keys : (n + 1) * keys, h, :], k)
                if causal:
                    for i, j in T.Parallel(queries, keys):
                        scores[i, j] = T.if_then_else(
                            x * queries + i >= n * keys + j,
                            0,
                            -T.infinity("float32"),
                        )
                else:
                    T.clear(scores)
                T.gemm(q, k, scores, transpose_B=True, policy=rows)
                update(scores, top, before, factor, added, total)
                T.copy(scores, weights)
                for i, j in T.Parallel(queries, depth):
                    out[i, j] *= factor[i]
                T.copy(V[b, n * keys : (n + 1) * keys, h, :], v)
                T.gemm(weights, v, out, policy=rows)
            for i, j in T.Parallel(queries, depth):
                out[i, j] /= total[i]
            T.copy(out, y)
            T.copy(y, Y[b, x * queries : (x + 1) * queries, h, :])

    return tilelang.compile(attention)
