"""Types of at most 8 bits: conversions of all codes, and two elements in a byte."""

import ml_dtypes
import numpy as np
import pytest

import tilews
import tilews.language as tl
from amdgcn.launch import launch
from support.llvm_on_cpu import KernelOnCpu
from support.small_types import FLOATS, NIBBLES, around, codes, rounded, same
from tilews import ir, sim

RNG = np.random.default_rng(7)
CHIPS = ("gfx942", "gfx950", "gfx1100")
#: Where a kernel runs: the interpreter, the simulator of phase 4, AMD's machine code.
FORMS = ("cpu", "barriers", *CHIPS)
#: Also NVIDIA's LLVM IR, for kernels whose threads do not exchange anything.
ELEMENTWISE = (*FORMS, "llvm")
WIDE = (np.float64, np.float32, np.float16, ml_dtypes.bfloat16)


def run(kernel, arguments, form, folder=None, **constants):
    """Runs a kernel in one of its forms; arrays are changed in place."""
    if form == "cpu":
        kernel(*arguments, **constants)
        return
    chip = {"barriers": "sm_90a", "llvm": "sm_80"}.get(form, form)
    compiled = kernel.compile_for(*arguments, target=chip, **constants)
    if form == "barriers":
        with ir.Context():
            sim.run(ir.Module.parse(compiled.mlir("barriers")), None, arguments)
    elif form == "llvm":
        KernelOnCpu(compiled.llvm, kernel.__name__, folder)(128, arguments)
    else:
        launch(compiled, arguments)


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


def in_memory(array, dtype):
    return tilews.pack_elements(array) if dtype.packing > 1 else array


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


def elements(array, dtype):
    return tilews.unpack_elements(array, dtype) if dtype.packing > 1 else array


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


# --- Two elements in a byte --------------------------------------------------------


@tilews.kernel(threads=128)
def moved(
    A: tl.Tensor["M, K", "T"],
    B: tl.Tensor["M, K", "T"],
    C: tl.Tensor["M, K", tl.f32],
    E: tl.Tensor["4, 32", tl.f32],
    ids: tl.Tensor["32", tl.i32],
    place: tl.i32,
    T: tl.constexpr,
):
    i = tl.grid(tl.cdiv(A.shape[0], 32)) * 32
    shared = tl.alloc_shared((32, 64), T)
    for k in tl.range(0, A.shape[1], 64):
        tl.copy(A[i, k], shared)
        x = tl.load(shared)
        tl.store(x, B[i, k])
        tl.store(x.to(tl.f32), C[i, k])
    E[0, :] = tl.load(A[0:32, place]).to(tl.f32)
    E[1, :] = tl.load(A[0:32, 3]).to(tl.f32)
    E[2, :] = tl.load(A[tl.load(ids), 2:4])[:, 1].to(tl.f32)
    E[3, 0] = tl.load(A[1, place]).to(tl.f32)
    E[3, 1] = tl.load(A[2, 6]).to(tl.f32)


def random_elements(shape, dtype):
    return RNG.choice(codes(dtype), shape)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", NIBBLES, ids=str)
def test_memory(dtype, form):
    a = random_elements((41, 100), dtype)
    packed = tilews.pack_elements(a)
    b, c = np.zeros_like(packed), np.zeros((41, 100), np.float32)
    e, ids = np.zeros((4, 32), np.float32), RNG.permutation(40)[:32].astype(np.int32)
    run(moved, [packed, b, c, e, ids, 7], form, T=dtype)
    np.testing.assert_array_equal(b, packed)
    wide = a.astype(np.float32)
    np.testing.assert_array_equal(c, wide)
    np.testing.assert_array_equal(e[0], wide[:32, 7])
    np.testing.assert_array_equal(e[1], wide[:32, 3])
    np.testing.assert_array_equal(e[2], wide[ids, 3])
    np.testing.assert_array_equal(e[3, :2], [wide[1, 7], wide[2, 6]])


