"""Loads that a ``while`` waits for are atomic and acquire."""

import numpy as np
import pytest

import tilews
import tilews.language as tl

AMD = ["cpu", "gfx942", "gfx1100"]


def zeros(count):
    return np.zeros(count, np.int32)


@tilews.kernel
def waits_for_fragment(F: tl.Tensor["8", tl.i32], Y: tl.Tensor["8", tl.i32]):
    """The last block comes first."""
    i = tl.grid(8)
    while tl.sum(tl.load(F[0:8])) < 7 - i.to(tl.i32):
        pass
    Y[i] = tl.sum(tl.load(F[0:8]))
    F[i] = 1


@tilews.kernel
def waits_in_body(F: tl.Tensor["1", tl.i32], Y: tl.Tensor["4", tl.i32]):
    i = tl.grid(4).to(tl.i32)
    x = tl.load(F[0])
    while x < 3 - i:
        x = tl.load(F[0])
    Y[i] = x
    tl.atomic_add(1, F[0], order="release")


@tilews.kernel
def waits_for_loop(F: tl.Tensor["4", tl.i32], Y: tl.Tensor["4", tl.i32]):
    """The loop carries a sum that an inner loop and a conditional compute."""
    i = tl.grid(4)
    count = tl.i32(0)
    while count < 3 - i.to(tl.i32):
        count = tl.i32(0)
        for j in tl.range(4):
            if j != i:
                count += tl.load(F[j])
    Y[i] = count
    tl.atomic_store(1, F[i], order="release")


@pytest.mark.parametrize("target", AMD)
@pytest.mark.parametrize(
    "kernel, flags, count",
    [(waits_for_fragment, 8, 8), (waits_in_body, 1, 4), (waits_for_loop, 4, 4)],
)
def test_blocks_wait_for_others(kernel, flags, count, target):
    y = zeros(count)
    run = {} if target == "cpu" else {"run": "sim"}
    kernel(zeros(flags), y, target=target, **run)
    assert y.tolist() == list(range(count))[::-1]


@pytest.mark.parametrize("kernel", [waits_for_fragment, waits_in_body, waits_for_loop])
def test_ptx_keeps_the_loads(kernel):
    assert "ld.acquire.gpu.global" in kernel.compile("sm_90a").ptx


def test_loads_before_the_loop_acquire():
    assert waits_in_body.mlir().count("tile.atomic_load") == 2


def test_search_in_a_read_array_has_ordinary_loads():
    @tilews.kernel
    def search(A: tl.Tensor["N", tl.i32], x: tl.i32, Y: tl.Tensor["1", tl.i32]):
        tl.grid(1)
        low, high = tl.i32(0), A.shape[0].to(tl.i32)
        while low < high:
            middle = (low + high) // 2
            if tl.load(A[middle]) < x:
                low = middle + 1
            else:
                high = middle
        Y[0] = low

    assert "atomic_load" not in search.mlir()
    y = zeros(1)
    search(np.arange(0, 200, 2, dtype=np.int32), 37, y)
    assert y[0] == 19


def test_a_place_that_changes_in_a_written_buffer():
    @tilews.kernel
    def look_back(F: tl.Tensor["9", tl.i32], Y: tl.Tensor["9", tl.i32]):
        """Goes back while flags are 1, and waits at a 0."""
        i = tl.grid(8).to(tl.i32) + 1
        j, x = i - 1, tl.i32(0)
        while x != 2:
            x = tl.load(F[j])
            if x == 1:
                j -= 1
        Y[i] = j
        tl.atomic_store(2, F[i])

    assert look_back.mlir().count("tile.atomic_load") == 1
    flags, y = zeros(9), zeros(9)
    flags[0] = 2
    look_back(flags, y)
    assert y.tolist() == [0, *range(8)]


def test_loads_that_cannot_be_atomic_are_refused():
    @tilews.kernel
    def kernel(F: tl.Tensor["8", tl.i32], n: tl.i32):
        tl.grid(2)
        while tl.sum(tl.load(F[0:8], mask=tl.arange(8) < n)) < 3:
            pass

    with pytest.raises(tilews.KernelError, match="the loop waits for this load") as got:
        kernel.mlir()
    assert "tl.atomic_load" in got.value.hint
    assert "mask=" in str(got.value)


def test_data_of_the_loop_itself_are_no_wait():
    @tilews.kernel
    def halve(X: tl.Tensor["64", tl.f32], Y: tl.Tensor["1", tl.i32]):
        tl.grid(1)
        x, steps = tl.load(X), tl.i32(0)
        while tl.max(x) > 1.0:
            x = x * 0.5
            steps += 1
        Y[0] = steps

    assert "atomic_load" not in halve.mlir()
