"""The page of compile times has a row for every pass, and no axis is too short."""

import re
from pathlib import Path

from benchmarks.scaling.__main__ import Series, pipeline_of
from benchmarks.scaling.axes import AXES
from benchmarks.scaling.tables import FLOOR, find_unmeasured
from tilews import passes

PAGE = Path(__file__).parents[3] / "docs/scaling.md"


def test_every_pass_of_a_pipeline_is_a_row():
    _, table = PAGE.read_text().split("\n## Exponents\n", 1)
    rows = re.findall(r"^\| `([\w-]+)` \|", table.split("\n## ")[0], re.MULTILINE)
    chips = {chip for axis in AXES for chip in axis.chips}
    flags = {
        element.partition("{")[0]
        for chip in chips
        for element in passes.expand(pipeline_of(chip))
    }
    assert set(rows) == flags


def test_a_pass_without_an_exponent_is_found():
    def make(flag: str, axis: str, seconds: float) -> Series:
        return Series(flag, axis, "sm_80", 8, (seconds / 4, seconds / 2, seconds))

    found = [
        make("cse", "loads", FLOOR / 2),
        make("cse", "copies", FLOOR * 2),
        make("canonicalize", "loads", FLOOR / 2),
        make("tile-split-k", "functions", FLOOR * 2),
    ]
    assert find_unmeasured(found) == ["canonicalize", "tile-split-k"]
