"""The attention kernel that is measured, and the configurations tried."""

import dataclasses
import functools
from typing import Any

import tilews
import tilews.language as tl

from .kernels import DTYPES


@dataclasses.dataclass(frozen=True)
class AttentionConfig:
    """Queries and keys of a tile, threads of a block, and stages of keys and values.

    `blocks` is the number of persistent blocks, or 0 if each tile has a block."""

    queries: int
    keys: int
    threads: int
    stages: int
    blocks: int = 0

    @property
    def label(self) -> str:
        text = f"{self.queries}x{self.keys} t{self.threads} s{self.stages}"
        return f"{text} b{self.blocks}" if self.blocks else text


CONFIGS = (
    AttentionConfig(128, 128, 256, 2),
    AttentionConfig(128, 64, 256, 3),
    AttentionConfig(192, 128, 384, 2),
    # The multiprocessors of an H100 or H200.
    AttentionConfig(128, 128, 256, 2, 132),
)


@tilews.func
def attend(K, V, Qs, Ks, Vs, place, out, top, total, scale, MASKED):
    """Adds the keys and values of a tile. Returns the sum of weighted values, the
    highest score so far, and the sum of weights; sums are relative to that score."""
    b, h, m, n = place
    QUERIES, KEYS = Qs.shape[0], Ks.shape[0]
    tl.copy(K[b, n : n + KEYS, h, 0:128], Ks)
    none = tl.zeros((QUERIES, KEYS), tl.f32)
    scores = tl.gemm(Qs, Ks, none, transpose_rhs=True, policy="full_row")
    if MASKED:
        rows = tl.iota((QUERIES, KEYS), 0) + m
        columns = tl.iota((QUERIES, KEYS), 1) + n
        scores = tl.where(rows >= columns, scores, -1e30)
    higher = tl.maximum(top, tl.max(scores, axis=1) * scale)
    weights = tl.exp2(scores * scale - higher[:, None])
    factor = tl.exp2(top - higher)
    total = total * factor + tl.sum(weights, axis=1)
    out = out * factor[:, None]
    tl.copy(V[b, n : n + KEYS, h, 0:128], Vs)
    out = tl.gemm(weights.to(Qs.dtype), Vs, out, policy="full_row")
    return out, higher, total


@tilews.func
def tile(Q, K, V, Y, Qs, Ks, Vs, x, h, b, scale, STAGES, CAUSAL):
    """Computes the result for the queries of tile `x` of a head."""
    S = Q.shape[1]
    QUERIES, KEYS = Qs.shape[0], Ks.shape[0]
    m = x * QUERIES
    tl.copy(Q[b, m : m + QUERIES, h, 0:128], Qs)
    out = tl.zeros((QUERIES, 128), tl.f32)
    top = tl.full((QUERIES,), -1e30, tl.f32)
    total = tl.zeros((QUERIES,), tl.f32)
    # Tiles that all queries see need no mask and have a loop of their own.
    seen = m // KEYS if CAUSAL else tl.cdiv(S, KEYS)
    for k in tl.range(seen, num_stages=STAGES):
        place = (b, h, m, k * KEYS)
        out, top, total = attend(K, V, Qs, Ks, Vs, place, out, top, total, scale, False)
    if CAUSAL:
        for k in tl.range(seen, tl.cdiv(m + QUERIES, KEYS), num_stages=STAGES):
            place = (b, h, m, k * KEYS)
            out, top, total = attend(
                K, V, Qs, Ks, Vs, place, out, top, total, scale, True
            )
    Y[b, m : m + QUERIES, h, 0:128] = (out * (1.0 / total)[:, None]).to(Y.dtype)


@functools.cache
def attention_kernel(persistent: bool) -> Any:
    """The kernel of softmax(Q @ K.T * scale) @ V with a running maximum.

    It computes powers of two: `scale` has the factor log2(e). S is a multiple of KEYS.

    Args:
        persistent: whether ``BLOCKS`` persistent blocks compute the tiles.
    """

    @tilews.kernel(threads=256)
    def attention(
        Q: tl.Tensor["B, S, H, 128", "T"],
        K: tl.Tensor["B, S, H, 128", "T"],
        V: tl.Tensor["B, S, H, 128", "T"],
        Y: tl.Tensor["B, S, H, 128", "T"],
        scale: tl.f32,
        QUERIES: tl.constexpr,
        KEYS: tl.constexpr,
        STAGES: tl.constexpr,
        CAUSAL: tl.constexpr,
        BLOCKS: tl.constexpr,
    ):
        B, S, H, _D = Q.shape
        Qs = tl.alloc_shared((QUERIES, 128), Q.dtype)
        Ks = tl.alloc_shared((KEYS, 128), Q.dtype)
        Vs = tl.alloc_shared((KEYS, 128), Q.dtype)
        tiles = tl.cdiv(S, QUERIES)
        if persistent:
            tl.grid(BLOCKS)
            for x, h, b in tl.persistent(tiles, H, B):
                # Later queries have more keys. Every other head starts with the last
                # queries, so that blocks have equal shares.
                if CAUSAL:
                    x = tl.where(h % 2 == 0, x, tiles - 1 - x)
                tile(Q, K, V, Y, Qs, Ks, Vs, x, h, b, scale, STAGES, CAUSAL)
        else:
            x, h, b = tl.grid(tiles, H, B)
            # Tiles with the most work come first, so that the last ones end early.
            if CAUSAL:
                x = tiles - 1 - x
            tile(Q, K, V, Y, Qs, Ks, Vs, x, h, b, scale, STAGES, CAUSAL)

    return attention


def attention_bindings(
    dtype: str, causal: bool, config: AttentionConfig
) -> dict[str, Any]:
    """The arguments of ``Kernel.compile`` for an attention."""
    return {
        "T": DTYPES[dtype],
        "QUERIES": config.queries,
        "KEYS": config.keys,
        "STAGES": config.stages,
        "CAUSAL": causal,
        "BLOCKS": config.blocks,
        "threads": config.threads,
    }


def compile_attention(
    target: str, dtype: str, causal: bool, config: AttentionConfig
) -> Any:
    """A compiled kernel for heads of 128 elements."""
    kernel = attention_kernel(config.blocks > 0)
    return kernel.compile(target, **attention_bindings(dtype, causal, config))
