"""Runs of kernels under the policies of the simulator."""

from __future__ import annotations

import dataclasses
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from .. import ir
from .._mlir_libs import _tilews
from ._grid import find_grid

POLICIES = ("earliest", "latest", "random", "worst", "replay")
_UNITS = ("role", "tma", "cp_async", "tensor", "arrival")
BARRIERS = ("detect", "implied", "explicit")


class SimulationError(RuntimeError):
    """A kernel could not run or failed; the text names the place in the kernel.

    ``events`` is what happened before, if it was recorded.
    """

    events: list[Event] | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a block; numbers that do not apply are -1.

    Attributes:
        op: Name of the operation, such as ``tile.copy``.
        inst: The instruction it is done with (``tile.inst``), such as ``tma``.
        location: Its source location, as ``file:line:column`` if it has one.
        role: The role's name; empty for the block outside of roles.
        unit: ``role`` for the operation itself; ``tma``, ``cp_async``, ``tensor`` or
            ``arrival`` for what it starts, which goes on beside the role.
        begin: Logical time at which it began.
        end: Logical time at which it ended; -1 if it never did.
        barrier: Number of the barrier in the block, one for each slot.
        slot: Slot of the barrier.
        phase: The phase of the barrier that is waited for, arrived in, or in which
            bytes land, from 0 on.
        bytes: Bytes of memory that are accessed, copied, or expected by a barrier.
        number: Copies by cp.async, to global memory and products under way: which
            of the role it is, from 1 on; waits for them: how many are complete.
        work: Products: multiplications; others: elements of their fragments.
        accesses: What the operation of a role, or what it starts, accesses of the
            memory that somebody writes: memory, first and last byte (exclusive), and
            whether they are written. Memories are numbered as they are met.
    """

    op: str
    inst: str
    location: str
    role: str
    unit: str
    begin: int
    end: int
    barrier: int
    slot: int
    phase: int
    bytes: int
    number: int
    work: int
    accesses: tuple[tuple[int, int, int, bool], ...] = ()


# The NumPy types that hold the elements of each MLIR type. Signless integers
# have two.
DTYPES = {
    "f64": ["float64"],
    "f32": ["float32"],
    "f16": ["float16"],
    "bf16": [ml_dtypes.bfloat16],
    "f8E4M3FN": [ml_dtypes.float8_e4m3fn],
    "f8E5M2": [ml_dtypes.float8_e5m2],
    "f8E4M3FNUZ": [ml_dtypes.float8_e4m3fnuz],
    "f8E5M2FNUZ": [ml_dtypes.float8_e5m2fnuz],
    "i1": ["bool"],
    "i4": [ml_dtypes.int4, ml_dtypes.uint4],
    "i8": ["int8", "uint8"],
    "i16": ["int16", "uint16"],
    "i32": ["int32", "uint32"],
    "i64": ["int64", "uint64"],
    "index": ["int64", "uint64"],
}


def run(
    module_or_func: Any,
    kernel_name: str | None,
    args: Sequence[Any],
    grid: int | Iterable[int] | None = None,
    *,
    policy: str = "earliest",
    seed: int = 0,
    runs: int = 1000,
    schedule: str | None = None,
    order: Sequence[tuple[int, int]] = (),
    barriers: str = "detect",
    max_steps: int = 0,
    threads: int = 0,
    record: list[Event] | None = None,
    record_block: int | Iterable[int] = (0, 0, 0),
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Runs a kernel over its whole grid and updates the arrays in place.

    Args:
        module_or_func: A module (or an operation in it) that holds the kernel, or
            the kernel's ``gpu.func`` itself.
        kernel_name: The kernel's name; ``None`` if there is only one.
        args: One value for each argument of the kernel: a NumPy array of the
            memref's element type (``ml_dtypes`` for bf16, fp8 and int4), shape and
            strides, or a number for a scalar.
        grid: Blocks in x, y and z (missing ones are 1); evaluated from the
            kernel's ``tile.grid`` if absent.
        policy: What happens next where more than one thing can: ``"earliest"``
            (what is asynchronous completes at once), ``"latest"`` (it completes
            when nothing else can happen), ``"random"``, or ``"worst"`` (one
            possibility after the other).
        seed: For ``"random"``.
        runs: For ``"worst"``: runs a block.
        schedule: A schedule that ``"worst"`` has printed, to be run again.
        order: What the first block has to do, one after the other, as pairs of an
            agent (0 outside of roles, then the roles in order) and the number of an
            operation of the kernel, as it is printed; from there on it runs as
            ``policy`` says. See :func:`replay`.
        barriers: Whether ``tile.barrier`` and ``tile.proxy_fence`` stand wherever
            they are needed (``"explicit"``), or accesses of a role are ordered as
            they are written (``"implied"``); ``"detect"`` looks for them.
        max_steps: Operations a block may execute before it counts as endless;
            0 for any number.
        threads: CPU threads that run blocks; 0 for one each processor.
        record: A list that gets what happens in one block, in the order in which
            it begins.
        record_block: That block's coordinates.
        progress: Called with the number of blocks that have run, and of all.

    Raises:
        TypeError: An argument is neither an array nor a number, or has the wrong
            dtype.
        ValueError: There is no such kernel, the grid is not one, or the block of a
            schedule or of a record is not in it.
        SimulationError: Number, shape or strides of the arguments do not fit, or
            the kernel failed; the text names the place and the operation.
    """
    kernel = find_kernel(module_or_func, kernel_name)
    types = ir.FunctionType(
        ir.TypeAttr(kernel.attributes["function_type"]).value
    ).inputs
    # Fewer or more arguments than types: the interpreter reports it.
    converted = [
        _convert(index, arg, types[index] if index < len(types) else None)
        for index, arg in enumerate(args)
    ]
    if schedule is not None:
        policy = "replay"
    block, choices = _parse_schedule(schedule)
    extents = _get_grid(grid)
    recorded = _get_block(record_block)
    for each in (block, recorded) if any(block + recorded) else ():
        _check_block(each, extents or find_grid(kernel, args))
    events: list[tuple] | None = None if record is None else []
    errors = _tilews._sim_run(
        kernel,
        converted,
        extents,
        max_steps,
        threads,
        _get_number("policy", policy, POLICIES),
        seed,
        runs,
        block,
        choices,
        list(order),
        _get_number("barriers", barriers, BARRIERS),
        events,
        recorded,
        _print,
        progress,
    )
    if record is not None:
        record.extend(_make_event(*event) for event in events)
    if errors:
        error = SimulationError(errors)
        error.events = record
        raise error


