"""Blocks that run at the same time.

A block that executes many instructions may wait for another one, so that others run in
between. Blocks start in the order of their numbers, as on a GPU.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .memory import SharedMemory
from .queues import AccessQueues
from .registers import Wave

#: Instructions of a block until others run.
_SLICE = 4_000
#: The most blocks that run at the same time.
_MOST_RUNNING = 64
#: Instructions of a block in which a loop that waits has been repeated.
LOOP_STEPS = 2_000


@dataclass
class RunningBlock:
    """A block that was started, with what belongs to it alone."""

    place: tuple[int, int, int]
    waves: list[Wave]
    queues: list[AccessQueues]
    shared: SharedMemory

    @property
    def has_ended(self) -> bool:
        return all(wave.state == "ended" for wave in self.waves)


def perform_all(blocks: list[RunningBlock]) -> None:
    """Performs all pending accesses, so that memory changes no more by itself."""
    for block in blocks:
        for queues in block.queues:
            for queue in queues.queues:
                queues.perform(queue)


def run_blocks(
    starts: Iterator[RunningBlock],
    run: Callable[[RunningBlock, int], None],
    check_progress: Callable[[list[RunningBlock]], None],
) -> None:
    """Runs blocks until all have ended.

    Args:
        starts: makes the blocks.
        run: executes a number of instructions of a block, fewer if it ends.
        check_progress: raises an error if none of the blocks can go on.
    """
    running: list[RunningBlock] = []
    while True:
        started = next(starts, None) if len(running) < _MOST_RUNNING else None
        if started:
            running.append(started)
        if not running:
            return
        for block in running:
            run(block, _SLICE)
        count = len(running)
        running = [block for block in running if not block.has_ended]
        if not started and len(running) == count:
            check_progress(running)
