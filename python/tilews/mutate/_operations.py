"""Classes of mutants that change whole operations, guards and loops."""

from __future__ import annotations

from .. import ir
from . import _edits
from ._classes import mutation
from ._edits import ON_BARRIERS, SYNCHRONIZING, TRANSACTIONS

# --- Whole operations ----------------------------------------------------------


@mutation("drop", *SYNCHRONIZING)
def _drop(op: ir.Operation, variant: int) -> bool:
    """Removes the operation."""
    return variant == 0 and _edits.erase(op)


@mutation("duplicate", *SYNCHRONIZING)
def _duplicate(op: ir.Operation, variant: int) -> bool:
    """Repeats the operation."""
    if variant or op.results:
        return False
    op.clone(ip=_edits.before(op))
    return True


@mutation("move-earlier", *SYNCHRONIZING)
def _move_earlier(op: ir.Operation, variant: int) -> bool:
    """Moves the operation up, across n + 1 operations with effects for variant n."""
    place = _edits.steps(op, False, variant + 1)
    return place is not None and _edits.move_before(op, place)


@mutation("move-later", *SYNCHRONIZING)
def _move_later(op: ir.Operation, variant: int) -> bool:
    """Moves the operation down, across n + 1 operations with effects for variant n."""
    place = _edits.steps(op, True, variant + 1)
    if place is None or _edits.is_terminator(place):
        return False
    return _edits.move_after(op, place)


@mutation("move-out", *SYNCHRONIZING)
def _move_out(op: ir.Operation, variant: int) -> bool:
    """Moves the operation out of its loop or guard: before (0) or after (1) it."""
    around = _edits.parent(op)
    if variant > 1 or around.name not in ("scf.for", "scf.if"):
        return False
    last = variant == 1
    place = _edits.after(around) if last else _edits.before(around)
    operands = _edits.rebuild_all(op.operands, around, place, last=last)
    if operands is None:
        return False
    _edits.clone(op, place, operands)
    return _edits.erase(op)


@mutation("move-in", *SYNCHRONIZING)
def _move_in(op: ir.Operation, variant: int) -> bool:
    """Moves the operation into the loop or guard above (0) or below (1) it."""
    down = variant == 1
    place = _edits.step(op, down)
    if variant > 1 or op.results or place is None:
        return False
    if place.name not in ("scf.for", "scf.if"):
        return False
    inner = [each.operation for each in place.regions[0].blocks[0].operations]
    op.move_before(inner[0] if down else inner[-1])
    return True


@mutation("other-branch", *SYNCHRONIZING)
def _other_branch(op: ir.Operation, variant: int) -> bool:
    """Moves the operation to the other branch of its guard."""
    around = _edits.parent(op)
    if variant or op.results or around.name != "scf.if":
        return False
    branches = [each.blocks[0] for each in around.regions if len(each.blocks)]
    if len(branches) < 2:
        return False
    other = branches[1] if op.block == branches[0] else branches[0]
    place = _edits.before(_edits.terminator(other))
    operands = _edits.rebuild_all(op.operands, around, place, last=False)
    if operands is None:
        return False
    _edits.clone(op, place, operands)
    return _edits.erase(op)


# --- Who and what --------------------------------------------------------------


@mutation("other-channel", *TRANSACTIONS, *ON_BARRIERS, "tile.copy")
def _other_channel(op: ir.Operation, variant: int) -> bool:
    """Uses another channel, or another mbarrier, of the same type."""
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
        if _edits.parent(op) == _edits.parent(others[variant]):
            if not others[variant].is_before_in_block(op):
                return False
        op.operands[index] = others[variant].results[0]
        return True
    return False


# --- Guards and loops ----------------------------------------------------------


@mutation("guard", "scf.if")
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


@mutation("guard-elsewhere", "memref.load", "arith.cmpi")
def _guard_elsewhere(op: ir.Operation, variant: int) -> bool:
    """A guard is computed for the next iteration."""
    guards = [
        use.owner.operation
        for use in _edits.uses(op)
        if use.owner.name == "scf.if"
        and _edits.has_synchronization(use.owner.operation)
    ]
    loop = _edits.enclosing(op, "scf.for")
    if variant or not guards or loop is None:
        return False
    variable = loop.regions[0].blocks[0].arguments[0]
    if variable not in list(op.operands):
        return False
    place = _edits.before(op)
    following = _edits.binary("arith.addi", variable, loop.operands[2], place)
    op.operands[_edits.operand_index(op, variable)] = following
    return True


@mutation("guard-twice", "scf.if")
def _guard_twice(op: ir.Operation, variant: int) -> bool:
    """A guarded block is there twice; the second one uses results of the first."""
    if variant or not _edits.has_synchronization(op):
        return False
    first = op.clone(ip=_edits.before(op)).operation
    other = op.regions[1].blocks
    if len(other) == 0:
        return True
    kept = _edits.terminator(other[0])
    for result, value in zip(first.results, list(kept.operands), strict=True):
        for each in _edits.walk(op)[1:]:
            each.replace_uses_of_with(value, result)
    return True


@mutation("trip-count", "scf.for")
def _trip_count(op: ir.Operation, variant: int) -> bool:
    """A role's loop has one iteration more (0) or less (1)."""
    in_role = _edits.enclosing(op, "tile.role") is not None
    if variant > 1 or not in_role or not _edits.has_synchronization(op):
        return False
    name = "arith.addi" if variant == 0 else "arith.subi"
    op.operands[1] = _edits.binary(
        name, op.operands[1], op.operands[2], _edits.before(op)
    )
    return True
