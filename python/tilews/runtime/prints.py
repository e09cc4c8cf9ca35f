"""What a kernel prints: lines for scalars, tables for fragments; and breakpoints.

The native module gives the text of each print of a block: a line for each element, with
its coordinates, such as ``block (0, 0, 0): x (1, 2) 0.5``.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from .device_variables import print_limit

_ELEMENT = re.compile(r"(block \([\d, ]+\): .*?) \(([\d, ]*)\) (\S+)")
_BREAKPOINT = re.compile(r"block \((\d+), (\d+), (\d+)\): breakpoint (?=\[)")


def breakpoint_message(
    place: tuple[str, int, str],
    values: Mapping[str, tuple[str, Sequence[int] | None]],
    constants: Mapping[str, Any],
) -> str:
    """The message of a print that opens a debugger instead.

    Args:
        place: file, line and function.
        values: the NumPy type and the shape of each value that is printed, by name.
        constants: other values by name, as JSON has them.
    """
    return "breakpoint " + json.dumps([place, values, constants])


class Printer:
    """Shows what one run of a kernel prints."""

    def __init__(self) -> None:
        limit = print_limit()
        self._left = math.inf if limit is None else limit

    def show(self, text: str) -> None:
        """Prints the values of one print of a block, or opens a debugger for them."""
        if found := _BREAKPOINT.match(text):
            _stop(text, found)
            return
        for line in _tables(text.splitlines()):
            if self._left == 0:
                print(
                    "... and more; TILEWS_PRINT_LINES=0 prints all that kernels print"
                )
            self._left -= 1
            if self._left >= 0:
                print(line)

    def tell_lost(self, count: int, size: int) -> None:
        """Says that prints were left out, for which the memory had no room.

        Args:
            count: of them.
            size: of the memory, in bytes.
        """
        print(
            f"... and {count} more prints of blocks, for which the {size >> 20} MiB of "
            "the prints of a run have no room; print fewer or smaller values"
        )


def _tables(lines: list[str]) -> Iterator[str]:
    """The lines with the elements of each fragment as a table."""
    head, elements = "", dict[tuple[int, ...], str]()
    for line in [*lines, ""]:
        found = _ELEMENT.fullmatch(line)
        place = tuple(map(int, found[2].split(", "))) if found and found[2] else ()
        # A fragment ends where another one starts.
        if elements and not any(place):
            yield from _table(head, elements)
            elements = {}
        if found and place:
            head, elements[place] = found[1], found[3]
        elif found:
            yield f"{found[1]} {found[3]}"
        elif line:
            yield line


def _table(head: str, elements: dict[tuple[int, ...], str]) -> Iterator[str]:
    """A fragment, shortened by numpy's print options."""
    options = np.get_printoptions()
    shape = tuple(extent + 1 for extent in max(elements))
    edge = options["edgeitems"] if len(elements) > options["threshold"] else None

    def cell(place: Sequence[str]) -> str:
        if "..." in place:
            return "..."
        text = elements[tuple(map(int, place))]
        if text.lstrip("-").isdecimal():
            return text
        return f"{float(text):.{options['precision']}g}"

    yield f"{head}, shape {shape}"
    outer = itertools.product(*(_places(extent, edge) for extent in shape[:-2]))
    titles = _places(shape[-2], edge) if len(shape) > 1 else [""]
    for place in outer:
        if place:
            yield f"  [{', '.join(place)}, :, :]"
        if "..." in place:
            continue
        columns = [["", *titles]]
        for column in _places(shape[-1], edge):
            rows = [(*place, row, column)[-len(shape) :] for row in titles]
            columns.append([column, *map(cell, rows)])
        yield from _lines(columns, options["linewidth"])


def _lines(columns: list[list[str]], width: int) -> Iterator[str]:
    """A table in parts that fit a line; each has the first column."""
    titles, *others = [
        [text.rjust(max(map(len, column))) for text in column] for column in columns
    ]
    while others:
        count, used = 1, 4 + len(titles[0]) + len(others[0][0])
        while count < len(others) and used + 2 + len(others[count][0]) <= width:
            used += 2 + len(others[count][0])
            count += 1
        for line in zip(titles, *others[:count], strict=True):
            yield "  " + "  ".join(line)
        others = others[count:]


def _places(extent: int, edge: int | None) -> list[str]:
    """The coordinates along a dimension that a table shows."""
    places = [*map(str, range(extent))]
    if edge is None or extent <= 2 * edge:
        return places
    return [*places[:edge], "...", *places[extent - edge :]]


def _stop(text: str, found: re.Match[str]) -> None:
    """Opens the debugger of ``breakpoint()`` at a place in a kernel."""
    message, end = json.JSONDecoder().raw_decode(text, found.end())
    (filename, line, name), values, constants = message
    texts = iter([each[end:].split()[-1] for each in text.splitlines() if each[end:]])
    scope: dict[str, Any] = {**constants, "block": tuple(map(int, found.groups()))}
    for value, (dtype, shape) in values.items():
        elements = [*itertools.islice(texts, math.prod(shape or ()))]
        read = int if "int" in dtype or dtype == "bool" else float
        array = np.array([*map(read, elements)]).astype(
            getattr(ml_dtypes, dtype, dtype)
        )
        scope[value] = array[0] if shape is None else array.reshape(shape)
    # A debugger shows the lines of the kernel, and stops after the breakpoint.
    source = "\n" * (line - 1) + "breakpoint()\npass\n"
    exec(compile(source, filename, "exec").replace(co_name=name), scope)
