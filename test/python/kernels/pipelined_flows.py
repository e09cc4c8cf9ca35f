"""Pipelined loops with preludes, carried state, gathered rows and stores.

See :mod:`kernels.pipelined_zoo`.
"""

import numpy as np

import tilews
import tilews.language as tl
from kernels.pipelined_case import PipelinedCase, integers


@tilews.kernel(threads=128)
def preludes(
    Q: tl.Tensor["M, 16", tl.f16],
    K: tl.Tensor["16, S:16", tl.f16],
    bias: tl.Tensor["16", tl.f32],
    starts: tl.Tensor["MB", tl.i32],
    Y: tl.Tensor["M, 16", tl.f32],
    steps: tl.index,
):
    """Before the loop, TMA copies a tile, and both roles, or one of them, compute
    scalars and the accumulator's initial value."""
    by = tl.grid(tl.cdiv(Q.shape[0], 32))
    Qs = tl.alloc_shared((32, 16), tl.f16)
    Ks = tl.alloc_shared((16, 16), tl.f16)
    start = tl.load(starts[by])
    offset = start * 16
    scale = start.to(tl.f32) + 1.0
    tl.copy(Q[by * 32, 0], Qs)
    acc = tl.broadcast_to(tl.load(bias)[None, :], (32, 16)) * scale
    for k in tl.range(start, start + steps, num_stages=3):
        tl.copy(K[0, offset + (k - start) * 16], Ks)
        acc = tl.gemm(Qs, Ks, acc)
    Y[by * 32, 0] = acc + tl.load(Qs).to(tl.f32)


def preludes_arguments(steps):
    def arguments(random):
        return [
            integers(random, (96, 16)),
            integers(random, (16, 128)),
            integers(random, 16, np.float32),
            random.integers(0, 3, 3, dtype=np.int32),
            np.zeros((96, 16), np.float32),
            steps,
        ]

    return arguments


@tilews.kernel(threads=128)
def attention(
    Q: tl.Tensor["M, 32", tl.f16],
    K: tl.Tensor["S, 32", tl.f16],
    V: tl.Tensor["S, 32", tl.f16],
    Y: tl.Tensor["M, 32", tl.f32],
    STAGES: tl.constexpr = 2,
    CAUSAL: tl.constexpr = False,
):
    """Keys and values have channels of their own."""
    M, _D = Q.shape
    S, _D = K.shape
    by = tl.grid(tl.cdiv(M, 32))
    Qs = tl.alloc_shared((32, 32), tl.f16)
    Ks = tl.alloc_shared((16, 32), tl.f16)
    Vs = tl.alloc_shared((16, 32), tl.f16)
    tl.copy(Q[by * 32, 0], Qs)
    best = tl.full((32,), -1000.0, tl.f32)
    total = tl.zeros((32,), tl.f32)
    out = tl.zeros((32, 32), tl.f32)
    blocks = tl.cdiv(S, 16)
    if CAUSAL:
        blocks = tl.minimum(blocks, (by + 1) * 2)
    for k in tl.range(blocks, num_stages=STAGES):
        tl.copy(K[k * 16, 0], Ks)
        scores = tl.gemm(Qs, Ks, tl.zeros((32, 16), tl.f32), transpose_rhs=True)
        new = tl.maximum(best, tl.max(scores, axis=1))
        weights = tl.exp2(scores - new[:, None])
        scale = tl.exp2(best - new)
        total = total * scale + tl.sum(weights, axis=1)
        best = new
        out = out * scale[:, None]
        tl.copy(V[k * 16, 0], Vs)
        out = tl.gemm(weights.to(tl.f16), Vs, out)
    Y[by * 32, 0] = out / total[:, None]


def attention_arguments(random):
    return [
        integers(random, (64, 32)),
        integers(random, (80, 32)),
        integers(random, (80, 32)),
        np.zeros((64, 32), np.float32),
    ]


