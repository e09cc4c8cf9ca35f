"""What was found of random mutants so far, in a file, so that runs add to it."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from typing import Any

from .._support import files
from ._random_mutants import MAX_EDITS, RandomFinding

#: What may be found of a mutant.
OUTCOMES = {
    "both": "The verifier and the simulator find a fault",
    "verifier": "The verifier finds a fault, the simulator in chosen runs only",
    "simulator": "The simulator finds a fault, the verifier decides nothing",
    "excluded": "The verifier proves a fault that it does not check for",
    "equivalent": "Equivalent by a rule, and not refused",
    "refused": "The verifier refuses it, and no run goes wrong",
    "missed": "No tool finds a fault, and no rule says that there is none",
    "proved": "The verifier proves a fault that it should find",
    "refuted": "A rule says that it is equivalent, and it has a fault",
    "crash": "A tool crashes",
    "hang": "A tool takes too long",
}
#: The outcomes that are defects of a tool.
DEFECTS = ("proved", "refuted", "crash", "hang")
#: The outcomes whose mutants are all kept, to be judged again.
_KEPT = ("missed", *DEFECTS)
_MOST_KEPT = 1000
_MOST_EXAMPLES = 3


@dataclasses.dataclass
class Tally:
    """The outcomes of all random mutants that were judged.

    Attributes:
        first: The index of the first mutant.
        next: The index of the next mutant.
        date: The day of the last run.
        counts: For each outcome the numbers of mutants with one edit, two edits, and so
            on.
        reasons: For each outcome and reason the number of mutants, and some of them.
    """

    first: int = 0
    next: int = 0
    date: str = ""
    counts: dict[str, list[int]] = dataclasses.field(default_factory=dict)
    reasons: dict[str, dict[str, dict[str, Any]]] = dataclasses.field(
        default_factory=dict
    )

    @staticmethod
    def load(path: pathlib.Path, first: int = 0) -> Tally:
        """The tally of a file; if there is none, an empty one from `first` on."""
        if not path.exists():
            return Tally(first, first)
        return Tally(**json.loads(path.read_text()))

    def save(self, path: pathlib.Path) -> None:
        """Writes the file. An interruption leaves the old one or the new one."""
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write(path, json.dumps(vars(self), indent=1, sort_keys=True) + "\n")

    def add(self, found: RandomFinding) -> None:
        """Counts a mutant."""
        counts = self.counts.setdefault(found.outcome, [0] * MAX_EDITS)
        counts[max(len(found.edits), 1) - 1] += 1
        if not found.reason and found.outcome not in _KEPT:
            return
        reasons = self.reasons.setdefault(found.outcome, {})
        entry = reasons.setdefault(found.reason, {"count": 0, "examples": []})
        entry["count"] += 1
        entry["examples"].append(dataclasses.asdict(found))
        if found.outcome not in _KEPT:
            entry["examples"].sort(key=lambda each: len(each["edits"]))
        most = _MOST_KEPT if found.outcome in _KEPT else _MOST_EXAMPLES
        del entry["examples"][most:]

    def take_kept(self) -> list[RandomFinding]:
        """Removes the mutants that have to be looked at, to judge them again."""
        found = []
        for outcome in _KEPT:
            for entry in self.reasons.pop(outcome, {}).values():
                for each in entry["examples"]:
                    edits = tuple(each["edits"])
                    found.append(RandomFinding(**{**each, "edits": edits}))
                    self.counts[outcome][max(len(edits), 1) - 1] -= 1
        return sorted(found, key=lambda each: each.index)

    @property
    def total(self) -> int:
        return sum(map(sum, self.counts.values()))

    @property
    def range(self) -> str:
        """The indices that were judged."""
        return f"{self.first} to {self.next - 1}" if self.next > self.first else "none"

    @property
    def defects(self) -> list[str]:
        """A line for each mutant that shows a defect of a tool."""
        return [
            f"{outcome}: {_describe(each)}: {reason}"
            for outcome in DEFECTS
            for reason, entry in self.reasons.get(outcome, {}).items()
            for each in entry["examples"]
        ]

    def report(self) -> str:
        """The counts as text."""
        lines = [f"{self.total} random mutants, of indices {self.range}"]
        for outcome in OUTCOMES:
            if any(counts := self.counts.get(outcome, [])):
                lines += ["", f"{sum(counts):>7} {outcome}: {OUTCOMES[outcome]}"]
            for reason, entry in _by_count(self.reasons.get(outcome, {})):
                lines.append(f"{entry['count']:>7}   {reason}")
                lines += [f"{'':10}{_describe(e)}" for e in entry["examples"][:1]]
        return "\n".join(lines)

    def render(self) -> str:
        """The counts in Markdown, without a title."""
        head = ["outcome", "what is found", *map(_edit_count, range(1, MAX_EDITS + 1))]
        rows = [[*head, "all"], ["---"] * (len(head) + 1)]
        for outcome, summary in OUTCOMES.items():
            counts = self.counts.get(outcome, [0] * MAX_EDITS)
            rows.append([outcome, summary, *map(str, [*counts, sum(counts)])])
        parts = [_table(rows)]
        for outcome, title in _TITLES.items():
            if entries := _by_count(self.reasons.get(outcome, {})):
                rows = [["reason", "mutants", "an example"], ["---"] * 3]
                for reason, entry in entries:
                    example = f"`{_describe(entry['examples'][0])}`"
                    rows.append([reason, str(entry["count"]), example])
                parts += [title, _table(rows)]
        return "\n\n".join(parts)


_TITLES = {
    "excluded": """\
The verifier proves these faults, which it does not check for:""",
    "refused": """\
The verifier refuses these mutants, and no run goes wrong. Most of them break a rule of
the protocol without a consequence:""",
    **dict.fromkeys(DEFECTS, "These are defects of a tool:"),
}


def _edit_count(number: int) -> str:
    return f"{number} edit{'s' if number != 1 else ''}"


def _by_count(
    reasons: dict[str, dict[str, Any]],
) -> list[tuple[str, dict[str, Any]]]:
    return sorted(reasons.items(), key=lambda each: (-each[1]["count"], each[0]))


def _describe(found: dict[str, Any]) -> str:
    edits = " ".join(found["edits"])
    return f"{found['index']}: {found['subject']} {found['form']} {edits}".rstrip(": ")


def _table(rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
