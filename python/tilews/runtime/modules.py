"""Modules on GPUs: loaded for kernels, unloaded after the kernels are garbage.

Python collects garbage in any thread and at any time: while a stream is captured, in
a thread with another context, at the end of the process. So a module without a kernel
only goes to a list. The next load of a module, or the next launch, unloads what is
there. At the end of the process nothing is unloaded: the driver frees all modules.
"""

from __future__ import annotations

import os
import weakref
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from .device_variables import DeviceVariables
from .launch_errors import BackendError


@dataclass
class _OnNvidia:
    """What is left of a module of CUDA when its kernel is garbage."""

    driver: Any
    context: Any
    handle: Any = None
    variables: DeviceVariables | None = None

    def unload(self) -> None:
        """Unloads the module; the driver waits until its kernels have run.

        Errors of the driver are those of earlier launches, or say that the context is
        gone. The next call that a user makes reports them.
        """
        driver = self.driver
        (status,) = driver.cuCtxPushCurrent(self.context)
        if status != 0:
            return
        # In the other modes, an unload fails captures in other threads.
        relaxed = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        status, mode = driver.cuThreadExchangeStreamCaptureMode(relaxed)
        try:
            (failed,) = driver.cuModuleUnload(self.handle)
            if failed == 0 and self.variables is not None:
                self.variables.free()
        finally:
            if status == 0:
                driver.cuThreadExchangeStreamCaptureMode(mode)
            driver.cuCtxPopCurrent()


@dataclass
class _OnAmd:
    """What is left of a module of HIP when its kernel is garbage."""

    runtime: Any
    #: The runtime reads this memory as long as the module is loaded.
    image: bytes
    handle: Any = None
    variables: DeviceVariables | None = None

    def unload(self) -> None:
        """Unloads the module; the runtime keeps the code of kernels that still run.

        It does so whatever device is the current one, and while streams are captured.
        An error of an earlier launch is reported by the next call that a user makes.
        """
        (failed,) = self.runtime.hipModuleUnload(self.handle)
        if failed == 0 and self.variables is not None:
            self.variables.free()


#: Modules whose kernels are garbage.
_unused: deque[_OnNvidia | _OnAmd] = deque()


def waiting() -> deque[_OnNvidia | _OnAmd]:
    """The modules of kernels that are garbage."""
    return _unused


def unload_unused() -> None:
    """Unloads the modules of kernels that are garbage."""
    while _unused:
        try:
            module = _unused.popleft()
        except IndexError:  # Another thread was faster.
            return
        module.unload()


class _LoadedModule(ABC):
    """A module, unloaded some time after this object is garbage."""

    #: Default streams, which no graph captures: a question takes 10 % of a launch.
    _never_captured: ClassVar[tuple[int, ...]] = (0, 1)

    def __init__(
        self,
        check: Callable[[str, tuple[Any, ...]], Any],
        manifest: dict[str, Any],
        left: _OnNvidia | _OnAmd,
        load: Callable[[], tuple[Any, ...]],
        find: Callable[[Any, bytes], tuple[Any, ...]],
    ) -> None:
        """Loads a module and finds its kernel.

        Args:
            check: takes what is done and the result of a call; returns the value.
            manifest: of the kernel.
            left: what will be left of the module; gets its handle.
            load: loads the module.
            find: finds the function of that name in the module.
        """
        unload_unused()
        name = manifest["kernel"]
        left.handle = check(
            f"loading kernel '{name}' for {manifest['target']['chip']}", load()
        )
        self._finalizer = weakref.finalize(self, _unused.append, left)
        self._finalizer.atexit = False
        self.function = check(
            f"finding kernel '{name}'", find(left.handle, name.encode())
        )

    def prepare(self, stream: int) -> None:
        """Prepares a launch on a stream.

        A graph that captures the launch may run it after the kernel is garbage, so the
        module then stays loaded.
        """
        if stream not in self._never_captured and self._is_captured(stream):
            self._finalizer.detach()
        elif _unused:
            unload_unused()

    @abstractmethod
    def _is_captured(self, stream: int) -> bool:
        """Whether a graph captures what comes on a stream."""


class CudaModule(_LoadedModule):
    """A module in a context of CUDA."""

    # With the variable, cuda-bindings takes 0 for the default stream of the thread,
    # which may be captured.
    if os.environ.get("CUDA_PYTHON_CUDA_PER_THREAD_DEFAULT_STREAM", "0") != "0":
        _never_captured = (1,)

    def __init__(
        self,
        driver: Any,
        check: Callable[[str, tuple[Any, ...]], Any],
        context: Any,
        manifest: dict[str, Any],
        image: bytes,
    ) -> None:
        """Loads ``image``, a cubin or PTX, into the current context.

        Args:
            driver: the driver's module.
            check: takes what is done and the result of a call; returns the value.
            context: the current context.
            manifest: of the kernel.
            image: the code.

        Raises:
            BackendError: the driver refuses.
        """
        self._driver = driver
        # The driver expects PTX as a string that ends with a zero.
        data = image if image.startswith(b"\x7fELF") else image + b"\0"
        left = _OnNvidia(driver, context)
        super().__init__(
            check,
            manifest,
            left,
            lambda: driver.cuModuleLoadData(data),
            driver.cuModuleGetFunction,
        )
        self.variables = left.variables = DeviceVariables(driver, check, manifest)
        self.variables.find(left.handle)

    def prepare(self, stream: int) -> None:
        super().prepare(stream)
        self.variables.prepare(stream)

    def _is_captured(self, stream: int) -> bool:
        status, found = self._driver.cuStreamIsCapturing(stream)
        none = self._driver.CUstreamCaptureStatus.CU_STREAM_CAPTURE_STATUS_NONE
        return bool(status != 0 or found != none)

    @property
    def needs_preparation(self) -> bool:
        """Whether a launch needs more than a stream that no graph captures."""
        return self.variables.are_set_by_launches


class HipModule(_LoadedModule):
    """A module on a device of HIP."""

    def __init__(
        self,
        runtime: Any,
        check: Callable[[str, tuple[Any, ...]], Any],
        manifest: dict[str, Any],
        image: bytes,
    ) -> None:
        """Loads ``image``, an HSACO, on the current device.

        Args:
            runtime: HIP's module.
            check: takes what is done and the result of a call; returns the value.
            manifest: of the kernel.
            image: the code.

        Raises:
            BackendError: the runtime refuses.
        """
        self._runtime = runtime
        left = _OnAmd(runtime, image)
        super().__init__(
            check,
            manifest,
            left,
            lambda: runtime.hipModuleLoadData(image),
            runtime.hipModuleGetFunction,
        )
        variables = left.variables = DeviceVariables(runtime, check, manifest)
        variables.find(left.handle)
        #: What the kernel prints; None if it does not print.
        self.records = variables.records
        self._name = manifest["kernel"]

    def prepare(self, stream: int) -> None:
        """Prepares a launch on a stream.

        Raises:
            BackendError: the kernel prints, and a graph captures the launch.
        """
        if (
            self.records is not None
            and stream not in self._never_captured
            and self._is_captured(stream)
        ):
            raise BackendError(
                f"kernel '{self._name}' prints, and its launch waits for what it "
                "prints, so that no graph can capture it on an AMD GPU; remove "
                "tl.print, or launch the kernel outside of the capture"
            )
        super().prepare(stream)

    def _is_captured(self, stream: int) -> bool:
        status, found = self._runtime.hipStreamIsCapturing(stream)
        none = self._runtime.hipStreamCaptureStatus.hipStreamCaptureStatusNone
        return bool(status != 0 or found != none)
