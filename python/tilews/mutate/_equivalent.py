"""Which mutants do what the original does, and why.

Each rule is an argument, written down as its docstring, and a function that checks its
premises. What no rule covers is held to be a fault.
"""

from __future__ import annotations

from collections.abc import Callable

from .. import ir, passes
from ..errors import CompileError
from . import _edits, _protocol
from ._mutants import Mutant
from ._program import program, program_of_text
from ._protocol import BLOCKING, SIGNALING

Rule = Callable[[Mutant], bool]
RULES: dict[str, Rule] = {}
#: When copies land in a module's runs: :meth:`tilews.mutate.Judge.landings`.
Landings = Callable[[ir.Module], object]


def _rule(function: Rule) -> Rule:
    RULES[function.__name__.strip("_").replace("_", "-")] = function
    return function


def argue(mutant: Mutant, landings: Landings) -> str | None:
    """The rule by which a mutant does what its original does, None without one."""
    found = next((name for name, rule in RULES.items() if rule(mutant)), None)
    if found is None and copies_land_in_time(mutant, landings):
        return "copies-land-in-time"
    return found


def copies_land_in_time(mutant: Mutant, landings: Landings) -> bool:
    """In no run does a copy land later than it did.

    Original and mutant were run, with copies that land only when a wait for their group
    makes them: they do the same operations in the same order, and no copy lands behind
    an operation that it landed in front of before. The launches have more turns than
    groups may be under way, so that later turns repeat earlier ones. Premises: the
    kernel has no roles, only `tile.commit_group` was changed, and all launches were
    compared.
    """
    op = mutant.op
    if op.name != "tile.commit_group" or _protocol.role_of(op) is not None:
        return False
    before = landings(_original(mutant))
    after = landings(mutant.module)
    if before is None or after is None:
        return False
    return all(
        operations == others
        and landed.keys() == lands.keys()
        and all(lands[copy] <= landed[copy] for copy in landed)
        for (operations, landed), (others, lands) in zip(before, after, strict=True)
    )


def _original(mutant: Mutant) -> ir.Module:
    text = str(list(_edits.ancestors(mutant.op))[-1])
    return ir.Module.parse(text, context=mutant.module.context)


@_rule
def _same_program(mutant: Mutant) -> bool:
    """The compiler makes the same of both.

    Channels were lowered to barriers in both, and what came out compared: operations
    with effects one by one, in their order, with what they compute their operands from.
    So end changes of what has no code, such as the transactions of kernels without
    roles beside `tile.wait`, and of values that are the same by another name.
    """
    expected = program_of_text(str(_original(mutant)), mutant.module.context)
    return expected is not None and expected == program(mutant.module)


@_rule
def _arrivals_have_no_phase(mutant: Mutant) -> bool:
    """Who only arrives does not look at the phase.

    A release and a commit arrive at the barrier of a slot, in whatever phase it is. The
    cursor was moved by a whole turn, so the slot is the same.
    """
    names = ("tile.commit", "tile.release")
    return mutant.mutation == "phase" and mutant.op.name in names


@_rule
def _there_is_one_slot(mutant: Mutant) -> bool:
    """Every cursor points at the only slot.

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


@_rule
def _twice_is_once(mutant: Mutant) -> bool:
    """The second of two equal waits finds what the first one waited for.

    Barriers, fences, and waits for groups have no state that the first would change.
    A wait for a slot finds its phase complete still: the next phase cannot complete
    without an arrival of the same role, which comes later. Premise: the role signals
    the channel's other side, or the mbarrier's partner, itself.
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
    """Whether a transaction `op` can change places with `other`."""
    buffers = _protocol.buffers_of(op)
    if any(each.name in _edits.SYNCHRONIZING for each in _edits.walk(other)):
        if other.name == "tile.barrier" and not other.attributes:
            return True
        if (
            _protocol.barrier_of(other) is None
            or _protocol.barrier_of(other)[0] == op.operands[0]
        ):
            return False
        if (op.name in BLOCKING) == (other.name in BLOCKING):
            return True
        # A signal may come earlier than a wait, not later.
        return (op.name in BLOCKING) == later
    if other.name == "scf.while" or _edits.is_terminator(other):
        return False
    return not _protocol.touches(other, buffers)


