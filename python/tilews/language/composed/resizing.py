"""Fragments with other extents, by way of shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import ir
from ..arithmetic import cast
from ..builder import current
from ..memory import accesses, buffers
from ..types import e2m1, f16, i1, i4, i8, u4, u8
from ..values import Tile

#: What is stored in place of elements that share bytes.
_WHOLE = {i1: u8, i4: i8, u4: u8, e2m1: f16}


def resize(value: Tile, shape: Sequence[int], pad: Any = None) -> Tile:
    """The first elements along each axis, and padding after them.

    Args:
        value: a fragment.
        shape: extents, any of which may be smaller or larger.
        pad: what follows the elements; zero by default.
    """
    dtype = _WHOLE.get(value.dtype, value.dtype)
    kept = [min(extents) for extents in zip(value.shape, shape, strict=True)]
    with ir.InsertionPoint.at_block_begin(current("a fragment").entry):
        buffer = buffers.alloc_shared(kept, dtype)
    start = (0,) * len(kept)
    accesses.store(cast(value, dtype), buffer[start])
    resized = accesses.load(buffer[start], shape, pad=pad)
    whole: Any = cast(resized, value.dtype)
    return whole  # A fragment.
