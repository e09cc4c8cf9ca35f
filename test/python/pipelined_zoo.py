"""Kernels with pipelined loops: every shape of loop that schedules have to keep.

Their inputs are small integers, so that results do not depend on the order of
sums and are compared exactly. ``CASES`` runs them as they are written; passes are
tested by running the same case on what they made of it.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

import tilews
import tilews.language as tl


@dataclasses.dataclass
class Case:
    """A kernel with its arguments, outputs last, and its constants.

    ``piped`` is the number of channels that the schedule has to find;
    ``tolerance`` is what a GPU's functions may be off by.
    """

    name: str
    kernel: Any
    arguments: Callable[[np.random.Generator], list]
    constants: dict[str, Any] = dataclasses.field(default_factory=dict)
    piped: int = 1
    tolerance: float = 0.0


def integers(random: np.random.Generator, shape, dtype=np.float16) -> np.ndarray:
    return random.integers(-3, 4, shape).astype(dtype)


# --- Matrix products ---------------------------------------------------------


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
    """The part of the product between two steps of 16 along K."""
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


def _gemm(first, last, steps=8):
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


def _static(random):
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
    """Nothing is known of rows: all copies pass through registers."""
    tl.grid(1)
    As = tl.alloc_shared((32, 16), tl.f16)
    Bs = tl.alloc_shared((16, 32), tl.f16)
    acc = tl.zeros((32, 32), tl.f32)
    for k in tl.range(tl.cdiv(A.shape[1], 16), num_stages=3):
        tl.copy(A[0, k * 16], As)
        tl.copy(B[k * 16, 0], Bs)
        acc = tl.gemm(As, Bs, acc)
    C[0, 0] = acc


def _unaligned(k):
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


def _one_tile(dtype):
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


def _sparse(random):
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


def _gemm_i64(random):
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


def _gemm_mixed(random):
    return [
        integers(random, (32, 96)),
        integers(random, (96, 30)),
        np.zeros((32, 30), np.float32),
        6,
    ]


# --- Guards ------------------------------------------------------------------


@tilews.kernel(threads=128)
def block_sparse(
    A: tl.Tensor["M, K:16", tl.f16],
    B: tl.Tensor["K, N:8", tl.f16],
    mask: tl.Tensor["MB, KB", tl.i1],
    C: tl.Tensor["M, N", tl.f32],
    STAGES: tl.constexpr = 3,
):
    """A guarded body in a persistent loop: transactions are not iterations."""
    M, K = A.shape
    _K, N = B.shape
    tl.grid(2)
    As = tl.alloc_shared((32, 16), tl.f16)
    Bs = tl.alloc_shared((16, 32), tl.f16)
    for x, y in tl.persistent(tl.cdiv(N, 32), tl.cdiv(M, 32)):
        acc = tl.zeros((32, 32), tl.f32)
        for k in tl.range(tl.cdiv(K, 16), num_stages=STAGES):
            if tl.load(mask[y, k]):
                tl.copy(A[y * 32, k * 16], As)
                tl.copy(B[k * 16, x * 32], Bs)
                acc = tl.gemm(As, Bs, acc)
        C[y * 32, x * 32] = acc


def _mask(kind):
    def arguments(random):
        mask = {
            "all": np.ones((4, 7), bool),
            "none": np.zeros((4, 7), bool),
            "random": random.integers(0, 2, (4, 7)).astype(bool),
        }[kind]
        return [
            integers(random, (128, 112)),
            integers(random, (112, 64)),
            mask,
            np.zeros((128, 64), np.float32),
        ]

    return arguments


@tilews.kernel(threads=128)
def guarded_part(
    A: tl.Tensor["32, K:16", tl.f16],
    B: tl.Tensor["K, 32", tl.f16],
    mask: tl.Tensor["KB", tl.i1],
    C: tl.Tensor["32, 32", tl.f32],
    L: tl.Tensor["KB", tl.f32],
    steps: tl.index,
):
    """A part of the body is guarded; a count of the guard's turns is carried."""
    tl.grid(1)
    As = tl.alloc_shared((32, 16), tl.f16)
    Bs = tl.alloc_shared((16, 32), tl.f16)
    acc = tl.zeros((32, 32), tl.f32)
    turns = 0
    for k in tl.range(steps, num_stages=3):
        tl.copy(A[0, k * 16], As)
        if tl.load(mask[k]):
            tl.copy(B[turns * 16, 0], Bs)
            acc = tl.gemm(As, Bs, acc)
            turns = turns + 1
        L[k] = tl.sum(tl.load(As).to(tl.f32))
    C[0, 0] = acc + tl.full((32, 32), turns, tl.i32).to(tl.f32)


