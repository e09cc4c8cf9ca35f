"""Feeds mutated .mlir to the parser, the verifiers and the passes.

An input may be refused with an error; it must not crash the process or hang.
Inputs are made from a number, so the same numbers repeat a run exactly. With a state,
a run that is interrupted goes on where it was:

    python test/fuzz/fuzz.py --count 100000 --state build/fuzz.json
    python test/fuzz/fuzz.py --first 4711 --count 1 --show
"""

import argparse
import functools
import os
import random
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from text_mutator import Mutator, read_seeds

ROOT = Path(__file__).parents[2]
BUILD = Path(os.environ.get("TILEWS_BUILD_DIR", ROOT / "build/dev"))
sys.path.insert(0, str(BUILD / "python_packages"))

from tilews.fuzz import apart  # noqa: E402 (found by the path above)
from tilews.fuzz.long_run import LongRun  # noqa: E402

#: From tile IR to the LLVM dialect, each for its own vendor's targets.
PIPELINES = ("tilews-to-nvvm", "tilews-to-rocdl")


def list_passes() -> tuple[list[str], list[str]]:
    """The passes to run alone, and the passes to run one after the other.

    All passes of tilews run alone. Those of the pipeline for NVIDIA up to the
    conversion to code of one thread run one after the other, with their options.
    """
    from tilews import pass_list, passes

    # Upstream's canonicalization of `memref.dim` crashes on negative dimensions.
    alone = [
        one.flag
        for one in pass_list.read_passes()
        if not one.is_pipeline and one.flag != "canonicalize"
    ]
    steps = passes.expand(PIPELINES[0])
    conversion = next(i for i, s in enumerate(steps) if s.startswith("convert-tile-"))
    return alone, steps[:conversion]


ALONE, LOWERING = list_passes()
#: How many of the passes that run alone each input is tried on.
SAMPLE = 8

#: Where an input can end: the parser or a verifier refuses it, a pass stops with an
#: error, or it is converted to the LLVM dialect.
STAGES = (
    "refused",
    *dict.fromkeys(step.partition("{")[0] for step in LOWERING),
    "conversion",
    "converted",
)
DESCRIPTIONS = {
    "refused": "refused by the parser or a verifier",
    "converted": "converted to the LLVM dialect",
}

#: The memory that a worker may take beyond what it has at the start, in bytes.
MEMORY = 2 << 30
#: Seconds of the processor for one compilation or pass; for all that is done with one
#: input, which is compiled three times; inputs for one worker, and for one context.
COMPILE_SECONDS = 10.0
TIMEOUT = 60.0
LIFETIME = 10_000
CONTEXT_LIFE = 200

#: The number of an input, or a text.
Input = int | str


@functools.cache
def make_mutator() -> Mutator:
    """The source of inputs: the lit tests, and whole kernels more often."""
    kernels = read_seeds(Path(__file__).parent / "seeds")
    return Mutator(read_seeds(ROOT / "test" / "lit") + 100 * kernels)


class Checker:
    """Runs inputs in this process."""

    def __init__(self):
        from tilews import ir, passmanager

        self.ir, self.passmanager = ir, passmanager
        self.used = CONTEXT_LIFE

    def _renew(self):
        self.context = self.ir.Context()
        self.context.allow_unregistered_dialects = True
        self.context.enable_multithreading(False)
        # Diagnostics of wrong inputs are expected and ignored.
        self.handler = self.context.attach_diagnostic_handler(lambda _: True)
        with self.context:
            self.managers = {
                name: self._parse(name) for name in (*ALONE, *LOWERING, *PIPELINES)
            }
        self.used = 0

    def _parse(self, name: str):
        """A pass on everything in a module, or on the operations that it is for."""
        parse = self.passmanager.PassManager.parse
        try:
            return parse(f"builtin.module({name})")
        except ValueError:
            return parse(f"builtin.module(gpu.module({name}))")

    def _run(self, name: str, operation) -> bool:
        begin = time.process_time()
        try:
            self.managers[name].run(operation)
        except self.ir.MLIRError:
            return False
        finally:
            seconds = time.process_time() - begin
            if seconds > COMPILE_SECONDS:
                self.slow = f"{name} takes {seconds:.0f} seconds"
        return True

    def check(self, text: str) -> str | apart.ProcessFailure:
        """Runs one input; returns the last stage that it reached, or what is slow."""
        self.slow = ""
        stage = self._check(text)
        return apart.ProcessFailure("hang", self.slow) if self.slow else stage

    def _check(self, text: str) -> str:
        if self.used >= CONTEXT_LIFE:
            self._renew()
        self.used += 1
        with self.context:
            try:
                module = self.ir.Module.parse(text)
            except self.ir.MLIRError:
                return "refused"
            module.operation.get_asm(print_generic_op_form=True)
            # A text is always tried on the same passes.
            choice = random.Random(text)
            for name in choice.sample(ALONE, SAMPLE):
                self._run(name, module.operation.clone())
            lowered = module.operation.clone()
            for name in LOWERING:
                if not self._run(name, lowered):
                    return name.partition("{")[0]
            whole = [self._run(name, module.operation.clone()) for name in PIPELINES]
        return "converted" if any(whole) else "conversion"


