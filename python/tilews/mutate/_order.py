"""The order of the memory accesses of a role, as recorded in a run.

Also which copies the waits for groups cover, on all paths of a kernel.
"""

from __future__ import annotations

import bisect
import collections
import dataclasses
import functools
from collections.abc import Iterator, Sequence

from .. import ir, sim
from . import _edits

#: Operations that order accesses and make none.
_ORDERING = {"tile.barrier", "tile.commit_group", "tile.copy_group_wait"}
#: Signals to other roles. Only operations under way have to be complete before one.
_SIGNALS = {"tile.mbarrier_arrive"}
#: The operation that makes all earlier accesses of the role visible to others.
_PUBLISHING = "tile.mbarrier_ready"
#: Each thread executes a fence for its own accesses, and before its own signals.
_FENCE = "tile.proxy_fence"
#: The operation that waits for what a unit does; a barrier can drain units as well.
_FINISHING = {"cp_async": "tile.copy_group_wait", "tensor": "tile.gemm_wait"}

#: Operations whose threads synchronize between their accesses to scratch memory.
_SYNCHRONIZING = {
    f"tile.{name}" for name in ("convert_layout", "flip", "reduce", "reshape", "scan")
}

_Bytes = tuple[int, int, int, bool]


@dataclasses.dataclass(frozen=True)
class OrderedAccess:
    """An operation of a role that accesses memory.

    Attributes:
        op: the name of the operation.
        accesses: the bytes that it accesses, as (memory, first, last, is written), in
            memory that some operation writes. `last` is not included.
        is_under_way: whether it starts an asynchronous operation.
    """

    op: str
    accesses: tuple[_Bytes, ...]
    is_under_way: bool

    @functools.cached_property
    def _spans(self) -> dict[int, tuple[int, int, bool]]:
        """By memory the first and last byte accessed, and whether any is written."""
        found: dict[int, tuple[int, int, bool]] = {}
        for memory, first, last, writes in self.accesses:
            low, high, any_written = found.get(memory, (first, last, writes))
            span = min(low, first), max(high, last), any_written or writes
            found[memory] = span
        return found

    def conflicts(self, later: OrderedAccess) -> bool:
        """Whether the order of the two can affect a result."""
        if _PUBLISHING in (self.op, later.op):
            return True
        if self.op == _FENCE:
            return later.is_under_way
        if later.op == _FENCE:
            return self.is_under_way
        if later.op in _SIGNALS:
            return self.is_under_way
        spans = later._spans
        if not any(
            memory in spans
            and first < spans[memory][1]
            and spans[memory][0] < last
            and (writes or spans[memory][2])
            for memory, (first, last, writes) in self._spans.items()
        ):
            return False
        return any(
            memory == other and first < end and begin < last and (writes or changes)
            for memory, first, last, writes in self.accesses
            for other, begin, end, changes in later.accesses
        )


@dataclasses.dataclass(frozen=True)
class Order:
    """The order of the accesses of a role in a run.

    Attributes:
        accesses: the accesses in program order.
        done: for each access, the index of the first access that is ordered after it:
            the first one after the next barrier that follows its completion.
    """

    accesses: list[OrderedAccess]
    done: list[int]

    def is_kept_by(self, other: Order) -> bool:
        """Whether conflicting accesses that are ordered here are so in `other`."""
        return self.accesses == other.accesses and all(
            not access.conflicts(later)
            for access, here, there in zip(
                self.accesses, self.done, other.done, strict=True
            )
            for later in self.accesses[here:there]
        )

    def without_copies_besides(self, other: Order) -> Order | None:
        """The order without copies that `other` has not, and that nothing uses.

        Returns:
            The order; None if it has other accesses besides, or if the copies conflict
            with later accesses or with earlier ones that are not ordered before them.
        """
        kept: list[int] = []
        for index, access in enumerate(self.accesses):
            left = other.accesses[len(kept) :]
            if left and access == left[0]:
                kept.append(index)
            elif access.op != "tile.copy" or not self._is_unused(index):
                return None
        done = [bisect.bisect_left(kept, self.done[index]) for index in kept]
        return Order([self.accesses[index] for index in kept], done)

    def _is_unused(self, index: int) -> bool:
        """Whether no access may see that the one at `index` is made."""
        access = self.accesses[index]
        return not any(map(access.conflicts, self.accesses[index + 1 :])) and all(
            done <= index or not earlier.conflicts(access)
            for earlier, done in zip(
                self.accesses[:index], self.done[:index], strict=True
            )
        )


def read_order(events: Sequence[sim.Event], role: str) -> Order:
    """The order of a role's accesses in a run; role ``""`` is the whole block."""
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
    barriers = [float(each.begin) for each in own if each.op == "tile.barrier"]
    steps: list[tuple[float, float, OrderedAccess]] = []
    for number, event in enumerate(done_by):
        beside = under_way.get(number)
        memory = tuple(
            (numbers[memory], first, last, writes)
            for memory, first, last, writes in event.accesses
        )
        if event.op in _SYNCHRONIZING and memory:
            # Threads write to scratch memory, synchronize, and read from it.
            barriers.append(event.begin + 0.25)
            for time, writes in ((event.begin, True), (event.begin + 0.5, False)):
                part = tuple(each for each in memory if each[3] == writes)
                steps.append((time, time, OrderedAccess(event.op, part, False)))
            continue
        end = event.begin if beside is None else _get_end(beside, own)
        steps.append(
            (event.begin, end, OrderedAccess(event.op, memory, beside is not None))
        )
    barriers.sort()
    times = [time for time, _, _ in steps]
    return Order(
        [access for _, _, access in steps],
        [_get_first_after(end, barriers, times) for _, end, _ in steps],
    )


