"""Chains of operations on fragments: arithmetic, shapes, order, reductions and scans.

Each step takes a fragment of f32 that holds integers of at most :data:`BOUND`, and
makes another one. So every chain is exact, whatever the order of its sums.
"""

from __future__ import annotations

import dataclasses
import math

from ..draft import Draft, Lines

Shape = tuple[int, ...]

#: Steps keep values between -BOUND and BOUND.
BOUND = 64

#: A fragment with more elements is not made larger.
LARGE = 2048

#: Elements along an axis that is sorted: sorting is unrolled.
SORTED = 8

_ELEMENTWISE = (
    "tl.clamp({x}, -2.0, 3.0)",
    "tl.fma({x}, 2.0, {x})",
    "tl.where({x} > 1.0, {x}, -{x})",
    "tl.where(({x} == 0.0) | ({x} > 2.0), 1.0, {x})",
    "tl.where(tl.isnan({x} / {x}), 5.0, {x})",
    "tl.where(tl.isinf({x} / 0.0), {x}, 7.0)",
    "tl.where(tl.isfinite(1.0 / {x}), {x}, -3.0)",
    "tl.floor({x} * 0.5)",
    "tl.ceil({x} * 0.25)",
    "tl.trunc({x} * 0.5)",
    "tl.round({x} * 0.5)",
    "{x} % 3.0",
    "{x} % -2.0",
    "tl.fmax({x}, tl.fmin({x} * 2.0, 4.0))",
    "tl.abs({x}) - 2.0",
    "({x}.to(tl.f64) * 3.0 - 1.0).to(tl.f32)",
    "tl.sqrt({x} * {x})",
    "{x}.to(tl.{dtype}).to(tl.f32)",
    "tl.floor({x}.to(tl.{small}).to(tl.f32))",
    "tl.exp2(tl.abs({x}) % 5.0).to(tl.e8m0).to(tl.f32)",
    "{x}.bitcast(tl.i32).bitcast(tl.f32)",
)
_SMALL = ("e4m3", "e5m2", "e2m1", "e2m3", "e3m2")
_DTYPES = ("f16", "bf16", "f64", "i8", "i16", "i64", "u8", "u16", "u32", "u64")

#: Functions whose last bits differ between chips. No value for an integer of at most
#: BOUND is nearer to a tie than 0.003, so that the rounded results are the same.
_FUNCTIONS = (
    "tl.exp(tl.abs({x}) * -0.125) * 7.3",
    "tl.expm1(tl.abs({x}) * -0.125) * 3.3",
    "tl.log(tl.abs({x}) + 2.0) * 9.1",
    "tl.log2(tl.abs({x}) + 3.0) * 5.2",
    "tl.log10(tl.abs({x}) + 2.0) * 9.7",
    "tl.log1p(tl.abs({x})) * 9.1",
    "tl.sin({x}) * 8.1",
    "tl.cos({x}) * 11.3",
    "tl.tan({x} * 0.02) * 7.3",
    "tl.tanh({x} * 0.125) * 5.2",
    "tl.sigmoid({x} * 0.25) * 9.1",
    "tl.erf({x} * 0.0625) * 4.1",
    "tl.rsqrt(tl.abs({x}) + 1.0) * 7.1",
    "tl.pow(tl.abs({x}) + 1.0, 0.75) * 8.1",
)

#: Operations of an integer type. The lowest six bits of the result count.
_INTEGER = (
    "{i} // 3",
    "{i} // {j}",
    "{i} % 5",
    "{i} % {j}",
    "{i} << 2",
    "{i} >> 1",
    "({i} ^ 5) | 9",
    "~{i} & 21",
    "{i} * {i} - 7",
    "tl.popcount({i})",
    "tl.clz({i})",
    "tl.ctz({i})",
    "tl.mulhi({i}, {i} * 77)",
    "tl.umulhi({i} * 91, {i} - 1)",
    "tl.udiv({i}, {i} % 4)",
    "tl.umod({i}, {i} % 4)",
    "tl.ushr({i} * 3, 2)",
    "tl.cdiv({i} & 31, 3)",
    "tl.abs({i})",
    "tl.maximum({i}, 2) - tl.minimum({i}, 1)",
)
_SIGNED, _UNSIGNED = ("i8", "i16", "i32", "i32", "i64"), ("u8", "u16", "u32", "u64")

