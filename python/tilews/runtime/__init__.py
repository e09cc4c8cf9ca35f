"""Running compiled kernels on GPUs.

Needs neither MLIR nor the compiler: a kernel is an object file and its launch
manifest. The drivers come with the extras ``tilews[cuda]`` and ``tilews[hip]``.
"""

from __future__ import annotations

import pathlib
import threading
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from .._launch import CallPlan
from .._support import files
from .._support.forks import make_locks
from .launch import Launcher, Plan
from .launch_errors import BackendError, LaunchError
from .manifest import read_manifest
from .native_plans import make_fixed_plan, make_launch_plan
from .pairs import pair, unpair
from .schema import show

__all__ = ["BackendError", "LaunchError", "LoadedKernel", "device_target", "load"]


def _backend(vendor: str) -> ModuleType:
    if vendor == "nvidia":
        from . import cuda

        return cuda
    from . import hip

    return hip


def device_target() -> str:
    """The chip of the first usable GPU of this machine; ``cpu`` if there is none."""
    for vendor in ("nvidia", "amd"):
        try:
            targets = _backend(vendor).device_targets()
        except BackendError:
            continue
        if targets:
            return targets[0]
    return "cpu"


def _library(args: Sequence[Any]) -> str:
    """The library whose current stream a launch with these arguments belongs on."""
    for arg in args:
        library = type(arg).__module__.partition(".")[0]
        if library in ("torch", "cupy"):
            return library
    return ""


def _current_stream(library: str, device: int) -> int:
    """The handle of the current stream of a library on a device.

    It is 0, the default stream, for libraries other than torch and CuPy.
    """
    if library == "torch":
        import torch

        return torch.cuda.current_stream(device).cuda_stream
    if library == "cupy":
        import cupy

        with cupy.cuda.Device(device):
            return cupy.cuda.get_current_stream().ptr
    return 0


def stream_handle(stream: Any) -> int:
    """The handle of a stream: a number, or an object of torch, CuPy or CUDA Python.

    Raises:
        LaunchError: if it is none of these.
    """
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    for attribute in ("cuda_stream", "ptr"):
        if hasattr(stream, attribute):
            return int(getattr(stream, attribute))
    try:
        return int(stream)
    except (TypeError, ValueError):
        raise LaunchError(
            f"expected a stream (torch, CuPy, CUDA Python or a handle), found "
            f"{stream!r}"
        ) from None


