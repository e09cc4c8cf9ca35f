"""Modules of garbage are unloaded: drivers that are not there."""

import ctypes
import gc
import struct
import subprocess
import sys
import textwrap
import threading
from types import SimpleNamespace

import pytest

from support.launches import FakeArray, HipArray, buffer, make_manifest
from tilews.runtime import BackendError, LoadedKernel, cuda, hip, modules
from tilews.runtime.device_variables import DeviceVariables

CONTEXT, OTHER_CONTEXT = 11, 22
CAPTURING = 5  # A stream that a graph captures.


class RefusedStatus(int):
    name = "CUDA_ERROR_X"


class ModuleDriver:
    """Knows what is loaded, and refuses what the driver refuses."""

    CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTALLOC_DEVICEMAP = 1, 2
    CUfunction_attribute = None  # No kernel here needs any.
    CUstreamCaptureMode = SimpleNamespace(CU_STREAM_CAPTURE_MODE_RELAXED=2)
    CUstreamCaptureStatus = SimpleNamespace(CU_STREAM_CAPTURE_STATUS_NONE=0)

    def __init__(self):
        self.loaded = {}
        self.contexts = [OTHER_CONTEXT]
        self.mode = 0
        self.unload_status = 0
        self.missing = b"missing"
        self.freed = []

    def cuDeviceGet(self, index):
        return 0, index

    def cuDevicePrimaryCtxRetain(self, device):
        return 0, CONTEXT

    def cuCtxGetCurrent(self):
        return 0, self.contexts[-1]

    def cuCtxSetCurrent(self, context):
        self.contexts[-1] = context
        return (0,)

    def cuCtxPushCurrent(self, context):
        self.contexts.append(context)
        return (0,)

    def cuCtxPopCurrent(self):
        return 0, self.contexts.pop()

    def cuModuleLoadData(self, data):
        handle = f"module {len(self.loaded)}"
        self.loaded[handle] = True
        return 0, handle

    def cuModuleGetFunction(self, module, name):
        return (
            (RefusedStatus(500), None)
            if name == self.missing
            else (0, f"{module}.{name}")
        )

    def cuModuleGetGlobal(self, module, name):
        return 0, 4096, 8

    def cuMemHostAlloc(self, size, flags):
        memory = (b" " * size,)
        self.memory = memory
        return 0, id(memory[0]) + bytes.__basicsize__ - 1

    def cuMemHostGetDevicePointer(self, host, flags):
        return 0, host

    def cuMemcpyHtoD(self, address, data, size):
        return (0,)

    def cuMemFreeHost(self, host):
        self.freed.append(host)
        return (0,)

    def cuThreadExchangeStreamCaptureMode(self, mode):
        before, self.mode = self.mode, mode
        return 0, before

    def cuModuleUnload(self, handle):
        assert self.contexts[-1] == CONTEXT and self.mode == 2
        if not self.unload_status:
            assert self.loaded.pop(handle)
        return (self.unload_status,)

    def cuStreamIsCapturing(self, stream):
        assert stream not in (0, 1)
        return 0, int(stream == CAPTURING)

    def cuLaunchKernel(self, function, *rest):
        assert function.partition(".")[0] in self.loaded
        return (0,)

    def cuGetErrorString(self, status):
        return 0, b"in words"


class HipRuntime:
    """Knows what is loaded, and refuses what HIP refuses."""

    hipHostMallocPortable, hipHostMallocMapped, hipHostMallocCoherent = 1, 2, 4
    hipStreamCaptureStatus = SimpleNamespace(hipStreamCaptureStatusNone=0)

    def __init__(self):
        self.loaded = {}
        self.unload_status = 0
        self.missing = b"missing"

    def hipSetDevice(self, device):
        return (0,)

    def hipModuleLoadData(self, data):
        handle = f"module {len(self.loaded)}"
        self.loaded[handle] = True
        return 0, handle

    def hipModuleGetFunction(self, module, name):
        return (
            (RefusedStatus(500), None)
            if name == self.missing
            else (0, f"{module}.{name}")
        )

    def hipModuleGetGlobal(self, module, name):
        return 0, 4096, 8

    def hipHostMalloc(self, size, flags):
        self.memory = ctypes.create_string_buffer(size)
        return 0, ctypes.addressof(self.memory)

    def hipHostGetDevicePointer(self, host, flags):
        return 0, host

    def hipMemcpyHtoD(self, address, data, size):
        return (0,)

    def hipModuleUnload(self, handle):
        if self.unload_status:
            return (self.unload_status,)
        assert self.loaded.pop(handle)
        return (0,)

    def hipStreamIsCapturing(self, stream):
        # While a stream is captured, the default one gives an error.
        assert stream not in (0, 1)
        return 0, int(stream == CAPTURING)

    def hipModuleLaunchKernel(self, function, *rest):
        assert function.partition(".")[0] in self.loaded
        return (0,)


@pytest.fixture
def unused():
    modules._unused.clear()
    yield
    gc.collect()
    modules._unused.clear()


@pytest.fixture
def driver(monkeypatch, unused):
    driver = ModuleDriver()
    monkeypatch.setattr(cuda, "_driver", lambda: driver)
    monkeypatch.setattr(DeviceVariables, "_reporting", [])
    return driver


