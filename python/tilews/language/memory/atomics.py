"""Atomic accesses to memory that other blocks access at the same time, and fences.

``order`` and ``scope`` are those of the PTX ISA ("Memory Consistency Model"), of the
block as a whole: a release orders what all threads of the block did before, an acquire
what all of them do after. ``scope`` is ``"block"``, ``"cluster"``, ``"device"`` or
``"system"``; by default it is the device for global memory, and the block for shared
memory.
"""

from __future__ import annotations

from typing import Any, Literal

from ... import ir
from ...dialects import tile
from ...errors import LanguageError
from ..arithmetic import as_value
from ..integers import static_shape
from ..shapes import as_scalar
from ..values import Buffer, BufferRegion, Scalar, Tile, Value, describe
from . import gathers, packed
from .accesses import Scope, as_stored
from .regions import as_region, mlir_region

Order = Literal["relaxed", "acquire", "release", "acq_rel"]

_ORDERS = ("relaxed", "acquire", "release", "acq_rel")
_LOADS, _STORES = ("relaxed", "acquire"), ("relaxed", "release")
_SCOPES = ("block", "cluster", "device", "system")


def _attributes(
    order: Any, scope: Any, what: str, orders: tuple[str, ...] = _ORDERS
) -> dict[str, Any]:
    """The attributes of an order and a scope; none for the defaults."""
    for name, value, names in (("order", order, orders), ("scope", scope, _SCOPES)):
        if value not in names and not (name == "scope" and value is None):
            expected = ", ".join(f"'{each}'" for each in names)
            raise LanguageError(
                f"{what}: expected {name} {expected}, found {value!r}",
                "a load releases nothing" if names == _LOADS else None,
            )
    attributes = {"order": ir.Attribute.parse(f"#tile.order<{order}>")}
    if scope is not None:
        attributes["scope"] = ir.Attribute.parse(f"#tile.scope<{scope}>")
    return attributes


def _check_elements(dest: BufferRegion, name: str, what: str) -> BufferRegion:
    """A region whose elements can be combined one by one.

    Raises:
        LanguageError: they cannot.
    """
    dest = packed.refuse(dest, what)
    dtype = dest.dtype
    if dtype.bits < 8:
        raise LanguageError(
            f"{what}: elements of {dtype} cannot be updated one by one",
            "declare the buffer as tl.u8 or wider",
        )
    if dtype.is_float and dtype.bits == 8 and name in ("add", "max", "min"):
        raise LanguageError(
            f"{what} takes integers, or floating point of at least 16 bits, found "
            f"{dtype}",
            "update a buffer of tl.f32, and convert it later",
        )
    return dest


def _as_operand(value: Any, dest: BufferRegion, what: str) -> Tile:
    """A value as a fragment of the region's shape; one element has no dimensions."""
    value = as_stored(value, dest, what)
    return as_value(value, value.dtype, ()) if isinstance(value, Scalar) else value


def _result(old: ir.Value, region: BufferRegion) -> Tile | Scalar:
    """A fragment; a scalar if the region is a single element."""
    fragment, shape = Tile(old, region.dtype), region.shape
    return fragment if shape or fragment.ndim else as_scalar(fragment)


def _update(
    name: str,
    value: Any,
    dest: Buffer | BufferRegion,
    order: Order,
    scope: Scope | None,
    mask: Tile | None,
    what: str | None = None,
) -> Tile | Scalar:
    what = what or f"tl.atomic_{name}"
    attributes = _attributes(order, scope, what)
    dest = _check_elements(as_region(dest, what), name, what)
    fragment = _as_operand(value, dest, what)
    if dest.ragged:
        dest, mask = gathers.bound(dest, fragment.shape, mask, what)
    if dest.dtype.is_unsigned:
        name = {"max": "umax", "min": "umin"}.get(name, name)
    kind = ir.Attribute.parse(f"#tile.atomic<{name}>")
    if dest.indices or dest.limit or mask is not None:
        return gathers.update(kind, fragment, dest, mask, attributes, what)
    operand = fragment.ir
    op = tile.AtomicRMWOp(
        operand.type,
        kind,
        operand,
        dest.buffer.ir,
        *mlir_region(dest),
        **attributes,
    )
    return _result(op.results[0], dest)


