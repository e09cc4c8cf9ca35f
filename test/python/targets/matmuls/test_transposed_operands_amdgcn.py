"""Matmuls on AMD GPUs whose operands have rows along M and N, in pipelined loops."""

import re

import numpy as np
import pytest

import tilews
import tilews.language as tl
from tilews.sim.amdgcn import POLICIES, launch

CHIPS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")


@tilews.kernel(threads=128)
def gemm(
    A: tl.Tensor["K, M:16", "T"],
    B: tl.Tensor["K, N:16", "T"],
    C: tl.Tensor["M, N", "S"],
):
    K, M = A.shape
    N = B.shape[1]
    bx, by = tl.grid(tl.cdiv(N, 64), tl.cdiv(M, 64))
    As = tl.alloc_shared((64, 64), A.dtype)
    Bs = tl.alloc_shared((64, 64), B.dtype)
    acc = tl.zeros((64, 64), C.dtype)
    for k in tl.range(tl.cdiv(K, 64), num_stages=2):
        tl.copy(A[k * 64, by * 64], As)
        tl.copy(B[k * 64, bx * 64], Bs)
        acc = tl.gemm(As, Bs, acc, transpose_lhs=True)
    C[by * 64, bx * 64] = acc


def make(rng, dtype, shape):
    if dtype is np.int8:
        return rng.integers(-128, 128, shape, dtype)
    return rng.standard_normal(shape).astype(dtype)


def check(chip, policy, dtype, k):
    rng = np.random.default_rng(k)
    is_int = dtype is np.int8
    a, b = make(rng, dtype, (k, 80)), make(rng, dtype, (k, 48))
    c = np.full((80, 48), -1, np.int32 if is_int else np.float32)
    wide = np.int64 if is_int else np.float64
    types = {"T": tl.i8, "S": tl.i32} if is_int else {"T": tl.f16, "S": tl.f32}
    compiled = gemm.compile(chip, **types)
    assert not re.search(r"ds_(read|load)_[ui](8|16)", compiled.asm)
    launch(compiled, [a, b, c], k, policy=policy)
    expected = a.T.astype(wide) @ b.astype(wide)
    np.testing.assert_allclose(c, expected, rtol=1e-5, atol=0 if is_int else 1e-4)


@pytest.mark.parametrize("dtype", [np.float16, np.int8])
@pytest.mark.parametrize("k", [0, 40, 64, 200])
@pytest.mark.parametrize("chip", CHIPS)
def test_gemm(chip, k, dtype):
    for policy in POLICIES:
        check(chip, policy, dtype, k)
