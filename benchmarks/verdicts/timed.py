"""Verdicts on the schedules of groups of kernels, with their times."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import re
import time
from collections.abc import Iterator

from tilews import ir, passes
from tilews.errors import CompileError
from tilews.mutate import mutants

from . import guarded_kernels

CHIPS = ("sm_80", "sm_90a", "gfx942")
STAGES = (4, 6, 8)
#: Classes of faults of ``tilews-mutate``, and how many of each are judged.
FAULTS = {"drop": 12, "move-out": 12, "select": 6, "guard": 6}
_VERIFIER = "tile-verify-schedule"


@dataclasses.dataclass(frozen=True)
class Timed:
    """The time of one verdict.

    Attributes:
        kernel: its name and chip, and the fault in it.
        after: the pass after which the schedule was checked.
        seconds: CPU time.
        states: of the proof; None if there is none.
        verdict: ``proved``, ``wrong`` or ``unsupported``.
    """

    kernel: str
    after: str
    seconds: float
    states: int | None
    verdict: str


def judge(module: ir.Module) -> tuple[str, int | None]:
    """The verdict on a module, and the number of states of a proof."""
    try:
        remarks = "\n".join(passes.verify_schedule(module, report=True))
    except CompileError:
        return "wrong", None
    states = [int(number) for number in re.findall(r"(\d+) states", remarks)]
    if "tile-verify-0001" in remarks:
        return "unsupported", None
    return "proved", sum(states)


def time_verdict(module: ir.Module, kernel: str, after: str) -> Timed:
    """Checks a module twice."""
    seconds = []
    for _ in range(2):
        start = time.process_time()
        verdict, states = judge(module)
        seconds.append(time.process_time() - start)
    return Timed(kernel, after, min(seconds), states, verdict)


def time_pipeline(module: ir.Module, chip: str, kernel: str) -> Iterator[Timed]:
    """The verdicts of a compilation."""
    dialect = "rocdl" if chip.startswith("gfx") else "nvvm"
    after = ""
    for step in passes.expand(f"tilews-to-{dialect}{{chip={chip}}}"):
        flag = step.partition("{")[0]
        if flag.startswith("convert-tile-to-"):
            return
        if flag == _VERIFIER:
            yield time_verdict(module, kernel, after)
        else:
            passes.run(module, step)
            after = flag


def guarded() -> Iterator[Timed]:
    """Guarded kernels of several stages, with one role and with several."""
    for name, chip, stages in itertools.product(
        guarded_kernels.BODIES, CHIPS[:2], STAGES
    ):
        with ir.Context(), ir.Location.unknown():
            module = ir.Module.parse(guarded_kernels.kernel(name, stages))
            yield from time_pipeline(module, chip, f"{name}, {stages} stages, {chip}")


def compiled() -> Iterator[Timed]:
    """The kernels of the tests, examples and benchmarks."""
    from kernels import everything

    for name, build in everything.builds().items():
        for chip in CHIPS:
            # Some kernels are for some chips only, or too large for one.
            with contextlib.suppress(CompileError, ValueError):
                yield from time_pipeline(build(chip), chip, f"{name}, {chip}")


def faulty() -> Iterator[Timed]:
    """Ping-pong kernels, in which two roles alternate, with one fault each."""
    from kernels import ping_pong

    chip = "sm_90a"
    for case in ping_pong.CASES:
        if case.name not in ("deep", "guarded", "chained", "counted"):
            continue
        module = case.kernel.build(chip, **case.constants)
        for step in passes.expand(f"tilews-to-nvvm{{chip={chip}}}"):
            passes.run(module, step)
            if step == "tile-lower-channels":
                break
        for name, count in FAULTS.items():
            for each in itertools.islice(mutants(module, (name,)), count):
                kernel = f"ping-pong {case.name}, {each.id}"
                yield time_verdict(each.module, kernel, "tile-lower-channels")
