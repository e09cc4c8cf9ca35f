"""The operations of :mod:`tilews.kernels` on rows as operators of torch.

They compute what the functions of the same name compute, and return new tensors. The
backward rules are the derivatives of the formulas that the functions document, in f32.
"""

from __future__ import annotations

import torch

from .._support.lazy import LazyModule
from .registration import op

kernels = LazyModule("tilews.kernels")

Gradients = dict[str, torch.Tensor | None]


def _rows_sum(x: torch.Tensor) -> torch.Tensor:
    """The sum of all rows."""
    return x.reshape(-1, x.shape[-1]).sum(0)


def _as(x: torch.Tensor, like: torch.Tensor | None) -> torch.Tensor | None:
    """A tensor in the type of another one; None if that is none."""
    return None if like is None else x.to(like.dtype)


def _norm_gradients(
    grad: torch.Tensor,
    n: torch.Tensor,
    factor: torch.Tensor,
    like: tuple[torch.Tensor, torch.Tensor | None, torch.Tensor | None],
    is_centered: bool,
) -> Gradients:
    """The gradients of a norm, ``y = n * weight`` with ``n = h * factor``.

    Args:
        grad: of y.
        n: the rows, normalized.
        factor: of each row.
        like: x, weight and residual.
        is_centered: whether the mean was subtracted before.
    """
    x, weight, residual = like
    g = grad.float()
    inner = g if weight is None else g * weight.float()
    down = inner - n * (inner * n).mean(-1, keepdim=True)
    if is_centered:
        down = down - inner.mean(-1, keepdim=True)
    down = down * factor
    return {
        "x": down.to(x.dtype),
        "weight": _as(_rows_sum(g * n), weight),
        "residual": _as(down, residual),
    }


def _rms_norm_backward(
    grad: torch.Tensor,
    x: torch.Tensor,
    weight: torch.Tensor | None,
    eps: float,
    residual: torch.Tensor | None,
) -> Gradients:
    h = x.float() if residual is None else x.float() + residual.float()
    factor = torch.rsqrt((h * h).mean(-1, keepdim=True) + eps)
    like = x, weight, residual
    return _norm_gradients(grad, h * factor, factor, like, is_centered=False)


@op("tilews::rms_norm", fake="x", backward=_rms_norm_backward)
def rms_norm(
    x: torch.Tensor,
    weight: torch.Tensor | None = None,
    eps: float = 1e-6,
    residual: torch.Tensor | None = None,
) -> torch.Tensor:
    return kernels.rms_norm(x, weight, eps=eps, residual=residual)


@op("tilews::add_rms_norm_", mutates=["residual"], fake="x")
def add_rms_norm_(
    x: torch.Tensor,
    residual: torch.Tensor,
    weight: torch.Tensor | None = None,
    eps: float = 1e-6,
) -> torch.Tensor:
    """The RMS norm of ``x + residual``, which becomes the residual."""
    return kernels.rms_norm(x, weight, eps=eps, residual=residual, update_residual=True)


def _layer_norm_backward(
    grad: torch.Tensor,
    x: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    eps: float,
    residual: torch.Tensor | None,
) -> Gradients:
    h = x.float() if residual is None else x.float() + residual.float()
    h = h - h.mean(-1, keepdim=True)
    factor = torch.rsqrt((h * h).mean(-1, keepdim=True) + eps)
    like = x, weight, residual
    found = _norm_gradients(grad, h * factor, factor, like, is_centered=True)
    return {**found, "bias": _as(_rows_sum(grad.float()), bias)}


@op("tilews::layer_norm", fake="x", backward=_layer_norm_backward)
def layer_norm(
    x: torch.Tensor,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    eps: float = 1e-5,
    residual: torch.Tensor | None = None,
) -> torch.Tensor:
    return kernels.layer_norm(x, weight, bias, eps=eps, residual=residual)


def _softmax_backward(
    grad: torch.Tensor, result: torch.Tensor, scale: float
) -> Gradients:
    y, g = result.float(), grad.float()
    down = y * (g - (g * y).sum(-1, keepdim=True)) * scale
    return {"x": down.to(result.dtype)}


