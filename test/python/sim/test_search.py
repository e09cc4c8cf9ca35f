"""The search for the worst timing, and replays of schedules."""

import re

import numpy as np
import pytest

from support import simulating
from tilews import ir, sim

HEAD = """
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @k(%out: memref<2xi32>) kernel attributes {tile.threads = 96 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %b = tile.mbarrier {count = 1 : i64} : !tile.mbarrier<2>
    tile.mbarrier_ready
    tile.specialize {
"""
TAIL = """
    }
    gpu.return
  }
}
"""
#: @load arrives twice at barrier 0. @math has to test the barrier between both
#: arrivals, which barrier 1 does not ensure.
LATE = (
    HEAD
    + """
      tile.role @load warps(1) {
        tile.mbarrier_arrive %b[%i0] {by = #tile.agents<thread>} : !tile.mbarrier<2>
        tile.mbarrier_wait %b[%i1], %i0 : !tile.mbarrier<2>
        tile.mbarrier_arrive %b[%i0] {by = #tile.agents<thread>} : !tile.mbarrier<2>
      }
      tile.role @math warps(1) {
        tile.mbarrier_wait %b[%i0], %i0 : !tile.mbarrier<2>
      }
      tile.role @third warps(1) {
        tile.mbarrier_arrive %b[%i1] {by = #tile.agents<thread>} : !tile.mbarrier<2>
      }
"""
    + TAIL
)
#: Two roles take a number each; the first role gets the smaller one.
RACE = (
    HEAD.replace("96", "64")
    + """
      tile.role @first warps(1) {
        %old = memref.atomic_rmw addi %i1, %out[%c0] : (i32, memref<2xi32>) -> i32
        tile.mbarrier_arrive %b[%i0] {by = #tile.agents<thread>} : !tile.mbarrier<2>
      }
      tile.role @second warps(1) {
        tile.mbarrier_arrive %b[%i1] {by = #tile.agents<thread>} : !tile.mbarrier<2>
        %old = memref.atomic_rmw addi %i1, %out[%c0] : (i32, memref<2xi32>) -> i32
        memref.store %old, %out[%c1] : memref<2xi32>
      }
"""
    + TAIL
)


def launch(text, **options):
    out = np.full(2, 7, "i4")
    with ir.Context(), ir.Location.unknown():
        sim.run(ir.Module.parse(text), None, [out], 1, **options)
    return out


def test_the_search_finds_what_the_usual_order_misses():
    launch(LATE, policy="earliest")
    with pytest.raises(sim.SimulationError) as found:
        launch(LATE, policy="worst")
    text = str(found.value)
    assert "role @math waits here for the phase of parity 0" in text
    assert "which is in phase 2 (parity 0)" in text
    assert "role @load arrives at that barrier here" in text
    schedule = re.search(r"its schedule is (\S+)", text)[1]
    with pytest.raises(sim.SimulationError, match=r"which is in phase 2 \(parity 0\)"):
        launch(LATE, schedule=schedule)
    launch(LATE, schedule="0,0,0:")


def test_the_search_ends_after_as_many_runs_as_it_may_make():
    launch(LATE, policy="worst", runs=1)


def test_results_that_depend_on_the_order_are_found():
    with pytest.raises(
        sim.SimulationError, match="depend on the order of what happens"
    ):
        launch(RACE, policy="worst")


def test_seeds_are_repeatable():
    def fails(seed):
        try:
            launch(LATE, policy="random", seed=seed)
        except sim.SimulationError as error:
            assert f"with seed {seed}" in str(error)
            return True
        return False

    found = [fails(seed) for seed in range(40)]
    assert True in found and False in found
    assert found == [fails(seed) for seed in range(40)]


@pytest.mark.parametrize("name", ["gemm-s2-t2", "guarded-part"])
@pytest.mark.parametrize("phase", ["scheduled", "barriers"])
def test_kernels_hold_in_the_search(name, phase):
    case = simulating.find_case(name)
    expected = simulating.simulate(case, simulating.lower(case, "sm_90a"))
    module = simulating.lower(case, "sm_90a", simulating.PHASES[phase])
    found = simulating.simulate(case, module, policy="worst", runs=100)
    for left, right in zip(found, expected, strict=True):
        np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("schedule", ["", "1:2", "0,0,0", "0,0,0:1.", "a,b,c:1"])
def test_schedules_that_are_none(schedule):
    with pytest.raises(ValueError, match="expected a schedule such as"):
        launch(LATE, schedule=schedule)


def test_policies_that_are_none():
    with pytest.raises(ValueError, match="expected as policy one of earliest"):
        launch(LATE, policy="sometimes")
    with pytest.raises(ValueError, match="expected as barriers one of detect"):
        launch(LATE, barriers="some")