@tilews.kernel(threads=128)
def guarded(
    A: tl.Tensor["M, 64", tl.i4],
    B: tl.Tensor["M, 64", tl.i4],
    C: tl.Tensor["5, 16, 64", tl.i32],
    n: tl.i32,
):
    tl.grid(1)
    columns = tl.arange(64)
    mask = (columns % 3 != 0)[None, :] & (tl.arange(16) < 9)[:, None]
    C[0, :, :] = tl.load(A[0:16, :], mask=mask, pad=-3).to(tl.i32)
    C[1, :, :] = tl.load(A[4, 0], (16, 64), pad=5).to(tl.i32)
    C[2, :, :] = tl.load(A[2 : 2 + n, :], (16, 64)).to(tl.i32)
    C[3, :, :] = tl.load(A[0:16, 2 : 2 + n], (16, 64)).to(tl.i32)
    tl.store(tl.load(A[0:16, :]), B[1 : 1 + n, :])
    C[4, :, :] = tl.load(tl.view(A_shared(A), (16, 64))).to(tl.i32)


@tilews.func
def A_shared(A):
    shared = tl.alloc_shared((32, 32), A.dtype)
    tl.copy(A[0:16, :], tl.view(shared, (16, 64)))
    return shared


@pytest.mark.parametrize("form", FORMS)
def test_masks_and_sizes(form):
    a = random_elements((18, 64), tl.i4)
    wide = a.astype(np.int32)
    packed = tilews.pack_elements(a)
    b, c = np.zeros_like(packed), np.zeros((5, 16, 64), np.int32)
    run(guarded, [packed, b, c, 7], form)
    mask = (np.arange(64) % 3 != 0)[None, :] & (np.arange(16) < 9)[:, None]
    np.testing.assert_array_equal(c[0], np.where(mask, wide[:16], -3))
    window = np.full((16, 64), 5)
    window[:14] = wide[4:18]
    np.testing.assert_array_equal(c[1], window)
    rows_ = np.where(np.arange(16)[:, None] < 7, wide[2:18], 0)
    np.testing.assert_array_equal(c[2], rows_)
    columns = np.zeros((16, 64), int)
    columns[:, :7] = wide[:16, 2:9]
    np.testing.assert_array_equal(c[3], columns)
    stored = np.zeros_like(packed)
    stored[1:8] = packed[:7]
    np.testing.assert_array_equal(b, stored)
    np.testing.assert_array_equal(c[4], wide[:16])


@tilews.kernel(threads=128)
def dequantized_product(
    A: tl.Tensor["M, K:128", tl.f16],
    B: tl.Tensor["N, K:128", "T"],
    S: tl.Tensor["N, K32", tl.e8m0],
    C: tl.Tensor["M, N", tl.f32],
    T: tl.constexpr,
):
    i, j = tl.grid(tl.cdiv(A.shape[0], 64), tl.cdiv(B.shape[0], 64))
    acc = tl.zeros((64, 64), tl.f32)
    a, b = tl.alloc_shared((64, 64), tl.f16), tl.alloc_shared((64, 64), T)
    for k in tl.range(0, A.shape[1], 64, num_stages=2):
        tl.copy(A[i * 64, k], a)
        tl.copy(B[j * 64, k], b)
        scales = tl.load(S[j * 64, k // 32], (64, 2)).to(tl.f16)
        numbers = tl.load(b).to(tl.f16).reshape(64, 2, 32) * scales[:, :, None]
        acc = tl.gemm(a, numbers.reshape(64, 64), acc, transpose_rhs=True)
    C[i * 64, j * 64] = acc


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [tl.i4, tl.e2m1], ids=str)
def test_products_of_dequantized_elements(dtype, form):
    a = RNG.integers(-2, 3, (64, 128)).astype(np.float16)
    b = random_elements((64, 128), dtype)
    scales = np.exp2(RNG.integers(-1, 3, (64, 4))).astype(tl.e8m0.numpy)
    c = np.zeros((64, 64), np.float32)
    run(dequantized_product, [a, tilews.pack_elements(b), scales, c], form, T=dtype)
    numbers = b.astype(np.float32) * np.repeat(scales.astype(np.float32), 32, 1)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ numbers.T)


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
def test_products_assemble(chip):
    for dtype in (tl.i4, tl.e2m1):
        compiled = dequantized_product.compile(chip, T=dtype)
        assert len(compiled.cubin) > 1000
        assert "cp.async" in compiled.ptx
        # No conversion instructions, which have a quarter of the rate.
        assert "cvt.rn.f16.s" not in compiled.ptx
        assert ".local" not in compiled.ptx


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


