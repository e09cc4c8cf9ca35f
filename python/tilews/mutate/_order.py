"""What orders the accesses that a role makes to memory, read from a run."""

from __future__ import annotations

import bisect
import collections
import dataclasses
from collections.abc import Sequence

from .. import ir, sim
from . import _edits

#: What orders accesses, and is none.
_ORDERING = {"tile.barrier", "tile.commit_group", "tile.copy_group_wait"}
#: What others learn from; of it only what is under way has to be complete.
_SIGNALS = {"tile.mbarrier_arrive"}
#: What makes all of the role's accesses so far visible to somebody else.
_PUBLISHING = {"tile.proxy_fence", "tile.mbarrier_ready"}
#: What waits for operations under way, by their unit; a barrier that drains them too.
_FINISHING = {"cp_async": "tile.copy_group_wait", "tensor": "tile.gemm_wait"}

#: Operations whose threads meet between their accesses to scratch memory.
_MEETING = {f"tile.{name}" for name in ("convert_layout", "reduce", "reshape", "scan")}

_Bytes = tuple[int, int, int, bool]


@dataclasses.dataclass(frozen=True)
class OrderedAccess:
    """What a role does, apart from ordering it.

    Attributes:
        op: the operation.
        accesses: the bytes that it accesses, of memory that somebody writes.
        is_under_way: whether it starts something that goes on beside the role.
    """

    op: str
    accesses: tuple[_Bytes, ...]
    is_under_way: bool

    def conflicts(self, later: OrderedAccess) -> bool:
        """Whether it may matter which of the two comes first."""
        if later.op in _PUBLISHING or self.op in _PUBLISHING:
            return True
        if later.op in _SIGNALS:
            return self.is_under_way
        return any(
            memory == other and first < end and begin < last and (writes or changes)
            for memory, first, last, writes in self.accesses
            for other, begin, end, changes in later.accesses
        )


@dataclasses.dataclass(frozen=True)
class Order:
    """What orders the accesses of a role in a run.

    Attributes:
        accesses: what the role does, in its order.
        done: for each of them the number of the first one that comes when it is done
            and all threads of the role know: behind a barrier behind its end.
    """

    accesses: list[OrderedAccess]
    done: list[int]

    def is_kept_by(self, other: Order) -> bool:
        """Whether accesses that conflict and are ordered here are ordered there."""
        return self.accesses == other.accesses and all(
            not access.conflicts(later)
            for access, here, there in zip(
                self.accesses, self.done, other.done, strict=True
            )
            for later in self.accesses[here:there]
        )


def read_order(events: Sequence[sim.Event], role: str) -> Order:
    """The order of a role's accesses in a run; of the block's for role ``""``."""
    of_role = [each for each in events if each.role == role]
    own = [each for each in of_role if each.unit == "role"]
    done_by = [each for each in own if each.op not in _ORDERING]
    begins = [each.begin for each in done_by]
    under_way = {
        bisect.bisect_right(begins, each.begin) - 1: each
        for each in of_role
        if each.unit in ("tma", "cp_async", "tensor")
    }
    numbers: dict[int, int] = collections.defaultdict(lambda: len(numbers))
    met = [float(each.begin) for each in own if each.op == "tile.barrier"]
    steps: list[tuple[float, float, OrderedAccess]] = []
    for number, event in enumerate(done_by):
        beside = under_way.get(number)
        memory = tuple((numbers[m], *rest) for m, *rest in event.accesses)
        if event.op in _MEETING and memory:
            # Threads write, meet and read, all in scratch memory.
            met.append(event.begin + 0.25)
            for time, writes in ((event.begin, True), (event.begin + 0.5, False)):
                part = tuple(each for each in memory if each[3] == writes)
                steps.append((time, time, OrderedAccess(event.op, part, False)))
            continue
        end = event.begin if beside is None else _get_end(beside, own)
        steps.append(
            (event.begin, end, OrderedAccess(event.op, memory, beside is not None))
        )
    met.sort()
    times = [time for time, _, _ in steps]
    return Order(
        [access for _, _, access in steps],
        [_get_known(end, met, times) for _, end, _ in steps],
    )


def _get_known(end: float, met: list[float], times: list[float]) -> int:
    """The number of the first of `times` behind the first meeting from `end` on."""
    meeting = bisect.bisect_left(met, end)
    return (
        len(times) if meeting == len(met) else bisect.bisect_left(times, met[meeting])
    )


def _get_end(started: sim.Event, own: list[sim.Event]) -> float:
    """When the role has waited for what it has started."""
    for event in own:
        if event.begin < started.begin or event.number < 0:
            continue
        waits = event.op == _FINISHING.get(started.unit)
        if event.op == "tile.barrier" or (waits and event.number >= started.number):
            return event.begin
    return float("inf")


def signals_for_others(role: ir.Operation) -> bool:
    """Whether a thread of a role tells what others of its threads have done, or has
    copies land on barriers, so that its barriers order more than its accesses."""
    return any(
        str(each.attributes["by"]) == "#tile.agents<thread>"
        if each.name == "tile.mbarrier_arrive"
        else any("!tile.mbarrier" in str(value.type) for value in each.operands)
        for each in _edits.walk(role)
        if each.name in ("tile.mbarrier_arrive", "tile.copy")
    )
