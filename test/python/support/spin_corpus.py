"""The kernels on which Spin and the verifier are compared.

    python test/python/support/spin_corpus.py [--jobs N] [--only TEXT]

compares them on all cases of the `.edits` files, and on the schedules that the passes
make of the kernels of `pipelined_zoo` and `scheduled`, with channels and with barriers.
It fails if an outcome is neither an agreement nor listed in `DIFFERENCES`, and prints
all that is no agreement.
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
sys.path[:0] = [str(ROOT / "test/python"), str(ROOT)]

from kernels import pipelined_zoo, scheduled  # noqa: E402
from support import edited_kernels  # noqa: E402
from tilews import ir, passes, spin  # noqa: E402

CASES = ROOT / "test/lit/Verifier"
_VERDICTS = {"PROVED": "proved", "WRONG": "wrong", "UNPROVED": "unsupported"}

#: Classes of outcomes other than agreement; docs/promela.md has their criteria.
DIFFERENCES = {
    "barriers/exclusions:buffer_of_one_role": "a buffer that one role alone uses",
    "barriers/thread-order:scratch_only": "scratch memory used again",
    "barriers/thread-order:scratch_used_twice": "scratch memory used again",
    "barriers/fills:even_parts_twice": "copies to varying parts of a slot",
    "barriers/fills:tail_in_the_loop": "copies to varying parts of a slot",
    "channels/fills:parts_overlap": "copies to varying parts of a slot",
}

#: Inputs of kernels whose faults show beyond the bound.
OPTIONS: dict[str, dict] = {
    "channels/transaction-counts:producer_stops_early": {"values": {"n": 17}},
    "channels/transaction-counts:consumer_stops_early": {
        "bound": 17,
        "values": {"n": 17, "mask": [1] * 17},
    },
    # 256 is 0 in a byte, 100 + 100 is negative, and 255 is -1 with a sign.
    "loops/integers:one_role_truncates": {"values": {"n": 1, "mask": [256]}},
    "loops/integers:sum_of_bytes_wraps": {"values": {"n": 1, "mask": [100]}},
    "loops/integers:extended_with_and_without_sign": {
        "values": {"n": 2, "mask": [255, 255]}
    },
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


def _modules() -> Iterator[tuple[str, str, ir.Module]]:
    """Kernels as they are written, with their names and chips."""
    for case in pipelined_zoo.CASES:
        for chip in _CHIPS:
            yield case.name, chip, case.kernel.build(chip, **case.constants)
    for entry in scheduled.ALL:
        for chip in entry.targets:
            yield entry.name, chip, entry.build(chip)


def made() -> Iterator[CorpusKernel]:
    """Schedules that the passes make; test_proofs.py proves them all."""
    for name, chip, module in _modules():
        with module.context, ir.Location.unknown():
            for step in passes.expand(f"tilews-to-nvvm{{chip={chip}}}"):
                flag = step.partition("{")[0]
                if flag.startswith("convert-tile-to-"):
                    break
                passes.run(module, step)
                if flag in _STEPS:
                    yield CorpusKernel(f"{name}-{chip}:{flag}", str(module), "proved")


def judge(entry: CorpusKernel) -> tuple[CorpusKernel, spin.Comparison]:
    """Asks Spin about a kernel."""
    found = spin.check(entry.text, seconds=120, **OPTIONS.get(entry.name, {}))
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
            if "has no schedule" in found.spin.reason:
                counts["without a schedule"] += 1
                continue
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
