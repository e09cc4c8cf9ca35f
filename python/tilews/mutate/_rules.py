"""Rules by which mutants are equivalent.

A rule is a function that checks premises in the IR. Its docstring is the argument why a
mutant with these premises behaves like the original; it becomes part of the report.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .. import ir
from . import _edits, _protocol
from ._canonical import program, program_of_text
from ._mutants import Mutant
from ._protocol import BLOCKING, SIGNALING

Rule = Callable[[Mutant], bool]
RULES: dict[str, Rule] = {}


def rule(function: Rule) -> Rule:
    """Registers a rule under the name of its function, with dashes."""
    RULES[function.__name__.strip("_").replace("_", "-")] = function
    return function


def original_of(mutant: Mutant) -> ir.Module:
    """A copy of the module that a mutant was made of, in the mutant's context."""
    text = str(list(_edits.ancestors(mutant.op))[-1])
    return ir.Module.parse(text, context=mutant.module.context)


@rule
def _same_program(mutant: Mutant) -> bool:
    """The compiler produces the same code for both.

    Channels were lowered to barriers in both. Then operations with effects were
    compared one by one, in order, together with the computation of their operands. This
    covers changes of operations without code, such as all transactions but `tile.wait`
    in kernels without roles, and of equal values with different names. Premise for all
    mutants of such kernels: executed literally, their transactions terminate.
    """
    expected = program_of_text(str(original_of(mutant)), mutant.module.context)
    return expected is not None and expected == program(mutant.module)


@rule
def _arrivals_have_no_phase(mutant: Mutant) -> bool:
    """An arrival does not depend on the phase.

    A release or a commit arrives at the barrier of a slot in any phase. The cursor was
    advanced by the number of slots, so the slot is the same.
    """
    names = ("tile.commit", "tile.release")
    return mutant.mutation == "phase" and mutant.op.name in names


@rule
def _there_is_one_slot(mutant: Mutant) -> bool:
    """Every cursor points to the only slot.

    The view of a buffer with one version is the same for all cursors. Premise: the
    changed operation is a `tile.slot` of such a buffer.
    """
    found = _edits.slot_of(mutant.op) if mutant.op.name == "tile.slot" else None
    return found is not None and found[1] == 1


_IDEMPOTENT = {
    "tile.barrier",
    "tile.copy_group_wait",
    "tile.gemm_wait",
    "tile.mbarrier_ready",
    "tile.proxy_fence",
}


@rule
def _twice_is_once(mutant: Mutant) -> bool:
    """The second of two equal waits returns at once.

    Barriers, fences, and waits for groups have no state that the first one would
    change. After a wait for a slot the phase remains complete, because the next phase
    cannot complete without a later arrival of the same role. Premise: the role itself
    signals the channel's other side, or the mbarrier's partner.
    """
    op = mutant.op
    if mutant.mutation != "duplicate":
        return False
    if op.name in _IDEMPOTENT:
        return True
    role = _protocol.role_of(op)
    if op.name not in BLOCKING:
        return False
    if role is None:  # Threads of one role: a barrier and a wait for groups.
        return op.name == "tile.wait"
    return any(each.name in SIGNALING for each in _edits.walk(role))


def _commutes(op: ir.Operation, other: ir.Operation, later: bool) -> bool:
    """Whether a transaction `op` can be exchanged with `other`."""
    buffers = _protocol.buffers_of(op)
    if any(each.name in _edits.SYNCHRONIZING for each in _edits.walk(other)):
        if other.name == "tile.barrier":
            return "proxy_fence" not in other.attributes
        if op.name == other.name == "tile.mbarrier_arrive":
            return True
        transaction = _protocol.barrier_of(other)
        if transaction is None or transaction[0] == op.operands[0]:
            return False
        if (op.name in BLOCKING) == (other.name in BLOCKING):
            return True
        # A signal may come earlier than a wait, not later.
        return (op.name in BLOCKING) == later
    if other.name == "scf.while" or _edits.is_terminator(other):
        return False
    return not _protocol.touches(other, buffers)


@rule
def _out_of_the_way(mutant: Mutant) -> bool:
    """A transaction was exchanged with operations that do not depend on it.

    In a role, a wait can be exchanged with a wait, a signal with a signal of another
    channel, and an arrival with any arrival. A signal can move before a wait of another
    channel: the role that waits for the signal gets it earlier. A barrier of the role's
    own threads commutes with transactions, and so do operations that access none of the
    slots that the transaction hands over. Premises: the operation is in a role; all
    crossed operations are of these kinds; none of them accesses the channel's buffers,
    or any buffer if these are unknown.
    """
    crossed = _protocol.crossed_by(mutant)
    op = mutant.op
    if crossed is None or mutant.mutation == "move-in":
        return False
    if _protocol.role_of(op) is None or op.name not in BLOCKING | SIGNALING:
        return False
    later = mutant.mutation == "move-later"
    return all(_edits.is_pure(each) or _commutes(op, each, later) for each in crossed)


