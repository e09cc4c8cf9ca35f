"""Errors of HIP name the assertion that failed: a runtime that is not real."""

import ctypes
import enum
import gc
import struct
from types import SimpleNamespace

import numpy as np
import pytest

import tilews
import tilews.language as tl
from support.launches import HipArray
from tilews.runtime import LaunchError, LoadedKernel, hip, modules
from tilews.runtime.device_variables import DeviceVariables
from tilews.runtime.manifest import check_manifest
from tilews.sim.amdgcn import KernelTrap, Simulator

CHIPS = ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"]


@tilews.kernel(threads=128)
def checked_sums(X: tl.Tensor["N", tl.f32]):
    i = tl.grid(tl.cdiv(X.shape[0], 128)) * 128
    x = tl.load(X[i], (128,))
    tl.device_assert(x >= 0.0, "negative")
    tl.device_assert(tl.sum(x) < 1000.0, "large")


class HipStatus(enum.IntEnum):
    hipSuccess = 0
    hipErrorInvalidValue = 1
    hipErrorLaunchFailure = 719


class SimulatedHip:
    """HIP with a GPU that the simulator stands for.

    As on a GPU, the launch of a kernel that fails returns no error; later calls do.
    """

    hipHostMallocPortable = 0x1
    hipHostMallocMapped = 0x2
    hipHostMallocCoherent = 0x40000000
    hipStreamCaptureStatus = SimpleNamespace(hipStreamCaptureStatusNone=0)

    def __init__(self):
        self.status = HipStatus.hipSuccess
        self.grid = []

    def hipSetDevice(self, device):
        return (self.status,)

    def hipModuleLoadData(self, image):
        return self.status, Simulator(image)

    def hipModuleGetFunction(self, module, name):
        return self.status, (module, name.decode())

    def hipModuleGetGlobal(self, module, name):
        return self.status, module.code.variables[name.decode()], 8

    def hipHostMalloc(self, size, flags):
        assert flags == 0x40000003  # portable, mapped and coherent
        self.report = np.full(size, 255, np.uint8)
        return self.status, self.report.ctypes.data

    def hipHostGetDevicePointer(self, host, flags):
        assert (host, flags) == (self.report.ctypes.data, 0)
        return self.status, host

    def hipMemcpyHtoD(self, address, data, size):
        assert struct.unpack("<Q", data) == (self.report.ctypes.data,)
        self.variable = address
        return (self.status,)

    def hipModuleLaunchKernel(self, function, *rest):
        if self.status:
            return (self.status,)
        (simulator, name), grid, parameters = function, rest[:3], rest[8]
        assert simulator.code.variables["__tilews_failure"] == self.variable
        simulator.add_host_memory("__tilews_failure", self.report)
        places = (ctypes.c_void_p * 2).from_address(parameters)
        address = ctypes.c_int64.from_address(places[0]).value
        count = ctypes.c_int32.from_address(places[1]).value
        data = np.ctypeslib.as_array((ctypes.c_float * count).from_address(address))
        try:
            simulator.launch(name, grid, rest[3], [data, np.int32(count)])
        except KernelTrap:
            self.status = HipStatus.hipErrorLaunchFailure
        return (HipStatus.hipSuccess,)


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
        (-1.0, r"negative \(\w+\.py:27\), block \(1, 0, 0\), element \(72\)"),
        (5000.0, r"large \(\w+\.py:28\), block \(1, 0, 0\)"),
    ],
)
def test_the_launch_after_a_failure_names_the_assertion(runtime, chip, value, text):
    kernel, x = load(chip), np.ones(300, np.float32)
    kernel(HipArray(x))
    assert not runtime.report.any()
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
