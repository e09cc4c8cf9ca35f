"""The sums of what the experts of each token computed."""

from typing import Any

import tilews
import tilews.language as tl

from ..host import FLOATS, check_array, check_type, result
from ..operation import operation


@tilews.kernel(threads=128)
def combined_rows(
    X: tl.Tensor["M, N", "T"],
    Places: tl.Tensor["R, K", tl.i32],
    Weights: tl.Tensor["R, K", tl.f32] | None,
    Y: tl.Tensor["R, N", "U"],
    COLUMNS: tl.constexpr = 1024,
) -> None:
    """A block sums up a piece of a row of Y, in the order of its places."""
    x, row = tl.grid(tl.cdiv(Y.shape[1], COLUMNS), Y.shape[0])
    column = x * COLUMNS
    total = tl.zeros((COLUMNS,), tl.f32)
    for j in tl.range(Places.shape[1]):
        place = tl.load(Places[row, j])
        if place >= 0:
            values = tl.load(X[place, column], (COLUMNS,)).to(tl.f32)
            if Weights is not None:
                values *= tl.load(Weights[row, j])
            total += values
    Y[row, column] = total.to(Y.dtype)


@operation(combined_rows)
def combine_rows(
    x: Any,
    places: Any,
    weights: Any = None,
    *,
    out_dtype: Any = None,
    out: Any = None,
    **launch: Any,
) -> Any:
    """Sums of rows: ``y[t] = sum(weights[t, j] * x[places[t, j]])`` over j.

    The order of the sums is that of j, so that results are the same in each run.

    Args:
        x: (M, N) of f16, bf16 or f32.
        places: (T, k) of i32: rows of x; negative ones are left out.
        weights: (T, k) of f32; 1 if not given.
        out_dtype: f16, bf16 or f32; by default that of x. Sums are computed in f32.
        out: the result, allocated if not given.
        launch: `stream`, `target` and `run` of a call of the kernel.

    Returns:
        The sums, (T, N).

    Raises:
        LaunchError: an argument does not fit; nothing was started.

    Example:
        x = np.array([[1, 2], [10, 20]], np.float32)
        places = np.array([[0, 1], [1, -1]], np.int32)
        weights = np.array([[3, 0.5], [2, 7]], np.float32)
        y = kernels.combine_rows(x, places, weights)
        assert (y == [[8, 16], [20, 40]]).all()
    """
    name = "combine_rows"
    dtype = check_array(name, "x", x, ("M", "N"), FLOATS)
    check_array(name, "places", places, ("T", "k"), (tl.i32,))
    if weights is not None:
        check_array(name, "weights", weights, places.shape, (tl.f32,))
    dtype = check_type(name, "out_dtype", out_dtype or dtype, FLOATS)
    columns = x.shape[1]
    y = result(name, out, x, (places.shape[0], columns), dtype)
    if 0 not in y.shape:
        width = min(1024, max(128, 1 << (columns - 1).bit_length()))
        combined_rows(x, places, weights, y, COLUMNS=width, **launch)
    return y