class OnGpu:
    """A GPU of a vendor, with a driver that is not there."""

    def __init__(self, vendor, driver):
        self.driver = driver
        self.loaded = driver.loaded
        self.array = FakeArray() if vendor == "nvidia" else HipArray()
        self.target = {"chip": "c", "vendor": vendor, "warp_size": 32}

    def launched(self, stream=0, **options):
        manifest = make_manifest([buffer("A")], target=self.target, **options)
        kernel = LoadedKernel(manifest, b"image")
        kernel(self.array, stream=stream)
        return kernel


@pytest.fixture(params=["nvidia", "amd"])
def gpu(request, monkeypatch, driver):
    if request.param == "nvidia":
        return OnGpu("nvidia", driver)
    runtime = HipRuntime()
    monkeypatch.setattr(hip, "_runtime", lambda: runtime)
    return OnGpu("amd", runtime)


def launched(stream=0, **options):
    kernel = LoadedKernel(make_manifest([buffer("A")], **options), b"image")
    kernel(FakeArray(), stream=stream)
    return kernel


def test_modules_of_garbage_are_unloaded_with_the_next_load(gpu):
    for _ in range(50):
        gpu.launched()
        gc.collect()
    assert len(gpu.loaded) == 1


def test_an_unload_leaves_context_and_mode_as_they_were(driver):
    for _ in range(2):
        launched()
        gc.collect()
    assert driver.contexts == [CONTEXT]
    assert driver.mode == 0


def test_a_launch_of_another_kernel_unloads(gpu):
    kept = gpu.launched()
    others = [gpu.launched() for _ in range(4)]
    assert len(gpu.loaded) == 5
    del others
    gc.collect()
    assert len(gpu.loaded) == 5  # Garbage is collected anywhere.
    kept(gpu.array)
    assert len(gpu.loaded) == 1
    kept(gpu.array)


def test_captured_kernels_stay_loaded(gpu):
    kernel = gpu.launched()
    kernel(gpu.array, stream=CAPTURING)
    kernel(gpu.array)
    del kernel
    gc.collect()
    gpu.launched()
    assert "module 0" in gpu.loaded


def test_a_launch_that_is_captured_unloads_nothing(gpu):
    kept = gpu.launched()
    gpu.launched()
    gc.collect()
    kept(gpu.array, stream=CAPTURING)
    assert len(gpu.loaded) == 2


def test_the_context_of_the_caller_is_as_before(driver):
    launched()
    gc.collect()
    driver.contexts = [33]
    modules.unload_unused()
    assert driver.contexts == [33]
    assert not driver.loaded


def test_a_module_without_the_kernel_is_unloaded(gpu):
    gpu.driver.missing = b"k"
    with pytest.raises(BackendError, match="finding kernel 'k' failed"):
        gpu.launched()
    gc.collect()
    gpu.driver.missing = b""
    gpu.launched()
    assert len(gpu.loaded) == 1


def frees_reports(gpu):
    """Whether the driver waits for kernels before it unloads their module."""
    return isinstance(gpu.driver, ModuleDriver)


@pytest.mark.parametrize("status", [0, 719])
def test_reports_live_as_long_as_their_kernel_can_run(gpu, status):
    gpu.launched(assertions=[{"message": "x"}])
    gc.collect()
    gpu.driver.unload_status = status
    modules.unload_unused()
    assert len(gpu.loaded) == (status != 0)
    freed = status == 0 and frees_reports(gpu)
    assert len(DeviceVariables._reporting) == (not freed)
    if frees_reports(gpu):
        assert len(gpu.driver.freed) == freed


def test_kernels_that_run_after_their_unload_report_failures(gpu):
    gpu.launched(assertions=[{"message": "negative"}])
    gc.collect()
    modules.unload_unused()
    if not frees_reports(gpu):
        gpu.driver.memory[:8] = struct.pack("<Q", 1 << 63)
        assert "negative" in DeviceVariables.find_failure()


@pytest.mark.parametrize("refused", ["HostGetDevicePointer", "MemcpyHtoD"])
def test_a_report_that_a_kernel_never_gets_is_freed(gpu, refused):
    name = next(name for name in dir(gpu.driver) if name.endswith(refused))
    setattr(gpu.driver, name, lambda *arguments: (RefusedStatus(500), None))
    with pytest.raises(BackendError, match=f"{name} failed"):
        gpu.launched(assertions=[{"message": "x"}])
    gc.collect()
    modules.unload_unused()
    assert not gpu.loaded
    if frees_reports(gpu):
        assert len(gpu.driver.freed) == 1 and not DeviceVariables._reporting


def test_threads_unload_each_module_once(driver):
    made = [launched() for _ in range(64)]
    made.clear()
    gc.collect()
    pop = driver.contexts
    driver.contexts = SimpleNamespace(append=lambda c: None, pop=lambda: 0)
    driver.cuModuleUnload = lambda handle: (0 * driver.loaded.pop(handle),)
    threads = [threading.Thread(target=modules.unload_unused) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    driver.contexts = pop
    assert not driver.loaded


def test_the_end_of_the_process_unloads_nothing():
    code = """
        import sys, weakref
        sys.path.insert(0, "test/python")
        from runtime.test_modules import *

        driver = ModuleDriver()
        cuda._driver = lambda: driver
        driver.cuModuleUnload = lambda handle: print("unloaded")
        kept = launched()
        launched()
        print("done")
    """
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True
    )
    assert (found.returncode, found.stdout, found.stderr) == (0, "done\n", "")
