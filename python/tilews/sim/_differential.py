"""A kernel after each pass of a pipeline, compared with the kernel as written."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .. import ir
from .._support import files
from ..errors import CompileError
from ..passmanager import PassManager
from ..pipeline_text import flag_of, inside, split
from ._options import RunOptions
from ._run import SimulationError, copy_arrays, find_kernel, run

#: The timings under which :func:`differential` compares by default.
TIMINGS: tuple[RunOptions, ...] = (
    {"policy": "earliest"},
    {"policy": "latest"},
    *(RunOptions(policy="random", seed=seed) for seed in range(5)),
)


@dataclasses.dataclass(frozen=True)
class Difference:
    """The first pass after which a kernel computes other results.

    Attributes:
        pass_name: the pass with its options.
        number: the place of the pass in the pipeline, from 0 on.
        timing: the arguments of :func:`run` under which the results differ.
        message: the first element that differs, or why the kernel failed.
        before: the IR before the pass.
        after: the IR after the pass.
        paths: files with both, if a folder was given.
    """

    pass_name: str
    number: int
    timing: RunOptions
    message: str
    before: str
    after: str
    paths: tuple[pathlib.Path, ...] = ()

    def __str__(self) -> str:
        timing = " ".join(f"{key}={value}" for key, value in self.timing.items())
        text = f"pass {self.number}, {self.pass_name}, with {timing}: {self.message}"
        return "\n".join([text, *(f"  see {path}" for path in self.paths)])


def list_passes(pipeline: str) -> list[tuple[str, str]]:
    """The passes of a pipeline, with named pipelines expanded.

    Args:
        pipeline: As ``tilews-opt --pass-pipeline`` takes it, with or without
            ``builtin.module(...)`` around it; a name such as
            ``tilews-to-nvvm{chip=sm_90a}`` counts, too.

    Returns:
        For each pass the pass with its options, and a pipeline of it alone.

    Raises:
        ValueError: The pipeline does not parse.
    """
    if not pipeline.startswith("builtin.module("):
        pipeline = f"builtin.module({pipeline})"
    with ir.Context():
        text = str(PassManager.parse(pipeline))
    return list(_flatten(text, []))


def _flatten(text: str, anchors: list[str]) -> Iterator[tuple[str, str]]:
    """The passes of a pipeline that is nested in operations named `anchors`."""
    for item in split(text):
        if item.endswith(")"):
            yield from _flatten(inside(item), [*anchors, flag_of(item)])
        else:
            prefix = "".join(f"{anchor}(" for anchor in anchors)
            yield item, prefix + item + ")" * len(anchors)


def differential(
    module: Any,
    kernel_name: str | None,
    args: Sequence[Any],
    pipeline: str,
    grid: Any = None,
    *,
    timings: Sequence[RunOptions] = TIMINGS,
    tolerance: float = 0.0,
    folder: str | pathlib.Path | None = None,
) -> Difference | None:
    """Compares the results of a kernel before and after each pass of a pipeline.

    Stops at the first pass that produces code of single threads, which the simulator
    does not run. Neither the module nor the arrays are changed.

    Args:
        module: A module that holds the kernel.
        kernel_name: The kernel's name; ``None`` if there is only one.
        args: As for :func:`run`.
        pipeline: As for :func:`list_passes`.
        grid: As for :func:`run`.
        timings: Arguments of :func:`run`; after each pass there is one run for each.
        tolerance: The largest difference of results, absolutely and relative to the
            results of the original kernel.
        folder: Where to write the IR before and after the first pass that differs.

    Returns:
        The first difference; None if there is none.

    Raises:
        SimulationError: The original kernel fails.
        CompileError: A pass fails.
    """
    root = getattr(module, "operation", module)
    expected = _results(root, kernel_name, args, grid, {})
    current = root.clone()
    before = str(current)
    for number, (name, alone) in enumerate(list_passes(pipeline)):
        _run_pass(current, name, alone)
        after = str(current)
        if after == before:
            continue
        try:
            find_kernel(current, kernel_name)
        except ValueError:
            return None  # It has become code of one thread.
        for timing in timings:
            try:
                found = _results(current, kernel_name, args, grid, timing)
                message = _compare(found, expected, tolerance)
            except SimulationError as error:
                message = str(error)
            if message:
                paths = _write(folder, number, before, after)
                return Difference(name, number, timing, message, before, after, paths)
        before = after
    return None


def _run_pass(operation: ir.Operation, name: str, pipeline: str) -> None:
    with operation.context:
        try:
            PassManager.parse(pipeline).run(operation)
        except ir.MLIRError as error:
            raise CompileError(f"{name} failed: {error}") from None


def _results(
    module: Any, kernel: str | None, args: Sequence[Any], grid: Any, timing: Any
) -> list[np.ndarray | None]:
    """Copies of the arrays after a run; None for numbers."""
    copies = copy_arrays(args)
    run(module, kernel, copies, grid, **timing)
    return [arg if isinstance(arg, np.ndarray) else None for arg in copies]


def _compare(
    found: list[np.ndarray | None], expected: list[np.ndarray | None], tolerance: float
) -> str | None:
    """The first element that differs, in words."""
    for number, (left, right) in enumerate(zip(found, expected, strict=True)):
        if left is None or right is None:
            continue
        if tolerance:
            wanted = right.astype(np.float64)
            close = np.isclose(left.astype(np.float64), wanted, tolerance, tolerance)
            same = close | (np.isnan(wanted) & np.isnan(left.astype(np.float64)))
        else:
            same = (left == right) | ((left != left) & (right != right))
        if not same.all():
            place = tuple(int(i) for i in np.argwhere(~same)[0])
            count = int((~same).sum())
            return (
                f"element {place} of argument {number} is {left[place]}, expected "
                f"{right[place]}; {count} of {left.size} elements differ"
            )
    return None


def _write(
    folder: str | pathlib.Path | None, number: int, before: str, after: str
) -> tuple[pathlib.Path, ...]:
    if folder is None:
        return ()
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths = (folder / f"{number:02}-before.mlir", folder / f"{number:02}-after.mlir")
    for path, text in zip(paths, (before, after), strict=True):
        files.write(path, text + "\n")
    return paths
