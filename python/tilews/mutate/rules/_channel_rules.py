"""Rules by which mutants are equivalent.

A rule is a function that checks premises in the IR. Its docstring is the argument why a
mutant with these premises behaves like the original; it becomes part of the report.
"""

from __future__ import annotations

from collections.abc import Callable

from ... import ir
from .. import _edits, _protocol
from .._canonical import program, program_of_text
from .._mutants import Mutant
from .._protocol import BLOCKING, SIGNALING

Rule = Callable[[Mutant], bool]
RULES: dict[str, Rule] = {}


def rule(function: Rule) -> Rule:
    """Registers a rule under the name of its function, with dashes."""
    RULES[function.__name__.strip("_").replace("_", "-")] = function
    return function


def original_of(mutant: Mutant) -> ir.Module:
    """A copy of the module that a mutant was made of, in the mutant's context."""
    return ir.Module.parse(original_text(mutant), context=mutant.module.context)


def original_text(mutant: Mutant) -> str:
    """The text of the module that a mutant was made of."""
    return str(list(_edits.ancestors(mutant.op))[-1])


@rule
def same_program(mutant: Mutant) -> bool:
    """The compiler produces the same code for both.

    Channels were lowered to barriers in both. Then operations with effects were
    compared one by one, in order, together with the computation of their operands. This
    covers changes of operations without code, such as all transactions but `tile.wait`
    in kernels without roles, and of equal values with different names. A slot that was
    moved on to itself again is the same slot. Premise for all mutants of such kernels:
    executed literally, their transactions terminate.
    """
    expected = program_of_text(original_text(mutant), mutant.module.context)
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


