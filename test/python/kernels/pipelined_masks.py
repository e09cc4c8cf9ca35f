"""Pipelined loops whose guards, indices and bounds are read from shared memory.

See :mod:`kernels.pipelined_zoo`. The role that makes copies must not
have to wait for the values that guard them.
"""

import numpy as np

import tilews
import tilews.language as tl
from kernels.pipelined_case import PipelinedCase, integers


def mask_of_a_tile(divisor):
    """Each tile of a persistent loop has its own mask in shared memory, with zeros for
    iterations beyond the mask."""

    @tilews.kernel(threads=128)
    def mask_of_a_tile(
        A: tl.Tensor["32, K:16", tl.f16],
        mask: tl.Tensor[f"MB, MK:{divisor}", tl.i32],
        C: tl.Tensor["M, 16", tl.f32],
    ):
        tl.grid(2)
        Ms = tl.alloc_shared((1, 12), tl.i32)
        As = tl.alloc_shared((32, 16), tl.f16)
        for y in tl.persistent(C.shape[0] // 32):
            acc = tl.zeros((32, 16), tl.f32)
            tl.copy(mask[y, 0], Ms)
            for k in tl.range(tl.cdiv(A.shape[1], 16), num_stages=3):
                if tl.load(Ms[0, k]) > 0:
                    tl.copy(A[0, k * 16], As)
                    acc = acc * 2.0 + tl.load(As).to(tl.f32)
            C[y * 32, 0] = acc

    return mask_of_a_tile


def mask_arguments(columns, rows=7):
    def arguments(random):
        return [
            integers(random, (32, 144)),
            random.integers(-1, 2, (rows, columns), dtype=np.int32),
            np.zeros((7 * 32, 16), np.float32),
        ]

    return arguments


@tilews.kernel(threads=128)
def mask_and_tile(
    A: tl.Tensor["32, K:16", tl.f16],
    mask: tl.Tensor["MB, MK:4", tl.i32],
    rows: tl.Tensor["T", tl.i32],
    C: tl.Tensor["M, 16", tl.f32],
):
    """As `mask_of_a_tile`, with a tile that the other copies do not depend on; the row
    of the mask is read from shared memory, too."""
    tl.grid(2)
    Rs = tl.alloc_shared((8,), tl.i32)
    Ms = tl.alloc_shared((1, 12), tl.i32)
    As = tl.alloc_shared((32, 16), tl.f16)
    Qs = tl.alloc_shared((32, 16), tl.f16)
    for y in tl.persistent(C.shape[0] // 32):
        acc = tl.zeros((32, 16), tl.f32)
        tl.copy(A[0, y * 16], Qs)
        tl.copy(rows[y], Rs)
        tl.copy(mask[tl.load(Rs[0]), 0], Ms)
        for k in tl.range(tl.cdiv(A.shape[1], 16), num_stages=3):
            if tl.load(Ms[0, k]) > 0:
                tl.copy(A[0, k * 16], As)
                acc = acc * 2.0 + tl.load(As).to(tl.f32) * tl.load(Qs).to(tl.f32)
        C[y * 32, 0] = acc


def mask_and_tile_arguments(random):
    a, mask, c = mask_arguments(12)(random)
    return [a, mask, random.integers(0, 7, 16, dtype=np.int32), c]


@tilews.kernel(threads=128)
def any_of_a_tile(
    A: tl.Tensor["32, K:16", tl.f16],
    mask: tl.Tensor["MB, 12", tl.i32],
    C: tl.Tensor["M, 16", tl.f32],
):
    """The guard reduces a part of the tile's mask; the kernel also uses all of it."""
    tl.grid(2)
    Ms = tl.alloc_shared((1, 12), tl.i32)
    As = tl.alloc_shared((32, 16), tl.f16)
    for y in tl.persistent(C.shape[0] // 32):
        tl.copy(mask[y, 0], Ms)
        total = tl.sum(tl.load(Ms)).to(tl.f32)
        acc = tl.full((32, 16), total, tl.f32)
        for k in tl.range(tl.cdiv(A.shape[1], 16), num_stages=3):
            some = tl.load(Ms[0:1, 0:4]) > 0
            if tl.any(some) or k < 2:
                tl.copy(A[0, k * 16], As)
                acc = acc * 2.0 + tl.load(As).to(tl.f32)
        C[y * 32, 0] = acc


@tilews.kernel(threads=128)
def mask_of_an_iteration(
    A: tl.Tensor["32, K:16", tl.f16],
    mask: tl.Tensor["MB, 12", tl.i32],
    C: tl.Tensor["32, 16", tl.f32],
):
    """An iteration of the pipelined loop copies the mask for its own guard."""
    tl.grid(1)
    Ms = tl.alloc_shared((1, 4), tl.i32)
    As = tl.alloc_shared((32, 16), tl.f16)
    Bs = tl.alloc_shared((32, 16), tl.f16)
    acc = tl.zeros((32, 16), tl.f32)
    for k in tl.range(7, num_stages=3):
        tl.copy(mask[k, 0], Ms)
        tl.copy(A[0, k * 16], Bs)
        if tl.load(Ms[0, 1]) > 0:
            tl.copy(A[0, k * 16], As)
            acc = acc * 2.0 + tl.load(As).to(tl.f32)
        acc = acc + tl.load(Bs).to(tl.f32)
    C[0, 0] = acc


@tilews.kernel(threads=128)
def index_of_an_iteration(
    A: tl.Tensor["32, K:16", tl.f16],
    table: tl.Tensor["MB, 12", tl.i32],
    C: tl.Tensor["32, 16", tl.f32],
):
    """An iteration of the pipelined loop copies the index of its own tile."""
    tl.grid(1)
    Ts = tl.alloc_shared((1, 4), tl.i32)
    As = tl.alloc_shared((32, 16), tl.f16)
    acc = tl.zeros((32, 16), tl.f32)
    for k in tl.range(7, num_stages=3):
        tl.copy(table[k, 0], Ts)
        tl.copy(A[0, (tl.load(Ts[0, 2]) + 1) * 16], As)
        acc = acc * 2.0 + tl.load(As).to(tl.f32)
    C[0, 0] = acc


def iteration_arguments(random):
    a, mask, c = mask_arguments(12)(random)
    return [a, mask, c[:32]]


@tilews.kernel(threads=128)
def guarded_by_sum(
    A: tl.Tensor["32, K:16", tl.f16],
    C: tl.Tensor["32, 16", tl.f32],
    steps: tl.index,
    INNER: tl.constexpr = False,
):
    """The sum so far decides whether, or how often, one more tile is copied. The role
    that fills the channel cannot copy that tile."""
    tl.grid(1)
    As = tl.alloc_shared((32, 16), tl.f16)
    Bs = tl.alloc_shared((32, 16), tl.f16)
    acc = tl.zeros((32, 16), tl.f32)
    for k in tl.range(steps, num_stages=3):
        tl.copy(A[0, k * 16], As)
        acc = acc + tl.load(As).to(tl.f32)
        if INNER:
            for j in tl.range(tl.minimum(tl.max(acc).to(tl.i32), 3)):
                tl.copy(A[0, j * 16], Bs)
                acc = acc - tl.load(Bs).to(tl.f32)
        elif tl.max(acc) > 4.0:
            tl.copy(A[0, k * 16 + 8], Bs)
            acc = acc * 0.5 + tl.load(Bs).to(tl.f32)
    C[0, 0] = acc


def sum_arguments(random):
    return [integers(random, (32, 144)), np.zeros((32, 16), np.float32), 9]


CASES = [
    PipelinedCase("mask-of-a-tile", mask_of_a_tile(4), mask_arguments(12)),
    PipelinedCase("mask-of-a-tile-small", mask_of_a_tile(4), mask_arguments(8, rows=5)),
    PipelinedCase("mask-of-a-tile-odd", mask_of_a_tile(1), mask_arguments(7)),
    PipelinedCase("mask-and-tile", mask_and_tile, mask_and_tile_arguments),
    PipelinedCase("any-of-a-tile", any_of_a_tile, mask_arguments(12)),
    PipelinedCase(
        "mask-of-an-iteration", mask_of_an_iteration, iteration_arguments, piped=2
    ),
    PipelinedCase("index-of-an-iteration", index_of_an_iteration, iteration_arguments),
    PipelinedCase("guarded-by-sum", guarded_by_sum, sum_arguments),
    PipelinedCase("bounded-by-sum", guarded_by_sum, sum_arguments, {"INNER": True}),
]
