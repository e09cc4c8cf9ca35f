"""Kernels on NVIDIA GPUs, through the driver API of ``cuda-bindings``."""

from __future__ import annotations

import ctypes
import functools
import os
from typing import Any

from .._launch import Driver, LaunchFrame
from .device_variables import DeviceVariables, describe_failed_kernel
from .launch import Plan
from .launch_errors import BackendError
from .modules import CudaModule
from .tensor_maps import BYTES as TENSOR_MAP_BYTES
from .tensor_maps import TensorMap


@functools.cache
def _driver() -> Any:
    """The driver's module, initialized.

    Raises:
        BackendError: if the package, the driver or a device is missing.
    """
    try:
        from cuda.bindings import driver
    except ImportError as error:
        raise BackendError(
            "running on NVIDIA GPUs needs the package cuda-bindings: "
            f"pip install 'tilews[cuda]' ({error})"
        ) from error
    try:
        (status,) = driver.cuInit(0)
    except RuntimeError as error:
        raise BackendError(f"no NVIDIA driver on this machine: {error}") from error
    if status != driver.CUresult.CUDA_SUCCESS:
        raise BackendError(f"the NVIDIA driver cannot be used: {status.name}")
    return driver


@functools.cache
def _entry_points() -> Driver | None:
    """The driver's functions for launches without Python; None if one is missing."""
    # As cuda-bindings does, which names the default stream likewise.
    of_thread = os.environ.get("CUDA_PYTHON_CUDA_PER_THREAD_DEFAULT_STREAM", "0") != "0"
    suffix = "_ptsz" if of_thread else ""
    try:
        library = ctypes.CDLL("libcuda.so.1")
        addresses = [
            ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
            for name in (
                f"cuLaunchKernelEx{suffix}",
                "cuCtxGetCurrent",
                "cuCtxSetCurrent",
                f"cuStreamIsCapturing{suffix}",
                "cuTensorMapEncodeTiled",
            )
        ]
    except (OSError, AttributeError):
        return None
    return Driver(addresses, of_thread)


#: Errors of the driver that a kernel causes while it runs.
_FAILED_KERNEL = (
    *("ASSERT", "ILLEGAL_ADDRESS", "ILLEGAL_INSTRUCTION", "INVALID_ADDRESS_SPACE"),
    *("INVALID_PC", "LAUNCH_FAILED", "LAUNCH_TIMEOUT", "MISALIGNED_ADDRESS"),
    "HARDWARE_STACK_ERROR",
)


def _check(what: str, result: tuple[Any, ...]) -> Any:
    """The value of a call to the driver.

    Raises:
        BackendError: if the call failed.
    """
    status, *values = result
    if status != 0:
        driver = _driver()
        _, text = driver.cuGetErrorString(status)
        detail = text.decode() if text else ""
        text = f"{what} failed: {status.name} {detail}".rstrip()
        if status.name.removeprefix("CUDA_ERROR_") in _FAILED_KERNEL:
            text += describe_failed_kernel(DeviceVariables.find_failure())
        raise BackendError(text)
    return values[0] if values else None


def device_targets() -> list[str]:
    """The chip of each device, as in ``sm_90a``.

    Raises:
        BackendError: if the package or the driver is missing.
    """
    driver = _driver()
    targets = []
    for index in range(_check("cuDeviceGetCount", driver.cuDeviceGetCount())):
        device = _check("cuDeviceGet", driver.cuDeviceGet(index))
        attribute = driver.CUdevice_attribute
        major, minor = (
            _check("cuDeviceGetAttribute", driver.cuDeviceGetAttribute(which, device))
            for which in (
                attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
            )
        )
        # From Hopper on, a chip's own instructions come with the suffix.
        targets.append(f"sm_{major}{minor}" + ("a" if major >= 9 else ""))
    return targets


_TENSOR_MAP_TYPES = {
    "i8": "UINT8",
    "i16": "UINT16",
    "i32": "INT32",
    "i64": "INT64",
    "f16": "FLOAT16",
    "bf16": "BFLOAT16",
    "f32": "FLOAT32",
    "f64": "FLOAT64",
    "f8E4M3FN": "UINT8",
    **dict.fromkeys(("f8E5M2", "f8E8M0FNU", "f6E2M3FN", "f6E3M2FN"), "UINT8"),
}


@functools.cache
def _zeros(device: int) -> int:
    """The address of 256 bytes of zeros on a device, whose context is current.

    Tensor maps of empty arrays point there.
    """
    driver = _driver()
    address = _check("cuMemAlloc", driver.cuMemAlloc(256))
    _check("cuMemsetD8", driver.cuMemsetD8(address, 0, 256))
    return int(address)