#: Reductions of a fragment `x` along an axis `a`; the result has no such axis.
_REDUCTIONS = (
    "tl.argmax({x}, axis={a}).to(tl.f32)",
    "tl.argmin({x}, axis={a}).to(tl.f32)",
    "tl.reduce({x}, 'max', axis={a})",
    "tl.min({x}, axis={a})",
    "tl.absmax({x}, axis={a})",
    "tl.absmin({x}, axis={a})",
    "tl.reduce_xor({x}.to(tl.i32), axis={a}).to(tl.f32)",
    "tl.reduce_or({x}.to(tl.u16), axis={a}).to(tl.f32)",
    "tl.reduce_and({x}.to(tl.i64), axis={a}).to(tl.f32)",
    "tl.all({x} > -2.0, axis={a}).to(tl.f32)",
    "(tl.reduce({x}.to(tl.i32), lambda a, b: a * b, axis={a}) & 63).to(tl.f32)",
    "tl.reduce({x}, lambda a, b: tl.where(a > b, a, b), axis={a})",
    "(tl.reduce(({x}.to(tl.i32), {x}.to(tl.i32) + 1), lambda a1, b1, a2, b2: "
    "(a1 * a2, a2 * b1 + b2), axis={a})[1] & 63).to(tl.f32)",
)

#: Scans, which leave the shape as it is.
_SCANS = (
    "tl.cumsum({x}, axis={a}, reverse={flag})",
    "tl.cummax({x}, axis={a})",
    "tl.cummin({x}, axis={a}, reverse={flag})",
    "tl.scan({x}, 'sum', axis={a}, reverse={flag}, exclusive=True)",
    "tl.scan({x}, 'max', axis={a}, reverse={flag}, exclusive=True, initial=-9.0)",
    "(tl.scan({x}.to(tl.i32), lambda a, b: a * b, axis={a}, reverse={flag}) & 63)"
    ".to(tl.f32)",
    "(tl.scan({x}.to(tl.i32), lambda a, b: a * b, axis={a}, exclusive=True, initial=3)"
    " & 63).to(tl.f32)",
    "(tl.scan(({x}.to(tl.i32), {x}.to(tl.i32) + 1), lambda a1, b1, a2, b2: "
    "(a1 * a2, a2 * b1 + b2), axis={a}, reverse={flag})[1] & 63).to(tl.f32)",
)


@dataclasses.dataclass
class _Chain:
    """The statements of a chain so far, and the name and shape of its value."""

    lines: Lines
    x: str
    shape: Shape

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def define(self, value: str, shape: Shape | None = None) -> None:
        """Gives the name another value."""
        self.lines.append(f"{self.x} = {value}")
        self.shape = shape or self.shape

    def without(self, axis: int) -> Shape:
        """The shape without an axis."""
        return self.shape[:axis] + self.shape[axis + 1 :]


