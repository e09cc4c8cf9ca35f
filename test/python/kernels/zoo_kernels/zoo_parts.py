"""Matmuls of parts of shared buffers, and of batches: kernels of the zoo."""

from collections.abc import Iterator

import ml_dtypes
import numpy as np

import tilews
import tilews.language as tl
from kernels.zoo_kernels.zoo_case import ZooCase


@tilews.kernel(threads=128)
def slices(
    A: tl.Tensor["M, K", "T"],
    B: tl.Tensor["BR, BC", "T"],
    C: tl.Tensor["M, N", tl.f32],
    TB: tl.constexpr = False,
    STAGES: tl.constexpr = 1,
):
    """Four matrices of a buffer at a time, at static and at run-time indices."""
    M, N = C.shape
    bx, by = tl.grid(tl.cdiv(N, 64), tl.cdiv(M, 64))
    As = tl.alloc_shared((4, 64, 32), A.dtype)
    Bs = tl.alloc_shared((4, 64, 32) if TB else (4, 32, 64), B.dtype)
    acc = tl.zeros((64, 64), tl.f32)
    for k in tl.range(tl.cdiv(A.shape[1], 128), num_stages=STAGES):
        for i in tl.static_range(4):
            tl.copy(A[by * 64, k * 128 + i * 32], As[i, :, :])
            if TB:
                tl.copy(B[bx * 64, k * 128 + i * 32], Bs[i, :, :])
            else:
                tl.copy(B[k * 128 + i * 32, bx * 64], Bs[i, :, :])
        acc = tl.gemm(As[0], Bs[0], acc, transpose_rhs=TB)
        for i in tl.range(1, 4):
            acc = tl.gemm(As[i], Bs[i], acc, transpose_rhs=TB)
    C[by * 64, bx * 64] = acc


@tilews.kernel(threads=128)
def columns(
    A: tl.Tensor["M, K", "T"],
    B: tl.Tensor["K, N", "T"],
    C: tl.Tensor["M, N", tl.f32],
):
    """Parts of rows and columns of tiles; the left operand also in registers."""
    M, N = C.shape
    bx, by = tl.grid(tl.cdiv(N, 128), tl.cdiv(M, 128))
    As = tl.alloc_shared((128, 64), A.dtype)
    Bs = tl.alloc_shared((64, 128), B.dtype)
    top, bottom = tl.zeros((64, 128), tl.f32), tl.zeros((64, 128), tl.f32)
    for k in tl.range(tl.cdiv(A.shape[1], 64)):
        tl.copy(A[by * 128, k * 64], As)
        tl.copy(B[k * 64, bx * 128], Bs)
        for i in tl.static_range(0, 64, 32):
            top = tl.gemm(As[0:64, i : i + 32], Bs[i : i + 32, :], top)
            part = tl.load(As[64:128, i : i + 32])
            bottom = tl.gemm(part, Bs[i : i + 32, 0:128], bottom)
    C[by * 128, bx * 128] = top
    C[by * 128 + 64, bx * 128] = bottom


@tilews.kernel(threads=128)
def batched(
    A: tl.Tensor["B, M, K", "T"],
    B: tl.Tensor["B, K, N", "T"],
    C: tl.Tensor["B, M, N", tl.f32],
):
    """Two matmuls at a time, from shared memory and from fragments."""
    batches, M, N = C.shape
    b, x, y = tl.grid(tl.cdiv(batches, 2), tl.cdiv(N, 32), tl.cdiv(M, 64))
    As = tl.alloc_shared((2, 64, 32), A.dtype)
    Bs = tl.alloc_shared((2, 32, 32), B.dtype)
    acc = tl.zeros((2, 64, 32), tl.f32)
    for k in tl.range(tl.cdiv(A.shape[2], 32)):
        tl.copy(A[b * 2, y * 64, k * 32], As)
        tl.copy(B[b * 2, k * 32, x * 32], Bs)
        acc = tl.gemm(As, Bs, acc)
        acc = tl.gemm(tl.load(As) * 2.0, Bs, acc)
    C[b * 2, y * 64, x * 32] = acc


@tilews.kernel(threads=128)
def scaled(
    A: tl.Tensor["M, K", "T"],
    B: tl.Tensor["N, K", "T"],
    SA: tl.Tensor["M, KA", tl.f32],
    SB: tl.Tensor["NB, KB", tl.f32],
    C: tl.Tensor["M, N", tl.f32],
):
    """Scales of blocks of 1x32 on the left, and of 64x64 on the right."""
    M, N = C.shape
    bx, by = tl.grid(tl.cdiv(N, 64), tl.cdiv(M, 64))
    As, Bs = tl.alloc_shared((64, 64), A.dtype), tl.alloc_shared((64, 64), B.dtype)
    acc = tl.zeros((64, 64), tl.f32)
    for k in tl.range(tl.cdiv(A.shape[1], 64), num_stages=2):
        tl.copy(A[by * 64, k * 64], As)
        tl.copy(B[bx * 64, k * 64], Bs)
        sa = tl.load(SA[by * 64, k * 2], (64, 2))
        sb = tl.load(SB[bx, k], (1, 1))
        acc = tl.gemm(As, Bs, acc, transpose_rhs=True, lhs_scale=sa, rhs_scale=sb)
    C[by * 64, bx * 64] = acc


def scaled_arguments(dtype):
    """Integers, and powers of two as scales: no result is rounded."""

    def arguments(random: np.random.Generator) -> list:
        a = random.integers(-4, 5, (70, 192)).astype(dtype)
        b = random.integers(-4, 5, (128, 192)).astype(dtype)
        left = np.exp2(random.integers(-2, 3, (70, 6))).astype(np.float32)
        right = np.exp2(random.integers(-2, 3, (2, 3))).astype(np.float32)
        return [a, b, left, right, np.zeros((70, 128), np.float32)]

    return arguments


def scaled_result(a, b, left, right):
    a, b = a.astype(np.float64), b.astype(np.float64)
    a *= left.repeat(32, 1)
    return a @ (b * right.repeat(64, 0).repeat(64, 1)).T


def _product(m: int, n: int, k: int, dtype, transposed=False):
    def arguments(random: np.random.Generator) -> list:
        a = random.integers(-4, 5, (m, k)).astype(dtype)
        b = random.integers(-4, 5, (n, k) if transposed else (k, n)).astype(dtype)
        return [a, b, np.zeros((m, n), np.float32)]

    return arguments


def _batches(random: np.random.Generator) -> list:
    a = random.integers(-4, 5, (3, 70, 80)).astype(np.float16)
    b = random.integers(-4, 5, (3, 80, 40)).astype(np.float16)
    return [a, b, np.zeros((3, 70, 40), np.float32)]


def cases() -> Iterator[ZooCase]:
    for dtype in (np.float16, ml_dtypes.bfloat16):
        for transposed in (False, True):
            name = f"slices-{np.dtype(dtype).name}-{'NT'[transposed]}"
            arguments = _product(128, 128, 256, dtype, transposed)
            yield ZooCase(name, slices, arguments, {"TB": transposed}, 0.0)
    arguments = _product(77, 100, 150, np.float16)
    yield ZooCase("slices-ragged", slices, arguments, {"STAGES": 2}, 0.0)
    whole = _product(128, 256, 128, np.float16)
    yield ZooCase("parts", columns, whole, {}, 0.0)
    yield ZooCase("batched", batched, _batches, {}, 0.0)


def scaled_cases() -> Iterator[ZooCase]:
    yield ZooCase("scaled", scaled, scaled_arguments(np.float16), {}, 0.0)