@rule
def _equal_cursors(mutant: Mutant) -> bool:
    """Two cursors that were not advanced are equal.

    The changed operation used the result of a `tile.cursor`, and uses a new one.
    """
    found = _edits.slot_of(mutant.op)
    if (mutant.mutation, mutant.variant) != ("constant-cursor", 0) or found is None:
        return False
    cursor = _edits.defining(mutant.op.operands[found[0]])
    return cursor is not None and cursor.name == "tile.cursor"


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
    cannot complete without a later arrival of the same role. If a role waits for an
    mbarrier once, for the first phase and in no loop, no other phase completes.
    Premise: the role itself signals the channel's other side, or the mbarrier's
    partner; or it waits for the mbarrier once; or the kernel has no roles.
    """
    op = mutant.op
    if mutant.mutation != "duplicate":
        return False
    if op.name in _IDEMPOTENT:
        return True
    role = _protocol.role_of(op)
    if op.name not in BLOCKING:
        return False
    if role is None:  # `tile.wait` is a barrier and a wait for groups.
        return op.name in ("tile.wait", "tile.mbarrier_wait")
    if any(each.name in SIGNALING for each in _edits.walk(role)):
        return True
    barrier = _protocol.barrier_of(op)
    is_first = op.name == "tile.mbarrier_wait" and not _protocol.loops_around(op)
    is_first = is_first and _edits.number_of(op.operands[2]) == 0
    return is_first and len(_protocol.using(BLOCKING, barrier, role)) == 1


def drains_or_fences(barrier: ir.Operation) -> bool:
    """Whether a barrier waits for copies or has a proxy fence."""
    return any(each in barrier.attributes for each in ("drain_copies", "proxy_fence"))


def _is_of_a_thread(op: ir.Operation) -> bool:
    """Whether one thread arrives for others, which it has synchronized with before."""
    by = str(op.attributes["by"]) if "by" in op.attributes else ""
    return op.name == "tile.mbarrier_arrive" and by == "#tile.agents<thread>"


def _commutes(op: ir.Operation, other: ir.Operation, later: bool) -> bool:
    """Whether a transaction `op` can be exchanged with `other`."""
    buffers = _protocol.buffers_of(op)
    if any(each.name in _edits.SYNCHRONIZING for each in _edits.walk(other)):
        if other.name == "tile.barrier":
            # A fence may cover more accesses than before, not less.
            is_covered = (op.name in SIGNALING) == later
            return is_covered or not (drains_or_fences(other) or _is_of_a_thread(op))
        if other.name == "tile.proxy_fence":
            return (op.name in SIGNALING) == later
        if op.name == other.name == "tile.mbarrier_arrive":
            return True
        transaction = _protocol.barrier_of(other)
        if transaction is None or transaction[0] == op.operands[0]:
            return False
        if (op.name in BLOCKING) == (other.name in BLOCKING):
            return True
        # A signal may come earlier than a wait, not later. Barriers without a channel
        # may pace each other.
        is_channel = op.name != "tile.mbarrier_arrive" != other.name
        return is_channel and (op.name in BLOCKING) == later
    if other.name == "scf.while" or _edits.is_terminator(other):
        return False
    return not _protocol.touches(other, buffers)


@rule
def _out_of_the_way(mutant: Mutant) -> bool:
    """A transaction was exchanged with operations that do not depend on it.

    In a role, a wait can be exchanged with a wait, a signal with a signal of another
    channel, and an arrival with any arrival. A signal of a channel can move before a
    wait of another one: the role that waits for the signal gets it earlier. A barrier
    of the role's own threads commutes with transactions, and so do operations that
    access none of the slots that the transaction hands over. A fence, or a barrier that
    fences or drains, covers more accesses if a wait comes before it, or a signal after
    it; so does any barrier before an arrival of one thread. Premises: the operation is
    in a role; all crossed operations are of these kinds; none of them accesses the
    channel's buffers, or any buffer if these are unknown.
    """
    crossed = _protocol.crossed_by(mutant)
    op = mutant.op
    if crossed is None or mutant.mutation == "move-in":
        return False
    if _protocol.role_of(op) is None or op.name not in BLOCKING | SIGNALING:
        return False
    later = mutant.mutation == "move-later"
    return all(_edits.is_pure(each) or _commutes(op, each, later) for each in crossed)


def _changes_places(op: ir.Operation, other: ir.Operation, later: bool) -> bool:
    """Whether a transaction can be exchanged with `other` of the same iteration."""
    if other.name in ("scf.for", "scf.if"):
        inside = [each for each in _edits.walk(other)[1:] if not each.regions]
        can_pass = other.name == "scf.if" or _passes_loop(op, other, later)
        return can_pass and all(
            _edits.is_pure(e) or _changes_places(op, e, later) for e in inside
        )
    if other.name in BLOCKING | SIGNALING:
        return other.operands[0] != op.operands[0]
    return _commutes(op, other, later)


def _passes_loop(op: ir.Operation, loop: ir.Operation, later: bool) -> bool:
    """Whether a transaction can be exchanged with a loop that has transactions.

    A fill may come after the loop only if the roles that wait for it do so after their
    corresponding loops. Likewise, a role may wait for it before the loop only if it is
    given before the corresponding loop.
    """
    role, barrier = _protocol.role_of(op), _protocol.barrier_of(op)
    inside = [each for each in _edits.walk(loop) if each.name in BLOCKING]
    if role is None or not inside or not all(map(_protocol.is_in_step, inside)):
        return False
    if (op.name in SIGNALING) != later:
        return True
    names = BLOCKING if op.name in SIGNALING else SIGNALING
    partners = _protocol.using(names, barrier, _edits.kernel_of(op))
    waits = partners if op.name in SIGNALING else [op]
    if all(map(_protocol.is_for_a_release, waits)):
        return True  # A wait for a release of an earlier iteration.
    order = _edits.walk(_edits.kernel_of(op))
    return all(
        (order.index(each) > order.index(corresponding)) == later
        for each in partners
        if (corresponding := _protocol.corresponding_loop(loop, each)) is not None
    )


@rule
def _within_an_iteration(mutant: Mutant) -> bool:
    """A transaction was exchanged with one of another channel in the same iteration.

    The iterations of the roles correspond. A fill needs releases of earlier iterations
    only; a release needs fills of its own iteration and earlier ones. So each role can
    finish its iteration in any order of its waits and signals, as long as accesses stay
    between theirs. It can also exchange a transaction with an inner loop, unless the
    role then waits before the loop for a fill that another role gives after it.
    Premises: the roles correspond loop by loop, in barriers and in direction; the
    transaction crossed no access to the channel's buffers and no transaction of the
    same barrier.
    """
    crossed = _protocol.crossed_by(mutant)
    op = mutant.op
    if crossed is None or mutant.mutation == "move-in":
        return False
    if op.name not in BLOCKING | SIGNALING or not _protocol.is_in_step(op):
        return False
    later = mutant.mutation == "move-later"
    return all(
        _edits.is_pure(each) or _changes_places(op, each, later) for each in crossed
    )


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
        _edits.is_pure(each) or _changes_places(op, each, later=False)
        for each in crossed
    )


@rule
def _the_next_release_comes_later(mutant: Mutant) -> bool:
    """A role that waits for the release of the next slot has waited for this slot's.

    One role releases the slots in rotation. The next slot was filled in an earlier
    iteration, so its release comes. The channel behaves like one with a slot less.
    Premises: those of `within-an-iteration`; the channel has at least two slots; a
    consumer releases each slot in the block that waits for it; the channel has no other
    `tile.acquire`, or one release would not be waited for between the two.
    """
    op, side = mutant.op, _protocol.barrier_of(mutant.op)
    return (
        (mutant.mutation, mutant.variant, op.name) == ("slot", 0, "tile.acquire")
        and _edits.depth(op.operands[0].type) > 1
        and len(_protocol.using({op.name}, side, _edits.kernel_of(op))) == 1
        and _protocol.is_in_step(op)
        and _holds_one_slot(op)
    )


def _holds_one_slot(op: ir.Operation) -> bool:
    """Whether consumers of a channel release each slot in the block that waits for it,
    so they hold one slot at a time."""
    users = [
        each
        for each in _edits.walk(_edits.kernel_of(op))
        if each.name in ("tile.release", "tile.wait")
        and each.operands[0] == op.operands[0]
    ]
    waits = [each for each in users if each.name == "tile.wait"]
    return all(
        any(e.block == each.block and e.operands[1] == each.operands[1] for e in waits)
        for each in users
    )


@rule
def _another_channel_orders_it(mutant: Mutant) -> bool:
    """The releases of another channel order the accesses.

    Each iteration fills and releases a slot of the other channel, which has at most as
    many slots. When a slot is filled again, the producer has waited for the release of
    an earlier iteration in the other channel, after which nothing reads the slot.
    Premises: a release was moved up over reads, or a wait for it down over copies; the
    roles correspond as in `within-an-iteration`; in each iteration the producer waits
    for the other channel before this one; its release follows this one. If a release
    was moved over its proxy fence, a fence precedes that of the other channel.
    """
    op, crossed = mutant.op, _protocol.crossed_by(mutant) or ()
    is_release = op.name == "tile.mbarrier_arrive"
    if (mutant.mutation, op.name) not in (
        ("move-earlier", "tile.mbarrier_arrive"),
        ("move-later", "tile.mbarrier_wait"),
    ):
        return False
    reads = {"tile.gemm", "tile.load", "tile.proxy_fence"}
    allowed = reads if is_release else {"tile.copy"}
    if not all(_edits.is_pure(each) or each.name in allowed for each in crossed):
        return False
    if any("async" in each.attributes for each in crossed):
        return False
    if not _protocol.is_in_step(op):
        return False
    kernel, barrier = _edits.kernel_of(op), _protocol.barrier_of(op)
    partners = _protocol.using(BLOCKING if is_release else SIGNALING, barrier, kernel)
    releases, waits = ([op], partners) if is_release else (partners, [op])
    needs_fence = any(each.name == "tile.proxy_fence" for each in crossed)
    return is_ordered_besides(releases, waits, needs_fence)


def is_ordered_besides(
    releases: list[ir.Operation], waits: list[ir.Operation], needs_fence: bool
) -> bool:
    """Whether another channel orders what a release and the wait for it order.

    Args:
        releases: all operations that release slots of the channel.
        waits: all operations that wait for them.
        needs_fence: whether a fence has to precede the release of the other channel.
    """
    if len(releases) != 1 or len(waits) != 1:
        return False
    if not _protocol.is_for_a_release(waits[0]):
        return False
    return any(
        _surrounds(other, releases[0], waits[0])
        and (not needs_fence or _follows_fence(other))
        for other in _edits.walk(_edits.kernel_of(waits[0]))
        if other.name == "tile.mbarrier_arrive"
        and other.operands[0] != releases[0].operands[0]
    )


def _follows_fence(release: ir.Operation) -> bool:
    before = _edits.step(release, down=False)
    return before is not None and before.name == "tile.proxy_fence"


def _surrounds(other: ir.Operation, release: ir.Operation, wait: ir.Operation) -> bool:
    """Whether another release follows `release` in each iteration, and the wait for it
    precedes `wait`."""
    found = _protocol.using(
        BLOCKING, _protocol.barrier_of(other), _edits.kernel_of(other)
    )
    if len(found) != 1 or not _protocol.is_for_a_release(found[0]):
        return False
    order = _edits.walk(_edits.kernel_of(other))
    loops = _protocol.loops_around(release)[:1], _protocol.loops_around(wait)[:1]
    return (
        _edits.depth(other.operands[0].type) <= _edits.depth(wait.operands[0].type)
        and ([_edits.parent(other)], [_edits.parent(found[0])]) == loops
        and order.index(other) > order.index(release)
        and order.index(found[0]) < order.index(wait)
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
    same block. The releasing role waits for that other barrier only before the release.
    These waits are for fills, because a wait for a release returns at first without any
    signal. The original is right, so the numbers of signals and waits agree.
    """
    op = mutant.op
    if mutant.mutation in _OF_A_GUARD and op.name == "scf.if":
        inside = [
            each
            for each in _edits.walk(op)[1:]
            if not _edits.is_pure(each) and each.name != "scf.if"
        ]
        return all(_protocol.is_last_signal(each) for each in inside)
    if mutant.mutation == "move-out" and _edits.parent(op).name == "scf.if":
        return _protocol.is_last_signal(op, [_edits.parent(op)])
    crossed = _protocol.crossed_by(mutant)
    if mutant.mutation in ("move-earlier", "move-in"):
        return _protocol.is_last_signal(op, crossed or ())
    if op.name == "tile.gemm_wait" and crossed is not None:
        inside = [each for outer in crossed for each in _edits.walk(outer)]
        is_last = _protocol.is_last_signal
        return all(_edits.is_pure(e) or is_last(e) or e.regions for e in inside)
    return mutant.mutation in _OF_ONE_SIGNAL and _protocol.is_last_signal(op)


