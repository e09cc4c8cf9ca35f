"""Matmuls: tilews, cuBLAS through torch, Triton and TileLang."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from tilews.runtime import device_target

from . import kernels
from .cases import Case
from .measure import TORCH_DTYPES, UNIT_ROUNDOFF, Candidate, Launch, Problem


def prepare(case: Case) -> tuple[Problem, list[Candidate]]:
    """Random data of a matmul, and the implementations."""
    m, n, k = case.shape
    a = _random((k, m) if case.layout[0] == "T" else (m, k), case.dtype)
    b = _random((n, k) if case.layout[1] == "T" else (k, n), case.dtype)
    output = kernels.OUTPUTS[case.dtype]
    c = torch.empty(m, n, dtype=TORCH_DTYPES[output], device="cuda")
    # Views of the stored matrices as A (M, K) and B (K, N).
    left = a.t() if case.layout[0] == "T" else a
    right = b.t() if case.layout[1] == "T" else b
    problem = Problem(
        c,
        left.to(torch.float64) @ right.to(torch.float64),
        error_bound(case.dtype, k),
        {"TFLOP/s": 2e-12 * m * n * k},
    )
    peers = [*_torch(case, left, right, c), *_triton(left, right, c)]
    peers += _tilelang(case, a, b, c)
    # tilews is last, so that figures of the others survive a crash.
    return problem, [*peers, *_tilews(case, a, b, c)]


def error_bound(dtype: str, k: int) -> float:
    """The largest relative error that is right for a matmul of random matrices.

    Rounding the result explains one unit roundoff of its type. For fp8, Hopper's tensor
    cores keep 13 bits of the fraction of the accumulator. A step of 32 elements along K
    loses at most the last of these bits. The average loss is an eighth of that: the sum
    is small at first, and errors differ in sign.
    """
    bound = UNIT_ROUNDOFF[kernels.OUTPUTS[dtype]]
    return bound + k / 32 * 2**-16 if dtype == "e4m3" else bound


def _random(shape: tuple[int, int], dtype: str) -> torch.Tensor:
    values = torch.randn(shape, dtype=torch.float32, device="cuda")
    return values.to(TORCH_DTYPES[dtype])


def _tilews(
    case: Case, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor
) -> list[Candidate]:
    target = device_target()

    def compile_config(
        config: kernels.GemmConfig,
    ) -> tuple[Launch, dict[str, Any] | None]:
        compiled = kernels.compile_gemm(
            target, case.shape, case.dtype, case.layout, config
        )

        def launch() -> torch.Tensor:
            compiled(a, b, c)
            return c

        return launch, compiled.resources

    return [
        Candidate("tilews", config.label, functools.partial(compile_config, config))
        for config in kernels.gemm_configs(case.shape, case.dtype)
    ]


def _torch(
    case: Case, left: torch.Tensor, right: torch.Tensor, c: torch.Tensor
) -> list[Candidate]:
    if case.dtype != "e4m3":
        return [
            Candidate(
                "torch",
                "matmul",
                lambda: (lambda: torch.matmul(left, right, out=c), None),
            )
        ]
    # cuBLAS needs multiples of 16 for K and N; torch raises an error for others.
    one = torch.ones((), device="cuda")

    def scaled(fast: bool) -> tuple[Launch, None]:
        def launch() -> torch.Tensor:
            return torch._scaled_mm(
                left, right, one, one, out_dtype=c.dtype, use_fast_accum=fast
            )

        return launch, None

    return [
        Candidate("torch", f"_scaled_mm {kind}", functools.partial(scaled, fast))
        for kind, fast in (("fast", True), ("exact", False))
    ]


def _triton(
    left: torch.Tensor, right: torch.Tensor, c: torch.Tensor
) -> list[Candidate]:
    try:
        from . import triton_kernels
    except ImportError:
        return []
    return [
        Candidate("triton", label, lambda run=run: (run, None))
        for label, run in triton_kernels.gemms(left, right, c)
    ]


def _tilelang(
    case: Case, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor
) -> list[Candidate]:
    try:
        from . import tilelang_kernels
    except ImportError:
        return []

    def start(make: Callable[[], Callable[..., Any]]) -> tuple[Launch, None]:
        kernel = make()

        def launch() -> torch.Tensor:
            kernel(a, b, c)
            return c

        return launch, None

    return [
        Candidate("tilelang", label, functools.partial(start, make))
        for label, make in tilelang_kernels.gemms(case, kernels.OUTPUTS[case.dtype])
    ]
