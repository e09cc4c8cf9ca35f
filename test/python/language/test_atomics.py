"""Atomic accesses, their old values, and blocks that wait for each other."""

import ml_dtypes
import numpy as np
import pytest

import tilews
import tilews.language as tl
from kernels.cooperating import atomic_updates
from tilews import ir, sim

RNG = np.random.default_rng(7)


def zeros(*shape, dtype=np.int32):
    return np.zeros(shape, dtype)


# ===--- Old values ---=== #


@pytest.mark.parametrize("shape", [(8, 16), (5, 13)])
@pytest.mark.parametrize("name", atomic_updates.UPDATES)
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32])
def test_old_values(name, dtype, shape):
    ours, numpy = atomic_updates.UPDATES[name]
    if name in ("and", "or", "xor") and dtype == np.float32:
        return  # Bitwise updates take integers.
    x, y = (RNG.integers(-99, 99, shape).astype(dtype) for _ in range(2))
    before, old = y.copy(), np.full((8, 16), 7, dtype)
    atomic_updates.update(x, y, old, F=ours)
    inside = tuple(slice(extent) for extent in shape)
    expected = np.zeros((8, 16), dtype)
    expected[inside] = before
    np.testing.assert_array_equal(old, expected)
    np.testing.assert_array_equal(y, numpy(before, x))


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float16])
def test_compare_and_swap(dtype):
    expected, x = (RNG.integers(0, 3, 32).astype(dtype) for _ in range(2))
    y = RNG.integers(0, 3, 32).astype(dtype)
    if np.issubdtype(dtype, np.floating):
        # The bits decide: -0 is not 0, a NaN is itself.
        expected[:2], y[:2] = 0.0, -0.0
        expected[2:4], y[2:4] = np.nan, np.nan
    bits = f"u{np.dtype(dtype).itemsize}"
    before, old = y.copy(), np.zeros(32, dtype)
    atomic_updates.swap(expected, x, y, old)
    wanted = np.where(expected.view(bits) == before.view(bits), x, before)
    np.testing.assert_array_equal(old.view(bits), before.view(bits))
    np.testing.assert_array_equal(y.view(bits), wanted.view(bits))


def test_scalars():
    c, old = np.array([1, 2, 3, 4], np.int32), zeros(4)
    atomic_updates.scalars(c, old)
    assert c.tolist() == [11, 2, 9, 4]
    assert old.tolist() == [1, 6, 3, 2]


def test_shared_memory():
    x, counts = RNG.integers(0, 99, 256).astype(np.int32), zeros(16)
    atomic_updates.in_shared_memory(x, counts)
    np.testing.assert_array_equal(counts, np.bincount(x & 15, minlength=16))


def test_an_unused_result_is_not_made():
    @tilews.kernel(threads=64)
    def kernel(C: tl.Tensor["4", tl.i32]):
        tl.grid(1)
        tl.atomic_add(5, C[0])
        tl.atomic_add(tl.full((4,), 1, tl.i32), C)
        tl.atomic_store(5, C[1], order="release")

    text = kernel.mlir()
    assert text.count("tile.atomic_rmw") == 3
    assert "->" not in "".join(
        line for line in text.splitlines() if "atomic_rmw" in line
    )
    assert "tensor.extract" not in text


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: tl.atomic_add(1, c[0], order="seq_cst"), "expected order 'relaxed'"),
        (lambda c: tl.atomic_add(1, c[0], scope="gpu"), "expected scope 'block'"),
        (lambda c: tl.atomic_load(c[0], order="release"), "a load releases nothing"),
        (lambda c: tl.atomic_store(1, c[0], order="acquire"), "expected order"),
        (
            lambda c: tl.load(c[0], order="release"),
            "a load releases nothing",
        ),
        (lambda c: tl.load(c[0], scope="gpu"), "tl.load: expected scope 'block'"),
        (
            lambda c: tl.load(c[0:4], order="acquire", pad=1),
            "has no padding and no mask",
        ),
        (lambda c: tl.store(1, c[0], order="acquire"), "tl.store: expected order"),
        (lambda c: tl.store(1.5, c[0], order="release"), "is not an integer"),
        (lambda c: tl.fence(order="relaxed"), "expected order 'acquire'"),
        (lambda c: tl.atomic_load(c), "known only at launch"),
        (lambda c: tl.atomic_cas(1.5, 2, c[0]), "is not an integer"),
    ],
)
def test_wrong_arguments(call, message):
    @tilews.kernel(threads=64)
    def kernel(C: tl.Tensor["N", tl.i32], F: tl.constexpr):
        tl.grid(1)
        F(C)

    with pytest.raises(tilews.CompileError, match=message):
        kernel(zeros(4), F=call)