def _make_event(op: ir.Operation, role: str, unit: int, *rest: Any) -> Event:
    attributes = op.attributes
    inst = str(attributes["tile.inst"]) if "tile.inst" in attributes else ""
    location = re.match(r'loc\("(.*?)":(\d+):(\d+)', str(op.location))
    return Event(
        op.name,
        inst.removeprefix("#tile.inst<").removesuffix(">"),
        ":".join(location.groups()) if location else str(op.location),
        role,
        _UNITS[unit],
        *rest,
    )


def _get_number(what: str, name: str, names: Sequence[str]) -> int:
    if name not in names:
        raise ValueError(
            f"expected as {what} one of {', '.join(names)}; found '{name}'"
        )
    return list(names).index(name)


def _parse_schedule(schedule: str | None) -> tuple[list[int], list[int]]:
    """The block and the choices of ``"0,0,0:1.0.2"``."""
    if schedule is None:
        return [0, 0, 0], []
    match = re.fullmatch(r"(\d+),(\d+),(\d+):((?:\d+(?:\.\d+)*)?)", schedule)
    if not match:
        raise ValueError(
            f"expected a schedule such as '0,0,0:1.0.2', found '{schedule}'"
        )
    choices = [int(choice) for choice in match[4].split(".") if choice]
    return [int(match[i]) for i in (1, 2, 3)], choices


