"""The k largest elements of each row, and their places, in descending order.

A block selects the elements of a row by their bits, 11 at a time (radix select). It
counts how many candidates have each digit, and keeps those above the digit of the k-th
largest. It goes on with those that have this digit. Only the k that are left are
sorted. Runs on the GPU if there is one, else on the CPU by the reference interpreter.
Compares the result with numpy.
"""

import numpy as np

import support
import tilews
import tilews.language as tl


@tilews.kernel(threads=256)
def topk(
    X: tl.Tensor["M, N", tl.f32],
    Values: tl.Tensor["M, K", tl.f32],
    Places: tl.Tensor["M, K", tl.i32],
    K: tl.constexpr = 64,
    COLUMNS: tl.constexpr = 8192,
) -> None:
    """K is a power of two, and N is from K to COLUMNS. Of equal elements, the first are
    taken; NaN is larger than all numbers."""
    row = tl.grid(X.shape[0])
    place = tl.arange(COLUMNS)
    candidate = place < X.shape[1]
    x = tl.load(X[row, 0], (COLUMNS,))
    bits = x.bitcast(tl.i32)
    # Integers without a sign that have the order of the elements.
    key = tl.where(bits < 0, ~bits, bits ^ tl.i32(-(2**31)))

    taken = place < 0
    wanted = tl.i32(K)
    counts = tl.alloc_shared((2048,), tl.i32)
    digits = tl.arange(2048)
    for shift in (21, 10, 0):
        digit = tl.ushr(key, shift) & (2047 if shift else 1023)
        tl.store(0, counts[:])
        tl.atomic_add(1, counts[digit], mask=candidate)
        at_least = tl.cumsum(tl.load(counts), axis=0, reverse=True)
        last = tl.max(tl.where(at_least >= wanted, digits, 0), axis=0)
        taken = taken | (candidate & (digit > last))
        candidate = candidate & (digit == last)
        wanted -= tl.max(tl.where(digits > last, at_least, 0), axis=0)

    # The candidates that are left are equal. Both ranks are sums, in one word.
    ranks = tl.cumsum(taken.to(tl.i32) + (candidate.to(tl.i32) << 16), axis=0)
    tie = ranks >> 16
    slot = tl.where(taken, ranks & 0xFFFF, K - wanted + tie) - 1
    taken = taken | (candidate & (tie <= wanted))
    values, places = tl.alloc_shared((K,), tl.f32), tl.alloc_shared((K,), tl.i32)
    tl.store(x, values[slot], mask=taken)
    tl.store(place, places[slot], mask=taken)
    ordered, order = tl.argsort(tl.load(values, (K,)), descending=True)
    Values[row, 0:K] = ordered
    Places[row, 0:K] = tl.load(places[order])


def reference(x: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    places = np.argsort(-x, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(x, places, axis=1), places


def example(m: int = 4, n: int = 1000, k: int = 64) -> list[np.ndarray]:
    """Random rows, some of them with many equal elements."""
    x = np.random.default_rng(0).standard_normal((m, n)).astype(np.float32)
    x[1] = np.round(x[1])
    x[2] = 0.5
    return [x, np.zeros((m, k), np.float32), np.zeros((m, k), np.int32)]


if __name__ == "__main__":
    args = example()
    support.run(topk, args, COLUMNS=1024)
    values, places = reference(args[0], 64)
    support.report("topk values", args[1], values)
    support.report("topk places", args[2], places)
