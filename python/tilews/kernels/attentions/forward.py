"""Attention of all queries of sequences."""

import dataclasses
import math
from typing import Any

import tilews
import tilews.language as tl

from ..._support.chips import find_chip
from ..host import check_array, check_integer, fail, result
from ..operation import operation
from .online_softmax import log_sum, weigh, weighted_mean
from .score_options import LOG2_E, LOWEST, check_options, launch_target, score_factors


@tilews.func
def attend(
    K: Any,
    V: Any,
    shared: Any,
    place: Any,
    bounds: Any,
    state: Any,
    sizes: Any,
    MODE: Any,
) -> Any:
    """Adds tiles of keys and values to the state of a block: see :func:`weigh`."""
    Qs, Ks, Vs = shared
    b, head, m, first_key = place
    out, top, total = state
    offset, keys, window, scale, inner = sizes
    MASKED, CAUSAL, WINDOW, SOFT_CAP, VARLEN, STAGES = MODE
    QUERIES, D = Qs.shape
    KEYS = Ks.shape[0]
    first, last = bounds
    for i in tl.range(first, last, num_stages=STAGES):
        n = i * KEYS
        # In sequences of any length, the next one follows.
        count = tl.minimum(keys - n, KEYS) if VARLEN else KEYS
        k = first_key + n
        tl.copy(K[b, k : k + count, head, 0:D], Ks)
        zeros = tl.zeros((QUERIES, KEYS), tl.f32)
        scores = tl.gemm(Qs, Ks, zeros, transpose_rhs=True, policy="full_row")
        if SOFT_CAP:
            scores = tl.tanh(scores * inner)
        if MASKED:
            columns = tl.iota((QUERIES, KEYS), 1) + n
            rows = tl.iota((QUERIES, KEYS), 0) + (m + offset)
            visible = columns < keys
            if CAUSAL:
                visible = visible & (columns <= rows)
            if WINDOW:
                visible = visible & (columns + window > rows)
            scores = tl.where(visible, scores, -math.inf)
        weights, (out, top, total) = weigh(scores, (out, top, total), scale)
        tl.copy(V[b, k : k + count, head, 0:D], Vs)
        out = tl.gemm(weights.to(Qs.dtype), Vs, out, policy="full_row")
    return out, top, total


