"""The RMS norm of rows, with a residual and a quantized result."""

from typing import Any

import tilews
import tilews.language as tl

from ..host import (
    FLOATS,
    as_rows,
    check_array,
    check_number,
    check_type,
    element_type,
    fail,
    fp8_type,
    largest,
    result,
)
from ..operation import operation
from .tiles import whole_row_tile


@tilews.func
def load_sum(X: Any, Residual: Any, row: Any, shape: Any, UPDATE: Any) -> Any:
    """Loads rows in f32, with the residual if there is one, which gets the sum."""
    x = tl.load(X[row, 0], shape).to(tl.f32)
    if Residual is not None:
        x += tl.load(Residual[row, 0], shape).to(tl.f32)
        if UPDATE:
            Residual[row, 0] = x.to(X.dtype)
    return x


@tilews.func
def finish(y: Any, Y: Any, Scales: Any, row: Any, limit: Any) -> None:
    """Stores the rows of a norm; with Scales as fp8, each with a scale of its own."""
    if Scales is not None:
        scale = tl.maximum(tl.absmax(y, axis=1), 1e-12) * (1.0 / limit)
        Scales[row] = scale
        y = y * (1.0 / scale)[:, None]
    Y[row, 0] = y.to(Y.dtype)


@tilews.kernel
def rms_norm_rows(
    X: tl.Tensor["M, N", "T"],
    Weight: tl.Tensor["N", "W"] | None,
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
    mean = tl.sum(x * x, axis=1, keepdims=True) / tl.f32(N)
    y = x * tl.rsqrt(mean + eps)
    if Weight is not None:
        y *= tl.load(Weight[0], (COLUMNS,)).to(tl.f32)
    finish(y, Y, Scales, row, limit)


@operation(rms_norm_rows)
def rms_norm(
    x: Any,
    weight: Any = None,
    *,
    eps: float = 1e-6,
    residual: Any = None,
    update_residual: bool = False,
    out_dtype: Any = None,
    out: Any = None,
    **launch: Any,
) -> Any:
    """The RMS norm of each row: ``h / sqrt(mean(h * h) + eps) * weight``.

    Here ``h`` is x, or ``x + residual``, in f32 (Zhang and Sennrich: Root Mean Square
    Layer Normalization, 2019).

    Args:
        x: (..., N) of f16, bf16 or f32, with N up to 32768.
        weight: (N) of f16, bf16 or f32; 1 if not given.
        eps: is added to the mean.
        residual: like x; is added to x first.
        update_residual: whether the sum is stored in `residual`.
        out_dtype: of the result, by default that of x. For `tl.e4m3` and `tl.e5m2`
            each row has a scale: its largest absolute value becomes the largest number
            of the type.
        out: the result, allocated if not given.
        launch: `stream`, `target` and `run` of a call of the kernel.

    Returns:
        An array with the shape of x. For fp8 a pair: the array, and the scales of its
        rows as f32, of shape (...), by which they are to be multiplied.

    Raises:
        LaunchError: an argument does not fit; nothing was started.

    Example:
        x, r = np.full((2, 64), 3, np.float16), np.ones((2, 64), np.float16)
        y = kernels.rms_norm(x, np.full(64, 2, np.float16), residual=r)
        assert (y == 2).all()  # 4 / sqrt(16) * 2
    """
    name = "rms_norm"
    dtype = check_array(name, "x", x, ("...", "N"), FLOATS)
    return launch_norm(
        name,
        rms_norm_rows,
        x,
        {"Weight": weight},
        (residual, update_residual),
        eps,
        check_type(name, "out_dtype", out_dtype or dtype, (*FLOATS, tl.e4m3, tl.e5m2)),
        out,
        launch,
    )


def launch_norm(
    name: str,
    kernel: Any,
    x: Any,
    vectors: dict[str, Any],
    residual: tuple[Any, bool],
    eps: float,
    out_dtype: tl.DType,
    out: Any,
    launch: dict[str, Any],
) -> Any:
    """Checks the other arguments of a norm, and launches its kernel.

    Args:
        name: of the operation.
        kernel: its kernel.
        x: the rows, which were checked.
        vectors: optional arrays of a row's length, by parameter of the kernel.
        residual: what is added to x, or None, and whether it is updated.
        eps: is added to the mean.
        out_dtype: of the result.
        out: the result, or None.
        launch: options of the launch.
    """
    columns = x.shape[-1]
    for key, vector in vectors.items():
        if vector is not None:
            check_array(name, key.lower(), vector, (columns,), FLOATS)
    if residual[0] is not None:
        check_array(name, "residual", residual[0], x.shape, (element_type(x.dtype),))
    elif residual[1]:
        raise fail(name, "'update_residual': there is no residual; pass residual=")
    is_fp8 = out_dtype.bits == 8
    if is_fp8:
        out_dtype = fp8_type(out_dtype, x, launch.get("target"))
    y = result(name, out, x, x.shape, out_dtype)
    scales = result(name, None, x, x.shape[:-1], tl.f32) if is_fp8 else None
    tile = whole_row_tile(name, columns)
    if 0 not in x.shape:
        kernel(
            as_rows(x),
            *vectors.values(),
            None if residual[0] is None else as_rows(residual[0]),
            as_rows(y),
            scales if scales is None else scales.reshape(-1),
            check_number(name, "eps", eps),
            largest(out_dtype),
            ROWS=tile.rows,
            COLUMNS=tile.columns,
            UPDATE=residual[1],
            threads=tile.threads,
            **launch,
        )
    return (y, scales) if is_fp8 else y
