"""Dropout by counters, which needs no mask in memory."""

import math
from typing import Any

import tilews
import tilews.language as tl

from ..host import FLOATS, check_array, check_number, result
from ..operation import operation


@tilews.kernel(threads=128)
def dropout_elements(
    X: tl.Tensor["N", "T"],
    Y: tl.Tensor["N", "T"],
    seed: tl.i64,
    dropped: tl.i64,
    scale: tl.f32,
    SIZE: tl.constexpr = 2048,
) -> None:
    """Drops elements whose random bits are below `dropped`, from 0 to 2^32."""
    tl.may_alias(X, Y)
    start = tl.grid(tl.cdiv(X.shape[0], SIZE)) * SIZE
    # A counter has four words of 32 bits.
    counters = (tl.arange(SIZE // 4) + start // 4).to(tl.i64)
    words = tl.stack(tl.philox(seed, counters), axis=1).reshape(SIZE)
    kept = words.to(tl.u32).to(tl.i64) >= dropped
    x = tl.load(X[start], (SIZE,)).to(tl.f32)
    Y[start] = tl.where(kept, x * scale, 0.0).to(Y.dtype)


@operation(dropout_elements, changing=("seed",))
def dropout(x: Any, p: float, seed: int, *, out: Any = None, **launch: Any) -> Any:
    """Sets elements to zero with probability `p`, and divides others by ``1 - p``.

    Which elements are dropped depends on the seed and on their places in memory only.
    So the gradient is ``dropout(dy, p, seed)``, and no mask is stored. Element ``i`` is
    dropped if word ``i % 4`` of Philox at counter ``i // 4`` is below ``p * 2^32``
    (Salmon et al.: Parallel random numbers: as easy as 1, 2, 3, 2011).

    Args:
        x: any shape, of f16, bf16 or f32.
        p: from 0 to 1.
        seed: an integer of 64 bits.
        out: the result, allocated if not given; may be x itself.
        launch: `stream`, `target` and `run` of a call of the kernel.

    Returns:
        An array like x.

    Raises:
        LaunchError: an argument does not fit; nothing was started.

    Example:
        y = kernels.dropout(np.ones(10000, np.float32), 0.25, seed=7)
        assert abs((y == 0).mean() - 0.25) < 0.02 and np.allclose(y.max(), 1 / 0.75)
    """
    dtype = check_array("dropout", "x", x, ("...",), FLOATS)
    p = check_number("dropout", "p", p, (0, 1))
    y = result("dropout", out, x, x.shape, dtype)
    if 0 not in x.shape:
        size = math.prod(x.shape)
        scale = 1 / (1 - p) if p < 1 else 0.0
        dropout_elements(
            x.reshape(size), y.reshape(size), seed, round(p * 2**32), scale, **launch
        )
    return y
