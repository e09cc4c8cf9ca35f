"""Which mutants do what the original does, and why.

What no rule covers is held to be a fault. The rules that look at the IR are in
_rules.py and _barrier_rules.py; those here look at runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from .. import ir
from . import _edits, _protocol
from ._barrier_rules import RULES
from ._mutants import Mutant
from ._order import Order
from ._rules import original_of


class Runs(Protocol):
    """What rules ask of runs: a :class:`tilews.mutate.Judge`."""

    def orders(self, module: ir.Module, role: str) -> list[Order] | None:
        """The order of a role's accesses in each launch."""

    def passes_transactions(self, module: ir.Module) -> bool:
        """Whether each launch runs to its end, channels not being lowered."""


def argue(mutant: Mutant, runs: Runs) -> str | None:
    """The rule by which a mutant does what its original does, None without one."""
    found = next((name for name, rule in RULES.items() if rule(mutant)), None)
    if found is None:
        of_runs = RULES_OF_RUNS.items()
        found = next(
            (name for name, rule in of_runs if rule(mutant, runs.orders)), None
        )
    if found is not None and _has_one_sequence(mutant.module):
        return found if runs.passes_transactions(mutant.module) else None
    return found


def _has_one_sequence(module: ir.Module) -> bool:
    """Whether there are channels and no roles, so that all transactions are in one
    order: barriers made of them would not, but channels taken at their word may wait
    for ever, and do so in each run or in none."""
    names = {each.name for each in _edits.walk(module.operation)}
    return "tile.channel" in names and "tile.role" not in names


#: The order of a role's accesses in each launch: :meth:`Runs.orders`.
Orders = Callable[[ir.Module, str], list[Order] | None]


def order_is_kept(mutant: Mutant, orders: Orders) -> bool:
    """Accesses that conflict are ordered where they were.

    Original and mutant were run and the bytes recorded that each operation accesses. In
    each launch the role with the changed operation does the same accesses in the same
    order. Where two of them conflict, because they access the same byte and one writes
    it, and the first was done and known to all threads before the second, it still is:
    what it started was waited for, and there is a barrier behind that. The launches
    have more turns than groups may be under way, so that later turns repeat earlier
    ones. Premises: all launches were compared, and the changed operation orders
    nothing but the role's own accesses. In a kernel without roles it is an operation on
    groups, a wait or a barrier. In a role it is a barrier, no thread of the role
    signals for others, and what it has under way at a signal it had there before.
    Fences stay where they are.
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
    pairs = _compare(mutant, role, orders)
    return pairs is not None and all(one.is_kept_by(other) for one, other in pairs)


def number_is_not_used(mutant: Mutant, orders: Orders) -> bool:
    """A slot number is another one only where nobody uses it.

    Original and mutant were run and the bytes recorded that each operation accesses. In
    each launch they do the same accesses, to the same bytes, in the same order, and are
    done with them at the same place. From where a loop begins with a number, or a
    number is chosen in front of it, each turn's slot follows: runs that have more turns
    than slots and agree do so for any number of turns, and those with fewer turns, down
    to none, were compared, too. Premises: the kernel has no roles; the changed
    operation is a loop that begins with another number, or a choice of a slot; all
    launches were compared.
    """
    if mutant.mutation not in ("restart", "select"):
        return False
    if _edits.enclosing(mutant.op, "gpu.func") is None or any(
        each.name == "tile.role" for each in _edits.walk(_protocol.kernel_of(mutant.op))
    ):
        return False
    pairs = _compare(mutant, None, orders)
    return pairs is not None and all(one == other for one, other in pairs)


def _compare(
    mutant: Mutant, role: ir.Operation | None, orders: Orders
) -> list[tuple[Order, Order]] | None:
    """The orders of original and mutant in each launch; None if they have none."""
    name = "" if role is None else _protocol.name_of(role)
    before = orders(original_of(mutant), name)
    after = orders(mutant.module, name)
    if before is None or after is None:
        return None
    return list(zip(before, after, strict=True))


RULES_OF_RUNS: dict[str, Callable[[Mutant, Orders], bool]] = {
    "order-is-kept": order_is_kept,
    "number-is-not-used": number_is_not_used,
}
