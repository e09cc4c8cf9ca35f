"""A matmul that skips blocks: C[i, j] sums A[i, k] @ B[k, j] where MASK[i, j, k].

A guard around copies is a part of the pipeline. The producer evaluates it for the
copies of an iteration, several stages ahead, and the consumer for the matmul. Cursors
advance only where a tile was copied. Blocks of threads are persistent.
"""

import numpy as np

import support
import tilews
import tilews.language as tl


@tilews.kernel(threads=128)
def block_sparse(
    A: tl.Tensor["M, K:64", "T"],
    B: tl.Tensor["K, N:64", "T"],
    MASK: tl.Tensor["MB, NB, KB", tl.i1],
    C: tl.Tensor["M, N:64", "T"],
    BLOCK: tl.constexpr = 64,
    BLOCKS: tl.constexpr = 132,
) -> None:
    M, K = A.shape
    N = B.shape[1]
    tl.grid(BLOCKS)
    As = tl.alloc_shared((BLOCK, BLOCK), A.dtype)
    Bs = tl.alloc_shared((BLOCK, BLOCK), B.dtype)
    for x, y in tl.persistent(tl.cdiv(N, BLOCK), tl.cdiv(M, BLOCK)):
        acc = tl.zeros((BLOCK, BLOCK), tl.f32)
        for k in tl.range(tl.cdiv(K, BLOCK), num_stages=4):
            if tl.load(MASK[y, x, k]):
                tl.copy(A[y * BLOCK, k * BLOCK], As)
                tl.copy(B[k * BLOCK, x * BLOCK], Bs)
                acc = tl.gemm(As, Bs, acc)
        C[y * BLOCK, x * BLOCK] = acc.to(C.dtype)


def reference(a: np.ndarray, b: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The result in float64."""
    rows, columns, steps = mask.shape
    left = a.astype(np.float64).reshape(rows, 64, steps, 64)
    right = b.astype(np.float64).reshape(steps, 64, columns, 64)
    result: np.ndarray = np.einsum(
        "ijk,iakb,kbjc->iajc", mask, left, right, optimize=True
    )
    return result.reshape(rows * 64, columns * 64)


def example(blocks: tuple[int, int, int] = (3, 4, 7)) -> list[np.ndarray]:
    """Random A, B and a mask with half of the blocks, and an empty C; `blocks` of 64
    are their extents M, N and K."""
    random = np.random.default_rng(0)
    m, n, k = (64 * extent for extent in blocks)
    a = random.standard_normal((m, k)).astype(np.float16)
    b = random.standard_normal((k, n)).astype(np.float16)
    return [a, b, random.random(blocks) < 0.5, np.zeros((m, n), np.float16)]


if __name__ == "__main__":
    args = example()
    support.run(block_sparse, args)
    support.report("block_sparse", args[-1], reference(*args[:-1]))
