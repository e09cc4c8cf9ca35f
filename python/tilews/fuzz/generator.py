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
from .features.insertions import Insertions
from .features.parameter_forms import ParameterForms
from .features.written_roles import WrittenRoles
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
        self._forms = ParameterForms(self._draft)

    def program(self) -> RandomProgram:
        draft = self._draft
        is_persistent = draft.chance(0.35)
        extents = [draft.tiles]
        most = 3 if is_persistent else 4
        while len(extents) < most and draft.chance(0.3):
            extents.append(draft.choose(1, 2))
        blocks = draft.tiles = math.prod(extents)
        if draft.feature_random.random() < 0.03:
            return self.with_roles(extents, is_persistent)
        if draft.chance(0.05):
            body = self._control_flow.split(is_persistent)
        else:
            body = self.tile_body()
        lines = self.overlaps()
        if draft.feature_random.random() < 0.05:
            lines.append("tl.role_registers(math=232, load=40)")
        names, number = self.places(extents)
        if is_persistent:
            blocks = draft.choose(1, 2, 2, 3)
            lines.append(f"tl.grid({blocks})")
        else:
            lines += self.grid(names, ", ".join(map(str, extents)), len(extents))
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
            body = self.persistent(extents, body, order)
        return self.finish([*lines, *body], draft.threads, blocks)

    def with_roles(self, extents: list[int], is_persistent: bool) -> RandomProgram:
        """A kernel whose roles are written by hand."""
        draft = self._draft
        blocks = draft.tiles
        names, number = self.places(extents)
        if is_persistent:
            blocks = draft.choose(1, 2, 2, 3)
            lines = [f"tl.grid({blocks})"]
        else:
            counts = ", ".join(map(str, extents))
            lines = [*self.grid(names, counts, len(extents)), *number]

        def wrap(body: Lines) -> Lines:
            return self.persistent(extents, body) if is_persistent else body

        roles = WrittenRoles(draft)
        lines += roles.body(wrap)
        return self.finish(lines, roles.threads, blocks)

    def places(self, extents: list[int]) -> tuple[str, Lines]:
        """The coordinates of a tile, and the statement that computes its number."""
        if len(extents) == 1:
            return "t", []
        places = ["x", "y", "z", "w"][: len(extents)]
        return ", ".join(places), [f"t = {_number(places, extents)}"]

    def persistent(self, extents: list[int], body: Lines, order: str = "") -> Lines:
        """A loop over the tiles of a block."""
        names, number = self.places(extents)
        counts = ", ".join(map(str, extents))
        head = f"for {names} in tl.persistent({counts}{order}):"
        return [head, *indent([*number, *body])]

    def finish(self, lines: Lines, threads: int, blocks: int) -> RandomProgram:
        """The kernel with these statements."""
        draft = self._draft
        changes = draft.feature_random.random() < 0.1
        lines, parameters, classes = self._forms.finish(lines, changes)
        declared = ", ".join(f"\n    {p.annotation()}" for p in parameters)
        head = f"def kernel_{draft.seed}({declared},\n):"
        return RandomProgram(
            draft.seed,
            "\n".join([head, *indent(lines)]) + "\n",
            parameters,
            threads,
            blocks,
            draft.exact,
            draft.chips,
            classes,
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
        if draft.feature_random.random() < 0.15:
            start += Insertions(draft, self._forms).insert(body)
        return start + body + draft.epilogue
