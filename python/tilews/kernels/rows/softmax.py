"""The softmax of rows."""

import math
from typing import Any

import tilews
import tilews.language as tl

from ..host import FLOATS, POSITIVE, as_rows, check_array, check_number, result
from ..operation import operation
from .tiles import row_tile


@tilews.kernel
def softmax_rows(
    X: tl.Tensor["M, N", "T"],
    Y: tl.Tensor["M, N", "T"],
    scale: tl.f32 = 1.0,
    ROWS: tl.constexpr = 1,
    COLUMNS: tl.constexpr = 8192,
    WHOLE: tl.constexpr = False,
) -> None:
    """A block computes ROWS rows, which it keeps in registers if they are WHOLE."""
    M, N = X.shape
    row = tl.grid(tl.cdiv(M, ROWS)) * ROWS
    if WHOLE:
        x = tl.load(X[row, 0], (ROWS, COLUMNS), pad=-math.inf).to(tl.f32) * scale
        e = tl.exp(x - tl.max(x, axis=1, keepdims=True))
        Y[row, 0] = (e * (1.0 / tl.sum(e, axis=1, keepdims=True))).to(Y.dtype)
    else:
        # The running maximum, and the sum of the exponentials relative to it.
        top, total = tl.full((ROWS, 1), -1e38, tl.f32), tl.zeros((ROWS, 1), tl.f32)
        for j in tl.range(tl.cdiv(N, COLUMNS)):
            x = tl.load(X[row, j * COLUMNS], (ROWS, COLUMNS), pad=-math.inf)
            x = x.to(tl.f32) * scale
            higher = tl.maximum(top, tl.max(x, axis=1, keepdims=True))
            e = tl.sum(tl.exp(x - higher), axis=1, keepdims=True)
            total = total * tl.exp(top - higher) + e
            top = higher
        for j in tl.range(tl.cdiv(N, COLUMNS)):
            x = tl.load(X[row, j * COLUMNS], (ROWS, COLUMNS)).to(tl.f32) * scale
            Y[row, j * COLUMNS] = (tl.exp(x - top) * (1.0 / total)).to(Y.dtype)


@operation(softmax_rows)
def softmax(x: Any, *, scale: float = 1.0, out: Any = None, **launch: Any) -> Any:
    """The softmax of each row: ``exp(scale * x) / sum(exp(scale * x))``.

    The maximum of a row is subtracted first. Rows of up to 32768 elements are read
    once; the sum of longer ones is updated as Milakov and Gimelshein do ("Online
    normalizer calculation for softmax", 2018).

    Args:
        x: (..., N) of f16, bf16 or f32; computed in f32. No row is all minus infinity.
        scale: a factor for x, above 0.
        out: the result, like x; allocated if not given.
        launch: `stream`, `target` and `run` of a call of the kernel.

    Returns:
        An array like x.

    Raises:
        LaunchError: an argument does not fit; nothing was started.

    Example:
        x = np.array([[0, 1, 2], [3, 3, 3]], np.float32)
        y = kernels.softmax(x)
        assert np.allclose(y[1], 1 / 3) and np.allclose(y.sum(axis=1), 1)
    """
    dtype = check_array("softmax", "x", x, ("...", "N"), FLOATS)
    factor = check_number("softmax", "scale", scale, POSITIVE)
    y = result("softmax", out, x, x.shape, dtype)
    if 0 in x.shape:
        return y
    tile = row_tile(x.shape[-1])
    softmax_rows(
        as_rows(x),
        as_rows(y),
        factor,
        ROWS=tile.rows,
        COLUMNS=tile.columns,
        WHOLE=x.shape[-1] <= tile.columns,
        threads=tile.threads,
        **launch,
    )
    return y
