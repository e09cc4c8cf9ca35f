"""A canonical text of a kernel: kernels that do the same have the same text."""

from __future__ import annotations

import functools
import hashlib
from typing import Any

from .. import ir
from ..passmanager import PassManager
from . import _edits

#: Lowers channels to barriers and removes dead operations.
_PASSES = (
    "builtin.module(gpu.module(tile-lower-channels,canonicalize,cse,remove-dead-values,"
    "int-range-optimizations,canonicalize,cse))"
)


#: Name, operands, attributes, types of results, and blocks of an operation.
_Read = tuple[str, list[str], list[str], list[str], list[list[Any]]]


class _CanonicalText:
    """The text of a module that ignores the names and places of pure operations.

    A pure operation gets a hash of what it computes as its name and appears only as an
    operand of others. For example, two modules that differ in the order of two
    ``arith.addi`` have the same text.
    """

    def __init__(self, module: ir.Module) -> None:
        self._names: dict[ir.Value, str] = {}
        self._count = 0
        self.text = str(self._read(module.operation))

    def _read(self, op: ir.Operation) -> _Read:
        operands = [self._names[each] for each in op.operands]
        attributes = sorted(f"{each}={op.attributes[each]}" for each in op.attributes)
        types = [str(each.type) for each in op.results]
        blocks = [block for region in op.regions for block in region.blocks]
        return op.name, operands, attributes, types, list(map(self._read_block, blocks))

    def _read_block(self, block: ir.Block) -> list[_Read]:
        for argument in block.arguments:
            self._names[argument] = self._new_name()
        effects = []
        for op in (each.operation for each in block.operations):
            read = self._read(op)
            is_value = _edits.is_pure(op) and not op.regions and len(op.results) > 0
            if is_value:
                name = hashlib.sha256(str(read).encode()).hexdigest()
            else:
                name = self._new_name()
                effects.append(read)
            for number, result in enumerate(op.results):
                self._names[result] = f"{name}.{number}"
        return effects

    def _new_name(self) -> str:
        self._count += 1
        return str(self._count)


def program(module: ir.Module) -> str | None:
    """The canonical text of a module with its channels lowered to barriers.

    Returns:
        The text; None if the channels cannot be lowered.
    """
    return program_of_text(str(module), module.context)


@functools.lru_cache(maxsize=512)
def program_of_text(text: str, context: ir.Context) -> str | None:
    """:func:`program` of a module in text form, cached."""
    module = ir.Module.parse(text, context=context)
    _drop_rotations(module)
    try:
        _get_passes(context).run(module.operation)
    except ir.MLIRError:
        return None
    return _CanonicalText(module).text


def _drop_rotations(module: ir.Module) -> None:
    """Lets operations use a slot or cursor that others only move on to itself again.

    For example, ``%r`` becomes ``%s``, because of 2 = 1 + 1 slots::

        %r = arith.remui (arith.addi %q, 1), 2
        %q = arith.remui (arith.addi %s, 1), 2

    That is right only if ``%s`` is less than 2: an iteration number 2 would become 0. A
    cursor always names one of its slots. It has two phases, so that it is the same one
    after each slot twice.
    """
    for op in _edits.walk(module.operation):
        found = _edits.slot_of(op)
        if found is None or op.name == "tile.advance":
            continue
        place, depth = found
        value, steps = op.operands[place], 0
        is_cursor = _edits.is_cursor(value.type)
        period = 2 * depth if is_cursor else depth
        while (moved := _moved(value, depth)) is not None:
            value, steps = moved[0], steps + moved[1]
            if steps % period == 0 and (is_cursor or _Bound(depth).holds(value)):
                op.operands[place] = value


def _moved(value: ir.Value, depth: int) -> tuple[ir.Value, int] | None:
    """What a slot or cursor was before it moved on, and how far it moved."""
    op = _edits.defining(value)
    if op is None or op.name == "tile.advance":
        return None if op is None else (op.operands[0], 1)
    if op.name != "arith.remui" or _edits.number_of(op.operands[1]) != depth:
        return None
    total = _edits.defining(op.operands[0])
    if total is None or total.name != "arith.addi":
        return None
    step = _edits.number_of(total.operands[1])
    return None if step is None else (total.operands[0], step)


class _Bound:
    """Which values are natural numbers less than a bound, at each execution.

    Each value follows from earlier ones, so what holds for them holds for it. A loop
    carries such a number if it starts with one and each iteration makes one of it. A
    value for which that cannot be shown ends the whole proof.
    """

    def __init__(self, bound: int) -> None:
        self._bound = bound
        #: Values that loops carry, and for which the proof is under way or done.
        self._carried: set[ir.Value] = set()

    def holds(self, value: ir.Value) -> bool:
        op = _edits.defining(value)
        if op is None:
            argument = ir.BlockArgument(value)
            loop, place = argument.owner.owner.operation, argument.arg_number - 1
            is_carried = loop.name == "scf.for" and place >= 0
            return is_carried and self._holds_in(loop, place)
        if (number := _edits.number_of(value)) is not None:
            return number < self._bound
        if op.name == "arith.remui":
            divisor = _edits.number_of(op.operands[1])
            return divisor is not None and 0 < divisor <= self._bound
        if op.name == "arith.select":
            return all(map(self.holds, self._sources_of(op)))
        place = ir.OpResult(value).result_number
        if op.name == "scf.for":
            return self._holds_in(op, place)
        if op.name != "scf.if":
            return False
        blocks = [each.blocks[0] for each in op.regions]
        return all(self.holds(_edits.terminator(e).operands[place]) for e in blocks)

    def _holds_in(self, loop: ir.Operation, place: int) -> bool:
        """Whether what a loop carries is below the bound, after the loop as well."""
        body = loop.regions[0].blocks[0]
        carried = body.arguments[1 + place]
        if carried in self._carried:
            return True
        self._carried.add(carried)
        following = _edits.terminator(body).operands[place]
        return self.holds(loop.operands[3 + place]) and self.holds(following)

    def _sources_of(self, select: ir.Operation) -> list[ir.Value]:
        """Values such that a selected one is less than the bound if all of them are.

        Those of ``s + 1 == bound ? 0 : s + 1`` are 0 and s; else the two alternatives.
        """
        test, first, other = select.operands
        compare, total = _edits.defining(test), _edits.defining(other)
        if compare is None or total is None:
            return [first, other]
        wraps_around = (
            compare.name == "arith.cmpi"
            and ir.IntegerAttr(compare.attributes["predicate"]).value == _EQUAL
            and compare.operands[0] == other
            and _edits.number_of(compare.operands[1]) == self._bound
            and total.name == "arith.addi"
            and _edits.number_of(total.operands[1]) == 1
        )
        return [first, total.operands[0] if wraps_around else other]


#: The number of the predicate ``eq`` of `arith.cmpi`.
_EQUAL = 0


@functools.lru_cache(maxsize=512)
def _get_passes(context: ir.Context) -> PassManager:
    """The passes, whose patterns are collected once for a context."""
    return PassManager.parse(_PASSES, context)
