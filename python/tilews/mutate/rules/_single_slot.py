"""Two roles that hand slots to each other, one in each iteration."""

from __future__ import annotations

import dataclasses

from ... import ir
from ...dialects import tile
from .. import _edits, _protocol


def with_one_slot(module: ir.Module) -> ir.Module | None:
    """A copy of a kernel in which two roles use slot 0 of their buffers only.

    Returns:
        The copy; None if it may do something else, as one of several channels, or a
        role that holds two slots.
    """
    copy = ir.Module.parse(str(module), context=module.context)
    ops = _edits.walk(copy.operation)
    roles = [each for each in ops if each.name == "tile.role"]
    barriers = [each for each in ops if each.name == "tile.mbarrier"]
    inside = [each for role in roles for each in _edits.walk(role)]
    others = [each for each in ops if each not in inside]
    if (len(roles), len(barriers)) != (2, 2) or any(map(_is_access, others)):
        return None
    sides = [side for role in roles if (side := _find_side(role)) is not None]
    if len(sides) != 2 or not _alternate(*sides):
        return None
    with copy.context:
        for each in sides:
            place = _edits.before(each.wrap)
            each.wrap.operands[1] = _edits.constant(1, each.slot.type, place)
    return copy


@dataclasses.dataclass(frozen=True)
class _Side:
    """A role that waits for a slot in each iteration, and then hands it on.

    Attributes:
        loop: around both.
        wait: for the slot.
        arrival: that hands it on.
        slot: its number.
        wrap: compares the next number with that of slots.
    """

    loop: ir.Operation
    wait: ir.Operation
    arrival: ir.Operation
    slot: ir.Value
    wrap: ir.Operation

    @property
    def fills(self) -> bool:
        return _protocol.is_for_a_release(self.wait)

    def is_closed(self) -> bool:
        """Whether each access is to the slot, and while the role has it."""
        block = _edits.block_of(self.wait)
        held = block[block.index(self.wait) : block.index(self.arrival)]
        accesses = [each for each in block if _is_access(each)]
        return all(each in held and self._is_right(each) for each in accesses)

    def _is_right(self, op: ir.Operation) -> bool:
        if self.fills:
            copy = op.opview
            if not isinstance(copy, tile.CopyOp) or copy.signal is None:
                return False
            signal = (copy.signal, copy.signal_slot)
            expected = (self.arrival.operands[0], self.slot)
            return signal == expected and self._is_slot(copy.dest)
        return op.name == "tile.load" and self._is_slot(op.operands[0])

    def _is_slot(self, memory: ir.Value) -> bool:
        op = _edits.defining(memory)
        if op is None or op.name != "tile.slot":
            return False
        return op.operands[1] == self.slot


def _is_access(op: ir.Operation) -> bool:
    names = ("tile.alloc_shared", "tile.mbarrier", "tile.slot")
    return not op.regions and op.name not in names and _protocol.touches(op, None)


def _alternate(one: _Side, other: _Side) -> bool:
    """Whether each role waits for what the other one signals, in equal loops."""
    barriers = [side.wait.operands[0] for side in (one, other)]
    signals = [side.arrival.operands[0] for side in (other, one)]
    bounds = [list(side.loop.operands)[:3] for side in (one, other)]
    return (
        barriers == signals
        and barriers[0] != barriers[1]
        and bounds[0] == bounds[1]
        and one.fills != other.fills
    )


def _find_side(role: ir.Operation) -> _Side | None:
    """What a role does in its only loop; None if it does anything else."""
    inside = _edits.walk(role)[1:]
    with_regions = [each for each in inside if each.regions]
    if [each.name for each in with_regions] != ["scf.for"]:
        return None
    loop = with_regions[0]
    steps = [
        each
        for each in inside
        if each.name in _edits.SYNCHRONIZING and each.name != "tile.proxy_fence"
    ]
    names = [each.name for each in steps]
    if names != ["tile.mbarrier_wait", "tile.mbarrier_arrive"]:
        return None
    wait, arrival = steps
    if any(_edits.parent(each) != loop for each in inside if _is_access(each)):
        return None
    if wait.block != arrival.block or _edits.parent(wait) != loop:
        return None
    slot = wait.operands[1]
    wrap = _find_wrap(loop, slot, wait.operands[2])
    if wrap is None or arrival.operands[1] != slot:
        return None
    side = _Side(loop, wait, arrival, slot, wrap)
    return side if side.is_closed() else None


_USERS = {"tile.mbarrier_wait", "tile.mbarrier_arrive", "tile.slot", "tile.copy"}


def _find_wrap(
    loop: ir.Operation, slot: ir.Value, phase: ir.Value
) -> ir.Operation | None:
    """The comparison after which a slot starts again, and its phase changes.

    The loop carries both, and nothing but waits, signals and views depends on them::

        %next = arith.addi %slot, 1
        %wrap = arith.cmpi eq, %next, 2
        scf.yield (arith.select %wrap, 0, %next),
                  (arith.select %wrap, (arith.xori %phase, 1), %phase)
    """
    body = loop.regions[0].blocks[0]
    carried = list(body.arguments)[1:]
    maker = _edits.defining(phase)
    if maker is not None and maker.name == "arith.xori":
        phase = maker.operands[0]  # The phase before, for a release.
    if slot not in carried or phase not in carried or slot == phase:
        return None
    places = [carried.index(each) for each in (slot, phase)]
    starts = [_edits.number_of(loop.operands[3 + each]) for each in places]
    if starts != [0, 0] or any(list(loop.results[each].uses) for each in places):
        return None
    yielded = _edits.terminator(body).operands
    choices = [_edits.defining(yielded[each]) for each in places]
    if any(each is None or each.name != "arith.select" for each in choices):
        return None
    (wrap_value, zero, following), (other, flipped, kept) = (
        list(each.operands) for each in choices if each is not None
    )
    wrap, flip = _edits.defining(wrap_value), _edits.defining(flipped)
    is_right = (
        wrap_value == other
        and _edits.number_of(zero) == 0
        and _adds_one("arith.addi", following, slot)
        and kept == phase
        and _adds_one("arith.xori", flipped, phase)
        and wrap is not None
        and wrap.name == "arith.cmpi"
        and ir.IntegerAttr(wrap.attributes["predicate"]).value == 0  # eq
        and wrap.operands[0] == following
        and (_edits.number_of(wrap.operands[1]) or 0) > 0
    )
    found = (wrap, flip, *choices, _edits.defining(following), maker)
    own = [each for each in found if each is not None]
    values = (slot, phase, following)
    users = [use.owner.operation for each in values for use in each.uses]
    is_hidden = all(each in own or each.name in _USERS for each in users)
    return wrap if is_right and is_hidden else None


def _adds_one(name: str, value: ir.Value, to: ir.Value) -> bool:
    op = _edits.defining(value)
    if op is None or op.name != name:
        return False
    return op.operands[0] == to and _edits.number_of(op.operands[1]) == 1
