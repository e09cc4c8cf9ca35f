"""Functions that inspect and change operations of a module."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator

from .. import ir

#: Operations that wait for another thread or unit.
WAITS = {
    "tile.acquire",
    "tile.barrier",
    "tile.copy_group_wait",
    "tile.gemm_wait",
    "tile.mbarrier_ready",
    "tile.mbarrier_wait",
    "tile.wait",
}
#: Operations that another thread waits for.
SIGNALS = {
    "tile.commit",
    "tile.commit_group",
    "tile.mbarrier_arrive",
    "tile.mbarrier_expect",
    "tile.release",
}
SYNCHRONIZING = WAITS | SIGNALS | {"tile.proxy_fence"}
#: Operations on a slot of a channel.
TRANSACTIONS = {"tile.acquire", "tile.commit", "tile.wait", "tile.release"}
#: Operations on an mbarrier.
ON_BARRIERS = {"tile.mbarrier_arrive", "tile.mbarrier_expect", "tile.mbarrier_wait"}

_PURE_DIALECTS = {"affine", "arith", "math", "tensor", "ub", "vector"}
_PURE = {
    "gpu.block_id",
    "gpu.grid_dim",
    "memref.dim",
    *(
        f"tile.{name}"
        for name in (
            "advance broadcast convert_layout cursor expand_dims flip iota reduce "
            "reshape scan slot transpose view"
        ).split()
    ),
}
_TERMINATORS = {"gpu.return", "scf.condition", "scf.yield", "tile.yield"}


def walk(root: ir.Operation) -> list[ir.Operation]:
    """`root` and all operations in it, in pre-order."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        found.append(op.operation)
        return ir.WalkResult.ADVANCE

    root.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def short_name(op: ir.Operation) -> str:
    """The name of an operation without its dialect."""
    return op.name.partition(".")[2]


def parent(op: ir.Operation) -> ir.Operation:
    """The operation that `op`, which is no module, is in."""
    return next(ancestors(op))


def ancestors(op: ir.Operation) -> Iterator[ir.Operation]:
    """The operations that `op` is in, from the inside out."""
    found = op.parent
    while found is not None:
        yield found.operation
        found = found.operation.parent


def enclosing(op: ir.Operation, name: str) -> ir.Operation | None:
    """The innermost operation of a name that `op` is in."""
    return next((each for each in ancestors(op) if each.name == name), None)


def kernel_of(op: ir.Operation) -> ir.Operation:
    """The kernel that `op` is in."""
    return next(each for each in ancestors(op) if each.name == "gpu.func")


def block_of(op: ir.Operation) -> list[ir.Operation]:
    """The operations of the block that `op` is in."""
    return [each.operation for each in op.block.operations]


def following(op: ir.Operation) -> ir.Operation | None:
    """The operation after `op` in its block."""
    block = block_of(op)
    place = block.index(op) + 1
    return block[place] if place < len(block) else None


def terminator(block: ir.Block) -> ir.Operation:
    """The last operation of a block."""
    return block.operations[len(block.operations) - 1].operation


def is_terminator(op: ir.Operation) -> bool:
    return op.name in _TERMINATORS


def is_pure(op: ir.Operation) -> bool:
    """Whether an operation, including its regions, only computes values.

    A layout conversion, flip, reduction or scan that has scratch memory writes to it.
    """
    if "tile.offset" in op.attributes:
        return False
    if op.name.partition(".")[0] in _PURE_DIALECTS or op.name in _PURE:
        return True
    if op.name not in ("scf.if", "scf.for", "scf.while"):
        return is_terminator(op)
    return all(is_pure(each) for each in walk(op)[1:])


def has_synchronization(op: ir.Operation) -> bool:
    """Whether an operation in `op` synchronizes."""
    return any(each.name in SYNCHRONIZING for each in walk(op)[1:])


def defining(value: ir.Value) -> ir.Operation | None:
    """The operation whose result `value` is; None for arguments of blocks."""
    owner = value.owner
    return None if isinstance(owner, ir.Block) else owner.operation


