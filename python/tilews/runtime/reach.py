"""Distances in bytes that 32 bits of a kernel have to hold.

On AMD's GPUs, a region of an array is accessed by offsets of 32 bits from its first
element. The manifest has the extents of the regions (`reach`): with rows of 2^24 bytes,
a region of 128 rows would need offsets up to 2^31.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .arrays import element_bits, row_major


def max_distance(argument: Mapping[str, Any]) -> int:
    """The distances of elements of one region have to be less than this, in bytes."""
    # Strides that may be negative take one bit.
    return 2**31 if argument["strides"] is None else 2**30


def find_distance(
    argument: Mapping[str, Any], shape: Sequence[int], strides: Sequence[int]
) -> int:
    """The largest distance in bytes of elements of one region.

    Args:
        argument: a buffer of a manifest.
        shape, strides: those of the array, in elements.
    """
    reach = argument.get("reach")
    if not reach or 0 in shape:
        return 0
    if argument["strides"] is None:
        strides = row_major(tuple(shape))  # as the kernel computes them
    elements = sum(
        ((extent or whole) - 1) * abs(stride)
        for extent, whole, stride in zip(reach, shape, strides, strict=True)
    )
    return elements * (element_bits(argument["dtype"]) or 8) // 8


def is_within_reach(manifest: Mapping[str, Any], arguments: Sequence[Any]) -> bool:
    """Whether a kernel can access arrays of these shapes, which are contiguous."""
    for argument, array in zip(manifest["arguments"], arguments, strict=True):
        if "reach" not in argument or len(array.shape) != len(argument["shape"]):
            continue
        shape = tuple(array.shape)
        distance = find_distance(argument, shape, row_major(shape))
        if distance >= max_distance(argument):
            return False
    return True
