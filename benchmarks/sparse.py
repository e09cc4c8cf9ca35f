"""Sparse matmuls: tilews, cuSPARSELt and cuBLAS through torch, and TileLang.

Figures count the operations of the dense matmul, also those with zeros. So they compare
with cuBLAS on the dense matrix.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from tilews.runtime import device_target

from . import sparse_kernels as kernels
from .cases import Case
from .measure import TORCH_DTYPES, UNIT_ROUNDOFF, Candidate, Launch, Problem

#: The share of the blocks that the mask selects.
DENSITY = 0.5
#: The places of the two nonzeros of four elements.
PLACES = [(i, j) for i in range(4) for j in range(i + 1, 4)]


def prepare(case: Case) -> tuple[Problem, list[Candidate]]:
    """Random data of a matmul, and the implementations."""
    return {"2:4": _structured, "blocks": _blocks}[case.layout](case)


def _random(case: Case, *shape: int) -> torch.Tensor:
    return torch.randn(shape, device="cuda").to(TORCH_DTYPES[case.dtype])


def _make_problem(case: Case, c: torch.Tensor, reference: torch.Tensor) -> Problem:
    m, n, k = case.shape
    work = {"TFLOP/s": 2e-12 * m * n * k}
    return Problem(c, reference, UNIT_ROUNDOFF[case.dtype], work)


def _tilews(case: Case, *arrays: torch.Tensor) -> list[Candidate]:
    target = device_target()

    def compile_config(
        config: kernels.GemmConfig,
    ) -> tuple[Launch, dict[str, Any] | None]:
        compiled = kernels.compile_sparse(target, case.layout, case.dtype, config)

        def launch() -> torch.Tensor:
            compiled(*arrays)
            return arrays[-1]

        return launch, compiled.resources

    return [
        Candidate("tilews", config.label, functools.partial(compile_config, config))
        for config in kernels.configs(case.shape, case.layout)
    ]


def _tilelang(makers: str, case: Case, *arrays: torch.Tensor) -> list[Candidate]:
    try:
        from . import tilelang_kernels
    except ImportError:
        return []

    def start(make: Callable[[], Callable[..., Any]]) -> tuple[Launch, None]:
        kernel = make()

        def launch() -> torch.Tensor:
            kernel(*arrays)
            return arrays[-1]

        return launch, None

    return [
        Candidate("tilelang", label, functools.partial(start, make))
        for label, make in getattr(tilelang_kernels, makers)(case)
    ]


# --- 2:4 ---------------------------------------------------------------------------


def compress(
    values: torch.Tensor, chosen: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The dense matrix, and the metadata in words of 16 bits.

    Args:
        values: the nonzeros, (M, K / 2).
        chosen: an index into :data:`PLACES` for each four elements, (M, K / 4).
    """
    m, groups = chosen.shape
    places = torch.tensor(PLACES, device=values.device)[chosen]
    dense = values.new_zeros(m, groups, 4)
    dense.scatter_(2, places, values.view(m, groups, 2))
    nibbles = (places[..., 0] | places[..., 1] << 2).view(m, -1, 4)
    words = sum(nibbles[..., i] << 4 * i for i in range(4))
    # The upper half of the 16-bit numbers is negative.
    words = torch.where(words >= 1 << 15, words - (1 << 16), words)
    return dense.view(m, 4 * groups), words.to(torch.int16)


def _structured(case: Case) -> tuple[Problem, list[Candidate]]:
    m, n, k = case.shape
    a, b = _random(case, m, k // 2), _random(case, n, k)
    dense, e = compress(a, torch.randint(len(PLACES), (m, k // 4), device="cuda"))
    c = torch.empty(m, n, dtype=a.dtype, device="cuda")
    problem = _make_problem(case, c, dense.double() @ b.t().double())
    peers = [
        Candidate("torch", "cuSPARSELt", lambda: (_cusparselt(dense, b), None)),
        Candidate("torch", "semi-structured", lambda: (_semi(dense, b), None)),
        Candidate("torch", "dense", lambda: (_matmul(dense, b, c), None)),
    ]
    peers += _tilelang("structured", case, a, e, b, c)
    return problem, [*peers, *_tilews(case, a, e, b, c)]


def _cusparselt(dense: torch.Tensor, b: torch.Tensor) -> Launch:
    """The library without torch's tensor class, with the algorithm of its search."""
    compressed, right = torch._cslt_compress(dense), b.t()
    found = torch._cslt_sparse_mm_search(compressed, right)
    return lambda: torch._cslt_sparse_mm(compressed, right, alg_id=found)


def _semi(dense: torch.Tensor, b: torch.Tensor) -> Launch:
    """The matmul of torch for a semi-structured sparse tensor."""
    left = torch.sparse.to_sparse_semi_structured(dense)
    return lambda: torch.mm(left, b.t())


def _matmul(dense: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> Launch:
    return lambda: torch.matmul(dense, b.t(), out=c)


# --- blocks ------------------------------------------------------------------------


def _blocks(case: Case) -> tuple[Problem, list[Candidate]]:
    m, n, k = case.shape
    a, b = _random(case, m, k), _random(case, k, n)
    shape = [
        extent // block for extent, block in zip(case.shape, kernels.BLOCK, strict=True)
    ]
    mask = torch.rand(shape, device="cuda") < DENSITY
    c = torch.empty(m, n, dtype=a.dtype, device="cuda")
    problem = _make_problem(case, c, multiply_blocks(a.double(), b.double(), mask))
    # torch has no matmul that skips blocks.
    peers = _tilelang("blocks", case, a, b, mask, c)
    return problem, [*peers, *_tilews(case, a, b, mask, c)]


def multiply_blocks(
    a: torch.Tensor, b: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    """The matmul of the blocks that the mask selects."""
    rows, columns, depth = kernels.BLOCK
    steps = [
        (left @ right)
        * mask[..., k].repeat_interleave(rows, 0).repeat_interleave(columns, 1)
        for k, (left, right) in enumerate(
            zip(a.split(depth, 1), b.split(depth, 0), strict=True)
        )
    ]
    return sum(steps)
