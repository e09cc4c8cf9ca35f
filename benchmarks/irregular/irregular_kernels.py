"""The kernels that are measured, beside those of ``examples/``."""

from typing import Any

import tilews
import tilews.language as tl


@tilews.func
def attend(K, V, Qs, Ks, Vs, place, out, top, total, scale, MASKED):
    """Adds the keys and values of a tile, those before `end`. Returns the sum of
    weighted values, the highest score so far, and the sum of weights."""
    h, first, end = place
    QUERIES, KEYS = Qs.shape[0], Ks.shape[0]
    tl.copy(K[first:end, h, 0:128], Ks)
    none = tl.zeros((QUERIES, KEYS), tl.f32)
    scores = tl.gemm(Qs, Ks, none, transpose_rhs=True, policy="full_row")
    if MASKED:
        keys = tl.iota((QUERIES, KEYS), 1) + first
        scores = tl.where(keys < end, scores, -1e30)
    higher = tl.maximum(top, tl.max(scores, axis=1) * scale)
    weights = tl.exp2(scores * scale - higher[:, None])
    factor = tl.exp2(top - higher)
    total = total * factor + tl.sum(weights, axis=1)
    out = out * factor[:, None]
    tl.copy(V[first:end, h, 0:128], Vs)
    out = tl.gemm(weights.to(Qs.dtype), Vs, out, policy="full_row")
    return out, higher, total


@tilews.kernel(threads=256)
def sequence_attention(
    Q: tl.Tensor["T, H, 128", tl.f16],
    K: tl.Tensor["T, H, 128", tl.f16],
    V: tl.Tensor["T, H, 128", tl.f16],
    Start: tl.Tensor["S", tl.i32],
    Y: tl.Tensor["T, H, 128", tl.f16],
    longest: tl.i32,
    scale: tl.f32,
    QUERIES: tl.constexpr = 128,
    KEYS: tl.constexpr = 128,
    STAGES: tl.constexpr = 2,
):
    """Attention of each sequence, the rows Start[b] to Start[b + 1], to itself.

    It computes powers of two: `scale` has the factor log2(e).
    """
    x, h, b = tl.grid(tl.cdiv(longest, QUERIES), Q.shape[1], Start.shape[0] - 1)
    begin, end = tl.load(Start[b]), tl.load(Start[b + 1])
    m = begin + x * QUERIES
    if m < end:
        Qs = tl.alloc_shared((QUERIES, 128), Q.dtype)
        Ks = tl.alloc_shared((KEYS, 128), Q.dtype)
        Vs = tl.alloc_shared((KEYS, 128), Q.dtype)
        tl.copy(Q[m:end, h, 0:128], Qs)
        out = tl.zeros((QUERIES, 128), tl.f32)
        top = tl.full((QUERIES,), -1e30, tl.f32)
        total = tl.zeros((QUERIES,), tl.f32)
        # Only the last tile of keys may reach into the next sequence.
        whole = (end - begin) // KEYS
        for k in tl.range(whole, num_stages=STAGES):
            place = (h, begin + k * KEYS, end)
            out, top, total = attend(
                K, V, Qs, Ks, Vs, place, out, top, total, scale, False
            )
        for k in tl.range(whole, tl.cdiv(end - begin, KEYS), num_stages=STAGES):
            place = (h, begin + k * KEYS, end)
            out, top, total = attend(
                K, V, Qs, Ks, Vs, place, out, top, total, scale, True
            )
        Y[m:end, h, 0:128] = (out * (1.0 / total)[:, None]).to(Y.dtype)


@tilews.kernel(threads=256)
def expert_matmul(
    X: tl.Tensor["T, K:64", tl.f16],
    W: tl.Tensor["E, N:64, K:64", tl.f16],
    Rows: tl.Tensor["M", tl.i32],
    Expert: tl.Tensor["B", tl.i32],
    Y: tl.Tensor["M, N:64", tl.f16],
    GATHER: tl.constexpr,
    BM: tl.constexpr = 128,
    BN: tl.constexpr = 256,
    BK: tl.constexpr = 64,
    STAGES: tl.constexpr = 4,
):
    """Y[m] = X[Rows[m]] @ W[e].T with the expert e of each tile of BM rows; without
    `GATHER`, of the rows X[m]."""
    bn, bm = tl.grid(tl.cdiv(Y.shape[1], BN), tl.cdiv(Y.shape[0], BM))
    tl.use_swizzle(8)
    e = tl.load(Expert[bm])
    Xs = tl.alloc_shared((BM, BK), tl.f16)
    Ws = tl.alloc_shared((BN, BK), tl.f16)
    acc = tl.zeros((BM, BN), tl.f32)
    if GATHER:
        rows = tl.load(Rows[bm * BM], (BM,), pad=-1)
    for k in tl.range(tl.cdiv(X.shape[1], BK), num_stages=STAGES):
        if GATHER:
            tl.copy(X[rows, k * BK : k * BK + BK], Xs)
        else:
            tl.copy(X[bm * BM, k * BK], Xs)
        tl.copy(W[e, bn * BN : bn * BN + BN, k * BK : k * BK + BK], Ws)
        acc = tl.gemm(Xs, Ws, acc, transpose_rhs=True)
    Y[bm * BM, bn * BN] = acc.to(tl.f16)


#: Queries, keys, stages and threads of attention.
ATTENTION = ((128, 128, 2, 256), (128, 64, 3, 256), (192, 128, 2, 384))
#: Threads and elements of a block of the scan, and the steps to add them. In a step
#: each thread adds the 16 bytes of one access.
SCANS = ((256, 9216, 9), (384, 13824, 9), (512, 16384, 8), (512, 18432, 9))


def compile_all(target: str, examples: dict[str, Any]) -> dict[Any, Any]:
    """All kernels by their name and their configuration.

    Args:
        target: a chip.
        examples: ``histogram``, ``topk`` and ``prefix_sum`` of the examples.
    """
    from ..attention_kernels import AttentionConfig, compile_attention

    found: dict[Any, Any] = {}
    for config in ATTENTION:
        queries, keys, stages, threads = config
        found["sequences", config] = sequence_attention.compile(
            target, QUERIES=queries, KEYS=keys, STAGES=stages, threads=threads
        )
        fixed = AttentionConfig(queries, keys, threads, stages)
        found["padded", config] = compile_attention(target, "f16", False, fixed)
    for gather in (True, False):
        found["experts", gather] = expert_matmul.compile(target, GATHER=gather)
    found["histogram", ()] = examples["histogram"].compile(target)
    for k in (16, 64, 256):
        found["topk", k] = examples["topk"].compile(target, K=k)
    for threads, block, parts in SCANS:
        found["scan", (threads, block, parts)] = examples["prefix_sum"].compile(
            target, BLOCK=block, PARTS=parts, threads=threads
        )
    return found
