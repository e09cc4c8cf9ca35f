"""Arithmetic of f64, and quotients of f32 and f16, on edge values, against numpy."""

import numpy as np
import pytest

import tilews
import tilews.language as tl
from tilews.sim.amdgcn.float_ops import (
    multiply_add,
    multiply_add_scaled,
    scale_for_division,
)

CHIPS = ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"]


@tilews.kernel(threads=64)
def apply_to_pairs(
    A: tl.Tensor["N", "T"],
    B: tl.Tensor["N", "T"],
    C: tl.Tensor["N", "T"],
    F: tl.constexpr,
):
    i = tl.grid(tl.cdiv(A.shape[0], 256)) * 256
    C[i] = F(tl.load(A[i], (256,)), tl.load(B[i], (256,)))


def make_pairs(dtype):
    """Pairs of edge values, of random bits, and of numbers with small quotients."""
    info = np.finfo(dtype)
    least, most = info.minexp, info.maxexp
    sizes = [0, info.smallest_subnormal, info.smallest_normal, info.max, np.inf, 1, 3]
    sizes += [info.smallest_normal / 2, 1 - info.epsneg, 1 + info.eps, 0.1, 1.5, 2.5]
    sizes += [2.0**31, 2.0**52 + 0.5, 2.0**53 + 2, 2.0**63, 2.0**64]
    # Where numbers are scaled before they are divided.
    sizes = [size for size in sizes if size <= float(info.max) or size == np.inf]
    sizes += [2.0 ** (most - 2), 3 * 2.0 ** (most - 3), 2.0 ** (most - 1)]
    steps = [2, info.nmant, info.nmant + 1, min(60, most)]
    sizes += [2.0 ** (least + step) for step in steps]
    edges = np.array([*sizes, *(-size for size in sizes), np.nan], dtype)
    a, b = (each.ravel() for each in np.meshgrid(edges, edges))
    random = np.random.default_rng(5)
    bits = random.integers(0, 256, (2, 1000 * info.bits // 8), np.uint8).view(dtype)
    powers = random.integers([[least - info.nmant], [0]], [[0], [most]], (2, 500))
    with np.errstate(over="ignore"):
        small = np.ldexp(random.standard_normal((2, 500)).astype(dtype), powers)
        return [np.concatenate(each) for each in zip((a, b), bits, small, strict=True)]


OPERATIONS = {
    "quotient": (lambda a, b: a / b, lambda a, b: a / b),
    "remainder": (lambda a, b: a % b, lambda a, b: np.remainder(a, b)),
    "floor of quotient": (lambda a, b: tl.floor(a / b), lambda a, b: np.floor(a / b)),
    "product": (lambda a, b: a * b, lambda a, b: a * b),
    "root": (lambda a, b: tl.sqrt(a), lambda a, b: np.sqrt(a)),
    "floor": (lambda a, b: tl.floor(a), lambda a, b: np.floor(a)),
    "ceiling": (lambda a, b: tl.ceil(a), lambda a, b: np.ceil(a)),
    "truncation": (lambda a, b: tl.trunc(a), lambda a, b: np.trunc(a)),
    "nearest": (lambda a, b: tl.round(a), lambda a, b: np.rint(a)),
    "absolute": (lambda a, b: tl.abs(-a), lambda a, b: np.abs(a)),
    "choice": (lambda a, b: tl.where(a < b, a, b), lambda a, b: np.where(a < b, a, b)),
    "f32": (
        lambda a, b: a.to(tl.f32).to(tl.f64),
        lambda a, b: a.astype(np.float32).astype(np.float64),
    ),
}


def run(function, a, b, chip):
    found = np.zeros_like(a)
    apply_to_pairs(a, b, found, F=function, target=chip, run="sim")
    return found


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_results_are_those_of_numpy(chip, name):
    ours, theirs = OPERATIONS[name]
    a, b = make_pairs(np.float64)
    if name == "remainder":
        a, b = a[::3].copy(), b[::3].copy()  # Its steps are many.
    with np.errstate(all="ignore"):
        expected = theirs(a, b)
    found = run(ours, a, b, chip)
    np.testing.assert_array_equal(found, expected)
    zeros = found == 0
    np.testing.assert_array_equal(np.signbit(found[zeros]), np.signbit(expected[zeros]))


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("chip", CHIPS)
def test_narrow_quotients(chip, dtype):
    a, b = make_pairs(dtype)
    with np.errstate(all="ignore"):
        expected = a / b
    found = run(lambda a, b: a / b, a, b, chip)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("chip", CHIPS)
def test_inverse_roots_are_off_by_one_bit_at_most(chip):
    a, b = make_pairs(np.float64)
    with np.errstate(all="ignore"):
        expected = 1 / np.sqrt(a)
    found = run(lambda a, b: tl.rsqrt(a), a, b, chip)
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(found[~finite], expected[~finite])
    np.testing.assert_array_max_ulp(found[finite], expected[finite], maxulp=1)


def test_sums_with_products_are_rounded_once():
    # A step of Newton's method for 1 / (2 - 2^-23). The exact sum is 2^-71 above the
    # middle between 0.5 and the result.
    r = np.array([0.5 + 2.0**-24], np.float32)
    e = multiply_add(np.array([2.0**-23 - 2], np.float32), r, np.ones(1, np.float32))
    np.testing.assert_array_equal(multiply_add(e, r, r), r)
    eps = np.finfo(np.float64).eps
    a = np.array([1 + eps, 1 + eps, 2.0**1000, 2.0**-600])
    b = np.array([1 + eps, 1 - eps, 2.0**1000, 2.0**-600])
    c = np.array([-1 - 2 * eps, -1, -np.inf, 2.0**-1074])
    expected = [eps**2, -(eps**2), -np.inf, 2.0**-1074]
    np.testing.assert_array_equal(multiply_add(a, b, c), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scaled_quotients_are_rounded_once(dtype):
    info = np.finfo(dtype)
    shift = {np.float32: 64, np.float64: 128}[dtype]
    # Half of the smallest number and a bit more; rounded twice it would be 0.
    c = np.ldexp(dtype(1), [info.minexp - info.nmant - 1 + shift] * 2).astype(dtype)
    a = np.ldexp(c, -info.nmant - 3)
    b = np.array([1, -1], dtype)
    found = multiply_add_scaled(a, b, c, np.array([True, True]))
    np.testing.assert_array_equal(found, [info.smallest_subnormal, 0])


def test_scales_follow_the_manual():
    n = np.array([1e300, 2.0**-300, 1e10, 0.0, 2.0**-1000, 3.0, 2.0**-900])
    d = np.array([1e-300, 5e-324, 2.0**1023, 1.0, 1.0, 4.0, 2.0**200])
    with np.errstate(all="ignore"):
        scaled, flags = scale_for_division(d, d, n)
        up, down = np.ldexp(d, 128), np.ldexp(d, -128)
    expected = [up[0], up[1], down[2], np.nan, up[4], 4.0, d[6]]
    np.testing.assert_array_equal(scaled, expected)
    assert flags.tolist() == [True, False, False, False, False, False, True]
