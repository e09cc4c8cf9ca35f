"""Which mutants behave like the original, and why.

A mutant that no rule covers counts as a fault. The rules of rules/ read the IR, and
those of this file compare runs of the simulator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from .. import ir
from . import _edits, _protocol
from ._mutants import Mutant, merged
from ._order import Order
from .rules import JOINT_RULES, RULES, original_of


class Runs(Protocol):
    """The runs that rules look at: a :class:`tilews.mutate.Judge`."""

    def orders(self, module: ir.Module, role: str) -> list[Order] | None:
        """The order of a role's accesses in each launch; None if a launch fails."""

    def passes_transactions(self, module: ir.Module) -> bool:
        """Whether each launch of the module, with its channels, terminates."""


def argue(edits: Sequence[Mutant], runs: Runs) -> str | None:
    """The name of the rule by which a mutant is equivalent; None without one.

    Args:
        edits: The mutant, edit by edit: each is a mutant of the one before it, the
            first one of the original. Several edits are equivalent if a rule covers
            each of them, alone or together with the next ones. The rule is that of the
            last one.
        runs: The runs that rules look at.
    """
    found: str | None = None
    start = 0
    while start < len(edits):
        for end in range(len(edits), start, -1):
            found = _argue_together(edits[start:end], runs)
            if found is not None:
                break
        else:
            return None
        start = end
    return found


def _argue_together(edits: Sequence[Mutant], runs: Runs) -> str | None:
    """The name of the rule by which edits of a right module keep it right together."""
    if len(edits) == 1 and (found := _argue(edits[0], runs)) is not None:
        return found
    found = next((name for name, rule in JOINT_RULES.items() if rule(edits)), None)
    if found is None and len(edits) > 1:
        of_runs = JOINT_RULES_OF_RUNS.items()
        found = next((name for name, rule in of_runs if rule(edits, runs.orders)), None)
    return found if found is not None and _terminates(edits[-1], runs) else None


def _argue(mutant: Mutant, runs: Runs) -> str | None:
    """The name of the rule by which one edit of a right module keeps it right."""
    found = next((name for name, rule in RULES.items() if rule(mutant)), None)
    if found is None:
        of_runs = RULES_OF_RUNS.items()
        found = next(
            (name for name, rule in of_runs if rule(mutant, runs.orders)), None
        )
    return found if found is not None and _terminates(mutant, runs) else None


def _terminates(mutant: Mutant, runs: Runs) -> bool:
    """Whether the transactions of a module with one sequence of them terminate."""
    return not _has_one_sequence(mutant.module) or runs.passes_transactions(
        mutant.module
    )


def _has_one_sequence(module: ir.Module) -> bool:
    """Whether the module has channels and no roles.

    All transactions of such a module are then one sequence. A wait in it may block
    forever, which happens in each run or in none. The barriers that are made of these
    channels never block, so a comparison of lowered code would miss the hang.
    """
    names = {each.name for each in _edits.walk(module.operation)}
    return "tile.channel" in names and "tile.role" not in names


#: The order of a role's accesses in each launch: :meth:`Runs.orders`.
Orders = Callable[[ir.Module, str], list[Order] | None]


def order_is_kept(mutant: Mutant, orders: Orders) -> bool:
    """Conflicting accesses that were ordered are still ordered.

    Original and mutant were run, and the bytes that each operation accesses were
    recorded. In each launch the role with the changed operation does the same accesses
    in the same order. Two accesses conflict if they access the same byte and one of
    them writes it. If the first happened before the second in the original, it does in
    the mutant: the role waited for what the first one started, and a barrier follows
    that wait. The launches have more iterations than groups can be under way, so later
    iterations repeat earlier ones. Premises: all launches were compared, and the
    changed operation orders only the role's own accesses. In a kernel without roles it
    is an operation on groups, a wait or a barrier. In a role it is a barrier, no thread
    of the role signals for others, and the operations under way at each signal are
    those of the original. Fences stay where they are. The operation is not moved into
    a guard, unless the guard depends on numbers of iterations and extents alone;
    `scf.while` does not repeat it.
    """
    op = mutant.op
    role = _protocol.role_of(op)
    names = {"tile.barrier"}
    if role is None:
        names |= {"tile.commit_group", "tile.copy_group_wait", "tile.wait"}
    if op.name not in names or (
        op.name == "tile.barrier" and "proxy_fence" in op.attributes
    ):
        return False
    if _is_guarded_now(mutant) or _edits.enclosing(op, "scf.while") is not None:
        return False
    pairs = _compare(mutant, role, orders)
    return pairs is not None and all(one.is_kept_by(other) for one, other in pairs)


