"""Copies, loads and stores of regions."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Literal, overload

from ... import ir
from ...dialects import memref, tile
from ...errors import LanguageError
from ..arithmetic import as_index, as_value, is_number
from ..integers import static_shape
from ..types import index
from ..unloaded import load_hint
from ..values import Buffer, BufferRegion, Scalar, Tile, Value, describe
from . import copied_rows, gathers, packed
from .regions import as_region, mlir_region

Scope = Literal["block", "cluster", "device", "system"]


def copy(
    source: Buffer | BufferRegion,
    dest: Buffer | BufferRegion,
    *,
    mask: Any = None,
    pad: Any = None,
) -> None:
    """Copies a region of one buffer to a region of another.

    Reads outside of the source give zero; writes outside of the destination are
    dropped.

    Args:
        source, dest: buffers or regions of the same element type. At least one of them
            has a static size, which both then have. The source may have vectors of
            indices, ``A[ids, k:k + 64]`` or ``K[page, place, h, :]``: fragments, or
            whole vectors in memory of a static size. Several stand side by side, or
            with scalars in between.
            The region in global memory may have a run-time size, ``A[i:i + n, :]``
            with `n` up to the size of the other side. The rest of a destination in
            shared memory is filled with zeros.
        mask: a condition, or a fragment of i1 that chooses whole rows of a source that
            goes to shared memory; other rows are zero. For ``A[ids, 0:64]`` it has the
            shape (n, 1) for n indices.
        pad: 0, what a copy fills with; other padding is for :func:`load`.

    Raises:
        LanguageError: an argument is no buffer or region, the element types differ, or
            indices, mask or padding do not fit.
        KernelError: both sides have sizes, which differ, or no side has one.

    Example:
        @tilews.kernel
        def copy_rows(A: tl.Tensor["M, 64", tl.f16], C: tl.Tensor["M, 64", tl.f16]):
            i = tl.grid(tl.cdiv(A.shape[0], 32))
            As = tl.alloc_shared((32, 64), tl.f16)
            tl.copy(A[i * 32, 0], As)  # 32 x 64, the size of As
            tl.copy(As, C[i * 32, 0])

        a = np.arange(50 * 64).reshape(50, 64).astype(np.float16)
        c = np.zeros_like(a)
        copy_rows(a, c)  # the second block has 18 rows
        assert (c == a).all()
    """
    what = "tl.copy"
    source, dest = as_region(source, what), as_region(dest, what)
    if pad is not None and not (is_number(pad) and pad == 0):
        raise LanguageError(
            f"tl.copy: a copy fills with zeros, found the padding {describe(pad)}",
            "write tl.store(tl.load(A[i, j], shape, pad=x), S)",
        )
    _check_fit(source, dest)
    gathers.refuse_indices(dest, "tl.copy: the destination", but_sizes=True)
    if source.dtype != dest.dtype:
        raise LanguageError(
            f"tl.copy: source has element type {source.dtype}, destination "
            f"{dest.dtype}",
            "convert on the way: tl.store(tl.load(source).to(...), dest)",
        )
    if source.dtype.packing > 1:
        source, dest = packed.as_bytes(source, what), packed.as_bytes(dest, what)
    source, dest = gathers.limited(source, dest), gathers.limited(dest, source)
    source = copied_rows.one_vector(source, dest, mask)
    limit, limit_dim = _copy_limit(source, dest)
    rows, row_dim = gathers.row_vector(source)
    from_dynamic, from_static, from_sizes = mlir_region(source)
    to_dynamic, to_static, to_sizes = mlir_region(dest)
    tile.copy(
        source.buffer.ir,
        from_dynamic,
        dest.buffer.ir,
        to_dynamic,
        from_static,
        from_sizes,
        to_static,
        to_sizes,
        limit=limit,
        limit_dim=limit_dim,
        rows=rows,
        row_dim=row_dim,
    )


@overload
def load(
    source: Buffer | BufferRegion,
    shape: Sequence[int],
    *,
    pad: Any = None,
    mask: Any = None,
    order: Literal["relaxed", "acquire"] | None = None,
    scope: Scope | None = None,
) -> Tile: ...


@overload
def load(
    source: Buffer | BufferRegion,
    shape: None = None,
    *,
    pad: Any = None,
    mask: Any = None,
    order: Literal["relaxed", "acquire"] | None = None,
    scope: Scope | None = None,
) -> Any: ...


def load(
    source: Buffer | BufferRegion,
    shape: Sequence[int] | None = None,
    *,
    pad: Any = None,
    mask: Any = None,
    order: Literal["relaxed", "acquire"] | None = None,
    scope: Scope | None = None,
) -> Tile | Scalar:
    """Loads a region into a fragment, or one element into a scalar.

    The region may have indices, fragments of integers, in place of offsets:
    ``A[ids, k:k + 64]`` has the shape (n, 64) for n indices.

    A slice may have a run-time size, ``A[i:i + n, :]`` with `n` up to the extent in
    `shape`. Elements from `n` on are then outside; if `i` is negative, all are. A ``:``
    of a run-time extent has the size in `shape`, too.

    If the condition of a ``while`` depends on a load in the loop, the loop may wait for
    another block. So the load is that of :func:`atomic_load` with ``order="acquire"``,
    if its place does not change or the kernel writes the buffer.

    Args:
        source: a buffer, a region with sizes, or the first element of a region.
        shape: the static shape of the fragment, if the source has no size.
        pad: a number or a scalar, the value of elements outside of the buffer or
            whose mask is false; zero by default. A negative index is outside.
        mask: a fragment of i1 whose shape broadcasts to the region's: elements whose
            mask is false are not read.
        order: ``"relaxed"`` or ``"acquire"``: the load is that of :func:`atomic_load`,
            of memory that other blocks may write at the same time. It has no padding
            and no mask.
        scope: between which threads, as for :func:`atomic_load`.

    Returns:
        A fragment of that shape and the source's element type; a scalar if the source
        is a single element and no shape is given.

    Raises:
        LanguageError: `source` is no buffer or region, its extents are unknown and no
            shape is given, `pad` has another type, `mask` does not fit, or `order` or
            `scope` is none of the above.

    Example:
        @tilews.kernel
        def minimum(X: tl.Tensor["N", tl.f32], Y: tl.Tensor["1", tl.f32]):
            x = tl.load(X[0], (64,), pad=math.inf)  # infinity after the last element
            Y[0] = tl.minimum(tl.min(x), tl.load(X[0]))

        y = np.zeros(1, np.float32)
        minimum(np.arange(3, 40, dtype=np.float32), y)
        assert y[0] == 3
    """
    source = as_region(source, "tl.load")
    if order is not None or scope is not None:
        return _ordered_load(source, shape, pad, mask, order, scope)
    if shape is not None:
        shape = static_shape(shape, "tl.load")
        source, mask = gathers.bound(source, shape, mask, "tl.load")
    elif source.ragged:
        raise LanguageError(
            "tl.load: the size of the region is known only at run time",
            "give the fragment's shape: tl.load(A[i:i + n, :], (128, 64))",
        )
    elif source.shape is not None:
        shape = source.shape
    elif not source.offsets:
        raise LanguageError(
            "tl.load: the buffer's extents are known only at launch",
            "give the fragment's shape: tl.load(A[i, j], (128, 64))",
        )
    if shape is None:
        if pad is not None:
            raise LanguageError("tl.load: a single element has no padding")
        if mask is not None:
            raise LanguageError(
                "tl.load: a single element has no mask", "load it in an 'if'"
            )
        return _load_element(source)
    if source.dtype.packing > 1:
        return packed.load(source, shape, mask, pad)
    padding = _padding(pad, source)
    if source.indices or source.limit or mask is not None:
        return gathers.load(source, shape, mask, padding)
    dynamic, static, sizes = mlir_region(source)
    type_ = ir.RankedTensorType.get(shape, source.dtype.to_ir())
    loaded = tile.load(type_, source.buffer.ir, dynamic, static, sizes, padding=padding)
    return Tile(loaded, source.dtype)


def _ordered_load(
    source: BufferRegion, shape: Any, pad: Any, mask: Any, order: Any, scope: Any
) -> Tile | Scalar:
    """The load of a region that other blocks may write at the same time."""
    from . import atomics  # Its functions work on the values of this module.

    if pad is not None or mask is not None:
        raise LanguageError(
            "tl.load: a load with an order or a scope has no padding and no mask",
            "order it by a fence instead: tl.load(A[i, j], mask=m), then "
            'tl.fence(order="acquire")',
        )
    order = "relaxed" if order is None else order
    return atomics.load_region(source, shape, order, scope, "tl.load")


def _copy_limit(
    source: BufferRegion, dest: BufferRegion
) -> tuple[ir.Value | None, int | None]:
    """The limit of the side of a copy that has one, and its dimension."""
    if dest.limit and not (source.buffer.is_shared and not dest.buffer.is_shared):
        raise LanguageError(
            "tl.copy: the destination has a run-time size, which only copies from "
            "shared to global memory have",
            "write tl.store(tl.load(source), C[i:i + n, :])",
        )
    return source.limit or dest.limit or (None, None)


def _check_fit(source: BufferRegion, dest: BufferRegion) -> None:
    """Refuses a region that is larger than the whole buffer on the other side."""
    for part, whole in ((source, dest), (dest, source)):
        if not part.shape or whole.offsets or not whole.shape:
            continue
        sizes, extents = (
            [size for size in shape if size != 1] for shape in (part.shape, whole.shape)
        )
        if len(sizes) == len(extents) and any(map(operator.gt, sizes, extents)):
            raise LanguageError(
                f"tl.copy: the region has shape {part.shape}, but "
                f"{describe(whole.buffer)} on the other side {whole.shape}",
                "copy a part of it: the rest would be dropped",
            )


def _padding(pad: Any, source: BufferRegion) -> ir.Value | None:
    """The value of elements that a load does not read; None for zero."""
    if pad is None:
        return None
    if isinstance(pad, Tile):
        raise LanguageError(
            f"tl.load: expected a number or a scalar as padding, found {describe(pad)}",
            "choose by the mask: tl.where(mask, tl.load(A[i, j], mask=mask), x)",
        )
    if isinstance(pad, Scalar) and pad.dtype != source.dtype:
        raise LanguageError(
            f"tl.load: padding has type {pad.dtype}, the buffer {source.dtype}",
            f"convert it with .to(tl.{source.dtype})",
        )
    return as_value(pad, source.dtype, None).ir


def _load_element(source: BufferRegion) -> Scalar:
    """The load of one element."""
    if source.dtype.packing > 1:
        return packed.load_element(source)
    offsets = [as_index(offset, "an index") for offset in source.offsets]
    element = memref.LoadOp(source.buffer.ir, offsets).result
    return Scalar(element, source.dtype)


def as_stored(value: Any, dest: BufferRegion, what: str) -> Value:
    """A stored value with the destination's element type."""
    if isinstance(value, Value) and value.dtype != dest.dtype:
        adapts = isinstance(value, Scalar) and index in (value.dtype, dest.dtype)
        if not adapts or not (value.dtype.is_int and dest.dtype.is_int):
            raise LanguageError(
                f"{what}: the value has type {value.dtype}, the buffer {dest.dtype}",
                f"convert it with .to(tl.{dest.dtype})",
            )
    if not isinstance(value, Value) and not is_number(value):
        raise LanguageError(
            f"{what}: expected a fragment, a scalar or a number, found "
            f"{describe(value)}",
            load_hint(value),
        )
    if isinstance(value, Tile):
        return value
    return as_value(value, dest.dtype, dest.shape)


