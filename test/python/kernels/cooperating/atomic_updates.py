"""Kernels with atomic updates, some of whose blocks wait for each other."""

import numpy as np

import tilews
import tilews.language as tl

#: Updates of the language, with what they compute from the old and the new value.
UPDATES = {
    "add": (tl.atomic_add, np.add),
    "max": (tl.atomic_max, np.maximum),
    "min": (tl.atomic_min, np.minimum),
    "and": (tl.atomic_and, np.bitwise_and),
    "or": (tl.atomic_or, np.bitwise_or),
    "xor": (tl.atomic_xor, np.bitwise_xor),
    "exchange": (tl.atomic_exchange, lambda old, new: new),
}


@tilews.kernel(threads=64)
def update(
    X: tl.Tensor["M, N", "T"],
    Y: tl.Tensor["M, N", "T"],
    Old: tl.Tensor["8, 16", "T"],
    F: tl.constexpr,
):
    """Updates Y by X, and stores the old values."""
    tl.grid(1)
    Old[0:8, 0:16] = F(tl.load(X[0, 0], (8, 16)), Y[0:8, 0:16])


@tilews.kernel(threads=64)
def swap(
    E: tl.Tensor["32", "T"],
    X: tl.Tensor["32", "T"],
    Y: tl.Tensor["32", "T"],
    Old: tl.Tensor["32", "T"],
):
    """Replaces the elements of Y that are those of E by those of X."""
    tl.grid(1)
    Old[0:32] = tl.atomic_cas(tl.load(E[0:32]), tl.load(X[0:32]), Y[0:32])


@tilews.kernel(threads=64)
def scalars(C: tl.Tensor["4", tl.i32], Old: tl.Tensor["4", tl.i32]):
    """Updates of single elements, in several orders and scopes."""
    tl.grid(1)
    tl.store(tl.atomic_add(5, C[0]), Old[0])
    tl.store(tl.atomic_add(5, C[0], order="acq_rel", scope="system"), Old[1])
    tl.store(tl.atomic_cas(3, 9, C[2]), Old[2])
    tl.fence()
    tl.store(tl.atomic_load(C[1], order="acquire", scope="block"), Old[3])


@tilews.kernel(threads=64)
def in_shared_memory(X: tl.Tensor["256", tl.i32], Count: tl.Tensor["16", tl.i32]):
    """A histogram of the lowest four bits: one element at a time, in shared memory."""
    tl.grid(1)
    counts = tl.alloc_shared((16,), tl.i32)
    counts[0:16] = tl.zeros((16,), tl.i32)
    for i in tl.range(256):
        tl.atomic_add(1, counts[tl.load(X[i]) & 15])
    Count[0:16] = tl.load(counts)


@tilews.kernel(threads=128)
def tickets(Next: tl.Tensor["1", tl.i32], Order: tl.Tensor["N", tl.i32]):
    """Each block takes a number, and stores its own at that place."""
    block = tl.grid(Order.shape[0])
    number = tl.atomic_add(1, Next[0])
    tl.store(block + 1, Order[number])


@tilews.kernel(threads=128)
def locked_sum(
    Lock: tl.Tensor["1", tl.i32],
    X: tl.Tensor["N, 256", tl.i32],
    Sum: tl.Tensor["256", tl.i32],
):
    """Each block adds a row to the sum, without atomics on it, under a lock."""
    block = tl.grid(X.shape[0])
    while tl.atomic_cas(0, 1, Lock[0], order="acquire") != 0:
        pass
    Sum[0:256] = tl.load(Sum[0:256]) + tl.load(X[block, 0:256])
    tl.atomic_store(0, Lock[0], order="release")


@tilews.kernel(threads=128)
def lookback_scan(
    X: tl.Tensor["N", tl.i32],
    Y: tl.Tensor["N", tl.i32],
    State: tl.Tensor["B, 3", tl.i32],
    Next: tl.Tensor["1", tl.i32],
    BLOCK: tl.constexpr,
):
    """Inclusive sums in one pass: blocks look back at the sums of those before them.

    ``State[b]`` is 0 at first; 1 and the sum of block b's elements; or 2 and, in the
    third place, the sum of all elements up to its last one.
    """
    tl.grid(tl.cdiv(X.shape[0], BLOCK))
    number = tl.atomic_add(1, Next[0])
    x = tl.load(X[number * BLOCK], (BLOCK,))
    total = tl.sum(x, axis=0)
    if number > 0:
        tl.store(total, State[number, 1])
        tl.atomic_store(1, State[number, 0], order="release")
    before = 0
    other = number - 1
    while other >= 0:
        flag = tl.atomic_load(State[other, 0], order="acquire")
        if flag == 2:
            before += tl.load(State[other, 2])
            other = -1
        elif flag == 1:
            before += tl.load(State[other, 1])
            other -= 1
    Y[number * BLOCK] = tl.cumsum(x, axis=0) + before
    tl.store(before + total, State[number, 2])
    tl.atomic_store(2, State[number, 0], order="release")


@tilews.kernel(threads=128)
def grid_barrier(
    Arrived: tl.Tensor["1", tl.i32],
    X: tl.Tensor["B, 128", tl.f32],
    Y: tl.Tensor["B, 128", tl.f32],
):
    """Each block writes a row; after all have, each reads the row of its neighbor."""
    blocks = X.shape[0]
    block = tl.grid(blocks)
    Y[block, 0:128] = tl.load(X[block, 0:128]) * 2
    tl.atomic_add(1, Arrived[0], order="release")
    while tl.load(Arrived[0]) < blocks:
        pass
    neighbor = (block + 1) % blocks
    row = tl.load(Y[neighbor, 0:128])
    tl.atomic_add(1, Arrived[0], order="release")
    while tl.load(Arrived[0]) < 2 * blocks:
        pass
    Y[block, 0:128] = row