def tile_bounds(
    m: Any, QUERIES: Any, KEYS: Any, sizes: Any, queries: Any, CAUSAL: Any, WINDOW: Any
) -> Any:
    """The tiles of keys from which on queries see some, all and some keys, and the end.

    Tiles that all queries see need no mask, and have a loop of their own."""
    offset, keys, window, _, _ = sizes
    end, full = keys, keys // KEYS
    if CAUSAL:
        end = tl.clamp(m + QUERIES + offset, 0, keys)
        full = tl.clamp(m + offset + 1, 0, keys) // KEYS
    end = tl.where(m < queries, tl.cdiv(end, KEYS), 0)
    full = tl.minimum(tl.maximum(full, 0), end)
    if not WINDOW:
        return 0, 0, full, end
    first = tl.minimum(tl.maximum(m + offset - window + 1, 0) // KEYS, end)
    seen = tl.cdiv(tl.maximum(m + QUERIES + offset - window, 0), KEYS)
    seen = tl.clamp(seen, first, end)
    return first, seen, tl.maximum(full, seen), end


def sequence(X: Any, Starts: Any, i: Any) -> Any:
    """The batch, the first token and the number of tokens of a sequence."""
    if Starts is None:
        return i, 0, tl.i32(X.shape[1])
    first = tl.load(Starts[i])
    return 0, first, tl.load(Starts[i + 1]) - first


@tilews.kernel
def attention_tiles(
    Q: tl.Tensor["B, S, H, D", "T"],
    K: tl.Tensor["B, N, G, D", "T"],
    V: tl.Tensor["B, N, G, D", "T"],
    Sinks: tl.Tensor["H", tl.f32] | None,
    QueryStarts: tl.Tensor["L", tl.i32] | None,
    KeyStarts: tl.Tensor["L", tl.i32] | None,
    Y: tl.Tensor["B, S, H, D", "T"],
    Sums: tl.Tensor["B, H, S", tl.f32] | None,
    longest: tl.i32,
    scale: tl.f32,
    inner: tl.f32,
    window: tl.i32,
    D: tl.constexpr,
    QUERIES: tl.constexpr = 128,
    KEYS: tl.constexpr = 128,
    STAGES: tl.constexpr = 2,
    CAUSAL: tl.constexpr = False,
    WINDOW: tl.constexpr = False,
    SOFT_CAP: tl.constexpr = False,
) -> None:
    """A block computes the results of QUERIES queries of a head. `scale` has the factor
    log2(e). With starts, sequence i is rows Starts[i] to Starts[i + 1] of batch 0."""
    H, G = Q.shape[2], K.shape[2]
    VARLEN = QueryStarts is not None
    sequences = Q.shape[0] if QueryStarts is None else QueryStarts.shape[0] - 1
    x, h, s = tl.grid(tl.cdiv(longest, QUERIES), H, sequences)
    # Tiles with the most work come first, so that the last ones end early.
    x = tl.num_blocks(0) - 1 - x if CAUSAL else x
    m = tl.i32(x * QUERIES)
    b, first_query, queries = sequence(Q, QueryStarts, s)
    b, first_key, keys = sequence(K, KeyStarts, s)
    shared = (
        tl.alloc_shared((QUERIES, D), Q.dtype),
        tl.alloc_shared((KEYS, D), Q.dtype),
        tl.alloc_shared((KEYS, D), Q.dtype),
    )
    q = first_query + m
    count = tl.clamp(queries - m, 0, QUERIES) if VARLEN else QUERIES
    tl.copy(Q[b, q : q + count, h, 0:D], shared[0])
    # The last query sees the last key.
    sizes = (keys - queries, keys, window, scale, inner)
    out, top = tl.zeros((QUERIES, D), tl.f32), tl.full((QUERIES,), LOWEST, tl.f32)
    total = tl.zeros((QUERIES,), tl.f32)
    if Sinks is not None:
        sink = tl.maximum(tl.load(Sinks[h]) * LOG2_E, LOWEST)
        top = tl.full((QUERIES,), sink, tl.f32)
        total = tl.full((QUERIES,), 1.0, tl.f32)
    bounds = tile_bounds(m, QUERIES, KEYS, sizes, queries, CAUSAL, WINDOW)
    place, state = (b, h // (H // G), m, first_key), (out, top, total)
    mode = (CAUSAL, WINDOW, SOFT_CAP, VARLEN, STAGES)
    if WINDOW:
        state = attend(K, V, shared, place, bounds[:2], state, sizes, (True, *mode))
    state = attend(K, V, shared, place, bounds[1:3], state, sizes, (False, *mode))
    state = attend(K, V, shared, place, bounds[2:], state, sizes, (True, *mode))
    out, top, total = state
    y = weighted_mean(out, total).to(Y.dtype)
    tl.store(y, Y[b, q : q + count, h, 0:D])
    if Sums is not None:
        tl.store(log_sum(top, total), Sums[b, h, q : q + count])


@dataclasses.dataclass(frozen=True)
class AttentionTile:
    """Queries and keys of a tile, threads of a block, stages of keys and values."""

    queries: int
    keys: int
    threads: int
    stages: int


def attention_tile(depth: int, target: str) -> AttentionTile:
    """The tile for heads of `depth` elements on a chip."""
    chip = target if target == "cpu" else find_chip(target)
    if chip == "sm_90a":
        return AttentionTile(128, 128 if depth <= 128 else 64, 256, 2)
    if chip.startswith("sm_"):
        return AttentionTile(64, 64 if depth <= 128 else 32, 128, 2)
    keys = 64 if depth <= 64 else 32
    # A wave of 32 has 16 queries or more, and a thread of it 256 registers.
    if chip.startswith("gfx1"):
        return AttentionTile(*((64, keys, 256) if depth <= 192 else (32, 32, 128)), 1)
    return AttentionTile(64 if depth <= 128 else 32, keys, 256, 1)


def check_attention(
    q: Any,
    k: Any,
    v: Any,
    window: tuple[bool, int | None],
    longest: int | None,
    starts: tuple[Any, Any],
) -> tl.DType:
    """Checks the arrays of :func:`attention`, and returns the element type.

    Raises:
        LaunchError: one does not fit.
    """
    name = "attention"
    is_varlen = starts[0] is not None
    dims = ("tokens", "H", "D") if is_varlen else ("B", "S", "H", "D")
    dtype = check_array(name, "q", q, dims, (tl.f16, tl.bf16))
    *outer, _, _, depth = q.shape
    kind = (*outer, "tokens" if is_varlen else "N", "G", depth)
    check_array(name, "k", k, kind, (dtype,))
    check_array(name, "v", v, k.shape, (dtype,))
    causal, width = window
    if width is not None:
        check_integer(name, "window", width, 1)
        if not causal:
            raise fail(name, "'window': expected causal=True with a window")
    if longest is not None:
        check_integer(name, "longest", longest, 0)
    if is_varlen:
        check_array(name, "query_starts", starts[0], ("sequences + 1",), (tl.i32,))
        check_array(name, "key_starts", starts[1], starts[0].shape, (tl.i32,))
    elif starts[1] is not None:
        raise fail(name, "'key_starts': expected query_starts, too, found None")
    return dtype


@operation(attention_tiles)
def attention(
    q: Any,
    k: Any,
    v: Any,
    *,
    causal: bool = False,
    window: int | None = None,
    scale: float | None = None,
    soft_cap: float | None = None,
    sinks: Any = None,
    query_starts: Any = None,
    key_starts: Any = None,
    longest: int | None = None,
    return_sums: bool = False,
    out: Any = None,
    **launch: Any,
) -> Any:
    """Attention: ``softmax(q @ k.T * scale) @ v`` for each head of each sequence.

    Heads of queries share heads of keys and values in groups (MHA, GQA, MQA). The sum
    of exponentials is updated tile by tile, so that scores are never stored (Dao et
    al.: FlashAttention, 2022). Scores are computed in f32, and weights rounded to the
    type of v. A query that sees no key has the result 0.

    Args:
        q: (B, S, H, D) of f16 or bf16, D a multiple of 16 up to 256. With
            `query_starts`, (tokens, H, D): sequences one after the other.
        k: (B, N, G, D), or (tokens, G, D); G divides H.
        v: like k.
        causal: whether query i of S sees the keys up to ``i + N - S``.
        window: how many keys a query sees at most, the last of them ``i + N - S``; with
            `causal` only.
        scale: of scores, above 0; by default ``1 / sqrt(D)``.
        soft_cap: scores become ``soft_cap * tanh(score / soft_cap)``.
        sinks: (H) of f32: a score of each head that takes weight but has no value.
        query_starts: (sequences + 1) of i32: the first token of each sequence, and the
            number of tokens.
        key_starts: the same for k and v; by default `query_starts`.
        longest: the number of queries of the longest sequence, with `query_starts`; by
            default that of all tokens, which starts blocks that do nothing.
        return_sums: whether to return the logarithms of the sums of exponentials.
        out: the result, like q; allocated if not given.
        launch: `stream`, `target` and `run` of a call of the kernel.

    Returns:
        An array like q; with `return_sums` a pair: the array, and (B, H, S), or
        (H, tokens), of f32.

    Raises:
        LaunchError: an argument does not fit; nothing was started.

    Example:
        q, k = np.ones((1, 3, 2, 16), np.float16), np.ones((1, 5, 1, 16), np.float16)
        v = np.arange(5, dtype=np.float16)[None, :, None, None] * k
        y = kernels.attention(q, k, v, causal=True)
        assert (y[0, :, 0, 0] == [1, 1.5, 2]).all()  # means of 0, 1, 2, ...
    """
    name = "attention"
    is_varlen = query_starts is not None
    key_starts = query_starts if key_starts is None else key_starts
    starts, span = (query_starts, key_starts), (causal, window)
    dtype = check_attention(q, k, v, span, longest, starts)
    *outer, length, heads, depth = q.shape
    check_options(name, (heads, k.shape[-2]), depth, scale, soft_cap, sinks)
    y = result(name, out, q, q.shape, dtype)
    sums = None
    if return_sums:
        sums = result(name, None, q, (*outer, heads, length), tl.f32)
    if 0 not in y.shape:
        tile = attention_tile(depth, launch_target(q, launch))

        def batched(array: Any) -> Any:
            return array.reshape((1, *array.shape)) if is_varlen else array

        attention_tiles(
            *map(batched, (q, k, v)),
            sinks,
            query_starts,
            key_starts,
            batched(y),
            None if sums is None else batched(sums),
            longest or length,
            *score_factors(scale, soft_cap, depth),
            min(window or 0, k.shape[-3]),
            D=depth,
            QUERIES=tile.queries,
            KEYS=tile.keys,
            STAGES=tile.stages,
            CAUSAL=causal,
            WINDOW=window is not None,
            SOFT_CAP=soft_cap is not None,
            threads=tile.threads,
            **launch,
        )
    return (y, sums) if return_sums else y