def _is_update(op: ir.OpView) -> bool:
    return op.name in ("tile.atomic_rmw", "tile.atomic_scatter")


def drop_result(value: Any) -> None:
    """Removes the result of the update that has just made `value`: nobody uses it."""
    if not isinstance(value, Value) or isinstance(value.ir.owner, ir.Block):
        return
    op = value.ir.owner
    if op.name in ("tensor.extract", "tile.transpose"):
        source = op.operands[0]
        if isinstance(source.owner, ir.Block) or not _is_update(source.owner):
            return
        op.operation.erase()
        op = source.owner
    if not _is_update(op):
        return
    ir.Operation.create(
        op.name,
        operands=list(op.operands),
        attributes={name: op.attributes[name] for name in op.attributes},
        loc=op.location,
    )
    op.operation.erase()


def atomic_add(
    value: Any,
    dest: Buffer | BufferRegion,
    *,
    order: Order = "relaxed",
    scope: Scope | None = None,
    mask: Tile | None = None,
) -> Tile | Scalar:
    """Adds to each element of a region, atomically.

    Args:
        value: a fragment of the region's shape and element type; or a number or a
            scalar, for a single element or all elements of a region with a size.
        dest: a buffer, a region, or a single element. A region may have indices, as
            for :func:`load`; elements at the same place are combined one by one.
        order: which other accesses of the block it orders: ``"relaxed"``,
            ``"acquire"``, ``"release"`` or ``"acq_rel"``.
        scope: between which threads.
        mask: a fragment of i1 whose shape broadcasts to the region's: elements whose
            mask is false are not accessed.

    Returns:
        The old values: a fragment of the region's shape, or a scalar for a single
        element. Zero for elements outside of the buffer or whose mask is false.

    Raises:
        LanguageError: the element types differ, elements have less than 8 bits or are
            fp8, `order` or `scope` is none of the above, or `mask` does not fit.

    Example:
        >>> counts = tl.alloc_shared((4,), tl.i32)
        >>> counts[0:4] = tl.arange(4)
        >>> tl.atomic_add(10, counts[0:4])
        [0, 1, 2, 3]
        >>> tl.load(counts)
        [10, 11, 12, 13]
    """
    return _update("add", value, dest, order, scope, mask)


def atomic_max(
    value: Any,
    dest: Buffer | BufferRegion,
    *,
    order: Order = "relaxed",
    scope: Scope | None = None,
    mask: Tile | None = None,
) -> Tile | Scalar:
    """Replaces each element by the maximum of it and `value`, as :func:`atomic_add`.

    Example:
        >>> counts = tl.alloc_shared((4,), tl.i32)
        >>> counts[0:4] = tl.arange(4)
        >>> tl.atomic_max(2, counts[0:4])
        [0, 1, 2, 3]
        >>> tl.load(counts)
        [2, 2, 2, 3]
    """
    return _update("max", value, dest, order, scope, mask)


def atomic_min(
    value: Any,
    dest: Buffer | BufferRegion,
    *,
    order: Order = "relaxed",
    scope: Scope | None = None,
    mask: Tile | None = None,
) -> Tile | Scalar:
    """Replaces each element by the minimum of it and `value`, as :func:`atomic_add`.

    Example:
        >>> counts = tl.alloc_shared((4,), tl.i32)
        >>> counts[0:4] = tl.arange(4)
        >>> tl.atomic_min(2, counts[0:4])
        [0, 1, 2, 3]
        >>> tl.load(counts)
        [0, 1, 2, 2]
    """
    return _update("min", value, dest, order, scope, mask)


def atomic_and(
    value: Any,
    dest: Buffer | BufferRegion,
    *,
    order: Order = "relaxed",
    scope: Scope | None = None,
    mask: Tile | None = None,
) -> Tile | Scalar:
    """Replaces each integer by its bitwise and with `value`, as :func:`atomic_add`.

    Example:
        >>> counts = tl.alloc_shared((4,), tl.i32)
        >>> counts[0:4] = tl.arange(4)
        >>> tl.atomic_and(2, counts[0:4])
        [0, 1, 2, 3]
        >>> tl.load(counts)
        [0, 0, 2, 2]
    """
    return _update("and", value, dest, order, scope, mask)


