"""Row softmax: tilews, torch and Triton."""

from __future__ import annotations

import functools
from typing import Any

import torch

from tilews.runtime import device_target

from . import kernels
from .cases import Case
from .measure import TORCH_DTYPES, UNIT_ROUNDOFF, Candidate, Launch, Problem

#: The error of f32 arithmetic: the exponential of a difference of up to 2^6 has a
#: relative error equal to the absolute error of the difference. Summing loses less.
ARITHMETIC_ERROR = 2**-19


def prepare(case: Case) -> tuple[Problem, list[Candidate]]:
    """Random data of a softmax, and the implementations."""
    dtype = TORCH_DTYPES[case.dtype]
    x = (4 * torch.randn(case.shape, device="cuda")).to(dtype)
    y = torch.empty_like(x)
    problem = Problem(
        y,
        torch.softmax(x.to(torch.float64), 1),
        UNIT_ROUNDOFF[case.dtype] + ARITHMETIC_ERROR,
        {"GB/s": 2e-9 * x.numel() * x.element_size()},
    )
    candidates = [
        Candidate("torch", "softmax", lambda: (lambda: torch.softmax(x, 1), None)),
        *_triton(x, y),
        *_tilews(case, x, y),
    ]
    return problem, candidates


def _triton(x: torch.Tensor, y: torch.Tensor) -> list[Candidate]:
    try:
        from . import triton_kernels
    except ImportError:
        return []
    return [
        Candidate("triton", label, lambda run=run: (lambda: run(x, y), None))
        for label, run in triton_kernels.softmaxes(x.shape)
    ]


def _tilews(case: Case, x: torch.Tensor, y: torch.Tensor) -> list[Candidate]:
    target = device_target()

    def compile_config(
        config: kernels.SoftmaxConfig,
    ) -> tuple[Launch, dict[str, Any] | None]:
        compiled = kernels.compile_softmax(target, case.dtype, config)

        def launch() -> torch.Tensor:
            compiled(x, y)
            return y

        return launch, compiled.resources

    return [
        Candidate("tilews", config.label, functools.partial(compile_config, config))
        for config in kernels.softmax_configs(case.shape)
    ]
