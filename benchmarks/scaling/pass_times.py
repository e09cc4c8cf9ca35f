"""CPU times of passes: ``python -m benchmarks.scaling.pass_times AXIS CHIP REPEATS``.

Prints JSON: for each flag, the seconds for n/4, n/2 and n. ``python -m
benchmarks.scaling`` runs this in a process for each axis and chip, because a pass that
overflows the stack ends its process.
"""

from __future__ import annotations

import json
import sys
import time

from tilews.passmanager import PassManager

from tilews import ir, passes

from .axes import Axis, find_axis
from .series import TOTAL

#: A kernel is compiled again until that takes so many seconds, but not more often than
#: this. So the shortest times of passes of a millisecond are no noise.
REPEAT_SECONDS, MOST_REPEATS = 2.0, 20


def pipeline_of(chip: str) -> str:
    """The whole pipeline for a chip."""
    dialect = "rocdl" if chip.startswith("gfx") else "nvvm"
    return f"tilews-to-{dialect}{{chip={chip}}}"


def flags_of(chip: str) -> list[str]:
    """The flags of the passes of the pipeline, in order; some occur several times."""
    return [each.partition("{")[0] for each in passes.expand(pipeline_of(chip))]


def time_once(text: str, chip: str) -> dict[str, float]:
    """The CPU seconds of each pass; passes that run several times are summed up.

    Raises:
        ir.MLIRError: the text is no module.
        RuntimeError: a pass failed.
    """
    seconds = {"parse": 0.0, **dict.fromkeys(flags_of(chip), 0.0), "verify": 0.0}

    def add(flag: str, start: float) -> None:
        seconds[flag] += time.process_time() - start

    with ir.Context() as context:
        context.enable_multithreading(False)
        # Remarks would be collected, and printed by nobody.
        handler = context.attach_diagnostic_handler(lambda _: True)
        start = time.process_time()
        module = ir.Module.parse(text)
        add("parse", start)
        for element in passes.expand(pipeline_of(chip)):
            manager = PassManager.parse(f"builtin.module(gpu.module({element}))")
            manager.enable_verifier(False)
            start = time.process_time()
            manager.run(module.operation)
            add(element.partition("{")[0], start)
        start = time.process_time()
        module.operation.verify()
        add("verify", start)
        handler.detach()
    seconds[TOTAL] = sum(seconds.values())
    return seconds


def time_passes(axis: Axis, chip: str, size: int, repeats: int) -> dict[str, float]:
    """The shortest time of each pass for one kernel, of `repeats` runs or more."""
    text = axis.make(size)
    runs = [time_once(text, chip) for _ in range(repeats)]
    seconds = sum(run[TOTAL] for run in runs)
    while seconds < REPEAT_SECONDS and len(runs) < MOST_REPEATS:
        runs.append(time_once(text, chip))
        seconds += runs[-1][TOTAL]
    return {flag: min(run[flag] for run in runs) for flag in runs[0]}


def measure(axis: Axis, chip: str, repeats: int) -> dict[str, list[float]]:
    """The seconds of all passes for n/4, n/2 and n."""
    times = [time_passes(axis, chip, axis.size // part, repeats) for part in (4, 2, 1)]
    return {flag: [each[flag] for each in times] for flag in times[0]}


if __name__ == "__main__":
    name, chip, repeats = sys.argv[1:]
    json.dump(measure(find_axis(name), chip, int(repeats)), sys.stdout)