@rule
def _slots_are_free_at_first(mutant: Mutant) -> bool:
    """The first transactions find their slots free.

    The first waits for releases, one for each slot, return at once. So their places do
    not matter, and they can be left out. Premises: neither this wait nor an earlier one
    of the role for the same barrier is in a loop. There are at most as many of them as
    slots. The wait does not move after a signal of its role, which may fill the slot.
    """
    names = ("drop", "duplicate", "move-earlier", "move-later")
    if mutant.mutation not in names or not _protocol.finds_a_free_slot(mutant.op):
        return False
    crossed = _protocol.crossed_by(mutant) or ()
    inside = [each for outer in crossed for each in _edits.walk(outer)]
    return mutant.mutation != "move-later" or not any(
        each.name in SIGNALING for each in inside
    )


@rule
def _returns_at_once(mutant: Mutant) -> bool:
    """A wait for the phase before the first one returns at once at any barrier.

    Premises: those of `slots-are-free-at-first`; the role itself makes all arrivals at
    the other barrier, after the wait. So the first phase of that barrier is still
    incomplete.
    """
    op = mutant.op
    if mutant.mutation != "other-channel" or not _protocol.finds_a_free_slot(op):
        return False
    changed = _edits.walk(mutant.module.operation)[mutant.index]
    if changed.name != op.name or not _protocol.is_for_a_release(changed):
        return False
    arrivals = _protocol.using(
        SIGNALING, _protocol.barrier_of(changed), _edits.kernel_of(changed)
    )
    return all(
        _protocol.role_of(each) == _protocol.role_of(changed)
        and not _protocol.may_follow(changed, each)
        for each in arrivals
    )
