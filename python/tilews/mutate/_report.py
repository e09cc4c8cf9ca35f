"""The page docs/mutation.md: which mutants the verifier and the simulator find."""

from __future__ import annotations

import collections
import inspect
import math
from collections.abc import Iterable, Mapping

from ._classes import CLASSES
from ._equivalent import JOINT_RULES_OF_RUNS, RULES_OF_RUNS
from ._exclusions import EXCLUSIONS, NONE, headline
from ._judge import Verdict
from ._tally import Tally
from .rules import JOINT_RULES, RULES

#: Verdicts by kernel and form, such as ("gemm sm_90a", "barriers").
Results = Mapping[tuple[str, str], list[Verdict]]

_COLUMNS = (
    "mutants",
    "equivalent",
    "found by verifier",
    "by simulator",
    "by either",
    "missed",
    "score",
    "proved all the same",
)


def _count(number: int) -> str:
    return f"{number} mutant{'s' if number != 1 else ''}"


def percent(share: float) -> str:
    """A share from 0 to 1, rounded down: 100.0 means that nothing is missed."""
    return f"{math.floor(1000 * share) / 10:.1f}"


def _figures(verdicts: Iterable[Verdict]) -> list[str]:
    mutants = [each for each in verdicts if each.id != "original"]
    faults = [each for each in mutants if not each.equivalent]
    found = [each for each in faults if each.verifier or each.simulator]
    score = f"{percent(len(found) / len(faults))} %" if faults else ""
    return [
        str(len(mutants)),
        str(len(mutants) - len(faults)),
        str(sum(bool(each.verifier) for each in faults)),
        str(sum(bool(each.simulator) for each in faults)),
        str(len(found)),
        str(len(faults) - len(found)),
        score,
        str(sum(each.is_proved and bool(each.simulator) for each in faults)),
    ]


def _table(first: Iterable[str], rows: Iterable[list[str]]) -> str:
    head = [*first, *_COLUMNS]
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def scores(results: Results) -> tuple[float, float]:
    """(share of faults that the verifier finds, share that either finds), 0 to 1."""
    faults = [v for all_ in results.values() for v in all_[1:] if not v.equivalent]
    verifier = sum(bool(each.verifier) for each in faults)
    either = sum(bool(each.verifier or each.simulator) for each in faults)
    # Without faults the share is 1.
    return (verifier / len(faults), either / len(faults)) if faults else (1.0, 1.0)


def false_alarms(results: Results) -> dict[tuple[str, str], str]:
    """The messages of verifier or simulator for originals, by kernel and form."""
    originals = {key: verdicts[0] for key, verdicts in results.items()}
    return {
        key: each.verifier or each.simulator or ""
        for key, each in originals.items()
        if each.verifier or each.simulator
    }


def refuted(results: Results) -> list[str]:
    """Errors of this tool: mutants that are equivalent by a rule but fail to run."""
    return [
        f"{' '.join(key)}: {each.id} is equivalent by the rule {each.equivalent}, but "
        f"the simulator finds: {each.simulator}"
        for key, verdicts in results.items()
        for each in verdicts
        if each.is_refuted
    ]


def render(results: Results) -> str:
    """The page in Markdown."""
    everything = [each for verdicts in results.values() for each in verdicts]
    by_class = collections.defaultdict(list)
    by_rule = collections.Counter(each.equivalent for each in everything)
    strict = sum(
        bool(each.equivalent and (each.verifier or each.simulator))
        for each in everything
    )
    for each in everything:
        by_class[each.mutation].append(each)
    verifier, either = scores(results)
    parts = [
        _INTRODUCTION.format(
            mutants=len(everything) - len(results),
            kernels=len(results),
            either=percent(either),
            verifier=percent(verifier),
            alarms=len(false_alarms(results)) or "none",
        ),
        "## By class",
        _table(
            ("class", "what is done"),
            [
                [f"`{name}`", one.summary, *_figures(by_class[name])]
                for name, one in CLASSES.items()
                if name in by_class
            ]
            + [["", "all", *_figures(everything)]],
        ),
        "## By kernel",
        _table(
            ("kernel", "form"),
            [[*key, *_figures(verdicts)] for key, verdicts in results.items()],
        ),
        "## Proved all the same",
        _proved(results),
        "## Equivalent mutants",
        _EQUIVALENT.format(strict=strict),
        *(
            f"### {name}\n\n{inspect.getdoc(rule)}\n\n{_count(by_rule[name])}."
            for name, rule in _ALL_RULES.items()
        ),
        "## Missed",
        "\n".join(
            f"* `{each.id}` of {kernel} ({form}): `{each.place}`"
            for (kernel, form), verdicts in results.items()
            for each in verdicts[1:]
            if each.outcome == "missed"
        )
        or "None.",
    ]
    return "\n\n".join(parts) + "\n"


