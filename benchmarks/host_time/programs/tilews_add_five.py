"""A kernel with six tensors."""

import tilews
import tilews.language as tl


@tilews.kernel
def add_five(
    A: tl.Tensor["N", tl.f32],
    B: tl.Tensor["N", tl.f32],
    C: tl.Tensor["N", tl.f32],
    D: tl.Tensor["N", tl.f32],
    E: tl.Tensor["N", tl.f32],
    Y: tl.Tensor["N", tl.f32],
    BLOCK: tl.constexpr = 256,
):
    i = tl.grid(tl.cdiv(Y.shape[0], BLOCK)) * BLOCK
    total = tl.load(A[i], (BLOCK,)) + tl.load(B[i], (BLOCK,))
    total = total + tl.load(C[i], (BLOCK,)) + tl.load(D[i], (BLOCK,))
    Y[i] = total + tl.load(E[i], (BLOCK,))
