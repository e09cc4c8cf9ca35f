"""How long a new process takes to its first result, if the kernel was compiled before.

Each sample is a process. It imports an array library and starts the driver. Then,
timed, it imports a compiler, defines a kernel, calls it and waits for the result.
Without a GPU there is no call: the kernel becomes code for gfx942. Cold processes have
an empty cache.

Python keeps the bytecode of modules, as the installation of a wheel does. Without it,
as with ``PYTHONDONTWRITEBYTECODE=1`` in a new tree, each process compiles all modules,
which takes longer than all else.

    python -m benchmarks.host_time.startup
"""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

import click

_COMPILERS = ("tilews", "triton")
_KERNELS = pathlib.Path(__file__).with_name("programs")


def _has_gpu() -> bool:
    from tilews.runtime import device_target

    return device_target() != "cpu"


def run_process(compiler: str, cache: pathlib.Path) -> dict[str, Any]:
    """The milliseconds of a new process, and whether its result is right."""
    inherited = {**os.environ}
    inherited.pop("PYTHONDONTWRITEBYTECODE", None)
    environment = {
        **inherited,
        "TILEWS_CACHE": "on",
        "TILEWS_CACHE_DIR": str(cache / "tilews"),
        "TRITON_CACHE_DIR": str(cache / "triton"),
    }
    library = "torch" if _has_gpu() else "numpy"
    script = _KERNELS / f"add_{compiler}_{library}.py"
    run = subprocess.run(
        [sys.executable, str(script)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def measure(compiler: str, count: int) -> dict[str, Any]:
    """The times of processes that begin with an empty cache, and with a full one."""
    cold, warm = [], []
    for _ in range(max(count // 4, 1)):
        with tempfile.TemporaryDirectory() as folder:
            cold.append(run_process(compiler, pathlib.Path(folder))["ms"])
    with tempfile.TemporaryDirectory() as folder:
        first = run_process(compiler, pathlib.Path(folder))
        assert first["result"] == "right", first
        for _ in range(count):
            found = run_process(compiler, pathlib.Path(folder))
            assert found["result"] == "right", found
            warm.append(found["ms"])
    return {"compiler": compiler, "cold": cold, "warm": warm}


@click.command(help=__doc__)
@click.option("--count", default=20, show_default=True, help="Warm processes for each.")
@click.option("--results", type=click.Path(path_type=pathlib.Path), help="A JSON file.")
def main(count: int, results: pathlib.Path | None) -> None:
    compilers = [
        name
        for name in _COMPILERS
        if name == "tilews" or (_has_gpu() and importlib.util.find_spec(name))
    ]
    rows = [measure(name, count) for name in compilers]
    click.echo("| compiler | cold, median ms | warm, median ms | warm, slowest ms |")
    click.echo("| --- | --- | --- | --- |")
    for row in rows:
        figures = (
            statistics.median(row["cold"]),
            statistics.median(row["warm"]),
            max(row["warm"]),
        )
        cells = [row["compiler"], *(f"{figure:.1f}" for figure in figures)]
        click.echo(f"| {' | '.join(cells)} |")
    if results:
        facts = {"time": time.strftime("%Y-%m-%d %H:%M"), "processes": rows}
        results.write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
