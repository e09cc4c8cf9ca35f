"""Counterexamples of the verifier, run in the simulator."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .. import ir, passes
from .._support import files
from ..errors import CompileError
from ._arguments import make_arguments
from ._events import Event
from ._run import SimulationError, find_kernel, run

#: What a number in a file may be at most: indices and steps are counted.
_MOST = 2**63 - 1


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _MOST


def _are_counts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_count, value))


#: What each key of a file is, of each of its ``inputs`` and of its ``events``.
_FILE = {
    "kernel": ("a text", lambda v: isinstance(v, str)),
    "fault": ("a text", lambda v: isinstance(v, str)),
    "inputs": ("a list", lambda v: isinstance(v, list)),
    "events": ("a list", lambda v: isinstance(v, list)),
    "schedule": ("a text or null", lambda v: v is None or isinstance(v, str)),
    "grid": ("one to three counts", lambda v: _are_counts(v) and 1 <= len(v) <= 3),
}
_INPUT = {
    "name": ("a text", lambda v: isinstance(v, str)),
    "kind": (
        "scalar, extent, element or fill",
        lambda v: v in ("scalar", "extent", "element", "fill"),
    ),
    "argument": ("a count", _is_count),
    "place": ("a list of counts", _are_counts),
    "value": ("a number", lambda v: isinstance(v, (int, float))),
}
_EVENT = {
    "task": ("a count below 2^32", lambda v: _is_count(v) and v < 2**32),
    "op": ("a count", _is_count),
    "text": ("a text", lambda v: isinstance(v, str)),
}


def _check(what: str, found: Any, keys: Mapping[str, Any]) -> None:
    """Checks a part of a file.

    Raises:
        ValueError: it is no dictionary with these keys.
    """
    if not isinstance(found, dict):
        raise ValueError(f"{what}: expected an object, found {found!a:.80}")
    for key, (expected, is_right) in keys.items():
        if key not in found:
            raise ValueError(f"{what}: expected a key '{key}'")
        if not is_right(found[key]):
            raise ValueError(
                f"'{key}' of {what}: expected {expected}, found {found[key]!a:.80}"
            )


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
            if isinstance(read, dict):
                read = {"schedule": None, "grid": [1, 1, 1], **read}
            _check("the file", read, _FILE)
            for part, keys in (("inputs", _INPUT), ("events", _EVENT)):
                for number, each in enumerate(read[part]):
                    _check(f"{part}[{number}]", each, keys)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path} is no counterexample: {error}") from None
        return Counterexample(
            read["kernel"],
            read["fault"],
            tuple(read["inputs"]),
            tuple(read["events"]),
            read["schedule"],
            tuple(read["grid"]),
        )

    def make_arguments(self, kernel: ir.Operation, seed: int = 0) -> list[Any]:
        """Arguments with which the fault occurs, in a grid of one block.

        Args:
            kernel: The ``gpu.func``.
            seed: The seed of array elements that the counterexample does not fix.
        """
        types = ir.FunctionType(ir.TypeAttr(kernel.attributes["function_type"]).value)
        for each in self.inputs:
            _check_argument(each, types.inputs)
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
            if each["kind"] in ("fill", "element"):
                number = each["argument"]
                arguments[number] = _set_elements(arguments[number], each)
        return arguments


def _check_argument(entry: Mapping[str, Any], types: Sequence[ir.Type]) -> None:
    """Checks that an entry of ``inputs`` is about an argument of the kernel.

    Raises:
        ValueError: it is not.
    """
    number, kind, place = entry["argument"], entry["kind"], entry["place"]
    if number >= len(types):
        raise ValueError(
            f"the counterexample has an argument {number}, the kernel {len(types)} "
            "arguments"
        )
    type_ = types[number]
    is_array = isinstance(type_, ir.MemRefType)
    dims = {"scalar": 0, "fill": 0, "extent": 1}.get(
        kind, type_.rank if is_array else 0
    )
    is_extent = kind != "extent" or (
        is_array and len(place) == 1 and place[0] < type_.rank
    )
    if is_array == (kind == "scalar") or len(place) != dims or not is_extent:
        raise ValueError(
            f"the counterexample has {kind} {place} of argument {number}, which is "
            f"{type_}"
        )
    if kind == "extent" and not _is_count(entry["value"]):
        raise ValueError(
            f"extent {place} of argument {number}: expected a count, found "
            f"{entry['value']}"
        )


def _set_elements(array: np.ndarray, entry: Mapping[str, Any]) -> np.ndarray:
    """The array with all elements, or with one, as the entry says.

    Raises:
        ValueError: the value does not fit the elements, or the place the memory.
    """
    place, value = tuple(entry["place"]), entry["value"]
    try:
        array = _grow(array, place) if place else array
        array[place if place else ...] = value
    except (OverflowError, MemoryError, ValueError):
        raise ValueError(
            f"cannot make element {list(place)} of argument {entry['argument']}, "
            f"{array.dtype}{list(array.shape)}, {value}"
        ) from None
    return array


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
