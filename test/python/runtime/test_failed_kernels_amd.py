"""Errors of HIP name the assertion that failed: a runtime that is not real."""

import gc

import numpy as np
import pytest

import tilews
import tilews.language as tl
from support.launches import HipArray, HipStatus, SimulatedHip
from tilews.runtime import LaunchError, LoadedKernel, hip, modules
from tilews.runtime.device_variables import DeviceVariables
from tilews.runtime.manifest import check_manifest

CHIPS = ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"]


@tilews.kernel(threads=128)
def checked_sums(X: tl.Tensor["N", tl.f32]):
    i = tl.grid(tl.cdiv(X.shape[0], 128)) * 128
    x = tl.load(X[i], (128,))
    tl.device_assert(x >= 0.0, "negative")
    tl.device_assert(tl.sum(x) < 1000.0, "large")


@pytest.fixture
def runtime(monkeypatch):
    runtime = SimulatedHip()
    monkeypatch.setattr(hip, "_runtime", lambda: runtime)
    monkeypatch.setattr(DeviceVariables, "_reporting", [])
    yield runtime
    gc.collect()
    modules._unused.clear()


def load(chip):
    kernel = checked_sums.compile(chip)
    return LoadedKernel(kernel.manifest, kernel.hsaco)


@pytest.mark.parametrize("chip", CHIPS)
def test_manifests_for_amd_have_assertions(chip):
    manifest = checked_sums.compile(chip).manifest
    check_manifest(manifest)
    first, second = manifest["assertions"]
    assert first["message"].startswith("negative (test_failed_kernels_amd.py:")
    assert first["shape"] == [128] and "shape" not in second


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (-1.0, r"negative \(\w+\.py:22\), block \(1, 0, 0\), element \(72\)"),
        (5000.0, r"large \(\w+\.py:23\), block \(1, 0, 0\)"),
    ],
)
def test_the_launch_after_a_failure_names_the_assertion(runtime, chip, value, text):
    kernel, x = load(chip), np.ones(300, np.float32)
    kernel(HipArray(x))
    assert not runtime.memory["__tilews_failure"].any()
    x[200] = value
    kernel(HipArray(x))
    expected = rf"hipErrorLaunchFailure; .* failed in kernel 'checked_sums': {text};"
    for _ in range(2):
        with pytest.raises(LaunchError, match=expected):
            kernel(HipArray(x))


def test_other_failures_of_kernels_say_so(runtime):
    kernel, x = load("gfx942"), np.ones(300, np.float32)
    kernel(HipArray(x))
    runtime.status = HipStatus.hipErrorLaunchFailure
    with pytest.raises(LaunchError, match="it reported no assertion that did not hold"):
        kernel(HipArray(x))
    runtime.status = HipStatus.hipErrorInvalidValue
    with pytest.raises(LaunchError, match=r"failed: hipErrorInvalidValue$"):
        kernel(HipArray(x))
