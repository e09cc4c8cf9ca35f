"""Multi-head latent attention of the last tokens of sequences to a cache."""

import math
from typing import Any

import tilews
import tilews.language as tl

from ..._support.chips import find_chip
from ..host import check_array, check_integer, fail, result
from ..operation import operation
from ..scratch import can_allocate
from .forward import AttentionTile
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

#: The largest rank, and the most elements of a key beside it. A chip's registers hold
#: the sums of so many values for all rows of a tile.
_MOST_RANK, _MOST_ROPE = 512, 128


@tilews.func
def copy_latents(
    cache: Any, sequence: Any, first: Any, length: Any, shared: Any
) -> None:
    """Copies what keys and values share, and the rest of the keys, of some tokens."""
    Cache, Table, Ids = cache
    Latents, Rests = shared
    KEYS, RANK = Latents.shape
    if Ids is None:
        place = (sequence, 0)
        pages = find_pages(Cache, Table, sequence, first, length, KEYS)
        copy_tokens(Cache, pages, place, first, length, Latents)
        copy_tokens(Cache, pages, place, first, length, Rests, RANK)
    else:
        ids = tl.load(Ids[sequence, first : first + KEYS])
        tl.copy(Cache[0, ids, 0, 0:RANK], Latents)
        tl.copy(Cache[0, ids, 0, RANK : RANK + Rests.shape[1]], Rests)


@tilews.func
def row_count(cache: Any, Lengths: Any, sequence: Any) -> Any:
    """How many rows of the cache a sequence has, or are listed for its query."""
    Cache, Table, Ids = cache
    if Lengths is None:
        return tl.i32(Ids.shape[1])
    return sequence_length(Cache, Table, Lengths, sequence)


@tilews.func
def attend_latents(
    cache: Any, shared: Any, sequence: Any, tiles: Any, state: Any, scores_of: Any
) -> Any:
    """Adds tiles of tokens to the state of a block: see :func:`weigh`.

    All warps need all weights, each for some columns of the values."""
    _, _, Ids = cache
    queries, keys, Weights = shared
    length, ends, scale, STAGES = scores_of
    ROWS, KEYS = Weights.shape
    first, last = tiles
    out, top, total = state
    for i in tl.range(first, last, num_stages=STAGES):
        n = i * KEYS
        copy_latents(cache, sequence, n, length, keys)
        scores = tl.zeros((ROWS, KEYS), tl.f32)
        for query, key in zip(queries, keys, strict=True):
            scores = tl.gemm(query, key, scores, transpose_rhs=True)
        if Ids is None:
            visible = tl.iota((ROWS, KEYS), 1) + n < ends[:, None]
        else:
            visible = (tl.load(Ids[sequence, n : n + KEYS], pad=-1) >= 0)[None, :]
        scores = tl.where(visible, scores, -math.inf)
        weights, (out, top, total) = weigh(scores, (out, top, total), scale)
        tl.store(weights.to(Weights.dtype), Weights[:, :])
        out = tl.gemm(Weights, keys[0], out, policy="full_col")
    return out, top, total


