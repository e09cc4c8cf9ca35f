"""Launches compiled kernels on the simulator, with the arguments of a call."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...runtime.arrays import describe
from ...runtime.device_variables import (
    FAILURE_VARIABLE,
    REPORT_BYTES,
    describe_failure,
)
from ...runtime.launch import Launcher, get_span
from ...runtime.print_records import MEMORY_WORDS, RECORDS_VARIABLE, PrintRecords
from .cycle_model import get_times
from .machine import KernelTrap, Simulator
from .memory import HostMemory
from .recording import Recording

if TYPE_CHECKING:
    from ...compiler import CompiledKernel


def launch(
    compiled: CompiledKernel,
    arguments: Sequence[Any],
    seed: int = 0,
    *,
    policy: str = "random",
    grid: int | Sequence[int] | None = None,
) -> Simulator:
    """Executes the machine code of a kernel that was compiled for an AMD chip.

    Args:
        compiled: the kernel.
        arguments: as in a call of the kernel, with arrays in host memory, which are
            updated.
        seed: for the order of waves, and of memory accesses if the policy is
            ``random``.
        policy: when memory accesses are performed: see :class:`Simulator`.
        grid: blocks in up to three dimensions; by default as the kernel says.

    Returns:
        The simulator, which knows the instructions that were executed.

    Raises:
        CompileError: the kernel was compiled for a chip of another vendor.
        LaunchError: an argument does not fit; nothing was run.
        MachineError: the code breaks a rule, or has an instruction that is not
            simulated.
        KernelTrap: an assertion of the kernel does not hold.
    """
    simulator = Simulator(compiled.hsaco, seed, policy)
    _start(simulator, compiled.manifest, arguments, grid)
    return simulator


def record(
    compiled: CompiledKernel,
    arguments: Sequence[Any],
    block: tuple[int, int, int] = (0, 0, 0),
    *,
    grid: int | Sequence[int] | None = None,
) -> Recording:
    """Executes one block of a kernel, and returns what its waves executed.

    Args:
        compiled: the kernel.
        arguments: as for :func:`launch`.
        block: the block, which has to be one of the grid.
        grid: as for :func:`launch`.

    Raises:
        ValueError: the grid has no such block.
        MachineError: there is no cycle model of the chip, or as for :func:`launch`.
        CompileError, LaunchError, KernelTrap: as for :func:`launch`.
    """
    simulator = Simulator(compiled.hsaco)
    get_times(simulator.code.chip)
    simulator.recording = Recording(simulator.code.chip)
    _start(simulator, compiled.manifest, arguments, grid, block)
    return simulator.recording


def _start(
    simulator: Simulator,
    manifest: dict[str, Any],
    arguments: Sequence[Any],
    grid: int | Sequence[int] | None,
    only: tuple[int, int, int] | None = None,
) -> None:
    """Checks the arguments, runs all blocks, or `only` one, and shows their prints."""
    plan = Launcher(manifest, "cpu").prepare(arguments, grid)
    if only and not all(0 <= i < n for i, n in zip(only, plan.grid, strict=True)):
        raise ValueError(f"the grid {plan.grid} has no block {only}")
    report = np.zeros(REPORT_BYTES, np.uint8)
    if manifest.get("assertions"):
        simulator.add_host_memory(FAILURE_VARIABLE, report)
    records: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
    if manifest.get("print_records"):
        memory = np.zeros(MEMORY_WORDS, np.uint64)
        simulator.add_host_memory(RECORDS_VARIABLE, memory.view(np.uint8))
        records = PrintRecords(manifest, memory)
    try:
        with records:
            simulator.launch(
                manifest["kernel"],
                plan.grid,
                manifest["block"][0],
                [
                    _get_value(parameter, plan.values[slot], arguments)
                    for slot, parameter in enumerate(manifest["parameters"])
                ],
                manifest["shared_bytes"],
                only and [only],
            )
    except KernelTrap:
        if text := describe_failure(manifest, report.tobytes()):
            raise KernelTrap(text) from None
        raise


def _get_value(parameter: dict[str, Any], bits: int, arguments: Sequence[Any]) -> Any:
    """A parameter of the manifest, from the bits that a driver gets."""
    if parameter["kind"] == "pointer":
        info = describe(arguments[parameter["argument"]], "")
        return HostMemory(bits, *get_span(info), info.is_read_only)
    size = max(int(parameter["dtype"][1:]) // 8, 1)
    return np.frombuffer(bits.to_bytes(8, "little"), f"u{size}")[0]
