"""Kernels for the target ``cpu``: run by the reference interpreter."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import ir, sim
from .errors import CompileError
from .language.types import BY_MLIR
from .runtime import LaunchError
from .runtime.arrays import (
    as_host_array,
    check_strides,
    describe,
    fingerprint,
    row_major,
)
from .runtime.scalars import read_grid, scalar_packer
from .sim._run import DTYPES, find_kernel, find_overlap
from .specialize import Argument, Specialization

#: Operations of a block after which a call fails: some seconds of scalar operations.
_MOST_STEPS = 100_000_000


def _most_steps() -> int:
    """The operations that a block may execute: `TILEWS_MAX_STEPS`, 0 for any number.

    Raises:
        LaunchError: the variable is no such number.
    """
    text = os.environ.get("TILEWS_MAX_STEPS", str(_MOST_STEPS))
    if not text.isdecimal() or int(text) >= 2**63:
        raise LaunchError(
            "TILEWS_MAX_STEPS: expected the number of operations that a block may "
            f"execute, or 0 for any number, found {text!r}"
        )
    return int(text)


class InterpretedKernel:
    """A kernel that runs on the CPU as it is written, on numpy arrays.

    It has the interface of :class:`tilews.compiler.CompiledKernel` as far as there
    is something to show.
    """

    target = "cpu"

    def __init__(
        self, module: ir.Module, name: str, specialization: Specialization
    ) -> None:
        self._module = module
        self._name = name
        self._arguments = specialization.arguments

    def mlir(self, phase: str = "tile") -> str:
        """The kernel's IR; there is only the phase ``tile``."""
        if phase != "tile":
            raise CompileError(
                f"the target 'cpu' has no IR of the phase '{phase}', only of 'tile'"
            )
        return str(self._module)

    def __getattr__(self, name: str) -> Any:
        if name in ("ptx", "cubin", "asm", "hsaco", "llvm", "manifest", "resources"):
            raise CompileError(
                f"the target 'cpu' has no {name}: it is interpreted; compile for a "
                "chip such as 'sm_90a' or 'gfx942'"
            )
        raise AttributeError(f"{type(self).__name__} has no attribute '{name}'")

    def __copy__(self) -> InterpretedKernel:
        return self  # Nothing that a user sees of it changes.

    def __deepcopy__(self, memo: dict[int, Any]) -> InterpretedKernel:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(
            "a kernel for the target 'cpu' cannot be pickled, because it has no code: "
            "pickle the @tilews.kernel, or the text of mlir()"
        )

    def __call__(
        self, *args: Any, grid: int | Sequence[int] | None = None, stream: Any = None
    ) -> None:
        """Runs the kernel on arrays in host memory, which it updates.

        Args:
            args: arrays of numpy, torch, or any with DLPack or ``__array_interface__``,
                and numbers, as the kernel declares them. Nothing is copied. Arrays of
                JAX can only be read.
            grid: blocks in up to three dimensions; by default as the kernel says.
            stream: there are no streams on the CPU; has to be None.

        Raises:
            LaunchError: an argument does not fit; nothing was run.
            SimulationError: the kernel failed.
        """
        if stream is not None:
            raise LaunchError("the target 'cpu' has no streams")
        if len(args) != len(self._arguments):
            raise LaunchError(
                f"{self._name} takes {len(self._arguments)} arguments, found "
                f"{len(args)}"
            )
        args = tuple(
            _as_numpy(arg, argument.name)
            if argument.shape is not None
            else _as_number(arg, argument)
            for arg, argument in zip(args, self._arguments, strict=True)
        )
        self._check(args)
        kernel = find_kernel(self._module, self._name)
        if overlap := find_overlap(kernel, args):
            raise LaunchError(overlap)
        blocks = None if grid is None else read_grid(grid, self._name)
        sim.run(self._module, self._name, args, blocks, max_steps=_most_steps())

    def _check(self, args: Sequence[Any]) -> None:
        """Checks what the types of the kernel's arguments do not say."""
        known: dict[str, tuple[int, str]] = {}
        for argument, array in zip(self._arguments, args, strict=True):
            if argument.shape is None:
                continue
            if array.ndim != len(argument.shape):
                raise LaunchError(
                    f"argument '{argument.name}': expected {len(argument.shape)} "
                    f"dimensions, found {array.ndim}"
                )
            packed = argument.dtype.packing > 1
            element = "i8" if packed else argument.dtype.mlir
            if array.dtype not in map(np.dtype, DTYPES[element]):
                hint = ": two share a byte, see tilews.pack_elements" if packed else ""
                raise LaunchError(
                    f"argument '{argument.name}': expected elements of "
                    f"{argument.dtype}{hint}, found {array.dtype}"
                )
            _check_extents(argument, argument.shape, array, known)
            _check_strides(argument, array)


def _check_strides(argument: Argument, array: np.ndarray) -> None:
    """Refuses an array whose elements are elsewhere than the kernel says."""
    info = describe(array, argument.name)
    wanted: tuple[int | None, ...] = row_major(info.shape)
    if argument.strides is not None:
        wanted = tuple(x if isinstance(x, int) else None for x in argument.strides)
    check_strides(argument.name, info, wanted)


def _as_number(value: Any, argument: Argument) -> int | float:
    """A scalar argument as a number of Python.

    Raises:
        LaunchError: the argument's type does not hold it.
    """
    dtype = argument.dtype
    scalar_packer(dtype.mlir, dtype.is_unsigned)(value, argument.name)
    return float(value) if dtype.is_float else int(value)


def _as_numpy(array: Any, name: str) -> np.ndarray:
    """An array of any library in host memory as one of numpy with the same memory.

    Raises:
        LaunchError: it is no array, or on a GPU.
    """
    array = as_host_array(array)
    address, _ = fingerprint(array, name)
    info = describe(array, name)
    if isinstance(array, np.ndarray):
        return array
    if info.device != "cpu":
        raise LaunchError(
            f"argument '{name}': the target 'cpu' takes arrays in host memory, found "
            f"one on {info.device}:{info.index}"
        )
    if info.dtype not in BY_MLIR:
        raise LaunchError(
            f"argument '{name}': arrays of {info.dtype} are not supported"
        )
    dtype = BY_MLIR[info.dtype].numpy
    if 0 in info.shape:
        return np.empty(info.shape, dtype)
    span = sum((n - 1) * step for n, step in zip(info.shape, info.strides, strict=True))
    memory = (ctypes.c_char * ((span + 1) * dtype.itemsize)).from_address(address)
    strides = [step * dtype.itemsize for step in info.strides]
    result = np.ndarray(info.shape, dtype, memoryview(memory).cast("B"), 0, strides)
    # JAX's arrays have values that never change.
    result.flags.writeable = not type(array).__module__.startswith("jax")
    return result


def _check_extents(
    argument: Argument,
    shape: tuple[int | str, ...],
    array: np.ndarray,
    known: dict[str, tuple[int, str]],
) -> None:
    """Checks extents against names and divisors; `known` collects the names."""
    for dim, (extent, found) in enumerate(zip(shape, array.shape, strict=True)):
        place = f"argument '{argument.name}': dimension {dim}"
        divisor = argument.divisors[dim]
        if found % divisor:
            raise LaunchError(
                f"{place} has extent {found}, expected a multiple of {divisor}"
            )
        if isinstance(extent, str):
            expected, source = known.setdefault(extent, (found, argument.name))
            if expected != found:
                raise LaunchError(
                    f"{place} has extent {found}, but {extent} is {expected} in "
                    f"'{source}'"
                )
