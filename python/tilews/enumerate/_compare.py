"""Compares the verdict on a schedule with all of its runs."""

from __future__ import annotations

import dataclasses
import itertools
import pathlib
import re
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import ir, passes, sim
from ..errors import CompileError
from ._contract import breaks_rule, find_broken_rule
from ._grammar import Schedule
from ._texts import make_text

#: The most runs for one choice of arguments, and operations of one run.
_MAX_RUNS = 2000
_MAX_STEPS = 5000
#: Iterations of the loop; those of the outer and of the inner one.
_TRIPS = (2, 1, 3, 0)
_NESTED_TRIPS = ((2, 2), (1, 1), (2, 1), (1, 3), (3, 1), (2, 3), (0, 1), (1, 0))


@dataclasses.dataclass(frozen=True)
class Inputs:
    """The arguments that a schedule depends on."""

    n: int
    m: int
    mask: tuple[bool, ...]

    def __str__(self) -> str:
        mask = "".join("01"[each] for each in self.mask)
        return f"n={self.n} m={self.m} mask={mask or '-'}"


@dataclasses.dataclass(frozen=True)
class Disagreement:
    """What was found of a schedule.

    Attributes:
        schedule: Its name.
        verdict: ``proved``, ``wrong`` or ``unsupported``.
        reason: The verifier's fault or obstacle, without numbers.
        fault: What the simulator found, without numbers, or the rule that a proved
            schedule breaks; empty if every run is right.
        inputs: The arguments for which it found that.
        is_exhausted: Whether all runs were made, up to the first fault.
        breaks_rule: Whether the schedule breaks the rule of `reason`, by definition.
    """

    schedule: str
    verdict: str
    reason: str = ""
    fault: str = ""
    inputs: str = ""
    is_exhausted: bool = True
    breaks_rule: bool = False

    @property
    def outcome(self) -> str:
        """``agreed``, ``contract``, ``unsupported``, ``unknown``, or a disagreement.

        Disagreements are ``unsound`` and ``false alarm``.
        """
        if self.verdict == "unsupported":
            return "unsupported"
        if (self.verdict == "wrong") == bool(self.fault):
            return "agreed" if self.is_exhausted else "unknown"
        if self.fault:
            return "unsound"
        if self.breaks_rule:
            return "contract"
        return "false alarm" if self.is_exhausted else "unknown"


def _generalize(text: str) -> str:
    """The first line of a message, without its place and its numbers."""
    line = re.sub(r"^.*?(?:error|remark): ", "", text.split("\n")[0])
    line = re.sub(r"^.*?schedule of @k is (?:wrong|not verified): ", "", line)
    line = re.sub(r" \(block \(.*?\)\)", "", line)
    return re.sub(r"\d+", "#", line)


def make_inputs(schedule: Schedule) -> Iterator[Inputs]:
    """The arguments to run a schedule with: those that fail most often first."""
    many = 2 * max(schedule.depths) + 1
    if schedule.nested:
        for m, n in _NESTED_TRIPS:
            yield Inputs(n, m, (True,) * n)
        if schedule.guard != "none":
            for mask in itertools.product((True, False), repeat=3):
                yield Inputs(3, 2, mask)
        return
    for n in (*_TRIPS, many):
        yield Inputs(n, 1, (True,) * n)
    if schedule.guard == "none":
        return
    for n in (1, 2, 3):
        for mask in itertools.product((False, True), repeat=n):
            if not all(mask):
                yield Inputs(n, 1, mask)
    for mask in ((True, False), (False, True)):
        yield Inputs(many, 1, tuple(itertools.islice(itertools.cycle(mask), many)))


class Comparer:
    """Judges schedules, one after the other, in one context."""

    def __init__(self) -> None:
        self._context = ir.Context()
        self._context.enable_multithreading(False)

    def judge(self, schedule: Schedule) -> Disagreement:
        """Asks the verifier and runs all orders."""
        with self._context, ir.Location.unknown():
            module = ir.Module.parse(make_text(schedule))
            verdict, reason = self._verify(module)
            kernel = sim.find_kernel(module, None)
            found = Disagreement(str(schedule), verdict, reason)
            for inputs in make_inputs(schedule):
                found = self._simulate(kernel, inputs, found)
                if found.fault:
                    return found
            if verdict == "wrong":
                # A fault may need more iterations. The pass invalidates `kernel`.
                more = self._inputs_of_counterexample(module)
                kernel = sim.find_kernel(module, None)
                for inputs in more:
                    found = self._simulate(kernel, inputs, found)
            if verdict == "wrong" and not found.fault:
                broken = breaks_rule(schedule, reason)
                found = dataclasses.replace(found, breaks_rule=broken)
            if verdict == "proved":
                found = dataclasses.replace(found, fault=find_broken_rule(schedule))
            return found

    def _verify(self, module: ir.Module) -> tuple[str, str]:
        try:
            remarks = passes.verify_schedule(module, report=True)
        except CompileError as error:
            return "wrong", _generalize(str(error))
        for remark in remarks:
            if "tile-verify-0001" in remark:
                return "unsupported", _generalize(remark)
        return "proved", ""

    def _simulate(
        self, kernel: Any, inputs: Inputs, found: Disagreement
    ) -> Disagreement:
        """The finding, with a fault if a run with these arguments has one."""
        mask = np.array([*inputs.mask, False], bool)
        arrays = [np.ones(64, "f4"), np.ones(64, "f4"), mask]
        try:
            sim.run(
                kernel,
                None,
                [*arrays, inputs.n, inputs.m],
                1,
                policy="exhaustive",
                runs=_MAX_RUNS,
                max_steps=_MAX_STEPS,
                threads=1,
            )
        except sim.SimulationError as error:
            if "not exhausted" in str(error):
                return dataclasses.replace(found, is_exhausted=False)
            fault = _generalize(str(error))
            return dataclasses.replace(
                found, fault=fault, inputs=str(inputs), is_exhausted=True
            )
        return found

    def _inputs_of_counterexample(self, module: ir.Module) -> list[Inputs]:
        """The arguments that the verifier chose, if they are not too large."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "found.json")
            try:
                passes.verify_schedule(module, counterexample=str(path))
            except CompileError:
                pass
            if not path.exists():
                return []
            found = sim.Counterexample.load(path)
        values = {
            (each["kind"], each["argument"], *each["place"]): each["value"]
            for each in found.inputs
        }
        n = values.get(("scalar", 3), 1)
        m = values.get(("scalar", 4), 1)
        if not (0 <= n <= 20 and 0 <= m <= 20):
            return []
        mask = tuple(bool(values.get(("element", 2, i), 0)) for i in range(n))
        return [Inputs(n, m, mask)]
