"""Runs a kernel in the simulator: :func:`run`.

The native module (``lib/Simulator``) translates the kernel to instructions and executes
its blocks. This module checks and converts the arguments, and turns faults into
:class:`SimulationError`.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from .. import _tilews, ir
from ..runtime.launch_errors import LaunchError
from ..runtime.overlaps import Span, byte_span, describe_overlap
from ..runtime.prints import Printer
from ..runtime.scalars import scalar_packer
from ..runtime.schema import show
from ._events import Event, make_event
from ._grid import find_grid
from ._options import Exploration, RunOptions, Settings, get_grid

if TYPE_CHECKING:
    from typing_extensions import Unpack


class SimulationError(RuntimeError):
    """A kernel could not run or failed; the text names the place in the kernel.

    Attributes:
        events: the events before the failure, if they were recorded.
    """

    events: list[Event] | None = None

    @property
    def schedule(self) -> str | None:
        """The schedule of the failing run, if ``worst`` or ``exhaustive`` found it."""
        found = re.search(r"; its schedule is (\S+)", str(self))
        return found[1] if found else None


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
    "f8E8M0FNU": [ml_dtypes.float8_e8m0fnu],
    "f6E2M3FN": [ml_dtypes.float6_e2m3fn],
    "f6E3M2FN": [ml_dtypes.float6_e3m2fn],
    "f4E2M1FN": [ml_dtypes.float4_e2m1fn],
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
    **options: Unpack[RunOptions],
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
        options: See :class:`RunOptions`.

    Raises:
        TypeError: An argument is neither an array nor a number, or has the wrong
            dtype; or an option is unknown.
        ValueError: The module has no such kernel, the grid is invalid, or the block of
            a schedule or of a record is outside of the grid.
        SimulationError: Number, shape or strides of the arguments do not fit, arrays
            overlap that must not, or the kernel failed; the text names the place and
            the operation.
    """
    for name in options.keys() - RunOptions.__annotations__.keys():
        raise TypeError(f"run() got an unexpected keyword argument '{name}'")
    settings = Settings(**options)
    kernel = find_kernel(module_or_func, kernel_name)
    types = ir.FunctionType(
        ir.TypeAttr(kernel.attributes["function_type"]).value
    ).inputs
    # The native module reports a wrong number of arguments.
    converted = [
        _convert(kernel, index, arg, types[index] if index < len(types) else None)
        for index, arg in enumerate(args)
    ]
    if overlap := find_overlap(kernel, args):
        raise SimulationError(overlap)
    extents = get_grid(grid)
    block, _ = settings.replayed()
    recorded = settings.recorded_block()
    for each in (block, recorded) if any(block + recorded) else ():
        _check_block(each, extents or find_grid(kernel, args))
    _simulate(kernel, converted, extents, settings)


def _simulate(
    kernel: ir.Operation,
    arguments: list[Any],
    grid: list[int] | None,
    settings: Settings,
) -> None:
    """Calls the native module with converted arguments; raises what went wrong."""
    block, choices = settings.replayed()
    record = settings.record
    events: list[tuple[Any, ...]] | None = None if record is None else []
    found: list[Any] | None = None if settings.explored is None else []
    errors = _tilews._sim_run(
        kernel,
        arguments,
        grid,
        settings.max_steps,
        settings.threads,
        settings.policy_number(),
        settings.seed,
        settings.runs,
        settings.reduces,
        block,
        choices,
        settings.is_of_exhaustive(),
        list(settings.order),
        settings.barriers_number(),
        events,
        settings.recorded_block(),
        found,
        Printer().show,
        settings.progress,
    )
    if record is not None and events is not None:
        record.extend(make_event(*event) for event in events)
    if settings.explored is not None and found is not None:
        settings.explored.extend(Exploration(*each) for each in found)
    if errors:
        error = SimulationError(errors)
        error.events = record
        raise error