def atomic_or(
    value: Any,
    dest: Buffer | BufferRegion,
    *,
    order: Order = "relaxed",
    scope: Scope | None = None,
    mask: Tile | None = None,
) -> Tile | Scalar:
    """Replaces each integer by its bitwise or with `value`, as :func:`atomic_add`.

    Example:
        >>> counts = tl.alloc_shared((4,), tl.i32)
        >>> counts[0:4] = tl.arange(4)
        >>> tl.atomic_or(2, counts[0:4])
        [0, 1, 2, 3]
        >>> tl.load(counts)
        [2, 3, 2, 3]
    """
    return _update("or", value, dest, order, scope, mask)


def atomic_xor(
    value: Any,
    dest: Buffer | BufferRegion,
    *,
    order: Order = "relaxed",
    scope: Scope | None = None,
    mask: Tile | None = None,
) -> Tile | Scalar:
    """Replaces each integer by its exclusive or with `value`, as :func:`atomic_add`.

    Example:
        >>> counts = tl.alloc_shared((4,), tl.i32)
        >>> counts[0:4] = tl.arange(4)
        >>> tl.atomic_xor(2, counts[0:4])
        [0, 1, 2, 3]
        >>> tl.load(counts)
        [2, 3, 0, 1]
    """
    return _update("xor", value, dest, order, scope, mask)


def atomic_exchange(
    value: Any,
    dest: Buffer | BufferRegion,
    *,
    order: Order = "relaxed",
    scope: Scope | None = None,
    mask: Tile | None = None,
) -> Tile | Scalar:
    """Replaces each element by `value`, as :func:`atomic_add`; also those of fp8.

    Without a use of its result it is an atomic store.

    Example:
        >>> counts = tl.alloc_shared((4,), tl.i32)
        >>> counts[0:4] = tl.arange(4)
        >>> tl.atomic_exchange(7, counts[2])
        2
        >>> tl.load(counts)
        [0, 1, 7, 3]
    """
    return _update("exchange", value, dest, order, scope, mask)


def atomic_store(
    value: Any,
    dest: Buffer | BufferRegion,
    *,
    order: Literal["relaxed", "release"] = "relaxed",
    scope: Scope | None = None,
) -> None:
    """Stores a value that other blocks may read at the same time.

    Args:
        value, dest: as for :func:`atomic_add`.
        order: ``"relaxed"`` or ``"release"``.
        scope: between which threads.

    Raises:
        LanguageError: as :func:`atomic_add`.

    Example:
        >>> flags = tl.alloc_shared((2,), tl.i32)
        >>> flags[0:2] = tl.zeros((2,), tl.i32)
        >>> tl.atomic_store(1, flags[0], order="release")
        >>> tl.load(flags)
        [1, 0]
    """
    store_region(value, dest, None, order, scope, "tl.atomic_store")


def store_region(
    value: Any,
    dest: Buffer | BufferRegion,
    mask: Tile | None,
    order: Any,
    scope: Any,
    what: str,
) -> None:
    """The atomic store; ``what`` names the function that was called in errors."""
    _attributes(order, scope, what, _STORES)
    drop_result(_update("exchange", value, dest, order, scope, mask, what))


def atomic_cas(
    expected: Any,
    value: Any,
    dest: Buffer | BufferRegion,
    *,
    order: Order = "relaxed",
    scope: Scope | None = None,
) -> Tile | Scalar:
    """Replaces each element that has the bits of `expected` by `value`, atomically.

    Args:
        expected, value: as the value of :func:`atomic_add`.
        dest: a buffer, a region, or a single element.
        order, scope: as for :func:`atomic_add`.

    Returns:
        The old values, also where nothing was replaced: compare them with `expected`.

    Raises:
        LanguageError: as :func:`atomic_add`.

    Example:
        >>> counts = tl.alloc_shared((4,), tl.i32)
        >>> counts[0:4] = tl.arange(4)
        >>> tl.atomic_cas(2, 9, counts[0:4])
        [0, 1, 2, 3]
        >>> tl.load(counts)
        [0, 1, 9, 3]
    """
    what = "tl.atomic_cas"
    attributes = _attributes(order, scope, what)
    dest = gathers.refuse_indices(as_region(dest, what), what)
    dest = _check_elements(dest, "cas", what)
    op = tile.AtomicCASOp(
        _as_operand(expected, dest, what).ir,
        _as_operand(value, dest, what).ir,
        dest.buffer.ir,
        *mlir_region(dest),
        **attributes,
    )
    return _result(op.old, dest)


