"""Rules by which mutants are equivalent: what nothing needs.

With those of _channel_rules.py and _barrier_rules.py these are all ``RULES``.
"""

from __future__ import annotations

from ... import ir
from .. import _edits, _protocol
from .._mutants import Mutant
from .._protocol import BLOCKING
from ._barrier_rules import RULES
from ._channel_rules import rule

__all__ = ["RULES"]


@rule
def _the_last_slot_is_unused(mutant: Mutant) -> bool:
    """Nothing uses the slot that is missing.

    Premises: the changed operation is a buffer or an mbarrier. All operations that use
    it name a slot by a constant, which is not the last one.
    """
    op = mutant.op
    if mutant.mutation != "depth":
        return False
    type_ = op.results[0].type
    is_buffer = op.name == "tile.alloc_shared"
    slots = ir.MemRefType(type_).shape[0] if is_buffer else _edits.depth(type_)
    return all(
        (number := _named_slot(use)) is not None and number < slots - 1
        for use in op.results[0].uses
    )


def _named_slot(use: ir.OpOperand) -> int | None:
    """The slot that a use of a buffer or mbarrier names; None if it is no constant."""
    op, place = use.owner.operation, use.operand_number + 1
    if op.name not in ("tile.slot", "tile.mbarrier_arrive", "tile.mbarrier_wait"):
        return None
    maker = _edits.defining(op.operands[place])
    if maker is None or maker.name != "arith.constant":
        return None
    return ir.IntegerAttr(maker.attributes["value"]).value


@rule
def _another_slot_for_all(mutant: Mutant) -> bool:
    """All accesses to a buffer use the next slot, or all use the previous one.

    That renames the slots. Premises: the changed operation is a `tile.slot`, and
    nothing else uses the buffer; all other shared memory of the kernel lies after it.
    """
    op = mutant.op
    if mutant.mutation != "slot" or op.name != "tile.slot":
        return False
    buffer = _edits.defining(op.operands[0])
    if buffer is None or buffer.name != "tile.alloc_shared":
        return False
    is_only_use = len(list(buffer.results[0].uses)) == 1
    return is_only_use and _protocol.is_alone_in_memory(buffer)


@rule
def _published_in_time(mutant: Mutant) -> bool:
    """The initializations of mbarriers are published before these are used.

    Premises: the changed operation is an `mbarrier_ready`. It was moved over
    allocations, pure operations and barriers, and over no mbarrier.
    """
    op, crossed = mutant.op, _protocol.crossed_by(mutant)
    if (
        op.name != "tile.mbarrier_ready"
        or crossed is None
        or mutant.mutation == "move-in"
    ):
        return False
    return all(
        each.name in ("tile.alloc_shared", "tile.barrier")
        or (_edits.is_pure(each) and each.name != "tile.mbarrier")
        for each in crossed
    )


@rule
def _copies_arrive_by_themselves(mutant: Mutant) -> bool:
    """A role that only copies by cp.async needs no barrier of its threads.

    Each thread has waited for the slot itself, and each arrival by the agents `copies`
    follows all copies that its thread has started. Premises: the changed operation is a
    `tile.barrier` of a role. The role has no other accesses to memory than copies by
    cp.async from global to shared memory, to a buffer each. All its arrivals are by
    `copies`.
    """
    op, role = mutant.op, _protocol.role_of(mutant.op)
    if op.name != "tile.barrier" or role is None or "proxy_fence" in op.attributes:
        return False
    inside = [each for each in _edits.walk(role)[1:] if not each.regions]
    written = [
        _protocol.buffer_of(value)
        for each in inside
        for value in each.operands
        if each.name == "tile.copy" and _protocol.is_shared(value.type)
    ]
    are_apart = all(each not in written[:i] for i, each in enumerate(written))
    return are_apart and all(map(_is_copying, inside))


def _is_copying(op: ir.Operation) -> bool:
    """Whether an operation is a copy by cp.async, or synchronizes such copies."""
    if op.name == "tile.copy":
        shared = [each for each in op.operands if _protocol.is_shared(each.type)]
        is_async = str(op.attributes["tile.inst"]) == "#tile.inst<cp_async>"
        return is_async and len(shared) == 1  # The indices of rows may be shared.
    if op.name == "tile.mbarrier_arrive":
        return str(op.attributes["by"]) == "#tile.agents<copies>"
    names = {"tile.barrier", "tile.commit_group", "tile.copy_group_wait"}
    return _edits.is_pure(op) or op.name in names | BLOCKING
