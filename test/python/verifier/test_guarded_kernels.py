"""Proofs of guarded kernels take few states, and no verdict takes long."""

import re

import pytest
from click.testing import CliRunner

import tilews
import tilews.language as tl
from benchmarks.verdicts import __main__ as command
from benchmarks.verdicts import guarded_kernels, timed
from kernels import ping_pong
from support.verifying import verify_steps
from tilews import ir, passes


def lower(name, stages, chip="sm_80"):
    """A guarded kernel with barriers in place of channels."""
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(guarded_kernels.kernel(name, stages))
    for step in passes.expand(f"tilews-to-nvvm{{chip={chip}}}"):
        passes.run(module, step)
        if step == "tile-lower-channels":
            break
    return module


def count_states(name, stages):
    verdict, states = timed.judge(lower(name, stages))
    assert verdict == "proved"
    return states


@pytest.mark.parametrize("name", guarded_kernels.BODIES)
def test_states_of_guarded_kernels(name):
    """A guard of several conditions takes as many states as one of a single mask; each
    buffer is proved alone."""
    units = {"nested masks": 3, "three masks": 6, "three comparisons": 6}.get(name, 1)
    # What is known of two distances is a part of the states, and renamed slots merge
    # fewer of these. The numbers are 562 and 221; a mask takes 130.
    limit = {"sliding window": 600, "band": 240}.get(name, 150)
    assert count_states(name, 5) <= limit * units


def test_states_of_a_sliding_window_with_more_stages():
    # From 3 to 7 stages they grow 13.5 times, those of a mask 21 times.
    assert count_states("sliding window", 7) <= 1700


def lower_over_tiles(stages, guard):
    """A kernel whose loop takes steps of the grid, which is unknown."""
    text = guarded_kernels.kernel("mask", stages)
    for old, new in (
        ("%g0 = memref.load %m0[%k] : memref<?xi1>", guard),
        ("%t = gpu.block_id x", "%t = gpu.block_id x\n%g = gpu.grid_dim x"),
        ("%k = %c0 to %n step %c1", "%k = %t to %n step %g"),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)
    with ir.Context():
        module = ir.Module.parse(text)
    for step in passes.expand("tilews-to-nvvm{chip=sm_80}"):
        passes.run(module, step)
        if step == "tile-lower-channels":
            return module
    raise AssertionError


REMAINDER = """
%a = arith.floordivsi %k, %c3 : index
%b = arith.muli %a, %c3 : index
%e = arith.subi %k, %b : index
%g0 = arith.cmpi slt, %e, %w : index
"""


@pytest.mark.parametrize("stages", [3, 4, 6])
def test_a_comparison_that_repeats_is_remembered_where_it_matters(stages):
    """A copy, some iterations ahead of its use, has a guard that repeats every three
    iterations. The first proof decides it anew for the use, and fails."""
    assert timed.judge(lower_over_tiles(stages, REMAINDER))[0] == "proved"


def test_states_of_loops_whose_trips_repeat():
    """An inner loop has a number of iterations that repeats every three iterations of
    the outer one. Iterations are not distinguished by it: 902 states, where
    1848 have all facts."""
    (case,) = (each for each in ping_pong.CASES if each.name == "counted")
    module = case.kernel.build("sm_90a", **case.constants)
    for step in passes.expand("tilews-to-nvvm{chip=sm_90a}"):
        passes.run(module, step)
        if step == "tile-lower-channels":
            break
    verdict, states = timed.judge(module)
    assert verdict == "proved"
    assert states <= 950


@pytest.mark.parametrize("name", ["one of three masks", "nested masks"])
def test_another_guard_of_the_reads_is_wrong(name):
    module = lower(name, 3)
    # The last load of a mask guards a read.
    start, _, end = str(module).rpartition("memref.load %arg3")
    with module.context:
        other = ir.Module.parse(f"{start}memref.load %arg1{end}")
        assert timed.judge(other)[0] == "wrong"


@pytest.mark.unverified
def test_a_proof_that_takes_too_long_says_why():
    (remark,) = passes.verify_schedule(lower("three masks", 15), report=True)
    assert "tile-verify-0001" in remark
    assert re.search(
        r"the proof was given up after 60 million steps: paths forked most often at "
        r"this condition, \d+ times, and each iteration between a decision and its use "
        r"multiplies the states",
        remark,
    )


def test_command(monkeypatch):
    monkeypatch.setattr(timed, "STAGES", (2,))
    bodies = {"mask": guarded_kernels.BODIES["mask"]}
    monkeypatch.setattr(guarded_kernels, "BODIES", bodies)
    arguments = ["--only", "guarded", "--slowest", "1"]
    result = CliRunner().invoke(command.main, arguments, catch_exceptions=False)
    assert re.search(
        r"guarded: \d+ verdicts in .* s, 0 of them unsupported", result.output
    )
    assert len(re.findall(r"^\| \d", result.output, re.MULTILINE)) == 1


COUNTING = """
@tilews.kernel(threads=128, source=TEXT)
def counting(A: tl.Tensor["M, K", tl.f16], C: tl.Tensor["64, 32", tl.f32], n: tl.index):
    tl.grid(1)
    S = tl.alloc_shared((64, 32), tl.f16)
    acc = tl.zeros((64, 32), tl.f32)
    count = 0
    for k in tl.range(0, n, num_stages={stages}):
        count = count + {step}
        if count < {limit}:
            tl.copy(A[0, k * 32], S)
            acc = acc + tl.load(S).to(tl.f32)
    C[0, 0] = acc
"""


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("stages", [2, 3, 5])
@pytest.mark.parametrize(("step", "limit"), [(1, 1), (1, 7), (3, 7), (1, 100)])
def test_guards_count_iterations(step, limit, stages, chip):
    text = COUNTING.format(step=step, limit=limit, stages=stages)
    names = {"tilews": tilews, "tl": tl, "TEXT": text}
    exec(text, names)
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(names["counting"].mlir())
        verify_steps(module, f"tilews-to-nvvm{{chip={chip}}}")
