"""The softmax of each row of a matrix.

Runs on the GPU if there is one, else on the CPU by the reference interpreter. Compares
the result with numpy.
"""

import math

import numpy as np

import support
import tilews
import tilews.language as tl


@tilews.kernel(threads=128)
def softmax(
    X: tl.Tensor["M, N:4", tl.f32],
    Y: tl.Tensor["M, N:4", tl.f32],
    COLUMNS: tl.constexpr = 1024,
) -> None:
    """Each block computes a row, in tiles of COLUMNS elements."""
    M, N = X.shape
    row = tl.grid(M)
    # The running maximum, and the sum of the exponentials relative to it.
    top = tl.full((1, 1), -math.inf, tl.f32)
    total = tl.zeros((1, 1), tl.f32)
    for j in tl.range(tl.cdiv(N, COLUMNS)):
        x = tl.load(X[row, j * COLUMNS], (1, COLUMNS), pad=-math.inf)
        higher = tl.maximum(top, tl.max(x, 1, keepdims=True))
        total = total * tl.exp(top - higher) + tl.sum(
            tl.exp(x - higher), 1, keepdims=True
        )
        top = higher
    for j in tl.range(tl.cdiv(N, COLUMNS)):
        x = tl.load(X[row, j * COLUMNS], (1, COLUMNS))
        Y[row, j * COLUMNS] = tl.exp(x - top) / total


def reference(x: np.ndarray) -> np.ndarray:
    """The result in float64."""
    x = x.astype(np.float64)
    e = np.exp(x - x.max(1, keepdims=True))
    expected: np.ndarray = e / e.sum(1, keepdims=True)
    return expected


def example(m: int = 37, n: int = 2500) -> list[np.ndarray]:
    """Random arguments: X and an empty Y."""
    x = 4 * np.random.default_rng(0).standard_normal((m, n)).astype(np.float32)
    return [x, np.zeros_like(x)]


if __name__ == "__main__":
    args = example()
    support.run(softmax, args)
    support.report("softmax", args[-1], reference(*args[:-1]))
