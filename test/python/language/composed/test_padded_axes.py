"""Scans and reductions with a function along axes that are no power of two.

Axes above 16 are padded in shared memory: 67 and 131 are primes, 134 is 2 * 67.
"""

import math

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


def compose(a1, b1, a2, b2):
    """Affine functions one after the other, which do not commute."""
    return a1 * a2, a2 * b1 + b2


@pytest.mark.parametrize("target", ["cpu", "gfx942", "gfx1100"])
@pytest.mark.parametrize(
    "shape", [(3,), (60,), (100,), (1000,), (7, 9), (4, 1000), (60, 60), (2, 3, 17)]
)
def test_reductions_of_any_extents(shape, target):
    text = ", ".join(map(str, shape))
    axes = range(len(shape))

    @tilews.kernel
    def reduced(X: tl.Tensor[text, tl.i32], Y: tl.Tensor["N", tl.i32]):
        tl.grid(1)
        x = tl.load(X)
        Y[0] = tl.reduce((x, x + 1), compose)[1]
        place = 1
        for axis in tl.static_range(len(shape)):
            x = tl.load(X)
            part = tl.reduce((x, x + 1), compose, axis)[1]
            if len(shape) > 1:
                part = part.reshape(math.prod(shape) // shape[axis])
                Y[place : place + part.shape[0]] = part
                place += part.shape[0]

    x = RNG.integers(-3, 4, shape).astype(np.int32)
    counts = [x.size // shape[axis] for axis in axes if len(shape) > 1]
    y = np.zeros(1 + sum(counts), np.int32)
    reduced(x, y, target=target, **({} if target == "cpu" else {"run": "sim"}))
    whole = running(x.ravel(), 0, np.zeros((), np.int32))[-1]
    parts = [
        running(x, axis, np.zeros(np.delete(shape, axis), np.int32))[-1].ravel()
        for axis in axes
        if len(shape) > 1
    ]
    np.testing.assert_array_equal(y, np.concatenate([[whole], *parts]))


@pytest.mark.parametrize("shape", [(8, 60), (1000,), (60, 60), (4, 1000)])
def test_threads_share_the_elements(shape):
    text = ", ".join(map(str, shape))

    @tilews.kernel
    def kernel(
        X: tl.Tensor[text, tl.f32],
        Y: tl.Tensor["1", tl.f32],
        Z: tl.Tensor[text, tl.f32],
    ):
        tl.grid(1)
        x = tl.load(X)
        Y[0] = tl.reduce(x, lambda a, b: a * b)
        Z[...] = tl.scan(x, lambda a, b: a * b, axis=len(shape) - 1)

    assert kernel.compile("gfx1100").resources["spill_stores"] == 0
