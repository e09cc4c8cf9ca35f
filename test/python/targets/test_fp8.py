"""The types of fp8 that chips have: one source for both families."""

import ml_dtypes
import numpy as np
import pytest

import tilews
import tilews.language as tl
from tilews.sim.amdgcn import launch

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


@tilews.kernel(threads=256)
def mixed_product(
    A: tl.Tensor["M, K", "TA"],
    B: tl.Tensor["N, K", "TB"],
    C: tl.Tensor["M, N", tl.f32],
    BN: tl.constexpr,
):
    i, j = tl.grid(tl.cdiv(A.shape[0], 64), tl.cdiv(B.shape[0], BN))
    a, b = tl.alloc_shared((64, 128), A.dtype), tl.alloc_shared((BN, 128), B.dtype)
    acc = tl.zeros((64, BN), tl.f32)
    for k in tl.range(tl.cdiv(A.shape[1], 128), num_stages=2):
        tl.copy(A[i * 64, k * 128], a)
        tl.copy(B[j * BN, k * 128], b)
        acc = tl.gemm(a, b, acc, transpose_rhs=True)
    C[i * 64, j * BN] = acc


@pytest.mark.parametrize(
    ("columns", "instruction"),
    [(48, "v_mfma_f32_16x16x128_f8f6f4"), (64, "v_mfma_f32_32x32x64_f8f6f4")],
)
@pytest.mark.parametrize("types", [("e4m3", "e5m2"), ("e5m2", "e5m2")])
def test_instructions_for_small_types(types, columns, instruction):
    """gfx950 multiplies fp8 twice as fast by the instructions for small types."""
    a_type, b_type = (getattr(tl, name) for name in types)
    compiled = mixed_product.compile("gfx950", TA=a_type, TB=b_type, BN=columns)
    a = RNG.uniform(-2, 2, (100, 300)).astype(a_type.numpy)
    b = RNG.uniform(-2, 2, (70, 300)).astype(b_type.numpy)
    c = np.zeros((100, 70), np.float32)
    executed = launch(compiled, [a, b, c]).executed
    assert instruction in executed
    expected = a.astype(np.float64) @ b.astype(np.float64).T
    np.testing.assert_allclose(c, expected, rtol=1e-6, atol=1e-5)


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
