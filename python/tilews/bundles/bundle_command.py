"""The command ``tilews bundle``."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from .._command_line import Command, printable
from .._support.chips import find_chip
from ..errors import CompileError

if TYPE_CHECKING:
    from .building import BundleItem


@click.command("bundle", cls=Command)
@click.argument("modules", nargs=-1, required=True)
@click.option(
    "--target",
    "targets",
    multiple=True,
    required=True,
    help="Chip or GPU, such as sm_90a, gfx942 or H100; can be repeated.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=pathlib.Path),
    required=True,
    help="The folder; it may be a bundle already, and is added to.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=os.cpu_count() or 1,
    show_default="processors",
    help="Processes that compile.",
)
def bundle_command(
    modules: tuple[str, ...], targets: tuple[str, ...], output: pathlib.Path, jobs: int
) -> None:
    """Compile what the kernels of MODULES declare, into a folder.

    A module is a dotted name, or a file that ends in .py. Its kernels declare what is
    compiled by @tilews.kernel(specialize=[...]). Processes that use the folder as cache
    compile nothing of it again, from the same files and the same tilews:

    \b
    tilews bundle my.kernels --target sm_90a -o kernels
    TILEWS_CACHE=read TILEWS_CACHE_DIR=kernels TILEWS_JIT=error python serve.py
    """
    from .building import find_items

    try:
        chips = [find_chip(target) for target in targets]
        if "cpu" in chips:
            raise CompileError("the target 'cpu' is interpreted: there is no code")
        items = [item for module in modules for item in find_items(module, chips)]
        output.mkdir(parents=True, exist_ok=True)
        if not os.access(output, os.W_OK):
            raise CompileError(f"cannot write to '{output}': permission denied")
        failed, size = _compile_all(items, output, min(jobs, len(items)))
    except (CompileError, OSError) as error:
        raise click.ClickException(str(error)) from None
    click.echo(
        f"{len(items) - failed} of {len(items)} kernels in {printable(str(output))}, "
        f"{size} bytes"
    )
    if failed:
        raise SystemExit(1)


def _compile_all(
    items: Sequence[BundleItem], output: pathlib.Path, jobs: int
) -> tuple[int, int]:
    """Compiles items, with a progress bar and a line for each one that fails.

    Returns:
        How many failed, and the bytes of code.

    Raises:
        CompileError: a process died.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

    from .building import make_bundle

    failed, size = 0, 0
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("compile", total=len(items))
        for done in make_bundle(items, output, jobs):
            item = done.item
            name = f"{item.kernel}[{item.place}] for {item.target}"
            if done.error:
                failed += 1
                progress.console.print(f"{printable(name)}: {done.error}", markup=False)
            size += done.size
            progress.advance(task)
    return failed, size
