"""Matmuls of fp8, fp6 and fp4 with scales, as machine code of AMD's chips."""

import itertools

import numpy as np
import pytest

import tilews
import tilews.language as tl
from kernels.zoo_kernels.small_matmuls import TYPES, MxMatrix, multiply, specialize
from tilews.sim.amdgcn import launch

RNG = np.random.default_rng(16)
PAIRS = list(itertools.product(TYPES, TYPES))


def run(chip, lhs, rhs, columns, seed=0):
    """The result in the simulator, and the instructions that it executed."""
    compiled = multiply.compile(chip, **specialize(lhs, rhs, columns))
    c = np.zeros((len(lhs.values), len(rhs.values)), np.float32)
    arrays = [lhs.array, rhs.array, lhs.scales, rhs.scales, c]
    return c, launch(compiled, arrays, seed).executed


def check(found, lhs, rhs):
    """Compares with the matmul in f64, to the rounding of f32 additions."""
    expected = lhs.values @ rhs.values.T
    largest = np.abs(lhs.values) @ np.abs(rhs.values).T
    assert (np.abs(found - expected) <= 1e-6 * largest + 1e-30).all()


@pytest.mark.parametrize("types", PAIRS, ids="-".join)
def test_all_pairs_of_types(types):
    """Ragged edges along all dimensions."""
    lhs, rhs = MxMatrix(types[0], (100, 288), RNG), MxMatrix(types[1], (50, 288), RNG)
    found, executed = run("gfx950", lhs, rhs, 32)
    check(found, lhs, rhs)
    assert "v_mfma_scale_f32_32x32x64_f8f6f4" in executed
    assert not any(name.startswith("v_cvt_scalef32") for name in executed)


@pytest.mark.parametrize(
    "types", [("e4m3", "e2m1"), ("e2m3", "e5m2"), ("e3m2", "e3m2")], ids="-".join
)
def test_the_smaller_instruction(types):
    lhs, rhs = MxMatrix(types[0], (64, 256), RNG), MxMatrix(types[1], (90, 256), RNG)
    found, executed = run("gfx950", lhs, rhs, 48, seed=3)
    check(found, lhs, rhs)
    assert "v_mfma_scale_f32_16x16x128_f8f6f4" in executed


@pytest.mark.parametrize(("columns", "depth"), [(32, 64), (48, 128)])
def test_scales_at_the_ends_of_their_range(columns, depth):
    """0 is 2^-127, and 255 makes the row or the column NaN. One instruction computes
    it, so that no partial sum overflows."""
    lhs = MxMatrix("e4m3", (64, depth), RNG, (0, 127, 254))
    rhs = MxMatrix("e2m1", (48, depth), RNG, (0, 127, 254))
    rhs.scales.view(np.uint8)[5, 1] = 255
    found, _ = run("gfx950", lhs, rhs, columns)
    with np.errstate(over="ignore"):
        expected = (lhs.values @ rhs.values.T).astype(np.float32)
    expected[:, 5] = np.nan
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-37)


@tilews.kernel(threads=64)
def constant_scales(
    A: tl.Tensor["32, 64", tl.e4m3],
    C: tl.Tensor["32, 32", tl.f32],
    FACTOR: tl.constexpr,
):
    tl.grid(1)
    a, scale = tl.alloc_shared((32, 64), tl.e4m3), tl.full((32, 2), FACTOR, tl.e8m0)
    tl.copy(A, a)
    C[0, 0] = tl.gemm(a, a, transpose_rhs=True, lhs_scale=scale, rhs_scale=scale)


def test_constant_scales_of_which_all_bits_are_zero():
    """They do not select the instruction without scales."""
    a = RNG.uniform(100, 400, (32, 64)).astype(TYPES["e4m3"])
    c = np.ones((32, 32), np.float32)
    compiled = constant_scales.compile("gfx950", FACTOR=2.0**-127)
    assert "v_mfma_scale_f32" in compiled.asm
    launch(compiled, [a, c])
    assert (c == 0).all()


@tilews.kernel(threads=128)
def unscaled(
    A: tl.Tensor["64, 128", "TA"], B: tl.Tensor["64, 128", "TB"], C: tl.Tensor["64, 64"]
):
    tl.grid(1)
    a, b = tl.alloc_shared((64, 128), A.dtype), tl.alloc_shared((64, 128), B.dtype)
    tl.copy(A, a)
    tl.copy(B, b)
    C[0, 0] = tl.gemm(a, b, transpose_rhs=True)


@pytest.mark.parametrize("chip", ["gfx90a", "gfx942", "gfx950", "gfx1100"])
@pytest.mark.parametrize("types", [("e2m1", "e2m1"), ("e2m3", "e2m1")], ids="-".join)
def test_operands_without_scales(types, chip):
    """One source for all chips; here elements of 6 bits have a byte each."""
    a, b = (RNG.uniform(-6, 6, (64, 128)).astype(TYPES[name]) for name in types)
    c = np.zeros((64, 64), np.float32)
    names = {"TA": getattr(tl, types[0]), "TB": getattr(tl, types[1]), "C": tl.f32}
    compiled = unscaled.compile(chip, **names)
    arguments = [
        tilews.pack_elements(x) if x.dtype == TYPES["e2m1"] else x for x in (a, b)
    ]
    executed = launch(compiled, [*arguments, c]).executed
    np.testing.assert_array_equal(c, a.astype(np.float64) @ b.astype(np.float64).T)
    if chip == "gfx950":
        assert "v_mfma_f32_32x32x64_f8f6f4" in executed


@pytest.mark.parametrize("chip", ["gfx90a", "gfx942", "gfx1100"])
@pytest.mark.parametrize("types", [("e2m1", "e3m2"), ("e2m3", "e2m1")], ids="-".join)
def test_scales_on_other_chips(types, chip):
    """The sums of blocks are multiplied by scales, in f32."""
    lhs, rhs = MxMatrix(types[0], (64, 160), RNG), MxMatrix(types[1], (40, 160), RNG)
    found, _ = run(chip, lhs, rhs, 32)
    check(found, lhs, rhs)


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("types", [("e2m1", "e2m1"), ("e3m2", "e2m1")], ids="-".join)
def test_compiles_for_nvidia(types, chip):
    lhs, rhs = MxMatrix(types[0], (64, 128), RNG), MxMatrix(types[1], (64, 128), RNG)
    ptx = multiply.compile(chip, **specialize(lhs, rhs, 64)).ptx
    assert ("e4m3.e4m3" if chip == "sm_90a" else "f16.f16") in ptx
