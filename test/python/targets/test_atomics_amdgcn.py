"""Atomic updates as machine code of AMD's chips, against the interpreter.

The simulator runs one block after the other, so blocks find what they wait for.
"""

import ml_dtypes
import numpy as np
import pytest

import tilews
import tilews.language as tl
from kernels.cooperating import atomic_updates
from tilews.sim.amdgcn import launch
from tilews.sim.amdgcn.disassembly import MachineError
from tilews.sim.amdgcn.memory import GlobalMemory

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
@pytest.mark.parametrize("name", ["add", "max", "exchange"])
@pytest.mark.parametrize(
    "dtype",
    [np.float64, np.float16, ml_dtypes.bfloat16, np.int16, np.int8, np.uint8],
)
def test_other_widths(name, dtype, chip):
    # 65 elements: the end of the array cuts a word.
    ours, _ = atomic_updates.UPDATES[name]
    x, y = random(5, 13).astype(dtype), random(5, 13).astype(dtype)
    compare(atomic_updates.update, [x, y, zeros(8, 16, dtype=dtype)], chip, F=ours)


@tilews.kernel(threads=64)
def small_shared(X: tl.Tensor["65", "T"], Y: tl.Tensor["3, 65", "T"]):
    """Updates of shared memory, whose last word is cut, too."""
    tl.grid(1)
    x = tl.load(X)
    buffer = tl.alloc_shared((65,), X.dtype)
    buffer[0:65] = x
    Y[0, :] = tl.atomic_add(x, buffer)
    Y[1, :] = tl.atomic_cas(4, 7, buffer[0:65])
    Y[2, :] = tl.load(buffer)


@pytest.mark.parametrize("chip", [*CHIPS, "gfx1201"])
@pytest.mark.parametrize("dtype", [np.float16, np.int16, np.uint8, np.int32, np.int64])
def test_shared_memory(dtype, chip):
    compare(small_shared, [random(65, dtype=dtype), zeros(3, 65, dtype=dtype)], chip)


@tilews.kernel(threads=64)
def swap_bytes(X: tl.Tensor["61", tl.e5m2], Y: tl.Tensor["61", tl.e5m2]):
    tl.grid(1)
    X[0] = tl.atomic_exchange(tl.load(X), Y)


def test_fp8_is_exchanged():
    x, y = (random(61).astype(ml_dtypes.float8_e5m2) for _ in range(2))
    compare(swap_bytes, [x, y], "gfx950")


def test_a_word_that_the_end_cuts():
    memory, data = GlobalMemory(), np.arange(6, dtype=np.uint8)
    last = np.array([memory.add(data) + 4], np.uint64)
    word = memory.load(last, 4)
    word[0, 0] = 9
    memory.store(last, word)
    assert data.tolist() == [0, 1, 2, 3, 9, 5]
    word[0, 2] ^= 1
    with pytest.raises(
        MachineError, match="store to bytes 6 to 8 of a buffer that has 6"
    ):
        memory.store(last, word)
    for place, size in ((last - 1, 4), (last, 8), (last + 4, 4)):
        with pytest.raises(MachineError, match="access to bytes"):
            memory.load(np.asarray(place, np.uint64), size)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize(
    "dtype", [np.int32, np.int64, np.float32, np.float16, np.uint8]
)
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
