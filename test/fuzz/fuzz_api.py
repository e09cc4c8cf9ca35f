"""Runs random sequences of calls of the Python API; a crash or a hang is a finding.

A sequence is made from its number. A run that is interrupted goes on where it was, and
the next run takes the next sequences:

    python test/fuzz/fuzz_api.py --count 50000
    python test/fuzz/fuzz_api.py --only 4711
"""

import argparse
import gc
import os
import sys
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "python"))

import api_calls
from kernels import pipelined_zoo
from tilews.fuzz import apart
from tilews.fuzz.long_run import LongRun

ROOT = Path(__file__).parents[2]
#: Seconds of the processor for one sequence, sequences for one process.
TIMEOUT = 10.0
LIFETIME = 200
#: The memory of a process: what it has at the start, and this more.
MEMORY = 2 << 30
CASES = [
    case
    for case in pipelined_zoo.CASES
    if case.name in ("gemm-s3", "two-branches", "nested", "recurrent")
]


def _begin() -> None:
    apart.limit_memory(MEMORY)
    apart.silence()
    # A sequence collects garbage several times. What was imported before stays out of
    # it: it took half of the time.
    gc.collect()
    gc.freeze()


def _work(number: int) -> dict[str, int]:
    return api_calls.run(number, CASES)


def fuzz(numbers: Iterable[int], jobs: int = 1, timeout: float = TIMEOUT):
    """Yields each number, and its counts or its failure."""
    return apart.run(
        _work, numbers, jobs=jobs, timeout=timeout, lifetime=LIFETIME, begin=_begin
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--count", type=int, default=1000, help="sequences to run")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--state", type=Path, default=ROOT / "build/fuzz-api.json")
    parser.add_argument("--only", type=int, help="run this sequence, in this process")
    parser.add_argument(
        "--timeout",
        type=float,
        default=TIMEOUT,
        help="seconds for a sequence; more on a busy machine",
    )
    args = parser.parse_args()
    if args.only is not None:
        print(api_calls.run(args.only, CASES))
        return 0

    known = LongRun(args.state)
    try:
        for number, result in known.run(
            args.count, lambda numbers: fuzz(numbers, args.jobs, args.timeout)
        ):
            if isinstance(result, apart.ProcessFailure):
                known.findings[str(number)] = f"{result.kind}: {result.message}"
                print(f"{number}: {result.kind}: {result.message}", flush=True)
            else:
                known.outcomes.update(result)
    except KeyboardInterrupt:
        print("interrupted")
    print(known.describe("sequences"))
    return 1 if known.findings else 0


if __name__ == "__main__":
    sys.exit(main())