class ValueOperations:
    """Generates chains of operations."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft

    def chain(self, load: str, shape: Shape) -> tuple[Lines, str, Shape]:
        """Operations on a fragment.

        Args:
            load: a fragment of f32 with small integers, as text.
            shape: its shape.

        Returns:
            Statements, the name of the result, and its shape.
        """
        draft = self._draft
        chain = _Chain([], self._name("x"), shape)
        chain.define(load)
        for _ in range(draft.choose(1, 1, 2, 2, 3)):
            step = draft.choose(
                self._elementwise, self._elementwise, self._integer, self._integer,
                self._reduction, self._scan, self._reshape, self._join, self._order,
                self._random, self._part, self._function, self._repeat, self._place,
                self._count,
            )  # fmt: skip
            before = len(chain.lines)
            step(chain)
            if len(chain.lines) > before:
                chain.define(f"tl.clamp({chain.x}, -{BOUND}.0, {BOUND}.0)")
            if len(chain.shape) == 1:
                break
        return chain.lines, chain.x, chain.shape

    def _name(self, letter: str) -> str:
        self._draft.variables += 1
        return f"{letter}{self._draft.variables}"

    def _axis(self, chain: _Chain) -> int:
        return self._draft.choose(*range(len(chain.shape)))

    def _elementwise(self, chain: _Chain) -> None:
        form = self._draft.choose(*_ELEMENTWISE)
        dtype, small = self._draft.choose(*_DTYPES), self._draft.choose(*_SMALL)
        chain.define(form.format(x=chain.x, dtype=dtype, small=small))

    def _function(self, chain: _Chain) -> None:
        """A function of which no bit depends on the chip, as it is rounded."""
        value = self._draft.choose(*_FUNCTIONS).format(x=chain.x)
        chain.define(f"tl.round({value})")

    def _repeat(self, chain: _Chain) -> None:
        """Coordinates, or a row or a column that is repeated."""
        x, shape, axis = chain.x, chain.shape, self._axis(chain)
        index = f"{x}[0]" if axis == 0 else f"{x}[:, 0][:, None]"
        value = self._draft.choose(
            f"tl.broadcast_to({index}, {shape})",
            f"(tl.iota({shape}, {axis}) % 5).to(tl.f32)",
        )
        chain.define(f"{x} - {value}")

    def _place(self, chain: _Chain) -> None:
        """A layout that the kernel asks for, and a check that holds."""
        draft = self._draft
        if draft.chance(0.3):
            chain.lines.append(
                f"tl.device_assert(tl.abs({chain.x}) < 4096.0, 'too large')"
            )
        threads = draft.threads
        values, columns = chain.size // threads, chain.shape[-1]
        strides = draft.choose((values, 1), (1, threads))
        # Neighbours fill whole rows, or rows whole groups of neighbours.
        run = max(strides)
        if values * threads != chain.size or min(run % columns, columns % run):
            return
        layout = f"({threads}, {values}):{strides}"
        chain.define(f"tl.with_layout({chain.x} * 2.0, '{layout}')")

    def _count(self, chain: _Chain) -> None:
        """How often small integers occur, added to all elements or left alone."""
        draft = self._draft
        mask = draft.choose("", "", f", mask={chain.x} > 0.0")
        counts = f"tl.histogram({chain.x}.to(tl.i32) & 7, 8{mask}).to(tl.f32)"
        if draft.chance(0.5):
            chain.define(counts, (8,))
            return
        chain.define(f"{chain.x} + tl.max({counts})")

    def _integer(self, chain: _Chain) -> None:
        """An operation of integers of some type, with sign or without."""
        draft = self._draft
        i = self._name("i")
        dtype = draft.choose(*_SIGNED, *_UNSIGNED)
        convert = ".to(tl.i32)" if dtype in _UNSIGNED else ""
        chain.lines.append(f"{i} = {chain.x}{convert}.to(tl.{dtype})")
        forms: tuple[str, ...] = _INTEGER
        if dtype in ("i32", "u32"):
            forms = (*forms, "tl.byte_perm({i} * 255, {i} ^ 1, 0x5140)")
        j = draft.choose("(({i} & 3) + 1)", "({i} * 2 + 1)", "-3")
        if dtype in _UNSIGNED and j == "-3":
            j = "7"
        value = draft.choose(*forms).format(i=i, j=j.format(i=i))
        chain.define(f"(({value}) & 63).to(tl.f32)")

    def _reduction(self, chain: _Chain) -> None:
        """A reduction, of which a row or a column is left, or which is added to all."""
        draft = self._draft
        axis = self._axis(chain)
        value = draft.choose(*_REDUCTIONS).format(x=chain.x, a=axis)
        if draft.chance(0.5):
            chain.define(value, chain.without(axis))
            return
        chain.define(f"{chain.x} + tl.expand_dims({value}, {axis})")

    def _scan(self, chain: _Chain) -> None:
        draft = self._draft
        flag = draft.choose("True", "False")
        form = draft.choose(*_SCANS)
        chain.define(form.format(x=chain.x, a=self._axis(chain), flag=flag))

    def _reshape(self, chain: _Chain) -> None:
        """Another order or another shape of the same elements."""
        draft = self._draft
        x, (rows, columns) = chain.x, chain.shape
        kind = draft.choose("flip", "transpose", "reshape", "permute")
        if kind == "flip":
            chain.define(f"tl.flip({x}, axis={draft.choose(0, 1, None)})")
        elif kind == "transpose":
            chain.define(f"tl.transpose({x})", (columns, rows))
        elif kind == "reshape":
            half = draft.choose((2 * rows, columns // 2), (rows // 2, 2 * columns))
            if min(half) > 0 and half[0] * half[1] == chain.size:
                chain.define(f"tl.reshape({x}, {half})", half)
        elif rows % 2 == 0:
            inner = f"tl.reshape({x}, (2, {rows // 2}, {columns}))"
            axes = draft.choose("1, 0, 2", "0, 2, 1", "2, 1, 0")
            permuted = f"tl.permute({inner}, {axes})"
            chain.define(f"tl.reshape({permuted}, ({rows}, {columns}))")

    def _join(self, chain: _Chain) -> None:
        """Several fragments as one, and back."""
        draft = self._draft
        x, (rows, columns) = chain.x, chain.shape
        kind = draft.choose("cat", "stack", "split")
        if kind == "split":
            if columns % 2:
                return
            even, odd = self._name("e"), self._name("o")
            pairs = f"tl.reshape({x}, ({rows}, {columns // 2}, 2))"
            chain.lines.append(f"{even}, {odd} = tl.split({pairs})")
            joined = f"tl.join({odd}, {even} * 2.0)"
            chain.define(f"tl.reshape({joined}, ({rows}, {columns}))")
        elif chain.size > LARGE:
            return
        elif kind == "stack":
            axis = draft.choose(0, 1, 2)
            function = draft.choose("max", "sum")
            stacked = f"tl.stack(({x}, -{x} + 1.0, {x} * 2.0), axis={axis})"
            chain.define(f"tl.{function}({stacked}, axis={axis})")
        else:
            pairs = f"tl.cat(({x}, 2.0 - {x}), axis={draft.choose(0, 1)})"
            shaped = f"tl.reshape({pairs}, ({rows}, {columns}, 2))"
            chain.define(f"tl.sum({shaped}, axis=2)")

    def _part(self, chain: _Chain) -> None:
        """A part of a fragment at a constant place, or one row or column of it."""
        draft = self._draft
        x, axis = chain.x, self._axis(chain)
        extent = chain.shape[axis]
        if draft.chance(0.4):
            place = draft.choose(0, extent - 1, -1, extent // 2)
            index = f"{place}" if axis == 0 else f":, {place}"
            if draft.chance(0.5):
                chain.define(f"{x}[{index}]", chain.without(axis))
                return
            chain.define(f"{x} - tl.expand_dims({x}[{index}], {axis})")
        elif extent % 2 == 0 and extent > 8:
            half = extent // 2
            part = draft.choose(f"0:{half}", f"{half}:{extent}")
            shape = list(chain.shape)
            shape[axis] = half
            index = part if axis == 0 else f"..., {part}"
            chain.define(f"{x}[{index}]", tuple(shape))

    def _order(self, chain: _Chain) -> None:
        """Sorts a few elements along an axis."""
        draft = self._draft
        axis = self._axis(chain)
        if chain.shape[axis] % SORTED:
            return
        start = draft.choose(*range(0, chain.shape[axis], SORTED))
        part = f"{start}:{start + SORTED}"
        shape = list(chain.shape)
        shape[axis] = SORTED
        # The part may be all of it.
        index = f"{part}, :" if axis == 0 else f":, {part}"
        chain.define(f"{chain.x}[{index}]", tuple(shape))
        kind = draft.choose("sort", "argsort", "topk")
        order = f"axis={axis}, descending={draft.choose('True', 'False')}"
        if kind == "sort":
            chain.define(f"tl.sort({chain.x}, {order})")
            return
        values, places = self._name("v"), self._name("p")
        if kind == "topk":
            count = draft.choose(1, 2, 4)
            shape[axis] = count
            call = f"tl.topk({chain.x}, {count}, axis={axis})"
        else:
            call = f"tl.argsort({chain.x}, {order})"
        chain.lines.append(f"{values}, {places} = {call}")
        chain.define(f"{values} * 4.0 + {places}.to(tl.f32)", tuple(shape))

    def _random(self, chain: _Chain) -> None:
        """Random numbers that depend on the tile and the place."""
        draft = self._draft
        axis = self._axis(chain)
        extent = chain.shape[axis]
        seed = draft.choose("7", "-1", "0x123456789abcdef", "")
        seed = seed or draft.add_number(11, "i64")
        counters = f"tl.arange({extent}) + t * {draft.choose(extent, 1, 1000)}"
        value = draft.choose(
            f"(tl.randint({seed}, {counters}) & 7).to(tl.f32)",
            f"tl.floor(tl.rand({seed}, {counters}) * 8.0)",
            f"(tl.philox({seed}, {counters})[3] % 8).to(tl.f32)",
            f"tl.where(tl.rand({seed}, {counters}) < 0.5, 1.0, -1.0)",
            f"tl.round(tl.randn({seed}, {counters}) * 3.0)",
        )
        chain.define(f"{chain.x} + tl.expand_dims({value}, {1 - axis})")
