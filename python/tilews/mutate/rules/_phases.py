"""Cursors that begin in the second phase, and the first one instead."""

from __future__ import annotations

from ... import ir
from .. import _edits

#: Operations that use the slot of a cursor and not its phase.
_OF_SLOTS = {"tile.commit", "tile.release", "tile.slot"}


def begin_in_first_phase(module: ir.Module) -> ir.Module | None:
    """A copy in which cursors, and parities of loops, begin in the first phase.

    Each of their waits uses the other phase instead, so both do the same.

    Returns:
        The copy; None if nothing begins in the second phase.
    """
    copy = ir.Module.parse(str(module), context=module.context)
    changed = False
    with copy.context:
        for op in _edits.walk(copy.operation):
            if op.name == "tile.cursor":
                changed |= _shift_cursor(op)
            elif op.name == "scf.for":
                for place in range(3, len(op.operands)):
                    changed |= _shift_parity(op, place)
    return copy if changed else None


def _shift_cursor(op: ir.Operation) -> bool:
    """Lets a cursor begin in the first phase instead of the second one."""
    cursor = last = op.results[0]
    depth = _edits.depth(cursor.type)
    for _ in range(depth):
        users = [use.owner.operation for use in last.uses]
        if [each.name for each in users] != ["tile.advance"]:
            return False
        last = users[0].results[0]
    family = _Family(last)
    if not family.is_closed():
        return False
    last.replace_all_uses_with(cursor)
    for wait in family.waits:
        value, place = wait.operands[1], _edits.before(wait)
        wait.operands[1] = _edits.advance(value, depth, place)
    return True


def _shift_parity(loop: ir.Operation, place: int) -> bool:
    """Lets a parity that a loop carries begin with 0 instead of 1."""
    first = loop.operands[place]
    if _edits.number_of(first) != 1:
        return False
    carried = loop.regions[0].blocks[0].arguments[place - 2]
    family = _Family(carried, loop.results[place - 3])
    if not family.is_closed():
        return False
    loop.operands[place] = _edits.constant(0, first.type, _edits.before(loop))
    for wait in family.waits:
        value, before = wait.operands[2], _edits.before(wait)
        one = _edits.constant(1, value.type, before)
        wait.operands[2] = _edits.binary("arith.xori", value, one, before)
    return True


class _Family:
    """The values that follow from a cursor or parity, and the waits that use them."""

    def __init__(self, *roots: ir.Value) -> None:
        self._roots = roots
        self._values: list[ir.Value] = []
        self.waits: list[ir.Operation] = []
        self._is_whole = all(map(self._add, roots))

    def is_closed(self) -> bool:
        """Whether nothing else uses the phase, and each value has that of the roots."""
        return self._is_whole and all(map(self._is_inside, self._values))

    def _is_inside(self, value: ir.Value) -> bool:
        sources = _sources_of(value)
        # The first source of a root is what changes.
        own = sources[1:] if value in self._roots else sources
        return all(each in self._values for each in own)

    def _add(self, value: ir.Value) -> bool:
        """Adds a value and what follows from it; false if its phase has other uses."""
        if value in self._values:
            return True
        self._values.append(value)
        uses = [(use.owner.operation, use.operand_number) for use in value.uses]
        if _edits.is_cursor(value.type):
            uses = [each for each in uses if each[0].name not in _OF_SLOTS]
        return all(self._add_use(op, place) for op, place in uses)

    def _add_use(self, op: ir.Operation, place: int) -> bool:
        if (op.name, place) in _WAITS:
            self.waits.append(op)
            return True
        following = _following(op, place)
        return len(following) > 0 and all(map(self._add, following))


_WAITS = {("tile.acquire", 1), ("tile.wait", 1), ("tile.mbarrier_wait", 2)}


def _following(op: ir.Operation, place: int) -> list[ir.Value]:
    """What has the phase of an operand of `op`; nothing if that cannot be told."""
    if op.name == "tile.advance":
        return list(op.results)
    if op.name == "arith.xori" and _edits.number_of(op.operands[1 - place]) is not None:
        return list(op.results)
    if op.name == "arith.select" and place > 0:
        return list(op.results)
    around = op if op.name == "scf.for" else _edits.parent(op)
    if op.name == "scf.yield":
        place += 3 if around.name == "scf.for" else 0
        if around.name == "scf.if":
            return [around.results[place]]
    elif op.name != "scf.for":
        return []
    if around.name != "scf.for" or place < 3:
        return []
    body = around.regions[0].blocks[0]
    return [body.arguments[place - 2], around.results[place - 3]]


def _sources_of(value: ir.Value) -> list[ir.Value]:
    """The values of which a value of a family has the phase."""
    op = _edits.defining(value)
    if op is None:
        argument = ir.BlockArgument(value)
        loop, place = argument.owner.owner.operation, argument.arg_number - 1
    else:
        loop, place = op, ir.OpResult(value).result_number
    if loop.name == "scf.for":
        body = loop.regions[0].blocks[0]
        return [loop.operands[3 + place], _edits.terminator(body).operands[place]]
    if loop.name == "scf.if":
        blocks = [each.blocks[0] for each in loop.regions]
        return [_edits.terminator(each).operands[place] for each in blocks]
    if loop.name == "arith.select":
        return list(loop.operands)[1:]
    if loop.name == "arith.xori":
        return [e for e in loop.operands if _edits.number_of(e) is None]
    return list(loop.operands)
