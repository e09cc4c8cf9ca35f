"""What a launch shares with a kernel on a GPU: lines printed, and failures.

The compiler adds the variables to kernels that have prints or assertions
(``lib/Conversion/Common/DeviceVariables.cpp``), and the manifest says so.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from .launch_errors import LaunchError

if TYPE_CHECKING:
    from .print_records import PrintRecords

#: Lines that one run prints, unless the variable TILEWS_PRINT_LINES says otherwise.
_MOST_LINES = 1000
#: A limit that no run reaches.
_NO_LIMIT = 2**32 - 1
#: The variable with the address of the report of a failure.
FAILURE_VARIABLE = "__tilews_failure"
REPORT_BYTES = 16

#: What the functions and flags are called in the driver of each vendor.
_NAMES = {
    "nvidia": {
        "find": "cuModuleGetGlobal",
        "allocate": "cuMemHostAlloc",
        "map": "cuMemHostGetDevicePointer",
        "copy": "cuMemcpyHtoD",
        "set": "cuMemsetD32Async",
        "free": "cuMemFreeHost",
        "flags": "CU_MEMHOSTALLOC_PORTABLE CU_MEMHOSTALLOC_DEVICEMAP",
    },
    "amd": {
        "find": "hipModuleGetGlobal",
        "allocate": "hipHostMalloc",
        "map": "hipHostGetDevicePointer",
        "copy": "hipMemcpyHtoD",
        # The GPU writes coherent memory while a kernel runs, not at its end.
        "flags": "hipHostMallocPortable hipHostMallocMapped hipHostMallocCoherent",
    },
}


def print_limit() -> int | None:
    """How many lines a run prints; None for any number.

    Raises:
        LaunchError: the variable TILEWS_PRINT_LINES is no number.
    """
    text = os.environ.get("TILEWS_PRINT_LINES", str(_MOST_LINES))
    if not text.isdecimal():
        raise LaunchError(
            "TILEWS_PRINT_LINES: expected the number of lines that a run prints, "
            f"or 0 for any number, found {text!r}"
        )
    return int(text) or None


def describe_failure(manifest: dict[str, Any], report: bytes) -> str | None:
    """Says which assertion failed where; None if none did.

    Args:
        manifest: of the kernel.
        report: two words of 64 bits, as the kernel writes them.
    """
    first, second = struct.unpack("<QQ", report)
    if not first >> 63:
        return None
    block = (first >> 16 & 0x7FFFFFFF, first >> 47 & 0xFFFF, second >> 48)
    number, element = first & 0xFFFF, (second & (1 << 48) - 1) - 1
    assertions = manifest["assertions"]
    known = assertions[number] if number < len(assertions) else {"message": "unknown"}
    text = f"assertion failed in kernel '{manifest['kernel']}': {known['message']}"
    text += f", block {block}"
    if element >= 0 and "shape" in known:
        place = []
        for extent in reversed(known["shape"]):
            element, coordinate = divmod(element, extent)
            place.append(coordinate)
        text += f", element ({', '.join(map(str, reversed(place)))})"
    return text


class DeviceVariables:
    """The variables of a kernel that is loaded on a device."""

    #: Those of all kernels with assertions that may still run: a failure ends all
    #: kernels of a device.
    _reporting: ClassVar[list[DeviceVariables]] = []
    #: The memory for prints on AMD GPUs, allocated once and never freed.
    _record_memory: ClassVar[int | None] = None

    def __init__(
        self,
        driver: Any,
        check: Callable[[str, tuple[Any, ...]], Any],
        manifest: dict[str, Any],
    ) -> None:
        """Describes the variables; :meth:`find` finds them.

        Args:
            driver: the driver's module.
            check: takes what is done and the result of a call; returns the value.
            manifest: of the kernel.
        """
        self._driver, self._check, self._manifest = driver, check, manifest
        self._names = _NAMES[manifest["target"]["vendor"]]
        self._printed: int | None = None
        self._report: int | None = None
        #: What the kernel prints on an AMD GPU; None if it does not print.
        self.records: PrintRecords | None = None

    def find(self, module: Any) -> None:
        """Finds the variables in a module that was loaded.

        If the driver refuses, :meth:`free` frees what was allocated.

        Raises:
            BackendError: the driver refuses.
        """
        if self._manifest.get("print_records"):
            self._make_records(module)
        if self._manifest.get("prints"):
            self._printed = self._address(module, "__tilews_printed")
        if self._manifest.get("assertions"):
            self._make_report(module)

    def _call(self, what: str, *arguments: Any) -> tuple[Any, ...]:
        """The result of a function of the driver."""
        result: tuple[Any, ...] = getattr(self._driver, self._names[what])(*arguments)
        return result

    def _get(self, what: str, *arguments: Any) -> Any:
        """The value of a function of the driver.

        Raises:
            BackendError: the driver refuses.
        """
        return self._check(self._names[what], self._call(what, *arguments))

    def _address(self, module: Any, name: str) -> int:
        status, address, _ = self._call("find", module, name.encode())
        return int(self._check(f"finding the variable {name}", (status, address)))

    def _make_report(self, module: Any) -> None:
        """Gives the kernel memory of the host, which can be read after a trap.

        HIP refuses the copy while any stream is captured, in each capture mode, and
        the capture fails then.
        """
        address = self._address(module, FAILURE_VARIABLE)
        self._report = self._allocate(REPORT_BYTES)
        ctypes.memset(self._report, 0, REPORT_BYTES)
        self._reporting.append(self)
        self._store_mapped(address, self._report)

    def _make_records(self, module: Any) -> None:
        """Gives the kernel the memory of the host for what it prints."""
        import numpy as np

        from .print_records import MEMORY_WORDS, RECORDS_VARIABLE, PrintRecords

        address = self._address(module, RECORDS_VARIABLE)
        if DeviceVariables._record_memory is None:
            DeviceVariables._record_memory = self._allocate(8 * MEMORY_WORDS)
        host = DeviceVariables._record_memory
        words = memoryview((ctypes.c_uint64 * MEMORY_WORDS).from_address(host))
        memory = np.frombuffer(words, np.uint64)
        self.records = PrintRecords(self._manifest, memory)
        self._store_mapped(address, host)

    def _allocate(self, size: int) -> int:
        """Allocates memory of the host that the GPU accesses."""
        flags = self._names["flags"].split()
        flag = sum(getattr(self._driver, each) for each in flags)
        return int(self._get("allocate", size, flag))

    def _store_mapped(self, variable: int, host: int) -> None:
        """Stores the address that memory of the host has on the GPU."""
        mapped = self._get("map", host, 0)
        self._get("copy", variable, struct.pack("<Q", int(mapped)), 8)

    @property
    def are_set_by_launches(self) -> bool:
        """Whether each launch has to set a variable: see :meth:`prepare`."""
        return self._printed is not None

    def prepare(self, stream: int) -> None:
        """Lets the next launch on a stream print as many lines as a run may.

        Raises:
            LaunchError: the variable TILEWS_PRINT_LINES is no number.
            BackendError: the driver refuses.
        """
        if self._printed is None:
            return
        limit = print_limit()
        words = (0, _NO_LIMIT if limit is None else min(limit, _NO_LIMIT))
        for place, word in enumerate(words):
            self._get("set", self._printed + 4 * place, word, 1, stream)

    def free(self) -> None:
        """Frees the memory of the host; the module has been unloaded.

        On AMD the memory stays. HIP's unload does not wait for kernels that still run,
        and these may write their report after it. Also, HIP frees the host's memory
        only after all kernels of the device, which breaks captures in other threads.
        """
        if self._report is None or "free" not in self._names:
            return
        self._reporting.remove(self)
        self._call("free", self._report)
        self._report = None

    @classmethod
    def find_failure(cls) -> str | None:
        """Says which assertion of which kernel failed; None if none did."""
        for variables in tuple(cls._reporting):
            if variables._report is None:  # Another thread has freed it.
                continue
            report = ctypes.string_at(variables._report, REPORT_BYTES)
            if text := describe_failure(variables._manifest, report):
                return text
        return None


def describe_failed_kernel(failure: str | None) -> str:
    """The end of an error of a driver that a kernel caused while it ran.

    Args:
        failure: of an assertion; None if none was reported.
    """
    return (
        "; a kernel that was started before failed, and every later call fails "
        f"with it: {failure or 'it reported no assertion that did not hold'}; "
        "the program has to be started again"
    )
