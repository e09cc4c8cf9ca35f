"""Random kernels: well typed, small, and full of what schedules get wrong.

A seed determines a kernel: its source, which is Python as a user would write it,
and its arguments. Inputs are small integers and values stay small, so that results
are exact and do not depend on the order of sums.
"""

from __future__ import annotations

import dataclasses
import linecache
import random
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import language as tl
from ..decorator import Kernel
from ..decorator import kernel as make_kernel
from .data import Array, Number

#: Counters of loops stay below it, so that tables can be indexed with them.
LONGEST = 40
FLOATS = ("f16", "f16", "f16", "bf16", "f32", "e4m3", "e5m2")


@dataclasses.dataclass(frozen=True)
class Program:
    """A kernel with its arguments.

    Attributes:
        seed: what it is made from.
        source: the function's text, without the decorator.
        parameters: of the kernel, in order.
        threads: of a block.
        blocks: of the grid.
        exact: whether numpy computes exactly the same.
    """

    seed: int
    source: str
    parameters: tuple[Array | Number, ...]
    threads: int
    blocks: int
    exact: bool

    @property
    def name(self) -> str:
        return f"kernel_{self.seed}"

    @property
    def text(self) -> str:
        """What a file would have to hold."""
        decorator = f"@tilews.kernel(threads={self.threads})"
        return (
            "import tilews\nimport tilews.language as tl\n\n\n"
            f"{decorator}\n{self.source}"
        )

    def function(self, language: Any = tl) -> Callable[..., None]:
        """The function, written in a language."""
        path = f"<{self.name}>"
        # The frontend reads a function's source where tracebacks do.
        lines = self.source.splitlines(keepends=True)
        linecache.cache[path] = (len(self.source), None, lines, path)
        names: dict[str, Any] = {"tl": language}
        exec(compile(self.source, path, "exec"), names)
        return names[self.name]

    def kernel(self) -> Kernel:
        """The kernel."""
        return make_kernel(self.function(), threads=self.threads)

    def arguments(self) -> list[Any]:
        """New arrays and numbers to run the kernel with."""
        numbers = np.random.default_rng(self.seed)
        return [parameter.make(numbers) for parameter in self.parameters]


def generate(seed: int) -> Program:
    """The kernel of a seed."""
    return _Generator(seed).program()


@dataclasses.dataclass(frozen=True)
class Shared:
    """A buffer in shared memory."""

    name: str
    shape: tuple[int, ...]
    dtype: str


@dataclasses.dataclass
class Scope:
    """Where statements are made.

    Attributes:
        counter: of the innermost loop, a number outside of loops.
        depth: of loops and guards.
        ready: buffers that surely have contents.
    """

    counter: str
    depth: int
    ready: set[Shared]

    def inside(self, counter: str | None = None) -> Scope:
        return Scope(counter or self.counter, self.depth + 1, set(self.ready))


#: Statements of one transaction. An indented text belongs to the one before.
Lines = list[str]


def indent(lines: Lines) -> Lines:
    return [f"    {line}" for line in lines]