# --- Errors ------------------------------------------------------------------------


@tilews.kernel
def odd_place(A: tl.Tensor["4, 64", tl.i4], n: tl.i32):
    tl.grid(1)
    tl.store(tl.load(A[0, n : n + 2]), A[1, 0:2])


@tilews.kernel
def odd_size(A: tl.Tensor["4, 64", tl.i4]):
    tl.grid(1)
    tl.store(tl.load(A[0, 0:3]), A[1, 0:3])


@tilews.kernel
def one_element(A: tl.Tensor["4, 64", tl.i4]):
    tl.grid(1)
    A[0, 0] = 3


@tilews.kernel
def masked_store(A: tl.Tensor["4, 64", tl.i4]):
    tl.grid(1)
    tl.store(tl.load(A), A, mask=(tl.arange(64) < 3)[None, :])


@tilews.kernel
def updated(A: tl.Tensor["64", tl.u4]):
    tl.grid(1)
    tl.atomic_add(1, A[0:4])


@tilews.kernel
def columns(A: tl.Tensor["4, 64", tl.i4]):
    tl.grid(1)
    tl.store(tl.load(A[0, tl.arange(8)]), A[1, 0:8])


@tilews.kernel(threads=128)
def direct_product(A: tl.Tensor["64, 64", tl.i4], C: tl.Tensor["64, 64", tl.i32]):
    tl.grid(1)
    a = tl.alloc_shared((64, 64), tl.i4)
    tl.copy(A, a)
    C[:, :] = tl.gemm(a, a)


@tilews.kernel
def odd_extent(A: tl.Tensor["4, 63", tl.i4]):
    tl.grid(1)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (odd_place, "a place along the last dimension is even; found a scalar"),
        (odd_size, "the last extent is even; found shape"),
        (one_element, "a single element of i4 is half of a byte"),
        (masked_store, "could split a byte of two elements of i4"),
        (updated, "elements of u4 share a byte with others"),
        (columns, "indices along the last dimension"),
        (direct_product, "lhs has elements of i4, which are no factors"),
        (odd_extent, "'A': two elements of i4 share a byte"),
    ],
)
def test_errors(kernel, message):
    with pytest.raises(tilews.KernelError, match=message):
        kernel.compile("sm_80")


def test_unpacked_arrays():
    a = np.zeros((4, 64), ml_dtypes.int4)
    with pytest.raises(tilews.runtime.LaunchError, match="see tilews"):
        one_element_free(a)


@tilews.kernel
def one_element_free(A: tl.Tensor["4, 64", tl.i4]):
    tl.grid(1)


@pytest.mark.parametrize("dtype", NIBBLES, ids=str)
def test_packing(dtype):
    array = random_elements((3, 10), dtype)
    packed = tilews.pack_elements(array)
    assert packed.shape == (3, 5) and packed.dtype == np.uint8
    np.testing.assert_array_equal(tilews.unpack_elements(packed, dtype), array)
    with pytest.raises(tilews.errors.LanguageError, match="an even last extent"):
        tilews.pack_elements(array[:, :3])
    with pytest.raises(tilews.errors.LanguageError, match="expected bytes"):
        tilews.unpack_elements(packed, tl.i8)
