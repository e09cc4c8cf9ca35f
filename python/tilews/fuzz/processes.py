"""Checks many kernels in processes of their own, so that a crash is a finding."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection

from .check import Finding, Options, check
from .generator import generate
from .program import Program

#: Seconds for one kernel, and kernels for one process.
TIMEOUT = 600.0
SHARE = 250

Progress = Callable[[int, list[Finding]], None]


def run(seeds: range, options: Options, jobs: int, progress: Progress) -> None:
    """Checks kernels.

    Args:
        seeds: the seeds of the kernels.
        options: the checks to run.
        jobs: the number of processes; 0 to stay in this one.
        progress: a function that is called with each checked seed and its findings,
            from several threads.
    """
    if jobs == 0:
        for seed in seeds:
            progress(seed, check(generate(seed), options))
        return

    def check_share(share: range) -> None:
        results = _watch([generate(seed) for seed in share], options)
        for seed, findings in zip(share, results, strict=True):
            progress(seed, findings)

    shares = [seeds[i : i + SHARE] for i in range(0, len(seeds), SHARE)]
    with concurrent.futures.ThreadPoolExecutor(jobs) as threads:
        list(threads.map(check_share, shares))


def check_apart(program: Program, options: Options) -> list[Finding]:
    """Checks one kernel in another process."""
    return next(_watch([program], options))


def _watch(programs: Sequence[Program], options: Options) -> Iterator[list[Finding]]:
    """Checks kernels in another process, and in a new one after a crash."""
    # A copy of this one starts faster, and has started no threads of its own.
    context = multiprocessing.get_context("fork")
    done = 0
    while done < len(programs):
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(
            target=_work, args=(programs[done:], options, theirs), daemon=True
        )
        process.start()
        theirs.close()
        kind = ""
        while done < len(programs) and not kind:
            try:
                kind = "" if ours.poll(TIMEOUT) else "hang"
                if not kind:
                    yield ours.recv()
                    done += 1
            except EOFError:
                kind = "crash"
        if kind == "hang":
            process.kill()
        process.join()
        if kind:
            message = _describe(process.exitcode)
            yield [Finding(programs[done].seed, kind, "", message)]
            done += 1


def _describe(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        return f"the process ended with {signal.Signals(-exit_code).name}"
    return f"the process ended with status {exit_code}"


def _work(programs: Sequence[Program], options: Options, results: Connection) -> None:
    for program in programs:
        results.send(check(program, options))
