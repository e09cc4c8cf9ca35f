"""Attention of few rows to long sequences, which several blocks share.

Each block stores the state of its part, and the last one adds them up.
"""

import math
from typing import Any

import tilews
import tilews.language as tl

from ..matmuls.tiling import PROCESSORS
from ..scratch import allocate, is_last_part, take_tickets
from .forward import AttentionTile
from .online_softmax import log_sum, weighted_mean
from .score_options import LOG2_E, LOWEST

#: The most parts of a sequence that a block adds up at a time, and the most elements of
#: them that a thread has in registers.
_TOGETHER, _ELEMENTS = 8, 32
#: Blocks that a multiprocessor runs at the same time, and the most parts of a sequence.
_BLOCKS_EACH, _MOST_PARTS = 2, 64


@tilews.func
def first_state(Sinks: Any, heads: Any, part: Any, D: Any) -> Any:
    """The state of rows before all keys. The first part of a sequence has the sinks."""
    ROWS = heads.shape[0]
    top, total = tl.full((ROWS,), LOWEST, tl.f32), tl.zeros((ROWS,), tl.f32)
    if Sinks is not None and part == 0:
        top = tl.maximum(tl.load(Sinks[heads]) * LOG2_E, LOWEST)
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
    return is_last_part(Tickets, n, parts)


@tilews.func
def add_states(scratch: Any, first: Any, parts: Any, column: Any, SIZES: Any) -> Any:
    """The state of COUNT rows, and of WIDTH columns of their values, from the states of
    the parts of a sequence. TOGETHER parts are loaded at a time."""
    Parts, States, _ = scratch
    COUNT, WIDTH, TOGETHER = SIZES
    out, top = tl.zeros((COUNT, WIDTH), tl.f32), tl.full((COUNT,), LOWEST, tl.f32)
    total = tl.zeros((COUNT,), tl.f32)
    for i in tl.range(tl.cdiv(parts, TOGETHER)):
        p = first + i * TOGETHER
        end = tl.minimum(p + TOGETHER, first + parts)
        tops = tl.load(States[p:end, 0, 0:COUNT], (TOGETHER, COUNT), pad=LOWEST)
        totals = tl.load(States[p:end, 1, 0:COUNT], (TOGETHER, COUNT))
        columns = Parts[p:end, 0:COUNT, column : column + WIDTH]
        outs = tl.load(columns, (TOGETHER, COUNT, WIDTH))
        higher = tl.maximum(top, tl.max(tops, axis=0))
        factors, factor = tl.exp2(tops - higher[None, :]), tl.exp2(top - higher)
        total = total * factor + tl.sum(totals * factors, axis=0)
        out = out * factor[:, None] + tl.sum(outs * factors[:, :, None], axis=0)
        top = higher
    return out, top, total


@tilews.func
def store_state(state: Any, Y: Any, Sums: Any, places: Any, column: Any) -> None:
    """Stores columns of the results of rows, and the logarithms of their sums."""
    out, top, total = state
    rows, sums = places
    y = weighted_mean(out, total).to(Y.dtype)
    tl.store(y, Y[rows, column : column + out.shape[1]])
    if Sums is not None:
        tl.store(log_sum(top, total), Sums[sums])


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


def split_count(tile: AttentionTile, blocks: int, longest: int) -> int:
    """Into how many parts sequences are split, so that blocks fill a GPU.

    Args:
        tile: the tile of a block.
        blocks: how many there are without parts.
        longest: the number of keys of the longest sequence.
    """
    wanted = math.ceil(_BLOCKS_EACH * PROCESSORS / blocks)
    return max(1, min(wanted, _MOST_PARTS, longest // (2 * tile.keys)))


def sum_sizes(rows: int, depth: int, tile: AttentionTile) -> tuple[int, int, int]:
    """The rows, columns and parts that a block adds up at a time.

    Args:
        rows: how many rows a block has at most.
        depth: the elements of a head, a multiple of 16.
        tile: the tile of a block.
    """
    count = min(tile.queries, 2 ** (rows - 1).bit_length())
    most = max(16, _ELEMENTS * tile.threads // count)
    width = max(n for n in range(16, depth + 1, 16) if depth % n == 0 and n <= most)
    together = max(1, min(_TOGETHER, most // width))
    return count, width, 2 ** (together.bit_length() - 1)


def allocate_parts(
    q: Any, stream: Any, count: int, splits: int, extents: tuple[int, int]
) -> tuple[Any, Any, Any]:
    """Memory for the states of parts, and their tickets; None if there is one part.

    Args:
        q: the queries.
        stream: of the launch, or None.
        count: how many blocks there are without parts.
        splits: the number of parts.
        extents: the rows of a block, and the elements of their values.
    """
    if splits == 1:
        return None, None, None
    rows, depth = extents
    parts = allocate(q, stream, (count * splits, rows, depth), tl.f32)
    states = allocate(q, stream, (count * splits, 2, rows), tl.f32)
    return parts, states, take_tickets(q, stream, count)
