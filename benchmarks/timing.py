"""Timing by CUDA events, with a cold L2 cache."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch

ITERATIONS = 25
WARMUP = 3
#: Several times the L2 cache of any GPU. Writing so many bytes also keeps the GPU busy
#: while the host prepares the timed launch.
FLUSH_BYTES = 512 * 1024**2


@dataclasses.dataclass(frozen=True)
class Timing:
    """Milliseconds: the median, and the 20th and the 80th percentile."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, times: list[float]) -> Timing:
        """The percentiles of some times."""
        ordered = sorted(times)
        return cls(*(quantile(ordered, q) for q in (0.5, 0.2, 0.8)))

    def fields(self) -> dict[str, float]:
        """The fields of a row."""
        return {"ms": self.median, "ms_low": self.low, "ms_high": self.high}


class Timer:
    """Times launches on the current stream.

    Args:
        flush_bytes: what is written before each launch: more for calls that keep the
            host busy for long.
    """

    def __init__(self, flush_bytes: int = FLUSH_BYTES) -> None:
        self._buffer = torch.empty(flush_bytes, dtype=torch.int8, device="cuda")

    def __call__(
        self, launch: Callable[[], Any], iterations: int = ITERATIONS
    ) -> Timing:
        """The percentiles of the times of ``launch``; see :meth:`sample`."""
        return Timing.of(self.sample(launch, iterations, WARMUP))

    def sample(
        self, launch: Callable[[], Any], iterations: int, warmup: int
    ) -> list[float]:
        """The times of ``launch`` in milliseconds, each with a cold cache.

        Args:
            launch: starts the work and does not wait for it.
            iterations: number of timed runs.
            warmup: number of runs before these.
        """
        for _ in range(warmup):
            self._buffer.fill_(1)
            launch()
        torch.cuda.synchronize()
        events = [
            [torch.cuda.Event(enable_timing=True) for _ in range(2)]
            for _ in range(iterations)
        ]
        for start, end in events:
            self._buffer.fill_(1)
            start.record()
            launch()
            end.record()
        torch.cuda.synchronize()
        return [start.elapsed_time(end) for start, end in events]


def quantile(ordered: list[float], fraction: float) -> float:
    """The value at a fraction of a sorted list, between its neighbours."""
    place = fraction * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])
