"""Draws mutants with several edits, each from its index alone."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence

from .. import ir
from ..errors import CompileError
from . import _edits
from ._classes import CLASSES
from ._exclusions import NONE, headline
from ._judge import Judge, Subject, Verdict
from ._mutants import Mutant, mutant, try_edit

#: The most edits of a mutant.
MAX_EDITS = 3
#: How often an edit that a module does not have is drawn again.
_TRIES = 1000
#: The mean number of a variant. Most classes have few, moves have many.
_MEAN_VARIANT = 2.0


@dataclasses.dataclass(frozen=True)
class RandomFinding:
    """What was found of a random mutant, or the index of one that was not judged.

    Attributes:
        index: from which it is drawn.
        subject: the name and the target of the kernel.
        form: ``channels`` or ``barriers``.
        edits: their ids, in order. The index finds them again as long as the corpus is
            the same, they themselves as long as the compiler schedules it the same.
        outcome: a key of ``OUTCOMES``.
        reason: why, such as the verifier's message, without numbers.
    """

    index: int
    subject: str = ""
    form: str = ""
    edits: tuple[str, ...] = ()
    outcome: str = ""
    reason: str = ""


@dataclasses.dataclass(frozen=True)
class RandomMutant:
    """A mutant that was edited one or several times.

    Attributes:
        subject: the name and the target of the kernel.
        form: ``channels`` or ``barriers``.
        edits: for each edit its result, a mutant of the one before it.
    """

    subject: str
    form: str
    edits: tuple[Mutant, ...]


class RandomMutants:
    """The random mutants of a corpus, and what is found of them."""

    def __init__(self, subjects: Sequence[Subject]) -> None:
        self._subjects = {str(each): each for each in subjects}
        self._judges: dict[str, Judge] = {}
        self._modules: dict[str, dict[str, ir.Module]] = {}

    def _get_forms(self, name: str) -> dict[str, ir.Module]:
        """The forms of a kernel, which are made once."""
        if name not in self._modules:
            self._modules[name] = self._subjects[name].forms()
        return self._modules[name]

    def _get_judge(self, name: str) -> Judge:
        if name not in self._judges:
            self._judges[name] = Judge(self._subjects[name])
        return self._judges[name]

    def draw(self, index: int) -> RandomMutant:
        """The mutant with an index. Equal indices give equal mutants."""
        source = random.Random(index)
        subject = source.choice(list(self._subjects))
        forms = self._get_forms(subject)
        form = source.choice(sorted(forms))
        module = forms[form]
        edits: list[Mutant] = []
        for _ in range(source.randint(1, MAX_EDITS)):
            if (one := _draw_edit(source, module)) is not None:
                edits.append(one)
                module = one.module
        if not edits:
            raise CompileError(f"'{subject}' has no synchronization to break")
        return RandomMutant(subject, form, tuple(edits))

    def find(self, subject: str, form: str, ids: Sequence[str]) -> RandomMutant:
        """The mutant with these edits.

        Raises:
            CompileError: There is no such kernel, form or edit any more.
        """
        if subject not in self._subjects or form not in self._get_forms(subject):
            raise CompileError(f"no kernel '{subject}' with the form '{form}'")
        module = self._get_forms(subject)[form]
        edits: list[Mutant] = []
        for each in ids:
            edits.append(mutant(module, each))
            module = edits[-1].module
        return RandomMutant(subject, form, tuple(edits))

    def get(self, one: RandomFinding) -> RandomMutant:
        """The mutant with the edits of a finding, or else with its index."""
        if one.edits:
            return self.find(one.subject, one.form, one.edits)
        return self.draw(one.index)

    def judge(self, one: RandomFinding) -> RandomFinding:
        """What is found of the mutant with the index or the edits of `one`."""
        chosen = self.get(one)
        _, outcome, reason = self.explain(chosen)
        edits = tuple(each.id for each in chosen.edits)
        return RandomFinding(
            one.index, chosen.subject, chosen.form, edits, outcome, reason
        )

    def explain(self, chosen: RandomMutant) -> tuple[Verdict, str, str]:
        """The verdict on a mutant, the outcome, and its reason."""
        judge = self._get_judge(chosen.subject)
        verdict = judge.judge(*chosen.edits)
        outcome = _outcome(verdict)
        if outcome not in ("verifier", "refused"):
            return verdict, outcome, _reason(verdict, outcome)
        # Is it a fault that other launches or orders show?
        fault = judge.search(chosen.edits[-1].module)
        if fault is None:
            return verdict, "refused", _reason(verdict, "refused")
        verdict = dataclasses.replace(verdict, simulator=fault)
        outcome = "refuted" if verdict.equivalent else "verifier"
        return verdict, outcome, _reason(verdict, outcome)


def _draw_edit(source: random.Random, module: ir.Module) -> Mutant | None:
    """A mutant of a module; None if it has nothing left to change."""
    text = str(module)
    operations = _edits.walk(module.operation)
    for _ in range(_TRIES):
        one = CLASSES[source.choice(list(CLASSES))]
        places = [i for i, op in enumerate(operations) if op.name in one.on]
        if not places:
            continue
        index = source.choice(places)
        variant = int(source.expovariate(1 / _MEAN_VARIANT))
        changed = try_edit(module, one, index, variant)
        if changed is not None and str(changed) != text:
            return Mutant(one.name, operations[index], index, variant, changed)
    return None


def _outcome(verdict: Verdict) -> str:
    """The outcome, if no more runs are made."""
    if verdict.is_refuted:
        return "refuted"
    if verdict.simulator and verdict.is_proved:
        return "proved" if verdict.exclusion == NONE else "excluded"
    if verdict.simulator:
        return "both" if verdict.verifier else "simulator"
    if verdict.verifier:
        return "refused" if verdict.equivalent else "verifier"
    return "equivalent" if verdict.equivalent else "missed"


def _reason(verdict: Verdict, outcome: str) -> str:
    """What distinguishes a verdict from others with its outcome."""
    if outcome == "refused":
        return headline(verdict.verifier or "")
    if outcome in ("proved", "simulator"):
        return headline(verdict.simulator or "")
    if outcome == "refuted":
        return f"{verdict.equivalent}: {headline(verdict.simulator or '')}"
    return (verdict.exclusion or verdict.equivalent or "") if outcome != "both" else ""
