"""Timelines of a block: gives events of the simulator a start and an end in cycles."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Sequence

from ._events import Event
from ._latencies import Latencies

_WAITS = {
    "tile.mbarrier_wait",
    "tile.wait",
    "tile.acquire",
    "tile.copy_group_wait",
    "tile.gemm_wait",
}


@dataclasses.dataclass
class Span:
    """An event with its time.

    Attributes:
        event: the event.
        lane: the role or the unit that executes the event.
        begin, end: the times of start and end, in cycles.
        causes: for a wait, the spans that ended it.
    """

    event: Event
    lane: str
    begin: float
    end: float
    causes: list[Span] = dataclasses.field(default_factory=list)

    @property
    def is_wait(self) -> bool:
        return self.event.unit == "role" and self.event.op in _WAITS


@dataclasses.dataclass(frozen=True)
class Stay:
    """The states of a slot of a channel in one phase, with times in cycles.

    Attributes:
        barrier, slot, phase: numbers of the channel's barrier, the slot and the phase.
        filling: when the first copy into the slot is issued.
        ready: when the last copy has landed.
        used: when the first reader starts.
        free: when the readers have released the slot.
    """

    barrier: int
    slot: int
    phase: int
    filling: float
    ready: float
    used: float
    free: float


def place_in_time(events: Sequence[Event], latencies: Latencies) -> list[Span]:
    """Gives each event its time.

    A role executes one operation after the other. An asynchronous operation runs in a
    unit, which processes one at a time but overlaps their latencies. A wait ends when
    all events that it waits for have ended.
    """
    return _Clock(events, latencies).run()


class _Clock:
    def __init__(self, events: Sequence[Event], latencies: Latencies) -> None:
        self.latencies = latencies
        self.queues: dict[str, list[Event]] = defaultdict(list)
        self.started: dict[str, list[Event]] = defaultdict(list)
        self.arrivals: dict[tuple[int, int], list[Event]] = defaultdict(list)
        for event in sorted(events, key=lambda e: e.begin):
            (self.queues if event.unit == "role" else self.started)[event.role].append(
                event
            )
            if event.barrier >= 0 and event.op not in _WAITS:
                self.arrivals[event.barrier, event.phase].append(event)
        self.times: dict[str, float] = defaultdict(float)
        self.units: dict[str, float] = defaultdict(float)
        self.spans: dict[int, Span] = {}

    def run(self) -> list[Span]:
        places = dict.fromkeys(self.queues, 0)
        while True:
            # The role that lags most comes first: units serve in this order.
            for role in sorted(places, key=lambda role: self.times[role]):
                queue = self.queues[role]
                if places[role] == len(queue):
                    continue
                event = queue[places[role]]
                causes = self.causes(event)
                if causes is None:
                    continue
                self.place(event, causes)
                places[role] += 1
                break
            else:
                break
        for role, place in places.items():
            if place < len(self.queues[role]):
                self.place_stuck(self.queues[role][place])
        return sorted(self.spans.values(), key=lambda span: (span.begin, span.end))

    def causes(self, event: Event) -> list[Span] | None:
        """The spans that end a wait; None if one of them has no time yet."""
        if event.op not in _WAITS:
            # The block stays at tile.specialize, and its roles run.
            return None if event.op == "tile.specialize" else []
        waited = self.arrivals.get((event.barrier, event.phase), [])
        if event.barrier < 0 and event.number > 0:
            kind = "tensor" if event.op == "tile.gemm_wait" else "cp_async"
            mine = [e for e in self.started[event.role] if e.unit == kind]
            waited = [e for e in mine if e.number <= event.number]
        if event.end < 0:
            return None
        found = [self.spans[id(one)] for one in waited if id(one) in self.spans]
        return found if len(found) == len(waited) else None

    def place(self, event: Event, causes: list[Span]) -> None:
        begin = self.times[event.role]
        if event.role and not begin:
            begin = self.times[""]
        end = begin + self.duration(event)
        if causes:
            last = max(cause.end for cause in causes)
            if last > begin:
                end = max(end, last + self.latencies.barrier)
        lane = event.role or "block"
        self.spans[id(event)] = Span(event, lane, begin, end, causes)
        self.times[event.role] = end
        # Asynchronous operations that the event starts.
        for other in self.started[event.role]:
            if event.begin < other.begin and (other.begin < event.end or event.end < 0):
                self.spans[id(other)] = self.start(other, end)

    def place_stuck(self, event: Event) -> None:
        """Lets a wait that never ends last to the end of the timeline."""
        begin = self.times[event.role]
        end = max((span.end for span in self.spans.values()), default=begin)
        if event.op in _WAITS:
            lane = event.role or "block"
            self.spans[id(event)] = Span(event, lane, begin, max(begin, end))

    def start(self, event: Event, issued: float) -> Span:
        latencies = self.latencies
        if event.unit == "arrival":
            return Span(event, event.role or "block", issued, issued)
        busy = max(event.bytes, 0) / latencies.memory_bytes
        latency: float = latencies.memory
        if event.unit == "tensor":
            busy, latency = max(event.work, 0) / latencies.matmul, latencies.barrier
        begin = max(issued, self.units[event.unit])
        self.units[event.unit] = begin + busy
        return Span(event, event.unit, begin, begin + busy + latency)

    def duration(self, event: Event) -> float:
        latencies = self.latencies
        is_async = any(
            event.begin < other.begin < event.end for other in self.started[event.role]
        )
        if is_async or event.op in _WAITS or event.op == "tile.mbarrier_arrive":
            return latencies.issue
        if event.op in ("tile.gemm", "tile.gemm_sp"):
            rate = latencies.elements if event.inst == "simt" else latencies.matmul
            return latencies.issue + max(event.work, 0) / rate
        if event.op in ("tile.copy", "tile.load", "tile.store", "tile.atomic_rmw"):
            return latencies.issue + max(event.bytes, 0) / latencies.shared_bytes
        return latencies.issue + max(event.work, 0) / latencies.elements


def find_stays(spans: Sequence[Span]) -> list[Stay]:
    """The states of the slots of channels over time."""
    end = max((span.end for span in spans), default=0.0)
    copies: dict[tuple[int, int], list[Span]] = defaultdict(list)
    waits: dict[tuple[int, int], list[Span]] = defaultdict(list)
    arrivals: dict[tuple[int, int], list[Span]] = defaultdict(list)
    acquired: dict[str, Span] = {}
    pairs: dict[int, int] = {}
    for span in spans:
        event = span.event
        key = (event.barrier, event.phase)
        if event.barrier < 0:
            continue
        if span.is_wait:
            waits[key].append(span)
            acquired[event.role] = span
        elif event.unit in ("tma", "cp_async"):
            copies[key].append(span)
            before = acquired.get(event.role)
            if before and before.event.slot == event.slot:
                pairs.setdefault(event.barrier, before.event.barrier)
        else:
            arrivals[key].append(span)
    stays = []
    for (barrier, phase), filled in sorted(copies.items()):
        ready = max(span.end for span in filled)
        readers = [span.end for span in waits.get((barrier, phase), [])]
        released = arrivals.get((pairs.get(barrier, -1), phase), [])
        used = min(readers, default=end)
        free = max((span.end for span in released), default=end)
        stays.append(
            Stay(
                barrier,
                filled[0].event.slot,
                phase,
                min(span.begin for span in filled),
                ready,
                max(used, ready),
                max(free, used),
            )
        )
    return stays
