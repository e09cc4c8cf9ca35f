"""A GPU and a torch that are not there, for the time of a call on the host.

Tensors have addresses and no memory. DLPack's C functions read them, and the driver
accepts each launch: see ``programs/FakeTorch.cpp``, which the C++ compiler of this
machine compiles.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib.util
import itertools
import math
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import types
from collections.abc import Iterator
from typing import Any
from unittest import mock

from tilews import _launch
from tilews._support.make_cache import MakeCache
from tilews.dispatch import Kernel
from tilews.kernels import scratch
from tilews.runtime import cuda
from tilews.runtime.arrays import row_major

_SOURCE = pathlib.Path(__file__).parent / "programs/FakeTorch.cpp"
_HEADERS = pathlib.Path(__file__).parents[2] / "lib/Bindings/Launch"
#: Types of elements: DLPack's code and bits.
_TYPES = {
    "float16": (2, 16),
    "bfloat16": (4, 16),
    "float32": (2, 32),
    "int32": (0, 32),
    "int64": (0, 64),
    "float8_e4m3fn": (10, 8),
}


def _build() -> types.ModuleType:
    """Compiles the module and imports it."""
    compilers = (os.environ.get("CXX"), "c++", "clang++-22", "clang++", "g++")
    compiler = next(filter(None, map(shutil.which, filter(None, compilers))), None)
    if compiler is None:
        raise RuntimeError("a C++ compiler is needed: install g++, or set CXX")
    with tempfile.TemporaryDirectory() as folder:
        suffix = sysconfig.get_config_var("EXT_SUFFIX")
        path = pathlib.Path(folder) / f"FakeTorch{suffix}"
        include = sysconfig.get_path("include")
        subprocess.run(
            [
                *(compiler, "-O2", "-fPIC", "-shared", "-std=c++17", _SOURCE),
                *("-I", include, "-I", _HEADERS, "-o", path),
            ],
            check=True,
        )
        spec = importlib.util.spec_from_file_location("FakeTorch", path)
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


native = _build()


class ElementType:
    """An element type of torch."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"


class TorchDevice:
    """A GPU of torch."""

    type = "cuda"

    def __init__(self, index: int) -> None:
        self.index = index


DTYPES = {name: ElementType(name) for name in _TYPES}
_DEVICES = [TorchDevice(index) for index in range(2)]
_addresses = itertools.count(1 << 32, 1 << 26)


class ExchangedTensor(native.Tensor):  # type: ignore[misc, name-defined]
    """A tensor of torch without elements in memory."""

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: str = "float32",
        address: int | None = None,
        strides: tuple[int, ...] | None = None,
        device: int = 0,
    ) -> None:
        self.shape = tuple(shape)
        self.dtype = DTYPES[dtype]
        self.device = _DEVICES[device]
        self._strides = row_major(self.shape) if strides is None else strides
        address = next(_addresses) if address is None else address
        super().__init__(address, self.shape, self._strides, *_TYPES[dtype], device)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def stride(self) -> tuple[int, ...]:
        return self._strides

    def __len__(self) -> int:
        return self.shape[0]

    def is_contiguous(self) -> bool:
        return self._strides == row_major(self.shape)

    def reshape(self, *shape: Any) -> ExchangedTensor:
        wanted = shape[0] if isinstance(shape[0], tuple) else shape
        if -1 in wanted:
            rest = math.prod(extent for extent in wanted if extent != -1)
            size = math.prod(self.shape) // rest
            wanted = tuple(size if extent == -1 else extent for extent in wanted)
        return ExchangedTensor(
            wanted, self.dtype.name, self.address, None, self.device.index
        )


ExchangedTensor.__module__ = "torch"


def empty(shape: Any, dtype: ElementType, device: TorchDevice) -> ExchangedTensor:
    return ExchangedTensor(tuple(shape), dtype.name, device=device.index)


def make_torch() -> types.SimpleNamespace:
    """The module torch."""
    return types.SimpleNamespace(
        version=types.SimpleNamespace(hip=None),
        cuda=types.SimpleNamespace(
            current_device=lambda: 0,
            current_stream=lambda device=None: types.SimpleNamespace(cuda_stream=0),
            device=lambda device: contextlib.nullcontext(),
            stream=lambda stream: contextlib.nullcontext(),
            ExternalStream=lambda handle, device: None,
            is_current_stream_capturing=lambda: False,
        ),
        empty=empty,
        zeros=empty,
        **DTYPES,
    )


