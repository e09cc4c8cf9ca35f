"""Runs the verifier and the simulator on mutants."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .. import ir, passes, sim
from ..errors import CompileError
from . import _edits, _protocol
from ._equivalent import argue
from ._exclusions import NONE, exclusion, headline
from ._mutants import Mutant, mutants
from ._order import Order, read_order, signals_for_others

Arguments = Callable[[np.random.Generator], list[Any]]

#: The most operations that a block may execute; the kernels of a corpus need fewer.
_MAX_STEPS = 200_000
#: The most orders that a search tries for one launch.
_MAX_RUNS = 100
#: What a replay says that cannot follow a counterexample.
_DEPARTURE = "of the order that the run follows"
#: What a replay says whose numbers may make the original endless as well.
_ENDLESS = "the kernel may be endless"
#: Asynchronous operations complete as late as possible, at once, and at random.
_TIMINGS: tuple[sim.RunOptions, ...] = (
    {"policy": "latest"},
    {"policy": "earliest"},
    *(sim.RunOptions(policy="random", seed=seed) for seed in range(2)),
)


@dataclasses.dataclass(frozen=True)
class Subject:
    """A kernel whose synchronization is broken.

    Attributes:
        name: of the kernel, such as ``gemm``.
        build: makes the kernel as written (phase 1) for a target.
        target: such as ``sm_90a``.
        launches: for each launch a function that makes its arguments, arrays and
            numbers, from a random generator. With them each loop of the kernel has to
            run often enough to use its slots again.
        tolerance: the largest absolute error of a correct result.
    """

    name: str
    build: Callable[[str], ir.Module]
    target: str
    launches: Mapping[str, Arguments]
    tolerance: float = 0.0

    def __str__(self) -> str:
        return f"{self.name} {self.target}"

    def forms(self) -> dict[str, ir.Module]:
        """The kernel with its schedule in channels, if it has any, and in barriers."""
        module = self.build(self.target)
        found = {}
        for step in self._steps(module):
            flag = step.partition("{")[0]
            if flag == "tile-lower-channels" and "tile.channel" in str(module):
                found["channels"] = _copy(module)
            passes.run(module, step)
        return {**found, "barriers": module}

    def _steps(self, module: ir.Module) -> list[str]:
        """The passes up to barriers in shared memory."""
        if "tile.shared_bytes" in str(module):  # The kernel is scheduled and planned.
            return ["tile-lower-channels"]
        steps = passes.expand(f"tilews-to-nvvm{{chip={self.target}}}")
        flags = [each.partition("{")[0] for each in steps]
        return steps[: flags.index("convert-tile-to-nvvm")]


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What was found in a mutant.

    Attributes:
        id: of the mutant.
        place: the line of the original that was changed.
        equivalent: the rule by which the mutant is equivalent to the original.
        verifier: the verifier's error.
        simulator: the fault that the simulator found.
        is_proved: whether the verifier proves the mutant right.
        exclusion: why the verifier may prove a mutant in which the simulator finds a
            fault: a key of ``EXCLUSIONS``, or ``no exclusion``.
    """

    id: str
    place: str
    equivalent: str | None
    verifier: str | None
    simulator: str | None
    is_proved: bool = False
    exclusion: str | None = None

    @property
    def is_refuted(self) -> bool:
        """Whether a rule is wrong: the simulator finds a fault."""
        return self.equivalent is not None and self.simulator is not None

    @property
    def mutation(self) -> str:
        return self.id.partition(":")[0]

    @property
    def outcome(self) -> str:
        """``refuted``, ``equivalent``, ``verifier``, ``simulator`` or ``missed``."""
        if self.is_refuted:
            return "refuted"
        if self.equivalent:
            return "equivalent"
        if self.verifier:
            return "verifier"
        return "simulator" if self.simulator else "missed"


