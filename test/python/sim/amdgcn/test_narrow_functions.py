"""Functions of f16 and bf16 are rounded once: in the interpreter, and on AMD GPUs."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import tilews
import tilews.language as tl

TARGETS = [None, "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"]


def run(kernel, arrays, target):
    """The result, as an array like the first one."""
    result = np.zeros_like(arrays[0])
    options = {"target": target, "run": "sim"} if target else {}
    kernel(*arrays, result, **options)
    return result


@tilews.kernel(threads=64)
def multiply_add(
    A: tl.Tensor["N", "T"],
    B: tl.Tensor["N", "T"],
    C: tl.Tensor["N", "T"],
    D: tl.Tensor["N", "T"],
):
    i = tl.grid(tl.cdiv(A.shape[0], 256)) * 256
    a, b, c = tl.load(A[i], (256,)), tl.load(B[i], (256,)), tl.load(C[i], (256,))
    D[i] = tl.fma(a, b, c)


def make_triples(dtype):
    """Operands whose `a * b` is in the middle of two numbers, and others.

    Some of the middles are exact, as 1.5 * 1.0078125 of bf16 is. Small addends move
    the sum off the middle by less than the last bit of f32.
    """
    bits, least = {np.float16: (11, -14), ml_dtypes.bfloat16: (8, -126)}[dtype]
    random = np.random.default_rng(3)
    count = 1500
    a = 1 + random.integers(0, 2 ** (bits - 1), count) * 2.0 ** (1 - bits)
    b = 1 + random.integers(0, 4, count) * 2.0 ** (1 - bits)
    a[::3], b[::3] = 1.5, 1 + 2.0 ** (1 - bits)
    c = np.ldexp(random.choice([-1.0, 1.0], count), random.integers(least, 3, count))
    c[::7] = 0
    scale = np.ldexp(1.0, random.integers(least - bits, 9, count))
    # Sums that cancel, in random bits, and numbers beside infinity and NaN.
    words = random.integers(0, 2**16, (3, 1000)).astype(np.uint16).view(dtype)
    x = random.standard_normal((2, 500)).astype(dtype)
    with np.errstate(all="ignore"):
        cancelled = [*x, -(x[0] * x[1])]
        triples = zip((a * scale, b, c), words, cancelled, strict=True)
        return [np.concatenate([each.astype(dtype) for each in t]) for t in triples]


def round_once(a, b, c):
    """``a * b + c`` of finite numbers, by exact arithmetic."""
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    near = np.array([float(exact)]).astype(a.dtype).view(np.uint16)[0]
    around = np.clip(int(near & 0x7FFF) + np.array([-1, 0, 1]), 0, 0x7FFF)
    candidates = (around | int(near & 0x8000)).astype(np.uint16).view(a.dtype)
    finite = [x for x in candidates if np.isfinite(x)]
    if len(finite) < 3 and len(set(around)) == 3:
        return np.array([near], np.uint16).view(a.dtype)[0]  # Beside infinity.
    return min(
        finite,
        key=lambda x: (abs(Fraction(float(x)) - exact), int(x.view(np.uint16)) & 1),
    )


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_multiply_adds(dtype, target):
    a, b, c = make_triples(dtype)
    found = run(multiply_add, [a, b, c], target)
    finite = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    expected = np.array(
        list(map(round_once, a[finite], b[finite], c[finite])), dtype=dtype
    )
    np.testing.assert_array_equal(
        found[finite].astype(np.float32), expected.astype(np.float32)
    )
    with np.errstate(all="ignore"):
        a, b, c, other = (x[~finite].astype(np.float32) for x in (a, b, c, found))
        np.testing.assert_array_equal(other, a * b + c)


@tilews.kernel(threads=64)
def sigmoids(X: tl.Tensor["N", "T"], Y: tl.Tensor["N", "T"]):
    i = tl.grid(tl.cdiv(X.shape[0], 256)) * 256
    Y[i] = tl.sigmoid(tl.load(X[i], (256,)))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_sigmoids(dtype, target):
    """The sigmoid of -16 is 1.1e-7, above f16's smallest number."""
    x = np.arange(2**16).astype(np.uint16).view(dtype)[:: 1 if target is None else 7]
    x = np.ascontiguousarray(x[np.abs(x.astype(np.float32)) < 85])
    found = run(sigmoids, [x], target)
    with np.errstate(over="ignore"):
        expected = (1 / (1 + np.exp(-x.astype(np.float64)))).astype(dtype)
    # f32 is off by 5 of its last bits, and then a middle is rounded to either side.
    distance = found.view(np.int16).astype(int) - expected.view(np.int16)
    assert np.abs(distance).max() <= 1
    assert np.mean(distance != 0) < 2e-3
