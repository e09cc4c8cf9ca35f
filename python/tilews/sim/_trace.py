"""Traces: timelines as files for Perfetto, as text, and compared."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from .. import ir
from .._support import files
from . import _latencies
from ._events import Event
from ._run import find_kernel, run
from ._timeline import Span, Stay, find_stays, place_in_time


@dataclasses.dataclass(frozen=True)
class Share:
    """The time of a role in cycles: in total, and waiting for data and for slots."""

    total: float
    data: float
    slots: float

    @property
    def busy(self) -> float:
        """The cycles in which the role does not wait."""
        return self.total - self.data - self.slots


@dataclasses.dataclass
class Trace:
    """The timeline of one block; made by :func:`trace`.

    Attributes:
        name: the kernel's name.
        latencies: the rates that times are computed from.
        spans: events with times in cycles, in the order in which they start.
        stays: the states of the slots of channels.
    """

    name: str
    latencies: _latencies.Latencies
    spans: list[Span]
    stays: list[Stay]

    @property
    def cycles(self) -> float:
        """The end of the last span, in cycles."""
        return max((span.end for span in self.spans), default=0.0)

    def shares(self) -> dict[str, Share]:
        """For each role, its time and how much of it is waiting."""
        full = {stay.barrier for stay in self.stays}
        lanes: dict[str, list[Span]] = defaultdict(list)
        for span in self.spans:
            if span.event.unit == "role":
                lanes[span.lane].append(span)
        shares = {}
        for lane, spans in sorted(lanes.items()):
            total = max(s.end for s in spans) - min(s.begin for s in spans)
            waits = [s for s in spans if s.is_wait]
            slots = sum(s.end - s.begin for s in waits if s.event.barrier not in full)
            every = sum(s.end - s.begin for s in waits)
            if not full:  # groups of copies: there is nothing else to wait for
                slots = 0.0
            shares[lane] = Share(total, every - slots, slots)
        return shares

    def units(self) -> dict[str, float]:
        """For each unit, the cycles in which an operation is under way."""
        busy: dict[str, float] = {}
        for unit in sorted({s.event.unit for s in self.spans} - {"role", "arrival"}):
            spans = [s for s in self.spans if s.event.unit == unit]
            reach, total = 0.0, 0.0
            for span in spans:
                total += max(0.0, span.end - max(span.begin, reach))
                reach = max(reach, span.end)
            busy[unit] = total
        return busy

    def figures(self) -> dict[str, float]:
        """The figures of :meth:`summary` by name, in cycles or percent."""
        cycles = self.cycles or 1.0
        found = {"cycles": self.cycles}
        for lane, share in self.shares().items():
            total = share.total or 1.0
            found[f"{lane}: works %"] = 100 * share.busy / total
            found[f"{lane}: waits for data %"] = 100 * share.data / total
            found[f"{lane}: waits for slots %"] = 100 * share.slots / total
        for unit, busy in self.units().items():
            found[f"{unit}: busy %"] = 100 * busy / cycles
        slots = len({(s.barrier, s.slot) for s in self.stays})
        for state, first, last in (
            ("filled", "filling", "ready"),
            ("full", "ready", "used"),
            ("read", "used", "free"),
        ):
            held = sum(getattr(s, last) - getattr(s, first) for s in self.stays)
            if slots:
                found[f"slots: being {state} %"] = 100 * held / (cycles * slots)
        return found

    def summary(self) -> str:
        """The shares of time as a text."""
        lines = [f"{self.name}: one block on {self.latencies.chip}"]
        figures = self.figures()
        width = max(map(len, figures))
        lines += [f"  {name:<{width}} {value:8.1f}" for name, value in figures.items()]
        return "\n".join(lines) + "\n"

    def compare(self, other: Trace) -> str:
        """A table of the figures of this trace and another one, with differences."""
        mine, theirs = self.figures(), other.figures()
        names = list(dict.fromkeys([*mine, *theirs]))
        width = max(map(len, names))
        lines = [f"{'':<{width}} {'before':>9} {'after':>9} {'change':>9}"]
        for name in names:
            a, b = mine.get(name), theirs.get(name)
            texts = [f"{v:9.1f}" if v is not None else f"{'-':>9}" for v in (a, b)]
            change = f"{'-':>9}"
            if a is not None and b is not None:
                change = f"{b - a:+9.1f}"
            lines.append(f"{name:<{width}} {texts[0]} {texts[1]} {change}")
        return "\n".join(lines) + "\n"

    def to_json(self) -> dict[str, Any]:
        """The trace in the format of Chrome and Perfetto; a cycle is a microsecond."""
        return {
            "displayTimeUnit": "ns",
            "otherData": {"chip": self.latencies.chip, **self.latencies.sources},
            "traceEvents": [*_to_events(self.spans), *_to_slots(self.stays)],
        }

    def save(self, path: str | pathlib.Path) -> None:
        """Writes the trace for https://ui.perfetto.dev or chrome://tracing."""
        files.write(path, json.dumps(self.to_json(), indent=1) + "\n")


