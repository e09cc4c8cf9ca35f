"""The layer norm of rows, with a residual and a quantized result."""

from typing import Any

import tilews
import tilews.language as tl

from ..host import FLOATS, check_array, check_type
from ..operation import operation
from .rms_norm import finish, launch_norm, load_sum


@tilews.kernel
def layer_norm_rows(
    X: tl.Tensor["M, N", "T"],
    Weight: tl.Tensor["N", "W"] | None,
    Bias: tl.Tensor["N", "B"] | None,
    Residual: tl.Tensor["M, N", "T"] | None,
    Y: tl.Tensor["M, N", "U"],
    Scales: tl.Tensor["M", tl.f32] | None,
    eps: tl.f32,
    limit: tl.f32,
    ROWS: tl.constexpr = 1,
    COLUMNS: tl.constexpr = 8192,
    UPDATE: tl.constexpr = False,
) -> None:
    """A block computes ROWS rows. With UPDATE it stores the sums in Residual."""
    M, N = X.shape
    row = tl.grid(tl.cdiv(M, ROWS)) * ROWS
    x = load_sum(X, Residual, row, (ROWS, COLUMNS), UPDATE)
    mean = tl.sum(x, axis=1, keepdims=True) / tl.f32(N)
    shifted = tl.where(tl.arange(COLUMNS)[None, :] < N, x - mean, 0.0)
    variance = tl.sum(shifted * shifted, axis=1, keepdims=True) / tl.f32(N)
    y = shifted * tl.rsqrt(variance + eps)
    if Weight is not None:
        y *= tl.load(Weight[0], (COLUMNS,)).to(tl.f32)
    if Bias is not None:
        y += tl.load(Bias[0], (COLUMNS,)).to(tl.f32)
    finish(y, Y, Scales, row, limit)


@operation(layer_norm_rows)
def layer_norm(
    x: Any,
    weight: Any = None,
    bias: Any = None,
    *,
    eps: float = 1e-5,
    residual: Any = None,
    update_residual: bool = False,
    out_dtype: Any = None,
    out: Any = None,
    **launch: Any,
) -> Any:
    """The layer norm of each row.

    ``(h - mean(h)) / sqrt(var(h) + eps) * weight + bias``, where ``h`` is x, or
    ``x + residual``, in f32. The mean is subtracted before the variance is computed
    (Ba, Kiros and Hinton: Layer Normalization, 2016).

    Args:
        x: (..., N) of f16, bf16 or f32, with N up to 32768.
        weight: (N) of f16, bf16 or f32; 1 if not given.
        bias: (N) of f16, bf16 or f32; 0 if not given.
        eps: is added to the variance.
        residual: like x; is added to x first.
        update_residual: whether the sum is stored in `residual`.
        out_dtype: of the result, as for :func:`rms_norm`.
        out: the result, allocated if not given.
        launch: `stream`, `target` and `run` of a call of the kernel.

    Returns:
        An array with the shape of x; for fp8 a pair, as for :func:`rms_norm`.

    Raises:
        LaunchError: an argument does not fit; nothing was started.

    Example:
        x = np.array([[1, 3, 1, 3]], np.float32)
        y = kernels.layer_norm(x, eps=0.0)
        assert np.allclose(y, [[-1, 1, -1, 1]])
    """
    name = "layer_norm"
    dtype = check_array(name, "x", x, ("...", "N"), FLOATS)
    return launch_norm(
        name,
        layer_norm_rows,
        x,
        {"Weight": weight, "Bias": bias},
        (residual, update_residual),
        eps,
        check_type(name, "out_dtype", out_dtype or dtype, (*FLOATS, tl.e4m3, tl.e5m2)),
        out,
        launch,
    )
