"""Random kernels: well typed, small, and full of what schedules get wrong.

A seed determines a kernel: its source, which is Python as a user would write it,
and its arguments. Inputs are small integers and values stay small, so that results
are exact and do not depend on the order of sums.
"""

from __future__ import annotations

from .control_flow import ControlFlow
from .draft import Draft, Lines, Scope, indent
from .producers import Producers
from .random_guards import GuardMaker
from .random_program import RandomProgram
from .transactions import Transactions


def generate(seed: int) -> RandomProgram:
    """The kernel of a seed."""
    return _Generator(seed).program()


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
        tile_counts = (draft.tiles, draft.choose(1, 2)) if draft.chance(0.3) else None
        blocks = draft.tiles
        if tile_counts:
            blocks = tile_counts[0] * tile_counts[1]
            draft.tiles = blocks
        body = self.tile_body()
        lines: Lines = []
        if is_persistent:
            blocks = draft.choose(1, 2, 2, 3)
            lines.append(f"tl.grid({blocks})")
        elif tile_counts:
            lines.append(f"x, y = tl.grid({tile_counts[0]}, {tile_counts[1]})")
            lines.append(f"t = y * {tile_counts[0]} + x")
        else:
            lines.append(f"t = tl.grid({blocks})")
        lines += [
            f"{buffer.name} = tl.alloc_shared({buffer.shape}, "
            f"tl.{buffer.dtype}{options})"
            for buffer, options in draft.buffers.items()
        ]
        if is_persistent and tile_counts:
            head = f"for x, y in tl.persistent({tile_counts[0]}, {tile_counts[1]}):"
            body = [f"t = y * {tile_counts[0]} + x", *body]
            lines += [head, *indent(body)]
        elif is_persistent:
            lines += [f"for t in tl.persistent({draft.tiles}):", *indent(body)]
        else:
            lines += body
        names = ", ".join(f"\n    {p.annotation()}" for p in draft.parameters)
        head = f"def kernel_{draft.seed}({names},\n):"
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
