"""The cross entropy of rows of logits."""

import math
from typing import Any

import tilews
import tilews.language as tl

from ..host import FLOATS, as_rows, check_array, check_number, result
from ..operation import operation
from .tiles import PIECE, row_tile


@tilews.kernel
def cross_entropy_rows(
    X: tl.Tensor["M, N", "T"],
    Targets: tl.Tensor["M", "I"],
    Losses: tl.Tensor["M", tl.f32],
    ignore_index: tl.i64,
    smoothing: tl.f32,
    ROWS: tl.constexpr = 1,
    COLUMNS: tl.constexpr = 8192,
) -> None:
    """A block computes the losses of ROWS rows, in one pass over their tiles."""
    M, N = X.shape
    row = tl.grid(tl.cdiv(M, ROWS)) * ROWS
    # The running maximum, the sum of exponentials relative to it, and of the logits.
    top, total = tl.full((ROWS, 1), -1e38, tl.f32), tl.zeros((ROWS, 1), tl.f32)
    logits = tl.zeros((ROWS, 1), tl.f32)
    for j in tl.range(tl.cdiv(N, COLUMNS)):
        x = tl.load(X[row, j * COLUMNS], (ROWS, COLUMNS), pad=-math.inf).to(tl.f32)
        higher = tl.maximum(top, tl.max(x, axis=1, keepdims=True))
        e = tl.sum(tl.exp(x - higher), axis=1, keepdims=True)
        total = total * tl.exp(top - higher) + e
        top = higher
        inside = tl.arange(COLUMNS)[None, :] + j * COLUMNS < N
        logits += tl.sum(tl.where(inside, x, 0.0), axis=1, keepdims=True)
    target = tl.load(Targets[row], (ROWS,)).to(tl.i64)
    rows = tl.arange(ROWS) + row
    own = tl.load(X[rows, target]).to(tl.f32)
    mean = logits[:, 0] / tl.f32(N)
    loss = top[:, 0] + tl.log(total[:, 0]) - (1.0 - smoothing) * own - smoothing * mean
    Losses[row] = tl.where(target == ignore_index, 0.0, loss)


@operation(cross_entropy_rows)
def cross_entropy(
    logits: Any,
    targets: Any,
    *,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    out: Any = None,
    **launch: Any,
) -> Any:
    """The cross entropy of each row of logits and its target.

    ``log(sum(exp(x))) - (1 - s) * x[target] - s * mean(x)`` with the label smoothing
    ``s``; 0 for rows whose target is `ignore_index`. The logits are read once: the sum
    of exponentials is updated as for :func:`softmax`.

    Args:
        logits: (..., N) of f16, bf16 or f32; computed in f32. Without label smoothing
            they may be minus infinity.
        targets: (...) of i32 or i64, each below N, or `ignore_index`.
        ignore_index: the target of rows that do not count.
        label_smoothing: from 0 to 1.
        out: the losses, allocated if not given.
        launch: `stream`, `target` and `run` of a call of the kernel.

    Returns:
        The losses, (...) of f32. Their mean over the rows that count is torch's loss.

    Raises:
        LaunchError: an argument does not fit; nothing was started.

    Example:
        x = np.zeros((2, 8), np.float32)
        loss = kernels.cross_entropy(x, np.array([3, -100], np.int32))
        assert np.allclose(loss, [np.log(8), 0])
    """
    name = "cross_entropy"
    check_array(name, "logits", logits, ("...", "N"), FLOATS)
    *outer, columns = logits.shape
    check_array(name, "targets", targets, outer, (tl.i32, tl.i64))
    smoothing = check_number(name, "label_smoothing", label_smoothing, (0, 1))
    losses = result(name, out, logits, outer, tl.f32)
    if 0 in logits.shape:
        return losses
    tile = row_tile(columns, PIECE)
    cross_entropy_rows(
        as_rows(logits),
        targets.reshape(-1),
        losses.reshape(-1),
        ignore_index,
        smoothing,
        ROWS=tile.rows,
        COLUMNS=tile.columns,
        threads=tile.threads,
        **launch,
    )
    return losses
