"""Statements that are inserted into random kernels anywhere.

They print, check, and use parameters in all forms. What they compute is added up in a
fragment of its own.
"""

from __future__ import annotations

import re

from ..draft import Draft, Lines, Shared, indent
from .parameter_forms import ParameterForms

_LOOP = re.compile(r"for (k\d+) in ")


class Insertions:
    """Generates statements and inserts them into a kernel's body."""

    def __init__(self, draft: Draft, forms: ParameterForms) -> None:
        self._draft = draft
        self._random = draft.feature_random
        self._forms = forms
        self._shape = draft.rows, draft.columns
        self._count = 0

    def insert(self, body: Lines) -> Lines:
        """Inserts statements, and returns those that have to come before the body."""
        draft = self._draft
        kinds = self._print, self._check, self._optional, self._list, self._record
        for _ in range(self._random.choice((1, 2, 3))):
            place = self._random.choice(self._places(body))
            depth, variable = self._scope(body, place)
            lines = self._random.choice(kinds)(variable)
            body[place:place] = [" " * depth + line for line in lines]
        if not any("kept" in line for line in body):
            return []
        rows, _ = self._shape
        result = self._forms.add_result((rows * draft.tiles, self._shape[1]))
        draft.epilogue.append(f"{result}[t * {rows}, 0] = kept")
        return [f"kept = tl.zeros({self._shape}, tl.f32)"]

    # --- Places -------------------------------------------------------------------

    def _places(self, body: Lines) -> list[int]:
        """Where statements can be inserted: before these lines, or at the end."""
        heads = [i for i, line in enumerate(body) if line.strip() != "else:"]
        return [*heads, len(body)]

    def _scope(self, body: Lines, place: int) -> tuple[int, str]:
        """The indentation at a place, and the innermost loop's variable there."""

        def indentation(line: str) -> int:
            return len(line) - len(line.lstrip(" "))

        depth = inner = indentation(body[place]) if place < len(body) else 0
        for line in reversed(body[:place]):
            if indentation(line) < inner:
                inner = indentation(line)
                if loop := _LOOP.match(line.lstrip(" ")):
                    return depth, loop[1]
        return depth, "0"

    def _name(self, letter: str) -> str:
        self._count += 1
        return f"{letter}_{self._count}"

    # --- Statements ---------------------------------------------------------------

    def _fold(self, value: str) -> str:
        """Adds a fragment, or a number, to what is kept."""
        return f"kept = tl.clamp(kept * 2.0 + {value}, -512.0, 512.0)"

    def _row(self, number: str, dtype: str) -> str:
        """A number as a fragment of f32."""
        return f"tl.full((1, {self._shape[1]}), {number}, tl.{dtype}).to(tl.f32)"

    def _tile(self, array: str, variable: str) -> str:
        """A part of an array of shape :meth:`_whole`, or what lies beyond."""
        rows, columns = self._shape
        return f"{array}[t * {rows}, {variable} * {columns}]"

    def _load(self, array: str, variable: str, dtype: str) -> str:
        cast = "" if dtype == "f32" else ".to(tl.f32)"
        return f"tl.load({self._tile(array, variable)}, {self._shape}){cast}"

    def _whole(self) -> tuple[int, int]:
        """Five parts for each tile, side by side; one array in three lacks rows."""
        rows, columns = self._shape
        return rows * self._draft.tiles - self._random.choice((0, 0, 3)), columns * 5

    def _copied(self, array: str, variable: str, dtype: str) -> Lines:
        """Adds what goes through a buffer."""
        buffer = Shared(f"S{len(self._draft.buffers)}", self._shape, dtype)
        self._draft.buffers[buffer] = ""
        cast = "" if dtype == "f32" else ".to(tl.f32)"
        return [
            f"tl.copy({self._tile(array, variable)}, {buffer.name})",
            self._fold(f"tl.load({buffer.name}){cast}"),
        ]

    def _print(self, variable: str) -> Lines:
        """Prints scalars, and a fragment with one dimension."""
        label = f"'at {self._count}'"
        self._count += 1
        matrices = [n for n in self._draft.state if n.count("x") == 1]
        values = self._random.choice(
            ("t", variable, f"t, {variable}", f"'and', t * 2 + {variable}", "matrix")
        )
        if values == "matrix":
            values = "tl.arange(4)"
            # Passes may change how weights are rounded.
            if matrices and self._draft.exact:
                name = self._random.choice(matrices)
                values = f"tl.max({name}), tl.max({name}, axis=1)"
        return [f"tl.print({label}, {values})"]

    def _check(self, variable: str) -> Lines:
        """Checks what always holds."""
        table = self._draft.add_array("i32", (64,), fill="below 9")
        condition = self._random.choice(
            (
                f"t * 64 >= {variable} - 64",
                f"tl.load({table}[{variable}]) < 9",
                f"tl.load({table}[{variable}], (16,)) >= 0",
            )
        )
        if "(16,)" not in condition and self._random.random() < 0.5:
            return [f"assert {condition}, 'out of range'"]
        message = self._random.choice(("", ", 'out of range'"))
        return [f"tl.device_assert({condition}{message})"]

    def _optional(self, variable: str) -> Lines:
        """Uses an optional array or number where it is given."""
        random, forms = self._random, self._forms
        if random.random() < 0.3:
            number = forms.add_optional("i32")
            row = self._name("row")
            value = f"{self._row(number, 'i32')} if {number} is not None else 4.0"
            return [f"{row} = {value}", self._fold(row)]
        dtype = random.choice(("f32", "f16", "i32"))
        array = forms.add_optional(dtype, self._whole())
        if random.random() < 0.4:
            use = self._copied(array, variable, dtype)
        else:
            use = [self._fold(self._load(array, variable, dtype))]
        lines = [f"if {array} is not None:", *indent(use)]
        if random.random() < 0.5:
            lines += ["else:", *indent([self._fold("1.0")])]
        return lines

    def _list(self, variable: str) -> Lines:
        """Uses the arrays of a list."""
        random = self._random
        dtype = random.choice(("f32", "f16", "i32"))
        arrays = self._forms.add_list(dtype, self._whole())
        one, place = self._name("one"), self._name("place")
        load = self._load(one, variable, dtype)
        kind = random.choice(("each", "number", "last", "stack", "copy"))
        if kind == "number":
            update = self._fold(f"{load} * ({place} + 1.0)")
            return [f"for {place}, {one} in enumerate({arrays}):", *indent([update])]
        if kind == "last":
            load = self._load(f"{arrays}[len({arrays}) - 1]", variable, dtype)
            return [self._fold(load)]
        if kind == "stack":
            tiles = f"tl.stack([{load} for {one} in {arrays}])"
            return [self._fold(f"tl.sum({tiles}, axis=0)")]
        use = [self._fold(load)]
        if kind == "copy":
            use = self._copied(one, variable, dtype)
        return [f"for {one} in {arrays}:", *indent(use)]

    def _record(self, variable: str) -> Lines:
        """Uses fields and methods of a record."""
        random, forms = self._random, self._forms
        columns = self._shape[1]
        kind = random.choice(("flag", "moved", "scale", "number"))
        if kind == "flag":
            flag = forms.add_field(random.choice((0, 1)), "i1")
            return [f"if {flag}:", *indent([self._fold("1.0")])]
        if kind == "scale":
            return [self._fold(forms.add_field(random.choice((-2, 1, 3)), "f32"))]
        if kind == "number":
            dtype = random.choice(("i32", "i64"))
            number = forms.add_field(random.choice((1, 2, 7)), dtype)
            return [self._fold(self._row(f"{number} % 4", dtype))]
        row = f"(tl.arange({columns}) + {forms.moved(variable)}).to(tl.f32)"
        return [self._fold(f"{row}[None, :]")]
