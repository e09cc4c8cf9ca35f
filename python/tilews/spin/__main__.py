"""The command ``python -m tilews.spin``."""

from __future__ import annotations

import pathlib

import click

from .. import ir
from .._command_line import Command
from .._support import files
from ._comparison import compare
from ._explore import MEGABYTES, SECONDS, MissingSpin


def _parse_values(pairs: tuple[str, ...]) -> dict[str, list[int]]:
    values = {}
    for pair in pairs:
        name, _, numbers = pair.partition("=")
        try:
            values[name] = [int(number) for number in numbers.split(":")]
        except ValueError:
            raise click.BadParameter(f"expected NAME=NUMBER, found '{pair}'") from None
    return values


@click.command(cls=Command)
@click.argument("file", type=click.Path(exists=True, path_type=pathlib.Path))
@click.option("--kernel", metavar="NAME", help="The kernel, if there are several.")
@click.option(
    "--value",
    "values",
    multiple=True,
    metavar="NAME=NUMBER",
    help="The value of an input; others are chosen. For elements NAME=1:0:1.",
)
@click.option(
    "--bound", type=click.IntRange(0, 100), help="The largest number that is chosen."
)
@click.option(
    "--seconds", type=int, default=SECONDS, show_default=True, help="For the search."
)
@click.option(
    "--megabytes",
    type=int,
    default=MEGABYTES,
    show_default=True,
    help="For the search.",
)
def main(
    file: pathlib.Path,
    kernel: str | None,
    values: tuple[str, ...],
    bound: int | None,
    seconds: int,
    megabytes: int,
) -> None:
    """Ask Spin and the verifier about the schedule of a kernel.

    Fails if they disagree, and if the schedule is wrong.

    \b
    python -m tilews.spin scheduled.mlir --value n=3
    """
    try:
        found = compare(
            files.read_text(file),
            kernel=kernel,
            values=_parse_values(values),
            bound=bound,
            seconds=seconds,
            megabytes=megabytes,
        )
    except UnicodeDecodeError:
        raise click.ClickException(
            f"{file} is no .mlir file: expected text in UTF-8"
        ) from None
    except (MissingSpin, ir.MLIRError, OSError) as error:
        raise click.ClickException(str(error)) from None
    click.echo(found)
    if found.outcome != "agreed" or found.verdict != "proved":
        raise SystemExit(1)


if __name__ == "__main__":
    main(prog_name="python -m tilews.spin")
