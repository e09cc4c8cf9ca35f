"""The peers in Triton: a product by pointers, and a softmax of a row a program."""

import functools
from collections.abc import Callable
from typing import Any

import torch
import triton
import triton.language as tl


@triton.jit
def gemm(
    a, b, c, M, N, K, a_row, a_col, b_row, b_col,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    PANEL: tl.constexpr, EVEN: tl.constexpr,
):  # fmt: skip
    # Programs walk panels of PANEL rows of tiles, down each column of the panel.
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
def softmax(x, y, N, COLUMNS: tl.constexpr):
    cols = tl.arange(0, COLUMNS)
    base = tl.program_id(0).to(tl.int64) * N
    row = tl.load(x + base + cols, cols < N, other=-float("inf")).to(tl.float32)
    e = tl.exp(row - tl.max(row, 0))
    tl.store(y + base + cols, (e / tl.sum(e, 0)).to(y.dtype.element_ty), cols < N)


def gemms(
    shape: tuple[int, int], itemsize: int
) -> list[tuple[str, Callable[..., torch.Tensor]]]:
    """Functions of A (M, K), B (K, N) and C (M, N), with their labels.

    Args:
        shape: of the result.
        itemsize: bytes of an element of the inputs.
    """
    depth = 128 // itemsize
    # Tile extents, warps and stages.
    configs = [
        (128, 256, depth, 8, 3),
        (256, 128, depth, 8, 3),
        (128, 128, depth, 8, 4),
        (128, 128, depth, 4, 4),
    ]
    if shape[0] * shape[1] < 2048**2:
        configs = [
            (128, 128, depth, 4, 4),
            (64, 128, depth, 4, 4),
            (64, 64, depth, 4, 4),
        ]
    return [
        (f"{m}x{n}x{k} w{w} s{s}", functools.partial(_run_gemm, m, n, k, w, s))
        for m, n, k, w, s in configs
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


def softmaxes(
    shape: tuple[int, int],
) -> list[tuple[str, Callable[..., torch.Tensor]]]:
    """Functions of X and Y, with their labels."""
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