def _to_events(spans: Sequence[Span]) -> Iterable[dict[str, Any]]:
    lanes = _Lanes(1, "block")
    arrows = 0
    places: dict[int, int] = {}
    for span in spans:
        if span.event.unit != "arrival":
            overlaps = span.event.unit != "role"
            places[id(span)] = lanes.find(span.lane, span.begin, span.end, overlaps)
    yield from lanes.metadata()
    for span in spans:
        if id(span) not in places:
            continue
        event, lane = span.event, places[id(span)]
        numbers = ("slot", "phase", "barrier", "bytes", "work")
        args = {name: getattr(event, name) for name in numbers}
        args = {name: value for name, value in args.items() if value >= 0}
        name = event.op.removeprefix("tile.")
        yield {
            "name": f"{name} {event.inst}".strip(),
            "cat": "wait" if span.is_wait else event.unit,
            "ph": "X",
            **_at(lane, span.begin),
            "dur": span.end - span.begin,
            "args": {**args, "source": event.location},
        }
        for cause in span.causes:
            if id(cause) not in places or cause.event.unit == "role":
                continue
            arrows += 1
            arrow = {"name": "lands", "cat": "flow", "id": arrows}
            yield {**arrow, "ph": "s", **_at(places[id(cause)], cause.begin)}
            yield {**arrow, "ph": "f", "bp": "e", **_at(lane, span.end)}


def _to_slots(stays: Sequence[Stay]) -> Iterable[dict[str, Any]]:
    lanes = _Lanes(2, "slots")
    states = (("filling", "ready"), ("ready", "used"), ("used", "free"))
    events = []
    for stay in stays:
        lane = lanes.find(f"barrier {stay.barrier} slot {stay.slot}", 0, 0, False)
        for first, last in states:
            begin, end = getattr(stay, first), getattr(stay, last)
            event = {"name": first, "cat": "slot", "ph": "X", **_at(lane, begin, 2)}
            args = {"phase": stay.phase, "slot": stay.slot}
            events.append({**event, "dur": end - begin, "args": args})
    yield from lanes.metadata()
    yield from events


def _at(lane: int, time: float, process: int = 1) -> dict[str, Any]:
    return {"pid": process, "tid": lane, "ts": time}


class _Lanes:
    """Lanes of a process in the viewer; spans that overlap get lanes of their own."""

    def __init__(self, process: int, name: str) -> None:
        self.process, self.name = process, name
        self.names: list[str] = []
        self.ends: dict[str, list[tuple[float, int]]] = defaultdict(list)

    def find(self, name: str, begin: float, end: float, overlaps: bool) -> int:
        taken = self.ends[name]
        for place, (last, lane) in enumerate(taken):
            if last <= begin or not overlaps:
                taken[place] = (end, lane)
                return lane
        self.names.append(f"{name} {len(taken)}" if overlaps else name)
        taken.append((end, len(self.names)))
        return len(self.names)

    def metadata(self) -> Iterable[dict[str, Any]]:
        base = {"ph": "M", "pid": self.process}
        yield {**base, "name": "process_name", "args": {"name": self.name}}
        for lane, name in enumerate(self.names, 1):
            args = {"name": name}
            yield {**base, "name": "thread_name", "tid": lane, "args": args}


def make_trace(events: Sequence[Event], chip: str, name: str = "kernel") -> Trace:
    """The trace of recorded events (``run(record=...)``).

    Raises:
        ValueError: no latencies are known for the chip.
    """
    latencies = _latencies.find(chip)
    spans = place_in_time(events, latencies)
    return Trace(name, latencies, spans, find_stays(spans))


def trace(
    module: Any,
    kernel_name: str | None,
    args: Sequence[Any],
    grid: int | Iterable[int] | None = None,
    *,
    chip: str | None = None,
    block: int | Iterable[int] = (0, 0, 0),
) -> Trace:
    """Runs a kernel and makes the timeline of one of its blocks.

    Times are computed from a few rates of the chip; ``_latencies.py`` says which of
    them are measured and which are estimated. They explain a schedule, but do not
    predict the run time.

    Args:
        module, kernel_name, args, grid: as for :func:`run`. The kernel can be in any
            form, best after the default pipeline up to ``--tile-lower-channels``.
        chip: the chip whose latencies are used; by default the target of the module.
        block: the coordinates of the block in x, y and z.

    Raises:
        ValueError: the chip has no known latencies, or the module has no target.
        SimulationError: the kernel fails. :func:`make_trace` shows the ``events`` of
            the error, which precede the failure.
    """
    kernel = find_kernel(module, kernel_name)
    events: list[Event] = []
    chip = chip or _find_chip(kernel)
    _latencies.find(chip)
    run(module, kernel_name, args, grid, record=events, record_block=block)
    name = ir.StringAttr(kernel.attributes["sym_name"]).value
    return make_trace(events, chip, name)


def _find_chip(kernel: ir.Operation) -> str:
    module = kernel.parent
    text = ""
    if module is not None and "targets" in module.attributes:
        text = str(module.attributes["targets"])
    _, _, rest = text.partition('chip = "')
    if not rest:
        raise ValueError("the kernel's module has no target; give trace(chip=...)")
    return rest.partition('"')[0]
