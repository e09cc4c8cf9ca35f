"""The ``tilews-sim`` command: runs a kernel of an .mlir file on the CPU.

:class:`_Command` holds the parsed command line. One of its methods does the work: it
replays a counterexample, compares the passes of a pipeline, or runs the kernel once a
timing and compares the results.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import pathlib
from collections.abc import Iterator, Sequence
from typing import Any

import click
import numpy as np

from .. import ir
from .._command_line import (
    Command,
    OutputFile,
    parse_extents,
    parse_pairs,
    refuse_ignored,
)
from .._support import files
from ..compiler import parse_file
from ..errors import CompileError
from ._arguments import make_arguments
from ._differential import TIMINGS, differential
from ._events import Event
from ._grid import find_grid
from ._options import BARRIERS, POLICIES, Exploration, RunOptions, get_grid
from ._replay import Counterexample, replay
from ._run import SimulationError, find_kernel, run


def _parse_integers(text: str | None) -> list[int] | None:
    if text is None:
        return None
    parts = text.split(",")
    if len(parts) > 3 or not all(part.strip().isdecimal() for part in parts):
        raise click.BadParameter(
            f"expected numbers as in 4,4, one to three and none negative, found "
            f"'{text}'"
        )
    return [int(part) for part in parts]


@dataclasses.dataclass(frozen=True)
class _Command:
    """The command line; each field is an option of :func:`main`."""

    file: str
    kernel: str | None
    given: tuple[str, ...]
    extents: tuple[str, ...]
    data_seed: int
    grid: str | None
    policy: str
    seed: int
    seeds: int | None
    runs: int
    save_replay: pathlib.Path | None
    schedule: str | None
    counterexample: str | None
    barriers: str
    max_steps: int
    out: tuple[str, ...]
    trace: pathlib.Path | None
    block: str
    pipeline: str | None
    tolerance: float
    folder: str | None

    def check(self) -> None:
        """Refuses options that have no effect beside others.

        Raises:
            click.UsageError: one is given.
        """
        refuse_ignored(
            {
                "block": None
                if self.trace
                else "is the block that --trace is about: give both",
                "runs": None
                if self.policy in ("worst", "exhaustive")
                else "goes with --policy worst or exhaustive only",
                "save_replay": None
                if self.policy in ("worst", "exhaustive")
                else "goes with --policy worst or exhaustive only",
                "seed": None
                if self.policy == "random" or self.seeds
                else "goes with --policy random or --seeds only",
                "policy": "is 'random' with --seeds: leave it out"
                if self.seeds and self.policy != "random"
                else "does not go with --schedule"
                if self.schedule
                else None,
                "seeds": "does not go with --schedule" if self.schedule else None,
                **dict.fromkeys(
                    ("tolerance", "folder"),
                    None if self.pipeline else "goes with --differential only",
                ),
            }
        )
        if self.pipeline:
            names = "schedule runs barriers max_steps out trace block".split()
            refuse_ignored(dict.fromkeys(names, "does not go with --differential"))
        if self.counterexample:
            fields = {field.name for field in dataclasses.fields(self)}
            names = [*(fields - {"file", "counterexample"})]
            refuse_ignored(dict.fromkeys(names, "does not go with --replay"))

    def execute(self) -> None:
        """Does what the command line asks for.

        Raises:
            click.ClickException: the kernel fails, or its results differ.
            ValueError, TypeError: an option does not fit the kernel.
        """
        outputs = {
            name: OutputFile().convert(path, None, None)
            for name, path in parse_pairs(self.out, "NAME=FILE").items()
        }
        context = ir.Context()
        with context, ir.Location.unknown():
            module = parse_file(self.file, context)
            if self.counterexample is not None:
                _run_replay(module, Counterexample.load(self.counterexample))
                return
            arguments = self._make_arguments(module, outputs)
            if self.pipeline is not None:
                self._run_differential(module, arguments, self.pipeline)
                return
            results = self._run_timings(module, arguments)
        for name, value in results.items():
            before = arguments[name]
            if isinstance(value, np.ndarray) and not np.array_equal(value, before):
                click.echo(f"{name}: {value.dtype}{list(value.shape)}\n{value}")
        for name, path in outputs.items():
            content = io.BytesIO()
            np.save(content, results[name])
            # As np.save names files.
            files.write(
                path if path.suffix == ".npy" else f"{path}.npy", content.getvalue()
            )

    def _make_arguments(
        self, module: ir.Module, files: dict[str, pathlib.Path]
    ) -> dict[str, Any]:
        """The kernel's arguments by name, which include the arrays to save."""
        arguments = make_arguments(
            find_kernel(module, self.kernel),
            parse_pairs(self.given, "NAME=VALUE"),
            parse_extents(self.extents),
            self.data_seed,
        )
        arrays = [n for n, value in arguments.items() if isinstance(value, np.ndarray)]
        for name in files:
            if name not in arrays:
                raise click.UsageError(
                    f"there is no array '{name}', only: {', '.join(arrays) or 'none'}"
                )
        return arguments

    def _timings(self) -> Sequence[RunOptions]:
        """A policy, all of them, a schedule, or the random policy with many seeds."""
        if self.schedule is not None:
            return [{"policy": "replay", "schedule": self.schedule}]
        if self.policy == "all":
            return TIMINGS
        if self.seeds is None:
            return [{"policy": self.policy, "seed": self.seed}]
        return [{"policy": "random", "seed": self.seed + i} for i in range(self.seeds)]

    def _run_differential(
        self, module: ir.Module, arguments: dict[str, Any], pipeline: str
    ) -> None:
        """Compares the kernel after each pass of a pipeline with the original."""
        found = differential(
            module,
            self.kernel,
            list(arguments.values()),
            pipeline,
            _parse_integers(self.grid),
            timings=self._timings()
            if self.policy != "earliest" or self.seeds
            else TIMINGS,
            tolerance=self.tolerance,
            folder=self.folder,
        )
        if found:
            raise click.ClickException(f"first difference: {found}")
        click.echo("no difference after any pass")

    def _run_timings(
        self, module: ir.Module, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        """Runs the kernel under each timing; returns the results, which are equal."""
        options: RunOptions = {
            "runs": self.runs,
            "barriers": self.barriers,
            "max_steps": self.max_steps,
            "record_block": _parse_integers(self.block) or [],
        }
        timings = self._timings()
        first: dict[str, Any] | None = None
        for timing in timings:
            explored: list[Exploration] = []
            with _recording(self.trace) as record:
                timed: RunOptions = {**options, **timing, "record": record}
                timed["explored"] = explored
                results = self._simulate(module, arguments, timed)
            first = results if first is None else first
            if changed := _find_changed(results, first):
                name, place = changed
                raise click.ClickException(
                    f"with {_describe(timing)}, element {place} of '{name}' is "
                    f"{results[name][place]}, with {_describe(timings[0])} "
                    f"{first[name][place]}"
                )
            click.echo(f"{_describe(timing)}: ran{_count(explored)}")
        return first or {}

    def _simulate(
        self, module: ir.Module, arguments: dict[str, Any], options: RunOptions
    ) -> dict[str, Any]:
        """Runs the kernel on copies of the arguments and returns them.

        A progress bar on a terminal counts the blocks.
        """
        from rich.console import Console
        from rich.progress import Progress

        copies = {
            name: value.copy() if isinstance(value, np.ndarray) else value
            for name, value in arguments.items()
        }
        console = Console(stderr=True)
        hidden = not console.is_terminal
        with Progress(console=console, transient=True, disable=hidden) as bar:
            task = bar.add_task("blocks", total=None)

            def progress(done: int, blocks: int) -> None:
                bar.update(task, completed=done, total=blocks)

            grid = _parse_integers(self.grid)
            values = list(copies.values())
            shown: RunOptions = {**options, "progress": progress}
            try:
                run(module, self.kernel, values, grid, **shown)
            except SimulationError as error:
                self._save(find_kernel(module, self.kernel), arguments, error)
                raise
        return copies

    def _save(
        self, kernel: ir.Operation, arguments: dict[str, Any], error: SimulationError
    ) -> None:
        """Writes the run that a search stopped at, if there is one."""
        if self.save_replay is None or error.schedule is None:
            return
        values = list(arguments.values())
        grid = get_grid(_parse_integers(self.grid)) or find_grid(kernel, values)
        found = Counterexample.from_error(kernel, values, error, grid or (1, 1, 1))
        found.save(self.save_replay)


@contextlib.contextmanager
def _recording(path: pathlib.Path | None) -> Iterator[list[Event] | None]:
    """A list for the events of a run, which are written to a file in the end."""
    events: list[Event] = []
    try:
        yield None if path is None else events
    finally:
        if path is not None:
            lines = [dataclasses.asdict(event) for event in events]
            files.write(path, json.dumps(lines, indent=1) + "\n")


def _count(explored: list[Exploration]) -> str:
    """How many orders the policy ``exhaustive`` has run."""
    if not explored:
        return ""
    traces = sum(each.traces for each in explored)
    runs = sum(each.runs for each in explored)
    return f" all orders: {traces} that differ, in {runs} runs"


def _describe(timing: RunOptions) -> str:
    is_random = timing["policy"] == "random"
    return timing["policy"] + (f" seed {timing['seed']}" if is_random else "")


def _find_changed(
    results: dict[str, Any], others: dict[str, Any]
) -> tuple[str, tuple[int, ...]] | None:
    """The name of the first array that differs, and the place of an element."""
    for name, value in results.items():
        if isinstance(value, np.ndarray):
            same = (value == others[name]) | (
                (value != value) & (others[name] != others[name])
            )
            if not same.all():
                return name, tuple(int(i) for i in np.argwhere(~same)[0])
    return None


def _run_replay(module: ir.Module, counterexample: Counterexample) -> None:
    """Runs the kernel up to a fault that the verifier has found."""
    click.echo(f"@{counterexample.kernel}: {counterexample.fault}")
    for each in counterexample.inputs:
        click.echo(f"{each['name']} = {each['value']}")
    replay(module, counterexample)
    click.echo("ran to its end all the same")


@click.command(cls=Command)
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--kernel", help="The kernel; by default the only one.")
@click.option(
    "--arg",
    "given",
    multiple=True,
    metavar="NAME=VALUE",
    help="An argument by name or number: a number, or a .npy file. Other arrays get "
    "random small integers.",
)
@click.option(
    "--dim",
    "extents",
    multiple=True,
    metavar="NAME=EXTENT",
    help="An extent of random arrays, by its name (M) or place (A.0).",
)
@click.option(
    "--data-seed",
    type=click.IntRange(min=0),
    default=0,
    help="Seed of random arrays.",
)
@click.option("--grid", metavar="X,Y,Z", help="Blocks; by default as the kernel says.")
@click.option(
    "--policy",
    type=click.Choice([*POLICIES[:-1], "all"]),
    default="earliest",
    show_default=True,
    help="What happens next where more than one thing can.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    default=0,
    help="Seed of the policy 'random'.",
)
@click.option(
    "--seeds",
    type=click.IntRange(1, 1_000_000),
    help="Run 'random' with as many seeds.",
)
@click.option(
    "--runs",
    type=click.IntRange(min=1),
    default=1000,
    help="Runs a block of the policies 'worst' and 'exhaustive'. If 'exhaustive' needs "
    "more, it fails.",
)
@click.option(
    "--save-replay",
    type=OutputFile(),
    help="Write the failing run of 'worst' or 'exhaustive', with its arguments, to a "
    "file for --replay.",
)
@click.option(
    "--schedule",
    help="A schedule that 'worst' or 'exhaustive' has found, to be run again.",
)
@click.option(
    "--replay",
    "counterexample",
    type=click.Path(exists=True, dir_okay=False),
    help="Run what the verifier has found, with its arguments and in its order: a file "
    'that --tile-verify-schedule="counterexample=..." or --save-replay has written.',
)
@click.option(
    "--barriers",
    type=click.Choice(BARRIERS),
    default="detect",
    help="Whether barriers and fences stand in the kernel.",
)
@click.option(
    "--max-steps",
    type=click.IntRange(min=0),
    default=0,
    help="Operations a block may execute; 0: any.",
)
@click.option("--out", multiple=True, metavar="NAME=FILE", help="Save an array (.npy).")
@click.option(
    "--trace", type=OutputFile(), help="Write what happens in a block (JSON)."
)
@click.option("--block", default="0,0,0", help="The block that --trace is about.")
@click.option(
    "--differential",
    "pipeline",
    metavar="PIPELINE",
    help="Compare the kernel after each pass of a pipeline, such as "
    "'tilews-to-nvvm{chip=sm_90a}', with the kernel as it is.",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(min=0),
    default=0.0,
    help="Of --differential.",
)
@click.option(
    "--folder",
    type=click.Path(file_okay=False),
    help="Where --differential writes IR.",
)
def main(**options: Any) -> None:
    """Run a kernel of FILE, an .mlir file, on the CPU.

    Prints the arrays that the kernel changes. Fails if the kernel does, or if its
    results depend on the timing.

    \b
    tilews-sim gemm.mlir --dim M=512 --policy all
    tilews-sim gemm.mlir --arg steps=7 --policy worst --runs 200
    tilews-sim wrong.mlir --policy exhaustive --save-replay counterexample.json
    tilews-sim wrong.mlir --replay counterexample.json
    tilews-sim gemm.mlir --differential 'tilews-to-nvvm{chip=sm_90a}' --folder out
    """
    command = _Command(**options)
    command.check()
    try:
        command.execute()
    except (SimulationError, CompileError, ir.MLIRError, OSError) as error:
        raise click.ClickException(str(error)) from None
    except (ValueError, TypeError) as error:
        # Arguments, a grid, a block or a pipeline do not fit the kernel.
        raise click.UsageError(str(error)) from None


if __name__ == "__main__":
    main(prog_name="tilews-sim")
