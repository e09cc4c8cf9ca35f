"""The page of compile times has all passes and axes, and a reason for each exponent."""

import re
from pathlib import Path

import click
import pytest

from benchmarks.scaling import counting
from benchmarks.scaling.axes import AXES
from benchmarks.scaling.pass_times import flags_of
from benchmarks.scaling.series import FLOOR, TOTAL, Series
from benchmarks.scaling.tables import LIMIT, UNKNOWN, find_unmeasured, render_tables

PAGE = Path(__file__).parents[3] / "docs/scaling.md"


def read_section(title: str) -> str:
    _, rest = PAGE.read_text().split(f"\n## {title}\n", 1)
    return rest.split("\n## ")[0]


def make_series(flag: str, axis: str, half: int, full: int) -> Series:
    return Series(flag, axis, "sm_80", 8, (0.1, 0.2, 0.4), (half, full))


def test_every_pass_of_a_pipeline_is_a_row():
    rows = re.findall(r"^\| `([\w-]+)` \|", read_section("Exponents"), re.M)
    chips = {chip for axis in AXES for chip in axis.chips}
    assert set(rows) == {flag for chip in chips for flag in flags_of(chip)}


def test_every_axis_is_on_the_page():
    totals = read_section("Whole pipelines")
    measured = re.findall(r"^\| ([^|]+) \| [^|]+ \| (?:sm_|gfx)", totals, re.M)
    (head,) = re.findall(r"^\| pass \| (.*) \|$", read_section("Exponents"), re.M)
    names = [axis.name for axis in AXES]
    assert list(dict.fromkeys(measured)) == names
    assert head.split(" | ") == names


def test_every_exponent_above_the_limit_has_a_reason():
    above = read_section(f"Exponents above {LIMIT}")
    rows = re.findall(r"^\| (\S+ \| [^|]+) \| (?:sm_|gfx).*\| (.*) \|$", above, re.M)
    assert rows
    assert not [row for row, reason in rows if reason == UNKNOWN]


def test_a_pass_without_an_exponent_is_found():
    found = [
        make_series("cse", "loads", FLOOR // 4, FLOOR // 2),
        make_series("cse", "copies", FLOOR, FLOOR * 2),
        make_series("canonicalize", "loads", FLOOR // 4, FLOOR // 2),
        make_series("tile-split-k", "functions", FLOOR, FLOOR * 2),
        make_series("tile-split-k", "loads", FLOOR // 4, FLOOR // 2),
        make_series("tile-set-target", "loads", FLOOR // 2, FLOOR // 2),
    ]
    assert find_unmeasured(found) == ["canonicalize", "tile-split-k"]
    assert find_unmeasured(found[::-1]) == ["tile-split-k", "canonicalize"]


def test_exponents_above_the_limit_are_marked_and_listed():
    found = [
        make_series("cse", "scalars", FLOOR, FLOOR * 4),
        make_series("canonicalize", "scalars", FLOOR, FLOOR * 2),
        make_series(TOTAL, "scalars", FLOOR * 2, FLOOR * 6),
    ]
    text = render_tables(found)
    assert "| `cse` | **2.0** |" in text
    assert "| `canonicalize` | 1.0 |" in text
    _, above = text.split(f"## Exponents above {LIMIT}")
    assert f"| `cse` | scalars | sm_80 | 8 | 400 | 0 | 2.0 | {UNKNOWN} |" in above
    assert "canonicalize" not in above


def write_runs(folder: Path, instructions: list[int]) -> None:
    for index, count in enumerate(instructions, 1):
        (folder / f"run.{index}").write_text(f"events: Ir\nsummary: {count}\n")


def test_runs_are_read_in_the_order_of_their_numbers(tmp_path: Path):
    write_runs(tmp_path, list(range(100, 112)))
    assert counting.read_runs(tmp_path) == list(range(100, 112))


def test_counts_of_a_pass_that_runs_several_times_are_a_sum():
    flags = flags_of("sm_80")
    runs = [1] * len(flags) + [3] * len(flags)
    counts = counting.sum_up(runs, ("sm_80",))["sm_80"]
    assert flags.count("cse") > 1
    assert counts["cse"] == [flags.count("cse"), 3 * flags.count("cse")]
    assert counts[TOTAL] == [len(flags), 3 * len(flags)]


def test_a_missing_run_is_an_error():
    with pytest.raises(click.ClickException, match="callgrind saw 3 of"):
        counting.sum_up([1, 2, 3], ("sm_80",))


def test_a_missing_valgrind_is_an_error(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(click.ClickException, match="apt-get install valgrind"):
        counting.count(AXES[0], AXES[0].chips)
