"""Atomic updates and blocks that wait for each other, on a GPU."""

import numpy as np
import pytest

from kernels.cooperating import atomic_updates
from runtime.gpu_arrays import has_nvidia_gpu

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not has_nvidia_gpu(), reason="needs a GPU")

RNG = np.random.default_rng(11)


def on_gpu(*arrays):
    return [torch.from_numpy(array).cuda() for array in arrays]


def zeros(*shape, dtype=torch.int32):
    return torch.zeros(shape, dtype=dtype, device="cuda")


@pytest.mark.parametrize("shape", [(8, 16), (5, 13)])
@pytest.mark.parametrize("name", atomic_updates.UPDATES)
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32])
def test_old_values(name, dtype, shape):
    if name in ("and", "or", "xor") and dtype == np.float32:
        return  # Bitwise updates take integers.
    ours, numpy = atomic_updates.UPDATES[name]
    x, y = (RNG.integers(-99, 99, shape).astype(dtype) for _ in range(2))
    before, old = y.copy(), np.full((8, 16), 7, dtype)
    tensors = on_gpu(x, y, old)
    atomic_updates.update(*tensors, F=ours)
    expected = np.zeros((8, 16), dtype)
    expected[: shape[0], : shape[1]] = before
    np.testing.assert_array_equal(tensors[2].cpu().numpy(), expected)
    np.testing.assert_array_equal(tensors[1].cpu().numpy(), numpy(before, x))


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float16])
def test_compare_and_swap(dtype):
    expected, x, y = (RNG.integers(0, 3, 32).astype(dtype) for _ in range(3))
    tensors = on_gpu(expected, x, y, np.zeros(32, dtype))
    atomic_updates.swap(*tensors)
    np.testing.assert_array_equal(tensors[3].cpu().numpy(), y)
    wanted = np.where(expected == y, x, y)
    np.testing.assert_array_equal(tensors[2].cpu().numpy(), wanted)


def test_scalars_and_shared_memory():
    c, old = torch.tensor([1, 2, 3, 4], dtype=torch.int32, device="cuda"), zeros(4)
    atomic_updates.scalars(c, old)
    assert c.tolist() == [11, 2, 9, 4]
    assert old.tolist() == [1, 6, 3, 2]
    x, counts = RNG.integers(0, 99, 256).astype(np.int32), zeros(16)
    atomic_updates.in_shared_memory(*on_gpu(x), counts)
    np.testing.assert_array_equal(
        counts.cpu().numpy(), np.bincount(x & 15, minlength=16)
    )


def test_tickets_and_lock():
    order = zeros(5000)
    atomic_updates.tickets(zeros(1), order)
    assert sorted(order.tolist()) == list(range(1, 5001))
    x, total = RNG.integers(-9, 9, (333, 256)).astype(np.int32), zeros(256)
    atomic_updates.locked_sum(zeros(1), *on_gpu(x), total)
    np.testing.assert_array_equal(total.cpu().numpy(), x.sum(axis=0))


@pytest.mark.parametrize("n", [1, 64, 65, 1000, 1_000_003])
def test_lookback_scan(n):
    x, y = RNG.integers(-9, 9, n).astype(np.int32), zeros(n)
    for block in (64, 1024):
        blocks = -(-n // block)
        atomic_updates.lookback_scan(
            *on_gpu(x), y, zeros(blocks, 3), zeros(1), BLOCK=block
        )
        np.testing.assert_array_equal(y.cpu().numpy(), np.cumsum(x))


@pytest.mark.parametrize("blocks", [1, 2, 100])
def test_grid_barrier(blocks):
    x = RNG.standard_normal((blocks, 128)).astype(np.float32)
    for _ in range(20):
        y = zeros(blocks, 128, dtype=torch.float32)
        atomic_updates.grid_barrier(zeros(1), *on_gpu(x), y)
        np.testing.assert_array_equal(y.cpu().numpy(), 2 * np.roll(x, -1, axis=0))
