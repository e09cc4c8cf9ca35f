"""Checks many kernels in processes of their own, so that a crash is a finding."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator, Sequence

from . import apart
from .check import FuzzFinding, Options, check
from .generator import generate
from .random_program import RandomProgram

#: Seconds of the processor for one kernel with all its simulations, and kernels for
#: one process. The compilation has a limit of its own: `check.COMPILE_SECONDS`.
TIMEOUT = 120.0
LIFETIME = 250

#: Memory of a process, in bytes, above which its kernel is a finding.
MEMORY = 2 << 30


def run(
    seeds: Sequence[int], options: Options, jobs: int
) -> Iterator[tuple[int, list[FuzzFinding]]]:
    """Checks kernels.

    Args:
        seeds: the seeds of the kernels.
        options: the checks to run.
        jobs: the number of processes; 0 to stay in this one.

    Yields:
        Each checked seed and its findings.
    """

    def check_seed(seed: int) -> list[FuzzFinding]:
        return _check_memory(seed, options)

    if jobs == 0:
        for seed in seeds:
            yield seed, check_seed(seed)
        return
    for seed, found in apart.run(
        check_seed, seeds, jobs=jobs, timeout=TIMEOUT, lifetime=LIFETIME
    ):
        yield seed, _to_findings(seed, found)


def _check_memory(seed: int, options: Options) -> list[FuzzFinding]:
    """Checks a kernel, and the memory that this takes."""
    own = pathlib.Path("/proc/self")
    (own / "clear_refs").write_text("5")  # Begin a new peak, Linux says.
    found = check(generate(seed), options)
    peak = re.search(r"VmHWM:\s*(\d+)", (own / "status").read_text())
    if peak and int(peak[1]) << 10 > MEMORY:
        text = f"the process took {int(peak[1]) >> 10} MiB"
        found.append(FuzzFinding(seed, "memory", "", text))
    return found


def check_apart(program: RandomProgram, options: Options) -> list[FuzzFinding]:
    """Checks one kernel in another process."""

    def check_program(program: RandomProgram) -> list[FuzzFinding]:
        return check(program, options)

    ((_, found),) = apart.run(
        check_program, [program], jobs=1, timeout=TIMEOUT, lifetime=1
    )
    return _to_findings(program.seed, found)


def _to_findings(
    seed: int, found: list[FuzzFinding] | apart.ProcessFailure
) -> list[FuzzFinding]:
    if isinstance(found, apart.ProcessFailure):
        return [FuzzFinding(seed, found.kind, "", found.message)]
    return found
