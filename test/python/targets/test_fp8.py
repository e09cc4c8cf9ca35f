"""The types of fp8 that chips have: one source for both families."""

import ml_dtypes
import numpy as np
import pytest

import tilews
import tilews.language as tl
from amdgcn.launch import launch

RNG = np.random.default_rng(5)


@tilews.kernel(threads=128)
def scaled(
    X: tl.Tensor["M, 64", tl.e4m3], Y: tl.Tensor["M, 64", tl.e5m2], factor: tl.f32
):
    block = tl.grid(tl.cdiv(X.shape[0], 32))
    x = tl.load(X[block * 32, 0], (32, 64)).to(tl.f32) * factor
    Y[block * 32, 0] = x.to(tl.e5m2)


@tilews.kernel(threads=128)
def product(
    A: tl.Tensor["64, 64", tl.e4m3],
    B: tl.Tensor["64, 64", tl.e4m3],
    C: tl.Tensor["64, 64", tl.f32],
):
    tl.grid(1)
    a, b = tl.alloc_shared((64, 64), tl.e4m3), tl.alloc_shared((64, 64), tl.e4m3)
    tl.copy(A, a)
    tl.copy(B, b)
    C[0:64, 0:64] = tl.gemm(a, b, transpose_rhs=True)


FAMILIES = {
    "gfx942": (ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2fnuz),
    "gfx950": (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2),
}


@pytest.mark.parametrize("chip", FAMILIES)
def test_one_source_for_both_families(chip):
    e4m3, e5m2 = FAMILIES[chip]
    x = RNG.uniform(-9, 9, (70, 64)).astype(e4m3)
    y = np.zeros((70, 64), e5m2)
    launch(scaled.compile(chip), [x, y, 0.75])
    expected = (x.astype(np.float32) * np.float32(0.75)).astype(e5m2)
    np.testing.assert_array_equal(y.view(np.uint8), expected.view(np.uint8))

    a, b = (RNG.integers(-3, 4, (64, 64)).astype(e4m3) for _ in range(2))
    c = np.zeros((64, 64), np.float32)
    launch(product.compile(chip), [a, b, c])
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T)


def test_arrays_of_the_other_family():
    x = np.zeros((32, 64), ml_dtypes.float8_e4m3fnuz)
    y = np.zeros((32, 64), ml_dtypes.float8_e5m2)
    found = "'X': expected elements of e4m3, found float8_e4m3fnuz"
    with pytest.raises(tilews.runtime.LaunchError, match=found):
        scaled(x, y, 1.0)


@tilews.kernel(threads=128)
def widened(X: tl.Tensor["M, 64", "T"], Y: tl.Tensor["M, 64", tl.f32]):
    block = tl.grid(tl.cdiv(X.shape[0], 32))
    Y[block * 32, 0] = tl.load(X[block * 32, 0], (32, 64)).to(tl.f32)


@pytest.mark.parametrize(
    ("chip", "hint"),
    [
        ("sm_90a", "its types of fp8 are 'f8E4M3FN' and 'f8E5M2'"),
        ("gfx950", "its types of fp8 are 'f8E4M3FN' and 'f8E5M2'"),
        ("gfx1100", "which has no fp8"),
        ("sm_80", "which has no fp8"),
    ],
)
def test_a_type_that_the_chip_does_not_convert(chip, hint):
    with pytest.raises(tilews.CompileError, match=hint):
        widened.compile(chip, T=tl.e4m3fnuz)


@tilews.kernel(threads=128)
def any_product(
    A: tl.Tensor["64, 64", "T"], B: tl.Tensor["64, 64", "T"], C: tl.Tensor["64, 64"]
):
    tl.grid(1)
    a, b = tl.alloc_shared((64, 64), A.dtype), tl.alloc_shared((64, 64), A.dtype)
    tl.copy(A, a)
    tl.copy(B, b)
    C[0:64, 0:64] = tl.gemm(a, b, transpose_rhs=True)


@pytest.mark.parametrize(
    ("chip", "dtype", "hint"),
    [
        ("sm_80", tl.e4m3, "use f16 or bf16, or a chip with fp8 such as sm_90a"),
        ("gfx90a", tl.e5m2fnuz, "use f16 or bf16, or a chip with fp8 such as sm_90a"),
        ("sm_90a", tl.e4m3fnuz, "declare tl.e4m3 or tl.e5m2"),
        ("gfx950", tl.e4m3fnuz, "declare tl.e4m3 or tl.e5m2"),
    ],
)
def test_a_type_that_the_chip_does_not_multiply(chip, dtype, hint):
    with pytest.raises(tilews.KernelError) as caught:
        any_product.compile(chip, T=dtype, C=tl.f32)
    assert caught.value.message == f"tl.gemm: {chip} does not multiply {dtype}"
    assert caught.value.hint.startswith(hint)
