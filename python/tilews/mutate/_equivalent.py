"""Which mutants do what the original does, and why.

What no rule covers is held to be a fault. The rules that look at the IR are in
_rules.py and _barrier_rules.py; the one here looks at runs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from .. import ir
from . import _protocol
from ._barrier_rules import RULES
from ._mutants import Mutant
from ._rules import original_of


@dataclasses.dataclass(frozen=True)
class Order:
    """What orders the accesses of a run without roles.

    Attributes:
        accesses: the operations in order, but for those that only order others.
        barriers: the numbers of the accesses that come right behind a barrier.
        landed: for each copy the first access behind a barrier behind its landing.
    """

    accesses: list[str]
    barriers: set[int]
    landed: dict[int, int]

    def is_kept_by(self, other: Order) -> bool:
        """Whether what is ordered here is ordered there, too."""
        return (
            self.accesses == other.accesses
            and self.barriers <= other.barriers
            and self.landed.keys() == other.landed.keys()
            and all(other.landed[copy] <= at for copy, at in self.landed.items())
        )


#: The order in each launch of a module: :meth:`tilews.mutate.Judge.orders`.
Orders = Callable[[ir.Module], list[Order] | None]


def argue(mutant: Mutant, orders: Orders) -> str | None:
    """The rule by which a mutant does what its original does, None without one."""
    found = next((name for name, rule in RULES.items() if rule(mutant)), None)
    if found is None and order_is_kept(mutant, orders):
        return "order-is-kept"
    return found


def order_is_kept(mutant: Mutant, orders: Orders) -> bool:
    """Accesses have a barrier between them, and copies land, where they did.

    Original and mutant were run, with copies that land only when a wait for their group
    makes them. In each launch they do the same accesses in the same order; wherever
    there was a barrier between two accesses there still is one; and each copy has
    landed, with a barrier behind, in front of the access in front of which it had. The
    launches have more turns than groups may be under way, so that later turns repeat
    earlier ones. Premises: the kernel has no roles; only an operation on groups, a wait
    or a plain barrier was changed; and all launches were compared.
    """
    op = mutant.op
    names = {"tile.commit_group", "tile.copy_group_wait", "tile.wait", "tile.barrier"}
    plain = op.name == "tile.wait" or not {"drain_copies", "proxy_fence"} & set(
        map(str, op.attributes)
    )
    if op.name not in names or not plain or _protocol.role_of(op) is not None:
        return False
    before = orders(original_of(mutant))
    after = orders(mutant.module)
    if before is None or after is None:
        return False
    return all(one.is_kept_by(other) for one, other in zip(before, after, strict=True))
