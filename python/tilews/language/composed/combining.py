"""Reductions and scans with a function.

The elements along an axis are combined in a tree: an extent of 2^n takes n steps, each
of which combines all neighbouring pairs at once. A small extent with an odd prime
factor p takes p - 1 steps for that factor. Any other extent is padded to a power of two
in shared memory, since fragments are distributed over powers of two: otherwise, each
thread would have all elements. The function is applied to whole fragments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ... import ir
from ...dialects import func
from ...errors import LanguageError
from ..arithmetic import as_value
from ..builder import Builder, current
from ..math import where
from ..shapes import (
    as_scalar,
    broadcast_to,
    check_axis,
    check_tile,
    flip,
    iota,
    reshape,
)
from ..values import Tile, Value, describe
from .joining import stack
from .resizing import resize

#: Larger extents are padded, unless they are powers of two.
MAX_UNPADDED = 16

_Tiles = tuple[Tile, ...]
_Combine = Callable[[_Tiles, _Tiles], _Tiles]


def reduce_by(
    value: Any, function: Callable[..., Any], axis: Any, keepdims: Any
) -> Any:
    """:func:`tl.reduce` with a function."""
    what = "tl.reduce"
    tiles = _check_tiles(value, what)
    shape = tiles[0].shape
    combine = _checked(function, tiles, what)
    if axis is None:
        kept = (1,) * len(shape)
        if not _is_padded(math.prod(shape)):
            tiles = tuple(reshape(tile, (math.prod(shape),)) for tile in tiles)
        # Rows come first, so that the order of the elements is that in memory.
        for last in reversed(range(tiles[0].ndim)):
            tiles = _reduce_axis(tiles, combine, last)
            tiles = tuple(reshape(tile, tile.shape[:last]) for tile in tiles)
        results = tuple(reshape(t, kept) for t in tiles) if keepdims else tiles
    else:
        axis = check_axis(axis, len(shape), what)
        tiles = _reduce_axis(tiles, combine, axis)
        dropped = (*shape[:axis], *shape[axis + 1 :])
        results = tuple(t if keepdims else reshape(t, dropped) for t in tiles)
    unpacked = tuple(tile if tile.shape else as_scalar(tile) for tile in results)
    return unpacked if isinstance(value, (tuple, list)) else unpacked[0]


def _reduce_axis(tiles: _Tiles, combine: _Combine, axis: int) -> _Tiles:
    """The combination of all elements along an axis, which then has the extent 1."""
    count = tiles[0].shape[axis]
    if _is_padded(count):
        tiles = _pad(tiles, axis)
    for factor in _prime_factors(tiles[0].shape[axis]):
        first, *others = _digits(tiles, axis, factor)
        tiles = first
        for part in others:
            tiles = combine(tiles, part)
        if count % factor:
            # The last element has no neighbour but padding.
            extents = [1] * tiles[0].ndim
            extents[axis] = tiles[0].shape[axis]
            is_whole = iota(extents, axis) < count // factor
            tiles = _choose(is_whole, tiles, first)
        count = -(-count // factor)
    return tiles


def scan_by(
    value: Any,
    function: Callable[..., Any],
    axis: Any,
    reverse: bool,
    initial: Any,
    commutes: bool,
) -> Any:
    """:func:`tl.scan` with a function; exclusive if `initial` is given.

    A function that `commutes` may take the initial value last, which costs less.
    """
    what = "tl.scan"
    tiles = _check_tiles(value, what)
    axis = check_axis(axis, tiles[0].ndim, what)
    combine = _checked(function, tiles, what)
    if reverse:
        tiles = tuple(flip(tile, axis) for tile in tiles)
    shape = tiles[0].shape
    is_padded = _is_padded(shape[axis])
    if is_padded:
        tiles = _pad(tiles, axis)
    start = None if initial is None else _repeat(initial, tiles, what)
    if start is None or commutes:
        scanned = _scan(tiles, combine, axis, start=start)
    else:
        scanned = _scan(tiles, combine, axis, exclusive=True)
        is_first = _is_first(tiles[0].shape, axis)
        scanned = _choose(is_first, start, combine(start, scanned))
    if is_padded:
        scanned = tuple(resize(tile, shape) for tile in scanned)
    if reverse:
        scanned = tuple(flip(tile, axis) for tile in scanned)
    return scanned if isinstance(value, (tuple, list)) else scanned[0]


def _is_padded(extent: int) -> bool:
    """Whether an axis is padded to a power of two."""
    return extent > MAX_UNPADDED and bool(extent & (extent - 1))


def _pad(tiles: _Tiles, axis: int) -> _Tiles:
    """Fragments with zeros after their elements, up to a power of two."""
    shape = list(tiles[0].shape)
    shape[axis] = 1 << (shape[axis] - 1).bit_length()
    return tuple(resize(tile, shape) for tile in tiles)


def _is_first(shape: Sequence[int], axis: int) -> Any:
    """Whether elements are the first ones along an axis."""
    extents = [extent if dim == axis else 1 for dim, extent in enumerate(shape)]
    return iota(extents, axis) == 0


def _choose(condition: Any, if_true: _Tiles, if_false: _Tiles) -> _Tiles:
    return tuple(
        where(condition, one, other)
        for one, other in zip(if_true, if_false, strict=True)
    )


def _scan(
    tiles: _Tiles,
    combine: _Combine,
    axis: int,
    start: _Tiles | None = None,
    exclusive: bool = False,
) -> _Tiles:
    """Scans blocks that grow to the whole axis.

    Sklansky: Conditional-sum addition logic. IRE Transactions on Electronic Computers
    9, 1960.

    `scanned` has the scan within each block, and `totals` all elements of each block,
    along an axis of blocks. A step joins p blocks: it combines the total of the blocks
    before with what is scanned in each. With a `start` that stands for each element, it
    comes last in each result. Exclusively nothing comes before the first
    element of a block, so that the total stands for it; the first element of all has
    any value in the end.
    """
    totals, scanned = tiles, start or tiles
    shape, size = totals[0].shape, 1
    for factor in reversed(_prime_factors(shape[axis])):
        before = _digits(totals, axis, factor)
        count = shape[axis] // size // factor
        blocks = (*shape[:axis], count, factor, size, *shape[axis + 1 :])
        parts = [
            tuple(reshape(tile, blocks)[_at(axis + 1, place)] for tile in scanned)
            for place in range(factor)
        ]
        total = before[0]
        for place in range(1, factor):
            spread = tuple(
                broadcast_to(
                    reshape(tile, (*shape[:axis], count, 1, *shape[axis + 1 :])),
                    parts[place][0].shape,
                )
                for tile in total
            )
            if exclusive and size == 1:
                parts[place] = spread
            elif exclusive:
                is_first = _is_first(parts[place][0].shape, axis + 1)
                joined = combine(spread, parts[place])
                parts[place] = _choose(is_first, spread, joined)
            else:
                parts[place] = combine(spread, parts[place])
            total = combine(total, before[place])
        scanned = tuple(
            reshape(stack([part[n] for part in parts], axis + 1), shape)
            for n in range(len(scanned))
        )
        totals, size = total, size * factor
    return scanned


def _check_tiles(value: Any, what: str) -> _Tiles:
    """The value as a tuple of fragments of one shape."""
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    tiles = tuple(check_tile(item, what) for item in values)
    shapes = dict.fromkeys(tile.shape for tile in tiles)
    if len(shapes) != 1:
        found = " and ".join(map(str, shapes)) or "no fragment"
        raise LanguageError(f"{what}: expected fragments of one shape, found {found}")
    return tiles


#: Operations of the dialect that give each element what it depends on alone.
_ELEMENTWISE = {f"tile.{name}" for name in ("asm", "bitcast", "broadcast", "print")}
#: That too, for values of the kernel that the function uses.
_ELEMENTWISE.add("tile.expand_dims")


def _check_elementwise(function: Callable[..., Any], tiles: _Tiles, what: str) -> None:
    """Refuses a function that does more than compute with each pair of elements.

    It would see elements of other pairs, as it is applied to whole fragments. For that
    it is tried in a function of its own.
    """
    outer = current(what)
    types = [tile.ir.type for tile in tiles] * 2
    with ir.InsertionPoint(outer.kernel.operation.block):
        trial = func.FuncOp("trial", ir.FunctionType.get(types, []))
    try:
        entry = trial.add_entry_block()
        arguments = [
            Tile(argument, tile.dtype)
            for argument, tile in zip(entry.arguments, (*tiles, *tiles), strict=True)
        ]
        inner = Builder(trial, True, outer.warp_size, outer.fp8, outer.chip)
        with inner, ir.InsertionPoint(entry):
            function(*arguments)
        for op in entry.operations:
            name = op.operation.name
            values = (*op.operands, *op.results)
            of_tiles = any(isinstance(v.type, ir.RankedTensorType) for v in values)
            if of_tiles and name.startswith("tile.") and name not in _ELEMENTWISE:
                raise LanguageError(
                    f"{what}: the function gets pairs of elements, and may only "
                    f"compute with these, but makes '{name}'",
                    "treat a and b as scalars: tl.where(a > b, a, b)",
                )
    finally:
        trial.erase()


def _checked(function: Callable[..., Any], tiles: _Tiles, what: str) -> _Combine:
    """The function on tuples of fragments, with its results checked."""
    dtypes = [tile.dtype for tile in tiles]
    _check_elementwise(function, tiles, what)

    def combine(lhs: _Tiles, rhs: _Tiles) -> _Tiles:
        found = function(*lhs, *rhs)
        results = tuple(found) if isinstance(found, (tuple, list)) else (found,)
        fits = len(results) == len(dtypes) and all(
            isinstance(result, Value) and result.dtype == dtype
            for result, dtype in zip(results, dtypes, strict=True)
        )
        if not fits:
            wanted = ", ".join(map(str, dtypes))
            shown = ", ".join(map(describe, results))
            raise LanguageError(
                f"{what}: the function has to return {wanted} as it takes, found "
                f"{shown}"
            )
        return tuple(
            as_value(result, dtype, tile.shape)
            for result, dtype, tile in zip(results, dtypes, lhs, strict=True)
        )

    return combine


def _repeat(initial: Any, tiles: _Tiles, what: str) -> _Tiles:
    """The initial values of an exclusive scan, as fragments."""
    values = tuple(initial) if isinstance(initial, (tuple, list)) else (initial,)
    if len(values) != len(tiles):
        raise LanguageError(
            f"{what}: expected {len(tiles)} initial values, found {len(values)}"
        )
    return tuple(
        as_value(value, tile.dtype, tile.shape)
        for value, tile in zip(values, tiles, strict=True)
    )


def _prime_factors(number: int) -> list[int]:
    """The prime factors in ascending order, e.g. 12: [2, 2, 3]."""
    factors, factor = [], 2
    while number > 1:
        if factor * factor > number:
            factor = number
        while number % factor == 0:
            factors.append(factor)
            number //= factor
        factor += 1
    return factors


def _digits(tiles: _Tiles, axis: int, factor: int) -> list[_Tiles]:
    """For each of `factor` neighbours along an axis, these elements of each tile."""
    shape = tiles[0].shape
    groups = (*shape[:axis], shape[axis] // factor, factor, *shape[axis + 1 :])
    grouped = [reshape(tile, groups) for tile in tiles]
    return [
        tuple(tile[_at(axis + 1, place)] for tile in grouped) for place in range(factor)
    ]


def _at(axis: int, place: int) -> tuple[Any, ...]:
    """The index of one place along an axis."""
    return (*(slice(None),) * axis, place)
