"""Atomic updates as machine code of AMD's chips, against the interpreter.

The simulator runs one block after the other, so blocks find what they wait for.
"""

import numpy as np
import pytest

from kernels.cooperating import atomic_updates
from tilews.sim.amdgcn import launch

CHIPS = ("gfx942", "gfx950", "gfx1100")
RNG = np.random.default_rng(3)


def compare(kernel, arguments, chip, **constants):
    """Runs a kernel by the interpreter and as machine code of a chip."""
    expected = [argument.copy() for argument in arguments]
    kernel(*expected, target="cpu", **constants)
    launch(kernel.compile_for(*arguments, target=chip, **constants), arguments)
    for found, wanted in zip(arguments, expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


def random(*shape, dtype=np.int32):
    return RNG.integers(0, 9, shape).astype(dtype)


def zeros(*shape, dtype=np.int32):
    return np.zeros(shape, dtype)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("shape", [(8, 16), (5, 13)])
@pytest.mark.parametrize("name", atomic_updates.UPDATES)
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32])
def test_old_values(name, dtype, shape, chip):
    if name in ("and", "or", "xor") and dtype == np.float32:
        return  # Bitwise updates take integers.
    ours, _ = atomic_updates.UPDATES[name]
    x, y = random(*shape, dtype=dtype), random(*shape, dtype=dtype)
    compare(atomic_updates.update, [x, y, zeros(8, 16, dtype=dtype)], chip, F=ours)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32])
def test_compare_and_swap(dtype, chip):
    arrays = [RNG.integers(0, 3, 32).astype(dtype) for _ in range(3)]
    compare(atomic_updates.swap, [*arrays, zeros(32, dtype=dtype)], chip)


CASES = {
    "scalars": (atomic_updates.scalars, lambda: [random(4), zeros(4)], {}),
    "in_shared_memory": (
        atomic_updates.in_shared_memory,
        lambda: [random(256), zeros(16)],
        {},
    ),
    "tickets": (atomic_updates.tickets, lambda: [zeros(1), zeros(7)], {}),
    "locked_sum": (
        atomic_updates.locked_sum,
        lambda: [zeros(1), random(5, 256), zeros(256)],
        {},
    ),
    "lookback_scan": (
        atomic_updates.lookback_scan,
        lambda: [random(300), zeros(300), zeros(5, 3), zeros(1)],
        {"BLOCK": 64},
    ),
    "grid_barrier": (
        atomic_updates.grid_barrier,
        lambda: [zeros(1), *(zeros(1, 128, dtype=np.float32) + 1 for _ in range(2))],
        {},
    ),
}


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", CASES)
def test_kernels(name, chip):
    kernel, arguments, constants = CASES[name]
    compare(kernel, arguments(), chip, **constants)
