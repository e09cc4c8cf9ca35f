"""Scans: the combinations of all elements up to each element along an axis."""

from __future__ import annotations

import math as python_math
from collections.abc import Callable
from typing import Any, overload

import ml_dtypes

from ..dialects import tile
from ..errors import LanguageError
from .composed.combining import scan_by
from .math import fmax, fmin
from .reductions import kind_hint, reduction_kind, refuse_reduction
from .shapes import check_axis, check_tile
from .types import DType
from .values import Tile, describe

_PAIRWISE: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda a, b: a + b,
    "max": fmax,
    "min": fmin,
}


def _neutral(kind: str, dtype: DType) -> float:
    """What a running sum, maximum or minimum of nothing is."""
    if kind == "sum":
        return 0
    if dtype.is_float and dtype.bits <= 8:
        limits = ml_dtypes.finfo(dtype.numpy)
        return float(limits.min if kind == "max" else limits.max)
    if dtype.is_float:
        return -python_math.inf if kind == "max" else python_math.inf
    low = -(1 << (dtype.bits - 1)) if dtype.has_sign else 0
    high = (1 << (dtype.bits - dtype.has_sign)) - 1
    return low if kind == "max" else high


@overload
def scan(
    value: Tile,
    kind: str | Callable[..., Any],
    axis: int = 0,
    reverse: bool = False,
    exclusive: bool = False,
    initial: Any = None,
) -> Tile: ...


@overload
def scan(
    value: tuple[Tile, ...],
    kind: Callable[..., Any],
    axis: int = 0,
    reverse: bool = False,
    exclusive: bool = False,
    initial: Any = None,
) -> tuple[Tile, ...]: ...


def scan(
    value: Tile | tuple[Tile, ...],
    kind: str | Callable[..., Any],
    axis: int = 0,
    reverse: bool = False,
    exclusive: bool = False,
    initial: Any = None,
) -> Any:
    """The combinations of all elements up to each element along an axis.

    Args:
        value: a fragment; for a function, also a tuple of fragments of one shape.
        kind: 'sum', 'max' or 'min', or an associative function as for :func:`reduce`.
        axis: the dimension.
        reverse: whether to start at the end of the axis. A function then has as `a`
            the value from larger coordinates.
        exclusive: whether an element leaves itself out. Then `initial` comes first.
        initial: what an exclusive scan starts with: a number, or one for each fragment
            of the tuple; by default 0 for 'sum', and the lowest or highest number for
            'max' or 'min'.

    Returns:
        A fragment of the same shape and type; a tuple for a tuple.

    Raises:
        LanguageError: as for :func:`reduce`; or `initial` is missing or not wanted.

    Example:
        >>> x = tl.arange(1, 5)
        >>> tl.scan(x, "sum")
        [1, 3, 6, 10]
        >>> tl.scan(x, "sum", exclusive=True)
        [0, 1, 3, 6]
        >>> tl.scan(x, lambda a, b: a * b, reverse=True)
        [24, 24, 12, 4]
    """
    refuse_reduction(kind, "tl.scan")
    if not callable(kind):
        value = check_tile(value, "tl.scan")
        if not isinstance(kind, str) or kind not in _PAIRWISE:
            raise LanguageError(
                f"tl.scan: expected a function, or one of {', '.join(_PAIRWISE)}, "
                f"found {describe(kind)}",
                kind_hint(kind, "tl.scan"),
            )
        attribute = reduction_kind(kind, value, "tl.scan")
        if exclusive and initial is None:
            initial = _neutral(kind, value.dtype)
    if exclusive == (initial is None):
        raise LanguageError(
            "tl.scan: an exclusive scan with a function takes initial=, and no other "
            "scan does",
            "write for example tl.scan(x, f, exclusive=True, initial=1)",
        )
    if callable(kind):
        return scan_by(value, kind, axis, reverse, initial, commutes=False)
    assert isinstance(value, Tile)
    if exclusive and kind == "sum" and value.dtype.is_int:
        # Sums of integers wrap around, so that a difference is exact.
        return scan(value, kind, axis, reverse) - value + initial
    if exclusive:
        return scan_by(value, _PAIRWISE[kind], axis, reverse, initial, commutes=True)
    axis = check_axis(axis, value.ndim, "tl.scan")
    scanned = tile.scan(attribute, value.ir, axis, reverse=reverse)
    return Tile(scanned, value.dtype)


def cumsum(
    value: Tile, axis: int = 0, reverse: bool = False, exclusive: bool = False
) -> Tile:
    """The running sum along an axis.

    Args:
        value: a fragment.
        axis: the axis, negative ones counted from the last.
        reverse: whether to start at the end of the axis.
        exclusive: whether an element leaves itself out; the first one is then 0.

    Returns:
        A fragment of the same shape and type.

    Raises:
        LanguageError: `value` is no fragment, or the axis is out of range.

    Example:
        >>> x = (tl.arange(5) - 2) * (tl.arange(5) - 2)  # 4, 1, 0, 1, 4
        >>> tl.cumsum(x)
        [4, 5, 5, 6, 10]
        >>> tl.cumsum(x, reverse=True)
        [10, 6, 5, 5, 4]
        >>> tl.cumsum(x, exclusive=True)
        [0, 4, 5, 5, 6]
    """
    return scan(value, "sum", axis, reverse, exclusive)


def cummax(
    value: Tile, axis: int = 0, reverse: bool = False, exclusive: bool = False
) -> Tile:
    """The running maximum along an axis.

    Args:
        value: a fragment.
        axis: the axis, negative ones counted from the last.
        reverse: whether to start at the end of the axis.
        exclusive: whether an element leaves itself out; the first one is then
            the lowest number of the type.

    Returns:
        A fragment of the same shape and type.

    Raises:
        LanguageError: `value` is no fragment, or the axis is out of range.

    Example:
        >>> x = (tl.arange(5) - 2) * (tl.arange(5) - 2)  # 4, 1, 0, 1, 4
        >>> tl.cummax(x)
        [4, 4, 4, 4, 4]
        >>> tl.cummax(x, reverse=True)
        [4, 4, 4, 4, 4]
        >>> tl.cummax(x.to(tl.u8), exclusive=True)
        [0, 4, 4, 4, 4]
    """
    return scan(value, "max", axis, reverse, exclusive)


def cummin(
    value: Tile, axis: int = 0, reverse: bool = False, exclusive: bool = False
) -> Tile:
    """The running minimum along an axis.

    Args:
        value: a fragment.
        axis: the axis, negative ones counted from the last.
        reverse: whether to start at the end of the axis.
        exclusive: whether an element leaves itself out; the first one is then
            the highest number of the type.

    Returns:
        A fragment of the same shape and type.

    Raises:
        LanguageError: `value` is no fragment, or the axis is out of range.

    Example:
        >>> x = (tl.arange(5) - 2) * (tl.arange(5) - 2)  # 4, 1, 0, 1, 4
        >>> tl.cummin(x)
        [4, 1, 0, 0, 0]
        >>> tl.cummin(x, reverse=True)
        [0, 0, 0, 1, 4]
        >>> tl.cummin(x.to(tl.u8), exclusive=True)
        [255, 4, 1, 0, 0]
    """
    return scan(value, "min", axis, reverse, exclusive)