def number_is_not_used(mutant: Mutant, orders: Orders) -> bool:
    """A slot number differs only where no operation uses it.

    Original and mutant were run, and the bytes that each operation accesses were
    recorded. In each launch they do the same accesses, to the same bytes, in the same
    order, and complete them at the same places. The number that a loop starts with
    determines the slot of each iteration. So runs with more iterations than slots that
    agree imply agreement for any number of iterations. Runs with fewer iterations, down
    to none, were compared as well. Premises: the kernel has no roles; the changed
    operation is a loop that starts with another number, or a choice of a slot; all
    launches were compared.
    """
    if mutant.mutation not in ("restart", "select"):
        return False
    if _edits.enclosing(mutant.op, "gpu.func") is None or any(
        each.name == "tile.role" for each in _edits.walk(_edits.kernel_of(mutant.op))
    ):
        return False
    pairs = _compare(mutant, None, orders)
    return pairs is not None and all(one == other for one, other in pairs)


def copied_for_nothing(mutant: Mutant, orders: Orders) -> bool:
    """Copies were added whose slots are not used any more.

    Original and mutant were run, and the bytes that each operation accesses were
    recorded. The mutant does the accesses of the original and has more copies by
    cp.async, which read zeros beyond the extents of global memory. No later operation
    accesses the bytes that they write, and all earlier accesses to these bytes are
    ordered before them. All other accesses are ordered as in `order-is-kept`. Premises:
    the changed operation is a guard that is always true now, in a kernel without roles;
    its condition depends on numbers of iterations and extents, not on contents of
    memory; `scf.while` does not repeat it; all launches were compared.
    """
    op = mutant.op
    if (mutant.mutation, mutant.variant) != ("guard", 1):
        return False
    names = {each.name for each in _edits.walk(op)}
    if _protocol.role_of(op) is not None or "tile.copy" not in names:
        return False
    if not _is_of_numbers(op.operands[0]) or _edits.enclosing(op, "scf.while"):
        return False
    pairs = _compare(mutant, None, orders)
    return pairs is not None and all(
        (rest := other.without_copies_besides(one)) is not None and one.is_kept_by(rest)
        for one, other in pairs
    )


def numbers_agree(edits: Sequence[Mutant], orders: Orders) -> bool:
    """Slot numbers differ, and each operation uses the same slot.

    For example, a loop starts with another number, to which its body adds one more. As
    for `number-is-not-used`, original and mutant do the same accesses, to the same
    bytes, in the same order, and complete them at the same places. Premises: the kernel
    has no roles and no `scf.while`. Each edit changes the slot of an operation, a
    choice of a slot, or the number that a loop starts with. All guards depend on
    numbers of iterations and extents alone. All launches were compared.
    """
    if any(each.mutation not in ("restart", "select", "slot") for each in edits):
        return False
    inside = _edits.walk(_edits.kernel_of(edits[0].op))
    if any(each.name in ("scf.while", "tile.role") for each in inside):
        return False
    guards = [each.operands[0] for each in inside if each.name == "scf.if"]
    if not all(map(_is_of_numbers, guards)):
        return False
    pairs = _compare(merged(edits), None, orders)
    return pairs is not None and all(one == other for one, other in pairs)


def _is_guarded_now(mutant: Mutant) -> bool:
    """Whether the operation was moved into a guard that launches may not cover."""
    if mutant.mutation != "move-in":
        return False
    place = _edits.step(mutant.op, mutant.variant == 1)
    if place is None or place.name != "scf.if":
        return False
    return not _is_of_numbers(place.operands[0])


def _is_of_numbers(value: ir.Value) -> bool:
    """Whether only arguments, extents and numbers of iterations determine a value."""
    maker = _edits.defining(value)
    if maker is None:
        argument = ir.BlockArgument(value)
        owner = argument.owner.owner.operation
        is_number = owner.name == "scf.for" and argument.arg_number == 0
        return is_number or owner.name == "gpu.func"
    if maker.name == "memref.dim":
        return True
    return maker.name.startswith("arith.") and all(map(_is_of_numbers, maker.operands))


def _compare(
    mutant: Mutant, role: ir.Operation | None, orders: Orders
) -> list[tuple[Order, Order]] | None:
    """Pairs (original, mutant) of orders, one a launch; None if a launch fails."""
    name = "" if role is None else _protocol.name_of(role)
    before = orders(original_of(mutant), name)
    after = orders(mutant.module, name)
    if before is None or after is None:
        return None
    return list(zip(before, after, strict=True))


RULES_OF_RUNS: dict[str, Callable[[Mutant, Orders], bool]] = {
    "order-is-kept": order_is_kept,
    "number-is-not-used": number_is_not_used,
    "copied-for-nothing": copied_for_nothing,
}
JOINT_RULES_OF_RUNS: dict[str, Callable[[Sequence[Mutant], Orders], bool]] = {
    "numbers-agree": numbers_agree,
}
