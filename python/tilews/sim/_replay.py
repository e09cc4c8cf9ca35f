"""Counterexamples of the verifier, run in the simulator."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import tempfile
from typing import Any

import numpy as np

from .. import ir, passes
from ..errors import CompileError
from ._arguments import make_arguments
from ._events import Event
from ._launch import find_kernel, run


@dataclasses.dataclass(frozen=True)
class Counterexample:
    """Evidence of a fault in a schedule: arguments, and the events up to the fault.

    Attributes:
        kernel: The kernel's name.
        fault: The verifier's description of the fault.
        inputs: Arguments, extents and elements of arrays, as the verifier chose them:
            dictionaries with ``name``, ``kind`` (``scalar``, ``extent``, ``element``,
            or ``other`` for values computed from floats), ``argument`` (its number),
            ``place`` (which extent, or the indices) and ``value``.
        events: The steps in order: dictionaries with ``task`` (0 outside of roles, then
            the roles in order), ``op`` (the number of the operation in the kernel as it
            is printed) and ``text``. Empty if arguments do not matter.
    """

    kernel: str
    fault: str
    inputs: tuple[dict[str, Any], ...]
    events: tuple[dict[str, Any], ...]

    @staticmethod
    def load(path: str | pathlib.Path) -> Counterexample:
        """Reads a file that ``--tile-verify-schedule="counterexample=..."`` wrote.

        Raises:
            ValueError: The file holds no counterexample.
        """
        try:
            read = json.loads(pathlib.Path(path).read_text())
            return Counterexample(
                read["kernel"],
                read["fault"],
                tuple(read["inputs"]),
                tuple(read["events"]),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path} is no counterexample: {error}") from None

    def make_arguments(self, kernel: ir.Operation, seed: int = 0) -> list[Any]:
        """Arguments with which the fault occurs, in a grid of one block.

        Args:
            kernel: The ``gpu.func``.
            seed: The seed of array elements that the counterexample does not fix.
        """
        types = ir.FunctionType(ir.TypeAttr(kernel.attributes["function_type"]).value)
        scalars = {
            str(number): "0"
            for number, type_ in enumerate(types.inputs)
            if not isinstance(type_, ir.MemRefType)
        }
        extents: dict[str, int] = {}
        for each in self.inputs:
            if each["kind"] == "scalar":
                scalars[str(each["argument"])] = str(each["value"])
            elif each["kind"] == "extent":
                extents[f"{each['argument']}.{each['place'][0]}"] = each["value"]
        arguments = list(make_arguments(kernel, scalars, extents, seed).values())
        for each in self.inputs:
            if each["kind"] == "element":
                number, place = each["argument"], tuple(each["place"])
                arguments[number] = _grow(arguments[number], place)
                arguments[number][place] = each["value"]
        return arguments


def _grow(array: np.ndarray, place: tuple[int, ...]) -> np.ndarray:
    """The array, enlarged so that it has an element `place`; new elements are 0."""
    more = [(0, max(0, i + 1 - n)) for i, n in zip(place, array.shape, strict=True)]
    return np.pad(array, more) if any(last for _, last in more) else array


def find_counterexample(module: ir.Module) -> Counterexample | None:
    """The verifier's counterexample for the first faulty kernel of a module.

    Returns:
        The counterexample; None if the verifier finds no fault, whether or not it
        proves the schedule.

    Raises:
        CompileError: The verifier fails without a counterexample.
    """
    copy = ir.Module.parse(str(module), context=module.context)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "counterexample.json")
        try:
            passes.verify_schedule(copy, counterexample=str(path))
        except CompileError:
            if not path.exists():
                raise
        return Counterexample.load(path) if path.exists() else None


def replay(
    module: Any,
    counterexample: Counterexample,
    *,
    record: list[Event] | None = None,
    seed: int = 0,
) -> list[Any]:
    """Runs a kernel up to the fault of a counterexample, and on from there.

    Args:
        module: The module that the counterexample was found in.
        counterexample: The steps to take first.
        record: A list that gets the events, as for :func:`run`.
        seed: The seed of array elements that the counterexample does not fix.

    Returns:
        The arguments after the run, if the kernel terminates in spite of the fault.
        Its results may then be wrong.

    Raises:
        SimulationError: The fault, or the kernel cannot take the steps of the
            counterexample; the text says which.
    """
    kernel = find_kernel(module, counterexample.kernel)
    arguments = counterexample.make_arguments(kernel, seed)
    order = [(each["task"], each["op"]) for each in counterexample.events]
    run(kernel, None, arguments, 1, schedule="0,0,0:", order=order, record=record)
    return arguments
