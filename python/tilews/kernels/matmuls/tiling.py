"""The choice of tiles for a matmul, by a model of its time."""

from __future__ import annotations

import bisect
import dataclasses
import functools
import math
from collections.abc import Iterable

from ..._support.chips import find_chip
from ...runtime import device_target

#: Multiprocessors of an H100 or H200, and about as many as other large chips have.
PROCESSORS = 132
#: Parts that the depth of a matmul is split into.
_PARTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
#: Bytes of shared memory of a multiprocessor.
_SHARED_BYTES = 227 * 1024
#: The most parts of all tiles together, in multiples of the multiprocessors.
_MOST_BLOCKS = 4


@dataclasses.dataclass(frozen=True)
class Tiling:
    """How blocks compute a matmul.

    Attributes:
        bm, bn: extents of a tile of the result.
        bk: the depth of a step.
        threads: of a block, half of them with `ping_pong`.
        stages: of the pipeline.
        speed: of the arithmetic of such tiles, where nothing else takes time.
        blocks: number of persistent blocks, or 0 if each tile has a block.
        ping_pong: whether two halves of a block alternate between tiles.
        cluster: persistent blocks that share columns of B.
        splits: parts of the depth, each of which other blocks compute.
    """

    bm: int
    bn: int
    bk: int
    threads: int
    stages: int
    speed: float
    blocks: int = 0
    ping_pong: bool = False
    cluster: int = 1
    splits: int = 1


def _hopper(itemsize: int) -> list[Tiling]:
    """The candidates for sm_90a, whose steps are 128 bytes deep."""
    bk = 128 // itemsize
    return [
        Tiling(64, 32, bk, 128, 8, 0.45),
        Tiling(64, 64, bk, 128, 6, 1.09),
        Tiling(64, 128, bk, 128, 6, 1.97),
        Tiling(64, 192, bk, 128, 5, 7.05),
        Tiling(64, 256, bk, 128, 4, 2.75),
        Tiling(128, 96, bk, 256, 6, 1.49),
        Tiling(128, 128, bk, 256, 6, 1.56),
        Tiling(128, 160, bk, 256, 5, 1.40),
        Tiling(128, 192, bk, 256, 4, 1.72),
        Tiling(128, 256, bk, 256, 4, 1.39),
        Tiling(192, 160, bk, 384, 4, 1.33),
        # Persistent tiles store while the next ones are loaded.
        Tiling(128, 256, bk, 256, 4, 1.32, PROCESSORS),
        Tiling(256, 128, bk, 256, 4, 1.19, PROCESSORS),
        Tiling(128, 128, bk, 128, 6, 1.84, PROCESSORS, True),
        Tiling(128, 192, bk, 128, 4, 1.72, PROCESSORS, True),
        # Pairs of blocks read less from the cache.
        Tiling(128, 256, bk, 256, 4, 1.01, PROCESSORS, False, 2),
        Tiling(128, 192, bk, 128, 4, 1.11, PROCESSORS, True, 2),
    ]


def _indirect(itemsize: int) -> list[Tiling]:
    """The candidates for sm_90a if threads copy operands, or mma.sync reads them."""
    bk = 128 // itemsize
    return [Tiling(64, 64, bk, 128, 4, 0.2), Tiling(128, 64, bk, 256, 4, 0.25)]


def _others(itemsize: int, stages: int) -> list[Tiling]:
    """The candidates for other chips, whose steps are 64 bytes deep."""
    bk = 64 // itemsize
    return [
        Tiling(64, 64, bk, 128, stages, 0.5),
        Tiling(128, 128, bk, 256, stages, 1.0),
    ]


def candidates(target: str, itemsize: int, is_direct: bool) -> list[Tiling]:
    """The tiles that fit a chip, or those for the interpreter."""
    if target == "cpu":
        return [Tiling(64, 64, 64, 128, 2, 1.0)]
    chip = find_chip(target)
    if chip == "sm_90a":
        return _hopper(itemsize) if is_direct else _indirect(itemsize)
    return _others(itemsize, 3 if chip.startswith("sm_") else 2)


@dataclasses.dataclass(frozen=True)
class Costs:
    """What the model knows of a chip: microseconds, and bytes in one.

    Fitted to measurements on an H200: see benchmarks/library/tilings.py.

    Attributes:
        launch: until the first block starts.
        block: until a block computes.
        store: of a tile of 128 x 128.
        store_later: share of `store` that persistent blocks wait for,
        store_ping_pong: and those that alternate.
        split: of counting parts.
        add: of one more part, however small.
        part: of storing and loading a part of 128 x 128.
        latency: until the operands of a step arrive.
        shared: bytes from the second-level cache.
        memory: bytes from memory.
        misaligned: what is read for a row that is no multiple of 128 bytes, relative to
            others.
        pair: for a tile, until both blocks of a cluster are there.
        flops: in a microsecond with a speed of 1, for elements of two bytes.
        narrow: time of the same step, as elements of one byte, relative to two.
        power: the larger, the more of several times does the longest one hide.
    """

    launch: float = 3.97
    block: float = 0.68
    store: float = 1.81
    store_later: float = 0.26
    store_ping_pong: float = 0.24
    split: float = 1.8
    add: float = 0.22
    part: float = 0.8
    latency: float = 0.97
    shared: float = 21.8e6
    memory: float = 3.16e6
    misaligned: float = 1.81
    pair: float = 0.16
    flops: float = 7e6
    narrow: float = 0.32
    power: float = 1.75


