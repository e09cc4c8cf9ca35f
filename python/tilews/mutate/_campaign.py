"""Judges random mutants in processes of their own, and keeps the tally."""

from __future__ import annotations

import dataclasses
import datetime
import pathlib
import time
from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

from ..errors import CompileError
from ..fuzz import apart
from ._judge import Subject
from ._random_mutants import RandomFinding, RandomMutants
from ._tally import Tally

#: Seconds of the processor for one mutant with all its runs, and mutants for one
#: process, whose memory grows.
TIMEOUT = 300.0
LIFETIME = 5000
#: The memory of a process: what it has at the start, and this more.
MEMORY = 2 << 30
#: Seconds between two writes of the tally.
_PERIOD = 5.0


def run(
    subjects: Sequence[Subject],
    path: pathlib.Path,
    count: int,
    jobs: int,
    first: int = 0,
) -> Tally:
    """Judges the next random mutants.

    Mutants that have to be looked at are judged again first. The tally is written every
    few seconds, so that a run that is interrupted goes on where it was.

    Args:
        subjects: The corpus.
        path: The file of the tally.
        count: How many mutants to judge, after those of the tally.
        jobs: The number of processes.
        first: The index of the first mutant, if there is no tally yet.
    """
    mutants = RandomMutants(subjects)
    tally = Tally.load(path, first)
    again = tally.take_kept()
    new = [RandomFinding(tally.next + i) for i in range(count)]
    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn())
    with Progress(
        *columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True
    ) as bar:
        task = bar.add_task("mutants", total=len(again) + count)
        for each in _judge(mutants, again, jobs):
            bar.advance(task)
            if each is not None:
                tally.add(each)
        written = time.monotonic()
        try:
            for each in _judge(mutants, new, jobs):
                bar.advance(task)
                if each is not None:
                    tally.add(each)
                tally.next += 1
                if time.monotonic() > written + _PERIOD:
                    tally.save(path)
                    written = time.monotonic()
        finally:
            tally.date = datetime.date.today().isoformat()
            tally.save(path)
    return tally


def _judge(
    mutants: RandomMutants, chosen: Iterable[RandomFinding], jobs: int
) -> Iterator[RandomFinding | None]:
    """What is found of mutants, in their order; None for those that are no more."""

    def judge(one: RandomFinding) -> RandomFinding | None:
        try:
            return mutants.judge(one)
        except CompileError:  # The compiler schedules the kernel in another way now.
            return None

    order = list(chosen)
    done: dict[RandomFinding, RandomFinding | None] = {}
    first = 0
    for one, found in apart.run(
        judge,
        order,
        jobs=jobs,
        timeout=TIMEOUT,
        lifetime=LIFETIME,
        begin=lambda: apart.limit_memory(MEMORY),
    ):
        if isinstance(found, apart.ProcessFailure):
            found = dataclasses.replace(one, outcome=found.kind, reason=found.message)
        done[one] = found
        while first < len(order) and order[first] in done:
            yield done.pop(order[first])
            first += 1
