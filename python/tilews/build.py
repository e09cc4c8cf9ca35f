"""Builds the tile IR of a kernel: from its function and a specialization to a module.

The module holds one ``gpu.module @kernels`` with one ``gpu.func``. The frontend fills
its body; then the verifiers of the operations, and the schedules that are given by
hand, are checked while errors can still be located in the source.
"""

from __future__ import annotations

import dataclasses
import functools
import types
from typing import Any

from . import ir
from ._support.chips import find_chip, fp8_family
from .compiler import warp_size
from .dialects import gpu
from .errors import KernelError
from .frontend.source import SourceFunction, from_python
from .frontend.statements import build_body
from .frontend.verification import check_schedules, error_at, verify
from .frontend.waiting import order_waits
from .language.builder import Builder
from .language.types import FNUZ
from .language.values import Buffer, Scalar
from .specialize import Specialization

MODULE_NAME = "kernels"
#: Threads of a block unless the kernel, its roles or the call give another number.
DEFAULT_THREADS = 128


@dataclasses.dataclass(frozen=True)
class BlockShape:
    """How many threads and blocks work together.

    Attributes:
        threads: threads of a block; None for as many as the kernel's roles have.
        cluster: blocks of a cluster in x, y and z; None without clusters.
    """

    threads: int | None
    cluster: tuple[int, ...] | None


def build_module(
    python: types.FunctionType,
    specialization: Specialization,
    block: BlockShape,
    target: str | None,
    source: str | None = None,
) -> ir.Module:
    """The verified tile IR of a kernel.

    Args:
        python: the kernel's function.
        specialization: what it is built for.
        block: the threads of a block and the blocks of a cluster.
        target: a chip such as 'sm_90a'; None or 'cpu' for none.
        source: the text that holds the function, if Python does not keep it.

    Raises:
        KernelError: with the place in the kernel's source.
        CompileError: the target is unknown.
    """
    function = from_python(python, source)
    chip = None if target in (None, "cpu") else target
    targets = target_attribute(target)
    _check_threads(python, block.threads, chip)
    fp8 = FNUZ if chip and fp8_family(chip) == "fnuz" else {}
    specialization = specialization.with_types(fp8)
    line = python.__code__.co_firstlineno
    with ir.Context(), ir.Location.file(function.file.name, line, 1):
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            gpu_module = gpu.GPUModuleOp(
                MODULE_NAME,
                targets=ir.ArrayAttr.get([ir.Attribute.parse(targets)])
                if targets
                else None,
            )
        with ir.InsertionPoint(gpu_module.bodyRegion.blocks.append()):
            op = _make_kernel(python.__name__, specialization, block)
        fixes_threads = block.threads is not None
        builder = Builder(op, fixes_threads, warp_size(chip), fp8, chip)
        _fill(builder, function, specialization)
        order_waits(op, functools.partial(error_at, function))
        verify(module, function)
        if builder.schedules:
            check_schedules(module, function, builder.schedules)
    return module


def _check_threads(
    python: types.FunctionType, threads: int | None, chip: str | None
) -> None:
    """Refuses threads that are no whole number of a chip's warps."""
    size = warp_size(chip)
    if threads is not None and threads % size:
        raise KernelError(
            f"{python.__name__}: threads are a multiple of {size} on {chip}, whose "
            f"waves have {size} threads, found {threads}",
            hint=f"compile with threads={threads // size * size + size}",
            filename=python.__code__.co_filename,
            line=python.__code__.co_firstlineno,
            column=1,
        )


def _make_kernel(
    name: str, specialization: Specialization, block: BlockShape
) -> gpu.GPUFuncOp:
    """The kernel's operation with its attributes and an empty entry block."""
    arguments = specialization.arguments
    inputs = [argument.to_ir() for argument in arguments]
    op = gpu.GPUFuncOp(ir.FunctionType.get(inputs, []), name, kernel=True)
    op.attributes["arg_attrs"] = ir.ArrayAttr.get(
        [argument.attributes() for argument in arguments]
    )
    op.attributes["tile.threads"] = ir.IntegerAttr.get(
        ir.IntegerType.get_signless(32),
        DEFAULT_THREADS if block.threads is None else block.threads,
    )
    if block.cluster is not None:
        cluster = ir.DenseI32ArrayAttr.get([*block.cluster])
        op.attributes["tile.cluster"] = cluster
    op.add_entry_block()
    return op


def _fill(
    builder: Builder, function: SourceFunction, specialization: Specialization
) -> None:
    """Builds the body of a kernel whose entry block is empty."""
    values: dict[str, Any] = {}
    for argument, value in zip(
        specialization.arguments, builder.entry.arguments, strict=True
    ):
        if argument.shape is None:
            values[argument.name] = Scalar(value, argument.dtype)
        else:
            values[argument.name] = Buffer(value, argument.name, argument.dtype)
    build_body(builder, function, specialization.parameters(values))


def target_attribute(target: str | None) -> str | None:
    """The text of a chip's target attribute, None for the CPU.

    Raises:
        CompileError: the name is no chip of NVIDIA or AMD.
    """
    chip = "cpu" if target is None else find_chip(target)
    if chip == "cpu":
        return None
    dialect = "nvvm" if chip.startswith("sm_") else "rocdl"
    return f'#{dialect}.target<chip = "{chip}">'
