"""Blocks that wait for each other, in the simulator of the machine code."""

import numpy as np
import pytest

import tilews
import tilews.language as tl
from tilews.sim import amdgcn

CHIPS = ["gfx942", "gfx1100"]


@tilews.kernel(threads=64)
def meet(
    Arrived: tl.Tensor["1", tl.i32],
    X: tl.Tensor["B", tl.i32],
    Y: tl.Tensor["B", tl.i32],
):
    """Each block reads what a later or earlier one wrote before all have arrived."""
    block = tl.grid(X.shape[0])
    tl.store(3 * block.to(tl.i32) + 1, X[block])
    tl.atomic_add(1, Arrived[0], order="acq_rel")
    while tl.atomic_load(Arrived[0], order="acquire") < X.shape[0]:
        pass
    tl.store(tl.load(X[X.shape[0] - 1 - block]), Y[block])


@tilews.kernel(threads=128)
def wait_for_a_store(Flag: tl.Tensor["2", tl.i32]):
    block = tl.grid(Flag.shape[0])
    while tl.atomic_load(Flag[1 - block], order="acquire") != 5:
        pass
    tl.atomic_store(5, Flag[block], order="release")


@tilews.kernel(threads=64)
def count(N: tl.i32, Y: tl.Tensor["B", tl.i32]):
    """Takes thousands of instructions, and stores only at the end."""
    block = tl.grid(Y.shape[0])
    x = 1
    for _ in range(N):
        x = (x * 5 + 3) % 1009
    tl.store(x, Y[block])


@pytest.mark.parametrize("policy", amdgcn.POLICIES)
@pytest.mark.parametrize("chip", CHIPS)
def test_blocks_meet(chip, policy):
    x, y = np.zeros(5, np.int32), np.zeros(5, np.int32)
    arguments = [np.zeros(1, np.int32), x, y]
    amdgcn.launch(meet.compile(chip), arguments, seed=1, policy=policy)
    assert y.tolist() == [13, 10, 7, 4, 1]


@pytest.mark.parametrize("chip", CHIPS)
def test_hang(chip):
    flags = np.array([0, 4], np.int32)
    with pytest.raises(amdgcn.MachineError, match="the kernel hangs: block"):
        wait_for_a_store(flags, target=chip, run="sim")
    assert flags.tolist() == [0, 4]


def test_wait_that_ends():
    flags = np.array([0, 5], np.int32)
    wait_for_a_store(flags, target="gfx942", run="sim")
    assert flags.tolist() == [5, 5]


@pytest.mark.parametrize("iterations", [640, 700, 720, 760, 3000])
def test_long_loop_is_no_hang(iterations):
    """Also one that ends while the simulator looks for a hang."""
    y = np.zeros(2, np.int32)
    count(iterations, y, target="gfx942", run="sim")
    x = 1
    for _ in range(iterations):
        x = (x * 5 + 3) % 1009
    assert y.tolist() == [x, x]
