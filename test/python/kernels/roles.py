"""Roles, channels and cursors that were written by hand, and operands for them."""

import numpy as np

import tilews
import tilews.language as tl
from kernels.gemm import BM, BN

BK = 32


@tilews.kernel
def by_roles(
    A: tl.Tensor["M, K:16", tl.f16],
    B: tl.Tensor["K, N:16", tl.f16],
    C: tl.Tensor["M, N:16", tl.f32],
    STAGES: tl.constexpr = 4,
    REGISTERS: tl.constexpr = (None, None),
    LOAD_WARPS: tl.constexpr = 1,
):
    """The schedule of :func:`kernels.gemm.gemm`, written by hand."""
    M, K = A.shape
    N = B.shape[1]
    bx, by = tl.grid(tl.cdiv(N, BN), tl.cdiv(M, BM))
    steps = tl.cdiv(K, BK)
    As = tl.alloc_shared((BM, BK), A.dtype, versions=STAGES)
    Bs = tl.alloc_shared((BK, BN), B.dtype, versions=STAGES)
    ch = tl.channel((As, Bs), STAGES)
    with tl.specialize():
        with tl.role("math", warps=4, registers=REGISTERS[0]):
            acc = tl.zeros((BM, BN), tl.f32)
            q = ch.cursor()
            for _k in tl.range(steps):
                ch.wait(q)
                acc = tl.gemm(tl.slot(As, q), tl.slot(Bs, q), acc)
                ch.release(q)
                q = ch.advance(q)
            C[by * BM, bx * BN] = acc
        with tl.role("load", warps=LOAD_WARPS, registers=REGISTERS[1]):
            p = ch.cursor()
            for k in tl.range(steps):
                ch.acquire(p)
                tl.copy(A[by * BM, k * BK], tl.slot(As, p))
                tl.copy(B[k * BK, bx * BN], tl.slot(Bs, p))
                ch.commit(p)
                p = ch.advance(p)


@tilews.kernel
def persistent_roles(
    A: tl.Tensor["M, K:16", tl.f16],
    B: tl.Tensor["K, N:16", tl.f16],
    mask: tl.Tensor["MB, KB", tl.i1],
    C: tl.Tensor["M, N:16", tl.f32],
):
    """Guards in persistent loops, which carry the cursors."""
    M, K = A.shape
    N = B.shape[1]
    tl.grid(2)
    As = tl.alloc_shared((BM, BK), A.dtype, versions=3)
    Bs = tl.alloc_shared((BK, BN), B.dtype, versions=3)
    ch = tl.channel([As, Bs], producer="tma")
    with tl.specialize():
        with tl.role("math", warps=4):
            q = ch.cursor()
            for x, y in tl.persistent(tl.cdiv(N, BN), tl.cdiv(M, BM)):
                acc = tl.zeros((BM, BN), tl.f32)
                for k in tl.range(tl.cdiv(K, BK)):
                    if tl.load(mask[y, k]):
                        ch.wait(q)
                        acc = tl.gemm(tl.slot(As, q), tl.slot(Bs, q), acc)
                        ch.release(q)
                        q = ch.advance(q)
                C[y * BM, x * BN] = acc
        with tl.role("load", warps=1):
            p = ch.cursor()
            for x, y in tl.persistent(tl.cdiv(N, BN), tl.cdiv(M, BM)):
                for k in tl.range(tl.cdiv(K, BK)):
                    if tl.load(mask[y, k]):
                        ch.acquire(p)
                        tl.copy(A[y * BM, k * BK], tl.slot(As, p))
                        tl.copy(B[k * BK, x * BN], tl.slot(Bs, p))
                        ch.commit(p)
                        p = ch.advance(p)


def operands(m=136, n=112, k=208):
    random = np.random.default_rng(0)
    a = random.integers(-3, 4, (m, k)).astype(np.float16)
    b = random.integers(-3, 4, (k, n)).astype(np.float16)
    return a, b, np.zeros((m, n), np.float32)