def atomic_load(
    source: Buffer | BufferRegion,
    *,
    order: Literal["relaxed", "acquire"] = "relaxed",
    scope: Scope | None = None,
) -> Tile | Scalar:
    """Loads a region that other blocks may write at the same time, anew each time.

    Args:
        source: a buffer or a region with a static size, or a single element.
        order: ``"relaxed"`` or ``"acquire"``.
        scope: between which threads.

    Returns:
        A fragment of the region's shape, zero outside of the buffer; a scalar for a
        single element.

    Raises:
        LanguageError: the region has no static size, or `order` or `scope` is none of
            the above.

    Example:
        >>> flags = tl.alloc_shared((2,), tl.i32)
        >>> flags[0:2] = tl.arange(2)
        >>> tl.atomic_load(flags[1], order="acquire")
        1
    """
    return load_region(source, None, order, scope, "tl.atomic_load")


def load_region(
    source: Buffer | BufferRegion, shape: Any, order: Any, scope: Any, what: str
) -> Tile | Scalar:
    """The atomic load, of a shape if the region has no size.

    ``what`` names the function that was called in errors.
    """
    attributes = _attributes(order, scope, what, _LOADS)
    source = gathers.refuse_indices(as_region(source, what), what)
    packed.refuse(source, what)
    if shape is not None:
        shape = static_shape(shape, what)
        type_ = ir.RankedTensorType.get(shape, source.dtype.to_ir())
        region = mlir_region(source)
        op = tile.AtomicLoadOp(type_, source.buffer.ir, *region, **attributes)
        return Tile(op.result, source.dtype)
    if source.shape is None and not source.offsets:
        raise LanguageError(
            f"{what}: the extents of {describe(source.buffer)} are known only at "
            "launch",
            "load a region of it: A[i:i + 128]",
        )
    type_ = ir.RankedTensorType.get(source.shape or (), source.dtype.to_ir())
    op = tile.AtomicLoadOp(type_, source.buffer.ir, *mlir_region(source), **attributes)
    return _result(op.result, source)


def fence(
    *,
    order: Literal["acquire", "release", "acq_rel"] = "acq_rel",
    scope: Scope | None = None,
) -> None:
    """Orders the accesses of the block before it and after it.

    With a relaxed atomic access after it, a fence that releases does what that access
    would do with ``order="release"``; with one before it, a fence that acquires does
    what that one would do with ``order="acquire"``.

    Args:
        order: ``"acquire"``, ``"release"`` or ``"acq_rel"``.
        scope: between which threads; the device by default.

    Raises:
        LanguageError: `order` or `scope` is none of the above.

    Example:
        @tilews.kernel
        def sum_blocks(
            X: tl.Tensor["N, 64", tl.i32],
            Parts: tl.Tensor["N", tl.i32],
            Done: tl.Tensor["1", tl.i32],
            Y: tl.Tensor["1", tl.i32],
        ):
            i = tl.grid(X.shape[0])
            Parts[i] = tl.sum(tl.load(X[i, 0:64]))
            tl.fence(order="release")
            if tl.atomic_add(1, Done[0]) == tl.num_blocks() - 1:  # the last block
                tl.fence(order="acquire")
                total = 0
                for j in tl.range(tl.num_blocks()):
                    total += tl.load(Parts[j])
                Y[0] = total

        x, y = np.ones((9, 64), np.int32), np.zeros(1, np.int32)
        sum_blocks(x, np.zeros(9, np.int32), np.zeros(1, np.int32), y)
        assert y[0] == x.sum()
    """
    tile.FenceOp(**_attributes(order, scope, "tl.fence", _ORDERS[1:]))
