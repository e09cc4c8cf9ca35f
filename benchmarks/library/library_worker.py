"""Measures operations in a separate process; see benchmarks/worker.py."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ..cases import Case
from ..worker import Prepare, serve

if TYPE_CHECKING:
    from ..measure import Candidate, Problem
    from .trial import Trial


#: The operations whose speed is that of their arithmetic.
_PRODUCTS = {
    *("matmul", "grouped_matmul", "scaled_matmul"),
    *("attention", "mla_decode", "moe"),
}


def unit_of(group: str) -> str:
    """The unit of the speed of an operation."""
    return "TFLOP/s" if group in _PRODUCTS else "GB/s"


def prepare(make: Any, case: Case) -> tuple[Problem, list[Candidate]]:
    """The data of a case, and its candidates: torch, then tilews."""
    from ..measure import Candidate, Problem

    trial: Trial = make(case)
    unit = unit_of(case.group)
    work = trial.work if unit == "TFLOP/s" else 1e-9 * trial.work
    bound = trial.bound if trial.slack is None else trial.slack
    problem = Problem(trial.output, trial.reference, bound, {unit: work})
    peers = [
        Candidate("torch", name, lambda run=run: (run, None))
        for name, run in trial.peers.items()
    ]
    ours = Candidate("tilews", case.group, functools.partial(start, trial))
    return problem, [*peers, ours]


def start(trial: Trial) -> tuple[Any, None]:
    """Compiles an operation of tilews, and checks what the bound of peers leaves out.

    Raises:
        ValueError: the result is wrong, or a scale of it.
    """
    from ..measure import errors

    found, _ = errors(trial.run(), trial.reference)
    if not found <= trial.bound:
        raise ValueError(f"expected an error of at most {trial.bound}, found {found}")
    if trial.scales:
        scales, wanted = trial.scales
        error = (scales().double() / wanted - 1).abs().max()
        if not error < 1e-2:
            raise ValueError(f"scales are wrong by a factor of up to 1 + {error}")
    return trial.run, None


def load() -> dict[str, Prepare]:
    """What makes the data of each operation."""
    from .trials import TRIALS

    return {name: functools.partial(prepare, make) for name, make in TRIALS.items()}


if __name__ == "__main__":
    serve(load)
