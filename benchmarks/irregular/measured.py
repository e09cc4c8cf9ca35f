"""Checks and times the compiled kernels on the GPU.

It imports no compiler: a machine with a GPU needs torch and ``tilews.runtime``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import torch

from tilews.runtime import LoadedKernel

from ..timing import Timer

Row = dict[str, Any]
Kernels = dict[Any, LoadedKernel]

_HEADS, _WIDTH = 16, 128
_SCALE = _WIDTH**-0.5 * math.log2(math.e)
#: The number of sequences and their length.
_EQUAL = ((32, 512), (16, 1024), (8, 2048), (4, 4096), (2, 8192), (1, 16384))
_RANDOM = (1, 700, 0, 128, 333, 64, 1000, 257, 5)
#: Tokens, rows of all experts, N, K, and experts.
_EXPERTS = (
    (4096, 8192, 4096, 4096, 8),
    (2048, 16384, 2048, 4096, 16),
    (4096, 8192, 14336, 4096, 8),
)
_SCANNED = 2**26
#: Words before those of the blocks in the scan of the examples.
_WINDOW = 32


def _halves(*shape: int) -> torch.Tensor:
    return torch.randn(shape, device="cuda").half()


def _integers(numbers: Any) -> torch.Tensor:
    return torch.as_tensor(numbers, dtype=torch.int32, device="cuda")


def _error(found: torch.Tensor, wanted: torch.Tensor) -> float:
    """The largest error relative to the largest element."""
    difference = (found.double() - wanted).abs().max()
    return float(difference / wanted.abs().max().clamp(min=1e-30))


def _speeds(amount: float, unit: str, ours: float, other: float) -> Row:
    """The speeds of both sides, of an amount and their times in milliseconds."""
    return {"ours": amount / ours, "other": amount / other, "unit": unit}


def _best(kernels: Kernels, name: str, times: Callable[[Any], float]) -> float:
    """The least time of the configurations of a kernel, in milliseconds."""
    return min(times(config) for kind, config in kernels if kind == name)


def measure_attention(kernels: Kernels, timer: Timer) -> Iterator[Row]:
    """Attention of sequences against the kernel for equal lengths."""
    starts = [0]
    for length in _RANDOM:
        starts.append(starts[-1] + length)
    q, k, v = (_halves(starts[-1], 3, _WIDTH) for _ in range(3))
    # What is in one sequence must not be seen in another.
    k[:1] = v[:1] = math.nan
    wanted = torch.zeros_like(q, dtype=torch.float64)
    for first, end in itertools.pairwise(starts):
        for h in range(3):
            one = slice(first, end), h
            scores = q[one].double() @ k[one].double().T * _WIDTH**-0.5
            wanted[one] = torch.softmax(scores, 1) @ v[one].double()
    for (kind, config), kernel in kernels.items():
        if kind != "sequences":
            continue
        y = torch.zeros_like(q)
        kernel(q, k, v, _integers(starts), y, max(_RANDOM), _SCALE)
        assert bool(y[:1].isnan().all())
        error = _error(y[1:], wanted[1:])
        yield {"kernel": "varlen attention", "case": f"random {config}", "error": error}
    for count, length in _EQUAL:
        yield _compare_lengths(kernels, timer, count, length)


def _compare_lengths(kernels: Kernels, timer: Timer, count: int, length: int) -> Row:
    rows = count * length
    q, k, v = (_halves(rows, _HEADS, _WIDTH) for _ in range(3))
    found, fixed = torch.empty_like(q), torch.empty_like(q)
    starts = _integers(range(0, rows + 1, length))
    whole = [x.view(count, length, _HEADS, _WIDTH) for x in (q, k, v, fixed)]

    def sequences(config: Any) -> float:
        kernel = kernels["sequences", config]
        return timer(lambda: kernel(q, k, v, starts, found, length, _SCALE)).median

    def padded(config: Any) -> float:
        kernel = kernels["padded", config]
        return timer(lambda: kernel(*whole, _SCALE)).median

    ours, theirs = (
        min(_best(kernels, name, times) for _ in range(3))
        for name, times in (("sequences", sequences), ("padded", padded))
    )
    flops = 4 * count * _HEADS * length**2 * _WIDTH
    return {
        "kernel": "varlen attention",
        "case": f"{count} x {length}, {_HEADS} heads",
        **_speeds(flops / 1e9, "TFLOP/s", ours, theirs),
        "against": "equal lengths",
        "error": _error(found, fixed.double()),
    }


def measure_experts(kernels: Kernels, timer: Timer) -> Iterator[Row]:
    """A matmul of gathered rows against the same one of rows in order."""
    for tokens, rows, n, k, experts in _EXPERTS:
        x, w = _halves(tokens, k), _halves(experts, n, k)
        ids = torch.randint(0, tokens, (rows,), device="cuda", dtype=torch.int32)
        of_tile = _integers(torch.arange(rows // 128) * experts // (rows // 128))
        gathered, y = x[ids.long()], _halves(rows, n)
        wanted = torch.stack(
            [gathered[r].double() @ w[of_tile[r // 128]].double().T for r in (0, -1)]
        )
        both = kernels["experts", True], kernels["experts", False]
        both[0](x, w, ids, of_tile, y)
        error = _error(y[[0, -1]], wanted)
        ours, theirs = (
            min(timer(lambda: run(a, w, ids, of_tile, y)).median for _ in range(3))  # noqa: B023
            for run, a in zip(both, (x, gathered), strict=True)
        )
        yield {
            "kernel": "matmul of gathered rows",
            "case": f"{tokens} tokens, {rows}x{n}x{k}, {experts} experts",
            **_speeds(2 * rows * n * k / 1e9, "TFLOP/s", ours, theirs),
            "against": "rows in order",
            "error": error,
        }


def measure_rows(kernels: Kernels, timer: Timer) -> Iterator[Row]:
    """Histogram and top-k against torch."""
    bins = {
        "uniform": torch.randint(0, 256, (_SCANNED,), device="cuda").to(torch.uint8),
        "normal": (torch.randn(_SCANNED, device="cuda") * 20).to(torch.uint8),
    }
    kernel = kernels["histogram", ()]
    for name, x in bins.items():
        counts = torch.zeros(256, dtype=torch.int32, device="cuda")
        kernel(x.view(torch.int8), counts)
        wanted = torch.bincount(x, minlength=256)
        error = _error(counts, wanted.double())
        yield {
            "kernel": "histogram",
            "case": f"2^26 bytes, {name}",
            "ours": timer(lambda: kernel(x.view(torch.int8), counts)).median,  # noqa: B023
            "other": timer(lambda: torch.bincount(x, minlength=256)).median,  # noqa: B023
            "unit": "ms",
            "against": "torch.bincount",
            "error": error,
        }
    x = torch.randn(4096, 8192, device="cuda")
    for (kind, k), kernel in kernels.items():
        if kind != "topk":
            continue
        values = torch.empty(4096, k, device="cuda")
        places = torch.empty(4096, k, dtype=torch.int32, device="cuda")
        kernel(x, values, places)
        wanted, _ = torch.topk(x, k)
        assert torch.equal(x.gather(1, places.long()), values)
        yield {
            "kernel": "top-k",
            "case": f"4096 x 8192 f32, k = {k}",
            "ours": timer(lambda: kernel(x, values, places)).median,  # noqa: B023
            "other": timer(lambda: torch.topk(x, k)).median,  # noqa: B023
            "unit": "ms",
            "against": "torch.topk",
            "error": _error(values, wanted.double()),
        }


def measure_scan(kernels: Kernels, timer: Timer) -> Iterator[Row]:
    """The scan against a copy of the same bytes."""
    x = torch.randn(_SCANNED, device="cuda")
    y = torch.empty_like(x)
    copy = timer(lambda: y.copy_(x)).median
    wanted = torch.cumsum(x.double(), 0)
    for (kind, config), kernel in kernels.items():
        if kind != "scan":
            continue
        threads, block, _ = config
        words = torch.empty(
            _WINDOW + -(-_SCANNED // block), dtype=torch.int64, device="cuda"
        )
        number = torch.empty(1, dtype=torch.int32, device="cuda")
        times = []
        for _ in range(20):
            words.zero_()
            words[:_WINDOW] = 2 << 32
            number.zero_()
            times += timer.sample(lambda: kernel(x, y, words, number), 1, 0)  # noqa: B023
        yield {
            "kernel": "scan",
            "case": f"2^26 f32, {block} elements of a block of {threads} threads",
            **_speeds(8 * _SCANNED / 1e6, "GB/s", sorted(times)[10], copy),
            "against": "copy",
            "error": _error(y, wanted),
        }
