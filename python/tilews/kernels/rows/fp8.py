"""Casts to fp8 with a scale for each row, or for each group of a row's elements."""

from typing import Any

import tilews
import tilews.language as tl

from ..host import (
    FLOATS,
    as_rows,
    check_array,
    check_integer,
    check_type,
    fail,
    fp8_type,
    largest,
    result,
)
from ..operation import operation
from .tiles import RowTile, whole_row_tile


@tilews.kernel
def fp8_rows(
    X: tl.Tensor["M, N", "T"],
    Y: tl.Tensor["M, N", "U"],
    Scales: tl.Tensor["M, G", tl.f32],
    limit: tl.f32,
    ROWS: tl.constexpr = 16,
    COLUMNS: tl.constexpr = 128,
    GROUP: tl.constexpr = 128,
) -> None:
    """A block casts a tile of whole groups."""
    M, N = X.shape
    x, y = tl.grid(tl.cdiv(N, COLUMNS), tl.cdiv(M, ROWS))
    row, column = y * ROWS, x * COLUMNS
    values = tl.load(X[row, column], (ROWS, COLUMNS)).to(tl.f32)
    groups = values.reshape(ROWS, COLUMNS // GROUP, GROUP)
    scales = tl.maximum(tl.absmax(groups, axis=2), 1e-12) * (1.0 / limit)
    Scales[row, column // GROUP] = scales
    quotients = groups * (1.0 / scales)[:, :, None]
    Y[row, column] = quotients.reshape(ROWS, COLUMNS).to(Y.dtype)


@operation(fp8_rows)
def cast_to_fp8(
    x: Any,
    *,
    group: int | None = None,
    dtype: Any = tl.e4m3,
    out: Any = None,
    scales: Any = None,
    **launch: Any,
) -> tuple[Any, Any]:
    """Casts rows to fp8, each group of elements with a scale of its own.

    ``scale = max(abs(x)) / L`` for the elements of a group, at least ``1e-12 / L``, and
    ``y = x / scale``, rounded to nearest. L is the largest number of the type: 448 for
    e4m3, 57344 for e5m2, and 240 for the e4m3 of gfx942.

    Args:
        x: (..., N) of f16, bf16 or f32; without groups N is up to 32768.
        group: elements of a group, a power of two from 32 to 2048; by default the whole
            row ("per token"). The last group of a row may be shorter.
        dtype: `tl.e4m3` or `tl.e5m2`.
        out: the fp8 result, allocated if not given.
        scales: the scales as f32, (..., groups), allocated if not given.
        launch: `stream`, `target` and `run` of a call of the kernel.

    Returns:
        The array of fp8 with the shape of x, and the scales, (..., groups):
        ``x`` is about ``y * scale``.

    Raises:
        LaunchError: an argument does not fit; nothing was started.

    Example:
        x = np.array([[1, -2] * 64, [7, 14] * 64], np.float32)
        y, scales = kernels.cast_to_fp8(x, group=128)
        assert np.allclose(scales, [[2 / 448], [14 / 448]])
        assert np.allclose(y.astype(np.float32) * scales, x, rtol=0.07)
    """
    name = "cast_to_fp8"
    check_array(name, "x", x, ("...", "N"), FLOATS)
    *outer, columns = x.shape
    fp8 = check_type(name, "dtype", dtype, (tl.e4m3, tl.e5m2))
    fp8 = fp8_type(fp8, x, launch.get("target"))
    if group is None:
        tile = whole_row_tile(name, columns)
        group, groups = tile.columns, 1
    elif check_integer(name, "group", group, 32, 2048) in (
        32,
        64,
        128,
        256,
        512,
        1024,
        2048,
    ):
        tile = RowTile(max(1, 16 * 128 // group), group, 128)
        groups = -(-columns // group)
    else:
        raise fail(
            name, f"'group': expected a power of two from 32 to 2048, found {group}"
        )
    y = result(name, out, x, x.shape, fp8)
    scales = result(name, scales, x, (*outer, groups), tl.f32)
    if 0 not in x.shape:
        fp8_rows(
            as_rows(x),
            as_rows(y),
            as_rows(scales),
            largest(fp8),
            ROWS=tile.rows,
            COLUMNS=tile.columns,
            GROUP=group,
            threads=tile.threads,
            **launch,
        )
    return y, scales
