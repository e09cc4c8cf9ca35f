"""Fragments with other extents, by way of shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ... import ir
from ..._support.lazy import LazyModule
from ..arithmetic import cast
from ..builder import current
from ..memory import buffers
from ..types import e2m1, f16, i1, i4, i8, u4, u8
from ..values import Tile

if TYPE_CHECKING:
    from ..memory import accesses
else:  # It imports this module.
    accesses = LazyModule("tilews.language.memory.accesses")

#: What is stored in place of elements that share bytes.
_WHOLE = {i1: u8, i4: i8, u4: u8, e2m1: f16}


def resize(
    value: Tile,
    shape: Sequence[int],
    pad: Any = None,
    start: Sequence[int] | None = None,
) -> Tile:
    """A part of a fragment, and padding after it.

    Args:
        value: a fragment.
        shape: extents, any of which may be smaller or larger.
        pad: what follows the elements; zero by default.
        start: the coordinates of the first element; zeros by default.
    """
    dtype = _WHOLE.get(value.dtype, value.dtype)
    first = tuple(start or (0,) * value.ndim)
    kept = [
        min(extent, place + size)
        for extent, place, size in zip(value.shape, first, shape, strict=True)
    ]
    with ir.InsertionPoint.at_block_begin(current("a fragment").entry):
        buffer = buffers.alloc_shared(kept, dtype)
    accesses.store(cast(value, dtype), buffer[(0,) * value.ndim])
    resized = accesses.load(buffer[first], shape, pad=pad)
    whole: Any = cast(resized, value.dtype)
    return whole  # A fragment.
