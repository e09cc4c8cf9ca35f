"""Rules by which several edits are equivalent together; each alone may be none."""

from __future__ import annotations

import collections
import re
from collections.abc import Callable, Iterator, Sequence

from ... import ir
from ...passmanager import PassManager
from .. import _edits, _protocol
from .._canonical import program
from .._mutants import Mutant, merged
from ._barrier_rules import orders_accesses, orders_signals, waits_cover_as_much
from ._channel_rules import original_of, same_program
from ._one_slot import fills_before_reads
from ._paths import back_to_last
from ._phases import begin_in_first_phase
from ._single_slot import with_one_slot
from ._zeros import add_zeros

JointRule = Callable[[Sequence[Mutant]], bool]
JOINT_RULES: dict[str, JointRule] = {}


def joint_rule(function: JointRule) -> JointRule:
    """Registers a rule under the name of its function, with dashes."""
    JOINT_RULES[function.__name__.strip("_").replace("_", "-")] = function
    return function


def _same_program(edits: Sequence[Mutant]) -> bool:
    """Whether several edits do nothing together."""
    return same_program(merged(edits))


# The rule for one edit describes it.
JOINT_RULES["same-program"] = _same_program


@joint_rule
def _all_barriers_together(edits: Sequence[Mutant]) -> bool:
    """The barriers that are left order all conflicting accesses.

    For example, one edit moves a barrier over a copy that it drains, and the next one
    moves it on, into the next iteration, to before the buffer is written again. Each
    store by TMA has also read its buffer when the kernel ends, without a barrier.
    Premises: each edit changes a `tile.barrier`, and `nothing-is-unordered` holds for
    the result.
    """
    return all(
        each.op.name == "tile.barrier" and not orders_signals(each) for each in edits
    ) and orders_accesses(edits[-1].module)


@joint_rule
def _all_groups_together(edits: Sequence[Mutant]) -> bool:
    """The waits for groups of copies wait for all copies that they waited for.

    Each edit changes where a group is closed, and `more-or-earlier-groups` holds for
    the result.
    """
    op = edits[0].op
    if any(each.op.name != "tile.commit_group" for each in edits):
        return False
    return _protocol.role_of(op) is None and waits_cover_as_much(merged(edits))


@joint_rule
def _slots_are_renamed(edits: Sequence[Mutant]) -> bool:
    """All arrivals and waits at an mbarrier use other slots, the same for the same.

    All slots of an mbarrier are initialized alike, so their numbers do not matter.
    Premises: each edit changes the slot of an operation on the same mbarrier. Constants
    determine the slot of each operation on it, and no two slots of the original have
    become one. Or all operations on it were changed, each once, by equally many slots.
    """
    places = {_place_of(each) for each in edits}
    place = places.pop()
    if places or place is None:
        return False
    original = original_of(edits[0])
    users = list(_barrier_at(original, place).uses)
    depth = _edits.depth(edits[0].op.operands[0].type)
    # The first variant uses the next slot, the second one the previous slot.
    steps = {(1 - 2 * each.variant) % depth for each in edits}
    if len(steps) == 1 and len(users) == len(edits) and _are_distinct(edits):
        return True
    kernels = original, edits[-1].module
    before, after = (_slots_at(each, place) for each in kernels)
    pairs = set(zip(before, after, strict=True))
    return (
        None not in before + after
        and len(pairs) == len(set(before))
        and len(pairs) == len(set(after))
    )


def _place_of(edit: Mutant) -> int | None:
    """Which of all mbarriers the changed operation uses, if another slot of it now."""
    if edit.mutation != "slot" or edit.op.name not in _edits.ON_BARRIERS:
        return None
    barriers = list(_all_barriers(_edits.kernel_of(edit.op)))
    return barriers.index(edit.op.operands[0])


def _all_barriers(root: ir.Operation) -> Iterator[ir.Value]:
    for each in _edits.walk(root):
        if each.name == "tile.mbarrier":
            yield each.results[0]


