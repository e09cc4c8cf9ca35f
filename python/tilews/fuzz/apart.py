"""Work in processes of its own, so that a crash or a hang is a result."""

from __future__ import annotations

import dataclasses
import itertools
import multiprocessing
import os
import pathlib
import resource
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from multiprocessing import connection
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

#: Seconds between two looks of an idle process at whether its parent is alive.
_PATIENCE = 2.0
#: Seconds of the processor; a process that takes less all the time is blocked.
_LITTLE = 0.01


@dataclasses.dataclass(frozen=True)
class ProcessFailure:
    """What is known of an item whose process ended, or was ended.

    Attributes:
        kind: ``crash`` or ``hang``.
        message: how the process ended.
    """

    kind: str
    message: str


class _Worker(Generic[Item, Result]):
    """A process that does one item at a time."""

    def __init__(
        self, work: Callable[[Item], Result], item: Item, begin: Callable[[], None]
    ) -> None:
        # A copy of this process starts faster than a new one.
        context = multiprocessing.get_context("fork")
        self.results, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(work, theirs, os.getpid(), begin), daemon=True
        )
        self._process.start()
        theirs.close()
        self.count = 0
        self.item = item
        #: When to look whether the item takes too long.
        self.deadline = 0.0
        self._timeout = self._begin = self._seen = 0.0

    def start(self, item: Item, timeout: float) -> None:
        self.count += 1
        self.item = item
        self.deadline = time.monotonic() + timeout
        self._timeout = timeout
        self._begin = self._seen = self._read_time()
        self.results.send(item)

    def is_late(self) -> bool:
        """Whether the item takes too long. If not, the deadline is a later one.

        The time of the processor counts, so that a busy machine makes no hang.
        """
        if time.monotonic() < self.deadline:
            return False
        seen, self._seen = self._seen, self._read_time()
        left = self._timeout - (self._seen - self._begin)
        if left <= 0 or self._seen - seen < _LITTLE:
            return True
        self.deadline = time.monotonic() + max(left, 1.0)
        return False

    def _read_time(self) -> float:
        """Seconds of the processor that the process has taken."""
        try:
            stat = pathlib.Path(f"/proc/{self._process.pid}/stat").read_text()
        except OSError:  # It has ended.
            return self._seen
        ticks = map(int, stat.rpartition(")")[2].split()[11:15])
        return sum(ticks) / os.sysconf("SC_CLK_TCK")

    def finish(self) -> Result | ProcessFailure:
        """The result of the item that was started, or why there is none."""
        if not self.results.poll():
            self.end()
            return ProcessFailure("hang", "the process took too long")
        try:
            found: Result = self.results.recv()
        except EOFError:
            self._process.join()
            return ProcessFailure("crash", _describe(self._process.exitcode))
        return found

    def end(self) -> None:
        self._process.kill()
        self._process.join()


def run(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    jobs: int,
    timeout: float,
    lifetime: int,
    begin: Callable[[], None] = lambda: None,
) -> Iterator[tuple[Item, Result | ProcessFailure]]:
    """Does work on items in other processes.

    Args:
        work: A function of an item. The processes are copies of this one, so it need
            not be at the top level of a module. Items and results are pickled.
        items: What to work on, in this order.
        jobs: The number of processes.
        timeout: Seconds of the processor for one item. A process that takes more, or
            that takes none for so long, is killed.
        lifetime: Items for one process. The next ones are for a new process.
        begin: is called in each process before its first item.

    Yields:
        Each item and its result, in the order in which they are ready.
    """
    left = iter(items)
    busy: list[_Worker[Item, Result]] = []
    idle: list[_Worker[Item, Result]] = []
    try:
        while True:
            for item in itertools.islice(left, jobs - len(busy)):
                worker = idle.pop() if idle else _Worker(work, item, begin)
                worker.start(item, timeout)
                busy.append(worker)
            if not busy:
                return
            for worker in _wait(busy):
                busy.remove(worker)
                result = worker.finish()
                if isinstance(result, ProcessFailure) or worker.count == lifetime:
                    worker.end()
                else:
                    idle.append(worker)
                yield worker.item, result
    finally:
        for worker in busy + idle:
            worker.end()


def _wait(workers: list[_Worker[Any, Any]]) -> list[_Worker[Any, Any]]:
    """The workers that are ready or late; at least one."""
    while True:
        seconds = min(each.deadline for each in workers) - time.monotonic()
        ready = connection.wait([each.results for each in workers], max(seconds, 0))
        found = [e for e in workers if e.results in ready or e.is_late()]
        if found:
            return found


def limit_memory(count: int) -> None:
    """Lets this process have `count` bytes more than it has."""
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
    limit = pages * os.sysconf("SC_PAGESIZE") + count
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def silence() -> None:
    """Drops what this process writes, also about its crash."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)


def _serve(
    work: Callable[[Item], Result],
    items: connection.Connection,
    parent: int,
    begin: Callable[[], None],
) -> None:
    """Works on items until the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The parent ends this process.
    begin()
    while os.getppid() == parent:
        if items.poll(_PATIENCE):
            try:
                items.send(work(items.recv()))
            except (EOFError, BrokenPipeError):
                return


def _describe(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        return f"the process ended with {signal.Signals(-exit_code).name}"
    return f"the process ended with status {exit_code}"
