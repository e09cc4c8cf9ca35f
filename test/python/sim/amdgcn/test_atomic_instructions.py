"""Atomics in each type and memory as machine code, against the interpreter."""

import numpy as np
import pytest

import tilews
import tilews.language as tl
from tilews.sim.amdgcn import launch

CHIPS = ("gfx942", "gfx950", "gfx1100", "gfx1201")
INTEGERS = (tl.i16, tl.u16, tl.i32, tl.u32, tl.i64, tl.u64)
FLOATS = (tl.f16, tl.bf16, tl.f32, tl.f64)
UPDATES = (tl.atomic_add, tl.atomic_max, tl.atomic_min, tl.atomic_exchange)
BITWISE = (tl.atomic_and, tl.atomic_or, tl.atomic_xor)
COUNT = 34


@tilews.kernel(threads=64)
def update(
    X: tl.Tensor["N, 34", "T"],
    E: tl.Tensor["N, 34", "T"],
    Y: tl.Tensor["N, 34", "T"],
    Old: tl.Tensor["N, 34", "T"],
    Z: tl.Tensor["N, 34", "T"],
    UPDATES: tl.constexpr,
    IN_SHARED: tl.constexpr,
):
    """Updates a row of Y with each function, or a copy of it in shared memory.

    Then it does the same again with the next row of X, and keeps the old values.
    """
    tl.grid(1)
    for i, apply in enumerate(UPDATES):
        x, next_x = tl.load(X[i]), tl.load(X[i + 1])
        e, next_e = tl.load(E[i]), tl.load(E[i + 1])
        row = Y[i]
        if IN_SHARED:
            row = tl.alloc_shared((34,), X.dtype)
            tl.copy(Y[i], row)
        if apply is None:
            tl.atomic_cas(e, x, row, order="acq_rel")
            Old[i] = tl.atomic_cas(next_e, next_x, row, order="acq_rel")
        else:
            apply(x, row, order="acq_rel")
            Old[i] = apply(next_x, row, order="acq_rel")
        if IN_SHARED:
            tl.copy(row, Z[i])


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("in_shared", [False, True])
@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS], ids=str)
def test_updates(dtype, in_shared, chip):
    updates = (*UPDATES, None, *(BITWISE if dtype in INTEGERS else ()))
    rng = np.random.default_rng(2)
    low = 0 if str(dtype).startswith("u") else -2
    shape = (len(updates) + 1, COUNT)
    x, e, y = (rng.integers(low, 4, shape).astype(dtype.numpy) for _ in range(3))
    arguments = [x, e, y, np.zeros_like(x), np.zeros_like(x)]
    expected = [argument.copy() for argument in arguments]
    constants = {"UPDATES": updates, "IN_SHARED": in_shared}
    update(*expected, target="cpu", **constants)
    launch(update.compile_for(*arguments, target=chip, **constants), arguments)
    for found, wanted in zip(arguments, expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
