"""Timelines of events made by hand, and of kernels."""

import json

import numpy as np
import pytest

from kernels import pipelined_zoo
from tilews import passes, sim
from tilews.sim._latencies import TABLE, find

CHIP = "sm_90a"


def event(op, role, unit, begin, end, **numbers):
    values = dict.fromkeys(("barrier", "slot", "phase", "bytes", "number", "work"), -1)
    return sim.Event(
        f"tile.{op}", "", "k.py:1:1", role, unit, begin, end, **values | numbers
    )


def handover(count=1, work=0):
    """A producer that fills one slot, and a consumer that reads it."""
    events, time = [], 0

    def add(op, role, unit, length=1, **numbers):
        nonlocal time
        events.append(event(op, role, unit, time, time + length, **numbers))
        time += 2

    for phase in range(count):
        full = {"barrier": 0, "slot": 0, "phase": phase}
        empty = {"barrier": 1, "slot": 0, "phase": phase - 1}
        add("mbarrier_wait", "load", "role", **empty)
        add("copy", "load", "role", length=3)
        add("copy", "load", "tma", length=9, bytes=2070, **full)
        add("mbarrier_arrive", "load", "role", **full)
        add("mbarrier_wait", "math", "role", **full)
        add("reduce", "math", "role", work=work)
        add("mbarrier_arrive", "math", "role", barrier=1, slot=0, phase=phase)
    return events


def test_times_follow_from_rates():
    trace = sim.make_trace(handover(), CHIP)
    rates = find(CHIP)
    copy = next(s for s in trace.spans if s.lane == "tma")
    # The producer waits for a free slot, and then issues the copy.
    assert copy.begin == 2 * rates.issue
    assert copy.end == pytest.approx(copy.begin + rates.memory + 2070 / 20.7)
    wait = next(s for s in trace.spans if s.lane == "math" and s.is_wait)
    assert wait.begin == 0 and wait.end == copy.end + rates.barrier
    (stay,) = trace.stays
    assert (stay.filling, stay.ready) == (copy.begin, copy.end)
    assert stay.used == wait.end


def test_who_waits_for_whom():
    slow_copies = sim.make_trace(handover(8), CHIP).shares()
    slow_work = sim.make_trace(handover(8, work=1_000_000), CHIP).shares()
    assert slow_copies["math"].data > 0.8 * slow_copies["math"].total
    assert slow_work["math"].data < 0.2 * slow_work["math"].total
    assert slow_work["load"].slots > 0.8 * slow_work["load"].total


def test_roles_that_hang_wait_to_the_end():
    *events, _released = handover()
    place = {"barrier": 1, "slot": 0, "phase": 0}
    events.append(event("mbarrier_wait", "load", "role", 100, -1, **place))
    trace = sim.make_trace(events, CHIP)
    shares = trace.shares()
    assert trace.cycles > find(CHIP).memory
    assert shares["load"].slots > 0.8 * shares["load"].total


def lower(chip, **constants):
    case = next(c for c in pipelined_zoo.CASES if c.name == "gemm-s3")
    module = case.kernel.build(chip, **case.constants | constants)
    dialect = "nvvm" if chip.startswith("sm_") else "rocdl"
    for step in passes.expand(f"tilews-to-{dialect}{{chip={chip}}}"):
        if step.startswith(f"convert-tile-to-{dialect}"):
            break
        passes.run(module, step)
    return module, case.arguments(np.random.default_rng(0))


def make(chip, **constants):
    module, arguments = lower(chip, **constants)
    return sim.trace(module, "gemm", arguments)


@pytest.mark.parametrize("chip", ["sm_80", CHIP, "gfx942"])
def test_traces_of_kernels(chip, tmp_path):
    trace = make(chip)
    trace.save(tmp_path / "trace.json")
    saved = json.loads((tmp_path / "trace.json").read_text())
    events = saved["traceEvents"]
    assert set(saved["otherData"]) >= {"chip", "memory", "matmul"}
    names = {e["args"]["name"] for e in events if e["ph"] == "M"}
    spans = [e for e in events if e["ph"] == "X"]
    assert all(e["dur"] >= 0 and e["ts"] >= 0 for e in spans)
    assert any("gemm" in e["name"] and e["args"]["source"] for e in spans)
    if chip == CHIP:
        assert {"load", "math", "tma 0", "barrier 0 slot 0"} <= names
        arrows = [e["ph"] for e in events if e.get("cat") == "flow"]
        assert arrows.count("s") == arrows.count("f") > 0
    # Events in one lane do not overlap.
    ends = {}
    for span in sorted(spans, key=lambda e: e["ts"]):
        lane = span["pid"], span["tid"]
        assert span["ts"] >= ends.get(lane, 0) - 1e-6
        ends[lane] = span["ts"] + span["dur"]


def test_more_stages_hide_latency():
    one, four = make(CHIP, STAGES=1), make(CHIP, STAGES=4)
    assert four.cycles < 0.7 * one.cycles
    table = one.compare(four)
    (line,) = [line for line in table.splitlines() if line.startswith("cycles")]
    assert float(line.split()[1]) == pytest.approx(one.cycles, abs=0.1)
    assert float(line.split()[3]) < 0


def test_shares_add_up():
    summary = make(CHIP).summary()
    parts = [float(x.split()[-1]) for x in summary.splitlines() if "math:" in x]
    assert len(parts) == 3 and sum(parts) == pytest.approx(100, abs=0.2)


def test_unknown_chips_are_refused():
    module, arguments = lower(CHIP)
    with pytest.raises(ValueError, match="no latencies are known for 'tpu'"):
        sim.trace(module, "gemm", arguments, chip="tpu")


def test_rates_say_where_they_are_from():
    for latencies in TABLE.values():
        rates = set(vars(latencies)) - {"chip", "sources"}
        assert set(latencies.sources) == rates
        assert all(
            source.startswith(("measured", "estimated"))
            for source in latencies.sources.values()
        )
