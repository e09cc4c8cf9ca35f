"""Rules by which mutants are equivalent: barriers, and groups of copies.

With those of _rules.py these are all ``RULES``.
"""

from __future__ import annotations

from .. import ir, passes
from ..errors import CompileError
from . import _edits, _protocol
from ._mutants import Mutant
from ._rules import RULES, rule

__all__ = ["RULES"]


@rule
def _more_or_earlier_groups(mutant: Mutant) -> bool:
    """A wait for groups of copies waits for more copies than before.

    An additional empty group, closed right after another one, makes a wait leave fewer
    copies under way. So does a group that is closed later: the copies that follow it
    become part of it, so they are waited for earlier. Copies complete by themselves, so
    waiting for more of them changes no result. Premises: the group is closed in a
    kernel without roles, and was moved over no operation that waits or closes groups.
    """
    op = mutant.op
    if op.name != "tile.commit_group" or _protocol.role_of(op) is not None:
        return False
    if mutant.mutation == "duplicate":
        return True
    if mutant.mutation != "move-later":
        return False
    crossed = _protocol.crossed_by(mutant) or ()
    inside = [each for outer in crossed for each in _edits.walk(outer)]
    counting = {"tile.commit_group", "tile.copy_group_wait", "tile.wait"}
    draining = any("drain_copies" in each.attributes for each in inside)
    return not draining and not any(each.name in counting for each in inside)


@rule
def _nothing_is_unordered(mutant: Mutant) -> bool:
    """All conflicting accesses still have a barrier between them.

    The analysis that places barriers (`--tile-insert-barriers`) was run on the mutant.
    The only barriers that it adds are between stores of tiles that do not overlap.
    Premises: the changed operation is a `tile.barrier`; each added barrier precedes a
    `tile.store` to an argument of the kernel that no other operation accesses; the
    offset of that store is a multiple of the tile's extent times a loop's induction
    variable, or times the quotient and the remainder of that variable.
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
    does not allow, and the role has no other such operation.
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
