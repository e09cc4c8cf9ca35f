"""Checks many kernels in processes of their own, so that a crash is a finding."""

from __future__ import annotations

from collections.abc import Callable

from . import apart
from .check import Finding, Options, check
from .generator import generate
from .program import Program

#: Seconds for one kernel, and kernels for one process.
TIMEOUT = 600.0
LIFETIME = 250

Progress = Callable[[int, list[Finding]], None]


def run(seeds: range, options: Options, jobs: int, progress: Progress) -> None:
    """Checks kernels.

    Args:
        seeds: the seeds of the kernels.
        options: the checks to run.
        jobs: the number of processes; 0 to stay in this one.
        progress: a function that is called with each checked seed and its findings.
    """

    def check_seed(seed: int) -> list[Finding]:
        return check(generate(seed), options)

    if jobs == 0:
        for seed in seeds:
            progress(seed, check_seed(seed))
        return
    for seed, found in apart.run(
        check_seed, seeds, jobs=jobs, timeout=TIMEOUT, lifetime=LIFETIME
    ):
        progress(seed, _to_findings(seed, found))


def check_apart(program: Program, options: Options) -> list[Finding]:
    """Checks one kernel in another process."""

    def check_program(program: Program) -> list[Finding]:
        return check(program, options)

    ((_, found),) = apart.run(
        check_program, [program], jobs=1, timeout=TIMEOUT, lifetime=1
    )
    return _to_findings(program.seed, found)


def _to_findings(seed: int, found: list[Finding] | apart.Failure) -> list[Finding]:
    if isinstance(found, apart.Failure):
        return [Finding(seed, found.kind, "", found.message)]
    return found
