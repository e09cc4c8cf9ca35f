"""Reductions, scans, orders and functions of floating point of at most 8 bits.

GPUs compute with these types in f32, and round each result. Machine code must agree
with the interpreter, and the interpreter with numpy.
"""

import re

import numpy as np
import pytest

import tilews
import tilews.language as tl
from support.small_types import codes, in_memory, run

TYPES = (tl.e4m3, tl.e5m2, tl.e4m3fnuz, tl.e5m2fnuz, tl.e2m3, tl.e3m2, tl.e2m1, tl.e8m0)
#: AMD's chips that convert a type.
CHIPS = {
    **dict.fromkeys((tl.e4m3, tl.e5m2), ("gfx950", "gfx1201")),
    **dict.fromkeys((tl.e4m3fnuz, tl.e5m2fnuz), ("gfx942",)),
    **dict.fromkeys((tl.e2m3, tl.e3m2, tl.e2m1, tl.e8m0), ("gfx950", "gfx1100")),
}
EXTENT = 48

#: What has one result for all elements.
TOTALS = {
    "sum": tl.sum,
    "min": tl.min,
    "max": tl.max,
    "absmax": tl.absmax,
    "absmin": tl.absmin,
    "product": lambda x: tl.reduce(x, lambda a, b: a * b),
    "sum in 2 steps": lambda x: tl.sum(tl.reshape(x, (6, 8))),
    "argmax": tl.argmax,
    "argmin": tl.argmin,
    "any": lambda x: tl.any(x < 0.5),
    "all": lambda x: tl.all(x <= 4.0),
}
#: What has a result for each element.
ROWS = {
    "cumsum": tl.cumsum,
    "cummin": tl.cummin,
    "cummax": lambda x: tl.cummax(x, reverse=True),
    "exclusive cummin": lambda x: tl.cummin(x, exclusive=True),
    "exclusive cummax": lambda x: tl.cummax(x, exclusive=True),
    "scan": lambda x: tl.scan(x, lambda a, b: a + b),
    "sort": tl.sort,
    "sort down": lambda x: tl.sort(x, descending=True),
    "argsort": lambda x: tl.argsort(x).indices,
    "abs": tl.abs,
    "sqrt": lambda x: tl.sqrt(tl.abs(x)),
    "exp": tl.exp,
    "tanh": tl.tanh,
    "erf": tl.erf,
    "sigmoid": tl.sigmoid,
    "floor": tl.floor,
    "ceil": tl.ceil,
    "round": tl.round,
    "trunc": tl.trunc,
    "pow": lambda x: tl.pow(tl.abs(x), 0.5),
    "fma": lambda x: tl.fma(x, x, x),
    "two roundings": lambda x: x * x + x,
    "quotient": lambda x: x / 2.0,
    "remainder": lambda x: x if x.dtype == tl.e8m0 else x % 2.0,
    "minimum": lambda x: tl.minimum(x, tl.flip(x)),
    "fmax": lambda x: tl.fmax(x, tl.flip(x)),
    "clamp": lambda x: tl.clamp(x, 1.0, 4.0),
    "where": lambda x: tl.where(x < tl.flip(x), x, tl.flip(x)),
    "isfinite": tl.isfinite,
    "isnan": tl.isnan,
    "isinf": tl.isinf,
    "scaled": lambda x: x * tl.max(x),
}


def functions_kernel(functions):
    """A kernel that writes the results of functions, as f32."""

    @tilews.kernel(threads=64)
    def apply(
        X: tl.Tensor["N", "T"],
        Y: tl.Tensor["R, N", tl.f32],
        T: tl.constexpr,
        N: tl.constexpr,
        R: tl.constexpr,
    ):
        tl.grid(1)
        x = tl.load(X)
        for row in tl.static_range(R):
            Y[row, :] = tl.full((N,), 1.0, tl.f32) * functions[row](x).to(tl.f32)

    return apply


