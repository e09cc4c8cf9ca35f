"""Statements that fill the buffers of random kernels."""

from __future__ import annotations

from .draft import LONGEST, Draft, Lines, Scope, Shared, indent


class Producers:
    """Copies and stores that write a whole buffer."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft

    def offset(self, size: int, scope: Scope, is_row: bool) -> str:
        """Where a tile begins in an array."""
        draft = self._draft
        variable = scope.variable
        if is_row and draft.chance(0.6):
            return f"t * {size}"
        kind = draft.random.random()
        if kind < 0.6:
            return f"{variable} * {size}"
        if kind < 0.7:
            return f"{variable} * {size} + {draft.choose(1, 3, 4, 8)}"
        if kind < 0.8:
            return f"{draft.carried_number()} * {size}"
        if kind < 0.87:
            table = draft.add_array("i32", (LONGEST,), fill="below 60")
            return f"tl.load({table}[{variable}])"
        if kind < 0.93:
            return f"(5 - {variable}) * {size}"
        return "0"

    def fill(self, buffer: Shared, scope: Scope) -> Lines:
        """One or more statements that write a whole buffer."""
        draft = self._draft
        scope.ready.add(buffer)
        if len(buffer.shape) == 1:
            array = draft.add_array(buffer.dtype, (buffer.shape[0] * 9,), divisor=8)
            start = self.offset(buffer.shape[0], scope, is_row=False)
            return [f"tl.copy({array}[{start}], {buffer.name})"]
        rows, columns = buffer.shape
        place = (
            self.offset(rows, scope, is_row=True),
            self.offset(columns, scope, is_row=False),
        )
        kind = draft.random.random()
        if kind < 0.6:
            array = draft.source_array(buffer.dtype, columns)
            return [f"tl.copy({array}[{place[0]}, {place[1]}], {buffer.name})"]
        if kind < 0.75:
            return self.fill_with_cast(buffer, place)
        array = draft.source_array(buffer.dtype, columns)
        if kind < 0.87:
            return self.fill_in_pieces(buffer, array, place)
        if kind < 0.93:
            return self.gather(buffer, array, scope)
        shape = f"({rows}, {columns})"
        load = f"tl.load({array}[{place[0]}, {place[1]}], {shape})"
        return [f"tl.store({load}, {buffer.name})"]

    def fill_with_cast(self, buffer: Shared, place: tuple[str, str]) -> Lines:
        # Not a set, whose order differs between processes.
        draft = self._draft
        others = [t for t in ("f32", "f16", "bf16") if t != buffer.dtype]
        other = draft.choose(*others)
        if buffer.dtype == "i8":
            other = "i32"
        elif buffer.dtype.startswith("u"):
            other = "f32"  # Negative numbers become 0.
        array = draft.source_array(other, buffer.shape[1])
        load = f"tl.load({array}[{place[0]}, {place[1]}], {buffer.shape})"
        return [f"tl.store({load}.to(tl.{buffer.dtype}), {buffer.name})"]

    def fill_in_pieces(
        self, buffer: Shared, array: str, place: tuple[str, str]
    ) -> Lines:
        """Two copies, or a copy and a fill, write a part each."""
        draft = self._draft
        rows, columns = buffer.shape
        half = rows // 2
        name = buffer.name
        draft.variables += 1
        row, column = f"r{draft.variables}", f"c{draft.variables}"
        start = [f"{row} = {place[0]}", f"{column} = {place[1]}"]

        def piece(first: int, last: int) -> str:
            source = f"{row}:{row} + {last - first}, {column}:{column} + {columns}"
            if first:
                source = f"{row} + {first}:{row} + {last}{source[source.index(',') :]}"
            return f"tl.copy({array}[{source}], {name}[{first}:{last}, :])"

        if draft.chance(0.3):
            zeros = f"tl.full(({half}, {columns}), 2, tl.{buffer.dtype})"
            store = f"tl.store({zeros}, {name}[0, 0])"
            return [*start, store, piece(half, rows)]
        pieces = [piece(0, half), piece(half, rows)]
        draft.random.shuffle(pieces)
        return [*start, *pieces]

    def gather(self, buffer: Shared, array: str, scope: Scope) -> Lines:
        """Copies the rows that a table names, one by one or as :meth:`gather_rows`."""
        draft = self._draft
        rows, columns = buffer.shape
        if draft.chance(0.5):
            return self.gather_rows(buffer, array, scope)
        draft.variables += 1
        row = f"i{draft.variables}"
        table = draft.add_array("i32", (rows * LONGEST,), fill="below 30")
        lines: Lines = []
        index = f"{table}[{scope.variable} * {rows} + {row}]"
        if draft.chance(0.5):
            indices = draft.shared((rows,), "i32")
            scope.ready.add(indices)
            lines = [f"tl.copy({table}[{scope.variable} * {rows}], {indices.name})"]
            index = f"{indices.name}[{row}]"
        copy = (
            f"tl.copy({array}[tl.load({index}), 0:{columns}], "
            f"{buffer.name}[{row}, 0:{columns}])"
        )
        # One unit: its lines belong together.
        return [*lines, f"for {row} in tl.range({rows}):", *indent([copy])]

    def gather_rows(self, buffer: Shared, array: str, scope: Scope) -> Lines:
        """Copies rows at a vector of indices, or a run-time number of rows, or loads
        rows under a mask."""
        draft = self._draft
        rows, columns = buffer.shape
        draft.variables += 1
        ids, size = f"v{draft.variables}", f"size{draft.variables}"
        table = draft.add_array("i32", (rows * LONGEST,), fill="below 30")
        place = f"{scope.variable} * {rows}"
        # Some indices are negative.
        vector = f"{ids} = tl.load({table}[{place}], ({rows},)) - 3"
        part = f"{array}[{ids}, 0:{columns}]"
        kind = draft.random.random()
        if kind < 0.4:
            mask = draft.choose("", "", f", mask={ids}[:, None] > 5")
            return [vector, f"tl.copy({part}, {buffer.name}{mask})"]
        one = "1" if buffer.dtype[0] in "iu" else "1.0"
        pad = "" if draft.chance(0.6) else f", pad={one}"
        if kind < 0.6:
            return [vector, f"tl.store(tl.load({part}{pad}), {buffer.name})"]
        if kind < 0.8:
            load = (
                f"tl.load({array}[{place}, 0], ({rows}, {columns}), "
                f"mask={ids}[:, None] > 9{pad})"
            )
            return [vector, f"tl.store({load}, {buffer.name})"]
        number = f"{size} = tl.load({table}[{scope.variable}]) - 3"
        part = f"{array}[{place}:{place} + {size}, 0:{columns}]"
        return [number, f"tl.copy({part}, {buffer.name})"]