#: The costs on an H200.
_COSTS = Costs()


def microseconds(
    tiling: Tiling,
    splits: int,
    shape: tuple[int, int, int, int],
    itemsize: int,
) -> float:
    """The modelled time of a matmul of `shape`, batches, M, N and K, in some parts.

    The multiprocessor with the most tiles determines it. Arithmetic, caches and memory
    work at the same time; what comes before the first step and after the last one of a
    tile does not overlap with them, unless blocks are persistent.
    """
    costs = _COSTS
    batches, m, n, k = shape
    rows = math.ceil(m / tiling.bm / tiling.cluster) * tiling.cluster
    columns = math.ceil(n / tiling.bn)
    tiles = batches * rows * columns
    parts = tiles * splits
    steps = math.ceil(k / tiling.bk / splits)
    each = math.ceil(parts / PROCESSORS)  # Parts that a multiprocessor computes.
    depth = tiling.bk * itemsize
    stage = (tiling.bm + tiling.bn) * depth
    together = max(1, _SHARED_BYTES // (stage * tiling.stages + 2048))
    rounds = each if tiling.blocks else math.ceil(each / together)
    # Rows and columns beyond the edges are not read.
    read = (m / rows + n / columns / tiling.cluster) * depth
    if k * itemsize % 128:
        read *= costs.misaligned
    flops = tiling.bm * tiling.bn * depth / costs.flops / tiling.speed
    times = (
        each * steps * flops * (costs.narrow if itemsize == 1 else 1),
        parts * steps * read / costs.shared,
        (batches * (m + n) * k * itemsize + 2 * batches * m * n) / costs.memory,
        rounds * steps * costs.latency / tiling.stages,
    )
    total = sum(time**costs.power for time in times) ** (1 / costs.power)
    store = costs.store * tiling.bm * tiling.bn / 16384
    if tiling.blocks:
        share = costs.store_ping_pong if tiling.ping_pong else costs.store_later
        total += costs.block + store * (1 + share * (each - 1))
    else:
        total += rounds * (costs.block + store * min(each, together))
    if tiling.cluster > 1:
        total += costs.pair * each
    if splits > 1:
        stored = (m / rows) * (n / columns) / 16384
        total += costs.split + splits * (costs.add + costs.part * stored)
    return costs.launch + total


def possible_splits(
    tiling: Tiling, shape: tuple[int, int, int, int]
) -> tuple[int, ...]:
    """Into how many parts the depth of a matmul may be split."""
    if tiling.blocks:
        return (1,)
    batches, m, n, k = shape
    tiles = batches * math.ceil(m / tiling.bm) * math.ceil(n / tiling.bn)
    most = min(_MOST_BLOCKS * PROCESSORS // tiles, k // (2 * tiling.bk))
    return _PARTS[: bisect.bisect(_PARTS, max(most, 1))]


@functools.lru_cache(maxsize=4096)
def choose(
    shape: tuple[int, int, int, int],
    itemsize: int,
    target: str | None,
    on_host: bool,
    is_direct: bool,
    can_split: bool = True,
    can_persist: bool = True,
) -> Tiling:
    """The fastest tiling of the model.

    Args:
        shape: batches, M, N and K.
        itemsize: bytes of an element of the operands.
        target: of the launch, or None.
        on_host: whether the arrays are in host memory.
        is_direct: whether TMA copies the operands, and wgmma reads them as stored.
        can_split: whether there is memory for the sums of parts of the depth.
        can_persist: whether the number of tiles is known to the kernel's blocks.
    """
    target = target or ("cpu" if on_host else device_target())
    found = [
        one
        for one in candidates(target, itemsize, is_direct)
        if can_persist or not one.blocks
    ]
    return fastest(found, shape, itemsize, can_split)


def fastest(
    tilings: Iterable[Tiling],
    shape: tuple[int, int, int, int],
    itemsize: int,
    can_split: bool,
) -> Tiling:
    """The fastest of some tilings, by the model, and its number of parts.

    Args:
        tilings: the candidates.
        shape: batches, M, N and K.
        itemsize: bytes of an element of the operands.
        can_split: whether there is memory for the sums of parts of the depth.
    """
    best, least = None, math.inf
    for one in tilings:
        for splits in possible_splits(one, shape) if can_split else (1,):
            time = microseconds(one, splits, shape, itemsize)
            if time < least:
                best, least = dataclasses.replace(one, splits=splits), time
    assert best is not None
    return best
