"""Instructions that passes execute, counted by valgrind's callgrind.

``python -m benchmarks.scaling.counting AXIS CHIPS`` compiles kernels of size n/2 and n
for each of the chips. Under callgrind with the options of `count`, each run of a pass
manager writes a file with the instructions of this run. There is one pass in each run,
so the files in their order are the passes in theirs.
"""

from __future__ import annotations

import pathlib
import re
import shutil
import sys
import tempfile

import click

from . import processes
from .axes import Axis, find_axis
from .pass_times import flags_of, time_once
from .series import TOTAL

_RUN = "mlir::PassManager::run(mlir::Operation*)"
#: Seconds until a process is killed; valgrind makes programs 50 to 100 times slower.
TIMEOUT = 3600
_PARTS = (2, 1)


def count(axis: Axis, chips: tuple[str, ...]) -> dict[str, dict[str, list[int]]]:
    """The instructions of each pass for n/2 and n, for each chip.

    Raises:
        click.ClickException: valgrind is missing, or the process failed.
    """
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise click.ClickException("no valgrind: apt-get install valgrind")
    with tempfile.TemporaryDirectory() as folder:
        command = [valgrind, "--tool=callgrind", f"--zero-before={_RUN}"]
        command += [f"--dump-after={_RUN}", f"--callgrind-out-file={folder}/run"]
        command += [sys.executable, "-m", __name__, axis.name, ",".join(chips)]
        processes.run(command, f"{axis.name} under valgrind", TIMEOUT)
        return sum_up(read_runs(pathlib.Path(folder)), chips)


def read_runs(folder: pathlib.Path) -> list[int]:
    """The instructions of each run, from the files ``run.1``, ``run.2``, ..."""
    files = sorted(folder.glob("run.*"), key=lambda file: int(file.suffix[1:]))
    summaries = [re.search(r"^summary: (\d+)", f.read_text(), re.M) for f in files]
    return [int(found[1]) for found in summaries if found]


def sum_up(runs: list[int], chips: tuple[str, ...]) -> dict[str, dict[str, list[int]]]:
    """By chip and flag; a pass that runs several times is one sum.

    Raises:
        click.ClickException: there are not as many runs as passes.
    """
    expected = sum(len(_PARTS) * len(flags_of(chip)) for chip in chips)
    if len(runs) != expected:
        raise click.ClickException(f"callgrind saw {len(runs)} of {expected} passes")
    rest = iter(runs)
    counts = {}
    for chip in chips:
        flags = flags_of(chip)
        counts[chip] = {flag: [0] * len(_PARTS) for flag in [*flags, TOTAL]}
        for part in range(len(_PARTS)):
            for flag in flags:
                instructions = next(rest)
                counts[chip][flag][part] += instructions
                counts[chip][TOTAL][part] += instructions
    return counts


def main(name: str, chips: str) -> None:
    """Compiles what is counted."""
    axis = find_axis(name)
    for chip in chips.split(","):
        for part in _PARTS:
            time_once(axis.make(axis.size // part), chip)


if __name__ == "__main__":
    main(*sys.argv[1:])
