"""The largest elements of a long axis, which ``tl.topk`` finds one after the other."""

import ml_dtypes
import numpy as np
import pytest

import tilews
import tilews.language as tl

RNG = np.random.default_rng(5)
TARGETS = ["cpu", "gfx942", "gfx1100"]


def launch(kernel, target, *arguments):
    kernel(*arguments, target=target, **({} if target == "cpu" else {"run": "sim"}))


def numbers(dtype, shape):
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        x = RNG.integers(info.min, info.max, shape, dtype, endpoint=True)
        x.flat[:4] = info.min
        x.flat[5:8] = info.max
        return x
    x = RNG.integers(-3, 3, shape).astype(dtype)
    x.flat[:8] = [np.nan, -np.nan, np.inf, -np.inf, -0.0, 0.0, -0.0, np.nan]
    return x


def expected(x, k, axis):
    """numpy's stable order; NaN is the largest."""
    wide = x.astype(np.float64) if x.dtype.kind not in "iu" else x.astype(object)
    if x.dtype.kind not in "iu":
        wide = np.where(np.isnan(wide), np.inf, wide)
        order = np.lexsort((-wide, ~np.isnan(x.astype(np.float64))), axis)
    else:
        order = np.argsort(-wide, axis, kind="stable")
    places = np.take(order, range(k), axis)
    return np.take_along_axis(x, places, axis), places


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "dtype",
    [np.float32, np.float16, ml_dtypes.bfloat16, np.int32, np.uint32, np.int8],
    ids=lambda dtype: np.dtype(dtype).name,
)
@pytest.mark.parametrize("shape, k, axis", [((4, 60), 3, 1), ((64, 2), 5, 0)])
def test_values_and_places(dtype, shape, k, axis, target):
    rows, columns = shape
    found = [*shape]
    found[axis] = k
    text = ", ".join(map(str, found))

    @tilews.kernel(threads=64)
    def kernel(
        X: tl.Tensor["M, N"],
        V: tl.Tensor[text],
        I: tl.Tensor[text, tl.i32],  # noqa: E741
    ):
        tl.grid(1)
        V[0, 0], I[0, 0] = tl.topk(tl.load(X[0, 0], (rows, columns)), k, axis)

    x = numbers(dtype, shape)
    values, places = np.zeros(found, dtype), np.zeros(found, np.int32)
    launch(kernel, target, x, values, places)
    wanted, order = expected(x, k, axis)
    np.testing.assert_array_equal(places, order)
    assert values.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("target", TARGETS)
def test_a_vector(target):
    @tilews.kernel(threads=64)
    def kernel(
        X: tl.Tensor["256", tl.f32],
        V: tl.Tensor["4", tl.f32],
        P: tl.Tensor["4", tl.i32],
    ):
        tl.grid(1)
        V[0], P[0] = tl.topk(tl.load(X), 4)

    x = numbers(np.float32, 256)
    values, places = np.zeros(4, np.float32), np.zeros(4, np.int32)
    launch(kernel, target, x, values, places)
    wanted, order = expected(x, 4, 0)
    np.testing.assert_array_equal(places, order)
    np.testing.assert_array_equal(values, wanted)


def test_little_code():
    @tilews.kernel
    def kernel(X: tl.Tensor["16, 256", tl.f32], Y: tl.Tensor["16, 3", tl.f32]):
        tl.grid(1)
        Y[...] = tl.topk(tl.load(X), 3).values

    # A sort takes 22,755 lines.
    assert len(kernel.compile("sm_90a").ptx.splitlines()) < 4000
