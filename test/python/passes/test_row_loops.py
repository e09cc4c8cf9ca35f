"""Loops that fill shared memory row by row: their barriers under all timings."""

import numpy as np
import pytest

import tilews
import tilews.language as tl
from support.simulating import PHASES, TIMINGS, run_passes
from support.verifying import verify
from tilews import sim

RNG = np.random.default_rng(3)


@tilews.kernel(threads=64)
def rows(
    A: tl.Tensor["V, 64", tl.f16],
    Ids: tl.Tensor["N", tl.i32],
    Y: tl.Tensor["N, 64", tl.f16],
):
    """Y[n, :] = A[Ids[n], :], for blocks of 8 rows."""
    S = tl.alloc_shared((8, 64), tl.f16)
    for n in tl.range(tl.cdiv(Y.shape[0], 8)):
        for r in tl.range(8):
            tl.copy(A[tl.load(Ids[n * 8 + r]), 0:64], S[r, 0:64])
        Y[n * 8, 0] = tl.load(S)


@tilews.kernel(threads=64)
def running(A: tl.Tensor["16, 64", tl.f32], Y: tl.Tensor["16, 64", tl.f32]):
    """Each row is added to the one before it, which another iteration stored."""
    S = tl.alloc_shared((17, 64), tl.f32)
    tl.store(tl.zeros((1, 64), tl.f32), S[0, 0])
    for r in tl.range(16):
        before = tl.load(S[r, 0], (1, 64))
        tl.store(before + tl.load(A[r, 0], (1, 64)), S[r + 1, 0])
    Y[0, 0] = tl.load(S[1, 0], (16, 64))


@tilews.kernel(threads=64)
def turned(A: tl.Tensor["16, 64", tl.f32], Y: tl.Tensor["16, 64", tl.f32]):
    """Stores rows, and in the same loop reads the column that has the row's number."""
    S = tl.alloc_shared((16, 64), tl.f32)
    tl.store(tl.zeros((16, 64), tl.f32), S)
    for r in tl.range(16):
        tl.store(tl.load(A[r, 0], (1, 64)), S[r, 0])
        Y[0:16, r : r + 1] = tl.load(S[0:16, r : r + 1])


def simulate(module, arguments, written):
    for timing in TIMINGS:
        found = [np.copy(x) for x in arguments]
        sim.run(module, None, found, **timing)
        yield found[written]


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "gfx942"])
def test_rows_are_copied_without_a_barrier_for_each(target):
    module = run_passes(rows.build(target), PHASES["barriers"])
    # One before the inner loop and one after it.
    assert str(module).count("tile.barrier") == 2
    a = RNG.standard_normal((20, 64)).astype(np.float16)
    ids = RNG.integers(0, 20, 24).astype(np.int32)
    y = np.zeros((24, 64), np.float16)
    for found in simulate(module, [a, ids, y], 2):
        np.testing.assert_array_equal(found, a[ids])
    verify(module, "barriers")


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "gfx942"])
def test_rows_that_iterations_share_have_barriers(target):
    a = RNG.integers(-9, 9, (16, 64)).astype(np.float32)
    y = np.zeros_like(a)
    columns = np.zeros_like(a)
    for r in range(16):
        columns[: r + 1, r] = a[: r + 1, r]
    for kernel, wanted in ((running, np.cumsum(a, 0)), (turned, columns)):
        module = run_passes(kernel.build(target), PHASES["barriers"])
        for found in simulate(module, [a, y], 1):
            np.testing.assert_array_equal(found, wanted)


def test_the_remark_names_the_loop():
    (remark,) = [
        message
        for message in rows.compile("sm_90a").messages
        if "tile-inst-0004" in message
    ]
    assert "each iteration copies 64 elements with 8 of 64 threads" in remark
    assert "tl.copy(A[ids, 0:64], S)" in remark
