"""The times of verdicts on schedules: ``python -m benchmarks.verdicts``.

Compiles the kernels of the tests, examples and benchmarks, guarded kernels of up to 8
stages, and ping-pong kernels with faults. Prints the slowest verdicts of
``--tile-verify-schedule``. Times are CPU times, the shorter of two runs. Nothing fails
if they are long: the number of states is what to look at when they differ.
"""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Callable, Iterator

import click

from .timed import Timed, compiled, faulty, guarded

_TESTS = pathlib.Path(__file__).parents[2] / "test" / "python"
GROUPS: dict[str, Callable[[], Iterator[Timed]]] = {
    "compiled": compiled,
    "guarded": guarded,
    "faulty": faulty,
}


def _table(rows: list[Timed]) -> str:
    lines = ["| ms | states | verdict | after | kernel |"]
    lines.append("| --- | --- | --- | --- | --- |")
    for row in rows:
        states = "" if row.states is None else row.states
        lines.append(
            f"| {1e3 * row.seconds:.1f} | {states} | {row.verdict} | {row.after} | "
            f"{row.kernel} |"
        )
    return "\n".join(lines)


@click.command()
@click.option(
    "--only",
    type=click.Choice(list(GROUPS)),
    multiple=True,
    help="A group of kernels; may be repeated.  [default: all]",
)
@click.option("--slowest", default=10, show_default=True, help="Rows of each table.")
def main(only: tuple[str, ...], slowest: int) -> None:
    """Prints the slowest verdicts on schedules, of each group of kernels."""
    sys.path.append(str(_TESTS))
    for name in only or GROUPS:
        found = sorted(GROUPS[name](), key=lambda row: -row.seconds)
        total = sum(row.seconds for row in found)
        unsupported = sum(row.verdict == "unsupported" for row in found)
        click.echo(
            f"\n{name}: {len(found)} verdicts in {total:.1f} s, {unsupported} of them "
            f"unsupported\n\n{_table(found[:slowest])}"
        )


if __name__ == "__main__":
    main()
