"""An operation on data, with what torch does instead."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import torch

from ..measure import TORCH_DTYPES

Tensor = torch.Tensor


@dataclasses.dataclass(frozen=True)
class Trial:
    """An operation on data.

    Attributes:
        run: the operation of tilews; returns the result.
        peers: the same with torch, by a name.
        output: a tensor that `run` writes, which is filled with NaN before.
        reference: the result in float64.
        work: the bytes or the operations of a run.
        bound: largest relative error.
        slack: that of the peers, if it is another one.
        scales: the scales of an fp8 result: a function that returns them, and their
            reference.
    """

    run: Callable[[], Tensor]
    peers: dict[str, Callable[[], Tensor]]
    output: Tensor
    reference: Tensor
    work: float
    bound: float
    scales: tuple[Callable[[], Tensor], Tensor] | None = None
    slack: float | None = None


def random_tensor(shape: tuple[int, ...], dtype: str, deviation: float = 1.0) -> Tensor:
    """Normal random numbers on the GPU."""
    return (deviation * torch.randn(shape, device="cuda")).to(TORCH_DTYPES[dtype])