def test_ordered_loads_and_stores_are_atomic():
    @tilews.kernel(threads=64)
    def kernel(C: tl.Tensor["N", tl.i32], D: tl.Tensor["8", tl.i32]):
        tl.grid(1)
        x = tl.load(C[2], (4,), order="acquire", scope="system")
        even = tl.arange(4) % 2 == 0
        tl.store(x + tl.load(C[0], order="acquire"), D[0:4], order="release", mask=even)
        tl.store(tl.load(C[1], scope="block"), D[5], scope="device")
        tl.store(7, D[6:8], order="relaxed")

    text = kernel.mlir()
    for expected in (
        "tile.atomic_load %arg0[2] {order = #tile.order<acquire>, "
        "scope = #tile.scope<system>}",
        "order = #tile.order<release>",
        "scope = #tile.scope<device>",
    ):
        assert expected in text
    assert text.count("atomic_load") == 3 and "tile.store" not in text
    assert "memref.store" not in text
    c, d = np.arange(10, 15, dtype=np.int32), zeros(8)
    kernel(c, d)
    assert d.tolist() == [22, 0, 24, 0, 0, 11, 7, 7]
    for chip in ("sm_80", "gfx942"):
        kernel.compile(chip)


# ===--- Blocks that wait ---=== #


def test_tickets():
    order = zeros(50)
    atomic_updates.tickets(zeros(1), order)
    assert sorted(order) == list(range(1, 51))


def test_lock():
    x, total = RNG.integers(-9, 9, (33, 256)).astype(np.int32), zeros(256)
    atomic_updates.locked_sum(zeros(1), x, total)
    np.testing.assert_array_equal(total, x.sum(axis=0))


@pytest.mark.parametrize("n", [1, 64, 65, 1000])
def test_lookback_scan(n):
    x, y = RNG.integers(-9, 9, n).astype(np.int32), zeros(n)
    blocks = -(-n // 64)
    atomic_updates.lookback_scan(x, y, zeros(blocks, 3), zeros(1), BLOCK=64)
    np.testing.assert_array_equal(y, np.cumsum(x))


@pytest.mark.parametrize("blocks", [1, 2, 40])
def test_grid_barrier(blocks):
    x = RNG.standard_normal((blocks, 128)).astype(np.float32)
    y = np.zeros_like(x)
    atomic_updates.grid_barrier(zeros(1), x, y)
    np.testing.assert_array_equal(y, 2 * np.roll(x, -1, axis=0))


def test_blocks_that_wait_for_ever():
    @tilews.kernel(threads=64)
    def kernel(F: tl.Tensor["1", tl.i32]):
        tl.grid(3)
        while tl.load(F[0]) < 1:
            pass

    with pytest.raises(sim.SimulationError, match="no block changes memory any more"):
        kernel(zeros(1))


def test_a_wait_that_gives_up_ends():
    @tilews.kernel(threads=64)
    def kernel(F: tl.Tensor["1", tl.i32], Tries: tl.Tensor["2", tl.i32]):
        block = tl.grid(2)
        tries = 0
        while (tl.atomic_load(F[0]) == 0) & (tries < 1000):
            tries += 1
        tl.store(tries, Tries[block])

    tries = zeros(2)
    kernel(zeros(1), tries)
    assert tries.tolist() == [1000, 1000]


def test_an_error_of_one_block_is_not_hidden_by_those_that_wait():
    @tilews.kernel(threads=64)
    def kernel(F: tl.Tensor["1", tl.i32], X: tl.Tensor["4", tl.i32]):
        block = tl.grid(2)
        if block == 0:
            while tl.load(F[0]) < 1:
                pass
        else:
            tl.store(tl.load(X[9 * block]), F[0])

    with pytest.raises(sim.SimulationError, match="out of bounds"):
        kernel(zeros(1), zeros(4))


def test_conditions_on_elements_below_a_byte_are_ordinary():
    @tilews.kernel(threads=64)
    def kernel(X: tl.Tensor["4", tl.i4], N: tl.i32, Out: tl.Tensor["1", tl.i32]):
        tl.grid(1)
        i = 0
        while (i < N) & (tl.load(X[2]).to(tl.i32) == 3):
            i += 1
        tl.store(i, Out[0])

    out = zeros(1)
    kernel(tilews.pack_elements(np.array([1, 2, 3, 4], ml_dtypes.int4)), 5, out)
    assert out[0] == 5


def test_a_large_grid_keeps_no_threads():
    # More than the threads, with their stacks, that a process can have at a time.
    @tilews.kernel(threads=32)
    def kernel(F: tl.Tensor["1", tl.i32], N: tl.i32):
        tl.grid(N)
        while tl.load(F[0]) < 0:
            pass
        tl.atomic_add(1, F[0])

    count = zeros(1)
    kernel(count, 50_000)
    assert count[0] == 50_000


def test_a_changing_index_in_a_condition_is_no_wait():
    @tilews.kernel(threads=64)
    def kernel(X: tl.Tensor["N", tl.i32], Out: tl.Tensor["1", tl.i32]):
        tl.grid(1)
        i = 0
        while tl.load(X[i]) < 50:
            i += 1
        tl.store(i, Out[0])

    x, out = np.arange(100, dtype=np.int32), zeros(1)
    text = kernel.mlir()
    assert "atomic_load" not in text
    kernel(x, out)
    assert out[0] == 50


@pytest.mark.parametrize("policy", ["worst", "exhaustive"])
def test_searches_run_blocks_alone(policy):
    flags, rows = zeros(1), np.zeros((2, 128), np.float32)
    text = atomic_updates.grid_barrier.mlir()
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        with pytest.raises(sim.SimulationError, match="a search runs each block alone"):
            sim.run(module, None, [flags, rows, rows.copy()], policy=policy)