def _get_first_after(end: float, barriers: list[float], times: list[float]) -> int:
    """The index of the first of `times` after the first barrier from `end` on."""
    index = bisect.bisect_left(barriers, end)
    if index == len(barriers):
        return len(times)
    return bisect.bisect_left(times, barriers[index])


def _get_end(started: sim.Event, own: list[sim.Event]) -> float:
    """The time at which the role has waited for an operation that it started."""
    for event in own:
        if event.begin < started.begin or event.number < 0:
            continue
        waits = event.op == _FINISHING.get(started.unit)
        if event.op == "tile.barrier" or (waits and event.number >= started.number):
            return event.begin
    return float("inf")


def signals_for_others(role: ir.Operation) -> bool:
    """Whether barriers of a role order more than the role's own accesses.

    They do if one thread of the role arrives at an mbarrier on behalf of the others, or
    starts copies that complete on an mbarrier.
    """
    return any(map(is_signal_for_others, _edits.walk(role)))


def is_signal_for_others(op: ir.Operation) -> bool:
    """Whether one thread signals an mbarrier by `op` for the threads of its role."""
    if op.name == "tile.mbarrier_arrive":
        return str(op.attributes["by"]) == "#tile.agents<thread>"
    return op.name == "tile.copy" and any(
        "!tile.mbarrier" in str(value.type) for value in op.operands
    )


#: How many groups were closed since a copy, its own included: here, and in the other.
_Counts = set[tuple[int, int]]


def are_waited_for(kernel: ir.Operation, other: ir.Operation) -> bool:
    """Whether the waits for groups in `other` cover all that they cover in `kernel`.

    The kernels differ in the places at which they close groups. On each path, a copy
    that a wait covers in `kernel` is covered by it, or by an earlier wait, in `other`.
    """
    pending = [_pending_of(each) for each in _edits.walk(kernel)]
    groups = _Groups(most=max((each or 0 for each in pending), default=0) + 1)
    groups.pass_block(_body(kernel), _body(other), set())
    return not groups.is_lost


def _body(op: ir.Operation, region: int = 0) -> list[ir.Operation]:
    """The operations of a region of `op` with one block; none without a block."""
    blocks = op.regions[region].blocks
    return [each.operation for each in blocks[0].operations] if len(blocks) else []


def _pending_of(op: ir.Operation) -> int | None:
    """How many groups a wait leaves under way; None for other operations."""
    if op.name not in ("tile.copy_group_wait", "tile.wait"):
        return None
    if "pending" in op.attributes:
        return ir.IntegerAttr(op.attributes["pending"]).value
    channel = _edits.defining(op.operands[0])
    # Such a wait closes a group and waits for all, unless there are only stores.
    if channel is None or "simt" in str(channel.attributes["producer"]):
        return None
    return 0


class _Groups:
    """Follows a copy that starts anywhere, on all paths of two kernels."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.is_lost = False

    def pass_block(
        self, ops: list[ir.Operation], others: list[ir.Operation], at: _Counts
    ) -> _Counts:
        """The counts after a block."""
        left, right = iter(ops), iter(others)
        while True:
            one, here = self._next(left)
            other, there = self._next(right)
            at = {
                (min(n + here, self._most), min(m + there, self._most)) for n, m in at
            }
            if one is None or other is None or one.name != other.name:
                self.is_lost |= one is not other
                return at
            at = self._pass(one, other, at | {(0, 0)})

    @staticmethod
    def _next(ops: Iterator[ir.Operation]) -> tuple[ir.Operation | None, int]:
        """The next operation that closes no group, and how many are closed before."""
        for count, op in enumerate(ops):
            if op.name != "tile.commit_group":
                return op, count
        return None, 0

    def _pass(self, op: ir.Operation, other: ir.Operation, at: _Counts) -> _Counts:
        pending = _pending_of(op)
        if pending is not None:
            if "pending" not in op.attributes:
                return set()  # It closes a group and waits for all.
            self.is_lost |= any(n > pending >= m for n, m in at)
            self.is_lost |= pending != _pending_of(other)
            return {pair for pair in at if max(pair) <= pending}
        if op.name == "scf.if":
            ways = [
                self.pass_block(_body(op, n), _body(other, n), at) for n in range(2)
            ]
            return ways[0] | ways[1]
        if op.name not in ("scf.for", "scf.while"):
            self.is_lost |= len(op.regions) > 0
            return at
        while True:  # Each iteration adds counts, of which there are finitely many.
            end = before = self.pass_block(_body(op), _body(other), at)
            if op.name == "scf.while":
                end = self.pass_block(_body(op, 1), _body(other, 1), before)
            if end <= at:
                return before if op.name == "scf.while" else at
            at = at | end
