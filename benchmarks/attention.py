"""Attention, forward: tilews, cuDNN and FlashAttention through torch, TileLang."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from tilews.runtime import device_target

from . import attention_kernels as kernels
from .cases import Case
from .measure import TORCH_DTYPES, UNIT_ROUNDOFF, Candidate, Launch, Problem

BACKENDS = {
    "cuDNN": SDPBackend.CUDNN_ATTENTION,
    "FlashAttention": SDPBackend.FLASH_ATTENTION,
}


def prepare(case: Case) -> tuple[Problem, list[Candidate]]:
    """Random queries, keys and values, and the implementations."""
    b, h, s, d = case.shape
    causal = case.layout == "causal"
    q, k, v = (
        torch.randn((b, s, h, d), device="cuda").to(TORCH_DTYPES[case.dtype])
        for _ in range(3)
    )
    y = torch.empty_like(q)
    flops = 4 * b * h * s * s * d / (2 if causal else 1)
    problem = Problem(
        y,
        _reference(q, k, v, causal),
        # Weights and results are rounded to the type of the inputs.
        2 * UNIT_ROUNDOFF[case.dtype],
        {"TFLOP/s": 1e-12 * flops},
    )
    peers = [
        Candidate("torch", name, functools.partial(_torch, q, k, v, causal, backend))
        for name, backend in BACKENDS.items()
    ]
    peers += _tilelang(case, causal, q, k, v, y)
    return problem, [*peers, *_tilews(case, causal, q, k, v, y)]


def _reference(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool
) -> torch.Tensor:
    """The result in float64. Batches are computed one by one to save memory."""
    result = torch.empty(q.shape, dtype=torch.float64, device=q.device)
    future = torch.ones((q.shape[1],) * 2, dtype=torch.bool, device=q.device).triu(1)
    for i in range(q.shape[0]):
        left, right, values = (x[i].transpose(0, 1).double() for x in (q, k, v))
        scores = left @ right.transpose(1, 2) / math.sqrt(q.shape[-1])
        if causal:
            scores.masked_fill_(future, -math.inf)
        result[i] = (scores.softmax(-1) @ values).transpose(0, 1)
    return result


def _torch(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    causal: bool,
    backend: SDPBackend,
) -> tuple[Launch, None]:
    heads = [x.transpose(1, 2) for x in (q, k, v)]

    def launch() -> torch.Tensor:
        with sdpa_kernel(backend):
            result = torch.nn.functional.scaled_dot_product_attention(
                *heads, is_causal=causal
            )
        return result.transpose(1, 2)

    return launch, None


def _tilelang(case: Case, causal: bool, *arrays: torch.Tensor) -> list[Candidate]:
    try:
        from . import tilelang_kernels
    except ImportError:
        return []

    def start(make: Callable[[], Callable[..., Any]]) -> tuple[Launch, None]:
        attend = make()

        def launch() -> torch.Tensor:
            attend(*arrays)
            return arrays[-1]

        return launch, None

    return [
        Candidate("tilelang", label, functools.partial(start, make))
        for label, make in tilelang_kernels.attentions(case, causal)
    ]


def _tilews(case: Case, causal: bool, *arrays: torch.Tensor) -> list[Candidate]:
    target = device_target()
    scale = math.log2(math.e) / math.sqrt(case.shape[-1])

    def compile_config(
        config: kernels.AttentionConfig,
    ) -> tuple[Launch, dict[str, Any] | None]:
        compiled = kernels.compile_attention(target, case.dtype, causal, config)

        def launch() -> torch.Tensor:
            compiled(*arrays, scale)
            return arrays[-1]

        return launch, compiled.resources

    return [
        Candidate("tilews", config.label, functools.partial(compile_config, config))
        for config in kernels.CONFIGS
        if case.shape[2] % config.keys == 0
    ]
