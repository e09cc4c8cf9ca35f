"""Processes that measure: the end of one, also by a signal, does not end the run."""

from __future__ import annotations

import subprocess

import click


def run(command: list[str], what: str, timeout: int) -> str:
    """What the process writes to its standard output.

    Args:
        command: the program and its arguments.
        what: names the measurement in errors.
        timeout: seconds until the process is killed.

    Raises:
        click.ClickException: it failed, crashed, or took too long.
    """
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        raise click.ClickException(f"{what}: no end after {timeout} s") from None
    if done.returncode:
        raise click.ClickException(
            f"{what}: exit code {done.returncode}\n{done.stderr[-2000:]}"
        )
    return done.stdout