@_rule
def _out_of_the_way(mutant: Mutant) -> bool:
    """A transaction has changed places with what does not depend on it.

    In a role a wait may be exchanged with a wait, a signal with a signal of another
    channel, an arrival with any arrival, and a signal may come before a wait of another
    channel instead of after it: whoever waits for it finds it earlier. A barrier of the
    role's own threads stands in nobody's way. Neither do operations that touch none of
    the slots that the transaction hands over. Premises: the operation is in a role; all
    that was crossed is of these kinds; no access to the channel's buffers was crossed,
    or to any if they are not known.
    """
    crossed = _protocol.crossed_by(mutant)
    op = mutant.op
    if crossed is None or mutant.mutation == "move-in":
        return False
    if _protocol.role_of(op) is None or op.name not in BLOCKING | SIGNALING:
        return False
    later = mutant.mutation == "move-later"
    return all(_edits.is_pure(each) or _commutes(op, each, later) for each in crossed)


def _is_last_signal(op: ir.Operation, crossed: list[ir.Operation] = ()) -> bool:
    """Whether all who ever wait for a signal have done so when it is given.

    So it has to be before operations that it was `crossed` with, too.
    """
    role, barrier = _protocol.role_of(op), _protocol.barrier_of(op)
    if role is None or op.name not in SIGNALING:
        return False
    inside = [each for outer in crossed for each in _edits.walk(outer)]
    return all(
        _has_passed(waiter, op, role, inside)
        for waiter in _protocol.using(BLOCKING, barrier, _protocol.kernel_of(op))
    )


def _has_passed(
    waiter: ir.Operation,
    op: ir.Operation,
    role: ir.Operation,
    crossed: list[ir.Operation],
) -> bool:
    """Whether `waiter` has been passed for the last time when `op` runs.

    Its role then signals something that `role` has waited for.
    """
    other = _protocol.role_of(waiter)
    if other is None or other == role:
        return False
    block = _edits.block_of(waiter)
    for signal in block[block.index(waiter) :]:
        if signal.name not in SIGNALING:
            continue
        answers = _protocol.using(BLOCKING, _protocol.barrier_of(signal), role)
        late = any(
            _protocol.may_follow(each, op) or each in crossed for each in answers
        )
        if answers and not late:
            return True
    return False


def _changes_places(op: ir.Operation, other: ir.Operation) -> bool:
    """Whether a transaction can be exchanged with `other` of the same turn."""
    if other.name == "scf.if":
        inside = [each for each in _edits.walk(other)[1:] if not each.regions]
        return all(_edits.is_pure(e) or _changes_places(op, e) for e in inside)
    if other.name in BLOCKING | SIGNALING:
        return other.operands[0] != op.operands[0]
    return _commutes(op, other, later=True)


@_rule
def _within_a_turn(mutant: Mutant) -> bool:
    """A transaction was exchanged with one of another channel in the same turn.

    The roles take turns: a fill needs releases of earlier turns only, a release needs
    fills of its own turn and earlier ones. So each role can finish its turn in any
    order of its waits and signals, if accesses stay between theirs. Premises: the roles
    correspond loop by loop, in barriers and in direction; no access to the channel's
    buffers, no other loop and no transaction of the same barrier was crossed.
    """
    crossed = _protocol.crossed_by(mutant)
    op = mutant.op
    if crossed is None or mutant.mutation == "move-in":
        return False
    if op.name not in BLOCKING | SIGNALING or not _protocol.is_in_turns(op):
        return False
    return all(_edits.is_pure(each) or _changes_places(op, each) for each in crossed)


@_rule
def _acquired_for_nothing(mutant: Mutant) -> bool:
    """A slot is waited for in turns in which it is not filled, too.

    What was done in a guard is done before it: the wait for a release of an earlier
    turn ends whether or not the slot is filled then, and changes nothing. Premises: as
    for an exchange within a turn, and the wait is for a release.
    """
    op = mutant.op
    if mutant.mutation != "move-out" or mutant.variant != 0:
        return False
    if _edits.parent(op).name != "scf.if" or not _protocol.is_for_a_release(op):
        return False
    block = _edits.block_of(op)
    crossed = block[: block.index(op)]
    return _protocol.is_in_turns(op) and all(
        _edits.is_pure(each) or _changes_places(op, each) for each in crossed
    )


