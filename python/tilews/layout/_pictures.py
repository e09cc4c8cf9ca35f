"""Pictures of layouts: tables in text, SVG, and PNG where matplotlib is installed."""

from __future__ import annotations

import io
import itertools
import os
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from .._support import files

if TYPE_CHECKING:  # This module is imported by the layouts.
    from .._mlir_libs._tilews.layout import FragmentLayout, Layout

#: Larger pictures are unreadable.
MAX_CELLS = 1 << 16
#: Colors of groups of cells, in rotation; light enough for black text.
COLORS = (
    *("#cfe2f3", "#fce5cd", "#d9ead3", "#f4cccc", "#d9d2e9", "#fff2cc"),
    *("#d0e0e3", "#ead1dc", "#c9daf8", "#e6b8af", "#b6d7a8", "#ffe599"),
)
CELL_HEIGHT = 24


@dataclass
class Grid:
    """The cells of a picture, row by row: the text of each cell, and its group."""

    texts: list[list[str]]
    groups: list[list[int]]

    @property
    def columns(self) -> int:
        """The number of columns."""
        return len(self.texts[0])


def _check_size(rows: int, columns: int) -> None:
    if rows * columns > MAX_CELLS:
        raise ValueError(
            f"a picture of {rows} x {columns} cells is too large: slice or divide "
            f"the layout to at most {MAX_CELLS} cells"
        )


def layout_grid(layout: Layout) -> Grid:
    """The offsets of a Layout: rows are its first mode, columns the others.

    Cells of one row-wise bank line (32 offsets) share a color. Raises ValueError
    if there are too many.
    """
    rows = layout[0].size if layout.rank > 1 else 1
    columns = layout.size // rows
    _check_size(rows, columns)
    offsets = layout.offsets().reshape(columns, rows).T
    texts = [[str(offset) for offset in row] for row in offsets]
    return Grid(texts, (offsets // 32).tolist())


def fragment_grid(fragment: FragmentLayout, shape: Sequence[int]) -> Grid:
    """Thread and value of each element of a fragment of `shape` (rank 1 or 2).

    An element in several registers shows the first, and how many more there are;
    one in none is empty. Raises ValueError for other ranks and for too many cells.
    """
    if len(shape) not in (1, 2):
        raise ValueError(f"expected a shape of rank 1 or 2, found {list(shape)}")
    rows, columns = (1, shape[0]) if len(shape) == 1 else shape
    _check_size(rows, columns)
    holders: dict[tuple[int, int], list[tuple[int, int]]] = {}
    table = fragment.table(len(shape))
    for thread, value in itertools.product(*map(range, table.shape[:2])):
        row, column = [0, *map(int, table[thread, value])][-2:]
        holders.setdefault((row, column), []).append((thread, value))
    texts = [[""] * columns for _ in range(rows)]
    groups = [[-1] * columns for _ in range(rows)]
    for (row, column), found in holders.items():
        if row < rows and column < columns:
            (thread, value), more = found[0], len(found) - 1
            texts[row][column] = f"T{thread} V{value}" + (f" +{more}" if more else "")
            groups[row][column] = thread
    return Grid(texts, groups)


def to_text(grid: Grid) -> str:
    """The grid as lines, rows and columns numbered."""
    width = max(len(text) for row in grid.texts for text in row)
    width = max(width, len(str(grid.columns - 1)))
    margin = len(str(len(grid.texts) - 1))
    lines = [
        " ".join([" " * margin, "|"] + [f"{c:>{width}}" for c in range(grid.columns)])
    ]
    lines.append("-" * (margin + 1) + "+" + "-" * (len(lines[0]) - margin - 2))
    for number, row in enumerate(grid.texts):
        cells = " ".join(f"{text:>{width}}" for text in row)
        lines.append(f"{number:>{margin}} | {cells}")
    return "\n".join(line.rstrip() for line in lines)


def _color(group: int) -> str:
    return "#ffffff" if group < 0 else COLORS[group % len(COLORS)]


def _cell_width(grid: Grid) -> int:
    longest = max(len(text) for row in grid.texts for text in row)
    return max(CELL_HEIGHT, 8 * longest + 8)


def to_svg(grid: Grid, title: str) -> str:
    """The grid as an SVG document with a title."""
    width, height = _cell_width(grid), CELL_HEIGHT
    left, top = 40, 44
    total = (left + width * grid.columns + 8, top + height * len(grid.texts) + 8)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total[0]}" '
        f'height="{total[1]}" font-family="monospace" font-size="12" '
        'text-anchor="middle">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{total[0]}" height="{total[1]}" fill="#ffffff"/>',
        f'<text x="8" y="16" text-anchor="start">{escape(title)}</text>',
    ]
    for column in range(grid.columns):
        x = left + width * column + width // 2
        out.append(f'<text x="{x}" y="{top - 6}" fill="#666666">{column}</text>')
    for number, (texts, groups) in enumerate(zip(grid.texts, grid.groups, strict=True)):
        y = top + height * number
        out.append(f'<text x="{left - 16}" y="{y + 16}" fill="#666666">{number}</text>')
        for column, (text, group) in enumerate(zip(texts, groups, strict=True)):
            x = left + width * column
            out.append(
                f'<rect x="{x}" y="{y}" width="{width}" height="{height}" '
                f'fill="{_color(group)}" stroke="#444444"/>'
                f'<text x="{x + width // 2}" y="{y + 16}">{escape(text)}</text>'
            )
    return "\n".join([*out, "</svg>", ""])


def _write_png(grid: Grid, title: str, path: Path) -> None:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ValueError(
            "a .png needs matplotlib: install it, or write an .svg"
        ) from error
    width = _cell_width(grid) / CELL_HEIGHT
    size = (max(0.3 * width * grid.columns, 3), 0.3 * len(grid.texts) + 0.6)
    figure = Figure(figsize=size, dpi=120)
    axes = figure.add_subplot()
    axes.set_title(title, fontsize=8)
    axes.set_axis_off()
    colors = [[_color(group) for group in row] for row in grid.groups]
    drawn = axes.table(grid.texts, cellColours=colors, loc="center", cellLoc="center")
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(6)
    image = io.BytesIO()
    FigureCanvasAgg(figure).print_png(image)
    files.write(path, image.getvalue())


def _write(grid: Grid, title: str, path: str | os.PathLike[str]) -> None:
    target = Path(path)
    if target.suffix == ".svg":
        files.write(target, to_svg(grid, title))
    elif target.suffix == ".png":
        _write_png(grid, title, target)
    else:
        raise ValueError(f"expected a path that ends in .svg or .png, found {target}")


def table(layout: Layout) -> str:
    """The text of `Layout.table`."""
    return to_text(layout_grid(layout))


def plot(layout: Layout, path: str | os.PathLike[str]) -> None:
    """The implementation of `Layout.plot`."""
    _write(layout_grid(layout), str(layout), path)


def fragment_table(fragment: FragmentLayout, shape: Sequence[int]) -> str:
    """The text of `FragmentLayout.picture`."""
    return to_text(fragment_grid(fragment, shape))


def plot_fragment(
    fragment: FragmentLayout, shape: Sequence[int], path: str | os.PathLike[str]
) -> None:
    """The implementation of `FragmentLayout.plot`."""
    extents = " x ".join(map(str, shape))
    title = f"{extents} over {fragment.threads} threads x {fragment.registers} values"
    _write(fragment_grid(fragment, shape), title, path)
