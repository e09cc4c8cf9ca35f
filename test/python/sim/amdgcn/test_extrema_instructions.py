"""Minima and maxima in machine code: NaN, the sign of zero, small integers."""

import ml_dtypes
import numpy as np
import pytest

import tilews
import tilews.language as tl

INTEGERS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
FLOATS = ("f2", "f4", "f8", ml_dtypes.bfloat16)


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


@tilews.kernel(threads=64)
def chain(
    A: tl.Tensor["64", "T"],
    B: tl.Tensor["64", "T"],
    C: tl.Tensor["64", "T"],
    Found: tl.Tensor["6, 64", "T"],
    LOW: tl.constexpr,
    HIGH: tl.constexpr,
):
    tl.grid(1)
    a, b, c = tl.load(A), tl.load(B), tl.load(C)
    Found[0] = LOW(HIGH(a, b), c)
    Found[1] = HIGH(LOW(a, b), c)
    Found[2] = HIGH(HIGH(a, b), c)
    Found[3] = LOW(LOW(a, b), c)
    Found[4] = tl.clamp(a, 1, 3)
    Found[5] = tl.clamp(a, tl.minimum(b, c), tl.maximum(b, c))


@pytest.mark.parametrize("chip", ["gfx942", "gfx1100", "gfx1201"])
@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        *((dtype, tl.minimum, tl.maximum) for dtype in (*INTEGERS, *FLOATS)),
        *((dtype, tl.fmin, tl.fmax) for dtype in FLOATS),
    ],
)
def test_chains_of_extrema(dtype, low, high, chip):
    """RDNA chips have instructions for two extrema, such as v_maxmin_f32."""
    dtype = np.dtype(dtype)
    rng = np.random.default_rng(4)
    arrays = [rng.integers(0, 6, 64).astype(dtype) for _ in range(3)]
    found = np.zeros((6, 64), dtype)
    chain(*arrays, found, target=chip, run="sim", LOW=low, HIGH=high)
    a, b, c = (array.astype(np.float64) for array in arrays)
    lowest, highest = np.minimum(b, c), np.maximum(b, c)
    wanted = [
        np.minimum(np.maximum(a, b), c),
        np.maximum(np.minimum(a, b), c),
        np.maximum(np.maximum(a, b), c),
        np.minimum(np.minimum(a, b), c),
        np.clip(a, 1, 3),
        np.clip(a, lowest, highest),
    ]
    np.testing.assert_array_equal(found.astype(np.float64), wanted)


@tilews.kernel(threads=64)
def divide(
    A: tl.Tensor["64", "T"], B: tl.Tensor["64", "T"], Quotient: tl.Tensor["64", "T"]
):
    tl.grid(1)
    Quotient[0] = tl.load(A) / tl.load(B)


@pytest.mark.parametrize("chip", ["gfx942", "gfx1100", "gfx1201"])
def test_quotients_of_f16(chip):
    edges = np.array([0.0, -0.0, np.nan, 1, -3, np.inf, 7, 6e-5], np.float16)
    a, b = (part.ravel() for part in np.meshgrid(edges, edges))
    found = np.zeros_like(a)
    divide(a, b, found, target=chip, run="sim")
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found, a / b)
