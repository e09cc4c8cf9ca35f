"""Attention, forward: softmax(Q @ K.T / sqrt(D)) @ V, causal or not.

Keys and values pass through shared memory in tiles, in a software pipeline; the
weights stay in registers, relative to the highest score so far (Milakov and
Gimelshein, "Online normalizer calculation for softmax", 2018).
"""

import math

import numpy as np

import support
import tilews
import tilews.language as tl


@tilews.kernel(threads=128)
def attention(
    Q: tl.Tensor["B, S, H, D:8", "T"],
    K: tl.Tensor["B, L, H, D2:8", "T"],
    V: tl.Tensor["B, L, H, D3:8", "T"],
    Y: tl.Tensor["B, S, H, D4:8", "T"],
    causal: tl.constexpr,
    DEPTH: tl.constexpr = 64,
    QUERIES: tl.constexpr = 64,
    KEYS: tl.constexpr = 64,
) -> None:
    B, S, H, _ = Q.shape
    L = K.shape[1]
    x, h, b = tl.grid(tl.cdiv(S, QUERIES), H, B)
    m = x * QUERIES
    scale = math.log2(math.e) / math.sqrt(DEPTH)  # the hardware computes powers of two
    Qs = tl.alloc_shared((QUERIES, DEPTH), Q.dtype)
    Ks = tl.alloc_shared((KEYS, DEPTH), K.dtype)
    Vs = tl.alloc_shared((KEYS, DEPTH), V.dtype)
    tl.copy(Q[b, m : m + QUERIES, h, 0:DEPTH], Qs)
    rows = tl.iota((QUERIES, KEYS), 0) + m
    columns = tl.iota((QUERIES, KEYS), 1)
    out = tl.zeros((QUERIES, DEPTH), tl.f32)
    top = tl.full((QUERIES,), -1e30, tl.f32)
    total = tl.zeros((QUERIES,), tl.f32)
    tiles = tl.cdiv(L, KEYS)
    if causal:
        tiles = tl.minimum(tiles, tl.cdiv(m + QUERIES, KEYS))
    for k in tl.range(tiles, num_stages=2):
        n = k * KEYS
        tl.copy(K[b, n : n + KEYS, h, 0:DEPTH], Ks)
        none = tl.zeros((QUERIES, KEYS), tl.f32)
        scores = tl.gemm(Qs, Ks, none, transpose_rhs=True, policy="full_row")
        # Keys after the end, and in the future, have no weight.
        visible = columns + n < L
        if causal:
            visible = visible & (columns + n <= rows)
        scores = tl.where(visible, scores * scale, -1e30)
        higher = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp2(scores - higher[:, None])
        factor = tl.exp2(top - higher)
        total = total * factor + tl.sum(weights, axis=1)
        tl.copy(V[b, n : n + KEYS, h, 0:DEPTH], Vs)
        out = tl.gemm(weights.to(Q.dtype), Vs, out * factor[:, None], policy="full_row")
        top = higher
    Y[b, m : m + QUERIES, h, 0:DEPTH] = (out / total[:, None]).to(Y.dtype)


def reference(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, *, causal: bool
) -> np.ndarray:
    """The result in float64."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    scores = np.einsum("bshd,blhd->bhsl", q, k) / math.sqrt(q.shape[-1])
    if causal:
        future = np.triu(np.ones(scores.shape[-2:], bool), 1)
        scores = np.where(future, -np.inf, scores)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    expected: np.ndarray = np.einsum("bhsl,blhd->bshd", weights, v)
    return expected


def example(length: int = 200, heads: int = 2) -> list[np.ndarray]:
    """Random queries, keys and values, and an empty result: (1, length, heads, 64)."""
    random = np.random.default_rng(0)
    shape = (1, length, heads, 64)
    arrays = [random.standard_normal(shape).astype(np.float16) for _ in range(3)]
    return [*arrays, np.zeros(shape, np.float16)]


if __name__ == "__main__":
    args = example()
    for causal in (False, True):
        support.run(attention, args, causal=causal)
        name = "causal attention" if causal else "attention"
        support.report(name, args[-1], reference(*args[:-1], causal=causal))