@_rule
def _the_next_release_comes_later(mutant: Mutant) -> bool:
    """Whoever waits for the release of the next slot has waited for that of this one.

    Slots are released in rotation by one role. The next one has been filled in an
    earlier turn, so its release comes: the channel is only one slot shorter. Premises:
    as for an exchange within a turn, and the channel has two slots or more.
    """
    op = mutant.op
    return (
        (mutant.mutation, mutant.variant, op.name) == ("slot", 0, "tile.acquire")
        and _edits.depth(op.operands[0].type) > 1
        and _protocol.is_in_turns(op)
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


@_rule
def _nobody_waits_any_more(mutant: Mutant) -> bool:
    """The last release of a channel's slots is for nobody.

    Whoever fills the slots waits for releases before filling. The last fill has been
    waited for when the release is given: so all waits for releases are over, and it
    does not matter any more whether, how often, and of which slot one is given.
    Premises: after each wait for the barrier its role signals another barrier, in the
    same block; the releasing role waits for that one only before the release. The
    original is right, so the numbers of signals and waits agree.
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
        return _is_last_signal(op, crossed)
    if op.name == "tile.gemm_wait" and crossed is not None:
        inside = [each for outer in crossed for each in _edits.walk(outer)]
        return all(_edits.is_pure(e) or _is_last_signal(e) or e.regions for e in inside)
    return mutant.mutation in _OF_ONE_SIGNAL and _is_last_signal(op)


@_rule
def _slots_are_free_at_first(mutant: Mutant) -> bool:
    """The first transactions find their slots free.

    As many waits for releases as the channel has slots return at once, so it does not
    matter where they stand or whether they are there. Premises: no wait of the role for
    the barrier before it, nor this one, is in a loop, and they are no more than slots.
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


@_rule
def _more_or_earlier_groups(mutant: Mutant) -> bool:
    """A wait for groups of copies waits for more than it did.

    An empty group more, closed right after another, makes a wait leave less copies
    under way. So does a group that is closed later: copies behind it become part of
    it, where they are waited for earlier. Copies complete by themselves, so to wait
    for more changes no result. Premises: the group is closed in a kernel without
    roles, and moved over nothing that waits or closes groups.
    """
    op = mutant.op
    if op.name != "tile.commit_group" or _protocol.role_of(op) is not None:
        return False
    if mutant.mutation == "duplicate":
        return True
    if mutant.mutation != "move-later":
        return False
    inside = [
        each for outer in _protocol.crossed_by(mutant) for each in _edits.walk(outer)
    ]
    counting = {"tile.commit_group", "tile.copy_group_wait", "tile.wait"}
    draining = any("drain_copies" in each.attributes for each in inside)
    return not draining and not any(each.name in counting for each in inside)


@_rule
def _only_names(mutant: Mutant) -> bool:
    """Two roles of as many warps and registers have changed names.

    Premises: the roles that were exchanged have the same attributes otherwise.
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


@_rule
def _nothing_is_unordered(mutant: Mutant) -> bool:
    """All conflicting accesses still have a barrier between them.

    The analysis that places barriers (`--tile-insert-barriers`) was run on the mutant
    and found none to be missing, but for barriers between stores of tiles that do not
    overlap, about which it is not asked. Premises: the changed operation is a
    `tile.barrier`; each further barrier would stand before a `tile.store` to an
    argument of the kernel that nothing else accesses, whose place is a multiple of the
    tile's extent times the turn of a loop, or times its quotient and its remainder.
    """
    if mutant.op.name != "tile.barrier":
        return False
    copy = ir.Module.parse(str(mutant.module), context=mutant.module.context)
    barriers = _all(copy, "tile.barrier")
    for each in barriers:
        with copy.context:
            each.attributes["kept"] = ir.UnitAttr.get()
    try:
        passes.run(copy, "tile-insert-barriers")
    except CompileError:
        return False
    added = [e for e in _all(copy, "tile.barrier") if "kept" not in e.attributes]
    return all(_protocol.stores_apart(_edits.following(each)) for each in added)


def _all(module: ir.Module, name: str) -> list[ir.Operation]:
    return [each for each in _edits.walk(module.operation) if each.name == name]


@_rule
def _no_barrier_is_needed(mutant: Mutant) -> bool:
    """The role has nothing that a barrier would order.

    All its accesses to shared memory read slots, which transactions order; what it
    stores to global memory overlaps nothing else. Premises: the changed operation is a
    `tile.barrier` of a role without scratch memory, and without shared buffers but
    slots that it only reads; its stores are as `nothing-is-unordered` says.
    """
    role = _protocol.role_of(mutant.op)
    if mutant.op.name != "tile.barrier" or role is None:
        return False
    inside = [each for each in _edits.walk(role)[1:] if not each.regions]
    return all(_protocol.is_ordered_by_channels(each) for each in inside)


@_rule
def _once_a_turn(mutant: Mutant) -> bool:
    """One barrier a turn keeps one operation's turns apart, wherever it stands.

    Between two turns of the only operation that needs it there is still a barrier.
    Premises: the barrier was moved within its block, which is a loop's; that block has
    exactly one operation that `no-barrier-is-needed` does not allow, the role no other.
    """
    op = mutant.op
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


@_rule
def _expected_before_sent(mutant: Mutant) -> bool:
    """The bytes of copies are expected before the copies are made.

    The phase completes when all bytes have landed that it expects, so an arrival that
    expects them may come before the copies as well as after, and before waits for other
    barriers: until the copies have been made nobody sees it. Stores that it comes
    before are published by another arrival, which the phase needs, too. Premises: the
    arrival expects bytes; what was crossed is copies, transactions of other barriers,
    or, if another arrival at the barrier follows, stores.
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
        or (each.name in BLOCKING | SIGNALING and each.operands[0] != op.operands[0])
        or (more and each.name in ("tile.store", "tile.load"))
        for each in _protocol.crossed_by(mutant)
    )