class Judge:
    """Judges mutants of a subject."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        # Rules compare many mutants with the orders of one original.
        self._orders = functools.lru_cache(maxsize=8)(self._read_orders)
        module = subject.build(subject.target)
        self._launches = []
        for name, arguments in subject.launches.items():
            expected = arguments(np.random.default_rng(0))
            sim.run(module, None, expected, threads=1)
            self._launches.append((name, arguments, expected))

    def verify(self, module: ir.Module) -> tuple[str | None, bool]:
        """What the verifier says against a module, and whether it proves it right.

        As in the pipelines, it verifies a module with channels and what that module is
        lowered to.

        Args:
            module: with channels or with barriers.
        """
        is_proved = True
        for each in _forms_of(module):
            if isinstance(each, CompileError):
                return None, False
            try:
                remarks = passes.verify_schedule(_copy(each), report=True)
            except CompileError as error:
                return str(error), False
            is_proved &= any(" is proved" in remark for remark in remarks)
        return None, is_proved

    def simulate(self, module: ir.Module) -> str | None:
        """What is wrong when a module, or what it is lowered to, is run.

        Args:
            module: with channels or with barriers.
        """
        for each in _forms_of(module):
            if isinstance(each, CompileError):
                return f"lowering channels: {each}"
            if found := self._simulate(each, _TIMINGS):
                return found
        return None

    def search(self, module: ir.Module) -> str | None:
        """What is wrong in a run that is chosen to go wrong; None if none was found.

        The runs are the verifier's counterexample, and all orders in which the roles
        of small launches can run.

        Args:
            module: with channels or with barriers, which the verifier rejects.
        """
        for each in _forms_of(module):
            if isinstance(each, CompileError):
                return f"lowering channels: {each}"
            try:
                found = sim.find_counterexample(each)
                if found is not None and found.events:
                    sim.replay(_copy(each), found, max_steps=_MAX_STEPS)
            except sim.SimulationError as error:
                if not any(each in str(error) for each in (_DEPARTURE, _ENDLESS)):
                    return f"replay: {error}"
            except CompileError:
                pass  # An error without a run.
            orders: sim.RunOptions = {"policy": "exhaustive", "runs": _MAX_RUNS}
            fault = self._simulate(each, [orders])
            if fault and "not exhausted" not in fault:
                return fault
        return None

    def passes_transactions(self, module: ir.Module) -> bool:
        """Whether each launch of a module runs to its end, its channels not lowered."""
        return self._simulate(module, _TIMINGS[:1]) is None

    def _depends_on_timing(self, module: ir.Module) -> bool:
        """Whether a module has other results, or other errors, with another timing."""
        for each in _forms_of(module):
            assert not isinstance(each, CompileError), "the verifier proves the module"
            for _, arguments, _ in self._launches:
                runs = [_run(each, arguments, timing) for timing in _TIMINGS]
                first, error = runs[0]
                for found, other in runs[1:]:
                    if (error and headline(error)) != (other and headline(other)):
                        return True
                    if not error and not all(map(self._agree, found, first)):
                        return True
        return False

    def _simulate(
        self, module: ir.Module, timings: Sequence[sim.RunOptions]
    ) -> str | None:
        """What is wrong when a module is run with some timing."""
        for name, arguments, expected in self._launches:
            for timing in timings:
                found, error = _run(module, arguments, timing)
                if error is not None:
                    return f"{name}, {timing}: {error}"
                for index, pair in enumerate(zip(found, expected, strict=True)):
                    if not self._agree(*pair):
                        return f"{name}, {timing}: argument {index} has other values"
        return None

    def orders(self, module: ir.Module, role: str) -> list[Order] | None:
        """The order of a role's accesses in each launch of a module.

        Copies land as late as they may. None if a launch fails, or if the role's
        barriers order more than its accesses.
        """
        return self._orders(str(module), module.context, role)

    def _read_orders(
        self, text: str, context: ir.Context, role: str
    ) -> list[Order] | None:
        """:meth:`orders` of a module in text form."""
        lowered = ir.Module.parse(text, context=context)
        passes.run(lowered, "tile-lower-channels")
        for op in _edits.walk(lowered.operation):
            if op.name == "tile.role":
                is_meant = _protocol.name_of(op) == role
            else:
                is_meant = op.name == "gpu.func" and role == ""
            if is_meant and signals_for_others(op):
                return None
        found = []
        for _, arguments, _ in self._launches:
            events: list[sim.Event] = []
            values = arguments(np.random.default_rng(0))
            try:
                sim.run(
                    lowered,
                    None,
                    values,
                    policy="latest",
                    barriers="explicit",
                    threads=1,
                    record=events,
                    max_steps=_MAX_STEPS,
                )
            except sim.SimulationError:
                return None
            found.append(read_order(events, role))
        return found

    def _agree(self, found: Any, expected: Any) -> bool:
        if not isinstance(found, np.ndarray):
            return True
        return np.allclose(
            found.astype(np.float64),
            expected.astype(np.float64),
            rtol=0,
            atol=self._subject.tolerance,
            equal_nan=True,
        )

    def judge(self, *edits: Mutant) -> Verdict:
        """What is found of a mutant.

        Args:
            edits: The mutant. If it was edited several times, the result of each edit:
                a mutant of the one before it.
        """
        id, place = " ".join(e.id for e in edits), "; ".join(e.place for e in edits)
        found = self._judge(edits[-1].module, id, place, argue(edits, self))
        if not found.is_proved or found.simulator is None:
            return found
        reason = exclusion(edits, found.simulator)
        if reason == "contents" and self._depends_on_timing(edits[-1].module):
            reason = NONE
        return dataclasses.replace(found, exclusion=reason)

    def judge_original(self, module: ir.Module) -> Verdict:
        """What is said against an original: false alarms."""
        return self._judge(module, "original", "", None)

    def _judge(
        self, module: ir.Module, id: str, place: str, equivalent: str | None
    ) -> Verdict:
        against, is_proved = self.verify(module)
        found = self.simulate(module)
        return Verdict(id, place, equivalent, against, found, is_proved)


def _run(
    module: ir.Module, arguments: Arguments, timing: sim.RunOptions
) -> tuple[list[Any], str | None]:
    """The arguments after a run, and the error that ended it."""
    found = arguments(np.random.default_rng(0))
    options: sim.RunOptions = {
        **timing,
        "barriers": "explicit",
        "threads": 1,
        "max_steps": _MAX_STEPS,
    }
    try:
        sim.run(module, None, found, **options)
    except sim.SimulationError as error:
        return found, str(error)
    return found, None


def judge_all(subject: Subject, form: str, step: int = 1) -> Iterator[Verdict]:
    """Verdicts on the original, whose id is ``original``, and on its mutants.

    Args:
        subject: the kernel.
        form: one of its forms.
        step: 1 for all mutants, n for each n-th of them.
    """
    original = subject.forms()[form]
    judge = Judge(subject)
    yield judge.judge_original(original)
    for mutant in itertools.islice(mutants(original), 0, None, step):
        yield judge.judge(mutant)


def _forms_of(module: ir.Module) -> Iterator[ir.Module | CompileError]:
    """A module and, if it has channels, what they are lowered to."""
    yield module
    if "tile.channel" not in str(module):
        return
    lowered = _copy(module)
    try:
        passes.run(lowered, "tile-lower-channels")
    except CompileError as error:
        yield error
        return
    yield lowered


def _copy(module: ir.Module) -> ir.Module:
    return ir.Module.parse(str(module), context=module.context)