class LoadedKernel:
    """A compiled kernel that can be called.

    It is loaded on a device when it is first called with arrays there.
    """

    def __init__(self, manifest: dict[str, Any], image: bytes | str) -> None:
        """Takes a launch manifest and the object it belongs to.

        Args:
            manifest: the launch manifest.
            image: a cubin or PTX, or an HSACO; PTX may be text.

        Raises:
            LaunchError: if something is wrong in the manifest, if it is of other code,
                or if `image` is no code.
        """
        self._launcher = Launcher(manifest)
        self._manifest = dict(self._launcher.manifest)
        if not isinstance(image, (bytes, str)):
            raise LaunchError(
                f"the code: expected bytes or the text of PTX, found {show(image)}"
            )
        code = image.encode() if isinstance(image, str) else image
        self._image = unpair(code, self._manifest)
        self._manifest.pop("code_sha256", None)  # It is that of the file.
        self._backend = _backend(self._launcher.vendor)
        self._functions: dict[int, Any] = {}
        # A plan is shared by the calls that have like arguments.
        make_locks(self, LoadedKernel._make_lock)

    def _make_lock(self) -> None:
        self._lock = threading.Lock()

    def __copy__(self) -> LoadedKernel:
        return self  # Nothing that a user sees of it changes.

    def __deepcopy__(self, memo: dict[int, Any]) -> LoadedKernel:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # With the hashes that show damage when it is read again.
        image, manifest = pair(self._image, self._manifest)
        return (LoadedKernel, (manifest, image))

    @property
    def manifest(self) -> dict[str, Any]:
        """The launch manifest."""
        return self._manifest

    def __call__(
        self, *args: Any, grid: int | Sequence[int] | None = None, stream: Any = None
    ) -> None:
        """Checks the arguments and starts the kernel; does not wait for its end.

        Args:
            args: arrays on one GPU and scalars, as the kernel declares them.
            grid: blocks in up to three dimensions; by default as the kernel says.
            stream: a stream of torch, CuPy or CUDA Python, or its handle; by default
                the one that is current in the arrays' library.

        Raises:
            LaunchError: if an argument does not fit; nothing was started.
            BackendError: if the driver is missing or refuses.
        """
        self.plan_and_launch(args, grid, stream)

    @property
    def grid_numbers(self) -> list[int]:
        """The positions of the arguments whose values the grid depends on."""
        return self._launcher.grid_scalars

    def plan_and_launch(
        self, args: Sequence[Any], grid: int | Sequence[int] | None, stream: Any
    ) -> Plan:
        """As a call, and returns the plan, for :meth:`launch`."""
        with self._lock:
            plan = self._launcher.prepare(args, grid)
            self._start(plan, args, stream)
        return plan

    def launch(
        self, plan: Plan, args: Sequence[Any], pointers: Sequence[int], stream: Any
    ) -> None:
        """Starts the kernel by a plan that was made for like arguments.

        Args:
            plan: the plan.
            args: the arguments.
            pointers: the addresses of the arrays among them.
            stream: as for a call.

        Raises:
            LaunchError, BackendError: as for a call.
        """
        with self._lock:
            self._launcher.fill(plan, args, pointers)
            self._start(plan, args, stream)

    def make_native(self, plan: Plan, positions: Sequence[int]) -> CallPlan | None:
        """A plan that launches without Python; None if there can be none.

        Args:
            plan: of a launch of this kernel.
            positions: where each argument of the kernel is among those of a call.
        """
        function = self._functions.get(plan.device or 0)
        return make_launch_plan(
            self._launcher, plan, function, positions, stream_handle
        )

    def make_fixed(
        self, plan: Plan, args: Sequence[Any], places: Sequence[int]
    ) -> CallPlan | None:
        """As :meth:`make_native`, with the numbers of this launch.

        Args:
            plan: of a launch of this kernel.
            args: the kernel's arguments.
            places: where each array among them is among the arguments of a call.
        """
        function = self._functions.get(plan.device or 0)
        return make_fixed_plan(
            self._launcher, plan, function, args, places, stream_handle
        )

    def _start(self, plan: Plan, args: Sequence[Any], stream: Any) -> None:
        """Starts the kernel, which is loaded first if need be."""
        if plan.is_empty:
            return
        device = plan.device or 0
        function = self._functions.get(device)
        if function is None:
            function = self._backend.load_function(self._manifest, self._image, device)
            self._functions[device] = function
        if stream is None:
            handle = _current_stream(_library(args), device)
        else:
            handle = stream_handle(stream)
        function.launch(plan, handle)


def load(
    path: str | pathlib.Path, manifest: str | pathlib.Path | None = None
) -> LoadedKernel:
    """Loads a kernel that ``tilews compile`` wrote.

    Args:
        path: the cubin, PTX or HSACO.
        manifest: its launch manifest; by default the file of the same name that ends
            in ``.json``.

    Raises:
        OSError: if a file cannot be read.
        LaunchError: if something is wrong in the manifest, if it is of other code, or
            if a path names no file.
    """
    for given in (path, manifest):
        if given is not None and not files.has_name(given):
            raise LaunchError(f"load: expected the path of a file, found {show(given)}")
    path = pathlib.Path(path)
    manifest = path.with_suffix(".json") if manifest is None else pathlib.Path(manifest)
    return LoadedKernel(read_manifest(manifest), files.read(path))
