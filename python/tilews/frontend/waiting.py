"""Loads that a ``while`` waits for: atomic loads, which read memory anew each time.

A compiler may take an ordinary load out of a loop that does not write its memory, since
only a data race could change the value. A loop that waits for another block would then
never end, or be deleted. So the loads that the condition depends on become
``tile.atomic_load``s that acquire::

    while tl.sum(tl.load(F[0:8])) < 8: pass

The condition depends on a load if its backward slice has it: the operands of
operations, through the results and the carried values of loops and conditionals, whose
bounds and conditions count, too. Two kinds of such loads become atomic:

* those whose place is the same in each iteration, so that only another block can end
  the loop: its slice has no value that the loop carries;
* those of a buffer that the kernel writes.

So do loads of the same buffers before the loop that the condition depends on. Others
end a loop by their place: a binary search in an array that the kernel only reads has
ordinary loads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .. import ir
from ..dialects import tensor, tile
from ..errors import KernelError

_LOADS = ("memref.load", "tile.load", "tile.gather")
_VIEWS = ("tile.subview", "tile.view", "memref.cast")
_READS = (*_LOADS, "tile.atomic_load", "memref.dim")

_Fail = Callable[[ir.Location, str, str], KernelError]


def order_waits(kernel: ir.OpView, fail: _Fail) -> None:
    """Makes the loads of a kernel that its loops wait for atomic.

    Args:
        kernel: the ``gpu.func``.
        fail: makes the error at a place, of a message and a hint.

    Raises:
        KernelError: a loop waits for a load that cannot be atomic.
    """
    waits: dict[ir.Operation, bool] = {}
    for loop in _walk(kernel.operation, "scf.while"):
        before, after = (region.blocks[0] for region in loop.regions)
        arguments = {*before.arguments, *after.arguments}
        condition = before.operations[len(before.operations) - 1].operands[0]
        roots = set()
        for op in _loads(condition, loop):
            places = _slice(list(op.operands)[1:], loop)[1]
            repeats = not (places & arguments)
            if repeats or _is_written(op.operands[0], kernel):
                waits[op] = waits.get(op, False) or repeats
                roots.add(_root(op.operands[0]))
        for op in _loads(condition, kernel.operation) if roots else ():
            # What the loop starts with may end the wait, too.
            if _root(op.operands[0]) in roots:
                waits.setdefault(op, False)
    for op, repeats in waits.items():
        if op.name == "memref.load" or not _has_choices(op):
            _make_atomic(op)
        elif repeats:
            raise fail(
                op.location,
                "the loop waits for this load, which has indices, a mask, padding or a "
                "run-time size, and so cannot read memory anew in each iteration",
                "load before the loop what no other block writes, and wait with "
                "tl.atomic_load(F[i:i + 8])",
            )


def _walk(op: ir.Operation, name: str) -> Iterator[ir.Operation]:
    for region in op.regions:
        for block in region.blocks:
            for child in block.operations:
                if child.operation.name == name:
                    yield child.operation
                yield from _walk(child.operation, name)


def _loads(condition: ir.Value, loop: ir.Operation) -> list[ir.Operation]:
    """The loads of global memory in a loop that its condition depends on."""
    return [
        op
        for op in _slice([condition], loop)[0]
        if op.name in _LOADS and _is_global(op.operands[0])
    ]


def _slice(
    values: list[ir.Value], loop: ir.Operation
) -> tuple[list[ir.Operation], set[ir.Value]]:
    """The operations in a loop that values depend on, and all these values."""
    work, seen = list(values), set()
    found: dict[ir.Operation, None] = {}
    while work:
        value = work.pop()
        if value in seen:
            continue
        seen.add(value)
        if isinstance(value.owner, ir.Block):
            op = value.owner.owner.operation
            if _contains(loop, op):
                work += _argument_sources(value, op)
        elif _contains(loop, value.owner.operation):
            op = value.owner.operation
            found[op] = None
            work += _result_sources(value, op)
    return list(found), seen


def _contains(loop: ir.Operation, op: Any) -> bool:
    while op is not None and op.operation != loop:
        op = op.operation.parent
    return op is not None


def _terminators(op: ir.Operation) -> list[ir.Operation]:
    blocks = [block for region in op.regions for block in region.blocks]
    return [block.operations[len(block.operations) - 1].operation for block in blocks]


def _argument_sources(argument: Any, op: ir.Operation) -> list[ir.Value]:
    """What an argument of a block of an operation depends on."""
    number = ir.BlockArgument(argument).arg_number
    operands = list(op.operands)
    ends = _terminators(op)
    if op.name == "scf.for":
        if number == 0:
            return operands[:3]
        return [operands[2 + number], ends[0].operands[number - 1]]
    if op.name == "scf.while":
        condition, iteration = ends
        if argument.owner == op.regions[0].blocks[0]:
            return [operands[number], iteration.operands[number]]
        return [condition.operands[0], condition.operands[1 + number]]
    return operands + [value for end in ends for value in end.operands]


def _result_sources(result: Any, op: ir.Operation) -> list[ir.Value]:
    """What a result of an operation depends on."""
    number = ir.OpResult(result).result_number
    operands = list(op.operands)
    ends = _terminators(op)
    if op.name == "scf.for":
        return [*operands[:3], operands[3 + number], ends[0].operands[number]]
    if op.name == "scf.if":
        return operands + [end.operands[number] for end in ends]
    if op.name == "scf.while":
        return [ends[0].operands[0], ends[0].operands[1 + number]]
    return operands + [value for end in ends for value in end.operands]


# ===--- Buffers ---=== #


def _is_global(buffer: ir.Value) -> bool:
    return ir.MemRefType(buffer.type).memory_space is None


def _root(buffer: ir.Value) -> ir.Value:
    while not isinstance(buffer.owner, ir.Block):
        buffer = buffer.owner.operands[0]
    return buffer


def _is_written(buffer: ir.Value, kernel: ir.OpView) -> bool:
    """Whether a kernel may write a buffer in global memory."""
    arguments = list(kernel.regions[0].blocks[0].arguments)
    root = _root(buffer)
    roots = {root}
    if "tile.may_alias" in kernel.attributes:
        for pair in ir.ArrayAttr(kernel.attributes["tile.may_alias"]):
            both = {arguments[number] for number in ir.DenseI32ArrayAttr(pair)}
            roots |= both if root in both else set()
    return any(map(_has_writes, roots))


def _has_writes(buffer: ir.Value) -> bool:
    """Whether an operation other than reads uses a buffer or a view of it."""
    for use in buffer.uses:
        op = use.owner.operation
        if op.name in _VIEWS:
            if _has_writes(op.results[0]):
                return True
        elif op.name not in _READS and not (
            op.name == "tile.copy" and use.operand_number == 0
        ):
            return True
    return False


# ===--- Atomic loads ---=== #


def _has_choices(op: ir.Operation) -> bool:
    """Whether a load has what an atomic load does not have."""
    load: Any = op.opview
    return op.name == "tile.gather" or load.padding is not None


def _make_atomic(op: ir.Operation) -> None:
    """Replaces an ordinary load by an atomic one that acquires."""
    order = ir.Attribute.parse("#tile.order<acquire>", op.context)
    buffer, *offsets = op.operands
    with op.location, ir.InsertionPoint(op):
        if op.name == "tile.load":
            static, sizes = op.attributes["static_offsets"], op.attributes["sizes"]
            type_ = op.results[0].type
        else:
            offsets, static = _split(offsets)
            sizes = ir.DenseI64ArrayAttr.get([])
            type_ = ir.RankedTensorType.get((), op.results[0].type)
        load = tile.AtomicLoadOp(type_, buffer, offsets, static, sizes, order=order)
        result = load.result
        if op.name == "memref.load":
            result = tensor.extract(result, [])
    op.results[0].replace_all_uses_with(result)
    op.erase()


def _split(offsets: list[ir.Value]) -> tuple[list[ir.Value], ir.Attribute]:
    """Offsets as the operations take them: those that vary, and all constants."""
    dynamic, static = [], []
    for offset in offsets:
        owner: Any = offset.owner
        if getattr(owner, "name", None) == "arith.constant":
            static.append(ir.IntegerAttr(owner.attributes["value"]).value)
        else:
            dynamic.append(offset)
            static.append(ir.ShapedType.get_dynamic_size())
    return dynamic, ir.DenseI64ArrayAttr.get(static)