def _is_last_signal(op: ir.Operation, crossed: Sequence[ir.Operation] = ()) -> bool:
    """Whether all waits for a signal are over when it is given.

    That has to hold before the operations that the signal `crossed`, too.
    """
    role, barrier = _protocol.role_of(op), _protocol.barrier_of(op)
    if role is None or op.name not in SIGNALING:
        return False
    inside = [each for outer in crossed for each in _edits.walk(outer)]
    return all(
        _has_passed(waiter, op, role, inside)
        for waiter in _protocol.using(BLOCKING, barrier, _edits.kernel_of(op))
    )


def _has_passed(
    waiter: ir.Operation,
    op: ir.Operation,
    role: ir.Operation,
    crossed: list[ir.Operation],
) -> bool:
    """Whether the last execution of `waiter` happens before `op`.

    That follows if the waiter's role gives a signal afterwards that `role` waits for
    before `op`.
    """
    other = _protocol.role_of(waiter)
    if other is None or other == role:
        return False
    block = _edits.block_of(waiter)
    for signal in block[block.index(waiter) :]:
        if signal.name not in SIGNALING:
            continue
        answers = _protocol.using(BLOCKING, _protocol.barrier_of(signal), role)
        # A wait for a release returns at first without any signal.
        late = any(
            _protocol.is_for_a_release(each)
            or _protocol.may_follow(each, op)
            or each in crossed
            for each in answers
        )
        if answers and not late:
            return True
    return False


def _changes_places(op: ir.Operation, other: ir.Operation) -> bool:
    """Whether a transaction can be exchanged with `other` of the same iteration."""
    if other.name == "scf.if":
        inside = [each for each in _edits.walk(other)[1:] if not each.regions]
        return all(_edits.is_pure(e) or _changes_places(op, e) for e in inside)
    if other.name in BLOCKING | SIGNALING:
        return other.operands[0] != op.operands[0]
    return _commutes(op, other, later=True)


@rule
def _within_an_iteration(mutant: Mutant) -> bool:
    """A transaction was exchanged with one of another channel in the same iteration.

    The iterations of the roles correspond. A fill needs releases of earlier iterations
    only; a release needs fills of its own iteration and earlier ones. So each role can
    finish its iteration in any order of its waits and signals, as long as accesses stay
    between theirs. Premises: the roles correspond loop by loop, in barriers and in
    direction; the transaction crossed no access to the channel's buffers, no other loop
    and no transaction of the same barrier.
    """
    crossed = _protocol.crossed_by(mutant)
    op = mutant.op
    if crossed is None or mutant.mutation == "move-in":
        return False
    if op.name not in BLOCKING | SIGNALING or not _protocol.is_in_step(op):
        return False
    return all(_edits.is_pure(each) or _changes_places(op, each) for each in crossed)


@rule
def _acquired_for_nothing(mutant: Mutant) -> bool:
    """The role waits for a slot also in iterations that do not fill it.

    The wait was moved from a guarded block to before it. It waits for a release of an
    earlier iteration, which comes whether or not the slot is filled afterwards.
    Premises: those of `within-an-iteration`, and the wait is for a release.
    """
    op = mutant.op
    if mutant.mutation != "move-out" or mutant.variant != 0:
        return False
    if _edits.parent(op).name != "scf.if" or not _protocol.is_for_a_release(op):
        return False
    block = _edits.block_of(op)
    crossed = block[: block.index(op)]
    return _protocol.is_in_step(op) and all(
        _edits.is_pure(each) or _changes_places(op, each) for each in crossed
    )


@rule
def _the_next_release_comes_later(mutant: Mutant) -> bool:
    """A role that waits for the release of the next slot has waited for this slot's.

    One role releases the slots in rotation. The next slot was filled in an earlier
    iteration, so its release comes. The channel behaves like one with a slot less.
    Premises: those of `within-an-iteration`, and the channel has at least two slots.
    """
    op = mutant.op
    return (
        (mutant.mutation, mutant.variant, op.name) == ("slot", 0, "tile.acquire")
        and _edits.depth(op.operands[0].type) > 1
        and _protocol.is_in_step(op)
    )


