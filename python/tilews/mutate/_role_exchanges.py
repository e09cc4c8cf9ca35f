"""Classes of mutants that exchange the work of a kernel's roles."""

from __future__ import annotations

import itertools

from .. import ir
from . import _edits
from ._classes import mutation
from ._edits import ON_BARRIERS, TRANSACTIONS

_OPPOSITE = {
    "tile.acquire": "tile.wait",
    "tile.wait": "tile.acquire",
    "tile.commit": "tile.release",
    "tile.release": "tile.commit",
}


def _roles_of(op: ir.Operation) -> list[ir.Operation]:
    """The roles of the kernel that `op` is in."""
    kernel = _edits.kernel_of(op)
    return [each for each in _edits.walk(kernel) if each.name == "tile.role"]


def _play_other_side(op: ir.Operation) -> None:
    _edits.create(_OPPOSITE[op.name], _edits.before(op), operands=op.operands)
    op.erase()


@mutation("other-side", *_OPPOSITE)
def _other_side(op: ir.Operation, variant: int) -> bool:
    """A role takes the other side: acquires become waits, commits releases."""
    if variant:
        return False
    _play_other_side(op)
    return True


@mutation("sides", "tile.channel")
def _sides(op: ir.Operation, variant: int) -> bool:
    """All roles (0), or one of them, take the other side of a channel throughout."""
    roles = _roles_of(op)
    if variant > len(roles) or not roles:
        return False
    changed = [
        each
        for role in (roles[variant - 1 : variant] if variant else roles)
        for each in _edits.walk(role)
        if each.name in _OPPOSITE and each.operands[0] == op.results[0]
    ]
    for each in changed:
        _play_other_side(each)
    # A role that does not use the channel is unchanged; mutants() drops duplicates.
    return True


@mutation("exchanged", "tile.role")
def _exchanged(op: ir.Operation, variant: int) -> bool:
    """A role uses two channels, or two mbarriers, in place of each other."""
    inside = _edits.walk(op)
    used = [
        value
        for each in inside
        for value in each.operands
        if str(value.type).startswith(("!tile.channel<", "!tile.mbarrier<"))
        and not _edits.is_defined_in(value, op)
    ]
    values = [each for i, each in enumerate(used) if each not in used[:i]]
    pairs = [
        pair
        for pair in itertools.combinations(values, 2)
        if pair[0].type == pair[1].type
    ]
    if variant >= len(pairs):
        return False
    one, other = pairs[variant]
    for each in inside:
        for index, value in enumerate(each.operands):
            if value in (one, other):
                each.operands[index] = other if value == one else one
    return True


@mutation("other-role", *TRANSACTIONS, *ON_BARRIERS)
def _other_role(op: ir.Operation, variant: int) -> bool:
    """Another role does it, next to its first operation with a matching slot."""
    own = _edits.enclosing(op, "tile.role")
    others = [] if own is None else [each for each in _roles_of(op) if each != own]
    if variant >= len(others):
        return False
    neighbour = next(
        (each for each in _edits.walk(others[variant]) if _has_place_for(each, op)),
        None,
    )
    if neighbour is not None:
        place = [op.operands[0], *list(neighbour.operands)[1 : len(op.operands)]]
        _edits.clone(op, _edits.after(neighbour), place)
        _edits.erase(op)
    # Without a neighbour the module is unchanged; mutants() drops duplicates.
    return True


def _has_place_for(neighbour: ir.Operation, op: ir.Operation) -> bool:
    """Whether an operation has a slot, and a phase, that `op` can use."""
    if neighbour.name not in TRANSACTIONS | ON_BARRIERS:
        return False
    types = [each.type for each in neighbour.operands]
    return types[: len(op.operands)] == [each.type for each in op.operands]


@mutation("roles", "tile.specialize")
def _roles(op: ir.Operation, variant: int) -> bool:
    """Two roles exchange their work (even) or their warps (odd); counts stay."""
    kernel = _edits.kernel_of(op)
    # The arrivals of channels are counted when they are lowered, for the new roles.
    if not any(each.name == "tile.mbarrier" for each in _edits.walk(kernel)):
        return False
    roles = [each.operation for each in op.regions[0].blocks[0].operations]
    pairs = list(itertools.combinations(roles, 2))
    if variant >= 2 * len(pairs):
        return False
    first, second = pairs[variant // 2]
    if variant % 2:
        warps = [each.attributes["warps"] for each in (first, second)]
        first.attributes["warps"], second.attributes["warps"] = reversed(warps)
        return True
    one, other = (role.regions[0].blocks[0] for role in (first, second))
    moved = [list(block.operations) for block in (one, other)]
    for operations, block in zip(moved, (other, one), strict=True):
        for each in operations:
            block.append(each)
    return True
