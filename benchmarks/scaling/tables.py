"""The page about compile times, ``docs/scaling.md``, from measured series."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .__main__ import Series

from .axes import AXES

#: Shorter times in seconds are noise.
FLOOR = 0.01
#: Exponents above this need a reason.
LIMIT = 1.3
#: Not passes.
_REST = ("parse", "verify", "total")


@dataclasses.dataclass(frozen=True)
class Reason:
    """Why a pass is not linear on some axes; an empty tuple stands for all."""

    flags: tuple[str, ...]
    axes: tuple[str, ...]
    text: str


REASONS: tuple[Reason, ...] = ()

_HEAD = """<!-- Made by `make scaling`; edit benchmarks/scaling/tables.py. -->

# How compile times grow
"""


def render(found: list[Series]) -> str:
    """The whole page."""
    return "\n".join([_HEAD, render_tables(found)])


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _table(head: list[str], rows: Iterable[list[str]]) -> str:
    return "\n".join([_row(head), _row(["---"] * len(head)), *map(_row, rows)])


def find_reason(series: Series) -> str:
    """One line on an exponent above the limit; empty if none is known."""
    for reason in REASONS:
        if (not reason.flags or series.flag in reason.flags) and (
            not reason.axes or series.axis in reason.axes
        ):
            return reason.text
    return ""


def _worst(found: list[Series]) -> dict[tuple[str, str], Series]:
    """The series with the largest exponent, by flag and axis."""
    worst: dict[tuple[str, str], Series] = {}
    for series in found:
        place = (series.flag, series.axis)
        before = worst.get(place)
        if before is None or (series.exponent or 0) > (before.exponent or 0):
            worst[place] = series
    return worst


def _cell(series: Series | None) -> str:
    if series is None:
        return ""
    if series.exponent is None:
        return "·"
    text = f"{series.exponent:.1f}"
    return f"**{text}**" if series.exponent > LIMIT else text


def _exponents(found: list[Series]) -> str:
    axes = [axis.name for axis in AXES if any(s.axis == axis.name for s in found)]
    flags = list(dict.fromkeys(series.flag for series in found))
    worst = _worst(found)
    rows = []
    for flag in sorted(flags, key=lambda flag: (flag in _REST, flags.index(flag))):
        cells = [_cell(worst.get((flag, axis))) for axis in axes]
        rows.append([f"`{flag}`" if flag not in _REST else flag, *cells])
    return _table(["pass", *axes], rows)


def _above(found: list[Series]) -> str:
    rows = [
        [
            f"`{s.flag}`" if s.flag not in _REST else s.flag,
            s.axis,
            s.chip,
            str(s.size),
            f"{1e3 * s.seconds[-1]:.0f}",
            f"{s.exponent:.1f}",
            find_reason(s),
        ]
        for s in _worst(found).values()
        if s.exponent is not None and s.exponent > LIMIT and s.flag != "total"
    ]
    head = ["pass", "axis", "chip", "n", "ms at n", "exponent", "reason"]
    return _table(head, sorted(rows))


def _totals(found: list[Series]) -> str:
    meanings = {axis.name: axis.meaning for axis in AXES}
    rows = [
        [
            s.axis,
            meanings[s.axis],
            s.chip,
            str(s.size),
            *(f"{1e3 * seconds:.0f}" for seconds in s.seconds),
            _cell(s),
        ]
        for s in found
        if s.flag == "total"
    ]
    head = ["axis", "n is the number of", "chip", "n", "ms at n/4", "n/2", "n"]
    return _table([*head, "exponent"], rows)


def render_tables(found: list[Series]) -> str:
    """The tables alone."""
    return "\n\n".join(
        [
            "## Whole pipelines",
            _totals(found),
            "## Exponents",
            _exponents(found),
            f"## Exponents above {LIMIT}",
            _above(found),
        ]
    )
