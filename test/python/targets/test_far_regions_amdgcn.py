"""Regions that start near the largest index, as machine code of AMD's chips.

The simulator refuses an access outside of the arrays.
"""

import numpy as np
import pytest

import tilews
import tilews.language as tl
from tilews.sim.amdgcn import launch

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


@tilews.kernel(threads=64)
def rows(
    X: tl.Tensor["m, n", tl.f32],
    Y: tl.Tensor["m, n", tl.f32],
    row: tl.i32,
    col: tl.i32,
    ROWS: tl.constexpr,
):
    tl.grid(1)
    x = tl.load(X[row, col], (ROWS, 128), pad=-1.0)
    tl.store(x + 1.0, Y[row, col])


def far_rows(m, n, first, last):
    """An array with numbers in columns `first` to `last`; the rest takes no memory."""
    x = np.zeros((m, n), np.float32)
    x[:, first:last] = np.random.default_rng(2).standard_normal((m, last - first))
    return x


@pytest.mark.parametrize("chip", ["gfx942", "gfx1100", "gfx1201"])
@pytest.mark.parametrize("row", [-1, 0, 1, 2])
@pytest.mark.parametrize("far", [2**28 - 100, 2**28 - 60, 2**28])
def test_arrays_of_more_than_2_gib(far, row, chip):
    x, y = far_rows(3, 2**28, 2**28 - 256, 2**28), far_rows(3, 2**28, 0, 0)
    compiled = rows.compile_for(x, y, row, far, target=chip, ROWS=2)
    assert compiled.manifest["index_bitwidth"] == 32
    launch(compiled, [x, y, row, far])
    wanted = np.zeros((3, 356), np.float32)
    columns = slice(2**28 - 356, 2**28)
    part = wanted[max(row, 0) : row + 2, far - 2**28 + 356 :]
    part[...] = x[max(row, 0) : row + 2, far:] + 1
    np.testing.assert_array_equal(y[:, columns], wanted)
    assert not y[:, :1000].any()


@pytest.mark.parametrize("chip", ["gfx942", "gfx1100"])
def test_regions_of_more_than_2_gib(chip):
    x, y = far_rows(3, 2**28, 0, 128), far_rows(3, 2**28, 0, 0)
    compiled = rows.compile_for(x, y, 0, 0, target=chip, ROWS=4)
    # 32 bits do not hold the distances in the region.
    assert compiled.manifest["index_bitwidth"] == 64
    launch(compiled, [x, y, 0, 0])
    np.testing.assert_array_equal(y[:, :128], x[:, :128] + 1)
    assert not y[:, 128:1000].any()


@tilews.kernel(threads=64)
def far_bytes(X: tl.Tensor["n", tl.i8], Y: tl.Tensor["n", tl.i8], first: tl.i32):
    b = tl.grid(2)
    tl.store(tl.load(X[first + b * 256], 256), Y[first + b * 256])


@pytest.mark.parametrize("chip", ["gfx942", "gfx1201"])
@pytest.mark.parametrize("first", [2**31 - 500, 2**31 - 300, 2**30])
def test_an_array_of_the_largest_size(first, chip):
    x, y = np.zeros((2, 2**31), np.int8)[:, :-1]
    x[-1000:] = x[2**30 :][:1000] = np.arange(1000) % 100
    compiled = far_bytes.compile_for(x, y, first, target=chip)
    launch(compiled, [x, y, first])
    np.testing.assert_array_equal(y[first:][:512], x[first:][:512])
    assert not y[first - 100 : first].any()
