"""Kernels whose calls C++ does by a plan, and their tensors."""

import tilews
import tilews.language as tl
from benchmarks.host_time.fake_device import ExchangedTensor

STEP = 2.0


def make():
    """A new kernel, of which nothing was called."""

    @tilews.kernel
    def scale(
        X: tl.Tensor["M, N", "T"],
        Y: tl.Tensor["M, N", "T"],
        Bias: tl.Tensor["N", "T"] | None,
        factor: tl.f32,
        rows: tl.i32,
        B: tl.constexpr = 64,
    ):
        i = tl.grid(tl.cdiv(rows * 3, 2) - tl.cdiv(rows, 2))
        x = tl.load(X[i, 0], (B,)).to(tl.f32) * factor * STEP
        if Bias is not None:
            x += tl.load(Bias[0], (B,)).to(tl.f32)
        Y[i, 0] = x.to(Y.dtype)

    return scale


def make_matmul(cluster=None):
    @tilews.kernel(threads=128, cluster=cluster)
    def product(
        A: tl.Tensor["M, K", "T"], B: tl.Tensor["N, K", "T"], C: tl.Tensor["M, N", "T"]
    ):
        M, K = A.shape
        N = B.shape[0]
        x, y = tl.grid(tl.cdiv(N, 64), tl.cdiv(M, 64))
        As, Bs = tl.alloc_shared((64, 64), A.dtype), tl.alloc_shared((64, 64), B.dtype)
        acc = tl.zeros((64, 64), tl.f32)
        for k in tl.range(tl.cdiv(K, 64), num_stages=2):
            tl.copy(A[y * 64, k * 64], As)
            tl.copy(B[x * 64, k * 64], Bs)
            acc = tl.gemm(As, Bs, acc, transpose_rhs=True)
        C[y * 64, x * 64] = acc.to(C.dtype)

    return product


def same_call(driver, kernel, *args, **options):
    """Makes a call twice, by a plan in C++ and in Python's own way."""
    before = len(driver.native)
    kernel(*args, **options)
    assert len(driver.native) == before + 1, "Python launched"
    kernel._call_anew(*args, **options)
    assert len(driver.native) == before + 1
    ours, theirs = driver.launches[-2:]
    assert ours == theirs
    return ours


def tensors(count=2, shape=(8, 64), **options):
    return [ExchangedTensor(shape, **options) for _ in range(count)]
