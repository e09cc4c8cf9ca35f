"""Ping-pong kernels, in which two roles compute tiles alternately.

Each has arguments and the expected result. Inputs are small integers, so that results
are exact.
"""

import dataclasses
from typing import Any

import numpy as np

import tilews
import tilews.language as tl


@dataclasses.dataclass
class PingPongCase:
    """A kernel, its arrays (the result last), other arguments, and the result."""

    name: str
    kernel: Any
    arrays: list[np.ndarray]
    expected: np.ndarray
    scalars: list[int] = dataclasses.field(default_factory=list)
    constants: dict[str, Any] = dataclasses.field(default_factory=dict)

    def arguments(self) -> list[Any]:
        return [*(array.copy() for array in self.arrays), *self.scalars]


def integers(seed: int, *shape: int, dtype=np.float16) -> np.ndarray:
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(dtype)


@tilews.kernel(threads=128)
def gemm(
    A: tl.Tensor["M, K:16", tl.f16],
    B: tl.Tensor["N, K:16", tl.f16],
    C: tl.Tensor["M, N:8", "T"],
    first: tl.index,
    last: tl.index,
    BLOCKS: tl.constexpr = 1,
    STAGES: tl.constexpr = 3,
    STEP: tl.constexpr = 1,
):
    """A @ B^T over the blocks of 16 from `first` to `last` along K."""
    M, N = C.shape
    tl.grid(BLOCKS)
    As = tl.alloc_shared((64, 16), tl.f16)
    Bs = tl.alloc_shared((32, 16), tl.f16)
    tiles = (tl.cdiv(N, 32), tl.cdiv(M, 64))
    for x, y in tl.persistent(*tiles, order="row", panel=2, ping_pong=True):
        acc = tl.zeros((64, 32), tl.f32)
        for k in tl.range(first, last, STEP, num_stages=STAGES):
            tl.copy(A[y * 64, k * 16], As)
            tl.copy(B[x * 32, k * 16], Bs)
            acc = tl.gemm(As, Bs, acc, transpose_rhs=True)
        C[y * 64, x * 32] = acc.to(C.dtype)


@tilews.kernel(threads=128)
def guarded(
    A: tl.Tensor["M, K:16", tl.f16],
    B: tl.Tensor["N, K:16", tl.f16],
    mask: tl.Tensor["R, S", tl.i32],
    C: tl.Tensor["M, N:8", tl.f16],
    BLOCKS: tl.constexpr = 1,
):
    """A @ B^T over the blocks that a mask enables; tiles use different numbers of
    slots."""
    M, N = C.shape
    tl.grid(BLOCKS)
    As = tl.alloc_shared((64, 16), tl.f16)
    Bs = tl.alloc_shared((32, 16), tl.f16)
    for x, y in tl.persistent(tl.cdiv(N, 32), tl.cdiv(M, 64), ping_pong=True):
        acc = tl.zeros((64, 32), tl.f32)
        for k in tl.range(tl.cdiv(A.shape[1], 16), num_stages=3):
            if tl.load(mask[y, k]) > 0:
                tl.copy(A[y * 64, k * 16], As)
                tl.copy(B[x * 32, k * 16], Bs)
                acc = tl.gemm(As, Bs, acc, transpose_rhs=True)
        C[y * 64, x * 32] = acc.to(tl.f16)


@tilews.kernel(threads=128)
def chained(
    A: tl.Tensor["M, K:16", tl.f16],
    B: tl.Tensor["32, K:16", tl.f16],
    D: tl.Tensor["L:16, 32", tl.f16],
    C: tl.Tensor["M, 32", tl.f32],
    BLOCKS: tl.constexpr = 1,
):
    """A tile that is copied once for each iteration of the persistent loop, and two
    loops whose channels have different depths."""
    M, K = A.shape
    tl.grid(BLOCKS)
    Fs = tl.alloc_shared((64, 16), tl.f16)
    As = tl.alloc_shared((64, 16), tl.f16)
    Bs = tl.alloc_shared((32, 16), tl.f16)
    Ds = tl.alloc_shared((16, 32), tl.f16)
    for y in tl.persistent(tl.cdiv(M, 64), ping_pong=True):
        tl.copy(A[y * 64, 0], Fs)
        acc = tl.zeros((64, 32), tl.f32)
        for k in tl.range(tl.cdiv(K, 16), num_stages=3):
            tl.copy(A[y * 64, k * 16], As)
            tl.copy(B[0, k * 16], Bs)
            acc = tl.gemm(As, Bs, acc, transpose_rhs=True)
        for k in tl.range(tl.cdiv(D.shape[0], 16), num_stages=2):
            tl.copy(D[k * 16, 0], Ds)
            acc = tl.gemm(Fs, Ds, acc)
        C[y * 64, 0] = acc


