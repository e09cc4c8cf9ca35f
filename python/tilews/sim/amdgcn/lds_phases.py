"""How long an access of a wave occupies the shared memory (LDS) of an AMD chip.

The hardware splits an access into phases of a few lanes. A phase takes one cycle, if
its lanes access different banks or the same word; otherwise one cycle for each word of
the bank with the most words. A bank is 4 bytes wide.

Which lanes share a phase depends on the chip and the width of the access:

* gfx942, reads of 16 bytes: the groups of AMD's Composable Kernel documentation, "LDS
  bank conflicts"; writes of 16 bytes and other accesses: neighbours.
* gfx950, reads: the groups that HipKittens measured (2025, analysis/paper_experiments);
  AMD's blog on GEMM kernels for CDNA4 (2026) has the same ones. Reads see 64 banks.
* Widths that nobody published (reads of 4 bytes and less on gfx950) are taken as one
  phase of all lanes.
"""

from __future__ import annotations

import functools

import numpy as np

#: Lanes of a phase of gfx942's reads of 16 bytes, in the first half of the wave.
_READ_16_GFX942 = (
    (*range(0, 4), *range(20, 24)),
    (*range(4, 8), *range(16, 20)),
    (*range(8, 12), *range(28, 32)),
    (*range(12, 16), *range(24, 28)),
)
_READ_16_GFX950 = (
    (*range(0, 4), *range(12, 16), *range(20, 28)),
    (*range(4, 12), *range(16, 20), *range(28, 32)),
)


def _neighbours(lanes: int) -> tuple[tuple[int, ...], ...]:
    """Phases of neighbouring lanes, for half a wave or a whole one."""
    return tuple(
        tuple(range(first, first + lanes)) for first in range(0, max(lanes, 32), lanes)
    )


@functools.cache
def _phases(chip: str, size: int, is_write: bool) -> tuple[int, np.ndarray]:
    """The banks, and the lanes of each phase, shape (phases, lanes)."""
    if chip == "gfx950" and not is_write:
        banks = 32 if size == 12 else 64
        groups = {
            16: _READ_16_GFX950,
            12: _READ_16_GFX942,
            8: _neighbours(32),
        }.get(size, _neighbours(64))
    else:
        banks = 32
        groups = {
            16: _neighbours(8) if is_write else _READ_16_GFX942,
            12: _neighbours(8),
            8: _neighbours(16),
        }.get(size, _neighbours(32))
    first = np.array(groups)
    return banks, first if first.max() == 63 else np.concatenate([first, first + 32])


def count_cycles(
    chip: str, addresses: np.ndarray, size: int, is_write: bool, active: np.ndarray
) -> int:
    """The cycles for which an access occupies the shared memory.

    Args:
        chip: such as ``gfx942``.
        addresses: of each active lane, in bytes.
        size: of each lane's access, in bytes.
        is_write: whether it writes.
        active: which of the 64 lanes are active, shape (64,).
    """
    banks, phases = _phases(chip, size, is_write)
    words = np.full((len(active), max(size // 4, 1)), -1, np.int64)
    words[active] = addresses[:, None] // 4 + np.arange(words.shape[1])
    return sum(_count_words(words[lanes], banks) for lanes in phases)


def _count_words(words: np.ndarray, banks: int) -> int:
    """The most words of one bank, at least 1; words below 0 are not accessed."""
    distinct = np.unique(words)
    distinct = distinct[distinct >= 0]
    if not len(distinct):
        return 0
    return int(np.bincount(distinct % banks).max())
