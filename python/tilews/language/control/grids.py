"""The grid: its extents, a block's place in it, and the order of blocks."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterator
from typing import Any, overload

from ... import ir
from ...dialects import gpu
from ...errors import LanguageError
from ..arithmetic import unsigned
from ..builder import current
from ..integers import check_integer, static_shape
from ..symbolic import grid_map
from ..types import index
from ..values import Scalar, describe
from .ranges import Persistent


def _attribute(order: str, panel: int) -> ir.Attribute:
    if order not in ("row", "col"):
        raise LanguageError(
            f"rasterization takes the order 'row' or 'col', found {describe(order)}"
        )
    panel = check_integer(panel, "rasterization: the panel", 1, 65535)
    return ir.Attribute.parse(f"#tile.rasterize<{order}, panel = {panel}>")


def rasterize(order: str = "row", panel: int = 8) -> None:
    """Lets blocks visit the grid in panels, so that neighbors share data in L2.

    Args:
        order: 'row' for panels of rows of tiles, 'col' for columns.
        panel: the number of rows or columns in a panel, 1 to 65535.

    Raises:
        LanguageError: an argument is out of range, or the order was set before.

    Example:
        @tilews.kernel
        def copy(A: tl.Tensor["M, N", tl.f16], C: tl.Tensor["M, N", tl.f16]):
            tl.rasterize("row", panel=4)
            x, y = tl.grid(tl.cdiv(A.shape[1], 64), tl.cdiv(A.shape[0], 64))
            C[y * 64, x * 64] = tl.load(A[y * 64, x * 64], (64, 64))

        a, c = np.ones((100, 200), np.float16), np.zeros((100, 200), np.float16)
        copy(a, c)  # the order of the blocks does not change the result
        assert (c == a).all()
    """
    attributes = current("tl.rasterize").kernel.attributes
    if "tile.rasterize" in attributes:
        raise LanguageError(
            "tl.rasterize: the order of blocks is set twice",
            "call tl.rasterize or tl.use_swizzle once in a kernel",
        )
    attributes["tile.rasterize"] = _attribute(order, panel)


def use_swizzle(panel: int, order: str = "row", enable: bool = True) -> None:
    """:func:`rasterize` as other tile languages call it.

    Args:
        panel: rows or columns of tiles in a panel.
        order: 'row' or 'col'.
        enable: False keeps the default order of blocks, for tuning.

    Raises:
        LanguageError: as for :func:`rasterize`.

    Example:
        >>> tl.use_swizzle(8)  # the same as tl.rasterize("row", panel=8)
        >>> tl.block_id()
        0
    """
    current("tl.use_swizzle")
    if not isinstance(enable, bool):
        raise LanguageError(
            f"tl.use_swizzle: enable is True or False, found {describe(enable)}"
        )
    if enable:
        rasterize(order, panel)


def rasterize_attribute(loop: Persistent) -> ir.Attribute | None:
    """The ``#tile.rasterize`` of a persistent loop."""
    return None if loop.rasterize is None else _attribute(*loop.rasterize)


def _axis(axis: int, what: str) -> gpu.Dimension:
    axis = check_integer(axis, f"{what}: the axis", 0, 2)
    return (gpu.Dimension.x, gpu.Dimension.y, gpu.Dimension.z)[axis]


def block_id(axis: int = 0) -> Scalar:
    """The block's coordinate in the grid, an index, along an axis.

    Args:
        axis: 0, 1 or 2, for x, y and z.

    Raises:
        LanguageError: called outside of a kernel, or the axis is out of range.

    Example:
        @tilews.kernel
        def numbers(C: tl.Tensor["N", tl.i32]):
            C[tl.block_id()] = tl.block_id().to(tl.i32)

        c = np.zeros(5, np.int32)
        numbers(c, grid=(5,))  # the kernel sets no grid, so the call does
        assert (c == np.arange(5)).all()
    """
    current("tl.block_id").reads_grid = True
    return Scalar(gpu.block_id(_axis(axis, "tl.block_id")), index)


def num_blocks(axis: int = 0) -> Scalar:
    """The extent of the grid, an index, along an axis.

    Args:
        axis: as for :func:`block_id`.

    Raises:
        LanguageError: as for :func:`block_id`.

    Example:
        @tilews.kernel
        def extents(C: tl.Tensor["2", tl.i32]):
            tl.grid(3, 2)
            C[0], C[1] = tl.num_blocks(0), tl.num_blocks(1)

        c = np.zeros(2, np.int32)
        extents(c)
        assert c.tolist() == [3, 2]
    """
    current("tl.num_blocks").reads_grid = True
    return Scalar(gpu.grid_dim(_axis(axis, "tl.num_blocks")), index)


@overload
def grid(extent: Any, /) -> Scalar: ...


@overload
def grid(x: Any, y: Any, /, *others: Any) -> tuple[Scalar, ...]: ...


def grid(*extents: Any) -> Scalar | tuple[Scalar, ...]:
    """Sets the launch grid and returns the block's coordinates in it.

    Args:
        extents: integer expressions of the kernel's arguments, x first. Of more than
            three, all but the last two share the hardware's x dimension, which
            ``tl.block_id(0)`` counts. A kernel that reads no coordinates runs as one
            block. A kernel that reads them without setting the grid gets its grid with
            each call.

    Returns:
        An index scalar for one extent, otherwise a tuple of them.

    Raises:
        LanguageError: the grid was set before, is set inside a run-time loop or
            conditional, or is no such expression.

    Example:
        @tilews.kernel
        def transpose(A: tl.Tensor["M, N", tl.f32], C: tl.Tensor["N, M", tl.f32]):
            x, y = tl.grid(tl.cdiv(A.shape[1], 32), tl.cdiv(A.shape[0], 32))
            C[x * 32, y * 32] = tl.load(A[y * 32, x * 32], (32, 32)).T

        a = np.arange(50 * 70, dtype=np.float32).reshape(50, 70)
        c = np.zeros((70, 50), np.float32)
        transpose(a, c)
        assert (c == a.T).all()
    """
    builder = current("tl.grid")
    if not extents:
        raise LanguageError("tl.grid: the extents are missing", "write tl.grid(1)")
    if "tile.grid" in builder.kernel.attributes:
        raise LanguageError("tl.grid: the grid is set twice", "use tl.block_id")
    if builder.regions:
        raise LanguageError(
            "tl.grid: the grid is set inside a run-time loop or conditional",
            "set it at the beginning of the kernel",
        )
    extents = tuple(
        extent
        if isinstance(extent, Scalar) and extent.dtype.is_int
        else static_shape((extent,), "tl.grid")[0]
        for extent in extents
    )
    count = max(len(extents) - 2, 1)
    first, rest = extents[:count], extents[count:]
    numbers = math.prod(extent for extent in first if isinstance(extent, int))
    check_integer(numbers, "tl.grid: the product of all extents but the last two")
    folded = [functools.reduce(operator.mul, first), *rest]
    attribute = ir.AffineMapAttr.get(grid_map(builder, folded))
    builder.kernel.attributes["tile.grid"] = attribute
    ids = (*_unfold(block_id(0), first), *map(block_id, range(1, len(folded))))
    return ids if len(ids) > 1 else ids[0]


def _unfold(place: Any, extents: tuple[Any, ...]) -> Iterator[Any]:
    """Coordinates in a box, the first of which changes fastest."""
    for extent in extents[:-1]:
        yield unsigned("umod", place, extent)
        place = unsigned("udiv", place, extent)
    yield place
