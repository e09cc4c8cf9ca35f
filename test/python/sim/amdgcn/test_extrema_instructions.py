"""Minima and maxima in machine code: NaN, the sign of zero, small integers."""

import ml_dtypes
import numpy as np
import pytest

import tilews
import tilews.language as tl


@tilews.kernel(threads=64)
def extrema(X: tl.Tensor["M, 96", "T"], Y: tl.Tensor["M, 2", "T"]):
    row = tl.grid(X.shape[0])
    x = tl.load(X[row, :])
    tl.store(tl.max(x, axis=0), Y[row, 0])
    tl.store(tl.min(x, axis=0), Y[row, 1])


@tilews.kernel(threads=64)
def choose(
    A: tl.Tensor["N", "T"],
    B: tl.Tensor["N", "T"],
    Low: tl.Tensor["N", "T"],
    High: tl.Tensor["N", "T"],
):
    a, b = tl.load(A[0], (64,)), tl.load(B[0], (64,))
    Low[0] = tl.minimum(a, b)
    High[0] = tl.maximum(a, b)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16])
def test_extrema_of_small_integers(dtype):
    info = np.iinfo(dtype)
    x = np.random.default_rng(3).integers(info.min, info.max, (2, 96), dtype, True)
    found = np.zeros((2, 2), dtype)
    extrema(x, found, target="gfx1100", run="sim")
    assert found.tolist() == [[r.max(), r.min()] for r in x]


@pytest.mark.parametrize("chip", ["gfx942", "gfx1100", "gfx1201"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_signs_of_zero(dtype, chip):
    edges = np.array([0.0, -0.0, np.nan, 1, -1, np.inf, -np.inf], dtype)
    a, b = (part.ravel() for part in np.meshgrid(edges, edges))
    low, high = np.zeros_like(a), np.zeros_like(a)
    choose(a, b, low, high, target=chip, run="sim")
    a, b, low, high = (part.astype(np.float32) for part in (a, b, low, high))
    np.testing.assert_array_equal(low, np.minimum(a, b))
    np.testing.assert_array_equal(high, np.maximum(a, b))
    zeros = (a == 0) & (b == 0)
    signs = np.signbit(a[zeros]), np.signbit(b[zeros])
    assert np.signbit(low[zeros]).tolist() == (signs[0] | signs[1]).tolist()
    assert np.signbit(high[zeros]).tolist() == (signs[0] & signs[1]).tolist()
