"""Scans and reductions with a function along axes with a large prime factor.

Such an axis is padded in shared memory: 67 and 131 are primes, 134 is 2 * 67.
"""

import ml_dtypes
import numpy as np
import pytest

import tilews
import tilews.language as tl
from tilews.compiler import compile_module
from tilews.fuzz import check as checking
from tilews.sim.amdgcn import Simulator

RNG = np.random.default_rng(67)


def kernel(shape, axis, reverse, exclusive):
    text = ", ".join(map(str, shape))
    rest = str(shape[1 - axis])
    initial = 3 if exclusive else None

    @tilews.kernel(threads=64)
    def scanned(
        X: tl.Tensor[text, tl.i32],
        Y: tl.Tensor[text, tl.i32],
        Z: tl.Tensor[rest, tl.i32],
    ):
        x = tl.load(X)
        # Not commutative: the pairs are matrices (a, b; 0, 1).
        pairs = x, x + 1
        _, y = tl.scan(
            pairs,
            lambda a1, b1, a2, b2: (a1 * a2, a2 * b1 + b2),
            axis,
            reverse=reverse,
            exclusive=exclusive,
            initial=None if initial is None else (1, initial),
        )
        Y[0, 0] = y
        Z[0] = tl.reduce(pairs, lambda a1, b1, a2, b2: (a1 * a2, a2 * b1 + b2), axis)[1]

    return scanned


def running(x, axis, start):
    """The second numbers of the pairs that are combined from `start` on."""
    state, found = start, [start]
    for value in np.moveaxis(x, axis, 0):
        state = value * state + value + 1
        found.append(state)
    return np.stack(found)


def expected(x, axis, reverse, exclusive):
    ordered = np.flip(x, axis) if reverse else x
    start = np.full(x.shape[1 - axis], 3 if exclusive else 0, np.int32)
    steps = running(ordered, axis, start)
    y = np.moveaxis(steps[:-1] if exclusive else steps[1:], 0, axis)
    total = running(x, axis, np.zeros(x.shape[1 - axis], np.int32))[-1]
    return np.flip(y, axis) if reverse else y, total


CASES = [
    ((3, 67), 1, False, False),
    ((131, 2), 0, True, False),
    ((2, 134), 1, False, True),
    ((134, 2), 0, True, True),
]


def check_results(case, execute):
    shape, axis, reverse, exclusive = case
    x = RNG.integers(-3, 4, shape).astype(np.int32)
    y, z = np.zeros_like(x), np.zeros(shape[1 - axis], np.int32)
    execute([x, y, z])
    with np.errstate(over="ignore"):
        wanted = expected(x, axis, reverse, exclusive)
    np.testing.assert_array_equal(y, wanted[0])
    np.testing.assert_array_equal(z, wanted[1])


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("chip", ["cpu", "sm_80", "sm_90a", "gfx942"])
def test_results_before_threads_appear(case, chip):
    built = kernel(*case).build()
    if chip != "cpu":
        built = checking.with_target(built, chip)
        for step in checking.tile_passes(chip):
            checking.passes.run(built, step)
    check_results(case, lambda arrays: checking.simulate(built, arrays))


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("chip", ["gfx942", "gfx950", "gfx1100"])
def test_machine_code(case, chip, tmp_path):
    path = tmp_path / "k.hsaco"
    path.write_bytes(compile_module(kernel(*case).build(), chip).hsaco)
    check_results(
        case,
        lambda arrays: Simulator(path.read_bytes()).launch(
            "scanned", (1,), 64, arrays, 64 << 10
        ),
    )


@tilews.kernel(threads=64)
def of_other_types(
    X: tl.Tensor["67", tl.f32],
    Any: tl.Tensor["67", tl.i8],
    Small: tl.Tensor["67", tl.f32],
    Wide: tl.Tensor["67", tl.f64],
):
    x = tl.load(X)
    Any[0] = tl.scan(x > 2.0, lambda a, b: a | b).to(tl.i8)
    Small[0] = tl.scan(x.to(tl.e2m1), lambda a, b: tl.maximum(a, b)).to(tl.f32)
    Wide[0] = tl.scan(x.to(tl.f64), lambda a, b: a + b)


def test_elements_that_share_bytes_and_wide_ones():
    x = RNG.integers(-4, 5, 67).astype(np.float32)
    found = np.zeros(67, np.int8), np.zeros(67, np.float32), np.zeros(67)
    of_other_types(x, *found)
    small = x.astype(ml_dtypes.float4_e2m1fn).astype(np.float32)
    np.testing.assert_array_equal(found[0], np.maximum.accumulate(x > 2))
    np.testing.assert_array_equal(found[1], np.maximum.accumulate(small))
    np.testing.assert_array_equal(found[2], np.cumsum(x, dtype=np.float64))
