"""Ping-pong kernels are proved after each pass and right under every timing."""

import itertools
import re

import numpy as np
import pytest

import tilews
import tilews.language as tl
from kernels import ping_pong
from support import simulating
from tilews import compiler, errors, passes, schedule, sim

CASES = pytest.mark.parametrize("case", ping_pong.CASES, ids=lambda case: case.name)
#: The kernel runs after each of these passes.
RUN = {"tile-ping-pong", "tile-insert-barriers", "tile-lower-channels"}


def steps():
    """The passes up to per-thread code."""
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
        # The verifier expects barriers after this pass; the next one places them.
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


def count_states(stages):
    """The number of states in the proof with barriers."""
    case = next(c for c in ping_pong.CASES if c.name == "odd-tiles")
    constants = {**case.constants, "STAGES": stages}
    module = case.kernel.build("sm_90a", **constants)
    for flag, step in steps():
        passes.run(module, step)
        if flag == "tile-lower-channels":
            break
    (remark,) = passes.verify_schedule(module, report=True)
    return int(re.search(r"is proved: .* (\d+) states", remark).group(1))


def test_proofs_grow_with_the_slots():
    """States do not record the role that last used each slot, which would double their
    number with each slot."""
    counts = [count_states(stages) for stages in (2, 4, 6, 8)]
    added = [b - a for a, b in itertools.pairwise(counts)]
    assert max(added) <= 2 * min(added), counts
    assert counts[-1] < 1500, counts


@pytest.mark.parametrize("name", ["one-tile", "two-tiles", "odd-tiles", "one-step"])
def test_right_in_the_worst_cases(name):
    case = next(case for case in ping_pong.CASES if case.name == name)
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


def test_function_makes_the_roles():
    case = next(c for c in ping_pong.CASES if c.name == "odd-tiles")
    module = case.kernel.build("sm_90a", **case.constants)
    for flag, step in steps():
        if flag == "tile-ping-pong":
            break
        passes.run(module, step)
    kernel = schedule.find_kernel(module)
    assert not schedule.ping_pong(kernel)
    assert "tile.role @math1" in str(module)
    check(case, module, policy="random", seed=1)
    # Nothing is left to do.
    before = str(module)
    assert not schedule.ping_pong(kernel)
    assert str(module) == before


def test_role_alone_says_why():
    case = next(c for c in ping_pong.CASES if c.name == "odd-tiles")
    module = case.kernel.build("sm_80", **case.constants)
    passes.run(module, "tile-lower-persistent")
    (remark,) = schedule.ping_pong(schedule.find_kernel(module))
    assert "tile-pp-0001" in remark
    check(case, module)
    assert "tile.ping_pong" not in str(module)


@pytest.mark.parametrize("target", ["sm_80", "gfx942"])
def test_other_targets_keep_one_role(target):
    case = next(c for c in ping_pong.CASES if c.name == "many-tiles")
    compiled = case.kernel.compile(target, **case.constants)
    assert any("tile-pp-0001" in message for message in compiled.messages)


def test_ping_pong_is_a_truth_value():
    @tilews.kernel(threads=128)
    def kernel(C: tl.Tensor["M, 32", tl.f32]):
        tl.grid(1)
        for y in tl.persistent(3, ping_pong=2):
            C[y * 32, 0] = tl.zeros((32, 32), tl.f32)

    with pytest.raises(errors.KernelError, match="ping_pong is True or False"):
        kernel.build("sm_90a")
