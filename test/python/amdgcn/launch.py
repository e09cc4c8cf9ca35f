"""Launches compiled kernels on the simulator, with the arguments of a call."""

import pathlib
import tempfile
from collections.abc import Sequence
from typing import Any

import numpy as np

from tilews import compiler
from tilews.runtime.launch import evaluate

from .machine import Simulator


def launch(
    compiled: compiler.CompiledKernel, arguments: Sequence[Any], seed: int = 0
) -> Simulator:
    """Runs a kernel that was compiled for an AMD chip. Arrays are changed in place.

    Args:
        compiled: the kernel.
        arguments: numpy arrays and numbers, as in a call of the kernel.
        seed: for the order of waves and memory accesses.

    Returns:
        The simulator, which knows the instructions that were executed.
    """
    manifest = compiled.manifest
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "kernel.hsaco"
        path.write_bytes(compiled.hsaco)
        simulator = Simulator(path, seed)
    arrays = {i: a for i, a in enumerate(arguments) if isinstance(a, np.ndarray)}
    numbers = {i: a for i, a in enumerate(arguments) if i not in arrays}
    shapes = {place: array.shape for place, array in arrays.items()}
    grid = tuple(evaluate(extent, shapes, numbers) for extent in manifest["grid"])
    simulator.launch(
        manifest["kernel"],
        grid,
        manifest["block"][0],
        [_parameter(parameter, arguments) for parameter in manifest["parameters"]],
        manifest["shared_bytes"],
    )
    return simulator


def _parameter(parameter: dict[str, Any], arguments: Sequence[Any]) -> Any:
    """What the launcher passes for a parameter of the manifest."""
    argument = arguments[parameter["argument"]]
    match parameter["kind"]:
        case "pointer":
            return argument
        case "extent":
            value = argument.shape[parameter["dimension"]]
        case "stride":
            value = argument.strides[parameter["dimension"]] // argument.itemsize
        case _:
            value = argument
    bits, is_float = int(parameter["dtype"][1:]), parameter["dtype"][0] == "f"
    return np.dtype(f"{'f' if is_float else 'i'}{bits // 8}").type(value)
