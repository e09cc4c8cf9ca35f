"""Attention of the last tokens of sequences to a cache of keys and values."""

import dataclasses
import math
from typing import Any

import tilews
import tilews.language as tl

from ..._support.chips import find_chip
from ...runtime import device_target
from ...runtime.arrays import is_on_host
from ..host import check_array, fail, result
from ..matmuls.tiling import PROCESSORS
from ..operation import operation
from ..scratch import allocate, can_allocate, take_tickets
from .forward import LOG2_E
from .online_softmax import weigh

#: Parts of a sequence that a block adds up at a time.
_TOGETHER = 8
#: Blocks that a multiprocessor runs at the same time, and the most parts of a sequence.
_BLOCKS_EACH, _MOST_PARTS = 2, 64


@tilews.func
def copy_tokens(
    X: Any, Table: Any, place: Any, first: Any, length: Any, Xs: Any
) -> None:
    """Copies tokens of a sequence to shared memory, and zeros for those from `length`
    on. Without a table they are in one piece, else in pages."""
    b, head = place
    TOKENS, D = Xs.shape
    LENGTH = X.shape[1]
    if Table is None:
        count = tl.minimum(length - first, TOKENS)
        tl.copy(X[b, first : first + count, head, 0:D], Xs)
    elif LENGTH % TOKENS == 0:
        page, row = tl.load(Table[b, first // LENGTH]), first % LENGTH
        count = tl.minimum(length - first, TOKENS)
        tl.copy(X[page, row : row + count, head, 0:D], Xs)
    elif TOKENS % LENGTH == 0 and LENGTH >= 8:
        for i in tl.static_range(TOKENS // LENGTH):
            start = first + i * LENGTH
            count = tl.clamp(length - start, 0, LENGTH)
            page = 0
            if count > 0:
                page = tl.load(Table[b, start // LENGTH])
            part = Xs[i * LENGTH : (i + 1) * LENGTH, :]
            tl.copy(X[page, 0:count, head, 0:D], part)
    else:
        places = tl.arange(TOKENS) + first
        inside = places < length
        pages = tl.load(Table[b, places // LENGTH], mask=inside)
        tl.copy(X[pages, places % LENGTH, head, 0:D], Xs, mask=inside[:, None])


@tilews.func
def attend_cache(
    cache: Any, shared: Any, place: Any, bounds: Any, state: Any, sizes: Any, MODE: Any
) -> Any:
    """Adds tiles of keys and values to the state of a block: see :func:`weigh`."""
    K, V, Table = cache
    Qs, Ks, Vs = shared
    length, ends, window, scale, inner = sizes
    MASKED, WINDOW, SOFT_CAP, STAGES = MODE
    ROWS, KEYS = Qs.shape[0], Ks.shape[0]
    first, last = bounds
    out, top, total = state
    for i in tl.range(first, last, num_stages=STAGES):
        n = i * KEYS
        copy_tokens(K, Table, place, n, length, Ks)
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
        copy_tokens(V, Table, place, n, length, Vs)
        out = tl.gemm(weights.to(Qs.dtype), Vs, out, policy="full_row")
    return out, top, total


@tilews.func
def first_state(Sinks: Any, heads: Any, part: Any, D: Any) -> Any:
    """The state of rows before all keys. The first part of a sequence has the sinks."""
    ROWS = heads.shape[0]
    top, total = tl.full((ROWS,), -1e30, tl.f32), tl.zeros((ROWS,), tl.f32)
    if Sinks is not None and part == 0:
        top = tl.load(Sinks[heads]) * LOG2_E
        total = tl.full((ROWS,), 1.0, tl.f32)
    return tl.zeros((ROWS, D), tl.f32), top, total


@tilews.func
def store_part_state(state: Any, scratch: Any, n: Any, own: Any, count: Any) -> Any:
    """Stores the state of a part's first rows; returns whether all parts are there."""
    Parts, States, Tickets = scratch
    D = Parts.shape[2]
    part, parts = own
    out, top, total = state
    mine = n * parts + part
    tl.store(out, Parts[mine, 0:count, 0:D])
    tl.store(top, States[mine, 0, 0:count])
    tl.store(total, States[mine, 1, 0:count])
    is_last = tl.atomic_add(1, Tickets[n], order="acq_rel") == parts - 1
    if is_last:
        tl.atomic_store(0, Tickets[n])  # For the next launch.
    return is_last


@tilews.func
def add_states(Parts: Any, States: Any, first: Any, parts: Any, COUNT: Any) -> Any:
    """The state of the first COUNT rows of a sequence from those of its parts."""
    D = Parts.shape[2]
    out, top = tl.zeros((COUNT, D), tl.f32), tl.full((COUNT,), -1e30, tl.f32)
    total = tl.zeros((COUNT,), tl.f32)
    for i in tl.range(tl.cdiv(parts, _TOGETHER)):
        p = first + i * _TOGETHER
        end = tl.minimum(p + _TOGETHER, first + parts)
        tops = tl.load(States[p:end, 0, 0:COUNT], (_TOGETHER, COUNT), pad=-1e30)
        totals = tl.load(States[p:end, 1, 0:COUNT], (_TOGETHER, COUNT))
        outs = tl.load(Parts[p:end, 0:COUNT, 0:D], (_TOGETHER, COUNT, D))
        higher = tl.maximum(top, tl.max(tops, axis=0))
        factors, factor = tl.exp2(tops - higher[None, :]), tl.exp2(top - higher)
        total = total * factor + tl.sum(totals * factors, axis=0)
        out = out * factor[:, None] + tl.sum(outs * factors[:, :, None], axis=0)
        top = higher
    return out, top, total


@tilews.func
def store_state(state: Any, Y: Any, Sums: Any, places: Any) -> None:
    """Stores the results of rows, and the logarithms of the sums of exponentials."""
    out, top, total = state
    rows, sums = places
    factor = tl.where(total > 0.0, 1.0 / total, 0.0)
    tl.store((out * factor[:, None]).to(Y.dtype), Y[rows, 0 : Y.shape[1]])
    if Sums is not None:
        tl.store((top + tl.log2(total)) * (1 / LOG2_E), Sums[sums])


@tilews.func
def row_places(first: Any, ROWS: Any, place: Any, extents: Any) -> Any:
    """Where rows of a block stand in Q and Y, and in Sums; -1 for those beyond the last
    one. The rows of a head of keys are those of the first query, of the second, ..."""
    b, g = place
    queries, heads, shared_by = extents
    row = tl.arange(ROWS) + first
    query, head = row // shared_by, g * shared_by + row % shared_by
    inside = row < queries * shared_by
    places = (b * queries + query) * heads + head
    sums = (b * heads + head) * queries + query
    return tl.where(inside, places, -1), tl.where(inside, sums, -1)


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
    COUNT: tl.constexpr = 64,
    KEYS: tl.constexpr = 64,
    STAGES: tl.constexpr = 3,
    WINDOW: tl.constexpr = False,
    SOFT_CAP: tl.constexpr = False,
) -> None:
    """A block computes ROWS rows of a head of keys, for a part of a sequence.

    A row is one of the `shared_by` heads of a query that share these keys. There are
    `blocks` for all rows, none with more than COUNT. `scale` has the factor log2(e)."""
    G, B = K.shape[2], Lengths.shape[0]
    part, z, y = tl.grid(parts, blocks, G * B)
    g, b, first_row = tl.i32(y % G), tl.i32(y // G), tl.i32(z * ROWS)
    extents = (queries, shared_by * tl.i32(G), shared_by)
    length = tl.load(Lengths[b])
    Qs, Ks, Vs = (tl.alloc_shared((n, D), Q.dtype) for n in (ROWS, KEYS, KEYS))
    places = row_places(first_row, ROWS, (b, g), extents)
    tl.copy(Q[places[0], 0:D], Qs)
    # A row sees the keys before its end.
    row = tl.arange(ROWS) + first_row
    ends = row // shared_by + (length - queries + 1)
    least = first_row // shared_by + (length - queries + 1)
    first = tl.maximum(least - window, 0) // KEYS if WINDOW else 0
    end = tl.cdiv(length, KEYS)
    bounds = tuple(first + (end - first) * p // parts for p in (part, part + 1))
    sizes = (length, ends, window, scale, inner)
    cache, shared = (K, V, Table), (Qs, Ks, Vs)
    state = first_state(Sinks, g * shared_by + row % shared_by, part, D)
    mode, full = (WINDOW, SOFT_CAP, STAGES), bounds[0]
    if not WINDOW:  # Tiles that all rows see need no mask.
        full = tl.clamp(tl.maximum(least, 0) // KEYS, *bounds)
        own = (bounds[0], full)
        state = attend_cache(cache, shared, (b, g), own, state, sizes, (False, *mode))
    own = (full, bounds[1])
    state = attend_cache(cache, shared, (b, g), own, state, sizes, (True, *mode))
    if Parts is None:
        store_state(state, Y, Sums, places)
    else:
        n = y * blocks + z
        count = tl.minimum(queries * shared_by - first_row, ROWS)
        if store_part_state(state, (Parts, States, Tickets), n, (part, parts), count):
            whole = add_states(Parts, States, n * parts, parts, COUNT)
            store_state(whole, Y, Sums, row_places(first_row, COUNT, (b, g), extents))


@dataclasses.dataclass(frozen=True)
class DecodeTile:
    """Rows and keys of a tile, threads of a block, stages of keys and values."""

    rows: int
    keys: int
    threads: int
    stages: int


def decode_tile(depth: int, target: str) -> DecodeTile:
    """The tile for heads of `depth` elements on a chip."""
    chip = target if target == "cpu" else find_chip(target)
    if chip.startswith("sm_"):
        return DecodeTile(64, 64 if depth <= 128 else 32, 128, 3)
    return DecodeTile(64 if depth <= 128 else 32, 64 if depth <= 64 else 32, 256, 1)


def split_count(tile: DecodeTile, blocks: int, longest: int) -> int:
    """Into how many parts sequences are split, so that blocks fill a GPU.

    Args:
        tile: the tile of a block.
        blocks: how many there are without parts.
        longest: the number of keys of the longest sequence.
    """
    wanted = math.ceil(_BLOCKS_EACH * PROCESSORS / blocks)
    return max(1, min(wanted, _MOST_PARTS, longest // (2 * tile.keys)))


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
    q: Any, cache: Cache, window: int | None, soft_cap: float | None, sinks: Any
) -> tl.DType:
    """Checks the arguments of :func:`decode_attention`, and returns the element type.

    Raises:
        LaunchError: one does not fit.
    """
    name = "decode_attention"
    dtype = check_array(name, "q", q, ("B", "S", "H", "D"), (tl.f16, tl.bf16))
    batches, _, heads, depth = q.shape
    pages = batches if cache.table is None else "pages"
    check_array(name, "k", cache.k, (pages, "N", "G", depth), (dtype,))
    check_array(name, "v", cache.v, cache.k.shape, (dtype,))
    check_array(name, "lengths", cache.lengths, (batches,), (tl.i32,))
    if cache.table is not None:
        check_array(name, "table", cache.table, (batches, "pages"), (tl.i32,))
    if depth % 16 or not 0 < depth <= 256:
        raise fail(name, f"'q': expected D a multiple of 16 up to 256, found {depth}")
    groups = cache.k.shape[2]
    if groups == 0 or heads % groups:
        raise fail(
            name,
            f"'k': expected a number of heads that divides {heads}, found {groups}",
        )
    if window is not None and window < 1:
        raise fail(name, f"'window': expected 1 or more, found {window}")
    if soft_cap is not None and not soft_cap > 0:
        raise fail(name, f"'soft_cap': expected a number above 0, found {soft_cap}")
    if sinks is not None:
        check_array(name, "sinks", sinks, (heads,), (tl.f32,))
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
        lengths: (B) of i32: the number of tokens of each sequence, with the last S.
        table: (B, W) of i32: the pages of each sequence, in its order. Those that its
            length does not reach may be any.
        window: how many keys a query sees at most, its own included.
        scale: of scores, by default ``1 / sqrt(D)``.
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
    dtype = check_decode(q, cache, window, soft_cap, sinks)
    batches, queries, heads, depth = q.shape
    y = result(name, out, q, q.shape, dtype)
    sums = None
    if return_sums:
        sums = result(name, None, q, (batches, heads, queries), tl.f32)
    if 0 not in y.shape:
        cap = soft_cap or 1.0
        scale = depth**-0.5 if scale is None else scale
        scores = ((cap if soft_cap else scale) * LOG2_E, scale / cap)
        options = {"WINDOW": window is not None, "SOFT_CAP": soft_cap is not None}
        if table is not None:
            options["L"] = k.shape[1]
        arrays, numbers = (sinks, y, sums), (*scores, window or 0, longest)
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
    *scores, window, longest = numbers
    batches, queries, heads, depth = q.shape
    target = launch.get("target")
    target = target or ("cpu" if is_on_host(q) else device_target())
    tile = decode_tile(depth, target)
    groups = int(cache.k.shape[2])
    rows = queries * (heads // groups)
    blocks = math.ceil(rows / tile.rows)
    total = batches * groups * blocks
    splits = 1
    if can_allocate(q):
        splits = split_count(tile, total, longest or cache.capacity)
    parts = states = tickets = None
    if splits > 1:
        stream = launch.get("stream")
        parts = allocate(q, stream, (total * splits, tile.rows, depth), tl.f32)
        states = allocate(q, stream, (total * splits, 2, tile.rows), tl.f32)
        tickets = take_tickets(q, stream, total)
    decode_tiles(
        q.reshape((batches * queries * heads, depth)),
        cache.k,
        cache.v,
        cache.table,
        cache.lengths,
        sinks,
        parts,
        states,
        tickets,
        y.reshape((batches * queries * heads, depth)),
        None if sums is None else sums.reshape((batches * heads * queries,)),
        queries,
        heads // groups,
        blocks,
        *scores,
        window,
        splits,
        D=depth,
        ROWS=tile.rows,
        COUNT=min(tile.rows, 2 ** (rows - 1).bit_length()),
        KEYS=tile.keys,
        STAGES=tile.stages,
        threads=tile.threads,
        **options,
        **launch,
    )
