"""Copies into views of shared buffers, in pipelined loops and before them.

See :mod:`kernels.pipelined_zoo`.
"""

import numpy as np

import tilews
import tilews.language as tl
from kernels.pipelined_case import PipelinedCase, integers


@tilews.kernel(threads=128)
def raw_bytes(
    A: tl.Tensor["64, K:16", tl.f16],
    B: tl.Tensor["K, 64", tl.f16],
    C: tl.Tensor["64, 64", tl.f32],
):
    """A matmul's tiles in buffers of bytes; the loop views them as tiles."""
    tl.grid(1)
    Ra = tl.alloc_shared((8192,), tl.i8)
    Rb = tl.alloc_shared((8192,), tl.i8)
    acc = tl.zeros((64, 64), tl.f32)
    for k in tl.range(tl.cdiv(A.shape[1], 64), num_stages=3):
        As = tl.view(Ra, (64, 64), tl.f16)
        Bs = tl.view(Rb, (64, 64), tl.f16)
        tl.copy(A[0, k * 64], As)
        tl.copy(B[k * 64, 0], Bs)
        acc = tl.gemm(As, Bs, acc)
    C[0, 0] = acc


def raw_bytes_arguments(random):
    return [
        integers(random, (64, 336)),
        integers(random, (336, 64)),
        np.zeros((64, 64), np.float32),
    ]


@tilews.kernel(threads=128)
def prelude(
    Q: tl.Tensor["64, 64", tl.f16],
    A: tl.Tensor["64, K:16", tl.f16],
    C: tl.Tensor["64, 64", tl.f32],
):
    """The tiles before and in the loop are copied into views that are made before it,
    and read in the views' type and in other types."""
    tl.grid(1)
    Rq = tl.alloc_shared((4096,), tl.f16)
    Ra = tl.alloc_shared((128, 32), tl.f16)
    Qs = tl.view(Rq, (64, 64))
    As = tl.view(Ra, (64, 64))
    bits = tl.view(Ra, (64, 64), tl.i16)
    tl.copy(Q[0, 0], Qs)
    acc = tl.load(Qs).to(tl.f32)
    for k in tl.range(tl.cdiv(A.shape[1], 64), num_stages=3):
        tl.copy(A[0, k * 64], As)
        acc = acc + tl.load(As).to(tl.f32) + tl.load(bits).to(tl.f32)
    C[0, 0] = acc


def prelude_arguments(random):
    return [
        integers(random, (64, 64)),
        integers(random, (64, 464)),
        np.zeros((64, 64), np.float32),
    ]


@tilews.kernel(threads=128)
def parts(
    A: tl.Tensor["32, K:16", tl.f16],
    B: tl.Tensor["32, K:16", tl.f16],
    C: tl.Tensor["64, 64", tl.f32],
):
    """Two copies fill halves of one view; a third tile has no view."""
    tl.grid(1)
    Raw = tl.alloc_shared((4096,), tl.f16)
    As = tl.alloc_shared((32, 64), tl.f16)
    acc = tl.zeros((64, 64), tl.f32)
    for k in tl.range(tl.cdiv(A.shape[1], 64), num_stages=2):
        both = tl.view(Raw, (64, 64))
        tl.copy(A[0:32, k * 64 : k * 64 + 64], both[0:32, :])
        tl.copy(B[0:32, k * 64 : k * 64 + 64], both[32:64, :])
        tl.copy(A[0, k * 64], As)
        acc = acc + tl.load(both).to(tl.f32) * tl.sum(tl.load(As).to(tl.f32), 0)
    C[0, 0] = acc


def parts_arguments(random):
    return [
        integers(random, (32, 336)),
        integers(random, (32, 336)),
        np.zeros((64, 64), np.float32),
    ]


@tilews.kernel(threads=128)
def given(
    A: tl.Tensor["64, K:16", tl.f16],
    C: tl.Tensor["64, 64", tl.f32],
    LAYOUT: tl.constexpr,
):
    """The buffer has a requested layout, which TMA can or cannot write."""
    tl.grid(1)
    Raw = tl.alloc_shared((64, 64), tl.i16, layout=LAYOUT)
    As = tl.view(Raw, (64, 64), tl.f16)
    acc = tl.zeros((64, 64), tl.f32)
    for k in tl.range(tl.cdiv(A.shape[1], 64), num_stages=3):
        tl.copy(A[0, k * 64], As)
        acc = acc + tl.load(As).to(tl.f32)
    C[0, 0] = acc


def given_arguments(random):
    return [integers(random, (64, 336)), np.zeros((64, 64), np.float32)]


CASES = [
    PipelinedCase("view-raw-bytes", raw_bytes, raw_bytes_arguments),
    PipelinedCase("view-prelude", prelude, prelude_arguments),
    PipelinedCase("view-parts", parts, parts_arguments),
    *(
        PipelinedCase(
            f"view-{name}", given, given_arguments, {"LAYOUT": name}, roles=by_tma
        )
        for name, by_tma in (
            ("linear", True),
            ("swizzle_128B", True),
            ("padded", False),
            ("cdna_xor", False),
        )
    ),
]
