"""Experts, scaled matmuls and latent attention of tilews.kernels in torch."""

from __future__ import annotations

import torch

from .._support.lazy import LazyModule
from .registration import op

kernels = LazyModule("tilews.kernels")


def _scaled_product(
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: torch.Tensor,
    scale_b: torch.Tensor,
    bias: torch.Tensor | None = None,
    out_dtype: torch.dtype = torch.bfloat16,
) -> torch.Tensor:
    return a.new_empty((*a.shape[:-1], b.shape[0]), dtype=out_dtype)


@op("tilews::scaled_matmul", fake=_scaled_product)
def scaled_matmul(
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: torch.Tensor,
    scale_b: torch.Tensor,
    bias: torch.Tensor | None = None,
    out_dtype: torch.dtype = torch.bfloat16,
) -> torch.Tensor:
    return kernels.scaled_matmul(a, b, scale_a, scale_b, bias=bias, out_dtype=out_dtype)


def _latent_values(
    q: torch.Tensor,
    cache: torch.Tensor,
    lengths: torch.Tensor | None = None,
    table: torch.Tensor | None = None,
    ids: torch.Tensor | None = None,
    rank: int = 512,
    scale: float | None = None,
    longest: int | None = None,
) -> torch.Tensor:
    return q.new_empty((*q.shape[:3], rank))


@op("tilews::mla_decode", fake=_latent_values)
def mla_decode(
    q: torch.Tensor,
    cache: torch.Tensor,
    lengths: torch.Tensor | None = None,
    table: torch.Tensor | None = None,
    ids: torch.Tensor | None = None,
    rank: int = 512,
    scale: float | None = None,
    longest: int | None = None,
) -> torch.Tensor:
    return kernels.mla_decode(
        q,
        cache,
        lengths,
        table=table,
        ids=ids,
        rank=rank,
        scale=scale,
        longest=longest,
    )


def _sorted_choices(
    ids: torch.Tensor, experts: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    count = ids.shape[0] * ids.shape[1]
    return ids.new_empty(experts + 1), ids.new_empty(count), ids.new_empty(ids.shape)


@op("tilews::sort_by_expert", fake=_sorted_choices)
def sort_by_expert(
    ids: torch.Tensor, experts: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return kernels.sort_by_expert(ids, experts)


def _summed_rows(
    x: torch.Tensor,
    places: torch.Tensor,
    weights: torch.Tensor | None = None,
    out_dtype: torch.dtype | None = None,
) -> torch.Tensor:
    return x.new_empty((places.shape[0], x.shape[1]), dtype=out_dtype or x.dtype)


@op("tilews::combine_rows", fake=_summed_rows)
def combine_rows(
    x: torch.Tensor,
    places: torch.Tensor,
    weights: torch.Tensor | None = None,
    out_dtype: torch.dtype | None = None,
) -> torch.Tensor:
    return kernels.combine_rows(x, places, weights, out_dtype=out_dtype)


@op("tilews::moe", fake="x")
def moe(
    x: torch.Tensor,
    ids: torch.Tensor,
    weights: torch.Tensor,
    w13: torch.Tensor,
    w2: torch.Tensor,
    activation: str = "silu",
) -> torch.Tensor:
    return kernels.moe(x, ids, weights, w13, w2, activation=activation)
