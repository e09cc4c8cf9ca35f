"""The peers in TileLang: pipelined products, dense and sparse."""

import functools
from collections.abc import Callable
from typing import Any

import tilelang
import tilelang.language as T

from .cases import Case
from .sparse_kernels import BLOCK

DTYPES = {"f16": "float16", "bf16": "bfloat16", "e4m3": "float8_e4m3fn"}


def gemms(
    case: Case, output: str
) -> list[tuple[str, Callable[[], Callable[..., Any]]]]:
    """Makers of functions of A, B and C, with the configurations' labels."""
    depth = 128 if case.dtype == "e4m3" else 64
    # Tile extents, threads and stages.
    configs = [(128, 128, depth, 128, 3), (128, 256, depth, 256, 3)]
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
    """Makers of 2:4 sparse products of A, its metadata E, B (N, K) and C."""
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
    """Makers of block-sparse products of A, B, the mask and C."""
    # Threads and stages; the tile is the mask's block.
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
