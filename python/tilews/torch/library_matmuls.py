"""The matmuls and attentions of :mod:`tilews.kernels` as operators of torch."""

from __future__ import annotations

import torch

from .._support.lazy import LazyModule
from .registration import op

kernels = LazyModule("tilews.kernels")

#: The types of results of operands that are no results themselves.
_DEFAULTS = {
    torch.int8: torch.int32,
    **dict.fromkeys((torch.float8_e4m3fn, torch.float8_e5m2), torch.bfloat16),
    **dict.fromkeys((torch.float8_e4m3fnuz, torch.float8_e5m2fnuz), torch.bfloat16),
}


def _product(
    a: torch.Tensor,
    b: torch.Tensor,
    transpose_a: bool = False,
    transpose_b: bool = False,
    scale: float = 1.0,
    scale_a: torch.Tensor | None = None,
    scale_b: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    activation: str | None = None,
    residual: torch.Tensor | None = None,
    allow_tf32: bool = True,
    out_dtype: torch.dtype | None = None,
) -> torch.Tensor:
    rows = a.shape[-1 if transpose_a else -2]
    columns = b.shape[-2 if transpose_b else -1]
    dtype = out_dtype or _DEFAULTS.get(a.dtype, a.dtype)
    return a.new_empty((*a.shape[:-2], rows, columns), dtype=dtype)


def _matmul_backward(
    grad: torch.Tensor,
    a: torch.Tensor,
    b: torch.Tensor,
    transpose_a: bool,
    transpose_b: bool,
    scale: float,
    scale_a: torch.Tensor | None,
    scale_b: torch.Tensor | None,
    bias: torch.Tensor | None,
    activation: str | None,
    residual: torch.Tensor | None,
) -> dict[str, torch.Tensor | None]:
    if activation is not None or scale_a is not None or scale_b is not None:
        raise RuntimeError(
            "tilews::matmul has no backward rule with an activation, scale_a or "
            "scale_b: apply them by functions of torch"
        )
    g = grad.to(a.dtype)
    left = a.mT if transpose_a else a
    right = b.mT if transpose_b else b
    down_a = torch.matmul(g, right.mT) * scale
    down_b = (torch.matmul(left.mT, g) * scale).sum_to_size(right.shape)
    rows = grad.float().reshape(-1, grad.shape[-1])
    return {
        "a": down_a.mT if transpose_a else down_a,
        "b": down_b.mT if transpose_b else down_b,
        "bias": None if bias is None else rows.sum(0).to(bias.dtype),
        "residual": None if residual is None else grad.to(residual.dtype),
    }


@op("tilews::matmul", fake=_product, backward=_matmul_backward)
def matmul(
    a: torch.Tensor,
    b: torch.Tensor,
    transpose_a: bool = False,
    transpose_b: bool = False,
    scale: float = 1.0,
    scale_a: torch.Tensor | None = None,
    scale_b: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    activation: str | None = None,
    residual: torch.Tensor | None = None,
    allow_tf32: bool = True,
    out_dtype: torch.dtype | None = None,
) -> torch.Tensor:
    return kernels.matmul(
        a,
        b,
        transpose_a=transpose_a,
        transpose_b=transpose_b,
        scale=scale,
        scale_a=scale_a,
        scale_b=scale_b,
        bias=bias,
        activation=activation,
        residual=residual,
        allow_tf32=allow_tf32,
        out_dtype=out_dtype,
    )


def _grouped_product(
    a: torch.Tensor,
    b: torch.Tensor,
    starts: torch.Tensor,
    rows: torch.Tensor | None = None,
    row_scales: torch.Tensor | None = None,
    transpose_b: bool = False,
    scale: float = 1.0,
    allow_tf32: bool = True,
    out_dtype: torch.dtype | None = None,
) -> torch.Tensor:
    count = a.shape[0] if rows is None else rows.shape[0]
    dtype = out_dtype or _DEFAULTS.get(a.dtype, a.dtype)
    return a.new_empty((count, b.shape[1 if transpose_b else 2]), dtype=dtype)


@op("tilews::grouped_matmul", fake=_grouped_product)
def grouped_matmul(
    a: torch.Tensor,
    b: torch.Tensor,
    starts: torch.Tensor,
    rows: torch.Tensor | None = None,
    row_scales: torch.Tensor | None = None,
    transpose_b: bool = False,
    scale: float = 1.0,
    allow_tf32: bool = True,
    out_dtype: torch.dtype | None = None,
) -> torch.Tensor:
    return kernels.grouped_matmul(
        a,
        b,
        starts,
        rows=rows,
        row_scales=row_scales,
        transpose_b=transpose_b,
        scale=scale,
        allow_tf32=allow_tf32,
        out_dtype=out_dtype,
    )


@op("tilews::attention", fake="q")
def attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    causal: bool = False,
    window: int | None = None,
    scale: float | None = None,
    soft_cap: float | None = None,
    sinks: torch.Tensor | None = None,
    query_starts: torch.Tensor | None = None,
    key_starts: torch.Tensor | None = None,
    longest: int | None = None,
) -> torch.Tensor:
    return kernels.attention(
        q,
        k,
        v,
        causal=causal,
        window=window,
        scale=scale,
        soft_cap=soft_cap,
        sinks=sinks,
        query_starts=query_starts,
        key_starts=key_starts,
        longest=longest,
    )


@op("tilews::decode_attention", fake="q")
def decode_attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    lengths: torch.Tensor,
    table: torch.Tensor | None = None,
    window: int | None = None,
    scale: float | None = None,
    soft_cap: float | None = None,
    sinks: torch.Tensor | None = None,
    longest: int | None = None,
) -> torch.Tensor:
    return kernels.decode_attention(
        q,
        k,
        v,
        lengths,
        table=table,
        window=window,
        scale=scale,
        soft_cap=soft_cap,
        sinks=sinks,
        longest=longest,
    )
