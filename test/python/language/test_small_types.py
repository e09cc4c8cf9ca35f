"""Types of at most 8 bits: conversions of all codes, and bits of other widths."""

import ml_dtypes
import numpy as np
import pytest

import tilews
import tilews.language as tl
from support.small_types import (
    CHIPS,
    ELEMENTWISE,
    FLOATS,
    FORMS,
    around,
    codes,
    elements,
    in_memory,
    rounded,
    run,
    same,
)

RNG = np.random.default_rng(7)
WIDE = (np.float64, np.float32, np.float16, ml_dtypes.bfloat16)


# --- Conversions -----------------------------------------------------------------


@tilews.kernel(threads=128)
def widen(
    X: tl.Tensor["N", "T"],
    A: tl.Tensor["4, N", tl.f64],
    I: tl.Tensor["2, N", tl.i32],  # noqa: E741
    T: tl.constexpr,
    N: tl.constexpr,
):
    tl.grid(1)
    x = tl.load(X)
    A[0, :] = x.to(tl.f64)
    A[1, :] = x.to(tl.f32).to(tl.f64)
    A[2, :] = x.to(tl.f16).to(tl.f64)
    A[3, :] = x.to(tl.bf16).to(tl.f64)
    I[0, :] = x.to(tl.i32)
    I[1, :] = x.to(tl.i8).to(tl.i32)


@pytest.mark.parametrize("form", ELEMENTWISE)
@pytest.mark.parametrize("dtype", (*FLOATS, tl.i4, tl.u4, tl.i8, tl.u8), ids=str)
def test_all_codes_widen(dtype, form, tmp_path):
    x = np.resize(codes(dtype), 256)
    wide, whole = np.zeros((4, 256)), np.zeros((2, 256), np.int32)
    run(widen, [in_memory(x, dtype), wide, whole], form, tmp_path, T=dtype, N=256)
    exact = x.astype(np.float64)
    same(wide[0], exact)
    same(wide[1], x.astype(np.float32))
    with np.errstate(over="ignore"):
        same(wide[2], exact.astype(np.float16))
    same(wide[3], exact.astype(ml_dtypes.bfloat16))
    integers = np.clip(np.trunc(exact), -(2**31), 2**31 - 1)
    integers[np.isnan(exact)] = 0
    np.testing.assert_array_equal(whole[0], integers.astype(np.int64))
    if dtype.is_float:
        integers = np.clip(integers, -128, 127)
    elif dtype == tl.u8:
        integers = x.view(np.int8)
    np.testing.assert_array_equal(whole[1], integers.astype(np.int64))


@tilews.kernel(threads=128)
def narrow(
    X: tl.Tensor["M, 1024", "F"],
    Y: tl.Tensor["M, 1024", "T"],
    T: tl.constexpr,
):
    i = tl.grid(X.shape[0])
    Y[i, :] = tl.load(X[i, 0:1024]).to(T)


