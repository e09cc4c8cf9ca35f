"""Regions that start near the largest index, as machine code of AMD's chips.

The simulator refuses an access outside of the arrays.
"""

import numpy as np
import pytest

import tilews
import tilews.language as tl
from amdgcn.launch import launch

LARGEST = 2**31 - 1


@tilews.kernel(threads=64)
def move(
    X: tl.Tensor["n", tl.f32],
    Y: tl.Tensor["m", tl.f32],
    first: tl.i32,
    dest: tl.i32,
):
    tl.grid(1)
    tl.store(tl.load(X[first], 256, pad=-1.0), Y[dest])


@pytest.mark.parametrize("chip", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("first", [0, -100, 900, LARGEST - 300, LARGEST - 255])
@pytest.mark.parametrize("dest", [0, LARGEST - 300, LARGEST - 255])
def test_regions_outside(first, dest, chip):
    x = np.random.default_rng(1).standard_normal(1000).astype(np.float32)
    y = np.zeros(400, np.float32)
    compiled = move.compile_for(x, y, first, dest, target=chip)
    wanted = y.copy()
    move(x, wanted, first, dest)
    launch(compiled, [x, y, first, dest])
    np.testing.assert_array_equal(y, wanted)


@pytest.mark.parametrize("chip", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("first", [LARGEST - 254, LARGEST - 100, LARGEST])
def test_regions_past_the_largest_index(first, chip):
    x = np.ones(1000, np.float32)
    y = np.zeros(400, np.float32)
    compiled = move.compile_for(x, y, first, 0, target=chip)
    launch(compiled, [x, y, first, 0])
    assert (y[:256] == -1).all()
