"""How often each byte occurs.

Each block counts in shared memory, in one row of sums for each of its warps, so
that warps seldom wait for each other. Then it adds its counts to those of all blocks.
Runs on the GPU if there is one, else on the CPU by the reference interpreter. Compares
the result with numpy.
"""

import numpy as np

import support
import tilews
import tilews.language as tl


@tilews.kernel(threads=256)
def histogram(
    X: tl.Tensor["N:16", tl.i8],
    Counts: tl.Tensor["256", tl.i32],
    BLOCKS: tl.constexpr = 528,
    TILE: tl.constexpr = 8192,
) -> None:
    """Counts[b] += the number of elements whose bits are b."""
    block = tl.grid(BLOCKS)
    N = X.shape[0]
    counts = tl.alloc_shared((8, 256), tl.i32)
    tl.store(0, counts[:, :])
    place = tl.arange(TILE)
    # Threads hold 16 neighbors: 512 elements belong to a warp.
    warp = place // 512 % 8
    for tile in tl.range(block, tl.cdiv(N, TILE), BLOCKS):
        x = tl.load(X[tile * TILE], (TILE,)).to(tl.i32) & 255
        tl.atomic_add(1, counts[warp, x], mask=place < (N - tile * TILE).to(tl.i32))
    tl.atomic_add(tl.sum(tl.load(counts), axis=0), Counts[:])


def reference(x: np.ndarray) -> np.ndarray:
    return np.bincount(x.view(np.uint8), minlength=256)


def example(n: int = 50_000) -> list[np.ndarray]:
    """Random bytes, most of them small, and counts of zero."""
    x = np.random.default_rng(0).normal(0, 30, n).astype(np.int8)
    return [x, np.zeros(256, np.int32)]


if __name__ == "__main__":
    args = example()
    support.run(histogram, args, BLOCKS=4)
    support.report("histogram", args[1], reference(args[0]))
