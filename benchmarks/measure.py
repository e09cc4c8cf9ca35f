"""Checking and timing the candidates of a case."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

import torch

from .timing import Timer, Timing

#: The largest relative error of rounding once, by element type.
UNIT_ROUNDOFF = {"f16": 2**-11, "bf16": 2**-8, "f32": 2**-24}
TORCH_DTYPES = {
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "e4m3": torch.float8_e4m3fn,
    "f32": torch.float32,
}

#: Of the bound, for the largest error of an element relative to the largest element.
PEAK_FACTOR = 2

#: How often the fastest configurations are timed in turns, three runs a time.
ROUNDS = 10
#: How many of each implementation are. A hot GPU is slower: who came first in the
#: first round need not be the fastest.
FINALISTS = 3

Launch = Callable[[], torch.Tensor]
#: What is known of a configuration, and how to launch it.
Finalist = tuple[dict[str, Any], Launch]


class GpuLost(Exception):
    """The process can use the GPU no longer; the rows so far are in `args`."""


@dataclasses.dataclass(frozen=True)
class Candidate:
    """An implementation in one configuration.

    Attributes:
        name: the implementation.
        config: the configuration in a few words.
        prepare: compiles; returns the function that starts the work and returns
            its result, and the compiler's figures, None if there are none.
    """

    name: str
    config: str
    prepare: Callable[[], tuple[Launch, dict[str, Any] | None]]


@dataclasses.dataclass(frozen=True)
class Problem:
    """What the candidates of a case share.

    Attributes:
        output: where they write, unless they return a tensor of their own.
        reference: the result in float64.
        bound: of the relative error ||out - reference|| / ||reference||.
        work: figures of merit: what is done in one run, by unit and second.
    """

    output: torch.Tensor
    reference: torch.Tensor
    bound: float
    work: dict[str, float]


def errors(result: torch.Tensor, reference: torch.Tensor) -> tuple[float, float]:
    """||result - reference|| / ||reference||, and the same of the largest elements,
    which a single wrong element shows in. NaN if an element is."""
    difference = result.to(torch.float64) - reference
    norm = difference.norm() / reference.norm()
    peak = difference.abs().max() / reference.abs().max()
    return float(norm), float(peak)


def measure(
    problem: Problem,
    candidates: list[Candidate],
    timer: Timer,
    announce: Callable[[str, str], None],
) -> Iterator[dict[str, Any]]:
    """Checks and times candidates; yields a row for each implementation, twice.

    A row has the fastest right configuration; ``tried`` has all of them. Candidates
    of one implementation follow each other. The second rows, with ``in_turns``,
    replace the first: the fastest configurations of all take turns, because who comes
    first finds a cooler GPU, and the fastest of these counts.

    Raises:
        GpuLost: a candidate left the GPU in a state that nobody can use.
    """
    finalists: list[tuple[dict[str, Any], list[Finalist]]] = []
    for name, group in groupby(candidates, lambda candidate: candidate.name):
        tried = []
        launches: dict[str, Launch] = {}
        for candidate in group:
            announce(name, candidate.config)
            tried.append(_try(problem, candidate, timer, launches))
            try:
                torch.cuda.synchronize()
            except RuntimeError as error:
                raise GpuLost(_row(name, tried, problem)) from error
        row = _row(name, tried, problem)
        yield row
        right = [entry for entry in tried if entry["status"] == "ok"]
        right = sorted(right, key=lambda entry: entry["ms"])[:FINALISTS]
        if right:
            own = [(entry, launches[entry["config"]]) for entry in right]
            finalists.append((row, own))
    if finalists:
        announce("all", "in turns")
        yield from _time_in_turns(finalists, timer, problem)


def _time_in_turns(
    finalists: list[tuple[dict[str, Any], list[Finalist]]],
    timer: Timer,
    problem: Problem,
) -> Iterator[dict[str, Any]]:
    """A row for each implementation with times that were taken in turns."""
    everyone = [finalist for _, own in finalists for finalist in own]
    times: list[list[float]] = [[] for _ in everyone]
    for _ in range(ROUNDS):
        for (_entry, launch), samples in zip(everyone, times, strict=True):
            samples += timer.sample(launch, iterations=3, warmup=1)
    timings = iter([Timing.of(samples) for samples in times])
    for row, own in finalists:
        timed = [(entry, next(timings)) for entry, _ in own]
        entry, timing = min(timed, key=lambda pair: pair[1].median)
        figures = _figures(problem, timing.median)
        yield {**row, **entry, **timing.fields(), **figures, "in_turns": True}


def _try(
    problem: Problem, candidate: Candidate, timer: Timer, launches: dict[str, Launch]
) -> dict[str, Any]:
    """What came out of one configuration; how to launch it goes to ``launches``."""
    entry: dict[str, Any] = {"config": candidate.config, "status": "failed"}
    try:
        launch, entry["resources"] = candidate.prepare()
        launches[candidate.config] = launch
        problem.output.fill_(float("nan"))
        error, peak = errors(launch(), problem.reference)
        if not (math.isfinite(error) and math.isfinite(peak)):
            entry.update(status="wrong", note="NaN, infinite or unwritten elements")
            return entry
        entry.update(error=error, peak_error=peak)
        if error > problem.bound or peak > PEAK_FACTOR * problem.bound:
            entry["status"] = "wrong"
            return entry
        timing = timer(launch)
        entry.update(timing.fields())
        entry["status"] = "ok"
    except Exception as error:  # Whatever another library raises.
        entry["note"] = f"{type(error).__name__}: {error}"
    return entry


def _row(name: str, tried: list[dict[str, Any]], problem: Problem) -> dict[str, Any]:
    """The row of an implementation from what was tried."""
    right = [entry for entry in tried if entry["status"] == "ok"]
    wrong = [entry for entry in tried if entry["status"] == "wrong"]
    best = min(right, key=lambda entry: entry["ms"]) if right else (wrong + tried)[0]
    row = {"implementation": name, "bound": problem.bound, "tried": tried, **best}
    if "ms" in row:
        row.update(_figures(problem, row["ms"]))
    return row


def _figures(problem: Problem, milliseconds: float) -> dict[str, float]:
    """The figures of merit of a run that takes this long."""
    return {
        unit: amount / (1e-3 * milliseconds) for unit, amount in problem.work.items()
    }