def numbers(dtype):
    """Numbers that all types have, in any order."""
    rng = np.random.default_rng(3)
    if dtype == tl.e8m0:
        return (
            np.exp2(rng.integers(-4, 5, EXTENT)).astype(np.float32).astype(dtype.numpy)
        )
    known = np.array([0.5, 1, 1.5, 2, 3, 4, 6, 0], np.float32)
    signs = rng.choice([-1.0, 1.0], EXTENT)
    return (rng.choice(known, EXTENT) * signs).astype(np.float32).astype(dtype.numpy)


def results(functions, dtype, form):
    rows = list(functions.values())
    x, y = numbers(dtype), np.full((len(rows), EXTENT), 77, np.float32)
    kernel = functions_kernel(rows)
    run(kernel, [in_memory(x, dtype), y], form, T=dtype, N=EXTENT, R=len(rows))
    return dict(zip(functions, y, strict=True))


@pytest.mark.parametrize("functions", [TOTALS, ROWS], ids=["totals", "rows"])
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_chips_agree_with_the_interpreter(dtype, functions):
    expected = results(functions, dtype, "cpu")
    for chip in CHIPS[dtype]:
        for name, found in results(functions, dtype, chip).items():
            np.testing.assert_array_equal(found, expected[name], f"{name} on {chip}")


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_the_interpreter_agrees_with_numpy(dtype):
    x = numbers(dtype).astype(np.float32)
    totals, rows = (results(each, dtype, "cpu") for each in (TOTALS, ROWS))
    for name, expected in {
        "min": x.min(),
        "max": x.max(),
        "absmax": abs(x).max(),
        "argmax": x.argmax(),
        "argmin": x.argmin(),
    }.items():
        np.testing.assert_array_equal(totals[name], np.full(EXTENT, expected), name)
    for name, expected in {
        "cummin": np.minimum.accumulate(x),
        "cummax": np.maximum.accumulate(x[::-1])[::-1],
        "sort": np.sort(x),
        "argsort": np.argsort(x, kind="stable"),
        "abs": abs(x),
        "isfinite": np.ones(EXTENT),
    }.items():
        np.testing.assert_array_equal(rows[name], expected, name)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_exclusive_scans_start_with_the_limits(dtype):
    rows = results(ROWS, dtype, "cpu")
    known = codes(dtype).astype(np.float32)
    finite = known[np.isfinite(known)]
    assert rows["exclusive cummin"][0] == finite.max()
    assert rows["exclusive cummax"][0] == finite.min()


@tilews.kernel(threads=64)
def classify(
    X: tl.Tensor["N", "T"],
    Y: tl.Tensor["3, N", tl.i1],
    T: tl.constexpr,
    N: tl.constexpr,
):
    tl.grid(1)
    x = tl.load(X)
    Y[0, :] = tl.isfinite(x)
    Y[1, :] = tl.isinf(x)
    Y[2, :] = tl.isnan(x)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_the_largest_number_is_finite(dtype):
    x = codes(dtype)
    wide = x.astype(np.float32)
    expected = [np.isfinite(wide), np.isinf(wide), np.isnan(wide)]
    for form in ("cpu", CHIPS[dtype][0]):
        y = np.zeros((3, len(x)), np.bool_)
        run(classify, [in_memory(x, dtype), y], form, T=dtype, N=len(x))
        np.testing.assert_array_equal(y, expected, form)


@tilews.kernel(threads=128)
def extremes(X: tl.Tensor["512", tl.e4m3], Y: tl.Tensor["3, 512", tl.e4m3]):
    tl.grid(1)
    x = tl.load(X)
    Y[0, 0] = tl.min(x)
    Y[1, 0] = tl.sum(x)
    Y[2, :] = tl.cummax(x)


def test_ptx_computes_in_f32():
    ptx = extremes.compile("sm_90a").ptx
    assert {"min.f32", "max.f32", "add.f32"} <= set(re.findall(r"\w+\.f32", ptx))
    assert not re.search(r"(min|max)\.[su](8|16)", ptx)
    assert "cvt.rn.satfinite.e4m3x2.f32" in ptx


@pytest.mark.parametrize("chip", ["sm_80", "gfx1100"])
def test_chips_without_fp8_refuse_reductions(chip):
    message = f"cannot convert 'f8E4M3FN' to 'f32' on {chip}"
    with pytest.raises(tilews.CompileError, match=message):
        extremes.compile(chip)
