"""The sums of all elements up to each one, in a single pass over memory.

Blocks wait for each other: each adds its own elements, and looks back at what the
blocks before it have published, 32 of them at a time (Merrill and Garland,
"Single-pass Parallel Prefix Scan with Decoupled Look-back", 2016). Runs on the GPU if
there is one, else on the CPU by the reference interpreter. Compares the result with
numpy.
"""

from typing import Any

import numpy as np

import support
import tilews
import tilews.language as tl

#: How many blocks a block looks at together.
WINDOW = 32
#: What the upper half of a published word says: nothing yet; the lower half is the sum
#: of one block; it is the sum of all elements up to the end of that block.
NOTHING, OWN, ALL = 0, 1, 2


@tilews.func
def publish(kind: int, value: Any, Words: tl.Buffer, place: Any) -> None:
    """Stores a kind and a sum as one word, so that they cannot be torn apart."""
    bits = value.bitcast(tl.i32).to(tl.i64) & 0xFFFFFFFF
    tl.atomic_store((tl.i64(kind) << 32) | bits, Words[place])


@tilews.func
def look_back(Words: tl.Buffer, number: Any) -> Any:
    """The sum of all blocks before a block; waits until it is known."""
    before = tl.f32(0.0)
    first = number
    while first >= 0:
        words = tl.atomic_load(Words[first : first + WINDOW])
        kinds = (words >> 32).to(tl.i32)
        if tl.min(kinds, axis=0) > NOTHING:
            place = tl.arange(0, WINDOW)
            last = tl.max(tl.where(kinds == ALL, place, -1), axis=0)
            sums = (words & 0xFFFFFFFF).to(tl.i32).bitcast(tl.f32)
            before += tl.sum(tl.where(place >= last, sums, 0.0), axis=0)
            first = tl.where(last >= 0, -1, first - WINDOW)
    return before


@tilews.kernel(threads=512)
def prefix_sum(
    X: tl.Tensor["N:16", tl.f32],
    Y: tl.Tensor["N:16", tl.f32],
    Words: tl.Tensor["W", tl.i64],
    Next: tl.Tensor["1", tl.i32],
    BLOCK: tl.constexpr = 16384,
    PARTS: tl.constexpr = 8,
) -> None:
    """Words has WINDOW words of kind ALL and sum 0, and then one for each block.

    A block waits for others with its elements in shared memory, and takes PARTS steps
    to add them. So it needs few registers, and three blocks fit on a multiprocessor
    of Hopper: the memory is busy while some of them wait.
    """
    PART = BLOCK // PARTS
    tl.grid(tl.cdiv(X.shape[0], BLOCK))
    # Blocks take numbers as they start, so that those before have started, too.
    number = tl.atomic_add(1, Next[0])
    Xs = tl.alloc_shared((BLOCK,), tl.f32)
    tl.copy(X[number * BLOCK], Xs)
    sums = tl.zeros((PART,), tl.f32)
    for part in tl.static_range(PARTS):
        sums += tl.load(Xs[part * PART], (PART,))
    total = tl.sum(sums, axis=0)
    publish(OWN, total, Words, number + WINDOW)
    # The words of the blocks before arrive in the meantime.
    local = tl.f32(0.0)
    for part in tl.static_range(PARTS):
        x = tl.load(Xs[part * PART], (PART,))
        Xs[part * PART : (part + 1) * PART] = tl.cumsum(x, axis=0) + local
        local += tl.sum(x, axis=0)

    before = look_back(Words, number)
    publish(ALL, before + total, Words, number + WINDOW)
    for part in tl.static_range(PARTS):
        Y[number * BLOCK + part * PART] = tl.load(Xs[part * PART], (PART,)) + before


def reference(x: np.ndarray) -> np.ndarray:
    """The result in float64."""
    return np.cumsum(x.astype(np.float64))


def example(n: int = 100_000, block: int = 4096) -> list[np.ndarray]:
    """Random arguments: X, an empty Y, and the memory by which blocks wait."""
    x = np.random.default_rng(0).standard_normal(n).astype(np.float32)
    words = np.full(WINDOW + -(-n // block), NOTHING << 32, np.int64)
    words[:WINDOW] = ALL << 32
    return [x, np.zeros_like(x), words, np.zeros(1, np.int32)]


if __name__ == "__main__":
    args = example()
    support.run(prefix_sum, args, BLOCK=4096, PARTS=2)
    # Sums of random signs cancel: the error is relative to the largest one.
    support.report("prefix_sum", args[1], reference(args[0]))
