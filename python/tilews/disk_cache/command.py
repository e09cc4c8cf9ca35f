"""The commands ``tilews cache``."""

from __future__ import annotations

import datetime

import click

from .._command_line import Group, printable
from .store import DiskCache, configured, folder


@click.group("cache", cls=Group)
def cache_command() -> None:
    """List, check and remove compiled kernels on disk.

    \b
    TILEWS_CACHE=on|off|read   use the cache; 'read' adds nothing
    TILEWS_CACHE_DIR=FOLDER    by default ~/.cache/tilews
    TILEWS_CACHE_SIZE=MIB      its largest size, 1024 by default
    """


def _cache() -> DiskCache:
    """The cache of the environment, also if kernels do not use it now."""
    return configured() or DiskCache(folder())


@cache_command.command("ls")
def list_command() -> None:
    """List the entries, the last used one first."""
    for stored in reversed(_cache().entries()):
        try:
            entry = stored.read()
        except (OSError, ValueError):
            what = "damaged"
        else:
            what = f"{entry.chip}  {entry.manifest.get('kernel')}"
        used = _format_time(stored.used)
        click.echo(
            printable(f"{stored.key[:12]}  {used:16}  {stored.size:9}  {what:.500}")
        )


def _format_time(seconds: float) -> str:
    try:
        return f"{datetime.datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M}"
    except (OverflowError, ValueError, OSError):
        return "?"  # A file system has times after the year 9999.


@cache_command.command("stat")
def stat_command() -> None:
    """Print where the cache is, and how full."""
    cache = _cache()
    entries = cache.entries()
    total = sum(stored.size for stored in entries)
    click.echo(f"folder   {printable(str(cache.folder))}")
    click.echo(f"entries  {len(entries)}")
    click.echo(f"bytes    {total} of {cache.most_bytes}")


@cache_command.command("verify")
@click.option("--remove", is_flag=True, help="Remove the damaged entries.")
def verify_command(remove: bool) -> None:
    """Check the hash of each entry; exit with 1 if one is damaged."""
    cache = _cache()
    damaged = cache.damaged()
    for stored, reason in damaged:
        click.echo(printable(f"{stored.path}: {reason}"))
        if remove:
            cache.drop(stored)
    click.echo(f"{len(cache.entries())} entries, {len(damaged)} damaged")
    if damaged and not remove:
        raise SystemExit(1)


@cache_command.command("clear")
def clear_command() -> None:
    """Remove all entries."""
    click.echo(f"removed {_cache().clear()} entries")
