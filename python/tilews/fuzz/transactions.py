"""Transactions of random kernels: buffers that are filled and used."""

from __future__ import annotations

from .data import DTYPES
from .draft import LONGEST, Draft, Lines, Scope, Shared, indent
from .operations.memory_operations import MemoryOperations
from .operations.small_elements import SmallElements
from .operations.value_operations import ValueOperations
from .producers import Producers
from .random_guards import GuardMaker


class Transactions:
    """Generates statements that have to stay in order: a fill and its uses."""

    def __init__(self, draft: Draft, producers: Producers, guards: GuardMaker) -> None:
        self._draft = draft
        self._producers = producers
        self._guards = guards
        self._values = ValueOperations(draft)
        self._memory = MemoryOperations(draft)
        self._small = SmallElements(draft)

    def prelude(self, scope: Scope) -> Lines:
        """A tile that is filled before a loop."""
        draft = self._draft
        buffer = draft.shared((draft.rows, draft.depth), draft.dtype)
        return self._producers.fill(buffer, scope)

    def operand(
        self, shape: tuple[int, int], scope: Scope, units: list[Lines]
    ) -> tuple[str, bool]:
        """An operand of a matmul, and whether it is transposed."""
        draft = self._draft
        transposed = draft.chance(0.3)
        shape = shape[::-1] if transposed else shape
        ready = [
            b
            for b in scope.ready - draft.busy
            if (b.shape, b.dtype) == (shape, draft.dtype)
        ]
        if ready and draft.chance(0.15):
            buffer = draft.choose(*sorted(ready, key=lambda b: b.name))
        else:
            buffer = draft.shared(shape, draft.dtype)
            units.append(self._producers.fill(buffer, scope))
        draft.busy.add(buffer)
        text = f"tl.load({buffer.name})" if draft.chance(0.15) else buffer.name
        return text, transposed

    def matmul(self, scope: Scope) -> list[Lines]:
        """A matmul with the fills of its operands."""
        draft = self._draft
        units: list[Lines] = []
        lhs, left = self.operand((draft.rows, draft.depth), scope, units)
        rhs, right = self.operand((draft.depth, draft.columns), scope, units)
        dtype = "i32" if draft.dtype == "i8" else "f32"
        acc = draft.accumulator((draft.rows, draft.columns), dtype)
        options = ", transpose_lhs=True" * left + ", transpose_rhs=True" * right
        if draft.chance(0.1):
            options += ", clear=True"
        elif draft.depth % 2 == 0 and draft.chance(0.15):
            first, second = self.halves(lhs, not left), self.halves(rhs, right)
            value = f"tl.gemm({first[0]}, {second[0]}, {acc}{options})"
            value = f"tl.gemm({first[1]}, {second[1]}, {value}{options})"
            return [*units, [f"{acc} = {value}"]]
        if draft.chance(0.2):
            zeros = f"tl.zeros(({draft.rows}, {draft.columns}), tl.{dtype})"
            matmul = f"tl.gemm({lhs}, {rhs}, {zeros}{options})"
            value = self.clamp(f"{acc} - {matmul}", 4096, dtype)
        elif dtype == "f32" and draft.depth % 16 == 0 and draft.chance(0.15):
            scales = self.scales(left, right, scope)
            value = f"tl.gemm({lhs}, {rhs}, {acc}{options}{scales})"
            value = self.clamp(value, 4096)
        else:
            value = f"tl.gemm({lhs}, {rhs}, {acc}{options})"
        return [*units, [f"{acc} = {value}"]]

    def sparse_matmul(self, scope: Scope) -> list[Lines]:
        """A matmul with a 2:4 sparse left operand."""
        draft = self._draft
        if draft.dtype == "f32" or draft.depth % 16:
            return self.matmul(scope)
        rows, kept = draft.rows, draft.depth
        units: list[Lines] = []
        lhs = draft.shared((rows, kept), draft.dtype)
        units.append(self._producers.fill(lhs, scope))
        bits = draft.choose(8, 16, 32)
        shape = (rows, 2 * kept // bits)
        dtype = f"{draft.choose('i', 'i', 'u')}{bits}"
        table = draft.add_array(
            dtype, (rows * LONGEST, shape[1]), fill="pairs", divisor=shape[1]
        )
        place = f"{table}[{scope.variable} * {rows}, 0]"
        if draft.chance(0.3):
            metadata = f"tl.load({place}, {shape})"
        else:
            buffer = draft.shared(shape, dtype)
            metadata = buffer.name
            units.append([f"tl.copy({place}, {metadata})"])
        rhs, transposed = self.operand((2 * kept, draft.columns), scope, units)
        options = ", transpose_rhs=True" * transposed
        sums = "i32" if draft.dtype == "i8" else "f32"
        acc = draft.accumulator((rows, draft.columns), sums)
        value = f"tl.gemm_sp({lhs.name}, {metadata}, {rhs}, {acc}{options})"
        return [*units, [f"{acc} = {value}"]]

    def small_matmul(self, scope: Scope) -> list[Lines]:
        """A matmul of fp8, fp6 and fp4, with scales of 32 elements."""
        return self._small.matmul(scope)

    def nibbles(self, scope: Scope) -> list[Lines]:
        """A chain of operations on elements of which two share a byte."""
        copy, load, shape = self._small.read(scope)
        return [copy, self.chain(load, shape)]

    def scales(self, left: bool, right: bool, scope: Scope) -> str:
        """Options of a matmul with a factor for each block of an operand."""
        draft = self._draft
        options = ""
        parts = draft.choose(1, 2) if draft.depth % 32 == 0 else 1
        for name, extent, is_last in (
            ("lhs_scale", draft.rows, not left),
            ("rhs_scale", draft.columns, right),
        ):
            if draft.chance(0.3):
                continue
            blocks = draft.choose(extent, extent // 8)
            shape = (blocks, parts) if is_last else (parts, blocks)
            table = draft.add_array("f32", (shape[0] * LONGEST, shape[1]))
            place = f"{table}[{scope.variable} * {shape[0]}, 0]"
            options += f", {name}=tl.load({place}, {shape})"
        return options

    def batched(self, scope: Scope) -> list[Lines]:
        """A batched matmul of operands in shared memory."""
        draft = self._draft
        units: list[Lines] = []
        names = []
        for rows, columns in (draft.rows, draft.depth), (draft.depth, draft.columns):
            buffer = draft.shared((2, rows, columns), draft.dtype)
            array = draft.add_array(
                draft.dtype, (2, rows * 3, columns * 3), divisor=draft.choose(1, 8)
            )
            row = self._producers.offset(rows, scope, is_row=True)
            column = self._producers.offset(columns, scope, is_row=False)
            units.append([f"tl.copy({array}[0, {row}, {column}], {buffer.name})"])
            names.append(buffer.name)
        dtype = "i32" if draft.dtype == "i8" else "f32"
        acc = draft.accumulator((2, draft.rows, draft.columns), dtype)
        return [*units, [f"{acc} = tl.gemm({names[0]}, {names[1]}, {acc})"]]

    def halves(self, operand: str, is_last: bool) -> list[str]:
        """The halves of an operand along the dimension that is summed, which is the
        last one or the first."""
        half = self._draft.depth // 2
        parts = f"0:{half}", f"{half}:{2 * half}"
        form = "{}[:, {}]" if is_last else "{}[{}, :]"
        return [form.format(operand, part) for part in parts]

    def clamp(self, value: str, limit: int, dtype: str = "f32") -> str:
        bound = f"{limit}" if dtype.startswith("i") else f"{limit}.0"
        return f"tl.maximum(tl.minimum({value}, {bound}), -{bound})"

    def read(self, scope: Scope) -> list[Lines]:
        """A tile that elementwise operations or reductions use."""
        draft = self._draft
        shape = draft.choose(
            (draft.rows, draft.depth),
            (draft.depth, draft.columns),
        )
        kinds = draft.dtype, draft.dtype, "f32", "f16", "i32", "u8", "u32", "e3m2"
        dtype = draft.choose(*kinds)
        buffer = draft.shared(shape, dtype)
        units = [self._producers.fill(buffer, scope)]
        uses = draft.choose(1, 1, 2)
        return units + [self.use(buffer, scope) for _ in range(uses)]

    def use(self, buffer: Shared, scope: Scope) -> Lines:
        """A statement that reads a buffer."""
        draft = self._draft
        cast = "" if buffer.dtype == "f32" else ".to(tl.f32)"
        load = f"tl.load({buffer.name}){cast}"
        if len(buffer.shape) == 1:
            acc = draft.accumulator(buffer.shape)
            return [f"{acc} = {self.clamp(f'{acc} + {load}', 512)}"]
        rows, columns = buffer.shape
        kind = draft.choose(
            "add", "add", "sum", "column", "store", "log", "atomic", "part", "view",
            "branch", "max", "bits", "asm", *["chain"] * 8, *["memory"] * 4,
        )  # fmt: skip
        if kind == "memory":
            return self._memory.use(load, buffer.shape, scope)
        if kind == "chain":
            return self.chain(load, buffer.shape)
        if kind == "sum":
            acc = draft.accumulator((rows,))
            return [f"{acc} = {acc} + tl.sum({load}, axis=1)"]
        if kind == "max":
            acc = draft.accumulator((columns,))
            return [f"{acc} = tl.maximum({acc}, tl.max({load}, axis=0))"]
        if kind == "column":
            acc = draft.accumulator((rows, columns))
            return [f"{acc} = {self.clamp(f'{acc} + tl.sum({load})', 512)}"]
        if kind == "store":
            return self.store(buffer, scope)
        if kind == "log":
            log = draft.add_array("f32", (draft.tiles, LONGEST), fill="zeros")
            return [f"{log}[t, {scope.variable}] = tl.sum({load})"]
        if kind == "atomic":
            return self.atomic(load, columns, scope)
        if kind == "part":
            half = rows // 2
            part = f"tl.load({buffer.name}[{half}:{rows}, :]){cast}"
            acc = draft.accumulator((rows - half, columns))
            return [f"{acc} = {self.clamp(f'{acc} * 2.0 + {part}', 512)}"]
        if kind == "bits":
            return self.bits(buffer)
        if kind == "asm":
            return self.assembly(load, rows, columns)
        if kind == "view" and not draft.buffers[buffer]:
            flat = f"tl.load(tl.view({buffer.name}, ({rows * columns},))){cast}"
            acc = draft.accumulator((rows * columns,))
            return [f"{acc} = {self.clamp(f'{acc} + {flat}', 512)}"]
        acc = draft.accumulator((rows, columns))
        update = f"{acc} = {self.clamp(f'{acc} * 2.0 + {load}', 512)}"
        if kind == "branch":
            return [f"if tl.sum({load}) > 0.0:", *indent([update])]
        return [update]

    def chain(self, load: str, shape: tuple[int, ...]) -> Lines:
        """Adds up what a chain of operations makes of a fragment."""
        lines, value, shape = self._values.chain(load, shape)
        acc = self._draft.accumulator(shape)
        return [*lines, f"{acc} = {self.clamp(f'{acc} + {value}', 512)}"]

    def bits(self, buffer: Shared) -> Lines:
        """Reads the bits of elements as elements of another width."""
        draft = self._draft
        rows, columns = buffer.shape
        bits = 8 * DTYPES[buffer.dtype].itemsize
        narrow = draft.choose(*(("i4", "u4", "e2m1") if bits == 8 else ("u8", "i8")))
        width = 4 if bits == 8 else 8
        acc = draft.accumulator((rows, columns * bits // width))
        load = f"tl.load({buffer.name}).bitcast(tl.{narrow}).to(tl.f32)"
        return [f"{acc} = {self.clamp(f'{acc} * 2.0 + {load}', 512)}"]

    def assembly(self, load: str, rows: int, columns: int) -> Lines:
        """Doubles elements by assembly, for all chips or for some."""
        draft = self._draft
        templates = [
            "'nvidia': ('add.f32 $0, $1, $1;', '=f,f')",
            "'amd': ('v_add_f32 $0, $1, $1', '=v,v')",
        ]
        chosen = templates[: draft.choose(1, 2, 2)]
        options = draft.choose("", ", pure=False")
        acc = draft.accumulator((rows, columns))
        doubled = (
            f"tl.asm({{{', '.join(chosen)}}}, {load}, tl.f32{options}, "
            "python=lambda v: v + v)"
        )
        return [f"{acc} = {self.clamp(f'{acc} + {doubled}', 512)}"]

    def store(self, buffer: Shared, scope: Scope) -> Lines:
        """A store in which each iteration writes other rows."""
        draft = self._draft
        rows, columns = buffer.shape
        shape = (rows * LONGEST, columns)
        result = draft.result_array(buffer.dtype, shape)
        place = f"{result}[t * {rows * LONGEST} + {scope.variable} * {rows}, 0]"
        if draft.chance(0.5):
            return [f"tl.copy({buffer.name}, {place})"]
        return [f"{place} = tl.load({buffer.name})"]

    def atomic(self, load: str, columns: int, scope: Scope) -> Lines:
        """Sums in global memory, of which the loop may read."""
        draft = self._draft
        total = draft.add_array("f32", (draft.tiles, columns), fill="zeros")
        lines = [f"tl.atomic_add(tl.sum({load}, axis=0)[None, :], {total}[t, 0])"]
        if draft.chance(0.4):
            acc = draft.accumulator((1, columns))
            value = f"tl.load({total}[t, 0], (1, {columns}))"
            lines.append(f"{acc} = {self.clamp(f'{acc} + {value}', 512)}")
        return lines

    def softmax(self, scope: Scope) -> list[Lines]:
        """Keys and values have channels of their own; sums are rescaled."""
        draft = self._draft
        if draft.dtype not in ("f16", "bf16"):
            return self.read(scope)
        draft.exact = False
        rows, keys, width = draft.rows, draft.depth, draft.columns
        queries = draft.shared((rows, width), draft.dtype)
        units = [] if queries in scope.ready else [self._producers.fill(queries, scope)]
        keys_buffer = draft.shared((keys, width), draft.dtype)
        values = draft.shared((keys, width), draft.dtype)
        best, total = draft.accumulator((rows,)), draft.accumulator((rows,))
        out = draft.accumulator((rows, width))
        zeros = f"tl.zeros(({rows}, {keys}), tl.f32)"
        return [
            *units,
            self._producers.fill(keys_buffer, scope),
            [
                f"scores = tl.gemm({queries.name}, {keys_buffer.name}, {zeros}, "
                "transpose_rhs=True)",
                f"new = tl.maximum({best}, tl.max(scores, axis=1))",
                "weights = tl.exp2(scores - new[:, None])",
                f"scale = tl.exp2({best} - new)",
                f"{total} = {total} * scale + tl.sum(weights, axis=1)",
                f"{best} = new",
                f"{out} = {out} * scale[:, None]",
                *self._producers.fill(values, scope),
                f"{out} = tl.gemm(weights.to(tl.{draft.dtype}), {values.name}, {out})",
            ],
        ]

    def recurrence(self, scope: Scope) -> list[Lines]:
        """A state in shared memory that each iteration reads and writes."""
        draft = self._draft
        ready = [b for b in scope.ready - draft.busy if len(b.shape) == 2]
        if not ready:
            return self.read(scope)
        state = draft.choose(*sorted(ready, key=lambda b: b.name))
        draft.busy.add(state)
        is_float = state.dtype == "f32"
        load = f"tl.load({state.name})" + ("" if is_float else ".to(tl.f32)")
        new = self.clamp(f"{load} * 2.0 - 1.0", 3)
        store = new if is_float else f"({new}).to(tl.{state.dtype})"
        return [self.use(state, scope), [f"tl.store({store}, {state.name})"]]

    def late(self, scope: Scope) -> list[Lines]:
        """A tile that is used before the next one is copied."""
        draft = self._draft
        ready = [b for b in scope.ready - draft.busy if len(b.shape) == 2]
        if not ready:
            return self.read(scope)
        buffer = draft.choose(*sorted(ready, key=lambda b: b.name))
        draft.busy.add(buffer)
        return [self.use(buffer, scope), self._producers.fill(buffer, scope)]

    def count(self, scope: Scope) -> list[Lines]:
        """A carried number, and a tile whose place depends on it."""
        name = self._draft.carried_number()
        return [*self.read(scope), [f"{name} = {name} + 1"]]

    def split_guard(self, scope: Scope) -> list[Lines]:
        """A copy and its use under the same condition, in guards of their own."""
        draft = self._draft
        condition = self._guards.guard(scope)
        before = set(scope.ready)
        buffer = draft.shared((draft.rows, draft.depth), draft.dtype)
        copy, use = self._producers.fill(buffer, scope), self.use(buffer, scope)
        scope.ready = before
        return [[f"if {condition}:", *indent(lines)] for lines in (copy, use)]

    def use_what_is_ready(self, scope: Scope) -> Lines:
        """Reads the last contents of a buffer after a loop."""
        ready = sorted(scope.ready, key=lambda b: b.name)
        return self.use(self._draft.choose(*ready), scope) if ready else []