@tilews.kernel
def latent_tiles(
    Q: tl.Tensor["X, W", "T"],
    Cache: tl.Tensor["P, L, 1, W", "T"],
    Table: tl.Tensor["B, TW", tl.i32] | None,
    Lengths: tl.Tensor["B", tl.i32] | None,
    Ids: tl.Tensor["B, N", tl.i32] | None,
    Parts: tl.Tensor["Z, ROWS, RANK", tl.f32] | None,
    States: tl.Tensor["Z, 2, ROWS", tl.f32] | None,
    Tickets: tl.Tensor["C", tl.i32] | None,
    Y: tl.Tensor["X, RANK", "T"],
    Sums: tl.Tensor["X", tl.f32] | None,
    sequences: tl.i32,
    queries: tl.i32,
    heads: tl.i32,
    blocks: tl.i32,
    scale: tl.f32,
    parts: tl.i32 = 1,
    RANK: tl.constexpr = 512,
    ROPE: tl.constexpr = 64,
    ROWS: tl.constexpr = 64,
    KEYS: tl.constexpr = 64,
    STAGES: tl.constexpr = 2,
    SIZES: tl.constexpr = None,
) -> None:
    """Attention of some queries of each sequence to a cache that all heads share.

    A row is a query and a head. A block computes ROWS of the `queries * heads` rows of
    a sequence, and one of its `parts`: see `decode_tiles`. With Ids a sequence has one
    query, which sees those rows of the cache. `scale` has the factor log2(e)."""
    b, z, part = tl.grid(sequences, blocks, parts)
    first_row = tl.i32(z * ROWS)
    widths = (RANK, ROPE)
    query_tiles = [tl.alloc_shared((ROWS, width), Q.dtype) for width in widths]
    key_tiles = [tl.alloc_shared((KEYS, width), Q.dtype) for width in widths]
    Weights = tl.alloc_shared((ROWS, KEYS), Q.dtype)
    extents = (queries, heads, heads)
    places = row_places(first_row, ROWS, (tl.i32(b), 0), extents)[0]
    tl.copy(Q[places, 0:RANK], query_tiles[0])
    tl.copy(Q[places, RANK : RANK + ROPE], query_tiles[1])
    cache = (Cache, Table, Ids)
    length = row_count(cache, Lengths, b)
    row = tl.arange(ROWS) + first_row
    ends = row // heads + (length - queries + 1)  # A row sees the keys before it.
    tiles = tl.cdiv(length, KEYS)
    own = (tiles * part // parts, tiles * (part + 1) // parts)
    shared = (query_tiles, key_tiles, Weights)
    state = first_state(None, row, part, RANK)
    scores_of = (length, ends, scale, STAGES)
    state = attend_latents(cache, shared, b, own, state, scores_of)
    if Parts is None:
        store_state(state, Y, Sums, (places, places), 0)
    else:
        n, scratch = b * blocks + z, (Parts, States, Tickets)
        count = tl.minimum(queries * heads - first_row, ROWS)
        if store_part_state(state, scratch, n, (part, parts), count):
            few = row_places(first_row, SIZES[0], (tl.i32(b), 0), extents)[0]
            for column in tl.range(0, RANK, SIZES[1]):
                whole = add_states(scratch, n * parts, parts, column, SIZES)
                store_state(whole, Y, Sums, (few, few), column)


def latent_tile(target: str) -> AttentionTile:
    """The tile for a chip. Its queries are rows: queries of heads."""
    chip = target if target == "cpu" else find_chip(target)
    if chip in ("cpu", "sm_90a"):
        return AttentionTile(64, 64, 256, 2)
    if chip in ("sm_80", "sm_87", "sm_90") or chip.startswith("gfx95"):
        return AttentionTile(64, 32, 256, 2)
    if chip.startswith("sm_10"):
        return AttentionTile(32, 32, 256, 2)
    if chip.startswith("gfx1"):
        return AttentionTile(16, 16, 256, 1)
    return AttentionTile(32, 16, 256, 1)  # In 64 KiB of shared memory.


def check_latents(
    q: Any, cache: Any, rows: tuple[Any, Any, Any], rank: int
) -> tl.DType:
    """Checks the arrays of :func:`mla_decode`, and returns the element type.

    Args:
        q: the queries.
        cache: the cache.
        rows: the arguments lengths, table and ids.
        rank: the argument.

    Raises:
        LaunchError: one does not fit.
    """
    name = "mla_decode"
    lengths, table, ids = rows
    dtype = check_array(name, "q", q, ("B", "S", "H", "W"), (tl.f16, tl.bf16))
    batches, queries, _, width = q.shape
    if not isinstance(rank, int) or rank % 64 or not 0 < rank <= _MOST_RANK:
        expected = f"'rank': expected a multiple of 64 up to {_MOST_RANK}"
        raise fail(name, f"{expected}, found {rank}")
    if (width - rank) % 16 or not 0 < width - rank <= _MOST_ROPE:
        expected = f"'q': expected rows of {rank} + R elements"
        expected += f", R a multiple of 16 up to {_MOST_ROPE}"
        raise fail(name, f"{expected}, found {width}")
    if (lengths is None) == (ids is None):
        raise fail(name, "expected either lengths or ids; give one of them")
    if ids is not None and table is not None:
        raise fail(name, "'table': expected None with ids, which are rows of the cache")
    is_whole = table is None and ids is None
    outer = batches if is_whole else "pages"
    check_array(name, "cache", cache, (outer, "N", width), (dtype,))
    if lengths is not None:
        check_array(name, "lengths", lengths, (batches,), (tl.i32,))
    if table is not None:
        check_array(name, "table", table, (batches, "pages"), (tl.i32,))
    if ids is not None:
        check_array(name, "ids", ids, (batches, queries, "K"), (tl.i32,))
    if table is not None and cache.shape[1] == 0:
        raise fail(name, "'cache': expected at least one token in a page, found none")
    return dtype


@operation(latent_tiles)
def mla_decode(
    q: Any,
    cache: Any,
    lengths: Any = None,
    *,
    table: Any = None,
    ids: Any = None,
    rank: int = 512,
    scale: float | None = None,
    longest: int | None = None,
    return_sums: bool = False,
    out: Any = None,
    **launch: Any,
) -> Any:
    """Multi-head latent attention of the last tokens of sequences to a cache.

    ``softmax(q @ c.T * scale) @ c[:, :rank]``, where c is the rows of the cache that a
    query sees, the same for all heads. The first `rank` elements of a row are a latent
    vector, which stands for keys and values; the others are rotated keys. Matrices of
    the heads are multiplied with the queries before, and with the result after it
    (DeepSeek-AI: DeepSeek-V2, 2024, section 2.1). A row is read once for up to 64 heads
    and queries, and blocks share long sequences as in :func:`decode_attention`. With
    `ids` a query sees chosen rows only (DeepSeek-AI: DeepSeek-V3.2, 2025, section 2).

    Args:
        q: (B, S, H, rank + R) of f16 or bf16, R a multiple of 16 up to 128: the last S
            tokens.
        cache: (B, N, rank + R); with `table` or `ids` (pages, N, rank + R), N tokens in
            a page. The rows of the last S tokens are there already.
        lengths: (B) of i32: the number of tokens of each sequence, with the last S. A
            query sees its own token and those before it. A length beyond the room of
            the cache counts as that room.
        table: (B, W) of i32: the pages of each sequence, in its order.
        ids: (B, S, K) of i32, in place of `lengths`: the rows that each query sees,
            as ``page * N + token``; negative ones are none.
        rank: elements of a latent vector, a multiple of 64 up to 512.
        scale: of scores, above 0; by default ``1 / sqrt(rank + R)``. Models have that
            of the keys of their heads instead.
        longest: the number of tokens of the longest sequence, by default that for which
            the cache has room. It decides how many blocks share a sequence.
        return_sums: whether to return the logarithms of the sums of exponentials.
        out: the result, allocated if not given.
        launch: `stream`, `target` and `run` of a call of the kernel.

    Returns:
        (B, S, H, rank) of the type of q; with `return_sums` a pair: the array, and
        (B, S, H) of f32.

    Raises:
        LaunchError: an argument does not fit; nothing was started.

    Example:
        q, cache = np.ones((1, 1, 2, 80), np.float16), np.ones((1, 4, 80), np.float16)
        cache[0, :, :64] = [[2], [4], [9], [9]]
        q[..., :64] = 0  # only the rotated keys count, which are equal
        y = kernels.mla_decode(q, cache, np.array([2], np.int32), rank=64)
        assert y.shape == (1, 1, 2, 64) and (y == 3).all()
        ids = np.array([[[1, 3, -1]]], np.int32)
        assert (kernels.mla_decode(q, cache, ids=ids, rank=64) == 6.5).all()
    """
    name = "mla_decode"
    if longest is not None:
        check_integer(name, "longest", longest, 0)
    dtype = check_latents(q, cache, (lengths, table, ids), rank)
    batches, queries, heads, width = q.shape
    check_options(name, (1, 1), 16, scale, None, None)
    y = result(name, out, q, (batches, queries, heads, rank), dtype)
    sums = None
    if return_sums:
        sums = result(name, None, q, (batches, queries, heads), tl.f32)
    if 0 not in y.shape:
        factor, _ = score_factors(scale, None, width)
        arrays, numbers = (y, sums), (rank, factor, longest)
        launch_latents(q, cache, (lengths, table, ids), arrays, numbers, launch)
    return (y, sums) if return_sums else y


def launch_latents(
    q: Any,
    cache: Any,
    rows: tuple[Any, Any, Any],
    arrays: tuple[Any, Any],
    numbers: tuple[int, float, int | None],
    launch: dict[str, Any],
) -> None:
    """Launches the attention to latent vectors.

    Args:
        q: the queries, (B, S, H, rank + R).
        cache: the rows, (pages, N, rank + R).
        rows: the arguments lengths, table and ids.
        arrays: the result, and sums or None.
        numbers: the rank, the factor of scores, and the number of tokens of the longest
            sequence or None.
        launch: options of the launch.
    """
    lengths, table, ids = rows
    y, sums = arrays
    rank, factor, longest = numbers
    batches, queries, heads, width = q.shape
    pages, tokens, _ = cache.shape
    capacity, options = tokens, {}
    if ids is not None:  # Each query is a sequence of its own.
        capacity = ids.shape[2]
        ids = ids.reshape((batches * queries, capacity))
        batches, queries = batches * queries, 1
        pages, tokens = 1, pages * tokens
    elif table is not None:
        capacity, options = tokens * table.shape[1], {"L": tokens}
    tile = latent_tile(launch_target(q, launch))
    count = queries * heads
    blocks = math.ceil(count / tile.queries)
    total = batches * blocks
    splits = 1
    if can_allocate(q):
        splits = split_count(tile, total, longest or capacity)
    extents = (tile.queries, rank)
    latent_tiles(
        q.reshape((batches * count, width)),
        cache.reshape((pages, tokens, 1, width)),
        table,
        lengths,
        ids,
        *allocate_parts(q, launch.get("stream"), total, splits, extents),
        y.reshape((batches * count, rank)),
        None if sums is None else sums.reshape((batches * count,)),
        batches,
        queries,
        heads,
        blocks,
        factor,
        splits,
        RANK=rank,
        ROPE=width - rank,
        ROWS=tile.queries,
        KEYS=tile.keys,
        STAGES=tile.stages,
        SIZES=sum_sizes(count, rank, tile) if splits > 1 else None,
        threads=tile.threads,
        **options,
        **launch,
    )
