"""Matmuls in pipelined loops.

See :mod:`kernels.pipelined_zoo`.
"""

import numpy as np

import tilews
import tilews.language as tl
from kernels.pipelined_case import PipelinedCase, integers


@tilews.kernel(threads=128)
def gemm(
    A: tl.Tensor["M, K:16", tl.f16],
    B: tl.Tensor["K, N:8", tl.f16],
    C: tl.Tensor["M, N", tl.f32],
    first: tl.index,
    last: tl.index,
    STAGES: tl.constexpr = 3,
    STEP: tl.constexpr = 1,
):
    """A @ B over the blocks of 16 from `first` to `last` along K."""
    M, _K = A.shape
    _K, N = B.shape
    bx, by = tl.grid(tl.cdiv(N, 32), tl.cdiv(M, 32))
    As = tl.alloc_shared((32, 16), tl.f16)
    Bs = tl.alloc_shared((16, 32), tl.f16)
    acc = tl.zeros((32, 32), tl.f32)
    for k in tl.range(first, last, STEP, num_stages=STAGES):
        tl.copy(A[by * 32, k * 16], As)
        tl.copy(B[k * 16, bx * 32], Bs)
        acc = tl.gemm(As, Bs, acc)
    C[by * 32, bx * 32] = acc


def gemm_arguments(first, last, steps=8):
    def arguments(random):
        a = integers(random, (64, 16 * steps))
        b = integers(random, (16 * steps, 40))
        return [a, b, np.zeros((64, 40), np.float32), first, last]

    return arguments


@tilews.kernel(threads=128)
def gemm_static(
    A: tl.Tensor["32, K:16", tl.f16],
    B: tl.Tensor["K, 32", tl.f16],
    C: tl.Tensor["32, 32", tl.f32],
    STAGES: tl.constexpr = 3,
    TRIPS: tl.constexpr = 5,
):
    tl.grid(1)
    As = tl.alloc_shared((32, 16), tl.f16)
    Bs = tl.alloc_shared((16, 32), tl.f16)
    acc = tl.zeros((32, 32), tl.f32)
    for k in tl.range(TRIPS, num_stages=STAGES):
        tl.copy(A[0, k * 16], As)
        tl.copy(B[k * 16, 0], Bs)
        acc = tl.gemm(As, Bs, acc)
    C[0, 0] = acc


def static_arguments(random):
    return [
        integers(random, (32, 96)),
        integers(random, (96, 32)),
        np.zeros((32, 32), np.float32),
    ]


@tilews.kernel(threads=128)
def gemm_unaligned(
    A: tl.Tensor["M, K", tl.f16],
    B: tl.Tensor["K, N", tl.f16],
    C: tl.Tensor["M, N", tl.f32],
):
    """Rows have no known alignment: all copies pass through registers."""
    tl.grid(1)
    As = tl.alloc_shared((32, 16), tl.f16)
    Bs = tl.alloc_shared((16, 32), tl.f16)
    acc = tl.zeros((32, 32), tl.f32)
    for k in tl.range(tl.cdiv(A.shape[1], 16), num_stages=3):
        tl.copy(A[0, k * 16], As)
        tl.copy(B[k * 16, 0], Bs)
        acc = tl.gemm(As, Bs, acc)
    C[0, 0] = acc


def unaligned_arguments(k):
    def arguments(random):
        a, b = integers(random, (31, k)), integers(random, (k, 29))
        return [a, b, np.zeros((31, 29), np.float32)]

    return arguments


@tilews.kernel(threads=128)
def gemm_cast(
    A: tl.Tensor["M, K:16", tl.f16],
    B: tl.Tensor["K, N:8", tl.f32],
    C: tl.Tensor["M, N", tl.f32],
    steps: tl.index,
):
    """B is loaded in another type, cast, and stored to shared memory."""
    tl.grid(1)
    As = tl.alloc_shared((32, 16), tl.f16)
    Bs = tl.alloc_shared((16, 32), tl.f16)
    acc = tl.zeros((32, 32), tl.f32)
    for k in tl.range(steps, num_stages=3):
        tl.copy(A[0, k * 16], As)
        tl.store(tl.load(B[k * 16, 0], (16, 32)).to(tl.f16), Bs)
        acc = tl.gemm(As, Bs, acc)
    C[0, 0] = acc


@tilews.kernel(threads=128)
def gemm_padded(
    A: tl.Tensor["M, K:16", tl.f16],
    B: tl.Tensor["K, N:8", tl.f16],
    C: tl.Tensor["M, N", tl.f32],
    steps: tl.index,
):
    """The layout of one operand is given, and has gaps."""
    tl.grid(1)
    As = tl.alloc_shared((32, 16), tl.f16, layout="#tile.shared<(32, 16):(24, 1)>")
    Bs = tl.alloc_shared((16, 32), tl.f16)
    acc = tl.zeros((32, 32), tl.f32)
    for k in tl.range(steps, num_stages=3):
        tl.copy(A[0, k * 16], As)
        tl.copy(B[k * 16, 0], Bs)
        acc = tl.gemm(As, Bs, acc)
    C[0, 0] = acc


def one_tile_arguments(dtype):
    def arguments(random):
        return [
            integers(random, (32, 80)),
            integers(random, (80, 32), dtype),
            np.zeros((32, 32), np.float32),
            5,
        ]

    return arguments


