"""What is measured: the operations on random data, and what torch does instead.

Each function makes a trial of a case. References are in float64, a part of the rows at
a time, because float64 takes four times the memory of the data.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

import tilews.language as tl
from tilews import kernels

from ..cases import Case
from ..measure import UNIT_ROUNDOFF
from .product_trials import (
    attention,
    decode_attention,
    grouped_matmul,
    matmul,
    mla_decode,
    moe,
    scaled_matmul,
)
from .trial import Tensor, Trial, random_tensor

#: The error of f32 arithmetic on rows: see benchmarks/softmax.py.
ARITHMETIC_ERROR = 2**-19
#: Rows whose reference is computed at a time.
_PART = 512


def _by_parts(function: Callable[..., Tensor], *tensors: Tensor) -> Tensor:
    """A function of rows in float64, computed for some rows at a time."""
    parts = zip(*(each.split(_PART) for each in tensors), strict=True)
    return torch.cat([function(*(each.double() for each in part)) for part in parts])


def _bound(dtype: str) -> float:
    return UNIT_ROUNDOFF[dtype] + ARITHMETIC_ERROR


def _bytes(*tensors: Tensor) -> float:
    return float(sum(each.numel() * each.element_size() for each in tensors))


def _compiled(
    function: Callable[..., Tensor], *tensors: Tensor
) -> Callable[[], Tensor]:
    """torch.compile of a function, which is compiled when it is first called."""
    torch._dynamo.reset()  # It compiles a function for few shapes only.
    fused = torch.compile(function, dynamic=False)
    return lambda: fused(*tensors)


def softmax(case: Case) -> Trial:
    x = random_tensor(case.shape, case.dtype, 4.0)
    y = torch.empty_like(x)
    return Trial(
        lambda: kernels.softmax(x, out=y),
        {"softmax": lambda: torch.softmax(x, 1)},
        y,
        _by_parts(lambda part: torch.softmax(part, 1), x),
        _bytes(x, y),
        _bound(case.dtype),
    )


def _norm(case: Case, ours: Any, peer: Callable[..., Tensor], with_bias: bool) -> Trial:
    """A norm; with the layout 'residual' of a sum, and with 'fp8' quantized."""
    x = random_tensor(case.shape, case.dtype)
    weight, bias = (random_tensor(case.shape[1:], case.dtype) for _ in range(2))
    vectors = (weight, bias) if with_bias else (weight,)
    vectors64 = [each.double() for each in vectors]
    y = torch.empty_like(x)
    if case.layout == "residual":
        r = random_tensor(case.shape, case.dtype)
        return Trial(
            lambda: ours(x, *vectors, residual=r, out=y),
            {"compile": _compiled(lambda x, r: peer(x + r, *vectors), x, r)},
            y,
            _by_parts(lambda x, r: peer(x + r, *vectors64), x, r),
            _bytes(x, r, y),
            _bound(case.dtype),
        )
    reference = _by_parts(lambda x: peer(x, *vectors64), x)
    plain = {
        "eager": lambda: peer(x, *vectors),
        "compile": _compiled(peer, x, *vectors),
    }
    if case.layout != "fp8":
        run = lambda: ours(x, *vectors, out=y)  # noqa: E731
        return Trial(run, plain, y, reference, _bytes(x, y), _bound(case.dtype))
    y = torch.empty(case.shape, dtype=torch.float8_e4m3fn, device="cuda")
    quantize = lambda: ours(x, *vectors, out=y, out_dtype=tl.e4m3)  # noqa: E731
    scales = reference.abs().amax(1) / 448
    peers = {"compile": _compiled(lambda x: _cast(peer(x, *vectors), 0)[0], x)}
    return Trial(
        lambda: quantize()[0],
        peers,
        y,
        reference / scales[:, None],
        _bytes(x, y),
        2**-4,
        (lambda: quantize()[1], scales),
    )


def rms_norm(case: Case) -> Trial:
    def peer(x: Tensor, weight: Tensor) -> Tensor:
        return F.rms_norm(x, weight.shape, weight, 1e-6)

    return _norm(case, kernels.rms_norm, peer, with_bias=False)


def layer_norm(case: Case) -> Trial:
    def peer(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return F.layer_norm(x, weight.shape, weight, bias, 1e-5)

    return _norm(case, kernels.layer_norm, peer, with_bias=True)


def _gated(case: Case, ours: Any, activation: Callable[[Tensor], Tensor]) -> Trial:
    rows, width = case.shape
    x = random_tensor((rows, 2 * width), case.dtype)
    y = torch.empty(case.shape, dtype=x.dtype, device="cuda")

    def peer(x: Tensor) -> Tensor:
        return activation(x[:, :width]) * x[:, width:]

    return Trial(
        lambda: ours(x, out=y),
        {"eager": lambda: peer(x), "compile": _compiled(peer, x)},
        y,
        _by_parts(peer, x),
        _bytes(x, y),
        _bound(case.dtype),
    )


def silu_and_mul(case: Case) -> Trial:
    return _gated(case, kernels.silu_and_mul, F.silu)


def gelu_and_mul(case: Case) -> Trial:
    return _gated(case, kernels.gelu_and_mul, F.gelu)


def rope(case: Case) -> Trial:
    length, _, depth = case.shape
    x = random_tensor(case.shape, case.dtype)
    y = torch.empty_like(x)
    angles = 6 * torch.rand(length, depth // 2, device="cuda")
    cos, sin = angles.cos(), angles.sin()
    is_interleaved = case.layout == "interleaved"

    def peer(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        c, s = cos[:, None], sin[:, None]
        if is_interleaved:
            a, b = x.unflatten(2, (-1, 2)).unbind(3)
            return torch.stack([a * c - b * s, b * c + a * s], 3).flatten(2).to(x.dtype)
        a, b = x.chunk(2, 2)
        return torch.cat([a * c - b * s, b * c + a * s], 2).to(x.dtype)

    return Trial(
        lambda: kernels.rope(x, cos, sin, interleaved=is_interleaved, out=y),
        {"compile": _compiled(peer, x, cos, sin)},
        y,
        _by_parts(peer, x, cos, sin),
        _bytes(x, y),
        _bound(case.dtype),
    )


def _cast(x: Tensor, group: int) -> tuple[Tensor, Tensor]:
    """Casts groups of the elements of rows to fp8, or whole rows."""
    groups = x.float().unflatten(1, (-1, group or x.shape[1]))
    scales = groups.abs().amax(2).clamp(min=1e-12) / 448
    return (groups / scales[:, :, None]).flatten(1).to(torch.float8_e4m3fn), scales


def cast_to_fp8(case: Case) -> Trial:
    x = random_tensor(case.shape, case.dtype)
    group = int(case.layout or 0)
    y = torch.empty(case.shape, dtype=torch.float8_e4m3fn, device="cuda")
    columns = case.shape[1]
    shape = (case.shape[0], columns // (group or columns))
    scales = torch.empty(shape, device="cuda")
    run = lambda: kernels.cast_to_fp8(x, group=group or None, out=y, scales=scales)  # noqa: E731
    wanted = _by_parts(lambda x: _cast(x, group)[1].double(), x)
    every = wanted.repeat_interleave(group or columns, 1)
    return Trial(
        lambda: run()[0],
        {"compile": _compiled(lambda x: _cast(x, group)[0], x)},
        y,
        x.double() / every,
        _bytes(x, y, scales),
        2**-4,
        (lambda: run()[1], wanted),
    )


def cross_entropy(case: Case) -> Trial:
    x = random_tensor(case.shape, case.dtype, 4.0)
    targets = torch.randint(case.shape[1], case.shape[:1], device="cuda")
    y = torch.empty(case.shape[0], device="cuda")
    peer = functools.partial(F.cross_entropy, target=targets, reduction="none")
    reference = torch.cat(
        [
            F.cross_entropy(part.double(), own, reduction="none")
            for part, own in zip(x.split(_PART), targets.split(_PART), strict=True)
        ]
    )
    return Trial(
        lambda: kernels.cross_entropy(x, targets, out=y),
        {"eager": lambda: peer(x)},
        y,
        reference,
        _bytes(x),
        ARITHMETIC_ERROR,
        slack=UNIT_ROUNDOFF[case.dtype],  # torch rounds the losses.
    )


def argmax(case: Case) -> Trial:
    x = random_tensor(case.shape, case.dtype)
    y = torch.empty(case.shape[0], dtype=torch.int32, device="cuda")
    places = torch.arange(case.shape[1], device="cuda")
    # The first of equal elements.
    firsts = [
        torch.where(part == part.amax(1, keepdim=True), places, case.shape[1]).amin(1)
        for part in x.split(_PART)
    ]
    return Trial(
        lambda: kernels.argmax(x, out=y),
        {"argmax": lambda: x.argmax(1)},
        torch.empty(0),  # Integers have no NaN.
        torch.cat(firsts).double(),
        _bytes(x),
        1e-12,
    )


def top_k(case: Case) -> Trial:
    x = random_tensor(case.shape, case.dtype)
    k = int(case.layout)
    values = torch.empty(case.shape[0], k, dtype=x.dtype, device="cuda")
    places = torch.empty(case.shape[0], k, dtype=torch.int32, device="cuda")
    return Trial(
        lambda: kernels.top_k(x, k, values=values, places=places)[0],
        {"topk": lambda: x.topk(k, 1).values},
        values,
        x.topk(k, 1).values.double(),
        _bytes(x),
        1e-12,
    )


def cumsum(case: Case) -> Trial:
    x = random_tensor(case.shape, case.dtype)
    y = torch.empty_like(x)
    return Trial(
        lambda: kernels.cumsum(x, out=y),
        {"cumsum": lambda: x.cumsum(1)},
        y,
        _by_parts(lambda part: part.cumsum(1), x),
        _bytes(x, y),
        _bound(case.dtype),
    )


def dropout(case: Case) -> Trial:
    x = random_tensor(case.shape, case.dtype)
    y = torch.empty_like(x)
    words = tl.philox(7, np.arange(x.numel() // 4))
    bits = torch.from_numpy(np.stack([each.astype(np.uint32) for each in words], 1))
    kept = (bits.long() >= round(0.25 * 2**32)).reshape(case.shape).cuda()
    return Trial(
        lambda: kernels.dropout(x, 0.25, 7, out=y),
        {"dropout": lambda: F.dropout(x, 0.25)},
        y,
        x.double() * kept / 0.75,
        _bytes(x, y),
        _bound(case.dtype),
        slack=math.inf,  # torch drops other elements.
    )


#: The trial of each operation.
TRIALS: dict[str, Callable[[Case], Trial]] = {
    each.__name__: each
    for each in (
        *(softmax, rms_norm, layer_norm, silu_and_mul, gelu_and_mul, rope),
        *(cast_to_fp8, cross_entropy, argmax, top_k, cumsum, dropout),
        *(matmul, grouped_matmul, scaled_matmul, moe),
        *(attention, decode_attention, mla_decode),
    )
}
