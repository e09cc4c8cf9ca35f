"""Machine code of AMD GPUs on the simulator: calls, policies, barriers, errors."""

import os
import pathlib
import re

import ml_dtypes
import numpy as np
import pytest

import tilews
import tilews.language as tl
from amdgcn import kernels
from tilews.errors import CompileError
from tilews.runtime import LaunchError
from tilews.sim.amdgcn import POLICIES, MachineError, Simulator, launch

BUILD = pathlib.Path(os.environ["TILEWS_BUILD_DIR"])
CHIPS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")


@tilews.kernel(threads=64)
def add(X: tl.Tensor["m, n", tl.f32], Y: tl.Tensor["m, n", tl.f32], a: tl.f32):
    bx, by = tl.grid(tl.cdiv(X.shape[1], 32), tl.cdiv(X.shape[0], 16))
    Y[by * 16, bx * 32] = tl.load(X[by * 16, bx * 32], (16, 32)) + a


@tilews.kernel(threads=128)
def transposed(X: tl.Tensor["64, 64", tl.f16], Y: tl.Tensor["64, 64", tl.f16]):
    tl.grid(1)
    tile = tl.alloc_shared((64, 64), tl.f16)
    tl.store(tl.load(X[0, 0], (64, 64)), tile)
    Y[0, 0] = tl.transpose(tl.load(tile))


def random(shape, dtype=np.float32):
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("chip", CHIPS)
def test_call(chip):
    x, y = random((33, 70)), np.zeros((33, 70), np.float32)
    add(x, y, 1.5, target=chip, run="sim")
    np.testing.assert_array_equal(y, x + np.float32(1.5))
    add(x, y, 0.0, target=chip, run="sim", grid=(1, 1))
    np.testing.assert_array_equal(y[:16, :32], x[:16, :32])
    np.testing.assert_array_equal(y[16:], x[16:] + np.float32(1.5))


def test_empty_arrays():
    x = np.zeros((0, 8), np.float32)
    add(x, x.copy(), 1.0, target="gfx942", run="sim")


def test_views_share_memory():
    x, y = random((40, 64)), np.zeros((40, 64), np.float32)
    add(x[4:20], y[8:24], 0.5, target="gfx942", run="sim")
    np.testing.assert_array_equal(y[8:24], x[4:20] + np.float32(0.5))
    assert not y[:8].any() and not y[24:].any()


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("chip", CHIPS)
def test_policies(chip, policy):
    x, y = random((64, 64), np.float16), np.zeros((64, 64), np.float16)
    launch(transposed.compile(chip), [x, y], 3, policy=policy)
    np.testing.assert_array_equal(y, x.T)


def replaced(chip, pattern, words):
    """The code of :func:`transposed`, with one instruction replaced."""
    compiled = transposed.compile(chip)
    simulator = Simulator(compiled.hsaco, policy="latest")
    for inst in simulator.code.instructions.values():
        if re.match(pattern, inst.text) and inst.size == 4 * len(words):
            old = b"".join(word.to_bytes(4, "little") for word in inst.words)
            new = b"".join(word.to_bytes(4, "little") for word in words)
            assert compiled.hsaco.count(old) >= 1
            return compiled, compiled.hsaco.replace(old, new, 1)
    raise AssertionError(f"{chip} has no {pattern}")


def execute(image):
    simulator = Simulator(image, policy="latest")
    (name,) = simulator.code.kernels
    x, y = random((64, 64), np.float16), np.zeros((64, 64), np.float16)
    simulator.launch(name, (1,), 128, [x, y], 64 * 64 * 2)
    return np.array_equal(y, x.T)


@pytest.mark.parametrize("chip, nop", [("gfx942", 0xBF800000), ("gfx1201", 0xBF800000)])
def test_a_removed_wait_is_noticed(chip, nop):
    _, image = replaced(chip, r"s_waitcnt vmcnt|s_wait_loadcnt", [nop])
    with pytest.raises(MachineError, match="is used before its load was waited for"):
        execute(image)


def test_a_wait_without_a_signal_is_noticed():
    _, image = replaced("gfx1201", "s_barrier_signal", [0xBF800000])
    with pytest.raises(MachineError, match="that this wave has not signalled"):
        execute(image)


def test_a_removed_split_barrier_is_noticed():
    _, image = replaced("gfx1201", "s_barrier_wait", [0xBF800000])
    with pytest.raises(MachineError, match="signalled twice without a wait between"):
        execute(image)


def test_read_only_arrays():
    x = random((16, 32))
    x.flags.writeable = False
    y = np.zeros_like(x)
    add(x, y, 1.0, target="gfx942", run="sim")
    np.testing.assert_array_equal(y, x + 1)
    with pytest.raises((LaunchError, MachineError), match="read-only"):
        add(y, x, 1.0, target="gfx942", run="sim")


@pytest.mark.parametrize(
    "options, message",
    [
        ({"run": "gpu", "target": "gfx942"}, "expected run='sim', found 'gpu'"),
        ({"run": "sim"}, "expected a target such as 'gfx942', found None"),
        ({"run": "sim", "target": "sm_90a"}, "found 'sm_90a'"),
        ({"run": "sim", "backend": "cpu"}, "found 'cpu'"),
        ({"run": "sim", "target": "gfx942", "stream": 1}, "has no streams"),
    ],
    ids=str,
)
def test_refused_calls(options, message):
    x = random((16, 32))
    with pytest.raises(TypeError, match=message):
        add(x, x.copy(), 1.0, **options)


def test_types_of_fp8_have_the_names_of_arrays():
    """gfx942 has fp8 types of its own: `tl.e4m3` is float8_e4m3fnuz there."""

    @tilews.kernel(threads=64)
    def double(X: tl.Tensor["64", tl.e4m3]) -> None:
        X[0] = (tl.load(X[0], (64,)).to(tl.f32) * 2).to(tl.e4m3)

    message = "expected elements of float8_e4m3fnuz, found float8_e4m3fn$"
    with pytest.raises(LaunchError, match=message):
        double(np.ones(64, ml_dtypes.float8_e4m3fn), target="gfx942", run="sim")


def test_refused_launches():
    x = random((16, 32))
    compiled = add.compile("gfx942")
    with pytest.raises(LaunchError, match="'Y': expected elements of f32, found f64"):
        launch(compiled, [x, x.astype(np.float64), 1.0])
    with pytest.raises(ValueError, match=r"policy: expected one of .* found 'late'"):
        launch(compiled, [x, x.copy(), 1.0], policy="late")
    with pytest.raises(CompileError, match="sm_90a has no HSACO"):
        launch(add.compile("sm_90a"), [x, x.copy(), 1.0])


@pytest.mark.parametrize("image", [b"", b"\x7fELF", b"text " * 100], ids=repr)
def test_what_is_no_code_object(image):
    with pytest.raises(MachineError, match="expected an HSACO"):
        Simulator(image)


def test_timings_are_those_of_llvm(tmp_path):
    """A matmul of 32x32x8 occupies the matrix unit for 8 passes of 4 cycles."""
    source = kernels.get_gemm("gfx942", "f16", "f16", "f32", (128, 128, 64))
    simulator = kernels.load(source, BUILD, tmp_path)
    timings = {
        inst.timing
        for inst in simulator.code.instructions.values()
        if inst.name == "v_mfma_f32_32x32x8_f16"
    }
    assert [(t.unit, t.occupied) for t in timings] == [("HWXDL", 8)]
