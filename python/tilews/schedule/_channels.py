"""Versions of buffers, channels and cursors of :mod:`tilews.schedule`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from .. import _tilews, ir
from .._support.locations import innermost
from ..dialects import tile
from ..errors import CompileError, LanguageError
from ..language import integers

#: An operation, or the view of it that its dialect has.
Op = ir.Operation | ir.OpView

Result = TypeVar("Result")


def as_operation(value: Any, what: str) -> ir.Operation:
    """The operation of an operation or a view.

    Raises:
        TypeError: `value` is neither; `what` names the argument in the message.
        RuntimeError: it was erased or replaced.
    """
    if not isinstance(value, (ir.Operation, ir.OpView)):
        raise TypeError(f"{what}: expected an operation, found {value!r:.80}")
    operation = value.operation
    operation.name  # noqa: B018 (raises if it was replaced)
    return operation


def replace_operations(
    inside: ir.Operation, function: Callable[..., Result], *args: Any
) -> Result:
    """Calls a function that replaces operations of a kernel.

    Args:
        inside: the kernel, or an operation in it.
        function: of the native module, is called with `args`. What it returns stays
            valid; other operations, values and blocks that were found in the kernel
            become invalid.

    Raises:
        ValueError: an operation outside of the kernel uses a value in it.
    """
    kernel = inside
    while kernel.name != "gpu.func" and (parent := kernel.parent):
        kernel = parent
    return kernel._replace_nested(function, *args)


def as_value(value: Any, what: str) -> ir.Value:
    """A value, or the only result of an operation.

    Raises:
        TypeError: `value` is neither; `what` names the argument in the message.
        RuntimeError: it was erased or replaced.
    """
    if isinstance(value, (ir.Operation, ir.OpView)) and len(value.results) == 1:
        return value.results[0]
    if not isinstance(value, ir.Value):
        raise TypeError(f"{what}: expected a value, found {value!r:.80}")
    value.type  # noqa: B018 (raises if its operation was replaced)
    return value


def check_integer(
    value: Any,
    what: str,
    *,
    low: int = 1,
    high: int = integers.INT32_MAX,
    at: Any = None,
) -> int:
    """A Python or numpy integer in a range, as a Python integer.

    Raises:
        CompileError: it is something else, with the place of the operation `at`.
    """
    try:
        return integers.check_integer(value, what, low, high)
    except LanguageError as error:
        raise CompileError(f"{_place(at)}error: {error.message}") from None


def _place(op: ir.Operation | None) -> str:
    """The location of an operation as a prefix of messages; empty if unknown."""
    location = None if op is None else innermost(op.location)
    if location is None or not location.is_a_file():
        return ""
    return f"{location.filename}:{location.start_line}:{location.start_col}: "


# --- Buffers ---------------------------------------------------------------------


def expand_layout(buffer: ir.Type | ir.Value | Op, depth: int) -> ir.Type:
    """The type of `depth` versions of a shared buffer.

    A new leading dimension selects the version. If the buffer has a layout, each
    version has it and starts at a multiple of the swizzle's span.

    Raises:
        CompileError: `buffer` is no shared buffer, or its layout does not allow as many
            versions.
    """
    if not isinstance(buffer, ir.Type):
        buffer = as_value(buffer, "buffer").type
    depth = check_integer(depth, "depth", high=64)
    with buffer.context:
        return _tilews._versioned_type(buffer, depth, ir.Location.unknown())


def version_buffer(buffer: ir.Value | Op, depth: int) -> ir.Value:
    """Allocates `depth` versions of a buffer, before its ``tile.alloc_shared``.

    The buffer itself stays; :func:`use_version` lets operations use a version.

    Args:
        buffer: the result of a ``tile.alloc_shared``.
        depth: the number of versions, 1 to 64.

    Returns:
        A buffer of shape (depth, ...).

    Raises:
        CompileError: as for :func:`expand_layout`, or `buffer` is another value.
    """
    buffer = as_value(buffer, "buffer")
    alloc = buffer.owner
    if isinstance(alloc, ir.Block) or not isinstance(alloc.opview, tile.AllocSharedOp):
        raise CompileError(
            "expected a buffer that 'tile.alloc_shared' makes, found a value of "
            f"type {buffer.type}"
        )
    versions = expand_layout(buffer, depth)
    with ir.InsertionPoint(alloc), alloc.location:
        return tile.alloc_shared(versions, alignment=alloc.opview.alignment)


def use_version(
    op: Op, buffer: ir.Value | Op, versions: ir.Value, cursor: ir.Value
) -> None:
    """Lets an operation, including its regions, use a version instead of a buffer.

    Args:
        op: an operation. Its uses of the buffer, and of views of the buffer, become
            uses of the version that `cursor` points to.
        buffer: the result of a ``tile.alloc_shared``.
        versions: versions of the buffer, see :func:`version_buffer`.
        cursor: a cursor of the same depth.

    Raises:
        CompileError: the types do not fit, or a value does not dominate the operation.
    """
    _tilews._use_version(
        as_operation(op, "op"),
        as_value(buffer, "buffer"),
        as_value(versions, "versions"),
        as_value(cursor, "cursor"),
    )


# --- Channels and cursors ----------------------------------------------------------


def _depth(value: ir.Value, kind: str) -> int:
    """The depth of a channel or a cursor."""
    text = str(value.type)
    if not text.startswith(f"!tile.{kind}<"):
        raise CompileError(f"expected a {kind}, found a value of type {value.type}")
    return int(text.removeprefix(f"!tile.{kind}<").removesuffix(">"))


def _type(kind: str, depth: int, context: ir.Context) -> ir.Type:
    try:
        return ir.Type.parse(f"!tile.{kind}<{depth}>", context)
    except ir.MLIRError as error:
        reasons = "; ".join(str(d.message) for d in error.error_diagnostics)
        raise CompileError(f"{kind}: {reasons}") from None


def make_channel(
    buffers: Sequence[ir.Value], producer: str = "mixed", depth: int | None = None
) -> ir.Value:
    """Makes a channel of buffers, at the current insertion point.

    Args:
        buffers: shared buffers with the slots as leading dimension.
        producer: the instructions that fill the slots: ``tma``, ``cp_async``, ``simt``,
            or ``mixed`` for several of these.
        depth: the number of slots; needed only without buffers.

    Raises:
        CompileError: the leading dimensions differ, or there is no such producer.
    """
    buffers = [as_value(buffer, "buffers") for buffer in buffers]
    context = ir.InsertionPoint.current.block.owner.context
    depths = {ir.MemRefType(buffer.type).shape[0] for buffer in buffers}
    depths |= set() if depth is None else {check_integer(depth, "depth", high=64)}
    if len(depths) != 1:
        raise CompileError(
            "a channel has as many slots as each of its buffers has versions, found "
            f"{', '.join(map(str, sorted(depths))) or 'no buffers and no depth'}"
        )
    kinds = ("tma", "cp_async", "simt", "mixed")
    if producer not in kinds:
        raise CompileError(
            f"producer: expected one of {', '.join(kinds)}, found {producer!r}"
        )
    kind = ir.Attribute.parse(f"#tile.producer<{producer}>", context)
    type_ = _type("channel", depths.pop(), context)
    return tile.channel(type_, buffers, kind, loc=_location(*buffers))


def make_cursor(depth: int) -> ir.Value:
    """Makes a cursor at the first transaction, at the current insertion point."""
    context = ir.InsertionPoint.current.block.owner.context
    depth = check_integer(depth, "depth", high=64)
    return tile.cursor(_type("cursor", depth, context), loc=_location())


def advance(cursor: ir.Value) -> ir.Value:
    """The cursor of the next transaction.

    Raises:
        CompileError: `cursor` is no cursor.
    """
    cursor = as_value(cursor, "cursor")
    _depth(cursor, "cursor")
    return tile.advance(cursor, loc=_location(cursor))


def slot(versions: ir.Value, cursor: ir.Value) -> ir.Value:
    """The version of a buffer that a cursor points to.

    Raises:
        CompileError: the number of versions is not the depth of the cursor.
    """
    versions, cursor = as_value(versions, "versions"), as_value(cursor, "cursor")
    depth = _depth(cursor, "cursor")
    with versions.context:
        type_ = _tilews._slot_type(versions.type, ir.Location.unknown())
    found = ir.MemRefType(versions.type).shape[0]
    if found != depth:
        raise CompileError(
            f"the cursor is of a channel with {depth} slots, the buffer has {found} "
            "versions"
        )
    return tile.slot(type_, versions, cursor, loc=_location(cursor))


def acquire(channel: ir.Value, cursor: ir.Value) -> tile.AcquireOp:
    """Waits until the slot at the cursor can be filled."""
    return _transaction(tile.acquire, channel, cursor)


def commit(channel: ir.Value, cursor: ir.Value) -> tile.CommitOp:
    """Completes the fill of the slot, once its copies have landed."""
    return _transaction(tile.commit, channel, cursor)


def wait(channel: ir.Value, cursor: ir.Value) -> tile.WaitOp:
    """Waits until the slot can be read."""
    return _transaction(tile.wait, channel, cursor)


def release(channel: ir.Value, cursor: ir.Value) -> tile.ReleaseOp:
    """Gives the slot back to the producer."""
    return _transaction(tile.release, channel, cursor)


def _transaction(build: Any, channel: ir.Value, cursor: ir.Value) -> Any:
    channel, cursor = as_value(channel, "channel"), as_value(cursor, "cursor")
    depth, found = _depth(channel, "channel"), _depth(cursor, "cursor")
    if depth != found:
        raise CompileError(
            f"the channel has {depth} slots, but the cursor is of one with {found}"
        )
    return build(channel, cursor, loc=_location(channel))


def _location(*values: ir.Value) -> ir.Location:
    """The current location or, without one, that of a value."""
    current = ir.Location.current if _has_location() else None
    if current is not None:
        return current
    for value in values:
        return value.location
    block = ir.InsertionPoint.current.block
    return block.owner.location


def _has_location() -> bool:
    try:
        return ir.Location.current is not None
    except ValueError:
        return False


def carry_cursors(kernel: Op, cursors: Sequence[ir.Value]) -> None:
    """Makes loops and branches carry cursors.

    A schedule can be written as if each cursor were a variable that :func:`advance`
    changes. This function puts that into SSA form: every use gets the value of the
    cursor at its place, and ``scf.for``, ``scf.if`` and ``scf.while`` carry it.
    Replaces operations, among them the loops and branches that carry a cursor.

    Args:
        kernel: the ``gpu.func``.
        cursors: results of ``tile.cursor`` in the kernel's body.

    Raises:
        CompileError: a value is no such cursor.
    """
    operation = as_operation(kernel, "kernel")
    values = [as_value(cursor, "cursors") for cursor in cursors]
    replace_operations(operation, _tilews._carry_cursors, operation, values)
