"""How compile times grow: ``python -m benchmarks.scaling``.

Compiles kernels of size n/4, n/2 and n along each axis of ``axes.py``, pass by pass.
The exponent of a pass is the binary logarithm of count(n) / count(n/2), where a count
is of executed instructions (``counting.py``). CPU times (``pass_times.py``) are on the
page too. Unlike them, counts do not depend on caches or on what else a machine does.
"""

from __future__ import annotations

import json
import pathlib
import sys
from collections.abc import Callable
from typing import Any

import click

from . import counting, processes, tables
from .axes import AXES, Axis
from .series import Series

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "scaling.md"
#: Seconds until a process that measures times is killed.
TIMEOUT = 600

#: Figures by axis, chip and flag.
Figures = dict[str, dict[str, dict[str, Any]]]


def time_axis(axis: Axis, repeats: int) -> dict[str, dict[str, list[float]]]:
    """The seconds by chip and flag, each chip in a process of its own.

    Raises:
        click.ClickException: a process failed, crashed, or took too long.
    """
    times = {}
    for chip in axis.chips:
        command = [sys.executable, "-m", "benchmarks.scaling.pass_times"]
        command += [axis.name, chip, str(repeats)]
        output = processes.run(command, f"{axis.name} on {chip}", TIMEOUT)
        times[chip] = json.loads(output)
    return times


def complete(
    file: pathlib.Path | None, axes: list[Axis], measure: Callable[[Axis], Any]
) -> Figures:
    """The figures in the file, and new ones of the axes that it lacks.

    The file is written after each axis, so that an interrupted run can go on.
    """
    found: Figures = json.loads(file.read_text()) if file and file.exists() else {}
    for axis in axes:
        if axis.name in found:
            continue
        click.echo(axis.name, err=True)
        found[axis.name] = measure(axis)
        if file:
            file.write_text(json.dumps(found))
    return found


def join(axes: list[Axis], times: Figures, counts: Figures) -> list[Series]:
    """Times and counts of all passes."""
    return [
        Series(
            flag,
            axis.name,
            chip,
            axis.size,
            tuple(times[axis.name][chip][flag]),
            tuple(instructions),
        )
        for axis in axes
        for chip in axis.chips
        for flag, instructions in counts[axis.name][chip].items()
    ]


_FILE = click.Path(dir_okay=False, path_type=pathlib.Path)


@click.command()
@click.option("--only", help="Axes, separated by commas.  [default: all]")
@click.option("--repeats", default=5, show_default=True, help="Least runs of a kernel.")
@click.option("--table", is_flag=True, help=f"Write docs/{PAGE.name}.")
@click.option("--times", type=_FILE, help="A JSON file of times to begin with.")
@click.option("--counts", type=_FILE, help="A JSON file of counts to begin with.")
def main(
    only: str | None,
    repeats: int,
    table: bool,
    times: pathlib.Path | None,
    counts: pathlib.Path | None,
) -> None:
    """Measures how the work of each pass grows with the size of a kernel.

    Files of times and counts keep each axis that is complete, so that an interrupted
    run goes on where it was. Delete them to measure anew.
    """
    names = only.split(",") if only else [axis.name for axis in AXES]
    axes = [axis for axis in AXES if axis.name in names]
    if len(axes) < len(names):
        raise click.BadParameter(f"axes are {', '.join(axis.name for axis in AXES)}")
    found = join(
        axes,
        complete(times, axes, lambda axis: time_axis(axis, repeats)),
        complete(counts, axes, lambda axis: counting.count(axis, axis.chips)),
    )
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
