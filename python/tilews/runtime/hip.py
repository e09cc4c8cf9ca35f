"""Kernels on AMD GPUs, through the HIP runtime of ``hip-python``."""

from __future__ import annotations

import functools
from typing import Any

from .device_variables import DeviceVariables, describe_failed_kernel
from .launch import Plan
from .launch_errors import BackendError
from .modules import HipModule


@functools.cache
def _runtime() -> Any:
    """The runtime's module, initialized.

    Raises:
        BackendError: if the package, the driver or a device is missing.
    """
    try:
        from hip import hip
    except ImportError as error:
        raise BackendError(
            "running on AMD GPUs needs the package hip-python: "
            f"pip install 'tilews[hip]' ({error})"
        ) from error
    try:
        (status,) = hip.hipInit(0)
    except RuntimeError as error:
        raise BackendError(f"no ROCm on this machine: {error}") from error
    if status != hip.hipError_t.hipSuccess:
        raise BackendError(f"the AMD driver cannot be used: {status.name}")
    return hip


#: Errors of the runtime that a kernel causes while it runs.
_FAILED_KERNEL = (
    *("hipErrorAssert", "hipErrorIllegalAddress", "hipErrorLaunchFailure"),
    *("hipErrorLaunchTimeOut", "hipErrorPriorLaunchFailure"),
)


def _check(what: str, result: tuple[Any, ...]) -> Any:
    """The value of a call to the runtime.

    Raises:
        BackendError: if the call failed.
    """
    status, *values = result
    if status != 0:
        text = f"{what} failed: {status.name}"
        failure = DeviceVariables.find_failure()
        if failure or status.name in _FAILED_KERNEL:
            text += describe_failed_kernel(failure)
        raise BackendError(text)
    return values[0] if values else None


def device_targets() -> list[str]:
    """The chip of each device, as in ``gfx942``.

    Raises:
        BackendError: if the package or the runtime is missing.
    """
    hip = _runtime()
    targets = []
    for index in range(_check("hipGetDeviceCount", hip.hipGetDeviceCount())):
        properties = _check("hipGetDeviceProperties", hip.hipGetDeviceProperties(index))
        # The features of the chip follow after a colon.
        targets.append(properties.gcnArchName.partition(":")[0])
    return targets


class HipFunction:
    """A kernel, loaded on one device."""

    def __init__(self, manifest: dict[str, Any], image: bytes, device: int) -> None:
        """Loads ``image``, an HSACO.

        Raises:
            BackendError: if the runtime does not take it.
        """
        hip = self._hip = _runtime()
        self._device = device
        self._activate()
        self._module = HipModule(hip, _check, manifest, image)
        self._shared_bytes = manifest["shared_bytes"]
        self._block = tuple(manifest["block"])

    def _activate(self) -> None:
        _check("hipSetDevice", self._hip.hipSetDevice(self._device))

    def launch(self, plan: Plan, stream: int) -> None:
        """Starts the kernel on a stream; waits for one that prints, and shows it.

        Raises:
            BackendError: if the runtime refuses.
        """
        self._activate()
        self._module.prepare(stream)
        if self._module.records is None:
            self._start(plan, stream)
            return
        with self._module.records:
            self._start(plan, stream)
            _check(
                "waiting for what the kernel prints",
                self._hip.hipStreamSynchronize(stream or None),
            )

    def _start(self, plan: Plan, stream: int) -> None:
        result = self._hip.hipModuleLaunchKernel(
            self._module.function,
            *plan.grid,
            *self._block,
            self._shared_bytes,
            stream or None,
            plan.parameters_address,
            None,
        )
        _check("the launch", result)


def load_function(manifest: dict[str, Any], image: bytes, device: int) -> HipFunction:
    """Loads `image`, an HSACO, on a device.

    Raises:
        BackendError: if the package or the driver is missing, or refuses the image.
    """
    return HipFunction(manifest, image, device)
