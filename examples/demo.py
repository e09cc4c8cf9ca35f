"""Compiles two kernels, from Python and from .mlir, for four chips, and checks them.

Builds a matmul with a fused epilogue and a row softmax, compiles both for NVIDIA and
AMD GPUs, runs them on the reference interpreter, and compares the results with numpy in
float64.
"""

import functools
import pathlib
import time
from collections.abc import Callable
from typing import Any

import gemm
import numpy as np
import softmax
from rich.console import Console
from rich.table import Table

import support
from tilews import ir, sim
from tilews.compiler import CompiledKernel, compile_file, find_ptxas
from tilews.dispatch import Kernel
from tilews.language import f16

CHIPS = ("sm_80", "sm_90a", "gfx942", "gfx1100")
HERE = pathlib.Path(__file__).parent
# Each kernel with its module and the values of its open element types.
KERNELS: dict[str, tuple[Kernel, Any, dict[str, Any]]] = {
    "gemm": (gemm.gemm, gemm, {"T": f16}),
    "softmax": (softmax.softmax, softmax, {}),
}


def make_object(compiled: CompiledKernel) -> tuple[str, int]:
    """Makes what a driver loads: its form and its size in bytes. Without ptxas,
    NVIDIA's driver compiles the PTX."""
    if compiled.vendor == "amd":
        return "hsaco", len(compiled.hsaco)
    if find_ptxas():
        return "cubin", len(compiled.cubin)
    return "ptx", len(compiled.ptx)


def resource_text(compiled: CompiledKernel) -> list[str]:
    """Registers, shared memory and spills as columns of the table."""
    resources = compiled.resources
    if resources is None:  # ptxas is missing
        return ["-", "-", "-"]
    registers = str(resources["registers"])
    if resources.get("accumulation_registers"):
        registers += f" + {resources['accumulation_registers']} acc"
    shared = resources["static_shared_bytes"] + compiled.manifest["shared_bytes"]
    spills = resources["spill_stores"] + resources["spill_loads"]
    return [registers, str(shared), str(spills)]


def compile_all() -> Table:
    """A table of the objects that all chips get."""
    table = Table(title="Objects")
    for column in ("kernel", "from", "chip", "object"):
        table.add_column(column)
    for column in ("bytes", "registers", "shared", "spills", "ms"):
        table.add_column(column, justify="right")
    for name, (kernel, _, dtypes) in KERNELS.items():
        for chip in CHIPS:
            sources: dict[str, Callable[[], Any]] = {
                "Python": functools.partial(kernel.compile, chip, **dtypes),
                ".mlir": functools.partial(compile_file, HERE / f"{name}.mlir", chip),
            }
            for source, compile_kernel in sources.items():
                start = time.perf_counter()
                compiled: CompiledKernel = compile_kernel()
                form, size = make_object(compiled)
                milliseconds = 1e3 * (time.perf_counter() - start)
                figures = resource_text(compiled)
                table.add_row(
                    name, source, chip, form, str(size), *figures, f"{milliseconds:.0f}"
                )
    return table


def run_file(name: str, *args: np.ndarray) -> None:
    """Interprets the kernel of an .mlir file."""
    with ir.Context():
        sim.run(ir.Module.parseFile(str(HERE / f"{name}.mlir")), name, args)


def run_all() -> Table:
    """A table of the interpreter's errors against numpy."""
    table = Table(title="Reference interpreter against numpy in float64")
    for column in ("kernel", "from", "shape", "largest error", "relative to largest"):
        table.add_column(column)
    for name, (kernel, module, _) in KERNELS.items():
        runs: dict[str, Callable[..., None]] = {
            "Python": kernel,
            ".mlir": functools.partial(run_file, name),
        }
        for source, run in runs.items():
            args = module.example()
            run(*args)
            expected = module.reference(*args[:-1])
            table.add_row(
                name,
                source,
                "x".join(map(str, args[-1].shape)),
                f"{np.abs(args[-1].astype(np.float64) - expected).max():.2e}",
                f"{support.relative_error(args[-1], expected):.2e}",
            )
            support.check(name, args[-1], expected)
    return table


if __name__ == "__main__":
    console = Console()
    console.print(compile_all())
    console.print(run_all())
