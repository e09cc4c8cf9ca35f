"""Limits of prints, and reports of assertions, with a driver that is not real."""

import ctypes
import enum
import json
import struct

import pytest

import tilews
import tilews.language as tl
from tilews import compiler, runtime
from tilews.runtime import cuda, device_variables
from tilews.runtime.device_variables import DeviceVariables, describe_failure
from tilews.runtime.launch_errors import LaunchError
from tilews.runtime.manifest import check_manifest


@tilews.kernel(threads=128)
def checked(X: tl.Tensor["16, 64", tl.f32]):
    tl.grid(2)
    x = tl.load(X)
    tl.device_assert(x >= 0.0, "negative")
    tl.device_assert(tl.sum(x) < 9.0, "large")
    tl.print("x", x)


@tilews.kernel(threads=128)
def plain(X: tl.Tensor["16, 64", tl.f32]):
    tl.grid(2)
    X[0, 0] = tl.load(X) + 1.0


class LaunchStatus(enum.IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_LAUNCH_FAILED = 719


class VariableDriver:
    """Has one module with two variables, at 4096 and 8192."""

    CU_MEMHOSTALLOC_PORTABLE = 1
    CU_MEMHOSTALLOC_DEVICEMAP = 2

    def __init__(self):
        self.host = ctypes.create_string_buffer(b"\xff" * 16, 16)
        self.calls, self.stored = [], {}

    def cuModuleGetGlobal(self, module, name):
        places = {b"__tilews_printed": 4096, b"__tilews_failure": 8192}
        return LaunchStatus.CUDA_SUCCESS, places[name], 8

    def cuMemHostAlloc(self, size, flags):
        assert (size, flags) == (16, 3)
        return LaunchStatus.CUDA_SUCCESS, ctypes.addressof(self.host)

    def cuMemHostGetDevicePointer(self, host, flags):
        return LaunchStatus.CUDA_SUCCESS, host + 1

    def cuMemcpyHtoD(self, address, data, size):
        self.stored[address] = data[:size]
        return (LaunchStatus.CUDA_SUCCESS,)

    def cuMemsetD32Async(self, address, word, count, stream):
        self.calls.append((address, word, count, stream))
        return (LaunchStatus.CUDA_SUCCESS,)

    def cuGetErrorString(self, status):
        return LaunchStatus.CUDA_SUCCESS, b"in words"


@pytest.fixture
def driver(monkeypatch):
    driver = VariableDriver()
    monkeypatch.setattr(cuda, "_driver", lambda: driver)
    monkeypatch.setattr(DeviceVariables, "_reporting", [])
    return driver


def variables(driver, kernel):
    found = DeviceVariables(driver, cuda._check, kernel.manifest)
    found.find("module")
    return found


def report(number, block, element=-1):
    x, y, z = block
    first = 1 << 63 | y << 47 | x << 16 | number
    return struct.pack("<QQ", first, z << 48 | element + 1)


def test_manifests_have_prints_and_assertions():
    kernel = checked.compile("sm_90a")
    check_manifest(kernel.manifest)
    assert kernel.manifest["prints"] is True
    first, second = kernel.manifest["assertions"]
    assert first["message"].startswith("negative (test_device_variables.py:")
    assert first["shape"] == [16, 64]
    assert "shape" not in second
    for name in ("__tilews_printed", "__tilews_failure"):
        assert (
            f".visible .global .align 8 .{'b8' if 'pri' in name else 'u64'} {name}"
            in (kernel.ptx)
        )


def test_other_kernels_have_neither():
    kernel = plain.compile("sm_90a")
    assert not {"prints", "assertions"} & set(kernel.manifest)
    assert "__tilews" not in kernel.ptx


def test_a_saved_manifest_has_the_assertions(tmp_path):
    kernel = checked.compile("sm_90a")
    kernel.save(tmp_path / "checked.ptx", "ptx")
    saved = json.loads((tmp_path / "checked.json").read_text())
    check_manifest(saved)
    assert saved["assertions"] == kernel.manifest["assertions"]


def test_each_launch_sets_the_limit_on_its_stream(driver, monkeypatch):
    found = variables(driver, checked.compile("sm_90a"))
    monkeypatch.delenv("TILEWS_PRINT_LINES", raising=False)
    for text, limit in ((None, 1000), ("7", 7), ("0", 2**32 - 1)):
        if text:
            monkeypatch.setenv("TILEWS_PRINT_LINES", text)
        driver.calls.clear()
        found.prepare(5)
        assert driver.calls == [(4096, 0, 1, 5), (4100, limit, 1, 5)]
    monkeypatch.setenv("TILEWS_PRINT_LINES", "many")
    with pytest.raises(LaunchError, match="expected the number of lines"):
        found.prepare(5)


def test_kernels_without_prints_call_nothing(driver):
    variables(driver, plain.compile("sm_90a")).prepare(5)
    assert not driver.calls and not driver.stored
    assert not DeviceVariables._reporting


def test_an_error_of_the_driver_names_the_assertion(driver):
    variables(driver, checked.compile("sm_90a"))
    host = ctypes.addressof(driver.host)
    assert driver.stored == {8192: struct.pack("<Q", host + 1)}
    assert driver.host.raw == b"\0" * 16
    failed = (LaunchStatus.CUDA_ERROR_LAUNCH_FAILED,)
    with pytest.raises(runtime.BackendError, match="reported no assertion"):
        cuda._check("the launch", failed)
    driver.host.raw = report(0, (3, 2, 1), 64 * 5 + 7)
    text = (
        r"in words; .* assertion failed in kernel 'checked': negative "
        r"\(test_device_variables.py:\d+\), block \(3, 2, 1\), element \(5, 7\)"
    )
    with pytest.raises(runtime.BackendError, match=text):
        cuda._check("the launch", failed)


@pytest.mark.parametrize("block", [(0, 0, 0), (2**31 - 1, 65535, 65535)])
def test_reports(block):
    manifest = {"kernel": "k", "assertions": [{"message": "m"}]}
    text = f"assertion failed in kernel 'k': m, block {block}"
    assert describe_failure(manifest, report(0, block)) == text
    assert "unknown" in describe_failure(manifest, report(9, block))
    assert describe_failure(manifest, bytes(16)) is None


def test_a_report_without_its_second_word_has_the_block():
    first = report(0, (4, 3, 0), 5)[:8] + bytes(8)
    manifest = {"kernel": "k", "assertions": [{"message": "m", "shape": [8]}]}
    assert describe_failure(manifest, first).endswith("m, block (4, 3, 0)")


def test_ptx_reports_before_it_traps():
    ptx = checked.compile("sm_90a").ptx
    assert ptx.count("trap;") == 2
    assert ptx.count("atom.relaxed.sys") + ptx.count("atom.cas") >= 1
    assert ptx.count("fence.sc.sys") >= 1 or "membar.sys" in ptx


@pytest.mark.skipif(not compiler.find_ptxas(), reason="needs ptxas")
def test_ptxas_keeps_the_variables():
    assert b"__tilews_failure" in checked.compile("sm_90a").cubin
    assert device_variables.print_limit() is not None