def find_kernel(module_or_func: Any, name: str | None) -> ir.Operation:
    """The gpu.func that `module_or_func` is or holds.

    Raises:
        TypeError: it is neither a module nor a ``gpu.func``.
        ValueError: it has no such kernel, or several.
    """
    root = getattr(module_or_func, "operation", module_or_func)
    if not isinstance(root, ir.Operation):
        raise TypeError(
            f"expected a module or a gpu.func, found {type(module_or_func).__name__}"
        )
    kernels: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name != "gpu.func":
            return ir.WalkResult.ADVANCE
        if "gpu.kernel" in op.attributes:
            kernels.append(op.operation)
        return ir.WalkResult.SKIP

    # Kernels come before what is in them.
    root.walk(visit, ir.WalkOrder.PRE_ORDER)
    names = [ir.StringAttr(kernel.attributes["sym_name"]).value for kernel in kernels]
    found = [
        k for k, n in zip(kernels, names, strict=True) if name is None or n == name
    ]
    if len(found) == 1:
        return found[0]
    wanted = "one kernel" if name is None else f"one kernel '{name}'"
    raise ValueError(f"expected {wanted}, found {names or 'no kernels'}")


def find_overlap(kernel: ir.Operation, args: Sequence[Any]) -> str | None:
    """What is wrong with arrays that overlap; None if nothing is.

    Args:
        kernel: The ``gpu.func``.
        args: As for :func:`run`.
    """
    spans = [_span(arg if isinstance(arg, np.ndarray) else np.empty(0)) for arg in args]
    pairs = _tilews._disjoint_arguments(kernel)
    pairs = [pair for pair in pairs if max(pair) < len(args)]
    names = [_get_name(kernel, number) for number in range(len(args))]
    return describe_overlap(pairs, spans, names)


def _span(array: np.ndarray) -> Span:
    address = array.ctypes.data
    begin, end = byte_span(array.shape, array.strides, array.itemsize)
    return address + begin, address + end


def copy_arrays(args: Sequence[Any]) -> list[Any]:
    """The arguments of a run with copies of the arrays.

    Arrays that overlap have copies that overlap likewise.
    """
    copies = list(args)
    arrays = [i for i, arg in enumerate(args) if isinstance(arg, np.ndarray)]
    groups: list[list[int]] = []
    reach = 0
    for i in sorted(arrays, key=lambda i: _span(args[i])):
        begin, end = _span(args[i])
        if not groups or begin >= reach:
            groups.append([])
        groups[-1].append(i)
        reach = max(reach, end)
    for group in groups:
        if len(group) == 1:
            copies[group[0]] = args[group[0]].copy()
            continue
        first = _span(args[group[0]])[0]
        last = max(_span(args[i])[1] for i in group)
        memory = bytearray(ctypes.string_at(first, last - first))
        for i in group:
            array = args[i]
            offset = array.ctypes.data - first
            copies[i] = np.ndarray(
                array.shape, array.dtype, memory, offset, array.strides
            )
    return copies


def get_attributes(kernel: ir.Operation, number: int) -> ir.DictAttr | dict[str, Any]:
    """The attributes of an argument of a kernel, by name."""
    if "arg_attrs" not in kernel.attributes:
        return {}
    return ir.DictAttr(ir.ArrayAttr(kernel.attributes["arg_attrs"])[number])


def _get_name(kernel: ir.Operation, number: int) -> str:
    attributes = get_attributes(kernel, number)
    if "tile.name" in attributes:
        return ir.StringAttr(attributes["tile.name"]).value
    return str(number)


def _check_block(block: list[int], grid: list[int] | None) -> None:
    """Raises ValueError unless a block is in the grid, as far as that is known."""
    if grid is not None and not all(
        0 <= coord < extent for coord, extent in zip(block, grid, strict=True)
    ):
        raise ValueError(
            f"block {tuple(block)} is not in the grid, which has the extents "
            f"{tuple(grid)}"
        )


def _convert(
    kernel: ir.Operation, index: int, arg: Any, declared: ir.Type | None
) -> Any:
    """An argument as the native module takes it."""
    if isinstance(arg, np.ndarray):
        return _convert_array(index, arg, declared)
    if isinstance(declared, (ir.FloatType, ir.IntegerType, ir.IndexType)):
        is_unsigned = "tile.unsigned" in get_attributes(kernel, index)
        try:
            pack = scalar_packer(str(declared), is_unsigned)
            pack(arg, _get_name(kernel, index))
        except LaunchError as error:
            raise TypeError(str(error)) from None
    if isinstance(arg, (bool, np.bool_)):
        return int(arg)
    if isinstance(arg, (int, np.integer)):
        value = int(arg)
        if not -(2**63) <= value < 2**64:
            raise TypeError(f"argument {index}: {show(value)} does not fit 64 bits")
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
