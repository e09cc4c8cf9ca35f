"""The command ``python -m tilews.enumerate``."""

from __future__ import annotations

import concurrent.futures
import itertools
import pathlib
from collections.abc import Iterator, Sequence

import click

from .._command_line import Command
from ._compare import Comparer, Disagreement
from ._grammar import FAMILIES, Schedule, enumerate_schedules
from ._state import State, digest
from ._texts import make_text

#: How many schedules a process judges between two writes of the state.
_CHUNK = 200


def judge_names(names: Sequence[str]) -> list[Disagreement]:
    """What is found of the schedules with these names."""
    judge = Comparer()
    return [judge.judge(Schedule.parse(name)) for name in names]


def _chunks(first: int, count: int) -> Iterator[list[tuple[str, str]]]:
    """The names of families and schedules, as many at a time as are judged at once."""
    named = ((family.name, str(each)) for family, each in enumerate_schedules())
    chosen = itertools.islice(named, first, first + count)
    while chunk := list(itertools.islice(chosen, _CHUNK)):
        yield chunk


def _run(state: State, path: pathlib.Path, count: int, jobs: int) -> None:
    """Judges the next schedules. The state is written after each chunk."""
    chunks = list(_chunks(state.next, count))
    with (
        concurrent.futures.ProcessPoolExecutor(jobs) as pool,
        click.progressbar(length=sum(map(len, chunks)), label="schedules") as bar,
    ):
        names = ([name for _, name in chunk] for chunk in chunks)
        found = pool.map(judge_names, names)
        try:
            for chunk, findings in zip(chunks, found, strict=True):
                for (family, _), each in zip(chunk, findings, strict=True):
                    state.add(family, each)
                state.save(path)
                bar.update(len(chunk))
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


@click.command(cls=Command)
@click.option(
    "--count",
    type=click.IntRange(min=0),
    default=10000,
    show_default=True,
    help="How many schedules to judge, after those that the state has.",
)
@click.option(
    "--state",
    "path",
    type=click.Path(dir_okay=False, path_type=pathlib.Path),
    default="build/enumerate.json",
    show_default=True,
    help="The file with what was found so far.",
)
@click.option(
    "--jobs", type=click.IntRange(min=1), default=1, help="The number of processes."
)
@click.option("--emit", metavar="NAME", help="Print the IR of a schedule.")
@click.option("--judge", metavar="NAME", help="Print what is found of a schedule.")
def main(
    count: int, path: pathlib.Path, jobs: int, emit: str | None, judge: str | None
) -> None:
    """Compare the verifier with all runs of all schedules of a small grammar.

    Fails if they disagree.

    \b
    python -m tilews.enumerate --count 200000 --jobs 2
    python -m tilews.enumerate --emit channels/2/none/flat/A0F0C0-W0L0R0
    """
    try:
        if emit:
            click.echo(make_text(Schedule.parse(emit)), nl=False)
            return
        if judge:
            found = Comparer().judge(Schedule.parse(judge))
            click.echo(f"{found.outcome}: {found.verdict} {found.reason}".rstrip())
            fault = found.fault or "no fault"
            click.echo(f"simulator: {fault} {found.inputs}".rstrip())
            return
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    state = State.load(path, digest(FAMILIES))
    _run(state, path, count, jobs)
    click.echo(state.report())
    if not state.is_agreed:
        raise click.ClickException("verifier and simulator disagree")


if __name__ == "__main__":
    main(prog_name="python -m tilews.enumerate")
