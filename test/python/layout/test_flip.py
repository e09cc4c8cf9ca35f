"""`tl.flip` and reverse scans against numpy, for many shapes, types and thread counts.

The IR is simulated as written and as it is before threads appear. Machine code of AMD
runs in a simulator.
"""

import itertools

import numpy as np
import pytest

import tilews
import tilews.language as tl
from tilews import passes
from tilews.compiler import compile_module
from tilews.fuzz import check as checking
from tilews.fuzz.generator import generate
from tilews.sim.amdgcn.machine import Simulator

TYPES = {
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "i8": np.int8,
    "i1": np.bool_,
}
#: Shapes with primes and other extents that layouts do not cover exactly.
SHAPES = [(24, 64), (128, 8), (67, 5), (1, 96), (40, 1), (33, 130)]


def kernel(shape, axis, dtype, threads):
    rows, columns = shape

    text = f"{rows}, {columns}"

    @tilews.kernel(threads=threads)
    def flipped(A: tl.Tensor[text, dtype], B: tl.Tensor[text, dtype]):
        tl.store(tl.flip(tl.load(A[0, 0], (rows, columns)), axis=axis), B[0, 0])

    return flipped


def reverse_sums(shape, axis, threads):
    rows, columns = shape

    text = f"{rows}, {columns}"

    @tilews.kernel(threads=threads)
    def scanned(A: tl.Tensor[text, tl.i32], B: tl.Tensor[text, tl.i32]):
        x = tl.load(A[0, 0], (rows, columns))
        sums = tl.scan(x, lambda a, b: a + b, axis, reverse=True)
        tl.store(sums, B[0, 0])

    return scanned


def numbers(shape, dtype):
    """Elements that are distinct where the type has enough of them."""
    bits = np.arange(np.prod(shape)).reshape(shape)
    return (bits * 5 % 7 < 3) if dtype == np.bool_ else (bits % 2039).astype(dtype)


def check_phases(built, chip, x, expected):
    """Runs a kernel as written, and after all passes up to where threads appear."""
    module = checking.with_target(built.build(), chip)
    check_result(module, x, expected)
    for step in checking.tile_passes(chip):
        passes.run(module, step)
    check_result(module, x, expected)


def check_result(module, x, expected):
    y = np.zeros_like(x)
    checking.simulate(module, [x, y])
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("chip", ["sm_80", "sm_90a", "gfx942"])
def test_flips_are_those_of_numpy(shape, axis, chip):
    for number, (name, dtype) in enumerate(TYPES.items()):
        threads = (64, 128, 256, 192, 64)[number]
        if name == "f32" and chip.startswith("sm_"):
            threads = 32  # A warp.
        x = numbers(shape, dtype)
        built = kernel(shape, axis, getattr(tl, name), threads)
        check_phases(built, chip, x, np.flip(x, axis))


@pytest.mark.parametrize(
    "target, threads",
    [
        ("gfx1100", 32),
        *itertools.product(("gfx942", "gfx1100"), (64, 128, 192, 256)),
    ],
)
@pytest.mark.parametrize("axis", [0, 1, None])
def test_machine_code_flips(threads, axis, target, tmp_path):
    for number, shape in enumerate(SHAPES):
        name, dtype = list(TYPES.items())[(number + threads // 64) % len(TYPES)]
        built = kernel(shape, axis, getattr(tl, name), threads).build()
        compiled = compile_module(built, target)
        path = tmp_path / f"{number}.hsaco"
        path.write_bytes(compiled.hsaco)
        x = numbers(shape, dtype)
        y = np.zeros_like(x)
        Simulator(path.read_bytes()).launch("flipped", (1,), threads, [x, y], 64 << 10)
        np.testing.assert_array_equal(y, np.flip(x, axis), err_msg=f"{shape} {name}")


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("chip", ["sm_90a", "gfx942"])
def test_reverse_scans_with_a_function(axis, chip):
    x = numbers((24, 60), np.int32)
    expected = np.flip(np.flip(x, axis).cumsum(axis, dtype=np.int32), axis)
    check_phases(reverse_sums((24, 60), axis, 64), chip, x, expected)


def test_a_flip_of_a_large_fragment_is_cheap():
    """A shuffle for each of the 128 words of a thread, and no barrier."""
    ptx = compile_module(kernel((128, 128), 1, tl.f32, 128).build(), "sm_90a").ptx
    assert ptx.count("shfl.sync.bfly") == 128
    assert "bar.sync" not in ptx


def test_random_kernels_that_flip():
    options = checking.Options(("sm_80",), reference_every=1, emit_every=1)
    programs = [each for each in map(generate, range(300)) if "tl.flip(" in each.text]
    assert len(programs) > 3
    programs.sort(key=lambda program: len(program.text))
    for program in programs[:4]:
        assert checking.check(program, options) == []
