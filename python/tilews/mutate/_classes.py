"""The classes of mutants: what can be done to synchronization to break it.

A class is a function that changes one operation of a module in place. It is called
with a number, that of the variant, and returns False if there is no such variant.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from .. import ir
from . import _edits
from ._edits import SYNCHRONIZING, TRANSACTIONS

Function = Callable[[ir.Operation, int], bool]


@dataclasses.dataclass(frozen=True)
class MutationClass:
    """What is done (`summary`) to operations of the names `on` by `function`."""

    name: str
    summary: str
    on: frozenset[str]
    function: Function


CLASSES: dict[str, MutationClass] = {}


def _mutation(name: str, *on: str) -> Callable[[Function], Function]:
    """Registers a class, which applies to operations of the names `on`."""

    def register(function: Function) -> Function:
        summary = (function.__doc__ or "").partition("\n")[0].rstrip(".")
        CLASSES[name] = MutationClass(name, summary, frozenset(on), function)
        return function

    return register


# --- Whole operations ----------------------------------------------------------


@_mutation("drop", *SYNCHRONIZING)
def _drop(op: ir.Operation, variant: int) -> bool:
    """The operation is gone."""
    return variant == 0 and _edits.erase(op)


@_mutation("duplicate", *SYNCHRONIZING)
def _duplicate(op: ir.Operation, variant: int) -> bool:
    """The operation is there twice."""
    if variant or op.results:
        return False
    op.clone(ip=_edits.before(op))
    return True


@_mutation("move-earlier", *SYNCHRONIZING)
def _move_earlier(op: ir.Operation, variant: int) -> bool:
    """It comes before the operation that it came after; variant n: before n + 1."""
    place = op
    for _ in range(variant + 1):
        place = _edits.step(place, down=False)
        if place is None:
            return False
    return _edits.move_before(op, place)


@_mutation("move-later", *SYNCHRONIZING)
def _move_later(op: ir.Operation, variant: int) -> bool:
    """It comes after the operation that it came before; variant n: after n + 1."""
    place = op
    for _ in range(variant + 1):
        place = _edits.step(place, down=True)
        if place is None or _edits.is_terminator(place):
            return False
    return _edits.move_after(op, place)


@_mutation("move-out", *SYNCHRONIZING)
def _move_out(op: ir.Operation, variant: int) -> bool:
    """It leaves its loop or guard: comes before it (0) or after it (1)."""
    around = _edits.parent(op)
    if variant > 1 or around.name not in ("scf.for", "scf.if"):
        return False
    last = variant == 1
    place = _edits.after(around) if last else _edits.before(around)
    operands = [_edits.rebuild(each, around, place, last=last) for each in op.operands]
    if any(each is None for each in operands):
        return False
    _edits.clone(op, place, operands)
    return _edits.erase(op)


@_mutation("move-in", *SYNCHRONIZING)
def _move_in(op: ir.Operation, variant: int) -> bool:
    """It slips into a loop or guard above (0) or below (1) it."""
    down = variant == 1
    place = _edits.step(op, down)
    if variant > 1 or op.results or place is None:
        return False
    if place.name not in ("scf.for", "scf.if"):
        return False
    inner = [each.operation for each in place.regions[0].blocks[0].operations]
    op.move_before(inner[0] if down else inner[-1])
    return True


@_mutation("other-branch", *SYNCHRONIZING)
def _other_branch(op: ir.Operation, variant: int) -> bool:
    """It is in the other branch of its guard."""
    around = _edits.parent(op)
    if variant or op.results or around.name != "scf.if":
        return False
    branches = [each.blocks[0] for each in around.regions if len(each.blocks)]
    if len(branches) < 2:
        return False
    other = branches[1] if op.block == branches[0] else branches[0]
    place = _edits.before(other.operations[len(other.operations) - 1].operation)
    operands = [_edits.rebuild(each, around, place, last=False) for each in op.operands]
    if any(each is None for each in operands):
        return False
    _edits.clone(op, place, operands)
    return _edits.erase(op)


# --- Who and what --------------------------------------------------------------

_OPPOSITE = {
    "tile.acquire": "tile.wait",
    "tile.wait": "tile.acquire",
    "tile.commit": "tile.release",
    "tile.release": "tile.commit",
}


@_mutation("other-side", *_OPPOSITE)
def _other_side(op: ir.Operation, variant: int) -> bool:
    """A role plays the other one: acquires for waits, commits for releases."""
    if variant:
        return False
    _edits.create(_OPPOSITE[op.name], _edits.before(op), operands=op.operands)
    op.erase()
    return True


_ON_BARRIERS = {
    "tile.mbarrier_arrive",
    "tile.mbarrier_expect",
    "tile.mbarrier_wait",
}


@_mutation("other-channel", *TRANSACTIONS, *_ON_BARRIERS, "tile.copy")
def _other_channel(op: ir.Operation, variant: int) -> bool:
    """It uses another channel, or another mbarrier, of the same type."""
    makers = ("tile.channel", "tile.mbarrier")
    for index, operand in enumerate(op.operands):
        maker = _edits.defining(operand)
        if maker is None or maker.name not in makers:
            continue
        others = [
            each
            for each in _edits.block_of(maker)
            if each.name == maker.name
            and each != maker
            and each.results[0].type == operand.type
        ]
        if variant >= len(others):
            return False
        if op.parent.operation == others[variant].parent.operation:
            if not others[variant].is_before_in_block(op):
                return False
        op.operands[index] = others[variant].results[0]
        return True
    return False


@_mutation("roles", "tile.specialize")
def _roles(op: ir.Operation, variant: int) -> bool:
    """Two roles do each other's work."""
    roles = [each.operation for each in op.regions[0].blocks[0].operations]
    pairs = [(a, b) for b in range(len(roles)) for a in range(b)]
    if variant >= len(pairs):
        return False
    first, second = (roles[i] for i in pairs[variant])
    one, other = (role.regions[0].blocks[0] for role in (first, second))
    moved = [list(block.operations) for block in (one, other)]
    for operations, block in zip(moved, (other, one), strict=True):
        for each in operations:
            block.append(each)
    return True


