"""Stores and atomic updates of random kernels, in all their forms."""

from __future__ import annotations

from ..draft import LONGEST, Draft, Lines, Scope

#: Updates whose results do not depend on their order.
_UPDATES = ("add", "add", "max", "min", "or", "xor", "and")


class MemoryOperations:
    """Generates statements that write a fragment to global memory."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft

    def use(self, load: str, shape: tuple[int, ...], scope: Scope) -> Lines:
        """Statements that write a fragment of f32, and may use what was there."""
        draft = self._draft
        x = self._name("w")
        write = draft.choose(
            self._scatter, self._masked, self._ragged, self._atomic_scatter,
            self._update, self._update, self._exchange, self._count, self._shared,
            self._message,
        )  # fmt: skip
        return [f"{x} = {load}", *write(x, shape, scope)]

    def _name(self, letter: str) -> str:
        self._draft.variables += 1
        return f"{letter}{self._draft.variables}"

    def _indices(self, rows: int, scope: Scope, fill: str) -> tuple[str, str]:
        """A statement that loads an index for each row, and its name."""
        ids = self._name("ids")
        table = self._draft.add_array("i32", (rows * LONGEST,), fill=fill)
        place = f"{table}[{scope.variable} * {rows}]"
        # Some are negative.
        return f"{ids} = tl.load({place}, ({rows},)) - 2", ids

    def _private(self, dtype: str, rows: int, columns: int, update: str) -> str:
        """An array with a matrix for each tile."""
        shape = (self._draft.tiles, rows, columns)
        return self._draft.add_array(dtype, shape, fill=self._start(update))

    def _start(self, update: str) -> str:
        """What an array has before it is updated."""
        return "below 64" if update == "and" else "zeros"

    def _scope(self, *orders: str) -> str:
        """Options of an access, in a few kernels: any scope, and one of the orders."""
        random = self._draft.feature_random
        if random.random() > 0.15:
            return ""
        order = random.choice(("", *orders))
        scope = random.choice(("block", "cluster", "device", "system"))
        return (f', order="{order}"' if order else "") + f', scope="{scope}"'

    def _order(self) -> str:
        """Options of an update: rarely an order or a scope."""
        draft = self._draft
        if draft.chance(0.85):
            return self._scope("relaxed", "acquire", "release", "acq_rel")
        order = draft.choose("relaxed", "acquire", "release", "acq_rel")
        scope = draft.choose("", "block", "device", "system")
        return f', order="{order}"' + (f', scope="{scope}"' if scope else "")

    def _mask(self, x: str, shape: tuple[int, ...], scope: Scope) -> tuple[Lines, str]:
        """A mask of a fragment's elements, rows or columns."""
        draft = self._draft
        rows, columns = shape
        kind = draft.choose("element", "row", "column", "both")
        if kind == "element":
            return [], f"{x} > {draft.choose('-1.0', '0.0', '9.0')}"
        if kind == "column":
            return [], f"(tl.arange({columns}) < {scope.variable} * 4)[None, :]"
        line, ids = self._indices(rows, scope, "below 9")
        mask = f"({ids} > 0)[:, None]"
        if kind == "both":
            mask = f"{mask} & (tl.arange({columns}) % 3 != 1)[None, :]"
        return [line], mask

    def _scatter(self, x: str, shape: tuple[int, ...], scope: Scope) -> Lines:
        """A store of rows at indices, which all differ."""
        rows, columns = shape
        line, ids = self._indices(rows, scope, f"order {rows}")
        result = self._private("f32", rows, columns, "store")
        return [line, f"tl.store({x}, {result}[t, {ids}, 0:{columns}])"]

    def _masked(self, x: str, shape: tuple[int, ...], scope: Scope) -> Lines:
        """A store under a mask."""
        rows, _ = shape
        lines, mask = self._mask(x, shape, scope)
        result = self._draft.result_array("f32", shape)
        return [*lines, f"tl.store({x}, {result}[t * {rows}, 0], mask={mask})"]

    def _ragged(self, x: str, shape: tuple[int, ...], scope: Scope) -> Lines:
        """A store of some of the rows."""
        rows, columns = shape
        size = self._name("size")
        table = self._draft.add_array("i32", (LONGEST,), fill=f"below {rows + 2}")
        result = self._draft.result_array("f32", shape)
        part = f"t * {rows}:t * {rows} + {size}, 0:{columns}"
        return [
            f"{size} = tl.load({table}[{scope.variable}]) - 1",
            f"tl.store({x}, {result}[{part}])",
        ]

    def _atomic_scatter(self, x: str, shape: tuple[int, ...], scope: Scope) -> Lines:
        """An update of rows at indices, of which some are the same."""
        draft = self._draft
        rows, columns = shape
        line, ids = self._indices(rows, scope, f"below {rows}")
        update = draft.choose(*_UPDATES)
        dtype = "f32" if update == "add" and draft.chance(0.5) else "i32"
        result = self._private(dtype, rows, columns, update)
        lines = [line]
        mask = ""
        if draft.chance(0.3):
            more, mask = self._mask(x, shape, scope)
            lines += more
            mask = f", mask={mask}"
        value = x if dtype == "f32" else f"{x}.to(tl.i32)"
        place = f"{result}[t, {ids}, 0:{columns}]"
        return [*lines, f"tl.atomic_{update}({value}, {place}{mask}{self._order()})"]

    def _update(self, x: str, shape: tuple[int, ...], scope: Scope) -> Lines:
        """An update of a tile, whose old values are used."""
        draft = self._draft
        rows, columns = shape
        update = draft.choose(*_UPDATES)
        dtype = draft.choose("f32", "i32", "i64") if update == "add" else "i32"
        result = draft.result_array(dtype, shape, self._start(update))
        lines: Lines = []
        mask = ""
        if draft.chance(0.3):
            lines, mask = self._mask(x, shape, scope)
            mask = f", mask={mask}"
        value = x if dtype == "f32" else f"{x}.to(tl.{dtype})"
        place = f"{result}[t * {rows}:t * {rows} + {rows}, 0:{columns}]"
        call = f"tl.atomic_{update}({value}, {place}{mask}{self._order()})"
        return [*lines, *self._add_old(call, dtype, shape)]

    def _exchange(self, x: str, shape: tuple[int, ...], scope: Scope) -> Lines:
        """An exchange of a tile, or of those elements that are zero."""
        draft = self._draft
        rows, columns = shape
        dtype = draft.choose("i32", "i64", "f32")
        result = draft.result_array(dtype, shape)
        value = x if dtype == "f32" else f"{x}.to(tl.{dtype})"
        place = f"{result}[t * {rows}:t * {rows} + {rows}, 0:{columns}]"
        if dtype != "f32" and draft.chance(0.5):
            call = f"tl.atomic_cas(0, {value} + 1, {place}{self._order()})"
        else:
            call = f"tl.atomic_exchange({value}, {place}{self._order()})"
        return self._add_old(call, dtype, shape)

    def _add_old(self, call: str, dtype: str, shape: tuple[int, ...]) -> Lines:
        """An update, whose old values are added up."""
        old = self._name("old")
        acc = self._draft.accumulator(shape)
        value = old if dtype == "f32" else f"{old}.to(tl.f32)"
        return [
            f"{old} = {call}",
            f"{acc} = tl.clamp({acc} + {value}, -512.0, 512.0)",
        ]

    def _count(self, x: str, shape: tuple[int, ...], scope: Scope) -> Lines:
        """An update of a single element."""
        draft = self._draft
        old = self._name("old")
        counts = draft.add_array("i32", (draft.tiles,), fill="zeros")
        log = draft.add_array("i32", (draft.tiles, LONGEST), fill="zeros")
        whole = f"{x}.to(tl.i32)"
        value = draft.choose("1", f"tl.sum({whole})", f"tl.max({whole})")
        update = draft.choose("add", "max", "exchange")
        return [
            f"{old} = tl.atomic_{update}({value}, {counts}[t])",
            f"{log}[t, {scope.variable}] = {old}",
        ]

    def _shared(self, x: str, shape: tuple[int, ...], scope: Scope) -> Lines:
        """Updates of shared memory at indices, of which some are the same."""
        draft = self._draft
        rows, columns = shape
        buffer = draft.shared(shape, "i32")
        line, ids = self._indices(rows, scope, f"below {rows + 3}")
        update = draft.choose("add", "max", "or")
        acc = draft.accumulator(shape)
        value = f"tl.load({buffer.name}).to(tl.f32)"
        return [
            f"tl.store({draft.choose(0, 3)}, {buffer.name}[0:{rows}, 0:{columns}])",
            line,
            f"tl.atomic_{update}({x}.to(tl.i32), {buffer.name}[{ids}, 0:{columns}])",
            f"{acc} = tl.clamp({acc} + {value}, -512.0, 512.0)",
        ]

    def _message(self, x: str, shape: tuple[int, ...], scope: Scope) -> Lines:
        """Atomic stores and loads of a tile or an element, with fences between them."""
        draft = self._draft
        rows, columns = shape
        found = self._name("m")
        if draft.chance(0.5):
            array = draft.result_array("i32", shape)
            place = f"{array}[t * {rows}:t * {rows} + {rows}, 0:{columns}]"
            value = f"{x}.to(tl.i32)"
            acc = draft.accumulator(shape)
            use = f"{acc} = tl.clamp({acc} + {found}.to(tl.f32), -512.0, 512.0)"
        else:
            place = f"{draft.add_array('i32', (draft.tiles,), fill='zeros')}[t]"
            value = f"tl.sum({x}.to(tl.i32))"
            log = draft.add_array("i32", (draft.tiles, LONGEST), fill="zeros")
            use = f"{log}[t, {scope.variable}] = {found}"
        order = draft.choose("", ', order="release"', ', order="relaxed"')
        load = draft.choose("", ', order="acquire"', ', order="relaxed"')
        between = draft.choose([], [], ["tl.fence()"], ['tl.fence(scope="system")'])
        if fence := self._scope("acquire", "release", "acq_rel"):
            between = [f"tl.fence({fence[2:]})"]
        return [
            f"tl.atomic_store({value}, {place}{self._scope('release') or order})",
            *between,
            f"{found} = tl.atomic_load({place}{self._scope('acquire') or load})",
            use,
        ]