@tilews.kernel(threads=128)
def recurrent(
    W: tl.Tensor["K, 16", tl.f16],
    H: tl.Tensor["K, 16", tl.f16],
    Y: tl.Tensor["16, 16", tl.f32],
    steps: tl.index,
):
    """A state in shared memory is read and written in each iteration, and stored."""
    tl.grid(1)
    Ws = tl.alloc_shared((16, 16), tl.f16)
    Hs = tl.alloc_shared((16, 16), tl.f16)
    tl.store(tl.full((16, 16), 1.0, tl.f16), Hs)
    state = tl.zeros((16, 16), tl.f32)
    for k in tl.range(steps, num_stages=2):
        tl.copy(Hs, H[k * 16, 0])
        tl.copy(W[k * 16, 0], Ws)
        new = tl.gemm(Ws, Hs, tl.zeros((16, 16), tl.f32))
        state = state + new
        small = tl.maximum(tl.minimum(new, 3.0), -3.0)
        tl.store(small.to(tl.f16), Hs)
    Y[0, 0] = state


def recurrent_arguments(random):
    return [
        integers(random, (96, 16)),
        np.zeros((96, 16), np.float16),
        np.zeros((16, 16), np.float32),
        6,
    ]


@tilews.kernel(threads=128)
def gather(
    A: tl.Tensor["R, 32", tl.f16],
    rows: tl.Tensor["KI", tl.i32],
    C: tl.Tensor["16, 32", tl.f32],
    steps: tl.index,
):
    """Gathers rows by an index tile, which is copied to shared memory as well."""
    tl.grid(1)
    As = tl.alloc_shared((16, 32), tl.f16)
    Is = tl.alloc_shared((16,), tl.i32)
    acc = tl.zeros((16, 32), tl.f32)
    for k in tl.range(steps, num_stages=3):
        tl.copy(rows[k * 16], Is)
        for i in tl.range(16):
            tl.copy(A[tl.load(Is[i]), 0:32], As[i, 0:32])
        acc = acc * 2.0 + tl.load(As).to(tl.f32)
    C[0, 0] = acc


@tilews.kernel(threads=128)
def gather_product(
    W: tl.Tensor["64, K:16", tl.f16],
    A: tl.Tensor["R, N:16", tl.f16],
    rows: tl.Tensor["KI", tl.i32],
    C: tl.Tensor["64, 16", tl.f32],
    steps: tl.index,
):
    """wgmma reads rows that cp.async has gathered, after a fence of the readers."""
    tl.grid(1)
    Ws = tl.alloc_shared((64, 16), tl.f16)
    As = tl.alloc_shared((16, 16), tl.f16)
    acc = tl.zeros((64, 16), tl.f32)
    for k in tl.range(steps, num_stages=3):
        tl.copy(W[0, k * 16], Ws)
        for i in tl.range(16):
            tl.copy(A[tl.load(rows[k * 16 + i]), 0:16], As[i, 0:16])
        acc = tl.gemm(tl.load(Ws), As, acc)
    C[0, 0] = acc


def gather_product_arguments(random):
    return [
        integers(random, (64, 80)),
        integers(random, (50, 16)),
        random.integers(0, 50, 80, dtype=np.int32),
        np.zeros((64, 16), np.float32),
        5,
    ]


def gather_arguments(random):
    return [
        integers(random, (50, 32)),
        random.integers(0, 50, 80, dtype=np.int32),
        np.zeros((16, 32), np.float32),
        5,
    ]


@tilews.kernel(threads=128)
def counters(
    A: tl.Tensor["32, K:16", tl.f16],
    S: tl.Tensor["16", tl.f32],
    R: tl.Tensor["KB, 16", tl.f32],
    steps: tl.index,
):
    """Atomics in the loop, and reads of their results."""
    tl.grid(1)
    As = tl.alloc_shared((32, 16), tl.f16)
    for k in tl.range(steps, num_stages=3):
        tl.copy(A[0, k * 16], As)
        tl.atomic_add(tl.sum(tl.load(As).to(tl.f32), axis=0), S)
        R[k, 0] = tl.load(S)[None, :]


def counters_arguments(random):
    return [
        integers(random, (32, 80)),
        np.zeros(16, np.float32),
        np.zeros((5, 16), np.float32),
        5,
    ]


