"""The sum of two vectors in Triton."""

import triton
import triton.language as tl


@triton.jit
def add(X, Y, Z, N, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    within = i < N
    tl.store(Z + i, tl.load(X + i, within) + tl.load(Y + i, within), within)
