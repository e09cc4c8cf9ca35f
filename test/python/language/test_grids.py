"""Grids of any number of dimensions."""

import numpy as np
import pytest

import tilews
import tilews.language as tl
from support.kernel_errors import check
from tilews.sim.amdgcn import launch


@tilews.kernel
def places(Out: tl.Tensor["A, B, C, D, 8", tl.i32]):
    extents = Out.shape[:4]
    a, b, c, d = tl.grid(*extents)
    number = ((a * 10 + b) * 10 + c) * 10 + d
    Out[a, b, c, d, 0] = tl.full((1, 1, 1, 1, 8), number.to(tl.i32), tl.i32)


@tilews.kernel
def five(Out: tl.Tensor["A, 2, 3, B, C", tl.i32]):
    Z, _, _, B, C = Out.shape
    a, b, c, d, e = tl.grid(Z, 2, tl.cdiv(6, 2), B, C)
    assert a < Z and b < 2 and c < 3
    number = (((a * 10 + b) * 10 + c) * 10 + d) * 10 + e
    tl.store(number.to(tl.i32), Out[a, b, c, d, e])


def decimals(shape):
    """The coordinates of each element as the digits of a number."""
    return np.array([int("".join(map(str, c))) for c in np.ndindex(shape)]).reshape(
        shape
    )


SHAPE = (3, 2, 4, 5)
EXPECTED = np.repeat(decimals(SHAPE)[..., None], 8, axis=-1)


@pytest.mark.parametrize("target", ["cpu", "gfx942", "gfx1100"])
def test_four_dimensions(target):
    out = np.zeros((*SHAPE, 8), np.int32)
    if target == "cpu":
        places(out)
    else:
        launch(places.compile(target, A=3), [out])
    np.testing.assert_array_equal(out, EXPECTED)


def test_five_dimensions():
    out = np.zeros((4, 2, 3, 2, 3), np.int32)
    five(out)
    np.testing.assert_array_equal(out, decimals(out.shape))


def test_no_blocks():
    places(np.zeros((3, 0, 4, 5, 8), np.int32))


def test_the_grid_of_a_manifest():
    x, y, z = places.compile("sm_90a").manifest["grid"]
    assert x == {"op": "mul", "args": [{"extent": [0, 0]}, {"extent": [0, 1]}]}
    assert [y, z] == [{"extent": [0, 2]}, {"extent": [0, 3]}]


def test_a_grid_needs_extents():
    def kernel(n: tl.i32):
        tl.grid()  # HERE

    check(kernel, "tl.grid: the extents are missing", "write tl.grid(1)")


@pytest.mark.parametrize(
    "extents, message",
    [
        ((10**5000,), "found a Python integer of 16610 bits"),
        ((1.5,), "an extent is an integer from 1 to 2147483647, found the Python"),
        ((2**31 - 1,) * 5, "the product of all extents but the last two is an integer"),
        ((65536, 65536, 1, 1), "found the Python value 4294967296"),
    ],
    ids=["digits", "fraction", "beyond 64 bits", "beyond 32 bits"],
)
def test_extents_that_no_grid_has(extents, message):
    def kernel(n: tl.i32):
        tl.grid(*extents)  # HERE

    check(kernel, message)


def test_extents_of_whole_floats():
    @tilews.kernel
    def kernel(Out: tl.Tensor["M", tl.i32]):
        x = tl.grid(8 / 2)
        tl.store(x.to(tl.i32) + 1, Out[x])

    kernel(out := np.zeros(4, np.int32))
    assert out.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "dtype, number",
    [
        (tl.i1, True),
        (tl.i1, np.True_),
        (tl.u8, 200),
        (tl.i8, 100),
        (tl.i64, 3),
    ],
    ids=str,
)
@pytest.mark.parametrize("target", ["cpu", "gfx942"])
def test_a_grid_of_a_number(target, dtype, number):
    """The interpreter once took 200 of eight bits for -56, and True for -1."""

    @tilews.kernel
    def kernel(n: dtype, Out: tl.Tensor["M", tl.i32]):
        x = tl.grid(n)
        tl.store(1, Out[x])

    out = np.zeros(256, np.int32)
    kernel(number, out, target=target, run=None if target == "cpu" else "sim")
    assert out.sum() == number