@tilews.kernel(threads=128)
def gemm_sparse(
    A: tl.Tensor["32, KC:16", tl.f16],
    E: tl.Tensor["32, KE:2", tl.i16],
    B: tl.Tensor["K, 32", tl.f16],
    C: tl.Tensor["32, 32", tl.f32],
    steps: tl.index,
):
    """Rows of the metadata are 4 bytes."""
    tl.grid(1)
    As = tl.alloc_shared((32, 16), tl.f16)
    Es = tl.alloc_shared((32, 2), tl.i16)
    Bs = tl.alloc_shared((32, 32), tl.f16)
    acc = tl.zeros((32, 32), tl.f32)
    for k in tl.range(steps, num_stages=3):
        tl.copy(A[0, k * 16], As)
        tl.copy(E[0, k * 2], Es)
        tl.copy(B[k * 32, 0], Bs)
        acc = tl.gemm_sp(As, Es, Bs, acc)
    C[0, 0] = acc


def sparse_arguments(random):
    pairs = np.array([i | j << 2 for i in range(4) for j in range(i + 1, 4)], "u2")
    nibbles = random.choice(pairs, (32, 8, 4))
    words = sum(nibbles[:, :, i] << np.uint16(4 * i) for i in range(4))
    return [
        integers(random, (32, 64)),
        words.astype("u2").view("i2"),
        integers(random, (128, 32)),
        np.zeros((32, 32), np.float32),
        4,
    ]


@tilews.kernel(threads=128)
def gemm_i64(
    A: tl.Tensor["R, K:16", tl.f16],
    B: tl.Tensor["K, N:8", tl.f16],
    rows: tl.Tensor["T", tl.i64],
    C: tl.Tensor["32, N", tl.f32],
    first: tl.i64,
    last: tl.i64,
):
    """Bounds and rows are 64-bit integers."""
    tl.grid(1)
    As = tl.alloc_shared((32, 16), tl.f16)
    Bs = tl.alloc_shared((16, 32), tl.f16)
    acc = tl.zeros((32, 32), tl.f32)
    for k in tl.range(first, last, 2, num_stages=3):
        row = tl.load(rows[k]) * 2
        tl.copy(A[row, k * 16], As)
        tl.copy(B[k * 16, 0], Bs)
        acc = tl.gemm(As, Bs, acc)
    C[0, 0] = acc


def gemm_i64_arguments(random):
    return [
        integers(random, (64, 112)),
        integers(random, (112, 32)),
        random.integers(0, 17, 7, dtype=np.int64),
        np.zeros((32, 32), np.float32),
        1,
        7,
    ]


@tilews.kernel(threads=128)
def gemm_mixed(
    A: tl.Tensor["M, K:16", tl.f16],
    B: tl.Tensor["K, N:2", tl.f16],
    C: tl.Tensor["M, N", tl.f32],
    steps: tl.index,
):
    """Rows of B begin at multiples of 4 bytes only: cp.async beside TMA."""
    tl.grid(1)
    As = tl.alloc_shared((32, 16), tl.f16)
    Bs = tl.alloc_shared((16, 32), tl.f16)
    acc = tl.zeros((32, 32), tl.f32)
    for k in tl.range(steps, num_stages=3):
        tl.copy(A[0, k * 16], As)
        tl.copy(B[k * 16, 0], Bs)
        acc = tl.gemm(As, Bs, acc)
    C[0, 0] = acc


def gemm_mixed_arguments(random):
    return [
        integers(random, (32, 96)),
        integers(random, (96, 30)),
        np.zeros((32, 30), np.float32),
        6,
    ]


CASES = [
    *(
        PipelinedCase(f"gemm-s{s}", gemm, gemm_arguments(0, 7), {"STAGES": s})
        for s in range(1, 6)
    ),
    *(
        PipelinedCase(f"gemm-s{s}-t{t}", gemm, gemm_arguments(0, t), {"STAGES": s})
        for s in (1, 2, 4)
        for t in (0, 1, 2, 8)
    ),
    PipelinedCase("gemm-from-2", gemm, gemm_arguments(2, 7), {"STAGES": 4}),
    PipelinedCase("gemm-step-3", gemm, gemm_arguments(1, 8), {"STAGES": 3, "STEP": 3}),
    PipelinedCase("gemm-backwards", gemm, gemm_arguments(5, 2), {"STAGES": 3}),
    *(
        PipelinedCase(f"static-s{s}-t{t}", gemm_static, static_arguments, constants)
        for s in (2, 4)
        for t in (2, 3, 6)
        for constants in [{"STAGES": s, "TRIPS": t}]
    ),
    *(
        PipelinedCase(
            f"unaligned-{k}", gemm_unaligned, unaligned_arguments(k), roles=False
        )
        for k in (0, 7, 75)
    ),
    # Canonicalization removes the loop.
    PipelinedCase(
        "static-t1", gemm_static, static_arguments, {"TRIPS": 1}, piped=0, roles=False
    ),
    PipelinedCase("cast", gemm_cast, one_tile_arguments(np.float32)),
    PipelinedCase("padded", gemm_padded, one_tile_arguments(np.float16)),
    PipelinedCase("sparse", gemm_sparse, sparse_arguments),
    PipelinedCase("i64", gemm_i64, gemm_i64_arguments),
    PipelinedCase("mixed", gemm_mixed, gemm_mixed_arguments),
]
