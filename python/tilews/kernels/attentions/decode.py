"""Attention of the last tokens of sequences to a cache of keys and values."""

import dataclasses
import math
from typing import Any

import tilews
import tilews.language as tl

from ..._support.chips import find_chip
from ..host import check_array, check_integer, fail, result
from ..operation import operation
from ..scratch import can_allocate
from .forward import AttentionTile, attention_tile
from .online_softmax import weigh
from .paged_cache import copy_tokens, find_pages, sequence_length
from .score_options import check_options, launch_target, score_factors
from .sequence_parts import (
    add_states,
    allocate_parts,
    first_state,
    row_places,
    split_count,
    store_part_state,
    store_state,
    sum_sizes,
)


@tilews.func
def attend_cache(
    cache: Any,
    shared: Any,
    place: Any,
    tiles: Any,
    state: Any,
    scores_of: Any,
    MODE: Any,
) -> Any:
    """Adds tiles of keys and values to the state of a block: see :func:`weigh`.

    A row sees `window` keys, or all, before the one of `ends`."""
    K, V, Table = cache
    Qs, Ks, Vs = shared
    length, ends, window, scale, inner = scores_of
    MASKED, WINDOW, SOFT_CAP, STAGES = MODE
    ROWS, KEYS = Qs.shape[0], Ks.shape[0]
    first, last = tiles
    out, top, total = state
    for i in tl.range(first, last, num_stages=STAGES):
        n = i * KEYS
        pages = find_pages(K, Table, place[0], n, length, KEYS)
        copy_tokens(K, pages, place, n, length, Ks)
        zeros = tl.zeros((ROWS, KEYS), tl.f32)
        scores = tl.gemm(Qs, Ks, zeros, transpose_rhs=True, policy="full_row")
        if SOFT_CAP:
            scores = tl.tanh(scores * inner)
        if MASKED:
            columns = tl.iota((ROWS, KEYS), 1) + n
            visible = columns < ends[:, None]
            if WINDOW:
                visible = visible & (columns + window >= ends[:, None])
            scores = tl.where(visible, scores, -math.inf)
        weights, (out, top, total) = weigh(scores, (out, top, total), scale)
        copy_tokens(V, pages, place, n, length, Vs)
        out = tl.gemm(weights.to(Qs.dtype), Vs, out, policy="full_row")
    return out, top, total


