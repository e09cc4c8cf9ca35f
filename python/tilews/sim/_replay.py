"""Counterexamples of the verifier, run in the simulator."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .. import ir, passes
from .._support import files
from ..errors import CompileError
from ._arguments import make_arguments
from ._events import Event
from ._run import SimulationError, find_kernel, run


@dataclasses.dataclass(frozen=True)
class Counterexample:
    """Evidence of a fault in a schedule: arguments, and the events up to the fault.

    Attributes:
        kernel: The kernel's name.
        fault: The verifier's description of the fault.
        inputs: Arguments, extents and elements of arrays, as the verifier chose them:
            dictionaries with ``name``, ``kind`` (``scalar``, ``extent``, ``element``,
            or ``fill`` for all elements), ``argument`` (its number), ``place`` (which
            extent, or the indices) and ``value``.
        events: The steps in order: dictionaries with ``task`` (0 outside of roles, then
            the roles in order), ``op`` (the number of the operation in the kernel as it
            is printed) and ``text``. Empty if arguments do not matter.
        schedule: The schedule of a run that a search of the simulator found; then there
            are no events.
        grid: The blocks of that run in x, y and z.
    """

    kernel: str
    fault: str
    inputs: tuple[dict[str, Any], ...]
    events: tuple[dict[str, Any], ...]
    schedule: str | None = None
    grid: tuple[int, ...] = (1, 1, 1)

    @staticmethod
    def from_error(
        kernel: ir.Operation,
        arguments: Sequence[Any],
        error: SimulationError,
        grid: Sequence[int] = (1, 1, 1),
    ) -> Counterexample:
        """The run that a search stopped at.

        Args:
            kernel: The ``gpu.func``.
            arguments: What it was called with. Elements of float arrays are not kept: a
                replay draws others.
            error: What the search raised.
            grid: The blocks in x, y and z.

        Raises:
            ValueError: The error is not one of a search.
        """
        if error.schedule is None:
            raise ValueError("expected an error of the policy 'exhaustive' or 'worst'")
        types = ir.FunctionType(ir.TypeAttr(kernel.attributes["function_type"]).value)
        inputs = [
            each
            for number, value in enumerate(arguments)
            for each in _describe_input(number, types.inputs[number], value)
        ]
        return Counterexample(
            ir.StringAttr(kernel.attributes["sym_name"]).value,
            str(error).split("\n")[0],
            tuple(inputs),
            (),
            error.schedule,
            tuple(grid),
        )

    def save(self, path: str | pathlib.Path) -> None:
        """Writes a file that :meth:`load` reads."""
        text = json.dumps(dataclasses.asdict(self), indent=1)
        files.write(path, text + "\n")

    @staticmethod
    def load(path: str | pathlib.Path) -> Counterexample:
        """Reads a file of ``--tile-verify-schedule="counterexample=..."`` or `save`.

        Raises:
            ValueError: The file holds no counterexample.
        """
        try:
            read = json.loads(files.read_text(path))
            return Counterexample(
                read["kernel"],
                read["fault"],
                tuple(read["inputs"]),
                tuple(read["events"]),
                read.get("schedule"),
                tuple(read.get("grid", (1, 1, 1))),
            )
        except (ValueError, KeyError, TypeError, RecursionError) as error:
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
            if each["kind"] == "fill":
                arguments[each["argument"]][...] = each["value"]
            elif each["kind"] == "element":
                number, place = each["argument"], tuple(each["place"])
                arguments[number] = _grow(arguments[number], place)
                arguments[number][place] = each["value"]
        return arguments


def _describe_input(
    number: int, type_: ir.Type, value: Any
) -> Iterator[dict[str, Any]]:
    """The entries of ``inputs`` for an argument."""

    def describe(kind: str, place: Sequence[int], found: Any) -> dict[str, Any]:
        return {
            "name": f"argument {number}" + (f"{list(place)}" if place else ""),
            "kind": kind,
            "argument": number,
            "place": list(place),
            "value": found,
        }

    if not isinstance(value, np.ndarray):
        yield describe("scalar", (), value)
        return
    for dim, extent in enumerate(value.shape):
        if isinstance(type_, ir.MemRefType) and type_.is_dynamic_dim(dim):
            yield describe("extent", (dim,), extent)
    if value.dtype.kind in "biu":
        for place, element in np.ndenumerate(value):
            yield describe("element", place, element.item())


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
    max_steps: int = 0,
) -> list[Any]:
    """Runs a kernel up to the fault of a counterexample, and on from there.

    Args:
        module: The module that the counterexample was found in.
        counterexample: The steps to take first.
        record: A list that gets the events, as for :func:`run`.
        seed: The seed of array elements that the counterexample does not fix.
        max_steps: The most operations of a block, as for :func:`run`.

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
    schedule = counterexample.schedule or "0,0,0:"
    grid = counterexample.grid
    run(
        kernel,
        None,
        arguments,
        grid,
        schedule=schedule,
        order=order,
        record=record,
        max_steps=max_steps,
    )
    return arguments