# --- Slots, phases and cursors -------------------------------------------------


def _cursor_of(op: ir.Operation) -> int | None:
    """The operand that is a cursor."""
    return next(
        (i for i, each in enumerate(op.operands) if _edits.is_cursor(each.type)), None
    )


def _replace_cursor(op: ir.Operation, times: int) -> bool:
    index = _cursor_of(op)
    if index is None:
        return False
    op.operands[index] = _edits.advance(op.operands[index], times, _edits.before(op))
    return True


@_mutation("phase", *TRANSACTIONS)
def _phase(op: ir.Operation, variant: int) -> bool:
    """It has the cursor's slot, but the other phase."""
    index = _cursor_of(op)
    return variant == 0 and _replace_cursor(op, _edits.depth(op.operands[index].type))


@_mutation("slot", *TRANSACTIONS, "tile.slot")
def _slot(op: ir.Operation, variant: int) -> bool:
    """It has the slot after (0) or before (1) the cursor's."""
    index = _cursor_of(op)
    if index is None or variant > 1:
        return False
    depth = _edits.depth(op.operands[index].type)
    # The slot before, in its phase, is one turn less one.
    return _replace_cursor(op, 1 if variant == 0 else 2 * depth - 1)


@_mutation("constant-cursor", *TRANSACTIONS, "tile.slot")
def _constant_cursor(op: ir.Operation, variant: int) -> bool:
    """It always has the first slot in the first phase."""
    index = _cursor_of(op)
    if variant or index is None:
        return False
    op.operands[index] = _edits.start(op.operands[index].type, _edits.before(op))
    return True


def _shift(cursor: ir.Value, times: int) -> bool:
    """Lets all users of a cursor have it a number of transactions later."""
    op = _edits.defining(cursor)
    place = _edits.after(op)
    first = _edits.advance(cursor, 1, place)
    last = _edits.advance(first, times - 1, place)
    cursor.replace_all_uses_except(last, _edits.defining(first))
    return True


@_mutation("start", "tile.cursor")
def _start(op: ir.Operation, variant: int) -> bool:
    """A cursor starts at the second slot (0), or in the second phase (1)."""
    times = [1, _edits.depth(op.results[0].type)]
    return variant < len(times) and _shift(op.results[0], times[variant])


@_mutation("not-advanced", "tile.advance")
def _not_advanced(op: ir.Operation, variant: int) -> bool:
    """The cursor stays."""
    return variant == 0 and _edits.erase(op)


@_mutation("advanced-twice", "tile.advance")
def _advanced_twice(op: ir.Operation, variant: int) -> bool:
    """The cursor moves by two."""
    return variant == 0 and _shift(op.results[0], 1)


def _is_carried_state(type_: ir.Type) -> bool:
    """Whether it may be a cursor: barriers have two i32."""
    return _edits.is_cursor(type_) or str(type_) == "i32"


def _state_operands(op: ir.Operation, first: int = 0) -> list[int]:
    return [
        i
        for i, each in enumerate(op.operands)
        if i >= first and _is_carried_state(each.type)
    ]


