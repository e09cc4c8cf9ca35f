"""``python -m tilews.fuzz``: tries every pass on random kernels."""

from __future__ import annotations

import collections
import os
import pathlib
import threading
import time

import click

from . import runner
from .check import CHIPS, Finding, Options, with_target
from .generator import generate
from .program import Program
from .reduce import reduce


def _seeds(context: click.Context, parameter: click.Parameter, text: str) -> range:
    first, colon, last = text.partition(":")
    try:
        return range(int(first), int(last) if colon else int(first) + 1)
    except ValueError:
        raise click.BadParameter(f"expected FIRST:LAST, found '{text}'") from None


@click.command()
@click.option(
    "--seeds",
    default="0:100",
    callback=_seeds,
    help="FIRST:LAST (without the last), or one seed.",
)
@click.option("--chip", "chips", multiple=True, help="By default three chips.")
@click.option("--in-turn", is_flag=True, help="One chip a kernel, each in turn.")
@click.option(
    "--jobs",
    default=os.cpu_count() or 1,
    help="Processes; 0 stays in this one, where a crash can be debugged.",
)
@click.option("--numpy", "reference_every", default=4, help="One of N against numpy.")
@click.option("--emit", "emit_every", default=8, help="One of N to assembly.")
@click.option("--save", type=click.Path(), help="Folder for kernels of findings.")
@click.option("--reduce", "reduces", is_flag=True, help="Make what is saved smaller.")
@click.option("--show", is_flag=True, help="Print the kernels and check nothing.")
def main(
    seeds: range,
    chips: tuple[str, ...],
    in_turn: bool,
    jobs: int,
    reference_every: int,
    emit_every: int,
    save: str | None,
    reduces: bool,
    show: bool,
) -> None:
    """Check that the passes keep what random kernels compute.

    \b
    python -m tilews.fuzz --seeds 0:1000 --chip sm_90a
    python -m tilews.fuzz --seeds 4711 --show
    """
    if show:
        for seed in seeds:
            click.echo(generate(seed).text)
        return
    options = Options(chips or CHIPS, reference_every, emit_every, in_turn)
    counts: collections.Counter[str] = collections.Counter()
    lock = threading.Lock()
    found: list[Finding] = []

    def progress(seed: int, findings: list[Finding]) -> None:
        with lock:
            counts["kernels"] += 1
            for finding in findings:
                counts[finding.kind] += 1
                click.echo(str(finding))
                if save and finding.kind != "invalid":
                    found.append(finding)

    start = time.monotonic()
    runner.run(seeds, options, jobs, progress)
    seconds = time.monotonic() - start
    for finding in found:
        program = generate(finding.seed)
        if reduces:
            program = reduce(program, finding, options)
        _save(pathlib.Path(save), program, finding)
    total, invalid = counts.pop("kernels"), counts.pop("invalid", 0)
    kinds = ", ".join(f"{n} {kind}" for kind, n in counts.items()) or "none"
    click.echo(
        f"{total} kernels on {', '.join(options.chips)}{' in turn' * in_turn} in "
        f"{seconds:.0f} s; "
        f"{invalid} of them read what was never written; findings: {kinds}"
    )
    raise SystemExit(bool(counts))


def _save(folder: pathlib.Path, program: Program, finding: Finding) -> None:
    """Writes a finding's kernel as Python and as IR, and what is wrong."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = folder / f"{finding.seed}-{finding.kind}"
    stem.with_suffix(".txt").write_text(f"{finding}\n")
    stem.with_suffix(".py").write_text(program.text)
    chip = finding.step.rpartition(" ")[2]
    if chip and finding.kind != "build":
        module = with_target(program.kernel().build(), chip)
        stem.with_suffix(".mlir").write_text(str(module))


main()
