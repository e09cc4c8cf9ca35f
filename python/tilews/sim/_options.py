"""The options of a simulation, and their checked form."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from ..runtime.scalars import read_integers
from ..runtime.schema import show

if TYPE_CHECKING:
    from ._events import Event

POLICIES = ("earliest", "latest", "random", "worst", "exhaustive", "replay")
BARRIERS = ("detect", "implied", "explicit")
#: How the schedules of the policy ``"exhaustive"`` begin.
_OF_EXHAUSTIVE = "exhaustive:"


@dataclasses.dataclass(frozen=True)
class Exploration:
    """What the policy ``"exhaustive"`` did in a block.

    Attributes:
        block: Its coordinates.
        runs: All runs.
        cut_off: Those that were given up, because others cover what could follow.
        traces: How many differ in more than the order of independent steps.
        is_exhausted: Whether no other order is left. False after a fault.
    """

    block: tuple[int, int, int]
    runs: int
    cut_off: int
    traces: int
    is_exhausted: bool


class RunOptions(TypedDict, total=False):
    """The keyword arguments of :func:`tilews.sim.run`; all may be left out.

    Attributes:
        policy: Which of several possible steps comes next. ``"earliest"`` (the default)
            completes asynchronous operations at once, and ``"latest"`` when no other
            step is possible. ``"random"`` draws a step. ``"worst"`` tries one
            possibility after the other, and ``"exhaustive"`` all that differ in more
            than the order of independent steps.
        seed: Seed of ``"random"``; 0 by default.
        runs: Runs of each block under ``"worst"`` and ``"exhaustive"``; 1000 by
            default. It is an error if ``"exhaustive"`` would need more.
        schedule: A schedule that ``"worst"`` or ``"exhaustive"`` has printed, to be run
            again.
        explored: A list that gets an :class:`Exploration` for each block under
            ``"exhaustive"``.
        reduces: Whether ``"exhaustive"`` lets one run stand for all that differ in the
            order of independent steps. ``False`` is for tests of this reduction.
        order: The steps that the first block has to take first, as pairs of an agent
            (0 outside of roles, then the roles in order) and the number of an operation
            of the kernel as it is printed. Afterwards `policy` decides. See
            :func:`tilews.sim.replay`.
        barriers: ``"explicit"`` if only ``tile.barrier`` and ``tile.proxy_fence`` order
            the accesses of a role, ``"implied"`` if program order does. ``"detect"``
            (the default) means ``"explicit"`` if the kernel has such an operation.
        max_steps: The most operations that a block may execute before it counts as
            endless; 0, the default, for no limit.
        threads: CPU threads that run blocks; 0, the default, for one a processor.
        record: A list that gets the events of one block in the order in which they
            begin.
        record_block: The coordinates of that block; the first one by default.
        progress: Called with the number of blocks that have run, and of all blocks.
    """

    policy: str
    seed: int
    runs: int
    schedule: str | None
    explored: list[Exploration] | None
    reduces: bool
    order: Sequence[tuple[int, int]]
    barriers: str
    max_steps: int
    threads: int
    record: list[Event] | None
    record_block: int | Iterable[int]
    progress: Callable[[int, int], None] | None


@dataclasses.dataclass(frozen=True)
class Settings:
    """The options of a run with their defaults; fields as in :class:`RunOptions`."""

    policy: str = "earliest"
    seed: int = 0
    runs: int = 1000
    schedule: str | None = None
    explored: list[Exploration] | None = None
    reduces: bool = True
    order: Sequence[tuple[int, int]] = ()
    barriers: str = "detect"
    max_steps: int = 0
    threads: int = 0
    record: list[Event] | None = None
    record_block: int | Iterable[int] = (0, 0, 0)
    progress: Callable[[int, int], None] | None = None

    def __post_init__(self) -> None:
        bits = {"seed": 64, "max_steps": 64, "runs": 32, "threads": 32}
        for name, width in bits.items():
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)):
                raise TypeError(f"{name}: expected an integer, found {value!r:.80}")
            if not 0 <= value < 2**width:
                raise ValueError(
                    f"{name}: expected a number from 0 below 2**{width}, found {value}"
                )

    def policy_number(self) -> int:
        """The number of the policy in the native module."""
        policy = self.policy if self.schedule is None else "replay"
        return _get_number("policy", policy, POLICIES)

    def barriers_number(self) -> int:
        """The number of the treatment of barriers in the native module."""
        return _get_number("barriers", self.barriers, BARRIERS)

    def replayed(self) -> tuple[list[int], list[int]]:
        """The block and the choices of the schedule, such as ``"0,0,0:1.0.2"``."""
        if self.schedule is None:
            return [0, 0, 0], []
        match = re.fullmatch(
            rf"(?:{_OF_EXHAUSTIVE})?(\d+),(\d+),(\d+):((?:\d+(?:\.\d+)*)?)",
            self.schedule,
        )
        if not match:
            raise ValueError(
                f"expected a schedule such as '0,0,0:1.0.2', found '{self.schedule}'"
            )
        block = _read_bounded(match[1], match[2], match[3], bits=63)
        return block, _read_bounded(*filter(None, match[4].split(".")), bits=32)

    def is_of_exhaustive(self) -> bool:
        """Whether the schedule is one that ``"exhaustive"`` has found."""
        return (self.schedule or "").startswith(_OF_EXHAUSTIVE)

    def recorded_block(self) -> list[int]:
        """The coordinates in x, y and z of the block that is recorded."""
        return _read_numbers("block", "coordinates", self.record_block, missing=0)


def get_grid(grid: int | Iterable[int] | None) -> list[int] | None:
    """The given blocks in x, y and z; None if none are given.

    Raises:
        TypeError: the extents are no integers.
        ValueError: there are more than three extents, or none, or one is too large.
    """
    if grid is None:
        return None
    return _read_numbers("grid", "extents", grid, missing=1)


def _read_numbers(
    what: str, kind: str, given: int | Iterable[int], missing: int
) -> list[int]:
    try:
        numbers = read_integers(given)
    except TypeError:
        raise TypeError(f"{what}: expected integers, found {show(given)}") from None
    if not 1 <= len(numbers) <= 3:
        raise ValueError(f"a {what} has 1 to 3 {kind}, found {show(given)}")
    if not all(-(2**63) <= number < 2**63 for number in numbers):
        found = ", ".join(map(show, numbers))
        raise ValueError(f"{what}: expected {kind} below 2**63, found {found}")
    return numbers + [missing] * (3 - len(numbers))


def _read_bounded(*numbers: str, bits: int) -> list[int]:
    """The numbers of a schedule.

    Raises:
        ValueError: one has more bits.
    """
    most = 2**bits - 1
    for number in numbers:
        # Python refuses to read very long numbers.
        if len(number.lstrip("0")) > len(str(most)) or int(number) > most:
            raise ValueError(
                f"schedule: expected numbers below 2**{bits}, found '{number:.40}'"
            )
    return list(map(int, numbers))


def _get_number(what: str, name: str, names: Sequence[str]) -> int:
    if name not in names:
        raise ValueError(
            f"expected as {what} one of {', '.join(names)}; found '{name}'"
        )
    return list(names).index(name)
