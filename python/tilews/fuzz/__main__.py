"""``python -m tilews.fuzz``: tries every pass on random kernels."""

from __future__ import annotations

import os
import pathlib

import click

from .._command_line import Command, refuse_ignored
from .._support import files
from .._support.chips import find_chip
from ..errors import CompileError
from . import apart, processes
from . import on_gpu as gpu
from .check import CHIPS, FuzzFinding, Options, module_for
from .generator import generate
from .long_run import LongRun
from .random_program import RandomProgram
from .shrink import shrink


def _seeds(context: click.Context, parameter: click.Parameter, text: str) -> range:
    first, colon, last = text.partition(":")
    if not first.isdecimal() or (colon and not last.isdecimal()):
        raise click.BadParameter(
            f"expected FIRST:LAST or one seed, from 0 on, found '{text}'"
        )
    seeds = range(int(first), int(last) if colon else int(first) + 1)
    if not seeds:
        raise click.BadParameter(
            f"there are no seeds in '{text}': LAST is not one of them, so that "
            f"{first}:{int(first) + 1} is the seed {first}"
        )
    return seeds


def _chips(
    context: click.Context, parameter: click.Parameter, chips: tuple[str, ...]
) -> tuple[str, ...]:
    try:
        found = tuple(map(find_chip, chips))
    except CompileError as error:
        raise click.BadParameter(str(error)) from None
    if "cpu" in found:
        raise click.BadParameter("expected a GPU such as sm_90a, found 'cpu'")
    return found


def _check_options(save: str | None, show: bool) -> None:
    """Refuses options that others leave without an effect."""
    if not save:
        refuse_ignored({"reduces": "makes smaller what --save writes: give both"})
    if show:
        names = ("chips", "rotates", "jobs", "reference_every", "emit_every", "save",
                 "state", "on_gpu")  # fmt: skip
        refuse_ignored(dict.fromkeys(names, "does not go with --show"))
    try:
        if save:
            pathlib.Path(save).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise click.BadParameter(f"cannot write to '{save}': {error}") from None


def _find_gpu() -> tuple[str, ...]:
    """The targets of this machine's GPU."""

    def find(_: int) -> tuple[str, ...] | str:
        try:
            return gpu.targets()
        except LookupError as error:
            return str(error)

    # A process that has asked the driver cannot be copied any more.
    ((_, found),) = apart.run(find, [0], jobs=1, timeout=60, lifetime=1)
    if not isinstance(found, tuple):
        raise click.BadParameter(f"--gpu cannot run kernels here: {found}")
    return found


@click.command(cls=Command)
@click.option(
    "--seeds",
    default="0:100",
    callback=_seeds,
    help="FIRST:LAST (without the last), or one seed.",
)
@click.option(
    "--chip",
    "chips",
    multiple=True,
    callback=_chips,
    help="By default four chips.",
)
@click.option(
    "--rotate", "rotates", is_flag=True, help="One chip a kernel, in rotation."
)
@click.option(
    "--jobs",
    type=click.IntRange(min=0),
    default=os.cpu_count() or 1,
    help="Processes; 0 stays in this one, where a crash can be debugged.",
)
@click.option(
    "--numpy",
    "reference_every",
    type=click.IntRange(min=0),
    default=4,
    help="One of N against numpy; 0 for none.",
)
@click.option(
    "--emit",
    "emit_every",
    type=click.IntRange(min=0),
    default=8,
    help="One of N to assembly; 0 for none.",
)
@click.option(
    "--save",
    type=click.Path(file_okay=False),
    help="Folder for kernels of findings.",
)
@click.option(
    "--gpu",
    "on_gpu",
    is_flag=True,
    help="Run kernels on this machine's GPU; simulate them only as written.",
)
@click.option("--reduce", "reduces", is_flag=True, help="Make what is saved smaller.")
@click.option(
    "--state",
    type=click.Path(dir_okay=False, path_type=pathlib.Path),
    help="File with what was found so far; a run goes on where it ended.",
)
@click.option("--show", is_flag=True, help="Print the kernels and check nothing.")
def main(
    seeds: range,
    chips: tuple[str, ...],
    rotates: bool,
    jobs: int,
    reference_every: int,
    emit_every: int,
    save: str | None,
    on_gpu: bool,
    reduces: bool,
    state: pathlib.Path | None,
    show: bool,
) -> None:
    """Check that the passes keep what random kernels compute.

    \b
    python -m tilews.fuzz --seeds 0:1000 --chip sm_90a
    python -m tilews.fuzz --seeds 0:20000 --rotate --state build/kernels.json
    python -m tilews.fuzz --seeds 0:20000 --gpu --state build/kernels-gpu.json
    python -m tilews.fuzz --seeds 4711 --show
    """
    _check_options(save, show)
    os.environ["TILEWS_CACHE"] = "off"  # What is checked is compiled here.
    if show:
        for seed in seeds:
            click.echo(generate(seed).text)
        return
    if on_gpu:
        refuse_ignored(dict.fromkeys(("chips", "emit_every"), "does not go with --gpu"))
        chips = _find_gpu()
    options = Options(chips or CHIPS, reference_every, emit_every, rotates, on_gpu)
    known = LongRun(state, seeds.start)
    found: list[FuzzFinding] = []
    for seed, findings in known.run(
        seeds.stop - known.next, lambda left: processes.run(left, options, jobs)
    ):
        known.outcomes["kernels"] += 1
        for finding in findings:
            known.outcomes[finding.kind] += 1
            click.echo(str(finding))
            if finding.kind != "invalid":
                known.findings[f"{seed} {finding.kind}"] = str(finding)
                found.append(finding)
    for finding in found if save else ():
        program = generate(finding.seed)
        if reduces:
            program = shrink(program, finding, options)
        _save(pathlib.Path(save or ""), program, finding)
    counts = dict(known.outcomes)
    total, invalid = counts.pop("kernels", 0), counts.pop("invalid", 0)
    kinds = ", ".join(f"{n} {kind}" for kind, n in counts.items()) or "none"
    click.echo(
        f"{total} kernels on {', '.join(options.chips)}{' in rotation' * rotates} in "
        f"{known.seconds:.0f} s; "
        f"{invalid} of them read what was never written; findings: {kinds}"
    )
    raise SystemExit(bool(counts))


def _save(folder: pathlib.Path, program: RandomProgram, finding: FuzzFinding) -> None:
    """Writes a finding's kernel as Python and as IR, and what is wrong."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = folder / f"{finding.seed}-{finding.kind}"
    files.write(stem.with_suffix(".txt"), f"{finding}\n")
    files.write(stem.with_suffix(".py"), program.text)
    chip = finding.step.rpartition(" ")[2]
    if chip and finding.kind != "build":
        files.write(stem.with_suffix(".mlir"), str(module_for(program, chip)))


main()
