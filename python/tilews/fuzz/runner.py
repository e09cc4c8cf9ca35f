"""Checks many kernels in processes of their own, so that a crash is a finding."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import signal
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection

from .check import Finding, Options, check_seed

#: Seconds for one kernel, and kernels for one process.
TIMEOUT = 60.0
SHARE = 250

Progress = Callable[[int, list[Finding]], None]


def run(seeds: range, options: Options, jobs: int, progress: Progress) -> None:
    """Checks kernels.

    Args:
        jobs: processes at a time; 0 to stay in this one.
        progress: is called with each seed that was checked and its findings, from
            several threads.
    """
    if jobs == 0:
        for seed in seeds:
            progress(seed, check_seed(seed, options))
        return
    shares = [seeds[i : i + SHARE] for i in range(0, len(seeds), SHARE)]
    with concurrent.futures.ThreadPoolExecutor(jobs) as threads:
        tasks = [threads.submit(_watch, share, options, progress) for share in shares]
        for task in concurrent.futures.as_completed(tasks):
            task.result()


def _watch(seeds: Sequence[int], options: Options, progress: Progress) -> None:
    """Checks kernels in another process, and in a new one after a crash."""
    context = multiprocessing.get_context("spawn")
    todo = list(seeds)
    while todo:
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_work, args=(todo, options, theirs))
        process.start()
        theirs.close()
        kind = ""
        while todo and not kind:
            try:
                kind = "" if ours.poll(TIMEOUT) else "hang"
                if not kind:
                    progress(todo[0], ours.recv())
                    todo.pop(0)
            except EOFError:
                kind = "crash"
        if kind:
            process.kill() if kind == "hang" else None
            process.join()
            progress(todo[0], [Finding(todo[0], kind, "", _describe(process.exitcode))])
            todo.pop(0)
        process.join()


def _describe(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        return f"the process ended with {signal.Signals(-exit_code).name}"
    return f"the process ended with status {exit_code}"


def _work(seeds: Sequence[int], options: Options, results: Connection) -> None:
    for seed in seeds:
        results.send(check_seed(seed, options))