def _barrier_at(module: ir.Module, place: int) -> ir.Value:
    return list(_all_barriers(module.operation))[place]


def _are_distinct(edits: Sequence[Mutant]) -> bool:
    """Whether edits change different operations on the same mbarrier."""
    numbers = []
    for each in edits:
        uses = [
            op
            for op in _edits.walk(_edits.kernel_of(each.op))
            if each.op.operands[0] in list(op.operands)
        ]
        numbers.append(uses.index(each.op))
    return len(set(numbers)) == len(edits)


def _slots_at(module: ir.Module, place: int) -> list[int | None]:
    """The slots that the uses of an mbarrier name; None where it is no constant."""
    barrier = _barrier_at(module, place)
    return [
        _edits.number_of(each.operands[number + 1])
        for each in _edits.walk(module.operation)
        for number, value in enumerate(each.operands)
        if value == barrier
    ]


@joint_rule
def _adds_only_zeros(edits: Sequence[Mutant]) -> bool:
    """Loops have one iteration more, in which they add zeros.

    Copies read zeros beyond the extents of global memory, and sums with zeros are
    equal. In all other respects the kernel is one with a larger extent. Premises: each
    edit adds an iteration to a loop in a role, from 0 by 1, without control flow in it.
    The number of iterations is a constant greater than 1, or `ceildivsi` of an extent
    that only such bounds use; with transactions it is no constant. Each mbarrier that a
    loop uses has one wait and one signal, both in these loops, which have equally many
    iterations. All copies of the iteration that is added start beyond an extent.
    Nothing else writes to their buffers, and each read is of the fill of the same
    iteration. The loop has no other effects. Each value that it carries and that is
    used after it is only added to numbers that follow from zeros, by casts, sums,
    multiplications and changes of shape.
    """
    if any((each.mutation, each.variant) != ("trip-count", 0) for each in edits):
        return False
    numbers = {_number_of_loop(each.op) for each in edits}
    if len(numbers) != len(edits):
        return False
    loops = list(_all_loops(original_of(edits[0]).operation))
    return add_zeros([loops[each] for each in sorted(numbers)])


@joint_rule
def _one_slot_is_enough(edits: Sequence[Mutant]) -> bool:
    """All fills and reads of a buffer use one slot now, one after the other.

    In the original each iteration fills a slot, and reads it if it fills it. So a read
    needs the last fill only. Premises: the kernel has no roles, no channels and no
    mbarriers. Original and mutant are the same program but for the numbers of slots. In
    the original, each buffer with slots is filled by one copy, and read after it in the
    same iteration. The numbers of the two, and their guards, are computed alike. In the
    mutant, constants determine all slots, those of a buffer are the same, and
    `nothing-is-unordered` holds, where a wait for all groups before a barrier counts as
    part of it.
    """
    original, mutant = original_of(edits[0]), edits[-1].module
    names = {each.name for each in _edits.walk(original.operation)}
    if names & {"tile.channel", "tile.mbarrier", "tile.role"}:
        return False
    if "tile.slot" not in names or not fills_before_reads(original):
        return False
    expected = _program_without_slots(original)
    if expected is None or expected != _program_without_slots(mutant):
        return False
    folded = _fold_constants(mutant)
    if not _names_one_slot(folded):
        return False
    _drain_at_waits(folded)
    return orders_accesses(folded)


@joint_rule
def _roles_share_one_slot(edits: Sequence[Mutant]) -> bool:
    """Two roles use slot 0 in each iteration, and alternate.

    A role that waits for a slot, and hands it on in the same iteration, needs no other
    one. The phase changes with each fill, as with one slot. So each order of steps is
    one of the original, in which more were possible. Premises: the kernel has two
    roles and two mbarriers. Each role has one loop, without control flow in it, and
    the loops have equal bounds. An iteration waits at one mbarrier and then arrives at
    the other one, of which the other role does the opposite. In between, and nowhere
    else, one role copies to the slot, and the other one loads from it. Each loop
    carries the number of the slot and its phase. Both start with 0 and are used for
    nothing else. The mutant is the program in which each slot is the last one.
    """
    expected = with_one_slot(original_of(edits[0]))
    if expected is None:
        return False
    folded, mutant = (_fold_constants(each) for each in (expected, edits[-1].module))
    text, other = program(folded), program(mutant)
    return (
        text is not None
        and other is not None
        and _without_depths(text) == _without_depths(other)
        and _names_slot_zero(folded)
    )


