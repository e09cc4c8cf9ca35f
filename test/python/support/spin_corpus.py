"""The kernels on which Spin and the verifier are compared.

    python test/python/support/spin_corpus.py [--jobs N] [--only TEXT]

compares them on all cases of the `.edits` files, and on the schedules that the passes
make of the kernels of `pipelined_zoo`, with channels and with barriers. It fails if an
outcome is neither an agreement nor listed in `DIFFERENCES`.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import dataclasses
import pathlib
import sys
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "test/python"))

from kernels import pipelined_zoo  # noqa: E402
from support import edited_kernels  # noqa: E402
from tilews import ir, passes, spin  # noqa: E402

CASES = ROOT / "test/lit/Verifier"
_VERDICTS = {"PROVED": "proved", "WRONG": "wrong", "UNPROVED": "unsupported"}

#: Classes of outcomes other than agreement; docs/promela.md has their criteria.
DIFFERENCES = {
    "barriers/exclusions:buffer_of_one_role": "a buffer that one role alone uses",
}

#: Inputs of kernels whose faults show beyond the bound.
VALUES = {
    "channels/transaction-counts:producer_stops_early": {"n": 17},
    "channels/transaction-counts:consumer_stops_early": {"n": 17},
}


@dataclasses.dataclass(frozen=True)
class CorpusKernel:
    """A kernel, and what the verifier says of it."""

    name: str
    text: str
    verdict: str
    reason: str = ""


def edited() -> Iterator[CorpusKernel]:
    """The cases of all `.edits` files that parse; lit checks their verdicts."""
    for path in sorted(CASES.rglob("*.edits")):
        folder = path.relative_to(CASES).with_suffix("")
        for case in edited_kernels.read(path).values():
            first = case.verdicts[0]
            if first.kind in _VERDICTS:
                yield CorpusKernel(
                    f"{folder}:{case.name}",
                    "\n".join(case.kernel.lines),
                    _VERDICTS[first.kind],
                    first.text,
                )


#: The passes after which schedules are taken, and the chips.
_STEPS = ("tile-expand-pipeline", "tile-lower-channels")
_CHIPS = ("sm_80", "sm_90a")


def made() -> Iterator[CorpusKernel]:
    """Schedules that the passes make; test_proofs.py proves them all."""
    for case in pipelined_zoo.CASES:
        for chip in _CHIPS:
            module = case.kernel.build(chip, **case.constants)
            with module.context, ir.Location.unknown():
                for step in passes.expand(f"tilews-to-nvvm{{chip={chip}}}"):
                    flag = step.partition("{")[0]
                    if flag.startswith("convert-tile-to-"):
                        break
                    passes.run(module, step)
                    if flag in _STEPS:
                        yield CorpusKernel(
                            f"{case.name}-{chip}:{flag}", str(module), "proved"
                        )


def judge(entry: CorpusKernel) -> tuple[CorpusKernel, spin.Comparison]:
    """Asks Spin about a kernel."""
    found = spin.check(entry.text, values=VALUES.get(entry.name), seconds=120)
    return entry, spin.Comparison(entry.verdict, entry.reason, found)


def is_expected(entry: CorpusKernel, found: spin.Comparison) -> bool:
    """Whether the outcome is an agreement, or the known difference."""
    is_difference = found.outcome not in ("agreed", "open")
    return is_difference == (entry.name in DIFFERENCES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="", help="part of the names")
    arguments = parser.parse_args()
    chosen = [each for each in (*edited(), *made()) if arguments.only in each.name]
    counts: collections.Counter[str] = collections.Counter()
    unexpected = 0
    with concurrent.futures.ProcessPoolExecutor(arguments.jobs) as pool:
        for entry, found in pool.map(judge, chosen):
            counts[found.outcome] += 1
            is_known = is_expected(entry, found)
            unexpected += not is_known
            if found.outcome != "agreed":
                known = DIFFERENCES.get(entry.name, "") if is_known else "UNEXPECTED"
                print(f"{entry.name}: {found}\n  {known}\n", flush=True)
    print(", ".join(f"{outcome}: {n}" for outcome, n in counts.items()))
    sys.exit(unexpected > 0)


if __name__ == "__main__":
    main()
