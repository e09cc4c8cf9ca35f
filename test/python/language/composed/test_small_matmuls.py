"""Matmuls of fp8, fp6 and fp4 with scales of 32 elements, in the interpreter."""

import itertools

import ml_dtypes
import numpy as np
import pytest

import tilews
import tilews.language as tl
from kernels.zoo_kernels.small_matmuls import TYPES, MxMatrix, multiply, specialize
from tilews.errors import LanguageError

RNG = np.random.default_rng(15)
PAIRS = list(itertools.product(TYPES, TYPES))


def run(lhs, rhs, columns=32):
    c = np.zeros((len(lhs.values), len(rhs.values)), np.float32)
    arrays = [lhs.array, rhs.array, lhs.scales, rhs.scales, c]
    multiply.compile("cpu", **specialize(lhs, rhs, columns))(*arrays)
    return c


def pack_line(values):
    """The bytes of a line of codes of 6 bits, one bit after the other."""
    number = sum(code << 6 * i for i, code in enumerate(values))
    return list(number.to_bytes(len(values) * 3 // 4, "little"))


@pytest.mark.parametrize("types", PAIRS, ids="-".join)
def test_all_pairs_of_types_are_exact(types):
    """Sums of a few terms of few bits are exact in f64, and rounded once."""
    lhs, rhs = MxMatrix(types[0], (70, 96), RNG), MxMatrix(types[1], (40, 96), RNG)
    expected = (lhs.values @ rhs.values.T).astype(np.float32)
    np.testing.assert_array_equal(run(lhs, rhs), expected)


def test_scales_at_the_ends_of_their_range():
    lhs = MxMatrix("e4m3", (64, 128), RNG, (0, 127, 254))
    rhs = MxMatrix("e2m1", (32, 128), RNG, (0, 127, 254))
    with np.errstate(over="ignore"):
        expected = (lhs.values @ rhs.values.T).astype(np.float32)
    assert np.isinf(expected).any() and (np.abs(expected) < 1e-30).any()
    np.testing.assert_array_equal(run(lhs, rhs), expected)


def test_scale_that_is_no_number():
    lhs, rhs = MxMatrix("e2m1", (64, 128), RNG), MxMatrix("e4m3", (32, 128), RNG)
    lhs.scales.view(np.uint8)[3, 2] = 255
    c = run(lhs, rhs)
    assert np.isnan(c[3]).all() and np.isfinite(np.delete(c, 3, 0)).all()


def test_packed_elements_of_six_bits():
    codes = RNG.integers(0, 64, (5, 8)).astype(np.uint8)
    for name in ("e2m3", "e3m2"):
        elements = codes.view(TYPES[name])
        packed = tilews.pack_elements(elements)
        assert packed.tolist() == [pack_line(line.tolist()) for line in codes]
        back = tilews.unpack_elements(packed, getattr(tl, name))
        np.testing.assert_array_equal(back.view(np.uint8), codes)
    with pytest.raises(LanguageError, match="or of 6 bits and a multiple of 4"):
        tilews.pack_elements(codes[:, :6].view(TYPES["e2m3"]))


@tilews.kernel(threads=64)
def forms(
    A: tl.Tensor["32, 64", tl.e2m3],
    B: tl.Tensor["64, 32", tl.e2m1],
    S: tl.Tensor["2, 32", tl.e8m0],
    C: tl.Tensor["3, 32, 32", tl.f32],
):
    """Elements of a byte, elements packed along N, scales of one operand."""
    tl.grid(1)
    a, s = tl.alloc_shared((32, 64), tl.e2m3), tl.alloc_shared((2, 32), tl.e8m0)
    b = tl.alloc_shared((64, 32), tl.e2m1)
    tl.copy(A, a)
    tl.copy(B, b)
    tl.copy(S, s)
    C[0, 0:32, 0:32] = tl.gemm(a, b)
    C[1, 0:32, 0:32] = tl.gemm(a, tl.load(b), rhs_scale=s)
    C[2, 0:32, 0:32] = tl.gemm(a, b, rhs_scale=S[0:2, 0:32], clear=True)


def test_other_forms_of_operands():
    a = RNG.uniform(-7, 7, (32, 64)).astype(ml_dtypes.float6_e2m3fn)
    b = RNG.uniform(-6, 6, (64, 32)).astype(ml_dtypes.float4_e2m1fn)
    s = RNG.choice([0.25, 1, 8], (2, 32)).astype(ml_dtypes.float8_e8m0fnu)
    c = np.zeros((3, 32, 32), np.float32)
    forms(a, tilews.pack_elements(b), s, c)
    wide, right = a.astype(np.float64), b.astype(np.float64)
    scaled = wide @ (right * np.repeat(s.astype(np.float64), 32, axis=0))
    np.testing.assert_array_equal(c[0], wide @ right)
    np.testing.assert_array_equal(c[1], scaled)
    np.testing.assert_array_equal(c[2], scaled)


@tilews.kernel(threads=64)
def parts(
    A: tl.Tensor["2, 32, 128", tl.e2m1],
    S: tl.Tensor["2, 32, 4", tl.e8m0],
    C: tl.Tensor["2, 32, 32", tl.f32],
):
    """Batches, and parts of packed shared buffers."""
    tl.grid(1)
    a, s = tl.alloc_shared((2, 32, 128), tl.e2m1), tl.alloc_shared((2, 32, 4), tl.e8m0)
    tl.copy(A, a)
    tl.copy(S, s)
    C[0, 0, 0] = tl.gemm(a, a, transpose_rhs=True, lhs_scale=s, rhs_scale=s)
    for i in tl.range(2):
        half = tl.gemm(
            a[i, :, 64:128],
            a[i, :, 0:64],
            transpose_rhs=True,
            lhs_scale=s[i, :, 2:4],
            rhs_scale=s[i, :, 0:2],
        )
        C[i, 0:32, 0:32] = tl.load(C[i, 0:32, 0:32]) + half


def test_batches_and_parts():
    a = RNG.uniform(-6, 6, (2, 32, 128)).astype(ml_dtypes.float4_e2m1fn)
    s = RNG.choice([0.5, 1, 2], (2, 32, 4)).astype(ml_dtypes.float8_e8m0fnu)
    c = np.zeros((2, 32, 32), np.float32)
    parts(tilews.pack_elements(a), s, c)
    x = a.astype(np.float64) * np.repeat(s.astype(np.float64), 32, axis=2)
    expected = x @ x.transpose(0, 2, 1) + x[..., 64:] @ x[..., :64].transpose(0, 2, 1)
    np.testing.assert_array_equal(c, expected)


@tilews.kernel(threads=64)
def declined(
    A: tl.Tensor["32, 48", "T"], C: tl.Tensor["32, 32", tl.f32], LHS: tl.constexpr
):
    tl.grid(1)
    a, b = tl.alloc_shared((32, 48), A.dtype), tl.alloc_shared((32, 48), tl.e4m3)
    tl.copy(A, a)
    C[0, 0] = tl.gemm(a, b, transpose_rhs=True, lhs_type=LHS)


@pytest.mark.parametrize(
    ("dtype", "packed", "message"),
    [
        (tl.u8, tl.f16, "lhs_type is tl.e2m1, tl.e2m3 or tl.e3m2, found"),
        (tl.e4m3, tl.e2m3, "lhs has bytes in which e2m3 are packed, tl.u8, found"),
        (tl.f16, tl.e2m1, "lhs has bytes in which e2m1 are packed, tl.u8, found"),
        (tl.u8, None, "lhs has elements of u8, which are no factors"),
    ],
)
def test_operands_that_hold_something_else(dtype, packed, message):
    with pytest.raises(tilews.KernelError) as caught:
        declined.compile("gfx950", T=dtype, LHS=packed)
    assert message in str(caught.value)


@tilews.kernel(threads=64)
def mixed(A: tl.Tensor["32, 64", "T"], C: tl.Tensor["32, 32", tl.f32]):
    tl.grid(1)
    a, b = tl.alloc_shared((32, 64), A.dtype), tl.alloc_shared((32, 64), tl.e2m1)
    C[0, 0] = tl.gemm(a, b, transpose_rhs=True)


def test_wider_operand():
    with pytest.raises(tilews.KernelError) as caught:
        mixed.compile("gfx950", T=tl.f16)
    assert "fp8, fp6 and fp4, found f16 and e2m1" in caught.value.message
    assert caught.value.hint == "convert both to one type: tl.load(x).to(tl.f16)"
