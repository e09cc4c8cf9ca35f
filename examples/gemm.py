"""A matmul with a fused epilogue: C = activation(A @ B.T + bias).

Runs on the GPU if there is one, else on the CPU by the reference interpreter. Compares
the result with numpy.
"""

import math
from typing import Any

import numpy as np

import support
import tilews
import tilews.language as tl


@tilews.func
def gelu(x: Any) -> Any:
    return 0.5 * x * (1.0 + tl.erf(x * (1 / math.sqrt(2))))


@tilews.func
def relu(x: Any) -> Any:
    return tl.maximum(x, 0.0)


@tilews.kernel(threads=256)
def gemm(
    A: tl.Tensor["M, K:8", "T"],
    B: tl.Tensor["N, K:8", "T"],
    bias: tl.Tensor["N:8", tl.f32],
    C: tl.Tensor["M, N:8", "T"],
    activation: tl.constexpr = relu,
    BM: tl.constexpr = 128,
    BN: tl.constexpr = 128,
    BK: tl.constexpr = 64,
) -> None:
    M, K = A.shape
    N = B.shape[0]
    bx, by = tl.grid(tl.cdiv(N, BN), tl.cdiv(M, BM))
    tl.rasterize("row", panel=8)
    As = tl.alloc_shared((BM, BK), A.dtype)
    Bs = tl.alloc_shared((BN, BK), B.dtype)
    acc = tl.zeros((BM, BN), tl.f32)
    for k in tl.range(tl.cdiv(K, BK), num_stages=3):
        tl.copy(A[by * BM, k * BK], As)
        tl.copy(B[bx * BN, k * BK], Bs)
        acc = tl.gemm(As, Bs, acc, transpose_rhs=True)
    columns = tl.load(bias[bx * BN], (BN,))
    C[by * BM, bx * BN] = activation(acc + columns).to(C.dtype)


def reference(a: np.ndarray, b: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """The result in float64."""
    result = a.astype(np.float64) @ b.astype(np.float64).T + bias
    expected: np.ndarray = np.maximum(result, 0)
    return expected


def example(m: int = 200, n: int = 328, k: int = 264) -> list[np.ndarray]:
    """Random arguments: A, B, bias and an empty C."""
    random = np.random.default_rng(0)
    a = random.standard_normal((m, k)).astype(np.float16)
    b = random.standard_normal((n, k)).astype(np.float16)
    bias = random.standard_normal(n).astype(np.float32)
    return [a, b, bias, np.zeros((m, n), np.float16)]


if __name__ == "__main__":
    args = example()
    support.run(gemm, args)
    support.report("gemm", args[-1], reference(*args[:-1]))
