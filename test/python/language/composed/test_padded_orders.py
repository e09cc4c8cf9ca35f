"""Sorting and parts of fragments whose extents are no powers of two."""

import ml_dtypes
import numpy as np
import pytest

import tilews
import tilews.language as tl
from tilews.sim.amdgcn import launch

RNG = np.random.default_rng(12)
TYPES = {
    "f32": np.float32,
    "f16": np.float16,
    "f64": np.float64,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "i8": np.int8,
    "u8": np.uint8,
    "i64": np.int64,
    "u64": np.uint64,
    "i32": np.int32,
}


@tilews.kernel(threads=64)
def ordered(
    X: tl.Tensor["M, N", "T"],
    S: tl.Tensor["M, N", "T"],
    V: tl.Tensor["M, N", "T"],
    P: tl.Tensor["M, N", tl.i32],
    K: tl.Tensor["KM, KN", tl.i32],
    shape: tl.constexpr,
    axis: tl.constexpr,
    down: tl.constexpr,
):
    tl.grid(1)
    x = tl.load(X[0, 0], shape)
    S[0, 0] = tl.sort(x, axis, descending=down)
    values, places = tl.argsort(x, axis, descending=down)
    V[0, 0], P[0, 0] = values, places
    K[0, 0] = tl.topk(x, 3, axis).indices


def numbers(name, shape):
    """Numbers of which many are equal, and the ends of the range."""
    dtype = TYPES[name]
    x = RNG.integers(0, 5, shape).astype(np.float32).astype(dtype)
    ends = x.reshape(-1)[:3]
    if name.startswith(("i", "u")):
        ends[:2] = np.iinfo(dtype).min, np.iinfo(dtype).max
    elif name == "e4m3":
        ends[:] = np.nan, -448, 448
    else:
        ends[:] = np.nan, -np.inf, np.inf
    return RNG.permuted(x.astype(dtype).reshape(shape), axis=1)


def keys(x, down):
    """Numbers that numpy sorts as the kernel does: NaN is the largest."""
    if x.dtype.kind in "iu":
        wide = x.astype(object)
        return -wide if down else wide
    wide = np.where(np.isnan(x.astype(np.float64)), np.inf, x.astype(np.float64))
    # A NaN comes after infinity.
    order = np.isnan(x.astype(np.float64)) * 1.0
    both = np.empty(x.shape, object)
    for place in np.ndindex(x.shape):
        both[place] = (order[place], wide[place])
        if down:
            both[place] = (-order[place], -wide[place])
    return both


def check(name, shape, axis, down, execute):
    x = numbers(name, shape)
    top = [*shape]
    top[axis] = 3
    found = [np.zeros_like(x), np.zeros_like(x), np.zeros(shape, np.int32)]
    found.append(np.zeros(top, np.int32))
    execute([x, *found], {"shape": shape, "axis": axis, "down": down})
    places = np.argsort(keys(x, down), axis, kind="stable")
    wanted = np.take_along_axis(x, places, axis)
    for values in found[:2]:
        np.testing.assert_array_equal(
            values.astype(np.float64), wanted.astype(np.float64)
        )
    np.testing.assert_array_equal(found[2], places)
    best = np.argsort(keys(x, True), axis, kind="stable")
    np.testing.assert_array_equal(found[3], np.take(best, range(3), axis))


def interpret(arguments, constants):
    ordered(*arguments, **constants)


@pytest.mark.parametrize("down", [False, True])
@pytest.mark.parametrize("name", TYPES)
def test_all_types(name, down):
    check(name, (3, 12), 1, down, interpret)


@pytest.mark.parametrize("extent", [3, 5, 67, 100])
def test_extents(extent):
    check("f32", (extent, 2), 0, False, interpret)
    check("i32", (2, extent), 1, True, interpret)


@pytest.mark.parametrize(
    "chip, name, axis",
    [
        *((chip, "f32", 1) for chip in ("gfx942", "gfx950", "gfx1100")),
        *((chip, "u8", 0) for chip in ("gfx942", "gfx950", "gfx1100")),
        ("gfx950", "e4m3", 1),
    ],
)
def test_machine_code(chip, name, axis):
    def execute(arguments, constants):
        launch(ordered.compile_for(*arguments, target=chip, **constants), arguments)

    check(name, (6, 12), axis, False, execute)


@tilews.kernel(threads=64)
def parts(X: tl.Tensor["4, 300", "T"], Y: tl.Tensor["4, 99", "T"]):
    tl.grid(1)
    Y[0, 0] = tl.load(X)[:, 101:200]


@pytest.mark.parametrize("chip", ["cpu", "gfx942", "gfx1100"])
def test_a_part_of_many_pieces(chip):
    x = RNG.integers(-9, 9, (4, 300)).astype(np.int16)
    y = np.zeros((4, 99), np.int16)
    if chip == "cpu":
        parts(x, y)
    else:
        launch(parts.compile_for(x, y, target=chip), [x, y])
    np.testing.assert_array_equal(y, x[:, 101:200])