def rows(numbers):
    """Numbers as rows of 1024, of which the last is filled up with the first."""
    count = -(-len(numbers) // 1024)
    return np.resize(numbers, (count, 1024))


def to_narrow(dtype, wide):
    if np.dtype(wide).itemsize == 2:  # All numbers.
        return rows(np.arange(65536, dtype=np.uint16).view(wide))
    return rows(around(dtype, wide))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("wide", WIDE)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_conversions_round_once(dtype, wide, form):
    x = to_narrow(dtype, wide)
    if form in CHIPS and len(x) > 8:
        x = np.ascontiguousarray(x[::8])  # The simulator of machine code is slow.
    y = in_memory(np.ones(x.shape, dtype.numpy), dtype)
    run(narrow, [x, y], form, T=dtype)
    same(elements(y, dtype).ravel(), rounded(x.ravel(), dtype))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_conversions_agree_with_ml_dtypes(dtype):
    x = np.concatenate([around(dtype, np.float32), np.arange(65536).astype(np.float32)])
    with np.errstate(all="ignore"):
        expected = x.astype(dtype.numpy).astype(np.float64)
    found = rounded(x, dtype)
    # ml_dtypes gives the 0 for NaN a sign, and does not round subnormal numbers to the
    # nearest power of two.
    differs = np.isnan(x) & (dtype.bits < 8)
    if dtype == tl.e8m0:
        differs |= (x > 0) & (x < 2.0**-126)
    same(found[~differs], expected[~differs])


@tilews.kernel(threads=128)
def narrow_integers(
    X: tl.Tensor["256", tl.i8],
    Y: tl.Tensor["256", "T"],
    Z: tl.Tensor["256", tl.i4],
    U: tl.Tensor["256", tl.u4],
    W: tl.Tensor["256", tl.i4],
    T: tl.constexpr,
):
    tl.grid(1)
    x = tl.load(X)
    Y[:] = x.to(T)
    Z[:] = x.to(tl.i4)
    U[:] = (x.to(tl.f32) * 0.25).to(tl.u4)
    W[:] = (x.to(tl.f32) * 0.25).to(tl.i4)


@pytest.mark.parametrize("form", ELEMENTWISE)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_integers_convert(dtype, form, tmp_path):
    x = np.arange(-128, 128).astype(np.int8)
    y = in_memory(np.ones(256, dtype.numpy), dtype)
    nibbles = [np.zeros(128, np.uint8) for _ in range(3)]
    run(narrow_integers, [x, y, *nibbles], form, tmp_path, T=dtype)
    same(elements(y, dtype), rounded(x, dtype))
    z, u, w = (
        tilews.unpack_elements(array, each)
        for array, each in zip(nibbles, (tl.i4, tl.u4, tl.i4), strict=True)
    )
    np.testing.assert_array_equal(z.astype(int), (x + 8 & 15) - 8)
    quarters = np.trunc(x / 4)
    np.testing.assert_array_equal(u.astype(int), np.clip(quarters, 0, 15))
    np.testing.assert_array_equal(w.astype(int), np.clip(quarters, -8, 7))


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("dtype", (*FLOATS, tl.i4, tl.u4), ids=str)
def test_conversions_assemble(dtype, chip):
    arguments = [np.zeros(128 if dtype.packing > 1 else 256, memory_type(dtype))]
    arguments += [np.zeros((4, 256)), np.zeros((2, 256), np.int32)]
    compiled = widen.compile_for(*arguments, target=chip, T=dtype, N=256)
    assert len(compiled.cubin) > 1000
    if dtype.is_float:
        y = np.zeros((4, 512 if dtype.packing > 1 else 1024), memory_type(dtype))
        x = np.zeros((4, 1024), np.float32)
        assert len(narrow.compile_for(x, y, target=chip, T=dtype).cubin) > 1000


def memory_type(dtype):
    return np.uint8 if dtype.packing > 1 else dtype.numpy


# --- Bits ------------------------------------------------------------------------


@tilews.kernel(threads=128)
def bits(
    X: tl.Tensor["32, 64", tl.i32],
    B: tl.Tensor["32, 256", tl.i8],
    H: tl.Tensor["32, 128", tl.f16],
    N: tl.Tensor["32, 512", tl.u4],
    S: tl.Tensor["32, 256", tl.e3m2],
    L: tl.Tensor["32, 32", tl.i64],
    W: tl.Tensor["5, 32, 64", tl.i32],
):
    tl.grid(1)
    x = tl.load(X)
    small = (x & 0x3F3F3F3F).bitcast(tl.e3m2)
    B[:, :] = x.bitcast(tl.i8)
    H[:, :] = x.bitcast(tl.f16)
    N[:, :] = x.bitcast(tl.u4)
    S[:, :] = small
    L[:, :] = x.bitcast(tl.i64)
    W[0, :, :] = tl.load(B).bitcast(tl.i32)
    W[1, :, :] = tl.load(H).bitcast(tl.i32)
    W[2, :, :] = tl.load(N).bitcast(tl.i32)
    W[3, :, :] = small.bitcast(tl.u8).bitcast(tl.i32)
    W[4, :, :] = tl.load(L).bitcast(tl.i32)


@pytest.mark.parametrize("form", FORMS)
def test_bitcasts_between_widths(form):
    x = RNG.integers(-(2**31), 2**31, (32, 64)).astype(np.int32)
    # A NaN of f16 may change its bits in the interpreter.
    x &= np.int32(0x7BFF7BFF)
    outputs = [
        np.zeros((32, 256), np.int8),
        np.zeros((32, 128), np.float16),
        np.zeros((32, 256), np.uint8),
        np.zeros((32, 256), tl.e3m2.numpy),
        np.zeros((32, 32), np.int64),
        np.zeros((5, 32, 64), np.int32),
    ]
    run(bits, [x, *outputs], form)
    byte, half, nibble, small, long, words = outputs
    np.testing.assert_array_equal(byte, x.view(np.int8))
    np.testing.assert_array_equal(half.view(np.int32), x)
    np.testing.assert_array_equal(nibble, x.view(np.uint8))
    np.testing.assert_array_equal(small.view(np.uint8), x.view(np.uint8) & 63)
    np.testing.assert_array_equal(long, x.view(np.int64))
    for place, found in enumerate(words):
        expected = x & 0x3F3F3F3F if place == 3 else x
        np.testing.assert_array_equal(found, expected)


@tilews.kernel
def odd_bits(X: tl.Tensor["3", tl.i8], Y: tl.Tensor["1", tl.i32]):
    tl.grid(1)
    Y[:] = tl.load(X).bitcast(tl.i32)


@tilews.kernel
def scalar_bits(X: tl.Tensor["4", tl.i8], Y: tl.Tensor["1", tl.i32]):
    tl.grid(1)
    Y[0] = tl.load(X[0]).bitcast(tl.i32)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (odd_bits, "3 elements of i8 along the last dimension are no whole number"),
        (scalar_bits, "cannot read the bits of i8 as i32"),
    ],
)
def test_bitcast_errors(kernel, message):
    with pytest.raises(tilews.KernelError, match=message):
        kernel.compile("sm_80")
