"""What was found so far, in a file, so that a run can go on where another one ended."""

from __future__ import annotations

import collections
import dataclasses
import hashlib
import json
import pathlib
from collections.abc import Sequence
from typing import Any

from .._support import files
from ._compare import Disagreement
from ._grammar import Family

#: How many schedules are kept as examples of one disagreement.
_EXAMPLES = 3

Counts = dict[str, "collections.Counter[str]"]


def digest(families: Sequence[Family]) -> str:
    """A number that changes when the grammar does."""
    return hashlib.sha256(repr(families).encode()).hexdigest()[:16]


@dataclasses.dataclass
class State:
    """The counts of all schedules that were judged.

    Attributes:
        grammar: The digest of the grammar that numbers the schedules.
        next: The number of the next schedule.
        outcomes: How often each outcome was found, by family.
        verdicts: How often each verdict was given, by family.
        reasons: How often a schedule was not supported, by reason.
        examples: For each reason or fault of another outcome the number of schedules,
            and those with the fewest operations.
    """

    grammar: str
    next: int = 0
    outcomes: Counts = dataclasses.field(default_factory=dict)
    verdicts: Counts = dataclasses.field(default_factory=dict)
    reasons: collections.Counter[str] = dataclasses.field(
        default_factory=collections.Counter
    )
    examples: dict[str, dict[str, Any]] = dataclasses.field(default_factory=dict)

    @staticmethod
    def load(path: pathlib.Path, grammar: str) -> State:
        """The state of a file; an empty one if there is none for this grammar."""
        if not path.exists():
            return State(grammar)
        read = json.loads(path.read_text())
        if read["grammar"] != grammar:
            return State(grammar)
        for name in ("outcomes", "verdicts"):
            read[name] = {k: collections.Counter(v) for k, v in read[name].items()}
        read["reasons"] = collections.Counter(read["reasons"])
        return State(**read)

    def save(self, path: pathlib.Path) -> None:
        """Writes the file. An interruption leaves the old one or the new one."""
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write(path, json.dumps(vars(self), indent=1) + "\n")

    def add(self, family: str, found: Disagreement) -> None:
        """Counts a schedule."""
        self.next += 1
        self.outcomes.setdefault(family, collections.Counter())[found.outcome] += 1
        self.verdicts.setdefault(family, collections.Counter())[found.verdict] += 1
        if found.verdict == "unsupported":
            self.reasons[found.reason] += 1
        if found.outcome in ("agreed", "unsupported"):
            return
        key = f"{found.outcome}: {found.reason or found.fault}"
        entry = self.examples.setdefault(key, {"count": 0, "examples": []})
        entry["count"] += 1
        example = f"{found.schedule} {found.inputs}".strip()
        entry["examples"] = sorted({*entry["examples"], example}, key=_size)[:_EXAMPLES]

    @property
    def is_agreed(self) -> bool:
        """Whether verifier and simulator disagree nowhere."""
        return all(key.startswith(("unknown", "contract")) for key in self.examples)

    def report(self) -> str:
        """The counts as text."""
        names = (
            "agreed", "contract", "unsupported", "unknown", "unsound", "false alarm"
        )  # fmt: skip
        lines = [
            f"{self.next} schedules",
            "",
            f"{'family':44}{'proved':>8}{'wrong':>8}"
            + "".join(f"{name:>13}" for name in names),
        ]
        for family, outcomes in sorted(self.outcomes.items()):
            verdicts = self.verdicts[family]
            lines.append(
                f"{family:44}{verdicts['proved']:>8}{verdicts['wrong']:>8}"
                + "".join(f"{outcomes[name]:>13}" for name in names)
            )
        if self.reasons:
            lines += ["", "unsupported"]
            lines += [f"  {count} {each}" for each, count in self.reasons.most_common()]
        for key, entry in sorted(self.examples.items()):
            lines += ["", f"{key} ({entry['count']})"]
            lines += [f"  {each}" for each in entry["examples"]]
        return "\n".join(lines)


def _size(example: str) -> tuple[int, str]:
    return len(example), example