def _print(text: str) -> None:
    print(text, end="")


def find_kernel(module_or_func: Any, name: str | None) -> ir.Operation:
    """The gpu.func that `module_or_func` is or holds."""
    root = getattr(module_or_func, "operation", module_or_func)
    if not isinstance(root, ir.Operation):
        raise TypeError(
            f"expected a module or a gpu.func, found {type(module_or_func).__name__}"
        )
    kernels: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "gpu.func" and "gpu.kernel" in op.attributes:
            kernels.append(op.operation)
        return ir.WalkResult.ADVANCE

    root.walk(visit)
    names = [ir.StringAttr(kernel.attributes["sym_name"]).value for kernel in kernels]
    found = [
        k for k, n in zip(kernels, names, strict=True) if name is None or n == name
    ]
    if len(found) == 1:
        return found[0]
    wanted = "one kernel" if name is None else f"one kernel '{name}'"
    raise ValueError(f"expected {wanted}, found {names or 'no kernels'}")


def _get_grid(grid: int | Iterable[int] | None) -> list[int] | None:
    if grid is None:
        return None
    extents = [grid] if isinstance(grid, (int, np.integer)) else list(grid)
    if not 1 <= len(extents) <= 3:
        raise ValueError(f"a grid has 1 to 3 extents, found {len(extents)}")
    return [operator.index(extent) for extent in extents] + [1] * (3 - len(extents))


def _get_block(block: int | Iterable[int]) -> list[int]:
    coords = [block] if isinstance(block, (int, np.integer)) else list(block)
    if not 1 <= len(coords) <= 3:
        raise ValueError(f"a block has 1 to 3 coordinates, found {len(coords)}")
    return [operator.index(coord) for coord in coords] + [0] * (3 - len(coords))


def _check_block(block: list[int], grid: list[int] | None) -> None:
    """Raises ValueError unless a block is in the grid, as far as that is known."""
    if grid is not None and not all(
        0 <= coord < extent for coord, extent in zip(block, grid, strict=True)
    ):
        raise ValueError(
            f"block {tuple(block)} is not in the grid, which has the extents "
            f"{tuple(grid)}"
        )


def _convert(index: int, arg: Any, declared: ir.Type | None) -> Any:
    """An argument as the native module takes it."""
    if isinstance(arg, np.ndarray):
        return _convert_array(index, arg, declared)
    if isinstance(arg, (bool, np.bool_)):
        return int(arg)
    if isinstance(arg, (int, np.integer)):
        value = int(arg)
        if not -(2**63) <= value < 2**64:
            raise TypeError(f"argument {index}: {value} does not fit 64 bits")
        return value - 2**64 if value >= 2**63 else value
    if isinstance(arg, float) or (
        isinstance(arg, np.generic) and not np.iscomplexobj(arg)
    ):
        return float(arg)
    raise TypeError(
        f"argument {index}: expected a NumPy array or a number, "
        f"found {type(arg).__name__}"
    )


def _convert_array(index: int, array: np.ndarray, declared: ir.Type | None) -> Any:
    if declared is not None and isinstance(declared, ir.MemRefType):
        element = str(declared.element_type)
        dtypes = [np.dtype(dtype) for dtype in DTYPES.get(element, [])]
        if array.dtype not in dtypes:
            expected = " or ".join(map(str, dtypes)) or "no NumPy type"
            raise TypeError(
                f"argument {index}: expected an array of {expected} for {declared}, "
                f"found {array.dtype}"
            )
    size = array.dtype.itemsize
    if any(stride % size for stride in array.strides):
        raise TypeError(
            f"argument {index}: strides {array.strides} are not multiples of the "
            f"element size, {size} bytes"
        )
    return _tilews._SimMemory(
        data=array.ctypes.data,
        shape=list(array.shape),
        strides=[stride // size for stride in array.strides],
        storage_bits=8 * size,
        writable=array.flags.writeable,
    )
