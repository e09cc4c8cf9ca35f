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

#: Times the bound of a problem: the bound of the largest error of an element, relative
#: to the largest element.
PEAK_FACTOR = 2

#: Rounds in which the fastest configurations are timed alternately, three runs each.
ROUNDS = 10
#: The number of configurations per implementation in these rounds. A hot GPU is slower,
#: so the fastest configuration of the first measurement need not be the fastest one.
FINALISTS = 3

Launch = Callable[[], torch.Tensor]
#: The entry of a configuration, and a function that launches it.
Finalist = tuple[dict[str, Any], Launch]


class GpuLost(Exception):
    """The process can no longer use the GPU; the rows so far are in `args`."""


@dataclasses.dataclass(frozen=True)
class Candidate:
    """An implementation in one configuration.

    Attributes:
        name: the implementation.
        config: the configuration in a few words.
        prepare: compiles. It returns a function that starts the work and returns its
            result, and the figures of the compiler, or None if there are none.
    """

    name: str
    config: str
    prepare: Callable[[], tuple[Launch, dict[str, Any] | None]]


@dataclasses.dataclass(frozen=True)
class Problem:
    """Everything that the candidates of a case have in common.

    Attributes:
        output: a tensor that they write, unless they return another one.
        reference: the result in float64.
        bound: largest relative error ||out - reference|| / ||reference||.
        work: figures of merit: the amount of work of one run, by unit.
    """

    output: torch.Tensor
    reference: torch.Tensor
    bound: float
    work: dict[str, float]


def errors(result: torch.Tensor, reference: torch.Tensor) -> tuple[float, float]:
    """||result - reference|| / ||reference|| in the 2-norm and in the maximum norm.

    The latter detects a single wrong element. The errors are NaN if an element is.
    """
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

    A row has the fastest right configuration; ``tried`` has all configurations.
    Candidates of one implementation are adjacent. The second rows, with ``in_turns``,
    replace the first: the fastest configurations of all implementations run
    alternately, because the first one to run has a cooler GPU.

    Raises:
        GpuLost: a candidate left the GPU in an unusable state.
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
        announce("all", "alternately")
        yield from _time_alternately(finalists, timer, problem)


def _time_alternately(
    finalists: list[tuple[dict[str, Any], list[Finalist]]],
    timer: Timer,
    problem: Problem,
) -> Iterator[dict[str, Any]]:
    """A row for each implementation, with times of alternating runs."""
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
    """The entry of one configuration. Adds a function that launches it to
    ``launches``."""
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
    except Exception as error:  # Other libraries raise errors of many types.
        entry["note"] = f"{type(error).__name__}: {error}"
    return entry


def _row(name: str, tried: list[dict[str, Any]], problem: Problem) -> dict[str, Any]:
    """The row of an implementation, from the entries of its configurations."""
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
