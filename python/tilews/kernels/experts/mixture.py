"""A mixture of experts: gated layers, of which each token takes some."""

from typing import Any

import tilews.language as tl

from ..host import FLOATS, check_array, fail, result
from ..matmuls.grouped import group_tiles, grouped_matmul
from ..operation import operation
from ..rows.gated import find_activation
from .row_sums import combine_rows
from .sorting import sort_by_expert


@operation(group_tiles)
def moe(
    x: Any,
    ids: Any,
    weights: Any,
    w13: Any,
    w2: Any,
    *,
    activation: str = "silu",
    out: Any = None,
    **launch: Any,
) -> Any:
    """The experts of a mixture: the weighted sum of the gated layers of each token.

    ``y[t] = sum(weights[t, j] * E(x[t]))`` over the experts ``ids[t, j]``, where
    ``E(x) = (silu(x @ w1.T) * (x @ w3.T)) @ w2.T`` (Shazeer et al.: Outrageously large
    neural networks, 2017; Jiang et al.: Mixtral of Experts, 2024). Four kernels compute
    it: :func:`sort_by_expert`, :func:`grouped_matmul` with a gate and with the rows of
    tokens, the same with `w2`, and :func:`combine_rows`. No row is padded, and the host
    does not wait for the sizes of groups. `ids` and `weights` are the router's, such as
    ``top_k(softmax(logits), k)``.

    Args:
        x: (T, D) of f16, bf16 or f32: the tokens.
        ids: (T, k) of i32: the experts of each token; others than 0 to E - 1, such as
            -1, are left out.
        weights: (T, k) of f32.
        w13: (E, 2 * I, D) of the type of x: for each expert the rows of w1, then those
            of w3.
        w2: (E, D, I) of the type of x.
        activation: of the gates, as for :func:`gated`.
        out: the result, like x; allocated if not given.
        launch: `stream`, `target` and `run` of a call of the kernels.

    Returns:
        An array like x. Hidden values and the results of experts are rounded to its
        type, and added in f32.

    Raises:
        LaunchError: an argument does not fit; nothing was started.

    Example:
        x = np.array([[1, 2], [3, 4]], np.float16)
        w13 = np.stack([np.eye(4, 2), np.ones((4, 2))]).astype(np.float16)
        w2 = np.ones((2, 2, 2), np.float16)
        ids, weights = np.array([[1], [-1]], np.int32), np.ones((2, 1), np.float32)
        y = kernels.moe(x, ids, weights, w13, w2, activation="relu")
        assert (y == [[18, 18], [0, 0]]).all()  # (3 * 3) + (3 * 3), and no expert
    """
    name = "moe"
    dtype = check_array(name, "x", x, ("T", "D"), FLOATS)
    tokens, depth = x.shape
    check_array(name, "ids", ids, (tokens, "k"), (tl.i32,))
    check_array(name, "weights", weights, ids.shape, (tl.f32,))
    check_array(name, "w13", w13, ("E", "2 * I", depth), (dtype,))
    experts, columns, _ = w13.shape
    if columns % 2:
        raise fail(name, f"'w13': expected an even number of rows, found {columns}")
    check_array(name, "w2", w2, (experts, depth, columns // 2), (dtype,))
    find_activation(name, activation)
    y = result(name, out, x, x.shape, dtype)
    starts, rows, places = sort_by_expert(ids, experts, **launch)
    hidden = grouped_matmul(
        x, w13, starts, rows=rows, gate=activation, transpose_b=True, **launch
    )
    found = grouped_matmul(hidden, w2, starts, transpose_b=True, **launch)
    return combine_rows(found, places, weights, out=y, **launch)
