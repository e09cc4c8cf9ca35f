"""Arrays that overlap in memory, where a kernel writes one of them.

A kernel is compiled for arguments that do not overlap, if it writes one of them and
accesses the other: copies may start before stores that come first in the program. The
compiler lists these pairs of arguments (``disjoint`` in the launch manifest), and every
launch checks them. An array counts as all bytes from its first to its last element, so
that interleaved views overlap.
"""

from __future__ import annotations

from collections.abc import Sequence

Span = tuple[int, int]
"""The first byte of an array, and the one after the last: both 0 without elements."""

Distance = tuple[int, int, int, int]
"""Two arrays, which overlap if the address of the first less that of the second is
between the two numbers that follow, both excluded."""


def byte_span(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> Span:
    """The span of an array, from its address on.

    Args:
        shape: extents.
        strides: in bytes; they may be negative.
        itemsize: bytes of an element.
    """
    if 0 in shape:
        return 0, 0
    first = last = 0
    for extent, stride in zip(shape, strides, strict=True):
        reach = (extent - 1) * stride
        if reach < 0:
            first += reach
        else:
            last += reach
    return first, last + itemsize


def find_distances(
    pairs: Sequence[Sequence[int]], spans: Sequence[Span]
) -> list[Distance]:
    """The distances at which pairs overlap; none for an array without elements.

    Args:
        pairs: numbers of arrays that must not overlap.
        spans: of each array, from its address on.
    """
    distances = []
    for first, second in pairs:
        (begin, end), (other_begin, other_end) = spans[first], spans[second]
        if begin < end and other_begin < other_end:
            distances.append((first, second, other_begin - end, other_end - begin))
    return distances


def describe_overlap(
    pairs: Sequence[Sequence[int]], spans: Sequence[Span], names: Sequence[str]
) -> str | None:
    """What is wrong with the first of the pairs that overlaps; None if none does.

    Args:
        pairs: arguments that must not overlap, the one that the kernel writes first.
        spans: of each argument, from address 0 on.
        names: of each argument.
    """
    for written, other in pairs:
        begin = max(spans[written][0], spans[other][0])
        end = min(spans[written][1], spans[other][1])
        if begin < end:
            return (
                f"arguments '{names[written]}' and '{names[other]}': expected arrays "
                f"that do not overlap, because the kernel writes '{names[written]}'; "
                f"found {end - begin} common bytes, {begin:#x} to {end - 1:#x}; copy "
                f"one of them, or allow it with tl.may_alias({names[written]}, "
                f"{names[other]}) in the kernel"
            )
    return None
