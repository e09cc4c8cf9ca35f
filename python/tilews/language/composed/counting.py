"""Histograms: how often each integer is among the elements of a fragment."""

from __future__ import annotations

from typing import Any

from ... import ir
from ...errors import LanguageError
from ..builder import current
from ..integers import check_integer
from ..memory import accesses, atomics, buffers
from ..types import i32
from ..values import Buffer, BufferRegion, Tile, describe

#: The most bins: four bytes each have to fit into the shared memory of a block.
MAX_BINS = 1 << 14


def histogram(value: Any, bins: int, *, mask: Any = None) -> Tile:
    """How many elements are 0, 1, ... and ``bins - 1``.

    Negative elements and those from `bins` on are not counted. The block counts by
    atomic updates of shared memory, with four bytes for each bin.

    Args:
        value: integers of any width, or i1: a fragment of any shape, or a buffer or a
            region of a static size, which is loaded.
        bins: a Python integer, at most 16384.
        mask: a fragment of i1 whose shape broadcasts to that of `value`, or a
            condition: elements whose mask is false are not counted.

    Returns:
        A fragment of i32 and shape (bins,).

    Raises:
        LanguageError: `value` holds no integers, `bins` is out of range, or `mask` does
            not fit.

    Example:
        >>> tl.histogram(tl.arange(-1, 8) // 2, 5)  # -1, 0, 0, 1, 1, 2, 2, 3, 3
        [2, 2, 2, 2, 0]
        >>> tl.histogram(tl.arange(8) % 3, 3, mask=tl.arange(8) < 5)
        [2, 2, 1]
    """
    what = "tl.histogram"
    builder = current(what)
    if isinstance(value, (Buffer, BufferRegion)):
        value = accesses.load(value)
    if not isinstance(value, Tile) or not value.dtype.is_int:
        raise LanguageError(
            f"{what}: expected a fragment of integers, found {describe(value)}",
            "convert it with .to(tl.i32), such as (x * 256.0).to(tl.i32)",
        )
    bins = check_integer(bins, f"{what}: the number of bins", 1, MAX_BINS)
    if value.dtype.bits < i32.bits:
        value = value.to(i32)
    with ir.InsertionPoint.at_block_begin(builder.entry):
        counts = buffers.alloc_shared((bins,), i32)
    accesses.store(0, counts[:])
    # Ones in the layout of the elements: a constant would get a layout of its own, to
    # which the elements are then converted.
    ones = (value < bins).to(i32)
    atomics.atomic_add(ones, counts[value], mask=mask)
    return accesses.load(counts, (bins,))
