"""Several pipelined loops, and loops around them.

See :mod:`kernels.pipelined_zoo`.
"""

import numpy as np

import tilews
import tilews.language as tl
from kernels.pipelined_case import PipelinedCase, integers


@tilews.kernel(threads=128)
def two_loops(
    A: tl.Tensor["32, K:16", tl.f16],
    C: tl.Tensor["32, 16", tl.f32],
    n1: tl.index,
    n2: tl.index,
):
    """Two loops fill one buffer, to depths of 2 and 5."""
    tl.grid(1)
    As = tl.alloc_shared((32, 16), tl.f16)
    acc = tl.zeros((32, 16), tl.f32)
    for k in tl.range(n1, num_stages=2):
        tl.copy(A[0, k * 16], As)
        acc = acc + tl.load(As).to(tl.f32)
    for k in tl.range(n2, num_stages=5):
        tl.copy(A[0, k * 16], As)
        acc = acc * 2.0 - tl.load(As).to(tl.f32)
    C[0, 0] = acc


def two_loops_arguments(n1, n2):
    def arguments(random):
        return [integers(random, (32, 112)), np.zeros((32, 16), np.float32), n1, n2]

    return arguments


@tilews.kernel(threads=128)
def three_loops(
    A: tl.Tensor["M, K:16", tl.f16],
    B: tl.Tensor["K, 32", tl.f16],
    C: tl.Tensor["M, 32", tl.f32],
    n1: tl.index,
    n2: tl.index,
    n3: tl.index,
):
    """Three loops fill the same buffers, to different depths, tile after tile."""
    M, _K = A.shape
    tl.grid(2)
    As = tl.alloc_shared((32, 16), tl.f16)
    Bs = tl.alloc_shared((16, 32), tl.f16)
    for y in tl.persistent(tl.cdiv(M, 32)):
        acc = tl.zeros((32, 32), tl.f32)
        for k in tl.range(n1, num_stages=2):
            tl.copy(A[y * 32, k * 16], As)
            tl.copy(B[k * 16, 0], Bs)
            acc = tl.gemm(As, Bs, acc)
        for k in tl.range(n2, num_stages=4):
            tl.copy(A[y * 32, k * 16], As)
            acc = acc * 2.0 + tl.sum(tl.load(As).to(tl.f32))
        for k in tl.range(n3, num_stages=3):
            tl.copy(A[y * 32, k * 16], As)
            tl.copy(B[k * 16, 0], Bs)
            acc = acc - tl.gemm(As, Bs, tl.zeros((32, 32), tl.f32))
        C[y * 32, 0] = acc


def three_loops_arguments(n1, n2, n3):
    def arguments(random):
        return [
            integers(random, (160, 96)),
            integers(random, (96, 32)),
            np.zeros((160, 32), np.float32),
            n1,
            n2,
            n3,
        ]

    return arguments


@tilews.kernel(threads=128)
def nested(
    A: tl.Tensor["M, K:16", tl.f16],
    B: tl.Tensor["M, 16", tl.f32],
    C: tl.Tensor["M, 16", tl.f32],
    tiles: tl.index,
    steps: tl.index,
):
    """A pipelined loop in a pipelined loop."""
    tl.grid(1)
    As = tl.alloc_shared((32, 16), tl.f16)
    Bs = tl.alloc_shared((32, 16), tl.f32)
    for y in tl.range(tiles, num_stages=2):
        tl.copy(B[y * 32, 0], Bs)
        acc = tl.zeros((32, 16), tl.f32)
        for k in tl.range(steps, num_stages=3):
            tl.copy(A[y * 32, k * 16], As)
            acc = acc * 2.0 + tl.load(As).to(tl.f32)
        C[y * 32, 0] = acc + tl.load(Bs)


def nested_arguments(random):
    return [
        integers(random, (128, 80)),
        integers(random, (128, 16), np.float32),
        np.zeros((128, 16), np.float32),
        4,
        5,
    ]


@tilews.kernel(threads=128)
def around(
    A: tl.Tensor["32, K:16", tl.f16],
    limit: tl.f32,
    steps: tl.index,
    C: tl.Tensor["32, 16", tl.f32],
    N: tl.Tensor["1", tl.i32],
):
    """A loop whose end depends on data, around a pipelined loop."""
    tl.grid(1)
    As = tl.alloc_shared((32, 16), tl.f16)
    acc = tl.zeros((32, 16), tl.f32)
    rounds = 0
    while tl.max(acc) < limit:
        for k in tl.range(steps, num_stages=3):
            tl.copy(A[0, (k + rounds) * 16], As)
            acc = acc + tl.load(As).to(tl.f32)
        rounds = rounds + 1
    C[0, 0] = acc
    N[0] = rounds


def around_arguments(random):
    a = np.abs(integers(random, (32, 400))) + np.float16(1)
    return [a, 40.0, 4, np.zeros((32, 16), np.float32), np.zeros(1, np.int32)]


CASES = [
    *(
        PipelinedCase(f"two-loops-{a}-{b}", two_loops, two_loops_arguments(a, b))
        for a, b in ((4, 7), (1, 0), (0, 3))
    ),
    *(
        PipelinedCase(
            f"loops-{a}-{b}-{c}", three_loops, three_loops_arguments(a, b, c), piped=2
        )
        for a, b, c in ((3, 5, 4), (1, 0, 2), (0, 6, 1))
    ),
    PipelinedCase("nested", nested, nested_arguments, piped=2),
    PipelinedCase("around", around, around_arguments, roles=False),
]
