"""The choice of tiles for a matmul, by a model of its time."""

from __future__ import annotations

import dataclasses
import functools

from ..._support.chips import find_chip
from ...runtime import device_target

#: Multiprocessors of an H100 or H200, and about as many as other large chips have.
PROCESSORS = 132
#: FLOP/s of a multiprocessor for elements of two bytes, and bytes it gets in a second.
_FLOPS, _BANDWIDTH = 6e12, 30e9
#: Seconds until a block computes, and stores; and of the launch that adds up splits.
_BLOCK, _LAUNCH = 2e-6, 4e-6


@dataclasses.dataclass(frozen=True)
class Tiling:
    """How blocks compute a matmul.

    Attributes:
        bm, bn: extents of a tile of the result.
        bk: the depth of a step.
        threads: of a block, half of them with `ping_pong`.
        stages: of the pipeline.
        speed: of the matmul instructions on such tiles, at most 1.
        blocks: number of persistent blocks, or 0 if each tile has a block.
        ping_pong: whether two halves of a block alternate between tiles.
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
    splits: int = 1


def _hopper(itemsize: int) -> list[Tiling]:
    """The candidates for sm_90a, whose steps are 128 bytes deep."""
    bk = 128 // itemsize
    sizes = [
        (64, 64, 128, 0.45),
        (64, 128, 128, 0.6),
        (128, 128, 256, 0.8),
        (128, 256, 256, 0.95),
    ]
    found = []
    for bm, bn, threads, speed in sizes:
        stages = min(6, 200 * 1024 // ((bm + bn) * 128))
        found.append(Tiling(bm, bn, bk, threads, stages, speed))
    # Persistent tiles store while the next ones are loaded.
    found.append(Tiling(128, 256, bk, 256, 4, 1.0, PROCESSORS))
    found.append(Tiling(128, 192, bk, 128, 4, 1.0, PROCESSORS, True))
    return found


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


def seconds(tiling: Tiling, shape: tuple[int, int, int, int], itemsize: int) -> float:
    """The modelled time of a matmul of `shape`: batches, M, N and K.

    The busiest multiprocessor determines it. It computes whole tiles, unless tiles are
    persistent; for each it waits for the first step and stores the result.
    """
    batches, m, n, k = shape
    tiles = batches * -(-m // tiling.bm) * -(-n // tiling.bn) * tiling.splits
    rounds = -(-tiles // PROCESSORS)
    depth = -(-k // tiling.splits)
    arithmetic = 2 * tiling.bm * tiling.bn * depth * itemsize / 2
    traffic = (tiling.bm + tiling.bn) * depth * itemsize
    time = max(arithmetic / (_FLOPS * tiling.speed), traffic / (4 * _BANDWIDTH))
    total = rounds * time + (1 if tiling.blocks else rounds) * _BLOCK
    # What comes from memory at all.
    unique = batches * (m + n) * k * itemsize
    total = max(total, unique / (PROCESSORS * _BANDWIDTH) + _BLOCK)
    if tiling.splits > 1:
        sums = 8 * batches * m * n * tiling.splits
        total += _LAUNCH + sums / (PROCESSORS * _BANDWIDTH)
    return total


@functools.lru_cache(maxsize=4096)
def choose(
    shape: tuple[int, int, int, int],
    itemsize: int,
    target: str | None,
    on_host: bool,
    is_direct: bool,
) -> Tiling:
    """The fastest tiling of the model.

    Args:
        shape: batches, M, N and K.
        itemsize: bytes of an element of the operands.
        target: of the launch, or None.
        on_host: whether the arrays are in host memory.
        is_direct: whether TMA copies the operands, and wgmma reads them as stored.
    """
    target = target or ("cpu" if on_host else device_target())
    found = candidates(target, itemsize, is_direct)
    options = [
        dataclasses.replace(one, splits=splits)
        for one in found
        for splits in (1, 2, 4, 8, 16)
        if splits == 1 or (not one.blocks and shape[3] >= 4 * splits * one.bk)
    ]
    return min(options, key=lambda one: seconds(one, shape, itemsize))
