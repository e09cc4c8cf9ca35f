"""The ``tilews`` command."""

import click

from . import __version__


@click.group()
@click.version_option(__version__, prog_name="tilews")
def main() -> None:
    """Compile and inspect tile kernels."""
