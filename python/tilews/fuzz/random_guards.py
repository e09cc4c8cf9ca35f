"""Conditions of random kernels, and numbers that are known only at launch."""

from __future__ import annotations

from .draft import LONGEST, Draft, Scope


class GuardMaker:
    """Conditions that are the same for all threads of a block."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft

    def maybe_dynamic(self, value: int) -> str:
        """A number as the kernel's text or as its argument."""
        draft = self._draft
        if draft.chance(0.5):
            return str(value)
        return draft.add_number(value)

    def guard(self, scope: Scope) -> str:
        """A condition that is the same for all threads."""
        draft = self._draft
        variable = scope.variable
        mask = ("random", "random", "ones", "zeros")

        def element() -> str:
            fill = draft.choose(*mask)
            table = draft.add_array("i1", (draft.tiles, LONGEST), fill=fill)
            return f"tl.load({table}[t, {variable}])"

        def flat() -> str:
            fill = draft.choose(*mask)
            table = draft.add_array("i1", (draft.tiles * LONGEST,), fill=fill)
            if draft.chance(0.3):
                return f"tl.load({table}[{variable} * {draft.tiles} + t])"
            return f"tl.load({table}[t * {self.maybe_dynamic(LONGEST)} + {variable}])"

        def flag() -> str:
            table = draft.add_array("i32", (LONGEST,), fill="below 3")
            return f"tl.load({table}[{variable}]) > {draft.choose(0, 1)}"

        def reduction() -> str:
            fill = draft.choose(*mask)
            table = draft.add_array("i1", (16 * LONGEST,), fill=fill, divisor=16)
            kind = draft.choose("any", "all")
            return f"tl.{kind}(tl.load({table}[{variable} * 16], (16,)))"

        def state() -> str:
            return f"{draft.carried_number()} < {draft.choose(1, 2, 4)}"

        def count() -> str:
            return draft.choose(
                f"{variable} % 2 == {draft.choose(0, 1)}",
                f"{variable} > {draft.choose(0, 1, 3)}",
                f"t + {variable} != 2",
                f"{variable} != {draft.choose(0, 2, 14)}",
                f"{variable} {draft.choose('==', '<=')} t",
                f"{variable} != tl.num_blocks(0)",
            )

        condition = draft.choose(
            element, element, flat, flag, flag, reduction, state, count
        )()
        if draft.chance(0.15):
            return f"{condition} {draft.choose('and', 'or')} {count()}"
        return condition