@op("tilews::softmax", fake="x", backward=_softmax_backward)
def softmax(x: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
    return kernels.softmax(x, scale=scale)


def _half_columns(x: torch.Tensor, *_: object) -> torch.Tensor:
    return x.new_empty((*x.shape[:-1], x.shape[-1] // 2))


def _silu_and_mul_backward(grad: torch.Tensor, x: torch.Tensor) -> Gradients:
    gate, up = x.float().chunk(2, -1)
    g, s = grad.float(), torch.sigmoid(gate)
    down = (g * up * s * (1 + gate * (1 - s)), g * gate * s)
    return {"x": torch.cat(down, -1).to(x.dtype)}


@op("tilews::silu_and_mul", fake=_half_columns, backward=_silu_and_mul_backward)
def silu_and_mul(x: torch.Tensor) -> torch.Tensor:
    return kernels.silu_and_mul(x)


@op("tilews::gelu_and_mul", fake=_half_columns)
def gelu_and_mul(x: torch.Tensor, approximate: bool = False) -> torch.Tensor:
    return kernels.gelu_and_mul(x, approximate=approximate)


@op("tilews::gated", fake=_half_columns)
def gated(x: torch.Tensor, activation: str = "silu") -> torch.Tensor:
    return kernels.gated(x, activation=activation)


def _rope_backward(
    grad: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    positions: torch.Tensor | None,
    interleaved: bool,
) -> Gradients:
    # The transposed rotation is the one by the negative angle.
    back = torch.ops.tilews.rope(grad.contiguous(), cos, -sin, positions, interleaved)
    return {"x": back}


@op("tilews::rope", fake="x", backward=_rope_backward)
def rope(
    x: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    positions: torch.Tensor | None = None,
    interleaved: bool = False,
) -> torch.Tensor:
    return kernels.rope(x, cos, sin, positions=positions, interleaved=interleaved)


def _cumsum_backward(grad: torch.Tensor, reverse: bool, exclusive: bool) -> Gradients:
    back = torch.ops.tilews.cumsum(grad.contiguous(), not reverse, exclusive)
    return {"x": back}


@op("tilews::cumsum", fake="x", backward=_cumsum_backward)
def cumsum(
    x: torch.Tensor, reverse: bool = False, exclusive: bool = False
) -> torch.Tensor:
    return kernels.cumsum(x, reverse=reverse, exclusive=exclusive)


def _dropout_backward(grad: torch.Tensor, p: float, seed: int) -> Gradients:
    return {"x": torch.ops.tilews.dropout(grad.contiguous(), p, seed)}


@op("tilews::dropout", fake="x", backward=_dropout_backward)
def dropout(x: torch.Tensor, p: float, seed: int) -> torch.Tensor:
    return kernels.dropout(x, p, seed)


def _losses(logits: torch.Tensor, *_: object) -> torch.Tensor:
    return logits.new_empty(logits.shape[:-1], dtype=torch.float32)


def _cross_entropy_backward(
    grad: torch.Tensor,
    logits: torch.Tensor,
    targets: torch.Tensor,
    ignore_index: int,
    label_smoothing: float,
) -> Gradients:
    counts = (targets != ignore_index).unsqueeze(-1)
    places = targets.unsqueeze(-1).long().where(counts, 0)
    down = torch.softmax(logits.float(), -1) - label_smoothing / logits.shape[-1]
    own = torch.full_like(places, label_smoothing - 1, dtype=torch.float32)
    down = down.scatter_add(-1, places, own)
    down = (down * grad.float().unsqueeze(-1)).where(counts, 0)
    return {"logits": down.to(logits.dtype)}


@op("tilews::cross_entropy", fake=_losses, backward=_cross_entropy_backward)
def cross_entropy(
    logits: torch.Tensor,
    targets: torch.Tensor,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> torch.Tensor:
    return kernels.cross_entropy(
        logits, targets, ignore_index=ignore_index, label_smoothing=label_smoothing
    )


def _places(x: torch.Tensor) -> torch.Tensor:
    return x.new_empty(x.shape[:-1], dtype=torch.int32)


@op("tilews::argmax", fake=_places)
def argmax(x: torch.Tensor) -> torch.Tensor:
    return kernels.argmax(x)


def _selected(x: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    shape = (*x.shape[:-1], k)
    return x.new_empty(shape), x.new_empty(shape, dtype=torch.int32)


def _top_k_backward(
    grad: tuple[torch.Tensor, torch.Tensor],
    x: torch.Tensor,
    result: tuple[torch.Tensor, torch.Tensor],
) -> Gradients:
    zeros = torch.zeros_like(x)
    return {"x": zeros.scatter(-1, result[1].long(), grad[0])}


@op("tilews::top_k", fake=_selected, backward=_top_k_backward)
def top_k(x: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    return kernels.top_k(x, k)


def _cast(
    x: torch.Tensor, group: int | None = None, dtype: torch.dtype | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    from ..kernels.host import element_type, fp8_type

    kind = fp8_type(element_type(dtype or torch.float8_e4m3fn), x, None)
    *outer, columns = x.shape
    groups = 1 if group is None else (columns + group - 1) // group
    scales = x.new_empty((*outer, groups), dtype=torch.float32)
    return x.new_empty(x.shape, dtype=getattr(torch, kind.numpy.name)), scales


@op("tilews::cast_to_fp8", fake=_cast)
def cast_to_fp8(
    x: torch.Tensor, group: int | None = None, dtype: torch.dtype | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    return kernels.cast_to_fp8(
        x, group=group, dtype=torch.float8_e4m3fn if dtype is None else dtype
    )