#: Those for one edit come last, because they describe a rule of both kinds.
_ALL_RULES = {**JOINT_RULES, **JOINT_RULES_OF_RUNS, **RULES, **RULES_OF_RUNS}

#: The title of the last section of the page, which random mutation writes.
_RANDOM = "\n## Random mutants\n"


def with_random(page: str, section: str) -> str:
    """The page with another last section, or without one."""
    table = page.partition(_RANDOM)[0]
    return f"{table}{_RANDOM}\n{section}" if section else table


def get_random(page: str) -> str:
    """The last section of the page; empty if it has none."""
    return page.partition(_RANDOM)[2].removeprefix("\n")


def render_random(tally: Tally) -> str:
    """The last section in Markdown."""
    introduction = _RANDOM_MUTANTS.format(
        total=f"{tally.total:,}", range=tally.range, date=tally.date
    )
    return f"{introduction}\n\n{tally.render()}\n"


def _proved(results: Results) -> str:
    """The section on faults that the verifier wrongly proves to be none."""
    found: dict[str, list[tuple[str, Verdict]]] = collections.defaultdict(list)
    for (kernel, form), verdicts in results.items():
        for each in verdicts[1:]:
            if each.exclusion and not each.equivalent:
                found[each.exclusion].append((f"{kernel} ({form})", each))
    texts = {**EXCLUSIONS, NONE: _NOT_EXCLUDED}
    parts = [
        f"### {name}\n\n{text}\n\n{_count(len(found[name]))}.{_by_message(found[name])}"
        for name, text in texts.items()
    ]
    return "\n\n".join([_PROVED, *parts])


def _by_message(found: list[tuple[str, Verdict]]) -> str:
    """A table of mutants by class and by what the simulator finds."""
    groups: dict[tuple[str, str], list[str]] = collections.defaultdict(list)
    for where, each in found:
        what = headline(each.simulator or "")
        groups[each.mutation, what].append(f"`{each.id}` of {where}")
    if not groups:
        return ""
    head = ["class", "what the simulator finds", "mutants", "the first of them"]
    rows = [
        [f"`{mutation}`", what, str(len(ids)), ids[0]]
        for (mutation, what), ids in groups.items()
    ]
    lines = [head, ["---"] * len(head), *rows]
    return "\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines)


_INTRODUCTION = """\
<!-- Made by `make mutation`; edit python/tilews/mutate/_report.py. -->

# What finds broken synchronization

`tilews-mutate` takes kernels with correct schedules and breaks one operation at a time.
It then checks whether the verifier (`--tile-verify-schedule`) or the simulator notices.
There are {mutants} mutants of {kernels} kernels and forms. Both tools together find
**{either} %** of the mutants that are not equivalent to their originals; the
verifier alone finds **{verifier} %**. False alarms on the originals: **{alarms}**.

The forms are *channels*, the schedule with its layouts before
`--tile-lower-channels`, and *barriers*, after it. The kernels and their launches are in
`test/python/kernels/mutation_corpus.py`. To see a mutant, and what is found in it:

    tilews-mutate test/python/kernels/mutation_corpus.py --kernel "gemm sm_90a" \\
      --form channels --emit drop:wait-16.0
    tilews-mutate test/python/kernels/mutation_corpus.py --kernel "gemm sm_90a" \\
      --form channels --judge drop:wait-16.0"""

_PROVED = """\
The verifier may be unable to follow a mutant. It then says so and proves nothing
(*unsupported*). The last column of the tables counts the mutants that it *proves*
although the simulator finds a fault. They should be faults that
[it does not check for](verifier.md#what-is-not-checked)."""

_NOT_EXCLUDED = """\
No documented exclusion covers these. They are defects of the verifier, or of its
documentation."""

_RANDOM_MUTANTS = """\
`make random-mutation` draws mutants with one to three edits, each on the result of the
one before. An index determines the kernel and the edits. The kernels are those above,
and more in `test/python/kernels/mutation/mutation_seeds.py`. The verifier, the
simulator and the rules judge them as above; several edits are equivalent if a rule
covers each of them, alone or together with the next ones.

So far {total} mutants were judged, of indices {range}, the last one on
{date}. To see one, and to judge it:

    tilews-mutate test/python/kernels/mutation/mutation_seeds.py --random --emit 17
    tilews-mutate test/python/kernels/mutation/mutation_seeds.py --random --judge 17"""

_EQUIVALENT = """\
A mutant counts as equivalent by a rule, never because nothing was found. Each rule is
an argument whose premises are checked in the mutant. Equivalent mutants are run like
the others. If the simulator rejects one, no table is made, and the rule has to be
corrected. The verifier's verdict on an equivalent mutant does not count; it rejects
{strict} of them, as protocols that it does not accept although they cannot fail.

In a kernel with channels and without roles all transactions are one sequence, the same
in each run. Most of them have no code. A rule applies only if this sequence terminates
when each of its waits blocks; otherwise the mutant is a fault whatever a rule says."""
