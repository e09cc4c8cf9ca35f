"""How compile times grow: ``python -m benchmarks.scaling``.

Compiles kernels of size n, 2n and 4n along each axis of ``axes.py``, pass by
pass, in a process for each axis and chip. Prints the exponent of each pass: the binary
logarithm of time(4n) / time(2n). A pass of linear time has 1, of quadratic time 2.
Times are CPU times without threads, the shortest of some runs.
"""

from __future__ import annotations

import dataclasses
import json
import math
import pathlib
import subprocess
import sys
import time
from typing import Any

import click
from tilews.passmanager import PassManager

from tilews import ir, passes

from . import tables
from .axes import AXES, Axis

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "scaling.md"
#: Seconds until a process is killed.
TIMEOUT = 600
#: A kernel is compiled again until that takes so many seconds, but not more often than
#: this. So the shortest times of passes of a millisecond are no noise.
REPEAT_SECONDS, MOST_REPEATS = 2.0, 20


@dataclasses.dataclass(frozen=True)
class Series:
    """The times of one pass on one axis.

    Attributes:
        flag: of the pass; ``parse``, ``verify`` and ``total`` for the rest.
        axis: the name of the axis.
        chip: the target.
        size: the largest of the three sizes.
        seconds: for a quarter, a half and all of the size.
    """

    flag: str
    axis: str
    chip: str
    size: int
    seconds: tuple[float, float, float]

    @property
    def exponent(self) -> float | None:
        """None if the times are too short to tell."""
        _, half, full = self.seconds
        if full < tables.FLOOR or half < tables.FLOOR / 8:
            return None
        return math.log2(full / half)


def pipeline_of(chip: str) -> str:
    """The whole pipeline for a chip."""
    dialect = "rocdl" if chip.startswith("gfx") else "nvvm"
    return f"tilews-to-{dialect}{{chip={chip}}}"


def time_once(text: str, chip: str) -> dict[str, float]:
    """The CPU seconds of each pass; passes that run several times are summed up.

    Raises:
        ir.MLIRError: the text is no module.
        RuntimeError: a pass failed.
    """
    seconds: dict[str, float] = {}

    def add(flag: str, start: float) -> None:
        seconds[flag] = seconds.get(flag, 0.0) + time.process_time() - start

    with ir.Context() as context:
        context.enable_multithreading(False)
        # Remarks would be collected, and printed by nobody.
        handler = context.attach_diagnostic_handler(lambda _: True)
        start = time.process_time()
        module = ir.Module.parse(text)
        add("parse", start)
        for element in passes.expand(pipeline_of(chip)):
            manager = PassManager.parse(f"builtin.module(gpu.module({element}))")
            manager.enable_verifier(False)
            start = time.process_time()
            manager.run(module.operation)
            add(element.partition("{")[0], start)
        start = time.process_time()
        module.operation.verify()
        add("verify", start)
        handler.detach()
    seconds["total"] = sum(seconds.values())
    return seconds


def time_passes(axis: Axis, chip: str, size: int, repeats: int) -> dict[str, float]:
    """The shortest time of each pass for one kernel, of `repeats` runs or more."""
    text = axis.make(size)
    runs = [time_once(text, chip) for _ in range(repeats)]
    seconds = sum(run["total"] for run in runs)
    while seconds < REPEAT_SECONDS and len(runs) < MOST_REPEATS:
        runs.append(time_once(text, chip))
        seconds += runs[-1]["total"]
    return {flag: min(run[flag] for run in runs) for flag in runs[0]}


def measure(axis: Axis, chip: str, scale: float, repeats: int) -> list[Series]:
    """The times of all passes on an axis."""
    size = int(axis.size * scale)
    times = [time_passes(axis, chip, size // part, repeats) for part in (4, 2, 1)]
    return [
        Series(flag, axis.name, chip, size, tuple(each[flag] for each in times))
        for flag in times[-1]
    ]


def run_worker(axis: Axis, chip: str, scale: float, repeats: int) -> list[Series]:
    """Measures in a process of its own, whose end does not end this one.

    Raises:
        click.ClickException: it failed, crashed, or took too long.
    """
    command = [sys.executable, "-m", "benchmarks.scaling", "--worker"]
    command += ["--only", axis.name, "--chip", chip]
    command += ["--scale", str(scale), "--repeats", str(repeats)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        raise click.ClickException(
            f"{axis.name} on {chip}: no end after {TIMEOUT} s"
        ) from None
    if done.returncode:
        raise click.ClickException(
            f"{axis.name} on {chip}: exit code {done.returncode}\n{done.stderr[-2000:]}"
        )
    return from_json(json.loads(done.stdout))


def to_json(found: list[Series]) -> list[dict[str, Any]]:
    return [dataclasses.asdict(series) for series in found]


def from_json(entries: list[dict[str, Any]]) -> list[Series]:
    return [Series(**entry) for entry in entries]


@click.command()
@click.option("--only", help="Axes, separated by commas.  [default: all]")
@click.option("--chip", help="One target.  [default: all]")
@click.option("--scale", default=1.0, show_default=True, help="A factor of all sizes.")
@click.option("--repeats", default=5, show_default=True, help="Least runs of a kernel.")
@click.option("--table", is_flag=True, help=f"Write docs/{PAGE.name}.")
@click.option(
    "--times",
    type=click.Path(dir_okay=False, path_type=pathlib.Path),
    help="Write the times to this JSON file, or read them from it if it exists.",
)
@click.option("--worker", is_flag=True, hidden=True)
def main(
    only: str | None,
    chip: str | None,
    scale: float,
    repeats: int,
    table: bool,
    times: pathlib.Path | None,
    worker: bool,
) -> None:
    """Measures how the time of each pass grows with the size of a kernel."""
    names = only.split(",") if only else [axis.name for axis in AXES]
    axes = [axis for axis in AXES if axis.name in names]
    if len(axes) < len(names):
        raise click.BadParameter(f"axes are {', '.join(axis.name for axis in AXES)}")
    cases = [
        (axis, target)
        for axis in axes
        for target in axis.chips
        if chip in (None, target)
    ]
    if worker:
        [(axis, target)] = cases
        json.dump(to_json(measure(axis, target, scale, repeats)), sys.stdout)
        return
    if times and times.exists():
        found = from_json(json.loads(times.read_text()))
    else:
        found = []
        for axis, target in cases:
            found += run_worker(axis, target, scale, repeats)
            seconds = found[-1].seconds[-1]
            click.echo(f"{axis.name}, {target}: {seconds:.2f} s", err=True)
        if times:
            times.write_text(json.dumps(to_json(found)))
    if table:
        PAGE.write_text(tables.render(found))
        if unmeasured := tables.find_unmeasured(found):
            raise click.ClickException(
                f"no axis is long enough for {', '.join(unmeasured)}: raise a size"
            )
    else:
        click.echo(tables.render_tables(found))


if __name__ == "__main__":
    main()
