"""Names of random kernels: arrays, buffers, and values that loops carry."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence
from typing import Any

from .data import Array, Number

#: Induction variables stay below it, so that tables can be indexed with them.
LONGEST = 40
FLOATS = ("f16", "f16", "f16", "bf16", "f32", "e4m3", "e5m2")


@dataclasses.dataclass(frozen=True)
class Shared:
    """A buffer in shared memory."""

    name: str
    shape: tuple[int, ...]
    dtype: str


@dataclasses.dataclass
class Scope:
    """The place at which statements are generated.

    Attributes:
        variable: the name of the innermost loop's variable; a number outside of loops.
        depth: the number of loops and guards around the statements.
        ready: buffers that are surely written already.
    """

    variable: str
    depth: int
    ready: set[Shared]

    def inside(self, variable: str | None = None) -> Scope:
        return Scope(variable or self.variable, self.depth + 1, set(self.ready))


#: Statements of one transaction. An indented text belongs to the one before.
Lines = list[str]


def indent(lines: Lines) -> Lines:
    return [f"    {line}" for line in lines]


class Draft:
    """The choices made for a kernel so far, and its names."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        #: Decides on features that few kernels have: the others do not depend on it.
        self.feature_random = random.Random(f"features of {seed}")
        self.parameters: list[Array | Number] = []
        self.buffers: dict[Shared, str] = {}
        #: Names that are carried, with the values they start with.
        self.state: dict[str, str] = {}
        #: What is stored in the end, and buffers that are in use right now.
        self.epilogue: Lines = []
        self.busy: set[Shared] = set()
        self.exact = True
        #: Chips that the kernel is built for one by one; None if they do not matter.
        self.chips: tuple[str, ...] | None = None
        self.variables = 0
        self.loops = 0
        #: Most kernels are small: they are checked several times as fast.
        self.is_large = self.chance(0.2)
        self.rows = self.scaled((16, 16, 16, 32, 24), (16, 32, 32, 48, 64, 24))
        self.columns = self.scaled((8, 16, 16, 32, 24), (8, 16, 32, 40, 24, 64))
        self.depth = self.scaled((16, 16, 16, 32, 8), (16, 16, 32, 24))
        self.dtype = self.choose(*FLOATS, "i8")
        self.threads = self.choose(64, 128, 128, 256)
        self.tiles = self.scaled((1, 1, 2, 2, 3), (1, 2, 3, 5))

    # --- Chance -----------------------------------------------------------------

    def choose(self, *options: Any) -> Any:
        return self.random.choice(options)

    def scaled(self, small: Sequence[Any], large: Sequence[Any]) -> Any:
        """One of the options of small kernels, or of those of large ones."""
        return self.random.choice(large if self.is_large else small)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    # --- Names ----------------------------------------------------------------------

    def add_array(self, dtype: str, shape: tuple[int, ...], **options: Any) -> str:
        name = f"G{len(self.parameters)}"
        self.parameters.append(Array(name, dtype, shape, **options))
        return name

    def add_number(self, value: int, dtype: str = "index") -> str:
        name = f"n{len(self.parameters)}"
        self.parameters.append(Number(name, value, dtype))
        return name

    def source_array(self, dtype: str, columns: int) -> str:
        """A matrix to copy tiles from, ragged or not, old or new."""
        fits = [
            p.name
            for p in self.parameters
            if isinstance(p, Array)
            and (p.dtype, p.fill, len(p.shape)) == (dtype, "small", 2)
        ]
        if fits and self.chance(0.4):
            return self.choose(*fits)
        height = self.rows * self.tiles - self.choose(0, 0, 3, 8)
        divisor = self.choose(16, 16, 16, 8, 4, 2, 1)
        width = columns * self.choose(1, 3, 5, 8) + self.choose(0, 0, 8, 5)
        width = max(1, width // divisor) * divisor
        return self.add_array(
            dtype,
            (height, width),
            divisor=divisor,
            is_static=self.chance(0.3),
            gap=self.choose(0, 0, 0, 0, 8, 16) if divisor > 4 else 0,
        )

    def require_chips(self, *chips: str) -> None:
        """Has the kernel built for one of these chips, and for no other."""
        self.chips = tuple(chip for chip in self.chips or chips if chip in chips)

    def result_array(
        self, dtype: str, shape: tuple[int, ...], fill: str = "zeros"
    ) -> str:
        """An array that each tile writes its part of, along the first dimension."""
        ragged = self.choose(0, 0, 0, 2) if shape[0] > 4 else 0
        whole = (shape[0] * self.tiles - ragged, *shape[1:])
        divisor = self.choose(1, 8, 16)
        divisor = divisor if whole[-1] % divisor == 0 else 1
        return self.add_array(dtype, whole, fill=fill, divisor=divisor)

    def shared(self, shape: tuple[int, ...], dtype: str) -> Shared:
        """A buffer that nothing else uses right now."""
        fits = [
            b
            for b in self.buffers
            if (b.shape, b.dtype) == (shape, dtype) and b not in self.busy
        ]
        if fits and self.chance(0.6):
            buffer = self.choose(*fits)
        else:
            buffer = Shared(f"S{len(self.buffers)}", shape, dtype)
            self.buffers[buffer] = self.layout(buffer)
        self.busy.add(buffer)
        return buffer

    def layout(self, buffer: Shared) -> str:
        """An annotated layout, now and then."""
        if len(buffer.shape) != 2 or self.chance(0.85):
            return ""
        rows, columns = buffer.shape
        if self.chance(0.5):
            return ', layout="linear"'
        gap = self.choose(8, 16)
        shape, stride = f"({rows}, {columns})", f"({columns + gap}, 1)"
        return f', layout="#tile.shared<{shape}:{stride}>"'

    def accumulator(self, shape: tuple[int, ...], dtype: str = "f32") -> str:
        """A carried fragment that is stored in the end."""
        sizes = "x".join(map(str, shape))
        known = [n for n in self.state if n.endswith(f"_{sizes}_{dtype}")]
        if known and self.chance(0.4):
            return self.choose(*known)
        name = f"acc{len(self.state)}_{sizes}_{dtype}"
        self.state[name] = f"tl.zeros({shape}, tl.{dtype})"
        stored = self.choose("f32", "f32", "f16") if dtype == "f32" else dtype
        result = self.result_array(stored, shape)
        place = ", ".join([f"t * {shape[0]}", *["0"] * (len(shape) - 1)])
        value = name if stored == dtype else f"{name}.to(tl.{stored})"
        self.epilogue.append(f"{result}[{place}] = {value}")
        return name

    def carried_number(self) -> str:
        """A carried index that is stored in the end."""
        known = [n for n in self.state if n.startswith("count")]
        if known and self.chance(0.6):
            return self.choose(*known)
        name = f"count{len(self.state)}"
        self.state[name] = "0"
        result = self.add_array("i32", (self.tiles,), fill="zeros")
        self.epilogue.append(f"{result}[t] = {name}")
        return name