class DriverNames:
    """An enumeration of the driver in which each name has its place as number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __getattr__(self, name: str) -> int:
        return self._numbers.setdefault(name, len(self._numbers))


class IdleDriver:
    """The driver's module of cuda-bindings, for one Hopper GPU after the other."""

    def __init__(self) -> None:
        self.CUdevice_attribute = types.SimpleNamespace(
            CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR=9,
            CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR=0,
            CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT=132,
        )
        self.CUtensorMapDataType = DriverNames()
        self.CUtensorMapInterleave = DriverNames()
        self.CUtensorMapSwizzle = DriverNames()
        self.CUtensorMapL2promotion = DriverNames()
        self.CUtensorMapFloatOOBfill = DriverNames()
        self.CUfunction_attribute = types.SimpleNamespace(
            CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES=_named("shared"),
            CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED=_named("cluster"),
        )
        self.CUstreamCaptureMode = types.SimpleNamespace(
            CU_STREAM_CAPTURE_MODE_RELAXED=2
        )
        self.CUstreamCaptureStatus = types.SimpleNamespace(
            CU_STREAM_CAPTURE_STATUS_NONE=0
        )
        self.launches: list[tuple[Any, ...]] = []
        self.loaded = 0
        self.unloaded = 0

    @staticmethod
    def CUresult(status: int) -> Any:
        return type("Status", (int,), {"name": f"CUDA_ERROR_{status}"})(status)

    def cuDeviceGetCount(self) -> tuple[int, int]:
        return 0, len(_DEVICES)

    def cuDeviceGet(self, index: int) -> tuple[int, int]:
        return 0, index

    def cuDeviceGetAttribute(self, which: int, device: int) -> tuple[int, int]:
        return 0, which

    def cuDevicePrimaryCtxRetain(self, device: int) -> tuple[int, int]:
        return 0, device + 1

    def cuCtxGetCurrent(self) -> tuple[int, int]:
        return 0, 1

    def cuCtxSetCurrent(self, context: int) -> tuple[int]:
        return (0,)

    def cuCtxPushCurrent(self, context: int) -> tuple[int]:
        return (0,)

    def cuCtxPopCurrent(self) -> tuple[int, int]:
        return 0, 1

    def cuThreadExchangeStreamCaptureMode(self, mode: int) -> tuple[int, int]:
        return 0, mode

    def cuModuleLoadData(self, data: bytes) -> tuple[int, int]:
        self.loaded += 1
        return 0, self.loaded

    def cuModuleGetFunction(self, module: int, name: bytes) -> tuple[int, int]:
        return 0, 1000 + module

    def cuModuleUnload(self, module: int) -> tuple[int]:
        self.unloaded += 1
        return (0,)

    def cuFuncSetAttribute(self, *arguments: Any) -> tuple[int]:
        return (0,)

    def cuMemAlloc(self, size: int) -> tuple[int, int]:
        return 0, 1 << 30

    def cuMemsetD8(self, *arguments: Any) -> tuple[int]:
        return (0,)

    def cuStreamIsCapturing(self, stream: int) -> tuple[int, int]:
        return 0, 0

    def cuGetErrorString(self, status: int) -> tuple[int, bytes]:
        return 0, b"in words"

    def cuuint64_t(self, number: int) -> int:
        return number

    def cuuint32_t(self, number: int) -> int:
        return number

    def cuTensorMapEncodeTiled(self, *arguments: Any) -> tuple[int, Any]:
        encoded = ctypes.create_string_buffer(128)
        address = ctypes.addressof(encoded)
        return 0, types.SimpleNamespace(getPtr=lambda: (address, encoded)[0])

    def cuLaunchKernel(self, *arguments: Any) -> tuple[int]:
        self.launches.append(arguments)
        return (0,)

    def cuLaunchKernelEx(self, *arguments: Any) -> tuple[int]:
        self.launches.append(arguments)
        return (0,)


def _named(name: str) -> types.SimpleNamespace:
    return types.SimpleNamespace(name=name)


@contextlib.contextmanager
def installed(
    points: tuple[int, ...] | None = None, driver: IdleDriver | None = None
) -> Iterator[IdleDriver]:
    """Puts the device and torch in place; gives the driver's module.

    Args:
        points: addresses of other functions of the driver.
        driver: another module.
    """
    driver = driver or IdleDriver()
    table = _launch.Driver(points or native.driver(), False)
    with (
        mock.patch.object(cuda, "_driver", lambda: driver),
        mock.patch.object(cuda, "_entry_points", lambda: table),
        _as_torch(make_torch()),
    ):
        try:
            _forget_kernels()
            yield driver
        finally:
            _forget_kernels()


def _forget_kernels() -> None:
    """Drops what was loaded on another driver."""
    cuda._zeros.cache_clear()
    scratch._tickets.clear()
    for each in gc.get_objects():
        if isinstance(each, _launch.HotCall):
            each._drop_plans()
        if isinstance(each, Kernel) and hasattr(each, "_plans"):
            each._plans = each._specializer.make_plans()
            each._compiled, each._called = MakeCache(256), MakeCache(256)


@contextlib.contextmanager
def _as_torch(module: Any) -> Iterator[None]:
    """Lets `import torch` find a module. Other modules that are imported stay."""
    before = sys.modules.get("torch")
    sys.modules["torch"] = module
    try:
        yield
    finally:
        del sys.modules["torch"]
        if before is not None:
            sys.modules["torch"] = before
