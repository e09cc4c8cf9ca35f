"""Prints of kernels that HIP launches: a runtime that is not real."""

import gc

import numpy as np
import pytest

import tilews
import tilews.language as tl
from support.launches import HipArray, SimulatedHip
from tilews.runtime import LaunchError, LoadedKernel, hip, modules
from tilews.runtime.device_variables import DeviceVariables

STREAM = 4096


@tilews.kernel(threads=64)
def show_sums(X: tl.Tensor["N", tl.f32]):
    i = tl.grid(tl.cdiv(X.shape[0], 64)) * 64
    x = tl.load(X[i], (64,))
    tl.print("sum", tl.sum(x))
    tl.device_assert(x >= 0.0, "negative")


@pytest.fixture
def runtime(monkeypatch):
    runtime = SimulatedHip()
    monkeypatch.setattr(hip, "_runtime", lambda: runtime)
    monkeypatch.setattr(DeviceVariables, "_reporting", [])
    monkeypatch.setattr(DeviceVariables, "_record_memory", None)
    yield runtime
    gc.collect()
    modules._unused.clear()


def load(chip):
    kernel = show_sums.compile(chip)
    return LoadedKernel(kernel.manifest, kernel.hsaco)


@pytest.mark.parametrize("chip", ["gfx942", "gfx950", "gfx1100", "gfx1201"])
def test_each_launch_shows_its_own_lines(runtime, capfd, chip):
    kernel, x = load(chip), np.ones(100, np.float32)
    for first in (64, 65):
        kernel(HipArray(x))
        assert capfd.readouterr().out == (
            f"block (0, 0, 0): sum {first}\nblock (1, 0, 0): sum 36\n"
        )
        x[0] = 2


def test_kernels_share_the_memory_for_what_they_print(runtime, capfd):
    x = np.ones(64, np.float32)
    for chip in ("gfx942", "gfx1100"):
        load(chip)(HipArray(x))
    assert capfd.readouterr().out == 2 * "block (0, 0, 0): sum 64\n"
    sizes = sorted(len(each) for each in runtime._allocated.values())
    assert sizes == [16, 16, 1 << 23]


def test_a_kernel_that_fails_has_printed(runtime, capfd):
    kernel, x = load("gfx942"), np.full(64, -1, np.float32)
    with pytest.raises(LaunchError, match=r"what the kernel prints .*: negative"):
        kernel(HipArray(x))
    assert capfd.readouterr().out == "block (0, 0, 0): sum -64\n"


def test_no_graph_captures_a_kernel_that_prints(runtime, capfd):
    kernel, x = load("gfx942"), np.ones(64, np.float32)
    kernel(HipArray(x), stream=STREAM)
    capfd.readouterr()
    runtime.captures = True
    with pytest.raises(LaunchError, match="'show_sums' prints, and its launch waits"):
        kernel(HipArray(x), stream=STREAM)
    assert capfd.readouterr().out == ""
    runtime.captures = False
    kernel(HipArray(x), stream=STREAM)
    assert capfd.readouterr().out == "block (0, 0, 0): sum 64\n"
