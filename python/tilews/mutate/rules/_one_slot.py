"""Buffers of which one slot would be enough: each fill is read in its iteration."""

from __future__ import annotations

from ... import ir
from ...dialects import tile
from .. import _edits, _protocol


def fills_before_reads(module: ir.Module) -> bool:
    """Whether each iteration fills all of a slot and then reads what it filled.

    That has to hold for each buffer with slots. The numbers of a fill and of its read,
    and their guards, are computed alike, so they are equal in each iteration.
    """
    slots = [e for e in _edits.walk(module.operation) if e.name == "tile.slot"]
    buffers = {each.operands[0] for each in slots}
    return all(_Buffer(each).is_read_at_once() for each in buffers)


class _Buffer:
    """The uses of a buffer with slots."""

    def __init__(self, buffer: ir.Value) -> None:
        users = [use.owner.operation for use in buffer.uses]
        self._only_slots = all(each.name == "tile.slot" for each in users)
        order = _edits.walk(_edits.kernel_of(users[0]))
        self._slots = [each for each in order if each in users]

    def is_read_at_once(self) -> bool:
        if not self._only_slots or len(self._slots) != 2:
            return False
        fill, read = self._slots
        if not (_is_filled(fill) and _is_read(read)):
            return False
        places = [_edits.parent(each) for each in (fill, read)]
        if places[0] == places[1]:
            loop = places[0]
        else:
            if any(each.name != "scf.if" for each in places):
                return False
            if any(
                e.block != _edits.parent(e).regions[0].blocks[0] for e in (fill, read)
            ):
                return False
            loop = _edits.parent(places[0])
            if loop != _edits.parent(places[1]):
                return False
        if loop.name != "scf.for":
            return False
        equal = _EqualValues(loop)
        guards = [each.operands[0] for each in places if each.name == "scf.if"]
        return equal.check(fill.operands[1], read.operands[1]) and (
            not guards or equal.check(*guards)
        )


def _is_filled(slot: ir.Operation) -> bool:
    """Whether one copy writes all of a slot, and nothing else uses it."""
    users = [use.owner.operation for use in _edits.uses(slot)]
    return len(users) == 1 and _is_whole_copy(users[0], slot.results[0])


def _is_whole_copy(op: ir.Operation, slot: ir.Value) -> bool:
    copy = op.opview
    if not isinstance(copy, tile.CopyOp) or copy.source == slot:
        return False
    is_part = len(copy.dest_sizes) > 0 or len(copy.dest_offsets) > 0
    others = (copy.signal, copy.limit, copy.rows)
    return not is_part and all(each is None for each in others)


def _is_read(slot: ir.Operation) -> bool:
    users = [use.owner.operation for use in _edits.uses(slot)]
    return all(each.name == "tile.load" for each in users)


class _EqualValues:
    """Which values of the body of a loop are equal in each of its iterations."""

    def __init__(self, loop: ir.Operation) -> None:
        self._loop = loop
        body = loop.regions[0].blocks[0]
        self._carried = list(body.arguments)[1:]
        self._yielded = _edits.terminator(body).operands
        #: Pairs that are equal if they are so before the first iteration.
        self._pairs: list[tuple[ir.Value, ir.Value]] = []

    def check(self, one: ir.Value, other: ir.Value) -> bool:
        """Whether two values are computed alike, by induction over the iterations."""
        if one == other:
            return True
        if one in self._carried and other in self._carried:
            return self._check_carried(one, other)
        maker, second = _edits.defining(one), _edits.defining(other)
        if maker is None or second is None or maker.name != second.name:
            return False
        number = ir.OpResult(one).result_number
        if number != ir.OpResult(other).result_number or not _alike(maker, second):
            return False
        if not all(map(self.check, maker.operands, second.operands)):
            return False
        if maker.name == "scf.if":
            return all(
                self.check(*(_yields_of(each, n)[number] for each in (maker, second)))
                for n in range(2)
            )
        if maker.name == "memref.load":
            return self._is_read_only(maker.operands[0])
        return _edits.is_pure(maker) and not maker.regions

    def _check_carried(self, one: ir.Value, other: ir.Value) -> bool:
        if (one, other) in self._pairs:
            return True
        self._pairs.append((one, other))
        places = [self._carried.index(each) for each in (one, other)]
        first = [self._loop.operands[3 + each] for each in places]
        next_ = [self._yielded[each] for each in places]
        return self.check(*first) and self.check(*next_)

    def _is_read_only(self, memory: ir.Value) -> bool:
        """Whether nothing writes to `memory` while the loop runs."""
        return all(
            op.name in ("memref.load", "tile.load")
            or (op.name == "tile.copy" and op.operands[0] == memory)
            for op in _edits.walk(self._loop)
            if any(_protocol.buffer_of(each) == memory for each in op.operands)
        )


def _alike(one: ir.Operation, other: ir.Operation) -> bool:
    """Whether two operations have equal attributes and equally many operands."""
    attributes = ({e: op.attributes[e] for e in op.attributes} for op in (one, other))
    same = len(one.operands) == len(other.operands)
    return same and len({str(each) for each in attributes}) == 1


def _yields_of(op: ir.Operation, region: int) -> list[ir.Value]:
    return list(_edits.terminator(op.regions[region].blocks[0]).operands)