@tilews.kernel(threads=128)
def pieces(
    A: tl.Tensor["32, K:16", tl.f16],
    C: tl.Tensor["32, 16", tl.f32],
    D: tl.Tensor["32, 16", tl.f16],
    steps: tl.index,
):
    """Two copies and a fill write one buffer; its last contents are stored."""
    tl.grid(1)
    As = tl.alloc_shared((32, 16), tl.f16)
    acc = tl.zeros((32, 16), tl.f32)
    place = 0
    for _k in tl.range(steps, num_stages=4):
        tl.store(tl.full((8, 16), 2.0, tl.f16), As[24, 0])
        tl.copy(A[0:16, place : place + 16], As[0:16, :])
        tl.copy(A[16:24, place : place + 16], As[16:24, :])
        acc = acc * 2.0 + tl.load(As).to(tl.f32)
        place = place + 16
    C[0, 0] = acc
    tl.copy(As, D)


def pieces_arguments(random):
    return [
        integers(random, (32, 96)),
        np.zeros((32, 16), np.float32),
        np.zeros((32, 16), np.float16),
        6,
    ]


@tilews.kernel(threads=128)
def never_read(
    A: tl.Tensor["32, K:16", tl.f16],
    C: tl.Tensor["32, 16", tl.f32],
    steps: tl.index,
):
    """A copy that nothing reads, beside one that runs ahead."""
    tl.grid(1)
    As = tl.alloc_shared((32, 16), tl.f16)
    Bs = tl.alloc_shared((32, 16), tl.f16)
    acc = tl.zeros((32, 16), tl.f32)
    for k in tl.range(steps, num_stages=2):
        tl.copy(A[0, (k + 1) * 16], Bs)
        tl.copy(A[0, k * 16], As)
        acc = acc * 2.0 + tl.load(As).to(tl.f32)
    C[0, 0] = acc


def one_sum_arguments(random):
    return [integers(random, (32, 112)), np.zeros((32, 16), np.float32), 7]


@tilews.kernel(threads=256)
def persistent_stores(
    A: tl.Tensor["M, K:16", tl.f16],
    B: tl.Tensor["K, N:16", tl.f16],
    C: tl.Tensor["M, N:16", "T"],
    STAGES: tl.constexpr,
):
    """Stores are staged in the shared memory that the slots leave free: whole tiles, or
    parts of them, in single precision beside six slots."""
    M, K = A.shape
    _K, N = B.shape
    tl.grid(2)
    As = tl.alloc_shared((128, 32), tl.f16)
    Bs = tl.alloc_shared((32, 256), tl.f16)
    for x, y in tl.persistent(tl.cdiv(N, 256), tl.cdiv(M, 128)):
        acc = tl.zeros((128, 256), tl.f32)
        for k in tl.range(tl.cdiv(K, 32), num_stages=STAGES):
            tl.copy(A[y * 128, k * 32], As)
            tl.copy(B[k * 32, x * 256], Bs)
            acc = tl.gemm(As, Bs, acc)
        C[y * 128, x * 256] = acc.to(C.dtype)


def persistent_stores_arguments(dtype):
    return lambda random: [
        integers(random, (200, 144)),
        integers(random, (144, 272)),
        np.zeros((200, 272), dtype),
    ]


CASES = [
    *(
        PipelinedCase(f"preludes-{n}", preludes, preludes_arguments(n))
        for n in (0, 1, 5)
    ),
    *(
        PipelinedCase(
            f"persistent-{ours.name}-s{stages}",
            persistent_stores,
            persistent_stores_arguments(numpys),
            {"T": ours, "STAGES": stages},
        )
        for ours, numpys, stages in ((tl.f16, np.float16, 2), (tl.f32, np.float32, 6))
    ),
    *(
        PipelinedCase(
            f"attention-s{s}" + "-causal" * causal,
            attention,
            attention_arguments,
            {"STAGES": s, "CAUSAL": causal},
            piped=2,
            tolerance=1e-2,
        )
        for s, causal in ((1, False), (2, False), (3, False), (2, True))
    ),
    PipelinedCase("recurrent", recurrent, recurrent_arguments),
    PipelinedCase("gather", gather, gather_arguments, roles=False),
    PipelinedCase("gather-product", gather_product, gather_product_arguments, piped=2),
    PipelinedCase("counters", counters, counters_arguments),
    PipelinedCase("pieces", pieces, pieces_arguments),
    PipelinedCase("never-read", never_read, one_sum_arguments),
]
