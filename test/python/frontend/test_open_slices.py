"""A slice ``:`` of a run-time extent has the size of the other side."""

import numpy as np
import pytest

import tilews
import tilews.language as tl

TARGETS = ["cpu", "gfx942", "gfx1100"]
X = np.arange(100 * 48, dtype=np.float32).reshape(100, 48)


def launch(kernel, target, *arguments):
    kernel(*arguments, target=target, **({} if target == "cpu" else {"run": "sim"}))


@tilews.kernel
def parts(
    X: tl.Tensor["M, N", tl.f32], s: tl.i32, n: tl.i32, Y: tl.Tensor["64, 64", tl.f32]
):
    tl.grid(1)
    Y[0, 0] = tl.load(X[s : s + n, :], (64, 64), pad=-1.0)


@tilews.kernel
def copies(
    X: tl.Tensor["M, N", tl.f32], i: tl.i32, n: tl.i32, Y: tl.Tensor["M, N", tl.f32]
):
    tl.grid(1)
    S = tl.alloc_shared((32, 64), tl.f32)
    tl.copy(X[i : i + n, :], S)
    tl.copy(S, Y[i : i + n, :])


@tilews.kernel
def rows(X: tl.Tensor["M, N", tl.f32], Y: tl.Tensor["M, N", tl.f32]):
    i = tl.grid(X.shape[0])
    row = tl.load(X[i, :], (64,))
    Y[i, :] = row + 1
    tl.atomic_add(row, Y[i, :])


@tilews.kernel
def rest(X: tl.Tensor["N", tl.f32], s: tl.i32, Y: tl.Tensor["64", tl.f32]):
    tl.grid(1)
    Y[0] = tl.load(X[s:], (64,), pad=-1.0)


@pytest.mark.parametrize("target", TARGETS)
def test_loads_and_copies(target):
    y = np.zeros((64, 64), np.float32)
    launch(parts, target, X, 5, 40, y)
    expected = np.full_like(y, -1)
    expected[:40, :48] = X[5:45]
    np.testing.assert_array_equal(y, expected)

    y = np.zeros_like(X)
    launch(copies, target, X, 90, 20, y)
    expected = np.zeros_like(X)
    expected[90:] = X[90:]
    np.testing.assert_array_equal(y, expected)

    y = np.zeros_like(X)
    launch(rows, target, X, y)
    np.testing.assert_array_equal(y, 2 * X + 1)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("start", [0, 10, 60, 99, 200, -3])
def test_the_rest_from_a_place(start, target):
    x, y = X.ravel()[:100].copy(), np.zeros(64, np.float32)
    launch(rest, target, x, start, y)
    expected = np.full(64, -1, np.float32)
    if start >= 0:
        part = x[start : start + 64]
        expected[: part.size] = part
    np.testing.assert_array_equal(y, expected)


def test_the_same_code_as_with_the_size():
    @tilews.kernel
    def copy(X: tl.Tensor["M, N", tl.f32], n: tl.i32, sized: tl.constexpr):
        tl.grid(1)
        S = tl.alloc_shared((32, 64), tl.f32)
        if sized:
            tl.copy(X[0:n, 0:64], S)
        else:
            tl.copy(X[0:n, :], S)

    first, second = (copy.mlir(sized=sized) for sized in (True, False))
    assert first == second


def test_elements_of_four_bits():
    @tilews.kernel
    def kernel(X: tl.Tensor["M, N:2", tl.i4], Y: tl.Tensor["16, 64", tl.i32]):
        tl.grid(1)
        Y[0, 0] = tl.load(X[0, :], (64,)).to(tl.i32).broadcast_to((16, 64))

    x = np.arange(3 * 24, dtype=np.uint8).reshape(3, 24)
    y = np.zeros((16, 64), np.int32)
    kernel(x, y)
    low, high = x[0] & 15, x[0] >> 4
    codes = np.stack([low, high], 1).ravel().astype(np.int32)
    assert y[0].tolist() == [*np.where(codes > 7, codes - 16, codes), *[0] * 16]


def refuses(kernel, message, hint):
    with pytest.raises(tilews.KernelError, match=message) as error:
        kernel.mlir()
    assert hint in error.value.hint


def test_no_side_has_a_size():
    @tilews.kernel
    def load(X: tl.Tensor["M, N", tl.f32], n: tl.i32):
        tl.load(X[0:n, :])

    @tilews.kernel
    def copy(X: tl.Tensor["M, N", tl.f32], Y: tl.Tensor["M, N", tl.f32]):
        tl.copy(X[0, :], Y[0, :])

    @tilews.kernel
    def gather(X: tl.Tensor["M, N", tl.f32]):
        tl.load(X[tl.arange(8), :])

    refuses(load, "size of the region is known only", "the fragment's shape")
    refuses(copy, "both regions have sizes", "whole buffer")
    refuses(gather, "indices or a run-time size, not both", "A[ids, 0:64]")


def test_a_part_of_a_vector_in_memory_is_no_index():
    @tilews.kernel
    def part(X: tl.Tensor["M, 64", tl.f32], Ids: tl.Tensor["N", tl.i32], m: tl.i32):
        tl.load(X[Ids[m : m + 64], 0:64])

    @tilews.kernel
    def ragged(X: tl.Tensor["M, 64", tl.f32], Ids: tl.Tensor["N", tl.i32], m: tl.i32):
        tl.load(X[Ids[0:m], 0:64])

    @tilews.kernel
    def row(X: tl.Tensor["M, 64", tl.f32], Ids: tl.Tensor["N, 8", tl.i32], m: tl.i32):
        tl.load(X[Ids[m, :], 0:64])

    message = "an index has to be an integer scalar or a slice"
    refuses(part, message, "tl.load(Ids[i:i + 64])")
    refuses(ragged, message, "tl.load(Ids[i:i + n], (64,))")
    refuses(row, message, "load the region with the indices first")
