"""The sum of two vectors in tilews."""

import tilews
import tilews.language as tl


@tilews.kernel
def add(X: tl.Tensor["N", "T"], Y: tl.Tensor["N", "T"], Z: tl.Tensor["N", "T"]):
    i = tl.grid(tl.cdiv(X.shape[0], 256)) * 256
    Z[i] = tl.load(X[i], (256,)) + tl.load(Y[i], (256,))
