"""Loops near the ends of the range of their type end, with the same iterations."""

import numpy as np
import pytest

import tilews
import tilews.language as tl
from support import small_types

LOW, HIGH = -(2**31), 2**31 - 1
#: First number, bound, step. The number after the last one does not fit 32 bits.
RANGES = [
    (HIGH - 9, HIGH, 7),
    (HIGH - 2, HIGH, 1),
    (0, HIGH, 2**30),
    (LOW, HIGH, HIGH),
    (LOW, LOW + 5, 2),
    (-5, HIGH, 2**30),
    (HIGH, LOW, 3),
    (5, 5, 2),
]


@tilews.kernel(threads=64)
def from_anywhere(
    Y: tl.Tensor["2, 64", tl.i32], first: tl.i32, bound: tl.i32, step: tl.i32
):
    tl.grid(1)
    count = tl.zeros((1, 64), tl.i32)
    total = tl.zeros((1, 64), tl.i32)
    for i in tl.range(first, bound, step):
        count = count + 1
        total = total + i
    Y[0, 0] = count
    Y[1, 0] = total


@tilews.kernel(threads=64)
def from_zero(Y: tl.Tensor["1, 64", tl.i32], bound: tl.i32):
    tl.grid(1)
    count = tl.zeros((1, 64), tl.i32)
    for _ in tl.range(0, bound, 2**30 + 1):
        count = count + 1
    Y[0, 0] = count


@pytest.mark.parametrize("form", ["cpu", "barriers", "gfx942", "gfx1201"])
def test_loops_end(form):
    for bounds in RANGES:
        found = np.zeros((2, 64), np.int32)
        small_types.run(from_anywhere, [found, *bounds], form)
        expected = range(*bounds)
        total = (sum(expected) + 2**31) % 2**32 - 2**31
        assert (found.T == (len(expected), total)).all(), bounds


@pytest.mark.parametrize("form", ["cpu", "barriers", "gfx942", "gfx1201"])
def test_loops_from_zero_end(form):
    for bound in (HIGH, 2**30 + 2, 2**30 + 1, 1, 0, -1, LOW):
        found = np.zeros((1, 64), np.int32)
        small_types.run(from_zero, [found, bound], form)
        assert (found == len(range(0, bound, 2**30 + 1))).all(), bound


@pytest.mark.parametrize("step", [0, -1, LOW])
def test_other_steps_are_one(step):
    """They are errors of the interpreter; on a GPU the loop ends."""
    found = np.zeros((2, 64), np.int32)
    with pytest.raises(tilews.sim.SimulationError, match="expected a positive one"):
        small_types.run(from_anywhere, [found, 2, 5, step], "cpu")
    small_types.run(from_anywhere, [found, 2, 5, step], "gfx942")
    assert (found.T == (3, 2 + 3 + 4)).all()
