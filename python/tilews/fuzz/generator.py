"""Random kernels: well typed, small, and full of what schedules get wrong.

A seed determines a kernel: its source, which is Python as a user would write it,
and its arguments. Inputs are small integers and values stay small, so that results
are exact and do not depend on the order of sums.
"""

from __future__ import annotations

import math

from .control_flow import ControlFlow
from .draft import Draft, Lines, Scope, indent
from .producers import Producers
from .random_guards import GuardMaker
from .random_program import RandomProgram
from .transactions import Transactions


def generate(seed: int) -> RandomProgram:
    """The kernel of a seed."""
    return _Generator(seed).program()


def _number(places: list[str], extents: list[int]) -> str:
    """The number of a tile, from its coordinates; the first one counts fastest."""
    text = places[-1]
    for place, extent in reversed(list(zip(places[:-1], extents[:-1], strict=True))):
        text = f"({text}) * {extent} + {place}"
    return text


class _Generator:
    """Writes the kernel of one seed."""

    def __init__(self, seed: int) -> None:
        self._draft = Draft(seed)
        guards = GuardMaker(self._draft)
        self._transactions = Transactions(self._draft, Producers(self._draft), guards)
        self._control_flow = ControlFlow(self._draft, guards, self._transactions)

    def program(self) -> RandomProgram:
        draft = self._draft
        is_persistent = draft.chance(0.35)
        extents = [draft.tiles]
        most = 3 if is_persistent else 4
        while len(extents) < most and draft.chance(0.3):
            extents.append(draft.choose(1, 2))
        blocks = draft.tiles = math.prod(extents)
        body = self.tile_body()
        lines: Lines = []
        places = ["x", "y", "z", "w"][: len(extents)]
        names = "t" if len(extents) == 1 else ", ".join(places)
        counts = ", ".join(map(str, extents))
        number = [] if len(extents) == 1 else [f"t = {_number(places, extents)}"]
        if is_persistent:
            blocks = draft.choose(1, 2, 2, 3)
            lines.append(f"tl.grid({blocks})")
        else:
            lines.append(f"{names} = tl.grid({counts})")
            lines += number
        lines += [
            f"{buffer.name} = tl.alloc_shared({buffer.shape}, "
            f"tl.{buffer.dtype}{options})"
            for buffer, options in draft.buffers.items()
        ]
        if is_persistent:
            head = f"for {names} in tl.persistent({counts}):"
            lines += [head, *indent([*number, *body])]
        else:
            lines += body
        parameters = ", ".join(f"\n    {p.annotation()}" for p in draft.parameters)
        head = f"def kernel_{draft.seed}({parameters},\n):"
        source = "\n".join([head, *indent(lines)]) + "\n"
        return RandomProgram(
            draft.seed,
            source,
            tuple(draft.parameters),
            draft.threads,
            blocks,
            draft.exact,
        )

    def tile_body(self) -> Lines:
        """What is done for one tile of the output."""
        draft = self._draft
        scope = Scope("0", 0, set())
        body: Lines = []
        for _ in range(draft.scaled((1, 1, 1, 2), (1, 1, 2, 2, 3))):
            if draft.chance(0.25):
                body += self._transactions.prelude(scope)
            body += self._control_flow.loop(scope)
            if draft.chance(0.4):
                body += self._transactions.use_what_is_ready(scope)
        start = [f"{name} = {value}" for name, value in draft.state.items()]
        return start + body + draft.epilogue