def _guarded_part(random):
    return [
        integers(random, (32, 112)),
        integers(random, (112, 32)),
        random.integers(0, 2, 7).astype(bool),
        np.zeros((32, 32), np.float32),
        np.zeros(7, np.float32),
        7,
    ]


@tilews.kernel(threads=128)
def two_branches(
    A: tl.Tensor["32, K:16", tl.f16],
    mask: tl.Tensor["KB", tl.i1],
    C: tl.Tensor["32, 16", tl.f32],
    steps: tl.index,
):
    """Each branch of a guard has copies, and one more guard."""
    tl.grid(1)
    As = tl.alloc_shared((32, 16), tl.f16)
    Bs = tl.alloc_shared((32, 16), tl.f16)
    acc = tl.zeros((32, 16), tl.f32)
    for k in tl.range(steps, num_stages=3):
        if tl.load(mask[k]):
            tl.copy(A[0, k * 16], As)
            acc = acc + tl.load(As).to(tl.f32)
        else:
            if k > 2:
                tl.copy(A[0, k * 16], Bs)
                acc = acc - tl.load(Bs).to(tl.f32) * 2.0
    C[0, 0] = acc


def _two_branches(random):
    return [
        integers(random, (32, 144)),
        random.integers(0, 2, 9).astype(bool),
        np.zeros((32, 16), np.float32),
        9,
    ]


@tilews.kernel(threads=128)
def any_of_a_mask(
    A: tl.Tensor["32, K:16", tl.f16],
    mask: tl.Tensor["KM:16", tl.i1],
    C: tl.Tensor["32, 16", tl.f32],
    steps: tl.index,
):
    """The guard is a reduction of a fragment, of which both sides need a copy."""
    tl.grid(1)
    As = tl.alloc_shared((32, 16), tl.f16)
    acc = tl.zeros((32, 16), tl.f32)
    for k in tl.range(steps, num_stages=3):
        wanted = tl.load(mask[k * 16], (16,))
        if tl.any(wanted):
            tl.copy(A[0, k * 16], As)
            column = tl.where(wanted, 2.0, 1.0)
            acc = acc + tl.load(As).to(tl.f32) * column[None, :]
    C[0, 0] = acc


def _any_of_a_mask(random):
    mask = random.integers(0, 8, (9, 16)) == 0
    mask[::3] = False
    return [
        integers(random, (32, 144)),
        mask.reshape(-1),
        np.zeros((32, 16), np.float32),
        9,
    ]


@tilews.kernel(threads=128)
def shared_mask(
    A: tl.Tensor["32, K:16", tl.f16],
    mask: tl.Tensor["32", tl.i32],
    C: tl.Tensor["32, 16", tl.f32],
    steps: tl.index,
):
    """The guard is read from shared memory, which was filled before the loop."""
    tl.grid(1)
    Ms = tl.alloc_shared((32,), tl.i32)
    As = tl.alloc_shared((32, 16), tl.f16)
    acc = tl.zeros((32, 16), tl.f32)
    tl.copy(mask, Ms)
    for k in tl.range(steps, num_stages=3):
        if tl.load(Ms[k]) > 0:
            tl.copy(A[0, k * 16], As)
            acc = acc * 2.0 + tl.load(As).to(tl.f32)
    C[0, 0] = acc


def _shared_mask(random):
    return [
        integers(random, (32, 144)),
        random.integers(-1, 2, 32, dtype=np.int32),
        np.zeros((32, 16), np.float32),
        9,
    ]


