"""The tiles of operations on rows."""

from __future__ import annotations

import dataclasses

from ..host import fail

#: The longest row that a block keeps in registers: 32 elements a thread.
LONGEST_ROW = 32768
#: Elements of a row that is longer, which a block takes at a time.
PIECE = 8192


@dataclasses.dataclass(frozen=True)
class RowTile:
    """Rows and columns of a tile, and the threads of a block."""

    rows: int
    columns: int
    threads: int


def row_tile(length: int, longest: int = LONGEST_ROW) -> RowTile:
    """A tile that holds whole rows, or a piece of one that is too long.

    Short rows share a block, so that it has 2048 elements or more.

    Args:
        length: of a row.
        longest: the longest row that a tile holds.
    """
    columns = max(32, 1 << max(0, length - 1).bit_length())
    if columns > longest:
        columns = PIECE
    rows = max(1, 2048 // columns)
    threads = min(1024, max(128, rows * columns // 16))
    return RowTile(rows, columns, threads)


def whole_row_tile(function: str, length: int) -> RowTile:
    """A tile with whole rows.

    Raises:
        LaunchError: a block cannot hold them.
    """
    if length > LONGEST_ROW:
        raise fail(
            function, f"expected rows of at most {LONGEST_ROW} elements, found {length}"
        )
    return row_tile(length)