class _Generator:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.parameters: list[Array | Number] = []
        self.buffers: dict[Shared, str] = {}
        #: Names that are carried, with the values they start with.
        self.state: dict[str, str] = {}
        #: What is stored in the end, and buffers that are in use right now.
        self.epilogue: Lines = []
        self.busy: set[Shared] = set()
        self.exact = True
        self.counters = 0
        self.loops = 0
        self.rows = self.choose(16, 16, 32, 32, 48, 64, 24)
        self.columns = self.choose(8, 16, 16, 32, 40, 24, 64)
        self.depth = self.choose(16, 16, 16, 32, 8, 24)
        self.dtype = self.choose(*FLOATS, "i8")
        self.threads = self.choose(64, 128, 128, 256)
        self.tiles = self.choose(1, 1, 2, 3, 5)

    # --- Chance -----------------------------------------------------------------

    def choose(self, *options: Any) -> Any:
        return self.random.choice(options)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    # --- The kernel ---------------------------------------------------------------

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
            if isinstance(p, Array) and p.dtype == dtype and p.fill == "small"
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

    def result_array(self, dtype: str, shape: tuple[int, ...]) -> str:
        """An array that each tile writes its part of, along the first dimension."""
        ragged = self.choose(0, 0, 0, 2) if shape[0] > 4 else 0
        whole = (shape[0] * self.tiles - ragged, *shape[1:])
        divisor = self.choose(1, 8, 16)
        divisor = divisor if whole[-1] % divisor == 0 else 1
        return self.add_array(dtype, whole, fill="zeros", divisor=divisor)

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
        known = [n for n in self.state if n.startswith("turns")]
        if known and self.chance(0.6):
            return self.choose(*known)
        name = f"turns{len(self.state)}"
        self.state[name] = "0"
        result = self.add_array("i32", (self.tiles,), fill="zeros")
        self.epilogue.append(f"{result}[t] = {name}")
        return name

    # --- Loops and guards ---------------------------------------------------------

    def loop(self, scope: Scope) -> Lines:
        """A loop, most of the time to be pipelined."""
        self.loops += 1
        self.counters += 1
        counter = f"k{self.counters}"
        trips = self.choose(0, 1, 2, 3, 3, 4, 5, 7)
        bounds, runs = self.bounds(trips)
        stages = self.choose("", 1, 2, 2, 3, 3, 4, 5)
        options = f", num_stages={stages}" if stages else ""
        inner = scope.inside(counter)
        body = self.block(inner)
        if runs:
            scope.ready |= inner.ready
        lines = [f"for {counter} in tl.range({bounds}{options}):", *indent(body)]
        if scope.depth == 0 and self.chance(0.1):
            return self.around(lines, scope)
        return lines

    def around(self, lines: Lines, scope: Scope) -> Lines:
        """A while loop around a loop."""
        self.counters += 1
        name = f"round{self.counters}"
        limit = self.choose(0, 1, 2, 3)
        condition = f"{name} < {self.maybe_dynamic(limit)}"
        matrices = [n for n in self.state if n.startswith("acc") and "x" in n]
        if matrices and self.chance(0.5):
            total = f"tl.max({self.choose(*matrices)}.to(tl.f32))"
            condition = f"{condition} and {total} < 30.0"
        # It may not run at all.
        scope.ready.clear()
        body = [*lines, f"{name} = {name} + 1"]
        return [f"{name} = 0", f"while {condition}:", *indent(body)]

    def maybe_dynamic(self, value: int) -> str:
        """A number as the kernel's text or as its argument."""
        if self.chance(0.5):
            return str(value)
        return self.add_number(value)

    def bounds(self, trips: int) -> tuple[str, bool]:
        """Bounds of a loop of so many turns, and whether there is always one."""
        step = self.choose(1, 1, 1, 1, 2, 3)
        first = self.choose(0, 0, 0, 1, 3)
        last = first + trips * step - self.random.randrange(step)
        if trips == 0:
            last = self.choose(first, max(0, first - 2))
        kind = self.choose("plain", "plain", "i64", "table", "causal")
        if kind == "i64":
            stop = self.add_number(last, "i64")
        elif kind == "table":
            # Each tile has its own number of turns.
            table = self.add_array("i32", (self.tiles,), fill=f"below {last + 1}")
            stop = f"tl.load({table}[t])"
        elif kind == "causal":
            stop = f"tl.minimum({self.add_number(last)}, (t + 1) * 2)"
        else:
            stop = self.maybe_dynamic(last)
        runs = trips > 0 and kind != "table" and (kind != "causal" or first < 2)
        return f"{first}, {stop}" + ("" if step == 1 else f", {step}"), runs

    def guard(self, scope: Scope) -> str:
        """A condition that is the same for all threads."""
        counter = scope.counter
        mask = ("random", "random", "ones", "zeros")

        def element() -> str:
            fill = self.choose(*mask)
            table = self.add_array("i1", (self.tiles, LONGEST), fill=fill)
            return f"tl.load({table}[t, {counter}])"

        def flag() -> str:
            table = self.add_array("i32", (LONGEST,), fill="below 3")
            return f"tl.load({table}[{counter}]) > {self.choose(0, 1)}"

        def reduction() -> str:
            fill = self.choose(*mask)
            table = self.add_array("i1", (16 * LONGEST,), fill=fill, divisor=16)
            kind = self.choose("any", "all")
            return f"tl.{kind}(tl.load({table}[{counter} * 16], (16,)))"

        def state() -> str:
            return f"{self.carried_number()} < {self.choose(1, 2, 4)}"

        def count() -> str:
            return self.choose(
                f"{counter} % 2 == {self.choose(0, 1)}",
                f"{counter} > {self.choose(0, 1, 3)}",
                f"t + {counter} != 2",
            )

        condition = self.choose(element, element, flag, reduction, state, count)()
        if self.chance(0.15):
            return f"{condition} {self.choose('and', 'or')} {count()}"
        return condition

    # --- Blocks ---------------------------------------------------------------------

    def block(self, scope: Scope) -> Lines:
        """Statements of a loop or guard: some transactions, interleaved."""
        busy = set(self.busy)
        count = self.choose(1, 1, 2, 2, 3)
        if self.chance(0.5):
            units = [unit for _ in range(count) for unit in self.part(scope)]
            self.busy = busy
            return [line for unit in units for line in unit]
        # What is ready in one part may not be when another one begins.
        scopes = [
            dataclasses.replace(scope, ready=set(scope.ready)) for _ in range(count)
        ]
        parts = [self.part(one) for one in scopes]
        self.busy = busy
        scope.ready.update(*(one.ready for one in scopes))
        lines: Lines = []
        while any(parts):
            part = self.choose(*[part for part in parts if part])
            lines += part.pop(0)
        return lines

    def part(self, scope: Scope) -> list[Lines]:
        """A transaction: statements that have to stay in order."""
        deep = scope.depth >= 3
        if not deep and self.chance(0.25):
            return [self.guarded(scope)]
        if not deep and self.loops < 4 and self.chance(0.12):
            return [self.loop(scope)]
        kinds = [
            *[self.product] * 5,
            *[self.read] * 4,
            self.softmax,
            self.recurrence,
            self.late,
            self.count,
            self.split_guard,
        ]
        return self.choose(*kinds)(scope)

    def guarded(self, scope: Scope) -> Lines:
        """A part of the body, or all of it, under a condition."""
        condition = self.guard(scope)
        before = set(scope.ready)
        inner = Scope(scope.counter, scope.depth + 1, set(before))
        lines = [f"if {condition}:", *indent(self.block(inner))]
        if self.chance(0.2):
            other = Scope(scope.counter, scope.depth + 1, set(before))
            lines += ["else:", *indent(self.block(other))]
            scope.ready = inner.ready & other.ready
        return lines

    # --- Producers ----------------------------------------------------------------

    def offset(self, size: int, scope: Scope, is_row: bool) -> str:
        """Where a tile begins in an array."""
        counter = scope.counter
        if is_row and self.chance(0.6):
            return f"t * {size}"
        kind = self.random.random()
        if kind < 0.6:
            return f"{counter} * {size}"
        if kind < 0.7:
            return f"{counter} * {size} + {self.choose(1, 3, 4, 8)}"
        if kind < 0.8:
            return f"{self.carried_number()} * {size}"
        if kind < 0.87:
            table = self.add_array("i32", (LONGEST,), fill="below 60")
            return f"tl.load({table}[{counter}])"
        if kind < 0.93:
            return f"(5 - {counter}) * {size}"
        return "0"

    def fill(self, buffer: Shared, scope: Scope) -> Lines:
        """One or more statements that write a whole buffer."""
        scope.ready.add(buffer)
        if len(buffer.shape) == 1:
            array = self.add_array(buffer.dtype, (buffer.shape[0] * 9,), divisor=8)
            place = self.offset(buffer.shape[0], scope, is_row=False)
            return [f"tl.copy({array}[{place}], {buffer.name})"]
        rows, columns = buffer.shape
        place = (
            self.offset(rows, scope, is_row=True),
            self.offset(columns, scope, is_row=False),
        )
        kind = self.random.random()
        if kind < 0.6:
            array = self.source_array(buffer.dtype, columns)
            return [f"tl.copy({array}[{place[0]}, {place[1]}], {buffer.name})"]
        if kind < 0.75:
            return self.fill_with_cast(buffer, place)
        array = self.source_array(buffer.dtype, columns)
        if kind < 0.87:
            return self.fill_in_pieces(buffer, array, place)
        if kind < 0.93:
            return self.gather(buffer, array, scope)
        shape = f"({rows}, {columns})"
        load = f"tl.load({array}[{place[0]}, {place[1]}], {shape})"
        return [f"tl.store({load}, {buffer.name})"]

    def fill_with_cast(self, buffer: Shared, place: tuple[str, str]) -> Lines:
        other = self.choose(*({"f32", "f16", "bf16"} - {buffer.dtype}))
        if buffer.dtype == "i8":
            other = "i32"
        array = self.source_array(other, buffer.shape[1])
        load = f"tl.load({array}[{place[0]}, {place[1]}], {buffer.shape})"
        return [f"tl.store({load}.to(tl.{buffer.dtype}), {buffer.name})"]

    def fill_in_pieces(
        self, buffer: Shared, array: str, place: tuple[str, str]
    ) -> Lines:
        """Two copies, or a copy and a fill, write a part each."""
        rows, columns = buffer.shape
        half = rows // 2
        name = buffer.name
        self.counters += 1
        row, column = f"r{self.counters}", f"c{self.counters}"
        start = [f"{row} = {place[0]}", f"{column} = {place[1]}"]

        def piece(first: int, last: int) -> str:
            source = f"{row}:{row} + {last - first}, {column}:{column} + {columns}"
            if first:
                source = f"{row} + {first}:{row} + {last}{source[source.index(',') :]}"
            return f"tl.copy({array}[{source}], {name}[{first}:{last}, :])"

        if self.chance(0.3):
            zeros = f"tl.full(({half}, {columns}), 2, tl.{buffer.dtype})"
            store = f"tl.store({zeros}, {name}[0, 0])"
            return [*start, store, piece(half, rows)]
        pieces = [piece(0, half), piece(half, rows)]
        self.random.shuffle(pieces)
        return [*start, *pieces]

    def gather(self, buffer: Shared, array: str, scope: Scope) -> Lines:
        """Copies the rows that a table names."""
        rows, columns = buffer.shape
        self.counters += 1
        row = f"i{self.counters}"
        table = self.add_array("i32", (rows * LONGEST,), fill="below 30")
        lines: Lines = []
        index = f"{table}[{scope.counter} * {rows} + {row}]"
        if self.chance(0.5):
            indices = self.shared((rows,), "i32")
            scope.ready.add(indices)
            lines = [f"tl.copy({table}[{scope.counter} * {rows}], {indices.name})"]
            index = f"{indices.name}[{row}]"
        copy = (
            f"tl.copy({array}[tl.load({index}), 0:{columns}], "
            f"{buffer.name}[{row}, 0:{columns}])"
        )
        # One unit: its lines belong together.
        return [*lines, f"for {row} in tl.range({rows}):", *indent([copy])]

    # --- Transactions ---------------------------------------------------------------

    def prelude(self, scope: Scope) -> Lines:
        """A tile that is there before a loop."""
        buffer = self.shared((self.rows, self.depth), self.dtype)
        return self.fill(buffer, scope)

    def operand(
        self, shape: tuple[int, int], scope: Scope, units: list[Lines]
    ) -> tuple[str, bool]:
        """An operand of a product, and whether it is transposed."""
        transposed = self.chance(0.3)
        shape = shape[::-1] if transposed else shape
        ready = [
            b
            for b in scope.ready - self.busy
            if (b.shape, b.dtype) == (shape, self.dtype)
        ]
        if ready and self.chance(0.15):
            buffer = self.choose(*sorted(ready, key=lambda b: b.name))
        else:
            buffer = self.shared(shape, self.dtype)
            units.append(self.fill(buffer, scope))
        self.busy.add(buffer)
        text = f"tl.load({buffer.name})" if self.chance(0.15) else buffer.name
        return text, transposed

    def product(self, scope: Scope) -> list[Lines]:
        """A matrix product with what it reads."""
        units: list[Lines] = []
        lhs, left = self.operand((self.rows, self.depth), scope, units)
        rhs, right = self.operand((self.depth, self.columns), scope, units)
        dtype = "i32" if self.dtype == "i8" else "f32"
        acc = self.accumulator((self.rows, self.columns), dtype)
        options = ", transpose_lhs=True" * left + ", transpose_rhs=True" * right
        if self.chance(0.1):
            options += ", clear=True"
        if self.chance(0.2):
            zeros = f"tl.zeros(({self.rows}, {self.columns}), tl.{dtype})"
            product = f"tl.gemm({lhs}, {rhs}, {zeros}{options})"
            value = self.clamp(f"{acc} - {product}", 4096, dtype)
        else:
            value = f"tl.gemm({lhs}, {rhs}, {acc}{options})"
        return [*units, [f"{acc} = {value}"]]

    def clamp(self, value: str, limit: int, dtype: str = "f32") -> str:
        bound = f"{limit}" if dtype.startswith("i") else f"{limit}.0"
        return f"tl.maximum(tl.minimum({value}, {bound}), -{bound})"

    def read(self, scope: Scope) -> list[Lines]:
        """A tile that elementwise operations or reductions use."""
        shape = self.choose((self.rows, self.depth), (self.depth, self.columns))
        dtype = self.choose(self.dtype, self.dtype, "f32", "f16", "i32")
        buffer = self.shared(shape, dtype)
        units = [self.fill(buffer, scope)]
        uses = self.choose(1, 1, 2)
        return units + [self.use(buffer, scope) for _ in range(uses)]

    def use(self, buffer: Shared, scope: Scope) -> Lines:
        """A statement that reads a buffer."""
        cast = "" if buffer.dtype == "f32" else ".to(tl.f32)"
        load = f"tl.load({buffer.name}){cast}"
        if len(buffer.shape) == 1:
            acc = self.accumulator(buffer.shape)
            return [f"{acc} = {self.clamp(f'{acc} + {load}', 512)}"]
        rows, columns = buffer.shape
        kind = self.choose(
            "add", "add", "sum", "column", "store", "log", "atomic", "part", "view",
            "branch", "max",
        )  # fmt: skip
        if kind == "sum":
            acc = self.accumulator((rows,))
            return [f"{acc} = {acc} + tl.sum({load}, axis=1)"]
        if kind == "max":
            acc = self.accumulator((columns,))
            return [f"{acc} = tl.maximum({acc}, tl.max({load}, axis=0))"]
        if kind == "column":
            acc = self.accumulator((rows, columns))
            return [f"{acc} = {self.clamp(f'{acc} + tl.sum({load})', 512)}"]
        if kind == "store":
            return self.store(buffer, scope)
        if kind == "log":
            log = self.add_array("f32", (self.tiles, LONGEST), fill="zeros")
            return [f"{log}[t, {scope.counter}] = tl.sum({load})"]
        if kind == "atomic":
            return self.atomic(load, columns, scope)
        if kind == "part":
            half = rows // 2
            part = f"tl.load({buffer.name}[{half}:{rows}, :]){cast}"
            acc = self.accumulator((rows - half, columns))
            return [f"{acc} = {self.clamp(f'{acc} * 2.0 + {part}', 512)}"]
        if kind == "view" and not self.buffers[buffer]:
            flat = f"tl.load(tl.view({buffer.name}, ({rows * columns},))){cast}"
            acc = self.accumulator((rows * columns,))
            return [f"{acc} = {self.clamp(f'{acc} + {flat}', 512)}"]
        acc = self.accumulator((rows, columns))
        update = f"{acc} = {self.clamp(f'{acc} * 2.0 + {load}', 512)}"
        if kind == "branch":
            return [f"if tl.sum({load}) > 0.0:", *indent([update])]
        return [update]

    def store(self, buffer: Shared, scope: Scope) -> Lines:
        """Each turn writes rows of its own."""
        rows, columns = buffer.shape
        shape = (rows * LONGEST, columns)
        result = self.result_array(buffer.dtype, shape)
        place = f"{result}[t * {rows * LONGEST} + {scope.counter} * {rows}, 0]"
        if self.chance(0.5):
            return [f"tl.copy({buffer.name}, {place})"]
        return [f"{place} = tl.load({buffer.name})"]

    def atomic(self, load: str, columns: int, scope: Scope) -> Lines:
        """Sums in global memory, of which the loop may read."""
        total = self.add_array("f32", (self.tiles, columns), fill="zeros")
        lines = [f"tl.atomic_add(tl.sum({load}, axis=0)[None, :], {total}[t, 0])"]
        if self.chance(0.4):
            acc = self.accumulator((1, columns))
            value = f"tl.load({total}[t, 0], (1, {columns}))"
            lines.append(f"{acc} = {self.clamp(f'{acc} + {value}', 512)}")
        return lines

    def softmax(self, scope: Scope) -> list[Lines]:
        """Keys and values have channels of their own; sums are rescaled."""
        if self.dtype not in ("f16", "bf16"):
            return self.read(scope)
        self.exact = False
        rows, keys, width = self.rows, self.depth, self.columns
        queries = self.shared((rows, width), self.dtype)
        units = [] if queries in scope.ready else [self.fill(queries, scope)]
        keys_buffer = self.shared((keys, width), self.dtype)
        values = self.shared((keys, width), self.dtype)
        best, total = self.accumulator((rows,)), self.accumulator((rows,))
        out = self.accumulator((rows, width))
        zeros = f"tl.zeros(({rows}, {keys}), tl.f32)"
        return [
            *units,
            self.fill(keys_buffer, scope),
            [
                f"scores = tl.gemm({queries.name}, {keys_buffer.name}, {zeros}, "
                "transpose_rhs=True)",
                f"new = tl.maximum({best}, tl.max(scores, axis=1))",
                "weights = tl.exp2(scores - new[:, None])",
                f"scale = tl.exp2({best} - new)",
                f"{total} = {total} * scale + tl.sum(weights, axis=1)",
                f"{best} = new",
                f"{out} = {out} * scale[:, None]",
                *self.fill(values, scope),
                f"{out} = tl.gemm(weights.to(tl.{self.dtype}), {values.name}, {out})",
            ],
        ]

    def recurrence(self, scope: Scope) -> list[Lines]:
        """A state in shared memory that each turn reads and writes."""
        ready = [b for b in scope.ready - self.busy if len(b.shape) == 2]
        if not ready:
            return self.read(scope)
        state = self.choose(*sorted(ready, key=lambda b: b.name))
        self.busy.add(state)
        is_float = state.dtype == "f32"
        load = f"tl.load({state.name})" + ("" if is_float else ".to(tl.f32)")
        new = self.clamp(f"{load} * 2.0 - 1.0", 3)
        store = new if is_float else f"({new}).to(tl.{state.dtype})"
        return [self.use(state, scope), [f"tl.store({store}, {state.name})"]]

    def late(self, scope: Scope) -> list[Lines]:
        """A tile that is used before the next one is copied."""
        ready = [b for b in scope.ready - self.busy if len(b.shape) == 2]
        if not ready:
            return self.read(scope)
        buffer = self.choose(*sorted(ready, key=lambda b: b.name))
        self.busy.add(buffer)
        return [self.use(buffer, scope), self.fill(buffer, scope)]

    def count(self, scope: Scope) -> list[Lines]:
        """A carried number, and a tile whose place depends on it."""
        name = self.carried_number()
        return [*self.read(scope), [f"{name} = {name} + 1"]]

    def split_guard(self, scope: Scope) -> list[Lines]:
        """A copy and its use under the same condition, in guards of their own."""
        condition = self.guard(scope)
        before = set(scope.ready)
        buffer = self.shared((self.rows, self.depth), self.dtype)
        copy, use = self.fill(buffer, scope), self.use(buffer, scope)
        scope.ready = before
        return [[f"if {condition}:", *indent(lines)] for lines in (copy, use)]

    def use_what_is_ready(self, scope: Scope) -> Lines:
        """Reads what a loop has left in shared memory."""
        ready = sorted(scope.ready, key=lambda b: b.name)
        return self.use(self.choose(*ready), scope) if ready else []
