"""Random kernels: well typed, small, and full of what schedules get wrong.

A seed determines a kernel: its source, which is Python as a user would write it,
and its arguments. Inputs are small integers and values stay small, so that results
are exact and do not depend on the order of sums.
"""

from __future__ import annotations

from .control import Control
from .names import Lines, Scope, indent
from .program import Program
from .transactions import Transactions


def generate(seed: int) -> Program:
    """The kernel of a seed."""
    return _Generator(seed).program()


class _Generator(Control, Transactions):
    def program(self) -> Program:
        is_persistent = self.chance(0.35)
        tile_counts = (self.tiles, self.choose(1, 2)) if self.chance(0.3) else None
        blocks = self.tiles
        if tile_counts:
            blocks = tile_counts[0] * tile_counts[1]
            self.tiles = blocks
        body = self.tile_body()
        lines: Lines = []
        if is_persistent:
            blocks = self.choose(1, 2, 2, 3)
            lines.append(f"tl.grid({blocks})")
        elif tile_counts:
            lines.append(f"x, y = tl.grid({tile_counts[0]}, {tile_counts[1]})")
            lines.append(f"t = y * {tile_counts[0]} + x")
        else:
            lines.append(f"t = tl.grid({blocks})")
        lines += [
            f"{buffer.name} = tl.alloc_shared({buffer.shape}, "
            f"tl.{buffer.dtype}{options})"
            for buffer, options in self.buffers.items()
        ]
        if is_persistent and tile_counts:
            head = f"for x, y in tl.persistent({tile_counts[0]}, {tile_counts[1]}):"
            body = [f"t = y * {tile_counts[0]} + x", *body]
            lines += [head, *indent(body)]
        elif is_persistent:
            lines += [f"for t in tl.persistent({self.tiles}):", *indent(body)]
        else:
            lines += body
        names = ", ".join(f"\n    {p.annotation()}" for p in self.parameters)
        head = f"def kernel_{self.seed}({names},\n):"
        source = "\n".join([head, *indent(lines)]) + "\n"
        return Program(
            self.seed, source, tuple(self.parameters), self.threads, blocks, self.exact
        )

    def tile_body(self) -> Lines:
        """What is done for one tile of the output."""
        scope = Scope("0", 0, set())
        body: Lines = []
        for _ in range(self.choose(1, 1, 1, 2, 2, 3)):
            if self.chance(0.25):
                body += self.prelude(scope)
            body += self.loop(scope)
            if self.chance(0.4):
                body += self.use_what_is_ready(scope)
        start = [f"{name} = {value}" for name, value in self.state.items()]
        return start + body + self.epilogue
