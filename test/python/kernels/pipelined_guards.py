"""Pipelined loops with guards.

See :mod:`kernels.pipelined_zoo`.
"""

import numpy as np

import tilews
import tilews.language as tl
from kernels.pipelined_case import PipelinedCase, integers


@tilews.kernel(threads=128)
def block_sparse(
    A: tl.Tensor["M, K:16", tl.f16],
    B: tl.Tensor["K, N:8", tl.f16],
    mask: tl.Tensor["MB, KB", tl.i1],
    C: tl.Tensor["M, N", tl.f32],
    STAGES: tl.constexpr = 3,
):
    """A guarded body in a persistent loop: only some iterations have transactions."""
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


def mask_arguments(kind):
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
    """A part of the body is guarded; the number of guarded iterations is carried."""
    tl.grid(1)
    As = tl.alloc_shared((32, 16), tl.f16)
    Bs = tl.alloc_shared((16, 32), tl.f16)
    acc = tl.zeros((32, 32), tl.f32)
    count = 0
    for k in tl.range(steps, num_stages=3):
        tl.copy(A[0, k * 16], As)
        if tl.load(mask[k]):
            tl.copy(B[count * 16, 0], Bs)
            acc = tl.gemm(As, Bs, acc)
            count = count + 1
        L[k] = tl.sum(tl.load(As).to(tl.f32))
    C[0, 0] = acc + tl.full((32, 32), count, tl.i32).to(tl.f32)


def guarded_part_arguments(random):
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


def two_branches_arguments(random):
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
    """The guard is a reduction of a fragment that both roles need."""
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


def any_of_a_mask_arguments(random):
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
    """The guard is read from shared memory that was filled before the loop."""
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


def shared_mask_arguments(random):
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
    """The tile's index is computed before the guard and inside it. The guard depends on
    a whole mask and on a bound that earlier iterations have moved."""
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


def bind_chains_arguments(random):
    mask = random.integers(0, 40, (9, 16)) > 0
    return [
        integers(random, (32, 144)),
        mask.reshape(-1),
        random.integers(0, 9, 9, dtype=np.int32),
        np.zeros((32, 16), np.float32),
        9,
    ]


@tilews.kernel(threads=128)
def guard_by_state(
    A: tl.Tensor["32, K:16", tl.f16],
    mask: tl.Tensor["KB", tl.i1],
    C: tl.Tensor["32, 16", tl.f32],
    steps: tl.index,
):
    """The number in a copy's guard is counted beside a store of the consumer."""
    tl.grid(1)
    As = tl.alloc_shared((32, 16), tl.f16)
    Bs = tl.alloc_shared((32, 16), tl.f16)
    tl.store(tl.zeros((32, 16), tl.f16), As)
    acc = tl.zeros((32, 16), tl.f32)
    count = 0
    for k in tl.range(steps, num_stages=2):
        if count < 2:
            if tl.load(mask[k]):
                tl.store(tl.load(A[0, k * 16], (32, 16)), As)
                count = count + 1
        else:
            tl.copy(A[0, k * 16], Bs)
            acc = acc * 2.0 + tl.load(Bs).to(tl.f32) + tl.load(As).to(tl.f32)
    C[0, 0] = acc


CASES = [
    PipelinedCase("shared-mask", shared_mask, shared_mask_arguments),
    PipelinedCase("bind-chains", bind_chains, bind_chains_arguments),
    *(
        PipelinedCase(
            f"guard-{kind}-s{s}", block_sparse, mask_arguments(kind), {"STAGES": s}
        )
        for kind in ("all", "none", "random")
        for s in (1, 2, 4)
    ),
    PipelinedCase("guarded-part", guarded_part, guarded_part_arguments, piped=2),
    PipelinedCase("any-of-a-mask", any_of_a_mask, any_of_a_mask_arguments),
    PipelinedCase("two-branches", two_branches, two_branches_arguments, piped=2),
    PipelinedCase("guard-by-state", guard_by_state, two_branches_arguments),
]
