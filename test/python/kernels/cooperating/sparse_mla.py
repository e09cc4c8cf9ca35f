"""Multi-head latent attention over chosen rows of the cache, with roles by hand.

Each row of the cache holds 512 numbers, which are keys and values, and 64 more of keys
(DeepSeek-AI, "DeepSeek-V2", 2024, section 2.1). One role gathers the rows, one computes
the probabilities and the left half of the output, and one the right half.
"""

import numpy as np

import tilews
import tilews.language as tl

HEADS, HALF, ROPE, ROWS = 64, 256, 64, 64
WIDTH = 2 * HALF + ROPE


@tilews.func
def compute_left(steps, scale, queries, parts, rows, shared, probs, Sums, sums, Out):
    """The probabilities, their sums, and the left half of the output."""
    read, filled = rows.cursor(), probs.cursor()
    acc = tl.zeros((HEADS, HALF), tl.f32)
    top = tl.full((HEADS,), -1e30, tl.f32)
    total = tl.zeros((HEADS,), tl.f32)
    for _ in tl.range(steps):
        rows.wait(read)
        scores = tl.zeros((HEADS, ROWS), tl.f32)
        for query, part in zip(queries, parts, strict=True):
            scores = tl.gemm(query, tl.slot(part, read), scores, transpose_rhs=True)
        highest = tl.maximum(top, tl.max(scores, axis=1) * scale)
        decay = tl.exp2(top - highest)
        top = highest
        prob = tl.exp2(scores * scale - highest[:, None])
        total = total * decay + tl.sum(prob, axis=1)
        rounded = prob.to(tl.f16)
        probs.acquire(filled)
        tl.store(rounded, tl.slot(shared[0], filled))
        tl.store(decay, tl.slot(shared[1], filled))
        probs.commit(filled)
        filled = probs.advance(filled)
        acc = tl.gemm(rounded, tl.slot(parts[0], read), acc * decay[:, None])
        rows.release(read)
        read = rows.advance(read)
    last = sums.cursor()
    sums.acquire(last)
    tl.store(total, tl.slot(Sums, last))
    sums.commit(last)
    tl.store((acc / total[:, None]).to(tl.f16), Out)


@tilews.func
def compute_right(steps, part, rows, shared, probs, Sums, sums, Out):
    """The right half of the output."""
    read, found = rows.cursor(), probs.cursor()
    acc = tl.zeros((HEADS, HALF), tl.f32)
    for _ in tl.range(steps):
        rows.wait(read)
        probs.wait(found)
        decay = tl.load(tl.slot(shared[1], found))
        prob = tl.slot(shared[0], found)
        acc = tl.gemm(prob, tl.slot(part, read), acc * decay[:, None])
        probs.release(found)
        found = probs.advance(found)
        rows.release(read)
        read = rows.advance(read)
    last = sums.cursor()
    sums.wait(last)
    total = tl.load(tl.slot(Sums, last))
    tl.store((acc / total[:, None]).to(tl.f16), Out)
    sums.release(last)


@tilews.kernel
def sparse_mla(
    Q: tl.Tensor["T, 64, 576", tl.f16],
    Cache: tl.Tensor["N, 576", tl.f16],
    Ids: tl.Tensor["T, S:64", tl.i32],
    Out: tl.Tensor["T, 64, 512", tl.f16],
    scale: tl.f32,
):
    """``scale`` includes log2(e)."""
    token = tl.grid(Q.shape[0])
    steps = Ids.shape[1] // ROWS
    widths = (HALF, HALF, ROPE)
    queries = [tl.alloc_shared((HEADS, w), tl.f16) for w in widths]
    parts = [tl.alloc_shared((ROWS, w), tl.f16, versions=2) for w in widths]
    Probs = tl.alloc_shared((HEADS, ROWS), tl.f16, versions=1)
    Decays = tl.alloc_shared((HEADS,), tl.f32, versions=1)
    Sums = tl.alloc_shared((HEADS,), tl.f32, versions=1)
    rows = tl.channel(parts, producer="cp_async")
    probs = tl.channel([Probs, Decays], producer="simt")
    sums = tl.channel(Sums, producer="simt")
    shared = [Probs, Decays]
    tl.copy(Q[token, :, 0:256], queries[0])
    tl.copy(Q[token, :, 256:512], queries[1])
    tl.copy(Q[token, :, 512:576], queries[2])
    with tl.specialize():
        with tl.role("left", warps=4):
            left = Out[token, :, 0:256]
            compute_left(
                steps, scale, queries, parts, rows, shared, probs, Sums, sums, left
            )
        with tl.role("right", warps=4):
            right = Out[token, :, 256:512]
            compute_right(steps, parts[1], rows, shared, probs, Sums, sums, right)
        with tl.role("gather", warps=4):
            write = rows.cursor()
            for step in tl.range(steps):
                ids = tl.load(Ids[token, step * ROWS], (ROWS,))
                rows.acquire(write)
                tl.copy(Cache[ids, 0:256], tl.slot(parts[0], write))
                tl.copy(Cache[ids, 256:512], tl.slot(parts[1], write))
                tl.copy(Cache[ids, 512:576], tl.slot(parts[2], write))
                rows.commit(write)
                write = rows.advance(write)


def reference(q, cache, ids, scale):
    """The output in float64."""
    rows = cache[ids].astype(np.float64)
    scores = np.einsum("thw,tsw->ths", q.astype(np.float64), rows) * scale
    probs = np.exp2(scores - scores.max(-1, keepdims=True))
    return np.einsum("ths,tsw->thw", probs, rows[:, :, :512]) / probs.sum(-1)[..., None]