def number_of(value: ir.Value) -> int | None:
    """The natural number that constants determine; None if there is none.

    Numbers on the way are natural, too, and fit into their types as signed numbers. So
    no operation wraps around, and signed and unsigned arithmetic agree. For example,
    ``remui(subi(0, 1), 3)`` has no number here: it is 0 in i32, where 0 - 1 is
    4294967295, and 2 in Python.
    """
    maker = defining(value)
    if maker is None:
        return None
    if maker.name == "arith.constant":
        attribute = maker.attributes["value"]
        found = attribute.value if isinstance(attribute, ir.IntegerAttr) else None
    else:
        compute = _COMPUTE.get(maker.name)
        parts = [number_of(each) for each in maker.operands]
        if compute is None or None in parts:
            return None
        if compute is operator.mod and not parts[1]:
            return None
        found = compute(*parts)
    fits = found is not None and found in _natural_numbers(value.type)
    return found if fits else None


def _natural_numbers(type_: ir.Type) -> range:
    """The natural numbers of a type; an index has 32 bits on some targets."""
    width = type_.width if isinstance(type_, ir.IntegerType) else _INDEX_WIDTH
    return range(1 << (width - 1))


_INDEX_WIDTH = 32
#: What :func:`number_of` computes.
_COMPUTE: dict[str, Callable[..., int]] = {
    "arith.addi": operator.add,
    "arith.muli": operator.mul,
    "arith.remui": operator.mod,
    "arith.subi": operator.sub,
}


def is_defined_in(value: ir.Value, op: ir.Operation) -> bool:
    """Whether `value` belongs to an operation or a block in `op`."""
    owner = value.owner
    inside = owner.owner if isinstance(owner, ir.Block) else owner
    if isinstance(owner, ir.Block) and inside.operation == op:
        return True
    return inside.operation != op and op in ancestors(inside.operation)


def uses(op: ir.Operation) -> list[ir.OpOperand]:
    """All uses of the results of `op`."""
    return [use for result in op.results for use in result.uses]


def before(op: ir.Operation) -> ir.InsertionPoint:
    return ir.InsertionPoint(op)


def after(op: ir.Operation) -> ir.InsertionPoint:
    return ir.InsertionPoint.after(op)


def create(
    name: str,
    place: ir.InsertionPoint,
    results: Iterable[ir.Type] = (),
    operands: Iterable[ir.Value] = (),
    **attributes: ir.Attribute,
) -> ir.Operation:
    neighbour = place.ref_operation or place.block.owner
    return ir.Operation.create(
        name,
        results=list(results),
        operands=list(operands),
        attributes=attributes,
        ip=place,
        loc=neighbour.location,
    )


def constant(value: int, type_: ir.Type, place: ir.InsertionPoint) -> ir.Value:
    attribute = ir.IntegerAttr.get(type_, value)
    return create("arith.constant", place, [type_], value=attribute).results[0]


def binary(
    name: str, lhs: ir.Value, rhs: ir.Value, place: ir.InsertionPoint
) -> ir.Value:
    return create(name, place, [lhs.type], [lhs, rhs]).results[0]


def advance(cursor: ir.Value, times: int, place: ir.InsertionPoint) -> ir.Value:
    """`cursor` a number of transactions later."""
    for _ in range(times):
        cursor = create("tile.advance", place, [cursor.type], [cursor]).results[0]
    return cursor


def start(type_: ir.Type, value: int, place: ir.InsertionPoint) -> ir.Value:
    """A new cursor, advanced a number of times, or that number."""
    if not is_cursor(type_):
        return constant(value, type_, place)
    cursor = create("tile.cursor", place, [type_]).results[0]
    return advance(cursor, value, place)


def slot_of(op: ir.Operation) -> tuple[int, int] | None:
    """(index of the operand that is a slot or cursor, number of slots), or None."""
    for index, operand in enumerate(op.operands):
        type_ = operand.type
        if is_cursor(type_):
            return index, depth(type_)
        if str(type_).startswith("!tile.mbarrier<"):
            return index + 1, depth(type_)
        if op.name == "tile.slot":
            return 1, ir.MemRefType(type_).shape[0]
    return None


def carried_state(op: ir.Operation, first: int = 0) -> list[int]:
    """Indices, from `first` on, of operands that may be cursors.

    Once channels are lowered, a cursor is two i32: slot and phase.
    """
    return [
        index
        for index, each in enumerate(op.operands)
        if index >= first and (is_cursor(each.type) or str(each.type) == "i32")
    ]


def step(op: ir.Operation, down: bool) -> ir.Operation | None:
    """The nearest operation above or below with an effect; None at the end."""
    block = block_of(op)
    here = block.index(op)
    others = block[here + 1 :] if down else reversed(block[:here])
    return next((each for each in others if not is_pure(each)), None)