@_mutation("not-carried", "scf.yield")
def _not_carried(op: ir.Operation, variant: int) -> bool:
    """A loop or guard returns the cursor that it got; variant: which one."""
    around = _edits.parent(op)
    places = _state_operands(op)
    if variant >= len(places):
        return False
    index = places[variant]
    if around.name == "scf.for":
        op.operands[index] = op.block.arguments[1 + index]
        return True
    if around.name != "scf.if" or len(around.regions[1].blocks) == 0:
        return False
    other = next(r.blocks[0] for r in around.regions if r.blocks[0] != op.block)
    value = other.operations[len(other.operations) - 1].operation.operands[index]
    if _edits.is_defined_in(value, around):
        return False
    op.operands[index] = value
    return True


@_mutation("restart", "scf.for")
def _restart(op: ir.Operation, variant: int) -> bool:
    """A loop starts with a cursor of its own; variant: which one."""
    places = _state_operands(op, first=3)
    if variant >= len(places):
        return False
    index = places[variant]
    op.operands[index] = _edits.start(op.operands[index].type, _edits.before(op))
    return True


# --- Numbers -------------------------------------------------------------------


@_mutation("weaken", "tile.copy_group_wait", "tile.gemm_wait", "tile.wait")
def _weaken(op: ir.Operation, variant: int) -> bool:
    """One more group may be under way."""
    groups = op.name != "tile.wait" or _edits.enclosing(op, "tile.role") is None
    if variant or not groups or op.results:
        return False
    i64 = ir.IntegerType.get_signless(64)
    pending = (
        ir.IntegerAttr(op.attributes["pending"]).value
        if "pending" in op.attributes
        else 0
    )
    op.attributes["pending"] = ir.IntegerAttr.get(i64, pending + 1)
    return True


_FLAGS = ("proxy_fence", "drain_copies")


@_mutation("drop-flag", "tile.barrier", "tile.wait")
def _drop_flag(op: ir.Operation, variant: int) -> bool:
    """A barrier has no fence, or does not wait for copies."""
    flags = [each for each in _FLAGS if each in op.attributes]
    if variant >= len(flags):
        return False
    del op.attributes[flags[variant]]
    return True


# --- Guards and loops ----------------------------------------------------------


@_mutation("guard", "scf.if")
def _guard(op: ir.Operation, variant: int) -> bool:
    """A guard is negated (0), always true (1), or always false (2)."""
    if variant > 2 or not _edits.has_synchronization(op):
        return False
    condition = op.operands[0]
    if variant == 0:
        true = _edits.constant(1, condition.type, _edits.before(op))
        op.operands[0] = _edits.binary("arith.xori", condition, true, _edits.before(op))
    else:
        op.operands[0] = _edits.constant(2 - variant, condition.type, _edits.before(op))
    return True


@_mutation("guard-elsewhere", "memref.load", "arith.cmpi")
def _guard_elsewhere(op: ir.Operation, variant: int) -> bool:
    """A guard looks at the turn after this one."""
    guards = [
        use.owner.operation
        for use in _edits.uses(op)
        if use.owner.name == "scf.if"
        and _edits.has_synchronization(use.owner.operation)
    ]
    loop = _edits.enclosing(op, "scf.for")
    if variant or not guards or loop is None:
        return False
    turn = loop.regions[0].blocks[0].arguments[0]
    if turn not in list(op.operands):
        return False
    following = _edits.binary("arith.addi", turn, loop.operands[2], _edits.before(op))
    op.operands[_edits.operand_index(op, turn)] = following
    return True


@_mutation("guard-twice", "scf.if")
def _guard_twice(op: ir.Operation, variant: int) -> bool:
    """What is guarded is done twice, the second time with the first one's values."""
    if variant or not _edits.has_synchronization(op):
        return False
    first = op.clone(ip=_edits.before(op)).operation
    other = op.regions[1].blocks
    if len(other) == 0:
        return True
    kept = other[0].operations[len(other[0].operations) - 1].operation
    for result, value in zip(first.results, list(kept.operands), strict=True):
        for each in _edits.walk(op)[1:]:
            each.replace_uses_of_with(value, result)
    return True


@_mutation("turns", "scf.for")
def _turns(op: ir.Operation, variant: int) -> bool:
    """A role's loop has a turn more (0) or less (1)."""
    in_role = _edits.enclosing(op, "tile.role") is not None
    if variant > 1 or not in_role or not _edits.has_synchronization(op):
        return False
    name = "arith.addi" if variant == 0 else "arith.subi"
    op.operands[1] = _edits.binary(
        name, op.operands[1], op.operands[2], _edits.before(op)
    )
    return True
