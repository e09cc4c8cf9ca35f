"""The events that the simulator records of a block."""

import pytest

from support import simulating
from tilews import ir, sim


def record(name, target, **options):
    case = simulating.find_case(name)
    module = simulating.lower(case, target, simulating.PHASES["scheduled"])
    events = []
    simulating.simulate(case, module, record=events, **options)
    return events


@pytest.mark.parametrize("policy", ["earliest", "latest", "random"])
def test_events_of_a_specialized_product(policy):
    events = record("gemm-s3", "sm_90a", policy=policy)
    times = [time for event in events for time in (event.begin, event.end)]
    assert sorted(times) == list(range(2 * len(events)))
    assert [e.begin for e in events] == sorted(e.begin for e in events)

    loads = [e for e in events if e.unit == "tma"]
    waits = [e for e in events if e.op == "tile.wait"]
    assert len(loads) == 14 and len(waits) == 7
    assert {e.bytes for e in loads} == {32 * 16 * 2}
    assert [(e.slot, e.phase) for e in waits] == [(i % 3, i // 3) for i in range(7)]
    assert {e.role for e in loads} == {"load"} and {e.role for e in waits} == {"math"}
    for wait in waits:
        landing = [
            e for e in loads if (e.barrier, e.phase) == (wait.barrier, wait.phase)
        ]
        assert len(landing) == 2
        assert all(load.end < wait.end for load in landing)
    gemms = [e for e in events if e.op == "tile.gemm"]
    assert {e.work for e in gemms} == {32 * 32 * 16}
    assert all("pipelined_matmuls.py:" in e.location for e in events)


def test_copies_in_groups_are_numbered():
    events = record("gemm-s3", "sm_80", policy="latest")
    copies = [e for e in events if e.unit == "cp_async"]
    assert [e.number for e in copies] == list(range(1, 15))
    waits = [e for e in events if e.op == "tile.wait"]
    assert [e.number for e in waits] == [2, 4, 6, 8, 10, 12, 14]
    for wait in waits:
        assert all(e.end < wait.end for e in copies if e.number <= wait.number)


def test_the_block_that_is_recorded_is_chosen():
    case = simulating.find_case("gemm-s3")
    module = simulating.lower(case, "sm_80", simulating.PHASES["scheduled"])
    events = []
    simulating.simulate(case, module, record=events, record_block=(1, 0))
    assert events
    with pytest.raises(ValueError, match="not in the grid"):
        simulating.simulate(case, module, record=events, record_block=(7, 0))
    with pytest.raises(ValueError, match="1 to 3 coordinates"):
        simulating.simulate(case, module, record=events, record_block=())


def test_a_failure_keeps_what_happened_before():
    case = simulating.find_case("gemm-s3")
    module = simulating.lower(case, "sm_90a", simulating.PHASES["scheduled"])
    lines = [line for line in str(module).split("\n") if "tile.commit" not in line]
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse("\n".join(lines))
        with pytest.raises(sim.SimulationError, match="never returns") as caught:
            simulating.simulate(case, module, record=[])
    blocked = [e for e in caught.value.events if e.end == -1]
    assert {e.op for e in blocked} == {"tile.wait", "tile.acquire"}
