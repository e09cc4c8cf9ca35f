"""The peers in Triton: matmuls by TMA and by pointers, softmaxes of whole rows."""

import functools
from collections.abc import Callable
from typing import Any

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def gemm(
    a, b, c, M, N, K, a_row, a_col, b_row, b_col,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    PANEL: tl.constexpr, EVEN: tl.constexpr,
):  # fmt: skip
    # Tiles are in panels of PANEL rows, numbered down each column of the panel.
    tiles_m = tl.cdiv(M, BM)
    in_panel = PANEL * tl.cdiv(N, BN)
    top = tl.program_id(0) // in_panel * PANEL
    height = tl.minimum(tiles_m - top, PANEL)
    place = tl.program_id(0) % in_panel
    rows = (top + place % height) * BM + tl.arange(0, BM)
    cols = (place // height) * BN + tl.arange(0, BN)
    ks = tl.arange(0, BK)
    a_tile = a + rows[:, None] * a_row + ks[None, :] * a_col
    b_tile = b + ks[:, None] * b_row + cols[None, :] * b_col
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        if EVEN:
            x = tl.load(a_tile)
            y = tl.load(b_tile)
        else:
            inside = ks < K - k
            x = tl.load(a_tile, (rows < M)[:, None] & inside[None, :], other=0.0)
            y = tl.load(b_tile, inside[:, None] & (cols < N)[None, :], other=0.0)
        total = tl.dot(x, y, total)
        a_tile += BK * a_col
        b_tile += BK * b_row
    c_tile = c + rows[:, None] * N + cols[None, :]
    result = total.to(c.dtype.element_ty)
    if EVEN:
        tl.store(c_tile, result)
    else:
        tl.store(c_tile, result, (rows < M)[:, None] & (cols < N)[None, :])


@triton.jit
def gemm_tma(
    a, b, c, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PANEL: tl.constexpr,
    A_TURNED: tl.constexpr, B_TURNED: tl.constexpr, BLOCKS: tl.constexpr,
):  # fmt: skip
    # The same order, in persistent programs.
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    in_panel = PANEL * tiles_n
    for tile in tl.range(tl.program_id(0), tiles_m * tiles_n, BLOCKS, flatten=True):
        top = tile // in_panel * PANEL
        height = tl.minimum(tiles_m - top, PANEL)
        place = tile % in_panel
        row, col = (top + place % height) * BM, place // height * BN
        total = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            x = a.load([k, row]).T if A_TURNED else a.load([row, k])
            y = b.load([col, k]).T if B_TURNED else b.load([k, col])
            total = tl.dot(x, y, total)
        c.store([row, col], total.to(c.dtype))


@triton.jit
def softmax(x, y, N, COLUMNS: tl.constexpr):
    cols = tl.arange(0, COLUMNS)
    base = tl.program_id(0).to(tl.int64) * N
    row = tl.load(x + base + cols, cols < N, other=-float("inf")).to(tl.float32)
    e = tl.exp(row - tl.max(row, 0))
    tl.store(y + base + cols, (e / tl.sum(e, 0)).to(y.dtype.element_ty), cols < N)


def gemms(
    a: torch.Tensor, b: torch.Tensor, c: torch.Tensor
) -> list[tuple[str, Callable[[], torch.Tensor]]]:
    """Functions that compute C (M, N) from A (M, K) and B (K, N), with labels."""
    depth = 128 // a.element_size()
    # Tile extents, warps and stages.
    configs = [
        (128, 256, depth, 8, 3),
        (256, 128, depth, 8, 3),
        (128, 128, depth, 8, 4),
        (128, 128, depth, 4, 4),
    ]
    by_tma = [*configs, (128, 256, depth, 8, 4), (128, 128, depth, 4, 3)]
    if c.numel() < 2048**2:
        configs = by_tma = [
            (128, 128, depth, 4, 4),
            (64, 128, depth, 4, 4),
            (64, 64, depth, 4, 4),
        ]
    runs = [(_run_gemm, config, "") for config in configs]
    if all(_fits_tma(x) for x in (a, b, c)):
        runs += [(_run_gemm_tma, config, " tma") for config in by_tma]
    return [
        (
            f"{bm}x{bn}x{bk} w{warps} s{stages}{kind}",
            functools.partial(run, bm, bn, bk, warps, stages, a, b, c),
        )
        for run, (bm, bn, bk, warps, stages), kind in runs
    ]


def _run_gemm(
    bm: int, bn: int, bk: int, warps: int, stages: int,
    a: torch.Tensor, b: torch.Tensor, c: torch.Tensor,
) -> torch.Tensor:  # fmt: skip
    (m, k), n = a.shape, b.shape[1]
    even = m % bm == 0 and n % bn == 0 and k % bk == 0
    grid = (triton.cdiv(m, bm) * triton.cdiv(n, bn),)
    sizes: dict[str, Any] = {"BM": bm, "BN": bn, "BK": bk, "PANEL": 8, "EVEN": even}
    options = {"num_warps": warps, "num_stages": stages}
    gemm[grid](a, b, c, m, n, k, *a.stride(), *b.stride(), **sizes, **options)
    return c


def _is_turned(x: torch.Tensor) -> bool:
    return x.stride(0) == 1


def _fits_tma(x: torch.Tensor) -> bool:
    """Whether the rows of a matrix in memory start at multiples of 16 bytes."""
    return max(x.stride()) * x.element_size() % 16 == 0


def _describe(x: torch.Tensor, rows: int, columns: int) -> TensorDescriptor:
    if _is_turned(x):
        return TensorDescriptor.from_tensor(x.t(), [columns, rows])
    return TensorDescriptor.from_tensor(x, [rows, columns])


def _run_gemm_tma(
    bm: int, bn: int, bk: int, warps: int, stages: int,
    a: torch.Tensor, b: torch.Tensor, c: torch.Tensor,
) -> torch.Tensor:  # fmt: skip
    (m, k), n = a.shape, b.shape[1]
    processors = torch.cuda.get_device_properties(a.device).multi_processor_count
    blocks = min(processors, triton.cdiv(m, bm) * triton.cdiv(n, bn))
    tiles = _describe(a, bm, bk), _describe(b, bk, bn), _describe(c, bm, bn)
    sizes: dict[str, Any] = {"BM": bm, "BN": bn, "BK": bk, "PANEL": 8}
    turned = {"A_TURNED": _is_turned(a), "B_TURNED": _is_turned(b)}
    options = {"num_warps": warps, "num_stages": stages, "BLOCKS": blocks}
    gemm_tma[(blocks,)](*tiles, m, n, k, **sizes, **turned, **options)
    return c


def softmaxes(
    shape: tuple[int, int],
) -> list[tuple[str, Callable[..., torch.Tensor]]]:
    """Functions of X and Y, with labels."""
    columns = triton.next_power_of_2(shape[1])
    return [
        (f"w{warps}", functools.partial(_run_softmax, columns, warps))
        for warps in (4, 8, 16)
    ]


def _run_softmax(
    columns: int, warps: int, x: torch.Tensor, y: torch.Tensor
) -> torch.Tensor:
    softmax[(x.shape[0],)](x, y, x.shape[1], COLUMNS=columns, num_warps=warps)
    return y