@tilews.kernel(threads=128)
def bind_chains(
    A: tl.Tensor["32, K:16", tl.f16],
    mask: tl.Tensor["KM:16", tl.i1],
    table: tl.Tensor["T", tl.i32],
    C: tl.Tensor["32, 16", tl.f32],
    steps: tl.index,
):
    """What names the tile is computed before the guard and inside it; all of a
    mask, and a bound that other turns have moved, decide on it."""
    tl.grid(1)
    As = tl.alloc_shared((32, 16), tl.f16)
    acc = tl.zeros((32, 16), tl.f32)
    bound = 2
    for k in tl.range(steps, num_stages=3):
        entry = tl.load(table[k])
        shifted = entry + 3
        near = shifted - 3
        wanted = tl.load(mask[k * 16], (16,))
        if tl.all(wanted) and near < bound:
            inner = tl.load(table[near])
            place = inner * 16
            tl.copy(A[0, place], As)
            acc = acc * 2.0 + tl.load(As).to(tl.f32) + near.to(tl.f32)
            bound = bound + 2
        else:
            bound = bound + 1
    C[0, 0] = acc


def _bind_chains(random):
    mask = random.integers(0, 40, (9, 16)) > 0
    return [
        integers(random, (32, 144)),
        mask.reshape(-1),
        random.integers(0, 9, 9, dtype=np.int32),
        np.zeros((32, 16), np.float32),
        9,
    ]


# --- Several loops -----------------------------------------------------------


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


def _two_loops(n1, n2):
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


def _three_loops(n1, n2, n3):
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


def _nested(random):
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


def _around(random):
    a = np.abs(integers(random, (32, 400))) + np.float16(1)
    return [a, 40.0, 4, np.zeros((32, 16), np.float32), np.zeros(1, np.int32)]


# --- Other data flow ---------------------------------------------------------


@tilews.kernel(threads=128)
def preludes(
    Q: tl.Tensor["M, 16", tl.f16],
    K: tl.Tensor["16, S:16", tl.f16],
    bias: tl.Tensor["16", tl.f32],
    starts: tl.Tensor["MB", tl.i32],
    Y: tl.Tensor["M, 16", tl.f32],
    steps: tl.index,
):
    """Before the loop: a tile by TMA, scalars of both roles, one of each role only,
    and what the accumulator begins with."""
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


def _preludes(steps):
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


def _attention(random):
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
    """A state in shared memory, read and written each turn, and stored."""
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


def _recurrent(random):
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
    """Rows named by an index tile, which is copied to shared memory as well."""
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


def _gather(random):
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
    """Atomics in the loop, and reads of what they made."""
    tl.grid(1)
    As = tl.alloc_shared((32, 16), tl.f16)
    for k in tl.range(steps, num_stages=3):
        tl.copy(A[0, k * 16], As)
        tl.atomic_add(tl.sum(tl.load(As).to(tl.f32), axis=0), S)
        R[k, 0] = tl.load(S)[None, :]


def _counters(random):
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


def _pieces(random):
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


def _one_sum(random):
    return [integers(random, (32, 112)), np.zeros((32, 16), np.float32), 7]


@tilews.kernel(threads=128)
def guard_by_state(
    A: tl.Tensor["32, K:16", tl.f16],
    mask: tl.Tensor["KB", tl.i1],
    C: tl.Tensor["32, 16", tl.f32],
    steps: tl.index,
):
    """The number in a copy's guard is counted beside a store that stays behind."""
    tl.grid(1)
    As = tl.alloc_shared((32, 16), tl.f16)
    Bs = tl.alloc_shared((32, 16), tl.f16)
    tl.store(tl.zeros((32, 16), tl.f16), As)
    acc = tl.zeros((32, 16), tl.f32)
    turns = 0
    for k in tl.range(steps, num_stages=2):
        if turns < 2:
            if tl.load(mask[k]):
                tl.store(tl.load(A[0, k * 16], (32, 16)), As)
                turns = turns + 1
        else:
            tl.copy(A[0, k * 16], Bs)
            acc = acc * 2.0 + tl.load(Bs).to(tl.f32) + tl.load(As).to(tl.f32)
    C[0, 0] = acc


