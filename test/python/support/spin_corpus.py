"""The kernels on which Spin and the verifier are compared.

    python test/python/support/spin_corpus.py [--jobs N] [--only TEXT] [--state FILE]

compares them on all cases of the `.edits` files, and on the schedules that the passes
make of the kernels of `pipelined_zoo` and `scheduled`, with channels and with barriers.
It fails if they disagree on one, and prints all that is no agreement, with the bound
and the states that were explored where a search was cut off. With `--state`, a run that
is interrupted goes on where it was; after a complete run, the next one starts anew.
`--start` and `--count` choose a part of the kernels.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import functools
import hashlib
import pathlib
import re
import sys
from collections.abc import Callable, Iterator, Sequence

ROOT = pathlib.Path(__file__).parents[3]
sys.path[:0] = [str(ROOT / "test/python"), str(ROOT)]

from kernels import pipelined_zoo, scheduled  # noqa: E402
from support import edited_kernels  # noqa: E402
from tilews import ir, passes, spin  # noqa: E402
from tilews.fuzz.long_run import LongRun  # noqa: E402

CASES = ROOT / "test/lit/Verifier"
_VERDICTS = {"PROVED": "proved", "WRONG": "wrong", "UNPROVED": "unsupported"}

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


def _builders() -> Iterator[tuple[str, str, Callable[[str], ir.Module]]]:
    """Names, chips and makers of kernels as they are written."""
    for case in pipelined_zoo.CASES:
        for chip in _CHIPS:
            yield (
                case.name,
                chip,
                functools.partial(case.kernel.build, **case.constants),
            )
    for entry in scheduled.ALL:
        for chip in entry.targets:
            yield entry.name, chip, entry.build


def made(*kernels: str) -> Iterator[CorpusKernel]:
    """Schedules that the passes make; test_proofs.py proves them all.

    Only those of some kernels, such as ``padded-sm_90a``, if there are arguments.
    """
    for name, chip, build in _builders():
        if kernels and f"{name}-{chip}" not in kernels:
            continue
        module = build(chip)
        with module.context, ir.Location.unknown():
            for step in passes.expand(f"tilews-to-nvvm{{chip={chip}}}"):
                flag = step.partition("{")[0]
                if flag.startswith("convert-tile-to-"):
                    break
                passes.run(module, step)
                if flag in _STEPS:
                    yield CorpusKernel(f"{name}-{chip}:{flag}", str(module), "proved")


#: What a search of one bound may take.
SECONDS = 10
MEGABYTES = 1000


def judge(
    entry: CorpusKernel, seconds: int = SECONDS
) -> tuple[CorpusKernel, spin.Comparison]:
    """Asks Spin about a kernel."""
    options = {"seconds": seconds, "megabytes": MEGABYTES}
    found = spin.check(entry.text, **options, **OPTIONS.get(entry.name, {}))
    return entry, spin.Comparison(entry.verdict, entry.reason, found)


def is_cut_off(entry: CorpusKernel, found: spin.Comparison) -> bool:
    """Whether Spin has explored smaller inputs only than the model has."""
    return found.spin.bound != OPTIONS.get(entry.name, {}).get("bound")


def describe(entry: CorpusKernel, found: spin.Comparison) -> str:
    """A class of outcomes; for kernels without a verdict of Spin with the reason."""
    if found.outcome != "open":
        is_cut = is_cut_off(entry, found)
        return f"{found.outcome} up to {found.spin.bound}" if is_cut else found.outcome
    if found.spin.outcome == "declined":
        reason = re.sub(r"^.*?error: ('[\w.]+' op )?", "", found.spin.reason)
        if "has no schedule" in reason:
            return "without a schedule"
        reason = reason.split("\n")[0].removeprefix("is not exported to Promela: ")
        return f"declined: {reason}"
    if found.spin.outcome == "unknown":
        return f"no end: {found.spin.reason}"
    return f"unsupported by the verifier, {found.spin.outcome} for Spin"


def is_finding(entry: CorpusKernel, found: spin.Comparison) -> bool:
    """Whether the two disagree, or Spin could not read the model.

    A fault that shows with larger inputs than were explored is no disagreement.
    """
    if found.outcome == "missed by Spin" and is_cut_off(entry, found):
        return False
    if found.outcome == "open":
        return found.spin.outcome == "unknown" and not found.spin.is_exhausted
    return found.outcome != "agreed"


def judge_all(
    corpus: Sequence[CorpusKernel], numbers: Sequence[int], jobs: int, seconds: int
) -> Iterator[tuple[int, tuple[CorpusKernel, spin.Comparison]]]:
    """Yields the numbers of kernels with what :func:`judge` returns, in any order."""
    pool = concurrent.futures.ProcessPoolExecutor(jobs)
    try:
        started = {
            pool.submit(judge, corpus[number], seconds): number for number in numbers
        }
        for done in concurrent.futures.as_completed(started):
            yield started[done], done.result()
    finally:
        pool.shutdown(cancel_futures=True)


def digest(corpus: Sequence[CorpusKernel]) -> str:
    """A number that changes with the list of kernels."""
    return hashlib.sha256(repr(corpus).encode()).hexdigest()[:16]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="", help="part of the names")
    parser.add_argument("--start", type=int, default=0, help="the first kernel")
    parser.add_argument("--count", type=int, help="kernels to compare; default all")
    parser.add_argument(
        "--seconds", type=int, default=SECONDS, help="for the search of one bound"
    )
    parser.add_argument(
        "--state", type=pathlib.Path, help="file with what was found so far"
    )
    options = parser.parse_args(arguments)
    corpus = [each for each in (*edited(), *made()) if options.only in each.name]
    known = LongRun(
        options.state, options.start, end=len(corpus), inputs=digest(corpus)
    )
    count = len(corpus) if options.count is None else options.count
    try:
        for number, (entry, found) in known.run(
            count,
            lambda numbers: judge_all(corpus, numbers, options.jobs, options.seconds),
        ):
            outcome = describe(entry, found)
            known.outcomes[outcome] += 1
            if is_finding(entry, found):
                known.findings[str(number)] = f"{entry.name}: {found}"
            if outcome not in ("agreed", "without a schedule"):
                print(f"{entry.name}: {found}\n", flush=True)
    except KeyboardInterrupt:
        print("interrupted")
    print(known.describe("kernels"))
    for finding in known.findings.values():
        print(f"DISAGREEMENT {finding}")
    return 1 if known.findings else 0


if __name__ == "__main__":
    sys.exit(main())
