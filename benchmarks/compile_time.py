"""The times of the stages of a compilation, for each chip.

One process compiles another kernel first, and then builds and compiles the measured
kernel several times. So libraries are loaded, and nothing of the kernel is cached.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

from tilews.compiler import CompiledKernel, compile_module, find_ptxas

from . import kernels

REPEATS = 7
SHAPE = (4096, 4096, 4096)
CONFIG = kernels.GemmConfig(128, 128, 64, 256)
SOFTMAX_CONFIG = kernels.SoftmaxConfig(1024, 128, False)

_CLEAN_UP = ("canonicalize", "cse")
_LLVM = (
    "translate to LLVM IR",
    "optimize LLVM IR",
    "generate assembly",
    "generate object",
)
_ASSEMBLER = ("ptxas", "link")

#: Groups of stages, in the order of a compilation.
GROUPS = (
    "trace",
    "tile passes",
    "conversion",
    "LLVM dialect",
    "clean-up",
    "LLVM",
    "ptxas / lld",
    "other",
)
PASS_GROUPS = GROUPS[1:5]


def group_of(stage: str) -> str:
    """The group that a stage of :attr:`CompiledKernel.timings` belongs to."""
    if stage in _CLEAN_UP:
        return "clean-up"
    if stage in _LLVM:
        return "LLVM"
    if stage in _ASSEMBLER:
        return "ptxas / lld"
    if stage.startswith("convert-tile-to-"):
        return "conversion"
    # tile-expand-math comes after the conversion.
    if stage.startswith("tile-") and stage != "tile-expand-math":
        return "tile passes"
    return "LLVM dialect"


def summarize(total: float, trace: float, stages: dict[str, float]) -> dict[str, float]:
    """Milliseconds of each group, of all passes together, and in total.

    Args:
        total: milliseconds of the whole compilation.
        trace: milliseconds of the frontend, which builds the IR.
        stages: milliseconds of each later stage.
    """
    sums = dict.fromkeys(GROUPS, 0.0)
    sums["trace"] = trace
    for stage, milliseconds in stages.items():
        sums[group_of(stage)] += milliseconds
    sums["other"] = total - sum(sums.values())
    passes = sum(sums[group] for group in PASS_GROUPS)
    return {**sums, "all passes": passes, "total": total}


def measure(chip: str, repeats: int = REPEATS) -> dict[str, Any]:
    """Compiles the matmul for a chip, several times.

    Returns:
        Median milliseconds of groups and stages, and figures of the result.

    Raises:
        CompileError: the chip is unknown, or a kernel does not compile.
    """
    # Loads the back end.
    _finish(kernels.compile_softmax(chip, "f16", SOFTMAX_CONFIG))
    runs = [_compile_once(chip) for _ in range(repeats)]
    compiled = runs[-1][2]
    return {
        "chip": chip,
        "config": CONFIG.label,
        "groups": _medians([groups for groups, _, _ in runs]),
        "first": runs[0][0]["total"],
        "stages": _medians([stages for _, stages, _ in runs]),
        "bytes": _finish(compiled),
        "resources": compiled.resources,
    }


def _medians(runs: list[dict[str, float]]) -> dict[str, float]:
    return {key: statistics.median(run[key] for run in runs) for key in runs[0]}


def _compile_once(
    chip: str,
) -> tuple[dict[str, float], dict[str, float], CompiledKernel]:
    kernel = kernels.gemm_kernel("NT", kernels.divisors(SHAPE))
    start = time.perf_counter()
    module = kernel.build(chip, **kernels.gemm_bindings("f16", CONFIG))
    built = time.perf_counter()
    compiled = compile_module(module, chip)
    _finish(compiled)
    total = 1e3 * (time.perf_counter() - start)
    stages = compiled.timings
    return summarize(total, 1e3 * (built - start), stages), stages, compiled


def _finish(compiled: CompiledKernel) -> int:
    """Returns the size in bytes of the binary, or of the PTX if there is no ptxas."""
    if compiled.vendor == "nvidia" and not find_ptxas():
        return len(compiled.ptx)
    return len(compiled.binary)
