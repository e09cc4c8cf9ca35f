"""Feeds mutated .mlir to the parser, the verifiers and the passes.

An input may be refused with an error; it must not crash the process or hang.
Inputs are made from a number, so the same numbers repeat a run exactly:

    python test/fuzz/fuzz.py --count 100000
    python test/fuzz/fuzz.py --first 4711 --count 1 --show
"""

import argparse
import concurrent.futures
import dataclasses
import multiprocessing
import os
import random
import resource
import signal
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path

from text_mutator import Mutator, read_seeds

ROOT = Path(__file__).parents[2]
BUILD = Path(os.environ.get("TILEWS_BUILD_DIR", ROOT / "build/dev"))
sys.path.insert(0, str(BUILD / "python_packages"))

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
MEMORY = 4 << 30
#: A worker makes a new context after this number of inputs.
CONTEXT_LIFE = 200


def make_mutator() -> Mutator:
    """The source of inputs: the lit tests, and whole kernels more often."""
    kernels = read_seeds(Path(__file__).parent / "seeds")
    return Mutator(read_seeds(ROOT / "test" / "lit") + 100 * kernels)


@dataclasses.dataclass
class CrashingInput:
    """An input that crashed or hung, and what happened."""

    number: int
    kind: str
    text: str


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
        try:
            self.managers[name].run(operation)
        except self.ir.MLIRError:
            return False
        return True

    def check(self, text: str) -> str:
        """Runs one input; returns the last stage that it reached."""
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


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * os.sysconf("SC_PAGESIZE") + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _work(inputs, progress, counts) -> None:
    """Runs `inputs`, an iterable of numbers and texts, in a worker process.

    Stores the number of inputs that it has begun in `progress`, and the number of
    inputs that ended at each of STAGES in `counts`.
    """
    # Crashes write their stacks to the standard error; Python errors pass through.
    errors = os.fdopen(os.dup(2), "w", buffering=1)
    sys.stderr = errors
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    checker = Checker()
    _limit_memory()
    for text in inputs:
        progress.value += 1
        counts[STAGES.index(checker.check(text))] += 1


def watch(inputs, timeout: float) -> tuple[str | None, int, list[int]]:
    """Runs `inputs` in a separate process until the first one crashes or hangs.

    Returns the failure (None if there was none), the number of inputs that were
    begun, and how many ended at each of STAGES.
    """
    progress = multiprocessing.Value("q", 0, lock=False)
    counts = multiprocessing.Array("q", len(STAGES), lock=False)
    process = multiprocessing.Process(target=_work, args=(inputs, progress, counts))
    process.start()
    seen, since = -1, time.monotonic()
    while process.is_alive():
        process.join(0.2)
        if progress.value != seen:
            seen, since = progress.value, time.monotonic()
        elif time.monotonic() - since > timeout:
            process.kill()
            process.join()
            return f"hang (over {timeout:g} s)", progress.value, list(counts)
    code = process.exitcode
    if code == 0:
        return None, progress.value, list(counts)
    kind = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    return kind, progress.value, list(counts)


def fuzz(numbers: range, timeout: float = 10.0) -> tuple[Counter, list[CrashingInput]]:
    """Runs the inputs of `numbers` in another process.

    Returns how many inputs ended at each stage, and the inputs that failed.
    """
    mutator = make_mutator()
    stages: Counter = Counter()
    findings = []
    while numbers:
        kind, begun, counts = watch(map(mutator.make, numbers), timeout)
        stages.update(dict(zip(STAGES, counts, strict=True)))
        if kind is not None:
            if not begun:
                raise RuntimeError(f"a worker could not start: {kind}")
            number = numbers[begun - 1]
            findings.append(CrashingInput(number, kind, mutator.make(number)))
        numbers = numbers[begun:]
    return +stages, findings


def minimize(finding: CrashingInput, timeout: float = 10.0) -> str:
    """Removes lines as long as the rest still fails at the same stage."""
    lines = finding.text.splitlines()
    size = max(len(lines) // 2, 1)
    while size:
        start = 0
        while start < len(lines):
            fewer = lines[:start] + lines[start + size :]
            text = "\n".join(fewer) + "\n"
            if fewer and watch([text], timeout)[0] == finding.kind:
                lines = fewer
            else:
                start += size
        size //= 2
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--first", type=int, default=0, help="first input's number")
    parser.add_argument("--count", type=int, default=100_000, help="inputs to run")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--timeout", type=float, default=10.0, help="seconds an input")
    parser.add_argument("--save", type=Path, help="folder for inputs that go wrong")
    parser.add_argument("--show", action="store_true", help="only print the inputs")
    args = parser.parse_args()

    numbers = range(args.first, args.first + args.count)
    if args.show:
        mutator = make_mutator()
        for number in numbers:
            print(f"// {number}\n{mutator.make(number)}")
        return 0

    start = time.monotonic()
    shares = [numbers[i :: args.workers] for i in range(args.workers)]
    with concurrent.futures.ProcessPoolExecutor(args.workers) as pool:
        results = list(pool.map(partial(fuzz, timeout=args.timeout), shares))
    seconds = time.monotonic() - start
    stages = sum((stages for stages, _ in results), Counter())
    findings = [finding for _, found in results for finding in found]

    print(f"{len(numbers)} inputs in {seconds:.0f} s, {len(findings)} went wrong")
    for stage in STAGES:
        print(f"  {stages[stage]:8}  {DESCRIPTIONS.get(stage, 'stopped by ' + stage)}")
    for finding in findings:
        text = minimize(finding, args.timeout)
        print(f"\n// input {finding.number}: {finding.kind}\n{text}")
        if args.save:
            args.save.mkdir(parents=True, exist_ok=True)
            (args.save / f"{finding.number}.mlir").write_text(text)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
