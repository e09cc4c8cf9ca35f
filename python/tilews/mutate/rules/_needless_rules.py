"""Rules by which mutants are equivalent: what nothing needs.

With those of _channel_rules.py and _barrier_rules.py these are all ``RULES``.
"""

from __future__ import annotations

from ... import ir
from .. import _edits, _protocol
from .._mutants import Mutant
from .._order import is_signal_for_others
from .._protocol import BLOCKING, SIGNALING
from ._barrier_rules import RULES
from ._channel_rules import drains_or_fences, rule
from ._paths import back_to_last, is_barrier, up_to_next

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
    return _edits.number_of(op.operands[place])


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
        _uses_no_barrier(each) and each.name != "tile.mbarrier" for each in crossed
    )


@rule
def _the_next_one_publishes_it(mutant: Mutant) -> bool:
    """Another `mbarrier_ready` publishes an mbarrier before it is used.

    Premises: the changed operation is an mbarrier, which was moved after the first
    `mbarrier_ready`. Another one follows, and up to it there are only mbarriers,
    allocations, pure operations and barriers.
    """
    op = mutant.op
    if mutant.mutation != "late":
        return False
    block = _edits.block_of(op)
    ready = [each for each in block if each.name == "tile.mbarrier_ready"]
    later = ready[mutant.variant + 1 :]
    return bool(later) and all(
        each.name in ("tile.mbarrier", "tile.mbarrier_ready") or _uses_no_barrier(each)
        for each in block[block.index(op) : block.index(later[0])]
    )


def _uses_no_barrier(op: ir.Operation) -> bool:
    """Whether an operation does nothing that mbarriers could affect."""
    return op.name in ("tile.alloc_shared", "tile.barrier") or _edits.is_pure(op)


_OF_A_PLACE = {
    "drop",
    "duplicate",
    "move-earlier",
    "move-in",
    "move-later",
    "move-out",
    "other-branch",
}


@rule
def _nobody_arrives(mutant: Mutant) -> bool:
    """A wait for the phase before the first one returns at once if nobody arrives.

    So its place does not matter, and it can be left out or repeated. Premises: the
    wait is in a role, for the constant parity 1; all uses of the mbarrier are waits.
    """
    op = mutant.op
    if op.name != "tile.mbarrier_wait" or mutant.mutation not in _OF_A_PLACE:
        return False
    users = [use.owner.operation for use in op.operands[0].uses]
    return (
        _protocol.role_of(op) is not None
        and _edits.number_of(op.operands[2]) == 1
        and all(each.name == op.name for each in users)
    )


@rule
def _every_thread_has_waited(mutant: Mutant) -> bool:
    """The barrier orders nothing: since the last one, threads have only waited.

    Each thread waits for the fill of a slot itself. So a barrier between the wait and
    the reads adds nothing, unless a signal before the next barrier may need to know
    that all threads have waited. The lanes of one warp wait together. Premises: the
    changed operation is a `tile.barrier` that neither fences nor drains. It was
    removed, or moved within its block or out of a loop. On all paths back to the last
    barrier there are only pure operations, waits for mbarriers, arrivals, TMA copies
    that report to an mbarrier, and atomic updates of memory that no other operation
    accesses. On all paths up to the next barrier there are no signals and no copies, or
    the role has one warp.
    """
    op = mutant.op
    if op.name != "tile.barrier" or drains_or_fences(op):
        return False
    is_out = mutant.mutation == "move-out" and _edits.parent(op).name == "scf.for"
    if not is_out and mutant.mutation not in ("drop", "move-earlier", "move-later"):
        return False
    if not all(map(_only_waits, back_to_last(is_barrier, op))):
        return False
    role = _protocol.role_of(op)
    if role is not None and ir.IntegerAttr(role.attributes["warps"]).value == 1:
        return True
    return not any(
        each.name in SIGNALING or each.name in ("scf.while", "tile.copy")
        for each in up_to_next(is_barrier, op)
    )


def _only_waits(op: ir.Operation) -> bool:
    """Whether the threads that execute `op` do no access that a barrier would order."""
    if op.name == "tile.copy":
        is_tma = str(op.attributes["tile.inst"]) == "#tile.inst<tma>"
        return is_tma and is_signal_for_others(op)
    names = {"scf.for", "scf.if", "tile.mbarrier_arrive", "tile.mbarrier_wait"}
    if op.name in names or _protocol.is_lone_update(op):
        return True
    return _edits.is_pure(op) and not op.regions


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