class CudaFunction:
    """A kernel, loaded on one device."""

    def __init__(self, manifest: dict[str, Any], image: bytes, device: int) -> None:
        """Loads ``image``, a cubin or PTX, which the driver then compiles.

        Raises:
            BackendError: if the driver does not take it.
        """
        driver = self._driver = _driver()
        name = manifest["kernel"]
        self._device = device
        handle = _check("cuDeviceGet", driver.cuDeviceGet(device))
        self._context = _check(
            "cuDevicePrimaryCtxRetain", driver.cuDevicePrimaryCtxRetain(handle)
        )
        self._activate()
        self._module = CudaModule(driver, _check, self._context, manifest, image)
        self._function = self._module.function
        self._shared_bytes = manifest["shared_bytes"]
        self._block = tuple(manifest["block"])
        self._cluster = tuple(manifest["cluster"] or (1, 1, 1))
        self._set_attributes(name)

    def _set_attributes(self, name: str) -> None:
        attribute = self._driver.CUfunction_attribute
        settings = []
        if self._shared_bytes > 48 * 1024:
            which = attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            settings.append((which, self._shared_bytes))
        x, y, z = self._cluster
        if x * y * z > 8:
            which = attribute.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
            settings.append((which, 1))
        for which, value in settings:
            _check(
                f"setting {which.name} of kernel '{name}' to {value}",
                self._driver.cuFuncSetAttribute(self._function, which, value),
            )

    @functools.cached_property
    def native_frame(self) -> LaunchFrame | None:
        """What launches without Python need of the kernel; None if there are none."""
        points = _entry_points()
        if points is None or self._module.needs_preparation:
            return None
        return LaunchFrame(
            points,
            int(self._function),
            int(self._context),
            self._block,
            self._cluster,
            self._shared_bytes,
        )

    def raise_error(self, status: int) -> None:
        """Raises the error of a launch.

        Raises:
            BackendError: always.
        """
        _check("the launch", (self._driver.CUresult(status),))

    def zeros(self) -> int:
        """The address of what tensor maps of empty arrays describe."""
        self._activate()
        return _zeros(self._device)

    def _activate(self) -> None:
        """Makes the device's primary context, which torch and CuPy use as well, the
        current one."""
        driver = self._driver
        status, current = driver.cuCtxGetCurrent()
        if status != 0 or int(current) != int(self._context):
            _check("cuCtxSetCurrent", driver.cuCtxSetCurrent(self._context))

    def launch(self, plan: Plan, stream: int) -> None:
        """Starts the kernel on a stream.

        Raises:
            BackendError: if the driver refuses.
        """
        self._activate()
        for producer in plan.producers:
            self._wait_for(producer, stream)
        self._module.prepare(stream)
        for tensor_map in plan.tensor_maps:
            tensor_map.update(plan.values[tensor_map.slot], self._encode)
        if self._cluster != (1, 1, 1):
            self._launch_clusters(plan, stream)
            return
        (status,) = self._driver.cuLaunchKernel(
            self._function,
            *plan.grid,
            *self._block,
            self._shared_bytes,
            stream,
            plan.parameters_address,
            0,
        )
        if status != 0:
            _check("the launch", (status,))

    def _wait_for(self, producer: int, stream: int) -> None:
        """Orders what comes on `stream` after what is on `producer` now."""
        if producer == (stream or 1):  # 1 names the default stream, as 0 does.
            return
        driver = self._driver
        flags = driver.CUevent_flags.CU_EVENT_DISABLE_TIMING
        event = _check("cuEventCreate", driver.cuEventCreate(flags))
        try:
            _check("cuEventRecord", driver.cuEventRecord(event, producer))
            _check("cuStreamWaitEvent", driver.cuStreamWaitEvent(stream, event, 0))
        finally:
            driver.cuEventDestroy(event)

    def _encode(self, tensor_map: TensorMap, pointer: int) -> bytes:
        """The bytes of a tensor map of the array at ``pointer``.

        Raises:
            BackendError: if the driver refuses.
        """
        driver = self._driver
        if tensor_map.is_empty:
            pointer = _zeros(self._device)
        kinds = self.map_kinds(tensor_map)
        encoded = _check(
            f"encoding the tensor map of argument '{tensor_map.name}'",
            driver.cuTensorMapEncodeTiled(
                kinds["type"],
                len(tensor_map.extents),
                pointer,
                [driver.cuuint64_t(n) for n in tensor_map.extents],
                [driver.cuuint64_t(n) for n in tensor_map.strides],
                [driver.cuuint32_t(n) for n in tensor_map.box],
                [driver.cuuint32_t(n) for n in tensor_map.element_strides],
                kinds["interleave"],
                kinds["swizzle"],
                kinds["promotion"],
                kinds["fill"],
            ),
        )
        return ctypes.string_at(int(encoded.getPtr()), TENSOR_MAP_BYTES)

    def map_kinds(self, tensor_map: TensorMap) -> dict[str, Any]:
        """The driver's names for the properties of a tensor map."""
        driver = self._driver
        dtype = _TENSOR_MAP_TYPES[tensor_map.dtype]
        swizzle = f"{tensor_map.swizzle}B" if tensor_map.swizzle else "NONE"
        promotion = f"L2_{tensor_map.l2_promotion}B"
        return {
            "type": getattr(
                driver.CUtensorMapDataType, f"CU_TENSOR_MAP_DATA_TYPE_{dtype}"
            ),
            "interleave": driver.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
            "swizzle": getattr(
                driver.CUtensorMapSwizzle, f"CU_TENSOR_MAP_SWIZZLE_{swizzle}"
            ),
            "promotion": getattr(
                driver.CUtensorMapL2promotion, f"CU_TENSOR_MAP_L2_PROMOTION_{promotion}"
            ),
            "fill": driver.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        }

    def _launch_clusters(self, plan: Plan, stream: int) -> None:
        driver = self._driver
        attribute = driver.CUlaunchAttribute()
        attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        dimension = attribute.value.clusterDim
        dimension.x, dimension.y, dimension.z = self._cluster
        config = driver.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = plan.grid
        config.blockDimX, config.blockDimY, config.blockDimZ = self._block
        config.sharedMemBytes = self._shared_bytes
        config.hStream = stream
        config.attrs = [attribute]
        config.numAttrs = 1
        _check(
            "the launch",
            driver.cuLaunchKernelEx(config, self._function, plan.parameters_address, 0),
        )


def load_function(manifest: dict[str, Any], image: bytes, device: int) -> CudaFunction:
    """Loads `image`, a cubin or PTX, on a device.

    Raises:
        BackendError: if the package or the driver is missing, or refuses the image.
    """
    return CudaFunction(manifest, image, device)