@tilews.kernel
def decode_tiles(
    Q: tl.Tensor["X, D", "T"],
    K: tl.Tensor["P, L, G, D", "T"],
    V: tl.Tensor["P, L, G, D", "T"],
    Table: tl.Tensor["B, W", tl.i32] | None,
    Lengths: tl.Tensor["B", tl.i32],
    Sinks: tl.Tensor["H", tl.f32] | None,
    Parts: tl.Tensor["Z, ROWS, D", tl.f32] | None,
    States: tl.Tensor["Z, 2, ROWS", tl.f32] | None,
    Tickets: tl.Tensor["N", tl.i32] | None,
    Y: tl.Tensor["X, D", "T"],
    Sums: tl.Tensor["X", tl.f32] | None,
    queries: tl.i32,
    shared_by: tl.i32,
    blocks: tl.i32,
    scale: tl.f32,
    inner: tl.f32,
    window: tl.i32,
    parts: tl.i32 = 1,
    D: tl.constexpr = 128,
    ROWS: tl.constexpr = 64,
    KEYS: tl.constexpr = 64,
    STAGES: tl.constexpr = 3,
    WINDOW: tl.constexpr = False,
    SOFT_CAP: tl.constexpr = False,
    SIZES: tl.constexpr = None,
) -> None:
    """Attention of some queries of each sequence to a cache.

    A row is a query and one of the `shared_by` heads that share a head of keys. A block
    computes ROWS of the `queries * shared_by` rows of a sequence and a head of keys;
    `blocks` of them compute all. If there are `parts` of sequences, each has blocks of
    its own, which store their states: the sums of values to Parts, top and total to
    States. The last one, by its ticket, adds them up: see :func:`add_states`.

    Scores are multiplied by `scale`, which has the factor log2(e), with SOFT_CAP after
    a hyperbolic tangent of `inner` times them. With WINDOW a row sees `window` keys."""
    G, B = K.shape[2], Lengths.shape[0]
    y, z, part = tl.grid(G * B, blocks, parts)
    g, b, first_row = tl.i32(y % G), tl.i32(y // G), tl.i32(z * ROWS)
    extents = (queries, shared_by * tl.i32(G), shared_by)
    length = sequence_length(K, Table, Lengths, b)
    Qs, Ks, Vs = (tl.alloc_shared((n, D), Q.dtype) for n in (ROWS, KEYS, KEYS))
    places = row_places(first_row, ROWS, (b, g), extents)
    tl.copy(Q[places[0], 0:D], Qs)
    row = tl.arange(ROWS) + first_row  # It sees the keys before its end.
    ends, least = (r // shared_by + (length - queries + 1) for r in (row, first_row))
    first = tl.maximum(least - window, 0) // KEYS if WINDOW else 0
    tiles = tl.cdiv(length, KEYS) - first
    first, last = (first + tiles * p // parts for p in (part, part + 1))
    cache, shared = (K, V, Table), (Qs, Ks, Vs)
    scores_of = (length, ends, window, scale, inner)
    state = first_state(Sinks, g * shared_by + row % shared_by, part, D)
    mode, masked = (WINDOW, SOFT_CAP, STAGES), first
    if not WINDOW:  # Tiles that all rows see need no mask.
        masked = tl.clamp(tl.maximum(least, 0) // KEYS, first, last)
        seen, m = (first, masked), (False, *mode)
        state = attend_cache(cache, shared, (b, g), seen, state, scores_of, m)
    rest, m = (masked, last), (True, *mode)
    state = attend_cache(cache, shared, (b, g), rest, state, scores_of, m)
    if Parts is None:
        store_state(state, Y, Sums, places, 0)
    else:
        n, scratch = y * blocks + z, (Parts, States, Tickets)
        count = tl.minimum(queries * shared_by - first_row, ROWS)
        if store_part_state(state, scratch, n, (part, parts), count):
            few = row_places(first_row, SIZES[0], (b, g), extents)
            for column in tl.range(0, D, SIZES[1]):
                whole = add_states(scratch, n * parts, parts, column, SIZES)
                store_state(whole, Y, Sums, few, column)


def decode_tile(depth: int, target: str) -> AttentionTile:
    """The tile for heads of `depth` elements on a chip. Its queries are rows: those of
    all heads that share a head of keys."""
    chip = target if target == "cpu" else find_chip(target)
    if chip.startswith("sm_"):
        return AttentionTile(64, 64 if depth <= 128 else 32, 128, 3)
    if chip.startswith("gfx1") and depth > 128:
        return AttentionTile(32, 32, 128, 1)  # Sums of parts need registers, too.
    return attention_tile(depth, target)


@dataclasses.dataclass(frozen=True)
class Cache:
    """A cache of keys and values.

    Attributes:
        k, v: (pages, tokens of a page, G, D), or a sequence in each page.
        table: (B, W) of i32: the pages of each sequence, or None.
        lengths: (B) of i32: the number of tokens of each sequence.
    """

    k: Any
    v: Any
    table: Any
    lengths: Any

    @property
    def capacity(self) -> int:
        """The number of tokens that a sequence may have."""
        length = int(self.k.shape[1])
        return length if self.table is None else length * int(self.table.shape[1])


def check_decode(
    q: Any, cache: Cache, window: int | None, longest: int | None
) -> tl.DType:
    """Checks the arrays of :func:`decode_attention`, and returns the element type.

    Raises:
        LaunchError: one does not fit.
    """
    name = "decode_attention"
    dtype = check_array(name, "q", q, ("B", "S", "H", "D"), (tl.f16, tl.bf16))
    batches, _, _, depth = q.shape
    pages = batches if cache.table is None else "pages"
    check_array(name, "k", cache.k, (pages, "N", "G", depth), (dtype,))
    check_array(name, "v", cache.v, cache.k.shape, (dtype,))
    check_array(name, "lengths", cache.lengths, (batches,), (tl.i32,))
    if cache.table is not None:
        check_array(name, "table", cache.table, (batches, "pages"), (tl.i32,))
    if cache.table is not None and cache.k.shape[1] == 0:
        raise fail(name, "'k': expected at least one token in a page, found none")
    for label, number in (("window", window), ("longest", longest)):
        if number is not None:
            check_integer(name, label, number, int(label == "window"))
    return dtype


@operation(decode_tiles)
def decode_attention(
    q: Any,
    k: Any,
    v: Any,
    lengths: Any,
    *,
    table: Any = None,
    window: int | None = None,
    scale: float | None = None,
    soft_cap: float | None = None,
    sinks: Any = None,
    longest: int | None = None,
    return_sums: bool = False,
    out: Any = None,
    **launch: Any,
) -> Any:
    """Attention of the last tokens of each sequence to a cache of keys and values.

    ``softmax(q @ k.T * scale) @ v`` as for :func:`attention`, causal, for few queries
    and many keys: one query of a sequence, or some that a draft proposes. All heads of
    queries that share a head of keys are computed together, which reads the cache once.
    If there are few sequences, several blocks share one, and the last to finish adds up
    their parts (Dao et al.: Flash-Decoding, 2023). The cache may be in pages, in any
    order (Kwon et al.: Efficient Memory Management for LLM Serving with PagedAttention,
    2023).

    Args:
        q: (B, S, H, D) of f16 or bf16, D a multiple of 16 up to 256: the last S tokens.
        k: (B, N, G, D); with `table` (pages, N, G, D), N tokens in a page. G divides H.
            The keys of the last S tokens are there already.
        v: like k.
        lengths: (B) of i32: the number of tokens of each sequence, with the last S. One
            beyond the room of the cache counts as that room.
        table: (B, W) of i32: the pages of each sequence, in its order. Those that its
            length does not reach may be any.
        window: how many keys a query sees at most, its own included.
        scale: of scores, above 0; by default ``1 / sqrt(D)``.
        soft_cap: scores become ``soft_cap * tanh(score / soft_cap)``.
        sinks: (H) of f32: a score of each head that takes weight but has no value.
        longest: the number of tokens of the longest sequence, by default that for which
            the cache has room. It decides how many blocks share a sequence.
        return_sums: whether to return the logarithms of the sums of exponentials.
        out: the result, like q; allocated if not given.
        launch: `stream`, `target` and `run` of a call of the kernel.

    Returns:
        An array like q; with `return_sums` a pair: the array, and (B, H, S) of f32.

    Raises:
        LaunchError: an argument does not fit; nothing was started.

    Example:
        q = np.ones((1, 1, 2, 16), np.float16)
        k, v = np.ones((4, 2, 1, 16), np.float16), np.zeros((4, 2, 1, 16), np.float16)
        v[3], v[1] = 6, 3  # pages of two tokens
        table, lengths = np.array([[3, 1]], np.int32), np.array([3], np.int32)
        y = kernels.decode_attention(q, k, v, lengths, table=table)
        assert (y == 5).all()  # the mean of 6, 6 and 3
    """
    name = "decode_attention"
    cache = Cache(k, v, table, lengths)
    dtype = check_decode(q, cache, window, longest)
    batches, queries, heads, depth = q.shape
    check_options(name, (heads, k.shape[2]), depth, scale, soft_cap, sinks)
    y = result(name, out, q, q.shape, dtype)
    sums = None
    if return_sums:
        sums = result(name, None, q, (batches, heads, queries), tl.f32)
    if 0 not in y.shape:
        factors = score_factors(scale, soft_cap, depth)
        seen = min(window or 0, cache.capacity)
        options = {"WINDOW": window is not None, "SOFT_CAP": soft_cap is not None}
        if table is not None:
            options["L"] = k.shape[1]
        arrays, numbers = (sinks, y, sums), (*factors, seen, longest)
        launch_decode(q, cache, arrays, numbers, options, launch)
    return (y, sums) if return_sums else y


def launch_decode(
    q: Any,
    cache: Cache,
    arrays: tuple[Any, Any, Any],
    numbers: tuple[float, float, int, int | None],
    options: dict[str, Any],
    launch: dict[str, Any],
) -> None:
    """Launches the attention to a cache.

    Args:
        q: the queries, (B, S, H, D).
        cache: keys and values.
        arrays: sinks or None, the result, sums or None.
        numbers: the factor of scores, that of the argument of the soft cap, the window,
            and the number of tokens of the longest sequence or None.
        options: of the kernel.
        launch: options of the launch.
    """
    sinks, y, sums = arrays
    *factors, window, longest = numbers
    batches, queries, heads, depth = q.shape
    tile = decode_tile(depth, launch_target(q, launch))
    groups = int(cache.k.shape[2])
    rows = queries * (heads // groups)
    blocks = math.ceil(rows / tile.queries)
    total = batches * groups * blocks
    splits = 1
    if can_allocate(q):
        splits = split_count(tile, total, longest or cache.capacity)
    extents = (tile.queries, depth)
    scratch = allocate_parts(q, launch.get("stream"), total, splits, extents)
    decode_tiles(
        q.reshape((batches * queries * heads, depth)),
        cache.k,
        cache.v,
        cache.table,
        cache.lengths,
        sinks,
        *scratch,
        y.reshape((batches * queries * heads, depth)),
        None if sums is None else sums.reshape((batches * heads * queries,)),
        queries,
        heads // groups,
        blocks,
        *factors,
        window,
        splits,
        D=depth,
        ROWS=tile.queries,
        SIZES=sum_sizes(rows, depth, tile) if splits > 1 else None,
        KEYS=tile.keys,
        STAGES=tile.stages,
        threads=tile.threads,
        **options,
        **launch,
    )