@tilews.kernel(threads=256)
def persistent_stores(
    A: tl.Tensor["M, K:16", tl.f16],
    B: tl.Tensor["K, N:16", tl.f16],
    C: tl.Tensor["M, N:16", "T"],
    STAGES: tl.constexpr,
):
    """What is stored goes through the shared memory that slots leave: whole, or,
    in single precision beside six slots, in parts."""
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


def _persistent_stores(dtype):
    return lambda random: [
        integers(random, (200, 144)),
        integers(random, (144, 272)),
        np.zeros((200, 272), dtype),
    ]


CASES = [
    *(Case(f"gemm-s{s}", gemm, _gemm(0, 7), {"STAGES": s}) for s in range(1, 6)),
    *(
        Case(f"gemm-s{s}-t{t}", gemm, _gemm(0, t), {"STAGES": s})
        for s in (1, 2, 4)
        for t in (0, 1, 2, 8)
    ),
    Case("gemm-from-2", gemm, _gemm(2, 7), {"STAGES": 4}),
    Case("gemm-step-3", gemm, _gemm(1, 8), {"STAGES": 3, "STEP": 3}),
    Case("gemm-backwards", gemm, _gemm(5, 2), {"STAGES": 3}),
    *(
        Case(f"static-s{s}-t{t}", gemm_static, _static, {"STAGES": s, "TRIPS": t})
        for s in (2, 4)
        for t in (2, 3, 6)
    ),
    *(Case(f"unaligned-{k}", gemm_unaligned, _unaligned(k)) for k in (0, 7, 75)),
    # No loop is left of it.
    Case("static-t1", gemm_static, _static, {"TRIPS": 1}, piped=0),
    Case("cast", gemm_cast, _one_tile(np.float32)),
    Case("padded", gemm_padded, _one_tile(np.float16)),
    Case("sparse", gemm_sparse, _sparse),
    Case("i64", gemm_i64, _gemm_i64),
    Case("mixed", gemm_mixed, _gemm_mixed),
    Case("shared-mask", shared_mask, _shared_mask),
    Case("bind-chains", bind_chains, _bind_chains),
    *(
        Case(f"two-loops-{a}-{b}", two_loops, _two_loops(a, b))
        for a, b in ((4, 7), (1, 0), (0, 3))
    ),
    *(Case(f"preludes-{n}", preludes, _preludes(n)) for n in (0, 1, 5)),
    *(
        Case(f"guard-{kind}-s{s}", block_sparse, _mask(kind), {"STAGES": s})
        for kind in ("all", "none", "random")
        for s in (1, 2, 4)
    ),
    *(
        Case(
            f"persistent-{ours.name}-s{stages}",
            persistent_stores,
            _persistent_stores(numpys),
            {"T": ours, "STAGES": stages},
        )
        for ours, numpys, stages in ((tl.f16, np.float16, 2), (tl.f32, np.float32, 6))
    ),
    Case("guarded-part", guarded_part, _guarded_part, piped=2),
    Case("any-of-a-mask", any_of_a_mask, _any_of_a_mask),
    Case("two-branches", two_branches, _two_branches, piped=2),
    *(
        Case(f"loops-{a}-{b}-{c}", three_loops, _three_loops(a, b, c), piped=2)
        for a, b, c in ((3, 5, 4), (1, 0, 2), (0, 6, 1))
    ),
    Case("nested", nested, _nested, piped=2),
    Case("around", around, _around),
    *(
        Case(
            f"attention-s{s}" + "-causal" * causal,
            attention,
            _attention,
            {"STAGES": s, "CAUSAL": causal},
            piped=2,
            tolerance=1e-2,
        )
        for s, causal in ((1, False), (2, False), (3, False), (2, True))
    ),
    Case("recurrent", recurrent, _recurrent),
    Case("gather", gather, _gather),
    Case("counters", counters, _counters),
    Case("pieces", pieces, _pieces),
    Case("never-read", never_read, _one_sum),
    Case("guard-by-state", guard_by_state, _two_branches),
]
