"""The largest elements of rows, and their places."""

import math
from typing import Any

import tilews
import tilews.language as tl

from ..host import FLOATS, as_rows, check_array, check_integer, fail, result
from ..operation import operation
from .tiles import PIECE, row_tile


@tilews.func
def first_largest(x: Any, i: Any, y: Any, j: Any) -> Any:
    """The larger of two elements with its place, the first of equal ones."""
    is_equal = (x == y) | (tl.isnan(x) & tl.isnan(y))
    is_second = (y > x) | (tl.isnan(y) & (x == x)) | (is_equal & (j < i))
    return tl.where(is_second, y, x), tl.where(is_second, j, i)


@tilews.kernel
def argmax_rows(
    X: tl.Tensor["M, N", "T"],
    Places: tl.Tensor["M", tl.i32],
    ROWS: tl.constexpr = 1,
    COLUMNS: tl.constexpr = 8192,
) -> None:
    """A block finds the places of ROWS rows, in one pass over their tiles."""
    M, N = X.shape
    row = tl.grid(tl.cdiv(M, ROWS)) * ROWS
    # The first largest element among those that are COLUMNS apart.
    best = tl.full((ROWS, COLUMNS), -math.inf, tl.f32)
    place = tl.iota((ROWS, COLUMNS), 1)
    for j in tl.range(tl.cdiv(N, COLUMNS)):
        x = tl.load(X[row, j * COLUMNS], (ROWS, COLUMNS), pad=-math.inf).to(tl.f32)
        better = (x > best) | (tl.isnan(x) & (best == best))
        place = tl.where(better, tl.iota((ROWS, COLUMNS), 1) + j * COLUMNS, place)
        best = tl.where(better, x, best)
    _, place = tl.reduce((best, place), first_largest, axis=1)
    Places[row] = place.to(tl.i32)


@operation(argmax_rows)
def argmax(x: Any, *, out: Any = None, **launch: Any) -> Any:
    """The place of the largest element of each row, the first one of equal elements.

    NaN is larger than all numbers, as for torch and numpy.

    Args:
        x: (..., N) of f16, bf16 or f32, with N of at least 1.
        out: the places, allocated if not given.
        launch: `stream`, `target` and `run` of a call of the kernel.

    Returns:
        The places, (...) of i32.

    Raises:
        LaunchError: an argument does not fit; nothing was started.

    Example:
        x = np.array([[1, 5, 5], [-1, -2, -3]], np.float32)
        assert (kernels.argmax(x) == [1, 0]).all()
    """
    check_array("argmax", "x", x, ("...", "N"), FLOATS)
    *outer, columns = x.shape
    if columns == 0:
        raise fail("argmax", "'x': expected rows of at least 1 element, found 0")
    places = result("argmax", out, x, outer, tl.i32)
    if 0 in x.shape:
        return places
    tile = row_tile(columns, PIECE)
    argmax_rows(
        as_rows(x),
        places.reshape(-1),
        ROWS=tile.rows,
        COLUMNS=tile.columns,
        threads=tile.threads,
        **launch,
    )
    return places


@tilews.kernel
def topk_rows(
    X: tl.Tensor["M, N", "T"],
    Values: tl.Tensor["M, K", "T"],
    Places: tl.Tensor["M, K", tl.i32],
    COUNT: tl.constexpr = 64,
    COLUMNS: tl.constexpr = 2048,
) -> None:
    """A block selects K elements of a row, and keeps the COUNT best so far."""
    N, K = X.shape[1], Values.shape[1]
    row = tl.grid(X.shape[0])
    best = tl.full((COUNT,), -(2**63), tl.i64)
    for j in tl.range(tl.cdiv(N, COLUMNS)):
        x = tl.load(X[row, j * COLUMNS], (COLUMNS,)).to(tl.f32)
        bits = tl.where(tl.isnan(x), 0x7FC00000, x.bitcast(tl.i32))
        # Integers with the order of the elements; the first of equal ones is larger.
        order = tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits).to(tl.i64)
        place = tl.arange(COLUMNS) + j * COLUMNS
        key = (order << 32) | (0x7FFFFFFF - place).to(tl.i64)
        key = tl.where(place < N, key, -(2**63))
        found, _ = tl.topk(key, COUNT)
        best, _ = tl.topk(tl.cat((best, found)), COUNT)
    order = (best >> 32).to(tl.i32)
    x = tl.where(order < 0, order ^ 0x7FFFFFFF, order).bitcast(tl.f32)
    kept = tl.arange(COUNT) < K
    tl.store(x.to(X.dtype), Values[row, 0:COUNT], mask=kept)
    place = 0x7FFFFFFF - (best & 0x7FFFFFFF).to(tl.i32)
    tl.store(place, Places[row, 0:COUNT], mask=kept)


@operation(topk_rows)
def top_k(
    x: Any, k: int, *, values: Any = None, places: Any = None, **launch: Any
) -> tuple[Any, Any]:
    """The k largest elements of each row, the largest first, and their places.

    Of equal elements the first ones are taken; NaN is larger than all numbers, and -0
    is smaller than 0.

    Args:
        x: (..., N) of f16, bf16 or f32.
        k: from 1 to N, at most 1024.
        values: the elements, allocated if not given.
        places: their places, allocated if not given.
        launch: `stream`, `target` and `run` of a call of the kernel.

    Returns:
        The elements, (..., k) of the type of x, and their places, (..., k) of i32.

    Raises:
        LaunchError: an argument does not fit; nothing was started.

    Example:
        values, places = kernels.top_k(np.array([[3, 9, 1, 9]], np.float32), 3)
        assert (values == [[9, 9, 3]]).all() and (places == [[1, 3, 0]]).all()
    """
    dtype = check_array("top_k", "x", x, ("...", "N"), FLOATS)
    *outer, columns = x.shape
    k = check_integer("top_k", "k", k, 1, min(columns, 1024))
    values = result("top_k", values, x, (*outer, k), dtype)
    places = result("top_k", places, x, (*outer, k), tl.i32)
    if 0 not in x.shape:
        count = 1 << (k - 1).bit_length()
        tile = max(count, 128, min(2048, 1 << (columns - 1).bit_length()))
        topk_rows(
            as_rows(x),
            as_rows(values),
            as_rows(places),
            COUNT=count,
            COLUMNS=tile,
            threads=256 if tile > 512 else 128,
            **launch,
        )
    return values, places