def store(
    value: Any,
    dest: Buffer | BufferRegion,
    *,
    mask: Any = None,
    order: Literal["relaxed", "release"] | None = None,
    scope: Scope | None = None,
) -> None:
    """Stores a value to a region; elements outside of the buffer are dropped.

    The region may have indices or run-time sizes, as for :func:`load`. If two elements
    have one place, one of them is stored.

    Args:
        value: a fragment of the region's shape and element type; or a number or a
            scalar, which fills a region that has a size. To a single element, the
            block stores a scalar once.
        dest: a buffer, a region, or the first element of a region.
        mask: a fragment of i1 whose shape broadcasts to the region's: elements whose
            mask is false are not written.
        order: ``"relaxed"`` or ``"release"``: the store is that of
            :func:`atomic_store`, to memory that other blocks may read at the same time.
        scope: between which threads, as for :func:`atomic_store`.

    Raises:
        LanguageError: the element types differ, `value` is no such value, `mask` does
            not fit, or `order` or `scope` is none of the above.
        KernelError: the shapes differ.

    Example:
        @tilews.kernel
        def fill(C: tl.Tensor["N", tl.i32], D: tl.Tensor["2", tl.i32]):
            tl.store(tl.arange(64), C[0])  # the same as C[0] = tl.arange(64)
            tl.store(7, D[0:2])

        c, d = np.zeros(10, np.int32), np.zeros(2, np.int32)
        fill(c, d)  # elements 10 to 63 are dropped
        assert (c == np.arange(10)).all() and (d == 7).all()
    """
    dest = as_region(dest, "tl.store")
    if order is not None or scope is not None:
        from . import atomics  # Its functions work on the values of this module.

        order = "relaxed" if order is None else order
        return atomics.store_region(value, dest, mask, order, scope, "tl.store")
    value = as_stored(value, dest, "tl.store")
    if dest.ragged:
        dest, mask = gathers.bound(dest, value.shape, mask, "tl.store")
    if dest.dtype.packing > 1:
        return packed.store(value, dest, mask)
    if isinstance(value, Tile) and (dest.indices or dest.limit or mask is not None):
        return gathers.store(value, dest, mask)
    if mask is not None:
        raise LanguageError(
            "tl.store: a single element has no mask", "store it in an 'if'"
        )
    if isinstance(value, Scalar):
        if not dest.offsets:
            raise LanguageError(
                "tl.store: the buffer's extents are known only at launch",
                "store to a region of it: C[i:i + 128, j:j + 64]",
            )
        offsets = [as_index(offset, "an index") for offset in dest.offsets]
        memref.StoreOp(value.ir, dest.buffer.ir, offsets)
        return
    tile.store(value.ir, dest.buffer.ir, *mlir_region(dest))