@functools.cache
def _checker() -> Checker:
    return Checker()


def _text(item: Input) -> str:
    return item if isinstance(item, str) else make_mutator().make(item)


def _begin() -> None:
    apart.silence()
    _checker()
    apart.limit_memory(MEMORY)


def fuzz(items: Iterable[Input], jobs: int = 1, timeout: float = TIMEOUT):
    """Yields each input, and the stage where it ended or its failure."""
    make_mutator()  # Processes are copies of this one.
    return apart.run(
        lambda item: _checker().check(_text(item)),
        items,
        jobs=jobs,
        timeout=timeout,
        lifetime=LIFETIME,
        begin=_begin,
    )


def _fails_alike(text: str, failure: apart.ProcessFailure, timeout: float) -> bool:
    ((_, found),) = fuzz([text], timeout=timeout)
    return found == failure


def minimize(text: str, failure: apart.ProcessFailure, timeout: float) -> str:
    """Removes lines as long as the rest still fails alike."""
    lines = text.splitlines()
    size = max(len(lines) // 2, 1)
    while size:
        start = 0
        while start < len(lines):
            fewer = lines[:start] + lines[start + size :]
            if fewer and _fails_alike("\n".join(fewer) + "\n", failure, timeout):
                lines = fewer
            else:
                start += size
        size //= 2
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--first", type=int, default=0, help="first input's number")
    parser.add_argument("--count", type=int, default=100_000, help="inputs to run")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument(
        "--timeout", type=float, default=TIMEOUT, help="seconds an input"
    )
    parser.add_argument("--state", type=Path, help="file with what was found so far")
    parser.add_argument("--save", type=Path, help="folder for inputs that go wrong")
    parser.add_argument("--show", action="store_true", help="only print the inputs")
    args = parser.parse_args()

    if args.show:
        for number in range(args.first, args.first + args.count):
            print(f"// {number}\n{make_mutator().make(number)}")
        return 0

    known = LongRun(args.state, args.first)
    failures: dict[int, apart.ProcessFailure] = {}
    try:
        for number, found in known.run(
            args.count, lambda numbers: fuzz(numbers, args.jobs, args.timeout)
        ):
            if isinstance(found, apart.ProcessFailure):
                failures[number] = found
                known.findings[str(number)] = f"{found.kind}: {found.message}"
            else:
                known.outcomes[found] += 1
    except KeyboardInterrupt:
        print("interrupted")
    print(f"{known.count} inputs in {known.seconds:.0f} s")
    print(f"{len(known.findings)} went wrong, {len(failures)} of them in this run")
    for stage in STAGES:
        stopped = DESCRIPTIONS.get(stage, "stopped by " + stage)
        print(f"  {known.outcomes[stage]:8}  {stopped}")
    for number, failure in failures.items():
        text = minimize(make_mutator().make(number), failure, args.timeout)
        print(f"\n// input {number}: {failure.message}\n{text}")
        if args.save:
            args.save.mkdir(parents=True, exist_ok=True)
            (args.save / f"{number}.mlir").write_text(text)
    return 1 if known.findings else 0


if __name__ == "__main__":
    sys.exit(main())
