"""The peer in TileLang: a pipelined product."""

import functools
from collections.abc import Callable
from typing import Any

import tilelang
import tilelang.language as T

from .cases import Case

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
