"""Two roles that take the tiles of a block alternately: proved after each pass, and
right under every timing, from channels to barriers."""

import numpy as np
import ping_pong_kernels
import pytest
import simulating

from tilews import compiler, passes, sim

CASES = pytest.mark.parametrize(
    "case", ping_pong_kernels.CASES, ids=lambda case: case.name
)
#: Behind these passes a kernel is run.
RUN = {"tile-ping-pong", "tile-insert-barriers", "tile-lower-channels"}


def steps():
    """The passes up to code of single threads."""
    for step in passes.expand("tilews-to-nvvm{chip=sm_90a}"):
        flag = step.partition("{")[0]
        if flag.startswith("convert-tile-to-"):
            return
        yield flag, step


def check(case, module, **timing):
    arguments = case.arguments()
    sim.run(module, None, arguments, **timing)
    found = arguments[len(case.arrays) - 1]
    np.testing.assert_array_equal(found, case.expected, err_msg=str(timing))


@CASES
def test_proved_and_right_under_every_timing(case):
    module = case.kernel.build("sm_90a", **case.constants)
    check(case, module)
    ran, shared = 0, False
    for flag, step in steps():
        passes.run(module, step)
        shared |= flag == "tile-ping-pong"
        # Barriers are expected from the memory plan on, and placed right after it.
        if shared and flag != "tile-plan-shared-memory":
            remarks = passes.verify_schedule(module, report=True)
            assert all("tile-verify-0002" in r for r in remarks), (flag, remarks)
        if flag in RUN:
            assert "tile.role @math0" in str(module)
            assert "tile.role @math1" in str(module)
            for timing in simulating.TIMINGS:
                check(case, module, **timing)
            ran += 1
    assert ran == 3


@pytest.mark.parametrize("name", ["one-turn", "two-turns", "odd-turns", "one-step"])
def test_right_in_the_worst_cases(name):
    case = next(case for case in ping_pong_kernels.CASES if case.name == name)
    module = case.kernel.build("sm_90a", **case.constants)
    for flag, step in steps():
        passes.run(module, step)
        if flag in RUN:
            check(case, module, policy="worst", runs=60)


@pytest.mark.skipif(compiler.find_ptxas() is None, reason="ptxas is not installed")
@CASES
def test_compiles_without_spills_and_warnings(case):
    compiled = case.kernel.compile("sm_90a", **case.constants)
    assert not [m for m in compiled.messages if "tile-layout" not in m]
    assert compiled.resources["warnings"] == []
    assert compiled.resources["spill_stores"] == 0