def _names_slot_zero(module: ir.Module) -> bool:
    found = [
        (op, slot)
        for op in _edits.walk(module.operation)
        if (slot := _edits.slot_of(op)) is not None
    ]
    return all(_edits.number_of(op.operands[place]) == 0 for op, (place, _) in found)


def _without_depths(text: str) -> str:
    """A text of a program without the numbers of slots of its mbarriers."""
    return re.sub(r"!tile\.mbarrier<\d+>", "!tile.mbarrier", text)


@joint_rule
def _phases_cancel(edits: Sequence[Mutant]) -> bool:
    """Cursors begin in the other phase, and each of their waits is for the other one.

    A cursor that has passed each slot twice is the same cursor, so a wait that moves it
    on by all slots twice is the wait of the original. Signals and views have no phase.
    Once channels are lowered, a loop carries the phase as a parity. Original and mutant
    are the same program once each such cursor or parity begins in the first phase and
    its waits are moved on instead. Premises: nothing but waits depends on the phase,
    and each value that depends on it follows from the cursor or parity alone.
    """
    original, mutant = original_of(edits[0]), edits[-1].module
    moved = [begin_in_first_phase(each) for each in (original, mutant)]
    if all(each is None for each in moved):
        return False
    texts = [
        program(each or unchanged)
        for each, unchanged in zip(moved, (original, mutant), strict=True)
    ]
    return texts[0] is not None and texts[0] == texts[1]


def _program_without_slots(module: ir.Module) -> str | None:
    """The canonical text of a module in which each `tile.slot` names slot 0."""
    copy = ir.Module.parse(str(module), context=module.context)
    with copy.context:
        for each in _edits.walk(copy.operation):
            if each.name == "tile.slot":
                type_ = each.operands[1].type
                each.operands[1] = _edits.constant(0, type_, _edits.before(each))
    return program(copy)


def _fold_constants(module: ir.Module) -> ir.Module:
    """A copy in which values that are always the same are constants."""
    copy = ir.Module.parse(str(module), context=module.context)
    passes = "builtin.module(gpu.module(gpu.func(sccp)))"
    PassManager.parse(passes, module.context).run(copy.operation)
    return copy


def _names_one_slot(module: ir.Module) -> bool:
    """Whether constants determine the slots of each buffer, and these are the same."""
    slots: dict[ir.Value, set[int | None]] = collections.defaultdict(set)
    for each in _edits.walk(module.operation):
        if each.name == "tile.slot":
            slots[each.operands[0]].add(_edits.number_of(each.operands[1]))
    return all(len(each) == 1 and None not in each for each in slots.values())


def _drain_at_waits(module: ir.Module) -> None:
    """Lets a barrier drain copies if a wait for all copies comes just before it."""
    for op in _edits.walk(module.operation):
        if op.name != "tile.copy_group_wait":
            continue
        place = _edits.following(op)
        pending = ir.IntegerAttr(op.attributes["pending"]).value
        if pending or place is None or place.name != "tile.barrier":
            continue
        if all(each.name != "tile.copy" for each in back_to_last(_closes_group, op)):
            with module.context:
                place.attributes["drain_copies"] = ir.UnitAttr.get()


def _closes_group(op: ir.Operation) -> bool:
    return op.name == "tile.commit_group"


def _number_of_loop(loop: ir.Operation) -> int:
    module = list(_edits.ancestors(loop))[-1]
    return list(_all_loops(module)).index(loop)


def _all_loops(root: ir.Operation) -> Iterator[ir.Operation]:
    yield from (each for each in _edits.walk(root) if each.name == "scf.for")
