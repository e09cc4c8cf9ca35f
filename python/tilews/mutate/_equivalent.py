"""Which mutants do what the original does, and why.

Each rule is an argument, written down as its docstring, and a function that checks its
premises. What no rule covers is held to be a fault.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable

from .. import ir, passes
from ..errors import CompileError
from . import _edits
from ._mutants import Mutant

Rule = Callable[[Mutant], bool]
RULES: dict[str, Rule] = {}


def _rule(function: Rule) -> Rule:
    RULES[function.__name__.strip("_").replace("_", "-")] = function
    return function


def argue(mutant: Mutant) -> str | None:
    """The rule by which a mutant does what its original does, None without one."""
    return next((name for name, rule in RULES.items() if rule(mutant)), None)


# --- Barriers and who uses them --------------------------------------------------


def _barrier(op: ir.Operation) -> tuple[ir.Value, str] | None:
    """What a wait or a signal is about: one of the two sides of a channel.

    Those of a channel are named by what they say; an mbarrier is a side of its own.
    """
    side = {
        "tile.acquire": "empty",
        "tile.release": "empty",
        "tile.wait": "full",
        "tile.commit": "full",
        "tile.mbarrier_wait": "",
        "tile.mbarrier_arrive": "",
        "tile.mbarrier_expect": "",
    }.get(op.name)
    return None if side is None else (op.operands[0], side)


_BLOCKING = {"tile.acquire", "tile.wait", "tile.mbarrier_wait"}
_SIGNALING = {"tile.commit", "tile.release", "tile.mbarrier_arrive"}


def _role(op: ir.Operation) -> ir.Operation | None:
    return _edits.enclosing(op, "tile.role")


def _kernel(op: ir.Operation) -> ir.Operation:
    return _edits.enclosing(op, "gpu.func")


def _loops(op: ir.Operation) -> list[ir.Operation]:
    """The loops of its role or kernel that `op` is in, from the inside out."""
    return [
        each for each in _edits.ancestors(op) if each.name in ("scf.for", "scf.while")
    ]


def _with(names: set[str], barrier: tuple, root: ir.Operation) -> list[ir.Operation]:
    """The operations in `root` that wait for, or signal, a barrier."""
    return [
        each
        for each in _edits.walk(root)
        if each.name in names and _barrier(each) == barrier
    ]


def _may_follow(op: ir.Operation, other: ir.Operation) -> bool:
    """Whether `op` may run after `other`, of the same role, at some time."""
    order = _edits.walk(_kernel(op))
    if order.index(op) > order.index(other):
        return True
    return any(loop in _loops(other) for loop in _loops(op))


# --- What memory an operation touches --------------------------------------------


def _is_shared(type_: ir.Type) -> bool:
    return "#gpu.address_space<workgroup>" in str(type_)


def _buffers(value: ir.Value) -> ir.Value:
    """The allocation that a view is of."""
    op = _edits.defining(value)
    while op is not None and op.name in ("tile.slot", "tile.view"):
        value = op.operands[0]
        op = _edits.defining(value)
    return value


def _touches(op: ir.Operation, buffers: list[ir.Value] | None) -> bool:
    """Whether an operation, or one in it, accesses buffers; None: any, or scratch."""
    for each in _edits.walk(op):
        if each.name == "tile.slot":
            continue
        shared = [_buffers(v) for v in each.operands if _is_shared(v.type)]
        if any(buffers is None or v in buffers for v in shared):
            return True
        scratch = each.name not in ("tile.alloc_shared", "tile.channel")
        if buffers is None and scratch and "tile.offset" in each.attributes:
            return True
    return False


def _buffers_of(op: ir.Operation) -> list[ir.Value] | None:
    """The buffers whose slots a transaction hands over; None if it is not known."""
    channel = _edits.defining(op.operands[0])
    if channel is None or channel.name != "tile.channel":
        return None
    return list(channel.operands) or None


# --- Which operations a move crosses -----------------------------------------------


def _crossed(mutant: Mutant) -> list[ir.Operation] | None:
    """What the changed operation was moved over; None if it was not, or elsewhere."""
    op = mutant.op
    if mutant.mutation == "move-in":
        return [_edits.step(op, down=mutant.variant == 1)]
    if mutant.mutation not in ("move-earlier", "move-later"):
        return None
    down = mutant.mutation == "move-later"
    place = op
    for _ in range(mutant.variant + 1):
        place = _edits.step(place, down)
    block = _edits.block_of(op)
    first, last = sorted((block.index(op), block.index(place)))
    return [each for each in block[first : last + 1] if each != op]


# --- The rules ---------------------------------------------------------------------


class _Program:
    """What a module does, as a text in which only that matters.

    Operations without effects have no place of their own: they are named by what they
    compute, and appear only as operands of others.
    """

    def __init__(self, module: ir.Module) -> None:
        self._names: dict[ir.Value, str] = {}
        self._count = 0
        self.text = str(self._read(module.operation))

    def _read(self, op: ir.Operation) -> tuple:
        operands = [self._names[each] for each in op.operands]
        attributes = sorted(f"{each}={op.attributes[each]}" for each in op.attributes)
        types = [str(each.type) for each in op.results]
        blocks = [block for region in op.regions for block in region.blocks]
        return op.name, operands, attributes, types, list(map(self._read_block, blocks))

    def _read_block(self, block: ir.Block) -> list:
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


def _program(module: ir.Module) -> str | None:
    """The program with barriers in place of channels; None if it has none."""
    copy = ir.Module.parse(str(module), context=module.context)
    if hasattr(passes, "lower_channels"):
        try:
            passes.run(copy, "tile-lower-channels,canonicalize,cse")
        except CompileError:
            return None
    return _Program(copy).text


@functools.lru_cache(maxsize=4)
def _program_of_text(text: str, context: ir.Context) -> str | None:
    return _program(ir.Module.parse(text, context=context))


@_rule
def _same_program(mutant: Mutant) -> bool:
    """The compiler makes the same of both.

    Channels were lowered to barriers in both, and what came out compared: operations
    with effects one by one, in their order, with what they compute their operands from.
    So end changes of what has no code, such as the transactions of kernels without
    roles beside `tile.wait`, and of values that are the same by another name.
    """
    original = str(list(_edits.ancestors(mutant.op))[-1])
    expected = _program_of_text(original, mutant.module.context)
    return expected is not None and expected == _program(mutant.module)


@_rule
def _arrivals_have_no_phase(mutant: Mutant) -> bool:
    """Who only arrives does not look at the phase.

    A release and a commit arrive at the barrier of a slot, in whatever phase it is. The
    cursor was moved by a whole turn, so the slot is the same.
    """
    names = ("tile.commit", "tile.release")
    return mutant.mutation == "phase" and mutant.op.name in names


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
    role = _role(op)
    if op.name not in _BLOCKING:
        return False
    if role is None:  # Threads of one role: a barrier and a wait for groups.
        return op.name == "tile.wait"
    return any(each.name in _SIGNALING for each in _edits.walk(role))


def _commutes(op: ir.Operation, other: ir.Operation, later: bool) -> bool:
    """Whether a transaction `op` can change places with `other`."""
    buffers = _buffers_of(op)
    if any(each.name in _edits.SYNCHRONIZING for each in _edits.walk(other)):
        if other.name == "tile.barrier" and not other.attributes:
            return True
        if _barrier(other) is None or _barrier(other)[0] == op.operands[0]:
            return False
        if (op.name in _BLOCKING) == (other.name in _BLOCKING):
            return True
        # A signal may come earlier than a wait, not later.
        return (op.name in _BLOCKING) == later
    if other.name == "scf.while" or _edits.is_terminator(other):
        return False
    return not _touches(other, buffers)


@_rule
def _out_of_the_way(mutant: Mutant) -> bool:
    """A transaction has changed places with what does not depend on it.

    In a role a wait may be exchanged with a wait, a signal with a signal of another
    channel, and a signal may come before a wait of another channel instead of after it:
    whoever waits for it finds it earlier. A barrier of the role's own threads stands in
    nobody's way. Neither do operations that touch none of the slots that the
    transaction hands over. Premises: the operation is in a role; all that was crossed
    is of these kinds; no access to the channel's buffers, or for an mbarrier to shared
    memory at all, was crossed.
    """
    crossed = _crossed(mutant)
    op = mutant.op
    if crossed is None or mutant.mutation == "move-in":
        return False
    if _role(op) is None or op.name not in _BLOCKING | _SIGNALING:
        return False
    later = mutant.mutation == "move-later"
    return all(_edits.is_pure(each) or _commutes(op, each, later) for each in crossed)


def _is_last_signal(op: ir.Operation, crossed: list[ir.Operation] = ()) -> bool:
    """Whether all who ever wait for a signal have done so when it is given.

    So it has to be before operations that it was `crossed` with, too.
    """
    role, barrier = _role(op), _barrier(op)
    if role is None or op.name not in _SIGNALING:
        return False
    inside = [each for outer in crossed for each in _edits.walk(outer)]
    return all(
        _has_passed(waiter, op, role, inside)
        for waiter in _with(_BLOCKING, barrier, _kernel(op))
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
    other = _role(waiter)
    if other is None or other == role:
        return False
    block = _edits.block_of(waiter)
    for signal in block[block.index(waiter) :]:
        if signal.name not in _SIGNALING:
            continue
        answers = _with(_BLOCKING, _barrier(signal), role)
        late = any(_may_follow(each, op) or each in crossed for each in answers)
        if answers and not late:
            return True
    return False


def _first_number(value: ir.Value) -> int | None:
    """What a number is where a role first computes it; None if it is not known."""
    op = _edits.defining(value)
    if op is None:
        loop = value.owner.owner.operation
        if loop.name != "scf.for" or value.arg_number == 0:
            return None
        return _first_number(loop.operands[2 + value.arg_number])
    if op.name == "scf.for":
        return _first_number(op.operands[3 + value.result_number])
    if op.name == "arith.constant":
        return ir.IntegerAttr(op.attributes["value"]).value
    if op.name == "arith.xori":
        numbers = [_first_number(each) for each in op.operands]
        return None if None in numbers else numbers[0] ^ numbers[1]
    return None


def _is_for_a_release(op: ir.Operation) -> bool:
    """Whether a wait finds its phase complete at first, as it is with free slots."""
    if op.name == "tile.mbarrier_wait":
        return _first_number(op.operands[2]) == 1
    return op.name == "tile.acquire"


def _barriers_in(root: ir.Operation) -> set[tuple[ir.Value, str]]:
    return {
        _barrier(each)
        for each in _edits.walk(root)
        if each.name in _BLOCKING | _SIGNALING
    }


def _is_in_turns(op: ir.Operation) -> bool:
    """Whether the turns of the loop that `op` is in go with those of one other role.

    That role has as many loops with transactions, and in the one that corresponds it
    uses the same barriers. Either role waits for releases only, or for fills only.
    """
    role = _role(op)
    loops = _loops(op)
    if role is None or not loops:
        return False
    number = _transacting_loops(role).index(loops[0])
    for other in _edits.block_of(role):
        if other == role:
            continue
        others = _transacting_loops(other)
        if len(others) != len(_transacting_loops(role)):
            return False
        if _barriers_in(others[number]) != _barriers_in(loops[0]):
            return False
    waits = [each for each in _edits.walk(loops[0]) if each.name in _BLOCKING]
    return len({_is_for_a_release(each) for each in waits}) == 1


def _transacting_loops(role: ir.Operation) -> list[ir.Operation]:
    return [
        each
        for each in _edits.walk(role)
        if each.name in ("scf.for", "scf.while") and _barriers_in(each)
    ]


def _changes_places(op: ir.Operation, other: ir.Operation) -> bool:
    """Whether a transaction can be exchanged with `other` of the same turn."""
    if other.name == "scf.if":
        inside = [each for each in _edits.walk(other)[1:] if not each.regions]
        return all(_edits.is_pure(e) or _changes_places(op, e) for e in inside)
    if other.name in _BLOCKING | _SIGNALING:
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
    crossed = _crossed(mutant)
    op = mutant.op
    if crossed is None or mutant.mutation == "move-in":
        return False
    if op.name not in _BLOCKING | _SIGNALING or not _is_in_turns(op):
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
    if _edits.parent(op).name != "scf.if" or not _is_for_a_release(op):
        return False
    block = _edits.block_of(op)
    crossed = block[: block.index(op)]
    return _is_in_turns(op) and all(
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
        and _is_in_turns(op)
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
    crossed = _crossed(mutant)
    if mutant.mutation in ("move-earlier", "move-in"):
        return _is_last_signal(op, crossed)
    if op.name == "tile.gemm_wait" and crossed is not None:
        inside = [each for outer in crossed for each in _edits.walk(outer)]
        return all(_edits.is_pure(e) or _is_last_signal(e) or e.regions for e in inside)
    return mutant.mutation in _OF_ONE_SIGNAL and _is_last_signal(op)


@_rule
def _slots_are_free_at_first(mutant: Mutant) -> bool:
    """The first transactions find their slots free.

    As many acquires as the channel has slots return at once, so it does not matter
    where they stand or whether they are there. Premises: no acquire of the channel
    before it, nor this one, is in a loop, and there are fewer than slots.
    """
    op = mutant.op
    if op.name != "tile.acquire" or _role(op) is None:
        return False
    if mutant.mutation not in ("drop", "duplicate", "move-earlier", "move-later"):
        return False
    acquires = _with({"tile.acquire"}, _barrier(op), _role(op))
    before = acquires[: acquires.index(op) + 1]
    depth = _edits.depth(op.operands[0].type)
    return len(before) <= depth and not any(_loops(each) for each in before)


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
    if op.name != "tile.commit_group" or _role(op) is not None:
        return False
    if mutant.mutation == "duplicate":
        return True
    if mutant.mutation != "move-later":
        return False
    inside = [each for outer in _crossed(mutant) for each in _edits.walk(outer)]
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