@tilews.kernel(threads=128)
def counted(
    A: tl.Tensor["M, K:16", tl.f16],
    B: tl.Tensor["32, K:16", tl.f16],
    C: tl.Tensor["M, 32", tl.f32],
    BLOCKS: tl.constexpr = 1,
):
    """The number of tiles so far is carried, results go through shared memory that each
    role has for itself, and a loop's bounds depend on the tile."""
    M, K = A.shape
    tl.grid(BLOCKS)
    As = tl.alloc_shared((64, 16), tl.f16)
    Bs = tl.alloc_shared((32, 16), tl.f16)
    Cs = tl.alloc_shared((64, 32), tl.f32)
    count = 0
    for y in tl.persistent(tl.cdiv(M, 64), ping_pong=True):
        acc = tl.zeros((64, 32), tl.f32)
        for k in tl.range(y % 3, tl.cdiv(K, 16), num_stages=2):
            tl.copy(A[y * 64, k * 16], As)
            tl.copy(B[0, k * 16], Bs)
            acc = tl.gemm(As, Bs, acc, transpose_rhs=True)
        tl.store(acc, Cs)
        rows = tl.sum(tl.load(Cs), 1)
        C[y * 64, 0] = tl.load(Cs) + rows[:, None] + count.to(tl.f32)
        count = count + 1


def make_gemm(
    name, m, n, k, first=0, last=None, out=tl.f32, **constants
) -> PingPongCase:
    a, b = integers(0, m, k), integers(1, n, k)
    last = -(-k // 16) if last is None else last
    steps = np.arange(k) // 16
    kept = (steps >= first) & (steps < last)
    kept &= (steps - first) % constants.get("STEP", 1) == 0
    expected = a[:, kept].astype(np.float32) @ b[:, kept].astype(np.float32).T
    dtype = np.float32 if out is tl.f32 else np.float16
    c = np.full((m, n), np.nan, dtype)
    constants["T"] = out
    return PingPongCase(
        name, gemm, [a, b, c], expected.astype(dtype), [first, last], constants
    )


def make_guarded(name, share, blocks) -> PingPongCase:
    m, n, k = 256, 64, 144
    a, b = integers(0, m, k), integers(1, n, k)
    mask = (np.random.default_rng(2).random((m // 64, k // 16)) < share).astype("i4")
    kept = np.repeat(np.repeat(mask, 64, 0), 16, 1)
    expected = ((a * kept).astype(np.float32) @ b.astype(np.float32).T).astype("f2")
    c = np.full((m, n), np.nan, np.float16)
    return PingPongCase(
        name, guarded, [a, b, mask, c], expected, [], {"BLOCKS": blocks}
    )


def make_chained() -> PingPongCase:
    a, b, d = integers(0, 320, 80), integers(1, 32, 80), integers(2, 48, 32)
    wide = a.astype(np.float32)
    expected = wide @ b.astype(np.float32).T
    expected += wide[:, :16] @ sum(d.astype(np.float32).reshape(3, 16, 32))
    return PingPongCase(
        "chained", chained, [a, b, d, np.zeros_like(expected)], expected
    )


def make_counted() -> PingPongCase:
    a, b = integers(0, 448, 80), integers(1, 32, 80)
    sums = np.concatenate(
        [
            a[i * 64 : i * 64 + 64, i % 3 * 16 :].astype(np.float32)
            @ b[:, i % 3 * 16 :].astype(np.float32).T
            for i in range(7)
        ]
    )
    counts = np.repeat(np.arange(7) // 2, 64)[:, None]
    expected = sums + sums.sum(1, keepdims=True) + counts.astype(np.float32)
    c = np.zeros_like(sums)
    return PingPongCase("counted", counted, [a, b, c], expected, [], {"BLOCKS": 2})


CASES = [
    make_gemm("one-tile", 64, 32, 96),
    make_gemm("two-tiles", 64, 64, 96),
    make_gemm("odd-tiles", 192, 32, 80),
    make_gemm("many-tiles", 200, 72, 112, out=tl.f16),
    make_gemm("more-blocks-than-tiles", 64, 64, 64, BLOCKS=5),
    make_gemm("blocks", 320, 96, 48, BLOCKS=4, out=tl.f16),
    make_gemm("no-steps", 128, 64, 64, first=2, last=2),
    make_gemm("one-step", 192, 64, 64, first=1, last=2),
    make_gemm("every-second-step", 192, 64, 144, first=1, last=8, STEP=2),
    make_gemm("one-stage-more", 192, 64, 64, STAGES=2),
    make_gemm("deep", 192, 64, 160, STAGES=7, out=tl.f16),
    make_guarded("guarded", 0.5, 1),
    make_guarded("guarded-none", 0.0, 1),
    make_guarded("guarded-all", 1.0, 3),
    make_chained(),
    make_counted(),
]
