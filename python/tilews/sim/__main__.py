"""The ``tilews-sim`` command."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from typing import Any

import click
import numpy as np

from .. import ir
from .._command_line import OutputFile, refuse_ignored
from ..errors import CompileError
from ._arguments import make_arguments
from ._differential import TIMINGS, differential
from ._launch import BARRIERS, POLICIES, SimulationError, find_kernel, run
from ._replay import Counterexample, replay


def _parse_pairs(pairs: tuple[str, ...], what: str) -> dict[str, str]:
    values = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise click.BadParameter(f"expected {what}, found '{pair}'")
        if name in values:
            raise click.BadParameter(f"'{name}' is given twice, expected {what} once")
        values[name] = text
    return values


def _parse_extents(pairs: tuple[str, ...]) -> dict[str, int]:
    values = _parse_pairs(pairs, "NAME=EXTENT")
    for name, text in values.items():
        if not text.isdecimal():
            raise click.BadParameter(
                f"expected as extent '{name}' a number from 0 on, found '{text}'"
            )
    return {name: int(text) for name, text in values.items()}


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


def _check_options(given: dict[str, Any]) -> None:
    """Refuses options that others leave without an effect."""
    refuse_ignored(
        {
            "block": None
            if given["trace"]
            else "is the block that --trace is about: give both",
            "runs": None
            if given["policy"] == "worst"
            else "goes with --policy worst only",
            "seed": None
            if given["policy"] == "random" or given["seeds"]
            else "goes with --policy random or --seeds only",
            "policy": "is 'random' with --seeds: leave it out"
            if given["seeds"] and given["policy"] != "random"
            else "does not go with --schedule"
            if given["schedule"]
            else None,
            "seeds": "does not go with --schedule" if given["schedule"] else None,
            **dict.fromkeys(
                ("tolerance", "folder"),
                None if given["pipeline"] else "goes with --differential only",
            ),
        }
    )
    if given["pipeline"]:
        names = ("schedule", "runs", "barriers", "max_steps", "out", "trace", "block")
        refuse_ignored(dict.fromkeys(names, "does not go with --differential"))
    if given["counterexample"]:
        names = set(given) - {"file", "counterexample"}
        refuse_ignored(dict.fromkeys(names, "does not go with --replay"))


def _list_timings(policy: str, seed: int, seeds: int | None) -> list[dict[str, Any]]:
    """What to run: a policy, all of them, or the random one with several seeds."""
    if policy == "all":
        return [dict(timing) for timing in TIMINGS]
    if seeds is None:
        return [{"policy": policy, "seed": seed}]
    return [{"policy": "random", "seed": seed + i} for i in range(seeds)]


def _describe(timing: dict[str, Any]) -> str:
    is_random = timing["policy"] == "random"
    return timing["policy"] + (f" seed {timing['seed']}" if is_random else "")


def _simulate(
    module: Any, kernel: str | None, arguments: dict[str, Any], **options: Any
) -> dict[str, Any]:
    """Runs copies of the arguments, with a bar for the blocks; returns them."""
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

        run(module, kernel, list(copies.values()), progress=progress, **options)
    return copies


def _find_changed(
    results: dict[str, Any], others: dict[str, Any]
) -> tuple[str, np.ndarray] | None:
    for name, value in results.items():
        if isinstance(value, np.ndarray):
            same = (value == others[name]) | (
                (value != value) & (others[name] != others[name])
            )
            if not same.all():
                return name, same
    return None


@click.command()
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
    "--seeds", type=click.IntRange(min=1), help="Run 'random' with as many seeds."
)
@click.option(
    "--runs",
    type=click.IntRange(min=1),
    default=1000,
    help="Runs a block of the policy 'worst'.",
)
@click.option("--schedule", help="A schedule that 'worst' has found, to be run again.")
@click.option(
    "--replay",
    "counterexample",
    type=click.Path(exists=True, dir_okay=False),
    help="Run what the verifier has found, with its arguments and in its order: a file "
    'that --tile-verify-schedule="counterexample=..." has written.',
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
def main(
    file: str,
    kernel: str | None,
    given: tuple[str, ...],
    extents: tuple[str, ...],
    data_seed: int,
    grid: str | None,
    policy: str,
    seed: int,
    seeds: int | None,
    runs: int,
    schedule: str | None,
    counterexample: str | None,
    barriers: str,
    max_steps: int,
    out: tuple[str, ...],
    trace: pathlib.Path | None,
    block: str,
    pipeline: str | None,
    tolerance: float,
    folder: str | None,
) -> None:
    """Run a kernel of FILE, an .mlir file, on the CPU.

    Prints the arrays that the kernel changes. Fails if the kernel does, or if its
    results depend on the timing.

    \b
    tilews-sim gemm.mlir --dim M=512 --policy all
    tilews-sim gemm.mlir --arg steps=7 --policy worst --runs 200
    tilews-sim wrong.mlir --replay counterexample.json
    tilews-sim gemm.mlir --differential 'tilews-to-nvvm{chip=sm_90a}' --folder out
    """
    _check_options(click.get_current_context().params)
    files = {
        name: OutputFile().convert(path, None, None)
        for name, path in _parse_pairs(out, "NAME=FILE").items()
    }
    timings = _list_timings(policy, seed, seeds)
    if schedule is not None:
        timings = [{"policy": "replay", "schedule": schedule}]
    try:
        with ir.Context(), ir.Location.unknown():
            module = ir.Module.parseFile(file)
            if counterexample is not None:
                _run_replay(module, Counterexample.load(counterexample))
                return
            arguments = _make_arguments(
                find_kernel(module, kernel), given, extents, data_seed, files
            )
            if pipeline is not None:
                _run_differential(
                    module,
                    kernel,
                    arguments,
                    pipeline,
                    _parse_integers(grid),
                    timings if policy != "earliest" or seeds else TIMINGS,
                    tolerance,
                    folder,
                )
                return
            _run_timings(
                module,
                kernel,
                arguments,
                timings,
                files,
                trace,
                grid=_parse_integers(grid),
                runs=runs,
                barriers=barriers,
                max_steps=max_steps,
                record_block=_parse_integers(block),
            )
    except (SimulationError, CompileError, ir.MLIRError, OSError) as error:
        raise click.ClickException(str(error)) from None
    except (ValueError, TypeError) as error:
        # Of arguments, a grid, a block or a pipeline that does not fit the kernel.
        raise click.UsageError(str(error)) from None


def _make_arguments(
    kernel: Any,
    given: tuple[str, ...],
    extents: tuple[str, ...],
    seed: int,
    files: dict[str, pathlib.Path],
) -> dict[str, Any]:
    values, sizes = _parse_pairs(given, "NAME=VALUE"), _parse_extents(extents)
    arguments = make_arguments(kernel, values, sizes, seed)
    arrays = [n for n, value in arguments.items() if isinstance(value, np.ndarray)]
    for name in files:
        if name not in arrays:
            raise click.UsageError(
                f"there is no array '{name}', only: {', '.join(arrays) or 'none'}"
            )
    return arguments


def _run_replay(module: Any, counterexample: Counterexample) -> None:
    click.echo(f"@{counterexample.kernel}: {counterexample.fault}")
    for each in counterexample.inputs:
        click.echo(f"{each['name']} = {each['value']}")
    replay(module, counterexample)
    click.echo("ran to its end all the same")


def _run_differential(
    module: Any,
    kernel: str | None,
    arguments: dict[str, Any],
    pipeline: str,
    grid: list[int] | None,
    timings: Any,
    tolerance: float,
    folder: str | None,
) -> None:
    found = differential(
        module,
        kernel,
        list(arguments.values()),
        pipeline,
        grid,
        timings=timings,
        tolerance=tolerance,
        folder=folder,
    )
    if found:
        raise click.ClickException(f"first difference: {found}")
    click.echo("no difference after any pass")


def _run_timings(
    module: Any,
    kernel: str | None,
    arguments: dict[str, Any],
    timings: list[dict[str, Any]],
    files: dict[str, pathlib.Path],
    trace: pathlib.Path | None,
    **options: Any,
) -> None:
    first: dict[str, Any] | None = None
    for timing in timings:
        events = None if trace is None else []
        try:
            results = _simulate(
                module, kernel, arguments, record=events, **timing, **options
            )
        finally:
            if trace is not None:
                lines = [dataclasses.asdict(event) for event in events]
                trace.write_text(json.dumps(lines, indent=1) + "\n")
        first = results if first is None else first
        if changed := _find_changed(results, first):
            name, same = changed
            place = tuple(int(i) for i in np.argwhere(~same)[0])
            raise click.ClickException(
                f"with {_describe(timing)}, element {place} of '{name}' is "
                f"{results[name][place]}, with {_describe(timings[0])} "
                f"{first[name][place]}"
            )
        click.echo(f"{_describe(timing)}: ran")
    for name, value in first.items():
        before = arguments[name]
        if isinstance(value, np.ndarray) and not np.array_equal(value, before):
            click.echo(f"{name}: {value.dtype}{list(value.shape)}\n{value}")
    for name, path in files.items():
        np.save(path, first[name])


if __name__ == "__main__":
    main(prog_name="tilews-sim")