@_rule
def _nobody_waits_for_it(mutant: Mutant) -> bool:
    """A phase that nobody waits for may complete sooner, later, or never.

    All waits for the barrier find the phase before the first: they are over before
    anybody can arrive. Premises: none of them is in a loop; each is for a release; and
    what arrives at the barrier does so after a signal of the waiting role.
    """
    op = mutant.op
    if mutant.mutation == "count":
        barrier = op.results[0]
    elif op.name == "tile.mbarrier_arrive" and mutant.mutation in ("agents", "bytes"):
        barrier = op.operands[0]
    else:
        return False
    waits = _protocol.using(BLOCKING, (barrier, ""), _protocol.kernel_of(op))
    arrivals = _protocol.using(SIGNALING, (barrier, ""), _protocol.kernel_of(op))
    looped = any(_protocol.loops_around(each) for each in waits)
    free = all(_protocol.is_for_a_release(each) for each in waits)
    return not looped and free and all(map(_is_last_signal, arrivals))


@_rule
def _waits_more_often(mutant: Mutant) -> bool:
    """What was waited for in a guard is waited for without the guard, too.

    Copies and products complete by themselves, and all threads of the role are there,
    so to wait for them once more changes no result. Premises: the operation came before
    all others of its guard that do anything.
    """
    op = mutant.op
    names = {"tile.barrier", "tile.copy_group_wait", "tile.gemm_wait"}
    if (mutant.mutation, mutant.variant) != ("move-out", 0) or op.name not in names:
        return False
    if _edits.parent(op).name != "scf.if" or op.results:
        return False
    block = _edits.block_of(op)
    return all(_edits.is_pure(each) for each in block[: block.index(op)])


@_rule
def _never_looked_at(mutant: Mutant) -> bool:
    """The cursor that a loop starts with is replaced before it is used.

    In the first turn nobody looks at it: all its uses are in a guard that is false at
    first. Premises: the guard is another value that the loop carries and that begins as
    false; each turn yields another cursor; behind the loop the cursor is used under the
    guard only.
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
    """Whether `op` runs only if a value that `loop` carries, at first false, is true"""
    guard = _edits.parent(op)
    if guard.name != "scf.if" or op.block != guard.regions[0].blocks[0]:
        return False
    condition = guard.operands[0]
    if isinstance(condition.owner, ir.Block):
        if condition.owner != loop.regions[0].blocks[0] or condition.arg_number == 0:
            return False
        number = condition.arg_number - 1
    elif condition.owner.operation == loop:
        number = condition.result_number
    else:
        return False
    first = _edits.defining(loop.operands[3 + number])
    return (
        first is not None
        and first.name == "arith.constant"
        and str(first.attributes["value"]) in ("false", "0 : i1")
    )
