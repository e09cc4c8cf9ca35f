"""Elements of 4 bits, of which two share a byte: accesses, masks, sizes, errors."""

import ml_dtypes
import numpy as np
import pytest

import tilews
import tilews.language as tl
from support.small_types import FORMS, NIBBLES, codes, run

RNG = np.random.default_rng(7)


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


@tilews.kernel
def pairs(A: tl.Tensor["4, 64", tl.i4], C: tl.Tensor["4", tl.i32]):
    tl.grid(1)
    C[:] = tl.load(A[tl.arange(4), tl.arange(4) * 3]).to(tl.i32)


@tilews.kernel
def one_column(A: tl.Tensor["4, 64", tl.i4], C: tl.Tensor["1", tl.i32]):
    tl.grid(1)
    C[:] = tl.load(A[2, tl.arange(1) + 7]).to(tl.i32)


@tilews.kernel
def numbers_as_mask(A: tl.Tensor["4, 64", tl.i4], C: tl.Tensor["4, 64", tl.i32]):
    tl.grid(1)
    C[:, :] = tl.load(A, mask=tl.arange(64)).to(tl.i32)


@tilews.kernel
def mask_of_rank_3(A: tl.Tensor["4, 64", tl.i4], C: tl.Tensor["4, 64", tl.i32]):
    tl.grid(1)
    C[:, :] = tl.load(A, mask=(tl.arange(64) < 3)[None, None, :]).to(tl.i32)


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
        (pairs, "indices along the last dimension"),
        (one_column, "indices along the last dimension"),
        (numbers_as_mask, "tl.load: expected a mask of i1, found a fragment"),
        (mask_of_rank_3, r"shape \(1, 1, 64\) does not fit .* shape \(4, 64\)"),
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