def steps(op: ir.Operation, down: bool, count: int) -> ir.Operation | None:
    """The operation that `count` calls of :func:`step` lead to; None if one fails."""
    place: ir.Operation | None = op
    for _ in range(count):
        if place is None:
            return None
        place = step(place, down)
    return place


def is_cursor(type_: ir.Type) -> bool:
    return str(type_).startswith("!tile.cursor<")


def depth(type_: ir.Type) -> int:
    """The number of slots of a channel, a cursor or an mbarrier."""
    return int(str(type_).partition("<")[2].rstrip(">"))


def operand_index(op: ir.Operation, wanted: ir.Value) -> int:
    return next(i for i, each in enumerate(op.operands) if each == wanted)


def erase(op: ir.Operation) -> bool:
    """Removes an operation and replaces its results by its operands of the same types.

    Returns:
        False, with nothing changed, if there is no such operand for a result.
    """
    values = list(op.operands)
    for result in op.results:
        if not any(value.type == result.type for value in values):
            return False
    for result in op.results:
        result.replace_all_uses_with(next(v for v in values if v.type == result.type))
    op.erase()
    return True


def move_before(op: ir.Operation, place: ir.Operation) -> bool:
    """Moves `op`, and the pure operations that it uses, before `place` in its block.

    Returns:
        False, with nothing changed, if `op` uses an operation in between that has
        effects.
    """
    block = block_of(op)
    group = [op]
    for each in reversed(block[block.index(place) : block.index(op)]):
        if any(_uses(other, each) for other in group):
            if not is_pure(each):
                return False
            group.append(each)
    for each in reversed(group):
        each.move_before(place)
    return True


def move_after(op: ir.Operation, place: ir.Operation) -> bool:
    """Moves `op`, and the pure operations that use it, after `place` in its block.

    Returns:
        False, with nothing changed, if an operation in between that has effects uses
        `op`.
    """
    block = block_of(op)
    group = [op]
    for each in block[block.index(op) + 1 : block.index(place) + 1]:
        if any(_uses(each, other) for other in group):
            if not is_pure(each) or is_terminator(each):
                return False
            group.append(each)
    for each in reversed(group):
        each.move_after(place)
    return True


def _uses(op: ir.Operation, other: ir.Operation) -> bool:
    """Whether `op`, or an operation in it, has a result of `other` as an operand."""
    users = [use.owner.operation for use in uses(other)]
    return bool(users) and any(each in users for each in walk(op))


def rebuild(
    value: ir.Value, around: ir.Operation, place: ir.InsertionPoint, *, last: bool
) -> ir.Value | None:
    """Computes a value of the body of `around` at a place outside of it.

    A value that a loop carries has its initial value there, or its last one if `last`.
    The operations that compute `value` are cloned to `place`.

    Returns:
        The value at `place`; None if an operation that computes it is not pure.
    """
    if not is_defined_in(value, around):
        return value
    op = defining(value)
    if op is None:
        return _carried(ir.BlockArgument(value), around, last=last)
    if not is_pure(op) or op.regions:
        return None
    operands = rebuild_all(op.operands, around, place, last=last)
    if operands is None:
        return None
    return clone(op, place, operands).results[ir.OpResult(value).result_number]


def rebuild_all(
    values: Iterable[ir.Value],
    around: ir.Operation,
    place: ir.InsertionPoint,
    *,
    last: bool,
) -> list[ir.Value] | None:
    """The results of :func:`rebuild`; None if one of them is None."""
    found = []
    for value in values:
        rebuilt = rebuild(value, around, place, last=last)
        if rebuilt is None:
            return None
        found.append(rebuilt)
    return found


def clone(
    op: ir.Operation, place: ir.InsertionPoint, operands: Iterable[ir.Value]
) -> ir.Operation:
    """A copy of an operation that has other operands."""
    copy = op.clone(ip=place).operation
    for index, operand in enumerate(operands):
        copy.operands[index] = operand
    return copy


def _carried(
    value: ir.BlockArgument, around: ir.Operation, *, last: bool
) -> ir.Value | None:
    """The value of an iteration argument of `scf.for` before or after the loop."""
    if around.name != "scf.for" or value.owner.owner.operation != around:
        return None
    number = value.arg_number - 1
    if number < 0:  # The induction variable.
        return None if last else around.operands[0]
    return around.results[number] if last else around.operands[3 + number]
