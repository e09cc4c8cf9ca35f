"""Rules by which mutants are equivalent: barriers, fences, arrivals, groups of copies.

With those of _channel_rules.py these are all ``RULES``.
"""

from __future__ import annotations

import itertools

from ... import ir, passes
from ...errors import CompileError
from .. import _edits, _protocol
from .._mutants import Mutant
from .._order import are_waited_for, is_signal_for_others, signals_for_others
from .._protocol import ATOMIC, BLOCKING, SIGNALING
from ._channel_rules import (
    RULES,
    drains_or_fences,
    is_ordered_besides,
    rule,
)
from ._paths import is_fence, up_to_next

__all__ = ["RULES"]


@rule
def _only_names(mutant: Mutant) -> bool:
    """Two roles with equal numbers of warps and registers have exchanged their names.

    Premises: all other attributes of the two roles are equal; the warps before each of
    them are a multiple of four more or less, so that warpgroups stay warpgroups.
    """
    if mutant.mutation != "roles":
        return False
    roles = _roles_of(mutant.op)
    pairs = list(itertools.combinations(range(len(roles)), 2))
    one, other = pairs[mutant.variant // 2]
    between = sum(
        ir.IntegerAttr(each.attributes["warps"]).value for each in roles[one:other]
    )
    sizes = {
        tuple(
            str(each.attributes[name]) if name in each.attributes else ""
            for name in ("warps", "registers")
        )
        for each in (roles[one], roles[other])
    }
    return len(sizes) == 1 and (len(roles) == 2 or between % 4 == 0)


def _roles_of(specialize: ir.Operation) -> list[ir.Operation]:
    return [each.operation for each in specialize.regions[0].blocks[0].operations]


@rule
def _expected_before_sent(mutant: Mutant) -> bool:
    """The bytes of copies are expected before the copies are started.

    The phase completes when all expected bytes have landed. So the arrival that expects
    them can come before the copies as well as after them. It must not move before the
    wait for the slot, because it could then arrive in the previous phase, unless that
    one is complete. Stores that it moves before are published by another arrival that
    the phase needs, too. Premises: the arrival expects bytes; it crossed only copies,
    signals of other barriers, waits for slots of other buffers, and, if another arrival
    at the barrier follows, stores. It crossed the wait for its slot only if the slot
    has no previous phase, as in `slots-are-free-at-first`. Or it crossed no other wait,
    and that phase is complete: the role has waited for the release of another channel,
    as in `another-channel-orders-it`; the release of the slot follows a wait for the
    barrier in the same block.
    """
    op = mutant.op
    if op.name != "tile.mbarrier_arrive" or mutant.mutation != "move-earlier":
        return False
    if "bytes" not in op.attributes:
        return False
    block = _edits.block_of(op)
    more = any(
        each.name == op.name and each.operands[0] == op.operands[0]
        for each in block[block.index(op) + 1 :]
    )
    crossed = _protocol.crossed_by(mutant) or ()
    waits = [each for each in crossed if each.name in BLOCKING]
    may_wait = all(_is_of_other_slots(e, op) or _is_first_fill(e, op) for e in waits)
    if not may_wait and (len(waits) != 1 or not _is_over_before(waits[0], op)):
        return False
    return all(
        _edits.is_pure(each)
        or each.name == "tile.copy"
        or each.name in BLOCKING
        or (each.name in SIGNALING and each.operands[0] != op.operands[0])
        or (more and each.name in ("tile.store", "tile.load"))
        for each in crossed
    )


def _is_of_other_slots(wait: ir.Operation, op: ir.Operation) -> bool:
    """Whether a wait and an arrival surely refer to different buffers."""
    buffers, others = _protocol.buffers_of(wait), _protocol.buffers_of(op)
    if not buffers or not others:
        return False
    return not any(each in others for each in buffers)


def _is_first_fill(wait: ir.Operation, arrival: ir.Operation) -> bool:
    """Whether a wait for a slot of `arrival` is for no previous phase."""
    return _protocol.finds_a_free_slot(wait) and not _protocol.loops_around(arrival)


def _is_over_before(wait: ir.Operation, arrival: ir.Operation) -> bool:
    """Whether the previous phase of `arrival` is complete before `wait`."""
    if not _protocol.is_in_step(wait):
        return False
    kernel, empty = _edits.kernel_of(wait), _protocol.barrier_of(wait)
    releases = _protocol.using(SIGNALING, empty, kernel)
    waits = _protocol.using(BLOCKING, empty, kernel)
    if not is_ordered_besides(releases, waits, needs_fence=False):
        return False
    block = _edits.block_of(releases[0])
    full = _protocol.using(BLOCKING, _protocol.barrier_of(arrival), kernel)
    return any(each in full for each in block[: block.index(releases[0])])


@rule
def _nobody_waits_for_it(mutant: Mutant) -> bool:
    """A phase that no role waits for may complete later, or never.

    All waits for the barrier are for the phase before the first one, so they are over
    before the first arrival. Premises: none of them is in a loop; each is for a
    release; each arrival at the barrier comes after a signal of the waiting role; and
    no phase gets more arrivals than it counts.
    """
    op = mutant.op
    if mutant.mutation == "count":
        if mutant.variant != 0:  # A lower count makes the arrivals too many.
            return False
        barrier = op.results[0]
    elif op.name == "tile.mbarrier_arrive" and mutant.mutation in ("agents", "bytes"):
        if mutant.mutation == "agents" and not _has_less_arrivals(mutant):
            return False
        if mutant.mutation == "bytes" and mutant.variant not in (0, 2):
            return False  # More bytes land than are expected.
        barrier = op.operands[0]
    else:
        return False
    waits = _protocol.using(BLOCKING, (barrier, ""), _edits.kernel_of(op))
    arrivals = _protocol.using(SIGNALING, (barrier, ""), _edits.kernel_of(op))
    looped = any(_protocol.loops_around(each) for each in waits)
    free = all(_protocol.is_for_a_release(each) for each in waits)
    return not looped and free and all(map(_protocol.is_last_signal, arrivals))


def _has_less_arrivals(mutant: Mutant) -> bool:
    """Whether fewer threads arrive than in the original."""
    after = _edits.walk(mutant.module.operation)[mutant.index]
    order = ("thread", "warps", "threads")
    agents, before = (
        str(each.attributes["by"]).removeprefix("#tile.agents<").rstrip(">")
        for each in (after, mutant.op)
    )
    if agents not in order or before not in order:
        return False
    return order.index(agents) < order.index(before)


@rule
def _never_looked_at(mutant: Mutant) -> bool:
    """The cursor that a loop starts with is replaced before it is used.

    The first iteration does not use it: all its uses are under a guard that is false at
    first. Premises: the guard is another value that the loop carries and that starts as
    false; each iteration yields another cursor; after the loop the cursor is only used
    under the guard.
    """
    loop = mutant.op
    if mutant.mutation != "restart":
        return False
    number = _edits.carried_state(loop, first=3)[mutant.variant // 2] - 3
    body = loop.regions[0].blocks[0]
    last = _edits.terminator(body)
    carried = [body.arguments[1 + number], loop.results[number]]
    return last.operands[number] != carried[0] and all(
        _is_guarded(use.owner.operation, loop) for each in carried for use in each.uses
    )


def _is_guarded(op: ir.Operation, loop: ir.Operation) -> bool:
    """Whether `op` is under a guard that `loop` carries and that starts as false."""
    guard = _edits.parent(op)
    if guard.name != "scf.if" or op.block != guard.regions[0].blocks[0]:
        return False
    condition = guard.operands[0]
    maker = _edits.defining(condition)
    if maker is None:
        argument = ir.BlockArgument(condition)
        if argument.owner != loop.regions[0].blocks[0] or argument.arg_number == 0:
            return False
        number = argument.arg_number - 1
    elif maker == loop:
        number = ir.OpResult(condition).result_number
    else:
        return False
    first = _edits.defining(loop.operands[3 + number])
    return (
        first is not None
        and first.name == "arith.constant"
        and str(first.attributes["value"]) in ("false", "0 : i1")
    )


@rule
def _more_or_earlier_groups(mutant: Mutant) -> bool:
    """A wait for groups of copies waits for all copies that it waited for.

    For example, an empty group, closed right after another one, makes a wait leave
    fewer copies under way. So does a group that is closed later: the copies that follow
    it become part of it. Copies complete by themselves, so waiting for more of them
    changes no result. On each path through the kernel, the groups that are closed after
    a copy were counted, in the original and in the mutant. Whenever a wait covers the
    copy in the original, it does in the mutant, or an earlier one did. Premises: the
    kernel has no roles; the changed operation closes a group.
    """
    op = mutant.op
    if op.name != "tile.commit_group" or _protocol.role_of(op) is not None:
        return False
    return waits_cover_as_much(mutant)


def waits_cover_as_much(mutant: Mutant) -> bool:
    """Whether the waits for groups of a mutant cover all copies that they covered."""
    op = mutant.op
    name = _edits.kernel_of(op).attributes["sym_name"]
    return any(
        are_waited_for(_edits.kernel_of(op), each)
        for each in _all(mutant.module, "gpu.func")
        if each.attributes["sym_name"] == name
    )


@rule
def _nothing_is_unordered(mutant: Mutant) -> bool:
    """All conflicting accesses still have a barrier between them.

    The analysis that places barriers (`--tile-insert-barriers`) was run on the mutant.
    The only barriers that it adds are between stores of tiles that do not overlap.
    Premises: the changed operation is a `tile.barrier`. Each added barrier precedes a
    `tile.store` to an argument of the kernel that no other operation accesses. The
    offset of that store is a multiple of the tile's extent times a loop's induction
    variable, or times the quotient and the remainder of that variable. The analysis
    sees no mbarriers. So the barrier keeps its fence if copies signal them. If a thread
    of the role signals for others, the barrier was moved over no such signal, and it
    was moved over no copy if it drains copies.
    """
    if mutant.op.name != "tile.barrier" or orders_signals(mutant):
        return False
    return orders_accesses(mutant.module)


def orders_accesses(module: ir.Module) -> bool:
    """Whether barriers order all conflicts but those of stores that do not overlap."""
    copy = ir.Module.parse(str(module), context=module.context)
    kept = _all(copy, "tile.barrier")
    with copy.context:
        for each in kept:
            each.attributes["kept"] = ir.UnitAttr.get()
    before = [set(each.attributes) for each in kept]
    try:
        passes.run(copy, "tile-insert-barriers")
    except CompileError:
        return False
    barriers = _all(copy, "tile.barrier")
    added = [each for each in barriers if "kept" not in each.attributes]
    after = [set(each.attributes) for each in barriers if each not in added]
    return before == after and all(
        _protocol.stores_apart(_edits.following(each)) for each in added
    )


def orders_signals(mutant: Mutant) -> bool:
    """Whether signals by mbarriers may depend on the barrier that was changed."""
    op = mutant.op
    is_lost = mutant.mutation in ("drop", "drop-flag")
    if is_lost and "proxy_fence" in op.attributes:
        return signals_for_others(_edits.kernel_of(op))
    role = _protocol.role_of(op)
    if role is None or not signals_for_others(role):
        return False
    crossed = _protocol.crossed_by(mutant)
    if crossed is None:
        return is_lost
    inside = [each for outer in crossed for each in _edits.walk(outer)]
    is_draining = "drain_copies" in op.attributes
    return any(
        is_signal_for_others(each) or (is_draining and each.name == "tile.copy")
        for each in inside
    )


def _all(module: ir.Module, name: str) -> list[ir.Operation]:
    return [each for each in _edits.walk(module.operation) if each.name == name]


@rule
def _no_barrier_is_needed(mutant: Mutant) -> bool:
    """The role has no accesses that a barrier would order.

    The role only reads slots of shared memory, which transactions order, and its stores
    to global memory do not overlap. Premises: the changed operation is a `tile.barrier`
    of a role without scratch memory; the role's only shared buffers are slots that it
    reads; its stores satisfy the premises of `nothing-is-unordered`.
    """
    role = _protocol.role_of(mutant.op)
    if mutant.op.name != "tile.barrier" or role is None:
        return False
    inside = [each for each in _edits.walk(role)[1:] if not each.regions]
    return all(_protocol.is_ordered_by_channels(each) for each in inside)


@rule
def _once_an_iteration(mutant: Mutant) -> bool:
    """One barrier in an iteration orders the repetitions of one operation.

    The place of the barrier does not matter: there is still one between two executions
    of the only operation that needs it. Premises: the barrier was moved within the
    block of a loop; that block has exactly one operation that `no-barrier-is-needed`
    does not allow, and the role has no other such operation; the barrier orders no
    signals, as in `nothing-is-unordered`.
    """
    op = mutant.op
    if orders_signals(mutant):
        return False
    role = _protocol.role_of(op)
    if mutant.mutation not in ("move-earlier", "move-later") or role is None:
        return False
    if op.name != "tile.barrier" or _edits.parent(op).name != "scf.for":
        return False
    needing = [
        each
        for each in _edits.walk(role)[1:]
        if not each.regions and not _protocol.is_ordered_by_channels(each)
    ]
    return len(needing) == 1 and _edits.parent(needing[0]) == _edits.parent(op)


@rule
def _waits_more_often(mutant: Mutant) -> bool:
    """A wait of a guarded block is now executed without the guard, too.

    Copies and asynchronous matmuls complete by themselves, and all threads of the role
    reach the wait, so an additional wait changes no result. Premises: the operation was
    the first one with an effect in the guarded block.
    """
    op = mutant.op
    names = {"tile.barrier", "tile.copy_group_wait", "tile.gemm_wait"}
    if (mutant.mutation, mutant.variant) != ("move-out", 0) or op.name not in names:
        return False
    if _edits.parent(op).name != "scf.if" or op.results:
        return False
    block = _edits.block_of(op)
    return all(_edits.is_pure(each) for each in block[: block.index(op)])


@rule
def _nothing_else_uses_it(mutant: Mutant) -> bool:
    """A barrier was moved over an operation whose memory no other one accesses.

    Only two executions of this operation conflict. It and the barrier are in one block,
    before and after the move, so there is a barrier between the two executions.
    Premises: the barrier neither fences nor drains, and orders no signals, as in
    `nothing-is-unordered`. It was moved over pure operations and one with scratch
    memory. That memory lies after all buffers, and the kernel has no other operation
    with scratch memory.
    """
    op, crossed = mutant.op, _protocol.crossed_by(mutant)
    if op.name != "tile.barrier" or crossed is None or mutant.mutation == "move-in":
        return False
    if drains_or_fences(op) or orders_signals(mutant):
        return False
    others = [each for each in crossed if not _edits.is_pure(each)]
    return len(others) == 1 and _protocol.has_memory_of_its_own(others[0])


_OF_A_FENCE = {
    "drop",
    "move-earlier",
    "move-in",
    "move-later",
    "move-out",
    "other-branch",
}


@rule
def _the_next_fence_covers_it(mutant: Mutant) -> bool:
    """Accesses need no fence before the next one.

    A fence orders its threads' accesses before signals that follow, and before accesses
    of the role by the asynchronous proxy. The next fence covers the same accesses. So a
    fence can be missing, or be somewhere else, if no role needs it at a signal before
    the next one. Premises: the fence, or the barrier that has it, is in a role. On all
    paths up to the next fence, the role starts no copies and no asynchronous matmuls.
    Nobody waits for any signal on these paths any more, as in `nobody-waits-any-more`.
    Or another channel, whose release follows a fence, orders what it orders, as in
    `another-channel-orders-it`.
    """
    op = mutant.op
    loses_fence = mutant.mutation == "drop-flag" and "drain_copies" not in op.attributes
    is_moved = op.name == "tile.proxy_fence" and mutant.mutation in _OF_A_FENCE
    if not is_moved and not (op.name == "tile.barrier" and loses_fence):
        return False
    return _protocol.role_of(op) is not None and all(
        _needs_no_fence(each) if each.name in SIGNALING else _is_generic(each)
        for each in up_to_next(is_fence, op)
    )


@rule
def _the_fence_covers_as_much(mutant: Mutant) -> bool:
    """A fence was moved up over operations whose accesses need no fence.

    Each thread executes the fence for its own accesses, so that a barrier can come
    after it as well as before it. The scratch memory of a role is no slot: roles run at
    the same time, so no other role accesses it. The next fence covers it for later
    copies of the role itself. Premises: the fence is in a role and was moved over pure
    operations, barriers, operations with scratch memory and without shared buffers, and
    arrivals; up to the next fence the role starts no copies and no asynchronous
    matmuls.
    """
    op, crossed = mutant.op, _protocol.crossed_by(mutant)
    if (op.name, mutant.mutation) != ("tile.proxy_fence", "move-earlier"):
        return False
    if _protocol.role_of(op) is None or crossed is None:
        return False
    return all(map(_needs_no_cover, crossed)) and all(
        each.name in SIGNALING or _is_generic(each) for each in up_to_next(is_fence, op)
    )


def _needs_no_cover(op: ir.Operation) -> bool:
    """Whether a fence need not follow the accesses of `op`."""
    if _edits.is_pure(op) or op.name in ("tile.barrier", "tile.mbarrier_arrive"):
        return "drain_copies" not in op.attributes
    return _protocol.has_scratch(op)


def _is_generic(op: ir.Operation) -> bool:
    """Whether `op`, without the operations in it, starts nothing asynchronous."""
    if op.regions:
        return op.name in ("scf.for", "scf.if", "scf.while")
    if op.name == "tile.gemm":
        return str(op.attributes["tile.inst"]) == "#tile.inst<mma>"
    names = {"memref.load", "memref.store", "tile.barrier", "tile.load", "tile.store"}
    is_synchronous = op.name in names | BLOCKING | ATOMIC
    return _edits.is_pure(op) or is_synchronous or _protocol.has_scratch(op)


def _needs_no_fence(signal: ir.Operation) -> bool:
    """Whether nobody depends on the accesses of this role before a signal."""
    if _protocol.is_last_signal(signal):
        return True
    if "bytes" in signal.attributes or not _protocol.is_in_step(signal):
        return False
    kernel, barrier = _edits.kernel_of(signal), _protocol.barrier_of(signal)
    return is_ordered_besides(
        _protocol.using(SIGNALING, barrier, kernel),
        _protocol.using(BLOCKING, barrier, kernel),
        needs_fence=True,
    )
