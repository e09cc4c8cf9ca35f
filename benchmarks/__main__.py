"""The runner: ``python -m benchmarks``."""

from __future__ import annotations

import datetime
import pathlib
import sys
from typing import Any

import click
from rich.console import Console

from tilews import CompileError

from . import cases, compile_time, report, runner

GROUPS = ("compile", "gemm", "sparse", "attention", "softmax")
RESULTS = pathlib.Path(__file__).parent / "results"


def _split(context: click.Context, option: click.Parameter, text: str) -> list[str]:
    chosen = [name.strip() for name in text.split(",") if name.strip()]
    for name in chosen:
        if name not in GROUPS:
            raise click.BadParameter(f"'{name}' is none of {', '.join(GROUPS)}")
    if not chosen:
        raise click.BadParameter(f"name some of {', '.join(GROUPS)}")
    return [name for name in GROUPS if name in chosen]


@click.command()
@click.option(
    "--only",
    default=",".join(GROUPS),
    show_default=True,
    callback=_split,
    help="Groups to run, separated by commas; only compile needs no GPU.",
)
@click.option("--quick", is_flag=True, help="Few cases.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=1),
    default=30,
    show_default=True,
    help="Seconds until a compilation and run that gives no answer is killed.",
)
@click.option(
    "--results",
    type=click.Path(file_okay=False, path_type=pathlib.Path),
    default=RESULTS,
    help="Folder for the JSON and Markdown files.  [default: benchmarks/results]",
)
def main(only: list[str], quick: bool, timeout: float, results: pathlib.Path) -> None:
    """Measures tilews and its peers.

    Every result is compared with float64 before it is timed, on random data and with
    a cold L2 cache. The exit code is 1 if a kernel of tilews failed or was wrong.
    """
    # A file or a pipe has no width.
    console = Console() if sys.stdout.isatty() else Console(width=200)
    environment = report.environment()
    outcome: dict[str, Any] = {"environment": environment, "compile": [], "runs": []}
    parts = [*only, "quick"] if quick else only
    name = report.file_name(datetime.date.today(), environment["gpu"], parts)
    if "compile" in only:
        for chip in cases.compile_chips(quick):
            console.print(f"compile gemm for {chip}", highlight=False)
            try:
                outcome["compile"].append(compile_time.measure(chip))
            except CompileError as error:
                outcome["compile"].append({"chip": chip, "note": str(error)})
        report.save(outcome, results / name)
    selected = cases.gemm_cases(quick) if "gemm" in only else []
    selected += cases.sparse_cases(quick) if "sparse" in only else []
    selected += cases.attention_cases(quick) if "attention" in only else []
    selected += cases.softmax_cases(quick) if "softmax" in only else []
    if selected:
        for line in report.missing_peers():
            console.print(line, highlight=False)

        def tell(line: str) -> None:
            console.print(line, highlight=False, markup=False)
            # An interrupted run leaves its measurements so far.
            report.save(outcome, results / name)

        session = runner.Session(timeout, tell)
        outcome["runs"] = session.rows
        try:
            session.run(selected)
        except runner.WorkerError as error:
            raise click.ClickException(str(error)) from error
        environment.update(session.versions)
    paths = report.save(outcome, results / name)
    report.show(outcome, console)
    console.print(f"written: {', '.join(map(str, paths))}", highlight=False)
    if report.failures(outcome):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
