"""Running sums of rows."""

from typing import Any

import tilews
import tilews.language as tl

from ..host import FLOATS, as_rows, check_array, result
from ..operation import operation
from .tiles import PIECE, row_tile


@tilews.kernel
def cumsum_rows(
    X: tl.Tensor["M, N", "T"],
    Y: tl.Tensor["M, N", "T"],
    ROWS: tl.constexpr = 1,
    COLUMNS: tl.constexpr = 8192,
    REVERSE: tl.constexpr = False,
    EXCLUSIVE: tl.constexpr = False,
) -> None:
    """A block sums up ROWS rows, tile by tile."""
    M, N = X.shape
    row = tl.grid(tl.cdiv(M, ROWS)) * ROWS
    kind = tl.f32 if X.dtype.is_float else X.dtype
    before = tl.zeros((ROWS, 1), kind)
    tiles = tl.cdiv(N, COLUMNS)
    for i in tl.range(tiles):
        j = tiles - 1 - i if REVERSE else i
        x = tl.load(X[row, j * COLUMNS], (ROWS, COLUMNS)).to(kind)
        y = tl.cumsum(x, axis=1, reverse=REVERSE, exclusive=EXCLUSIVE) + before
        Y[row, j * COLUMNS] = y.to(Y.dtype)
        before += tl.sum(x, axis=1, keepdims=True)


@operation(cumsum_rows)
def cumsum(
    x: Any,
    *,
    reverse: bool = False,
    exclusive: bool = False,
    out: Any = None,
    **launch: Any,
) -> Any:
    """The running sums of each row: ``y[i] = x[0] + ... + x[i]``.

    Args:
        x: (..., N) of f16, bf16, f32, i32 or i64. Floating point is added in f32.
        reverse: whether the sums begin at the end: ``x[i] + ... + x[N - 1]``.
        exclusive: whether ``x[i]`` itself is left out.
        out: the result, like x; allocated if not given.
        launch: `stream`, `target` and `run` of a call of the kernel.

    Returns:
        An array like x.

    Raises:
        LaunchError: an argument does not fit; nothing was started.

    Example:
        x = np.array([[1, 2, 3]], np.int32)
        assert (kernels.cumsum(x) == [[1, 3, 6]]).all()
        assert (kernels.cumsum(x, reverse=True, exclusive=True) == [[5, 3, 0]]).all()
    """
    dtype = check_array("cumsum", "x", x, ("...", "N"), (*FLOATS, tl.i32, tl.i64))
    y = result("cumsum", out, x, x.shape, dtype)
    if 0 in x.shape:
        return y
    tile = row_tile(x.shape[-1], PIECE)
    cumsum_rows(
        as_rows(x),
        as_rows(y),
        ROWS=tile.rows,
        COLUMNS=tile.columns,
        REVERSE=reverse,
        EXCLUSIVE=exclusive,
        threads=tile.threads,
        **launch,
    )
    return y
