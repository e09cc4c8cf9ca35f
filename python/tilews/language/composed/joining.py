"""Fragments that are put together or taken apart.

No operation of the dialect moves elements between fragments. ``stack`` chooses between
repeated fragments by coordinate; ``cat``, ``join`` and ``split`` are made of it and of
parts. Where an axis lies within a thread this costs selects of registers, else an
exchange between threads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...errors import LanguageError
from ..arithmetic import as_value, unify
from ..math import where
from ..shapes import (
    check_axis,
    check_tile,
    equal_part,
    expand_dims,
    iota,
    reshape,
    transpose,
)
from ..values import Tile, describe

#: The most parts that are put together as one.
MAX_PARTS = 64


def stack(values: Sequence[Any], axis: int = 0) -> Tile:
    """Fragments of one shape along a new axis.

    Args:
        values: fragments of one shape and element type; scalars and numbers repeat.
        axis: the place of the new axis; negative ones count from the end.

    Raises:
        LanguageError: there is no fragment, or shapes or types do not fit.

    Example:
        >>> tl.stack((tl.arange(3), tl.arange(3) * 10))
        [[0, 1, 2], [0, 10, 20]]
    """
    tiles = _fragments(values, "tl.stack")
    axis = check_axis(axis, tiles[0].ndim + 1, "tl.stack")
    shape = list(tiles[0].shape)
    shape.insert(axis, len(tiles))
    # The coordinate on the new axis, to be repeated along the others.
    extents = [len(tiles) if dim == axis else 1 for dim in range(len(shape))]
    place = iota(extents, axis)
    result = expand_dims(tiles[0], axis)
    if len(tiles) == 1:
        return result
    for number, tile in enumerate(tiles[1:], 1):
        result = where(place == number, expand_dims(tile, axis), result)
    return result


def _fragments(values: Any, what: str) -> list[Tile]:
    """The values as fragments of one shape."""
    if not isinstance(values, (tuple, list)) or not values:
        raise LanguageError(
            f"{what}: expected a tuple of fragments, found {describe(values)}",
            f"write {what}((x, y))" if isinstance(values, Tile) else None,
        )
    tiles = [value for value in values if isinstance(value, Tile)]
    shapes = dict.fromkeys(tile.shape for tile in tiles)
    if len(shapes) != 1:
        found = " and ".join(map(str, shapes)) or "none"
        raise LanguageError(
            f"{what}: expected fragments of one shape, found {found}",
            "repeat the smaller one with tl.broadcast_to",
        )
    unified = unify(what, *values)
    return [as_value(value, value.dtype, tiles[0].shape) for value in unified]


def cat(values: Sequence[Any], axis: int = 0) -> Tile:
    """Fragments one after the other along an axis that they have.

    Fragments of different extents along the axis are cut into parts of one size, the
    largest that divides all of them. Few large parts cost less than many small ones.

    Args:
        values: fragments of one element type, whose shapes are equal but for `axis`;
            numbers and scalars repeat if all shapes are equal.
        axis: the axis, whose extent grows; negative ones count from the end.

    Raises:
        LanguageError: shapes or types do not fit, the fragments have more than 64 parts
            of one size, or the axis is out of range.

    Example:
        >>> tl.cat((tl.arange(3), tl.arange(3) * 10))
        [0, 1, 2, 0, 10, 20]
        >>> tl.cat((tl.arange(4), tl.arange(2) * 10))
        [0, 1, 2, 3, 0, 10]
    """
    tiles = _parts(values, axis)
    axis %= tiles[0].ndim
    shape = list(tiles[0].shape)
    shape[axis] *= len(tiles)
    return reshape(stack(tiles, axis), shape)


def _parts(values: Any, axis: int) -> list[Tile]:
    """What to put together along an axis: fragments of one shape."""
    what = "tl.cat"
    tiles = [*values] if isinstance(values, (tuple, list)) else []
    extents = set()
    if tiles and all(isinstance(tile, Tile) and tile.ndim for tile in tiles):
        place = check_axis(axis, tiles[0].ndim, what)
        others = {(x.ndim, x.shape[:place], x.shape[place + 1 :]) for x in tiles}
        extents = {x.shape[place] for x in tiles if x.ndim > place}
        if len(others) > 1:
            found = " and ".join(map(str, dict.fromkeys(x.shape for x in tiles)))
            raise LanguageError(
                f"{what}: expected shapes that are equal but for axis {axis}, found "
                f"{found}",
                "repeat the smaller one with tl.broadcast_to",
            )
    if len(extents) < 2:
        tiles = _fragments(values, what)
        check_axis(axis, tiles[0].ndim, what)
        return tiles
    unit = math.gcd(*extents)
    count = sum(x.shape[place] for x in tiles) // unit
    if count > MAX_PARTS:
        raise LanguageError(
            f"{what}: fragments of the extents {sorted(extents)} have {count} parts of "
            f"one size, {unit}, expected at most {MAX_PARTS}",
            "store each to its place in shared memory, and load all of the buffer",
        )
    return [
        equal_part(x, place, unit, number)
        for x in tiles
        for number in range(x.shape[place] // unit)
    ]


def join(lhs: Any, rhs: Any) -> Tile:
    """Two fragments along a new last axis of extent two; :func:`split` undoes it.

    Args:
        lhs, rhs: fragments of one shape and element type; one of them may be a scalar
            or a number, which repeats.

    Raises:
        LanguageError: the shapes or types differ.

    Example:
        >>> tl.join(tl.arange(3), -1)
        [[0, -1], [1, -1], [2, -1]]
    """
    return stack((lhs, rhs), -1)


def split(value: Tile) -> tuple[Any, Any]:
    """The two fragments along a last axis of extent two.

    Args:
        value: a fragment of shape (..., 2).

    Returns:
        Two fragments of shape (...).

    Raises:
        LanguageError: `value` is no fragment whose last extent is two.

    Example:
        >>> even, odd = tl.split(tl.arange(8).reshape(4, 2))
        >>> odd
        [1, 3, 5, 7]
    """
    value = check_tile(value, "tl.split")
    if not value.shape or value.shape[-1] != 2:
        raise LanguageError(
            f"tl.split: expected a last extent of 2, found shape {value.shape}",
            "make one: x.reshape(m, n // 2, 2)",
        )
    return value[..., 0], value[..., 1]


def permute(value: Tile, *axes: int | Sequence[int]) -> Tile:
    """A fragment whose dimension i is dimension ``axes[i]`` of `value`.

    Args:
        value: a fragment.
        axes: a number for each dimension, one by one or as a tuple.

    Raises:
        LanguageError: the axes are no permutation of the dimensions.

    Example:
        >>> tl.permute(tl.arange(6).reshape(2, 3), 1, 0)
        [[0, 3], [1, 4], [2, 5]]
    """
    first: Any = axes[0] if len(axes) == 1 else axes
    return transpose(value, first if isinstance(first, (tuple, list)) else (first,))
