"""Matmuls whose loops over K several blocks share (split-K and stream-K)."""

import numpy as np

import tilews
import tilews.language as tl


@tilews.kernel(threads=128)
def gemm(
    A: tl.Tensor["M, K:8", tl.f16],
    B: tl.Tensor["K, N:8", tl.f16],
    C: tl.Tensor["M, N", tl.f32],
    SPLITS: tl.constexpr,
    STAGES: tl.constexpr = 2,
):
    M, K = A.shape
    N = B.shape[1]
    bx, by = tl.grid(tl.cdiv(N, 32), tl.cdiv(M, 64))
    tl.rasterize("row", panel=2)
    As = tl.alloc_shared((64, 16), A.dtype)
    Bs = tl.alloc_shared((16, 32), B.dtype)
    acc = tl.zeros((64, 32), tl.f32)
    for k in tl.range(tl.cdiv(K, 16), num_stages=STAGES, split_k=SPLITS):
        tl.copy(A[by * 64, k * 16], As)
        tl.copy(B[k * 16, bx * 32], Bs)
        acc = tl.gemm(As, Bs, acc)
    tl.atomic_add(acc, C[by * 64, bx * 32])


@tilews.kernel(threads=128)
def persistent(
    A: tl.Tensor["M, K:8", tl.f16],
    B: tl.Tensor["K, N:8", tl.f16],
    C: tl.Tensor["M, N", tl.f32],
    SPLITS: tl.constexpr,
):
    """The loop starts at 1 and has a step of 2 and a guard; the sum is scaled."""
    M, K = A.shape
    N = B.shape[1]
    tl.grid(3)
    As = tl.alloc_shared((64, 16), A.dtype)
    Bs = tl.alloc_shared((16, 32), B.dtype)
    for x, y in tl.persistent(tl.cdiv(N, 32), tl.cdiv(M, 64)):
        acc = tl.zeros((64, 32), tl.f32)
        for k in tl.range(1, tl.cdiv(K, 16), 2, num_stages=2, split_k=SPLITS):
            if k != 5:
                tl.copy(A[y * 64, k * 16], As)
                tl.copy(B[k * 16, x * 32], Bs)
                acc = tl.gemm(As, Bs, acc)
        tl.atomic_add(acc * 0.5, C[y * 64, x * 32])


@tilews.kernel(threads=128)
def streamed(
    A: tl.Tensor["M, K:8", tl.f16],
    B: tl.Tensor["K, N:8", tl.f16],
    C: tl.Tensor["M, N", tl.f32],
    BLOCKS: tl.constexpr,
    FIRST: tl.constexpr = 0,
    STEP: tl.constexpr = 1,
):
    M, K = A.shape
    N = B.shape[1]
    tl.grid(BLOCKS)
    As = tl.alloc_shared((64, 16), A.dtype)
    Bs = tl.alloc_shared((16, 32), B.dtype)
    for x, y in tl.persistent(tl.cdiv(N, 32), tl.cdiv(M, 64), order="row", panel=2):
        acc = tl.zeros((64, 32), tl.f32)
        for k in tl.range(FIRST, tl.cdiv(K, 16), STEP, num_stages=3, stream_k=True):
            tl.copy(A[y * 64, k * 16], As)
            tl.copy(B[k * 16, x * 32], Bs)
            acc = tl.gemm(As, Bs, acc)
        tl.atomic_add(acc, C[y * 64, x * 32])


def arguments(k):
    random = np.random.default_rng(0)
    a = random.integers(-3, 4, (100, k)).astype(np.float16)
    b = random.integers(-3, 4, (k, 72)).astype(np.float16)
    return a, b, np.ones((100, 72), np.float32)