_OF_ONE_SIGNAL = {
    "constant-cursor",
    "drop",
    "duplicate",
    "move-later",
    "phase",
    "slot",
}
_OF_A_GUARD = {"guard", "guard-elsewhere", "guard-twice"}


@rule
def _nobody_waits_any_more(mutant: Mutant) -> bool:
    """No role waits for the last releases of a channel's slots.

    The role that fills the slots waits for releases before filling. When the changed
    release is given, its role has waited for the last fill, so all waits for releases
    are over. From then on the number of releases and their slots do not matter.
    Premises: after each wait for the barrier its role signals another barrier, in the
    same block; the releasing role waits for that other barrier only before the release;
    these waits are for fills, because a wait for a release returns at first without any
    signal. The original is right, so the numbers of signals and waits agree.
    """
    op = mutant.op
    if mutant.mutation in _OF_A_GUARD and op.name == "scf.if":
        inside = [
            each
            for each in _edits.walk(op)[1:]
            if not _edits.is_pure(each) and each.name != "scf.if"
        ]
        return all(_is_last_signal(each) for each in inside)
    if mutant.mutation == "move-out" and _edits.parent(op).name == "scf.if":
        return _is_last_signal(op)
    crossed = _protocol.crossed_by(mutant)
    if mutant.mutation in ("move-earlier", "move-in"):
        return _is_last_signal(op, crossed or ())
    if op.name == "tile.gemm_wait" and crossed is not None:
        inside = [each for outer in crossed for each in _edits.walk(outer)]
        return all(_edits.is_pure(e) or _is_last_signal(e) or e.regions for e in inside)
    return mutant.mutation in _OF_ONE_SIGNAL and _is_last_signal(op)


@rule
def _slots_are_free_at_first(mutant: Mutant) -> bool:
    """The first transactions find their slots free.

    The first waits for releases, one for each slot, return at once. So their places do
    not matter, and they can be left out. Premises: neither this wait nor an earlier one
    of the role for the same barrier is in a loop, and there are at most as many of them
    as slots.
    """
    op = mutant.op
    role = _protocol.role_of(op)
    if op.name not in BLOCKING or role is None:
        return False
    if mutant.mutation not in ("drop", "duplicate", "move-earlier", "move-later"):
        return False
    if not _protocol.is_for_a_release(op):
        return False
    waits = _protocol.using(BLOCKING, _protocol.barrier_of(op), role)
    before = waits[: waits.index(op) + 1]
    depth = _edits.depth(op.operands[0].type)
    looped = any(_protocol.loops_around(each) for each in before)
    return len(before) <= depth and not looped


@rule
def _only_names(mutant: Mutant) -> bool:
    """Two roles with equal numbers of warps and registers have exchanged their names.

    Premises: all other attributes of the two roles are equal.
    """
    if mutant.mutation != "roles":
        return False
    roles = _edits.block_of(next(iter(_roles_of(mutant.op))))
    sizes = {
        tuple(
            str(each.attributes[name]) if name in each.attributes else ""
            for name in ("warps", "registers")
        )
        for each in roles
    }
    return len(roles) == 2 and len(sizes) == 1


def _roles_of(specialize: ir.Operation) -> list[ir.Operation]:
    return [each.operation for each in specialize.regions[0].blocks[0].operations]


@rule
def _expected_before_sent(mutant: Mutant) -> bool:
    """The bytes of copies are expected before the copies are started.

    The phase completes when all expected bytes have landed. So the arrival that expects
    them can come before the copies as well as after them. It must not move before the
    wait for the slot, because it could then arrive in the previous phase. Stores that
    it moves before are published by another arrival that the phase needs, too.
    Premises: the arrival expects bytes; it crossed only copies, signals of other
    barriers, waits for slots of other buffers, and, if another arrival at the barrier
    follows, stores.
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
    return all(
        _edits.is_pure(each)
        or each.name == "tile.copy"
        or (each.name in SIGNALING and each.operands[0] != op.operands[0])
        or (each.name in BLOCKING and _is_of_other_slots(each, op))
        or (more and each.name in ("tile.store", "tile.load"))
        for each in _protocol.crossed_by(mutant) or ()
    )


def _is_of_other_slots(wait: ir.Operation, op: ir.Operation) -> bool:
    """Whether a wait and an arrival surely refer to different buffers."""
    buffers, others = _protocol.buffers_of(wait), _protocol.buffers_of(op)
    if not buffers or not others:
        return False
    return not any(each in others for each in buffers)


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
    return not looped and free and all(map(_is_last_signal, arrivals))


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
    last = body.operations[len(body.operations) - 1].operation
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
