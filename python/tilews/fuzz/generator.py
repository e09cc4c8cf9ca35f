"""Random kernels: well typed, small, and full of what schedules get wrong.

A seed determines a kernel: its source, which is Python as a user would write it,
and its arguments. Inputs are small integers and values stay small, so that results
are exact and do not depend on the order of sums.
"""

from __future__ import annotations

import math

from .control_flow import ControlFlow
from .data import Array
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
        if draft.chance(0.05):
            body = self._control_flow.split(is_persistent)
        else:
            body = self.tile_body()
        lines = self.overlaps()
        places = ["x", "y", "z", "w"][: len(extents)]
        names = "t" if len(extents) == 1 else ", ".join(places)
        counts = ", ".join(map(str, extents))
        number = [] if len(extents) == 1 else [f"t = {_number(places, extents)}"]
        if is_persistent:
            blocks = draft.choose(1, 2, 2, 3)
            lines.append(f"tl.grid({blocks})")
        else:
            lines += self.grid(names, counts, len(extents))
            lines += number
        lines += [
            f"{buffer.name} = tl.alloc_shared({buffer.shape}, "
            f"tl.{buffer.dtype}{options})"
            for buffer, options in draft.buffers.items()
        ]
        if is_persistent:
            order = ""
            if len(extents) > 1 and draft.chance(0.3):
                order = ", order='row', panel=2"
            head = f"for {names} in tl.persistent({counts}{order}):"
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
            draft.chips,
        )

    def overlaps(self) -> Lines:
        """Declares that two arrays may overlap, now and then."""
        draft = self._draft
        arrays = [p.name for p in draft.parameters if isinstance(p, Array)]
        if len(arrays) < 2 or draft.chance(0.95):
            return []
        return [f"tl.may_alias({', '.join(draft.random.sample(arrays, 2))})"]

    def grid(self, names: str, counts: str, rank: int) -> Lines:
        """Sets the grid, and names the coordinates of the block."""
        draft = self._draft
        if rank == 1 and draft.chance(0.2):
            return [f"tl.grid({counts})", f"{names} = tl.block_id(0)"]
        order: Lines = []
        if rank == 2 and draft.chance(0.3):
            order = [draft.choose('tl.rasterize("col", panel=2)', "tl.use_swizzle(2)")]
        return [*order, f"{names} = tl.grid({counts})"]

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
