"""Control flow of random kernels: loops, guards, and their bodies."""

from __future__ import annotations

import dataclasses

from .draft import Draft, Lines, Scope, indent
from .random_guards import GuardMaker
from .transactions import Transactions


class ControlFlow:
    """Generates loops and guards around transactions."""

    def __init__(
        self, draft: Draft, guards: GuardMaker, transactions: Transactions
    ) -> None:
        self._draft = draft
        self._guards = guards
        self._transactions = transactions

    def loop(self, scope: Scope) -> Lines:
        """A loop, usually one to be pipelined."""
        draft = self._draft
        draft.loops += 1
        draft.variables += 1
        variable = f"k{draft.variables}"
        trips = draft.scaled((0, 1, 2, 3, 3, 4, 5), (0, 1, 2, 3, 4, 5, 7))
        if draft.loops == 1 and draft.chance(0.07):
            trips = draft.choose(13, 16, 30)
        bounds, runs = self.bounds(trips)
        stages = draft.choose("", 1, 2, 2, 3, 3, 4, 5)
        options = f", num_stages={stages}" if stages else ""
        inner = scope.inside(variable)
        body = self.block(inner)
        if runs:
            scope.ready |= inner.ready
        kind = "tl.pipelined" if stages and draft.chance(0.1) else "tl.range"
        lines = [f"for {variable} in {kind}({bounds}{options}):", *indent(body)]
        if scope.depth == 0 and draft.chance(0.1):
            return self.around(lines, scope)
        return lines

    def split(self, is_persistent: bool) -> Lines:
        """A matmul of which several blocks compute a part each, and nothing else."""
        draft = self._draft
        trips = draft.choose(1, 2, 3, 5, 8)
        stages = draft.choose("", ", num_stages=2", ", num_stages=3")
        parts = "stream_k=True" if is_persistent else f"split_k={draft.choose(2, 3, 4)}"
        bounds = f"{self._guards.maybe_dynamic(trips)}{stages}, {parts}"
        rows, columns, depth = draft.rows, draft.columns, draft.depth
        lhs = draft.shared((rows, depth), draft.dtype)
        rhs = draft.shared((depth, columns), draft.dtype)
        left = draft.source_array(draft.dtype, depth)
        right = draft.source_array(draft.dtype, columns)
        dtype = "i32" if draft.dtype == "i8" else "f32"
        result = draft.result_array(dtype, (rows, columns))
        return [
            f"total = tl.zeros(({rows}, {columns}), tl.{dtype})",
            f"for k in tl.range({bounds}):",
            *indent(
                [
                    f"tl.copy({left}[t * {rows}, k * {depth}], {lhs.name})",
                    f"tl.copy({right}[k * {depth}, t * {columns}], {rhs.name})",
                    f"total = tl.gemm({lhs.name}, {rhs.name}, total)",
                ]
            ),
            f"tl.atomic_add(total, {result}[t * {rows}, 0])",
        ]

    def around(self, lines: Lines, scope: Scope) -> Lines:
        """A while loop around a loop."""
        draft = self._draft
        draft.variables += 1
        name = f"round{draft.variables}"
        limit = draft.choose(0, 1, 2, 3)
        condition = f"{name} < {self._guards.maybe_dynamic(limit)}"
        matrices = [n for n in draft.state if n.startswith("acc") and "x" in n]
        if matrices and draft.chance(0.5):
            total = f"tl.max({draft.choose(*matrices)}.to(tl.f32))"
            condition = f"{condition} and {total} < 30.0"
        # It may not run at all.
        scope.ready.clear()
        body = [*lines, f"{name} = {name} + 1"]
        return [f"{name} = 0", f"while {condition}:", *indent(body)]

    def bounds(self, trips: int) -> tuple[str, bool]:
        """Bounds of a loop of `trips` iterations, and whether it runs at least once."""
        draft = self._draft
        step = draft.choose(1, 1, 1, 1, 2, 3) if trips < 10 else 1
        first = draft.choose(0, 0, 0, 1, 3)
        last = first + trips * step - draft.random.randrange(step)
        if trips == 0:
            last = draft.choose(first, max(0, first - 2))
        start = str(first)
        kind = draft.choose(
            "plain", "plain", "plain", "i64", "i64", "table", "table", "causal",
            "causal", "rows", "tile",
        )  # fmt: skip
        if kind == "i64":
            stop = draft.add_number(last, "i64")
        elif kind == "table":
            # Each tile has its own number of iterations.
            table = draft.add_array("i32", (draft.tiles,), fill=f"below {last + 1}")
            stop = f"tl.load({table}[t])"
        elif kind == "rows":
            # As in a compressed matrix.
            starts = draft.add_array("i32", (draft.tiles,), fill="below 4")
            ends = draft.add_array("i32", (draft.tiles,), fill=f"below {last + 1}")
            start, stop = f"tl.load({starts}[t])", f"tl.load({ends}[t])"
        elif kind == "tile":
            start, stop = "t", self._guards.maybe_dynamic(last)
        elif kind == "causal":
            stop = f"tl.minimum({draft.add_number(last)}, (t + 1) * 2)"
        else:
            stop = self._guards.maybe_dynamic(last)
        always = kind in ("plain", "i64") or (kind == "causal" and first < 2)
        runs = trips > 0 and always
        return f"{start}, {stop}" + ("" if step == 1 else f", {step}"), runs

    def block(self, scope: Scope) -> Lines:
        """Statements of a loop or guard: some transactions, interleaved."""
        draft = self._draft
        busy = set(draft.busy)
        count = draft.scaled((1, 1, 1, 2, 2), (1, 1, 2, 2, 3))
        if draft.chance(0.5):
            units = [unit for _ in range(count) for unit in self.part(scope)]
            draft.busy = busy
            return [line for unit in units for line in unit]
        # A buffer that one part fills may not be filled when another part starts.
        scopes = [
            dataclasses.replace(scope, ready=set(scope.ready)) for _ in range(count)
        ]
        parts = [self.part(one) for one in scopes]
        draft.busy = busy
        scope.ready.update(*(one.ready for one in scopes))
        lines: Lines = []
        while any(parts):
            part = draft.choose(*[part for part in parts if part])
            lines += part.pop(0)
        return lines

    def part(self, scope: Scope) -> list[Lines]:
        """A transaction: statements that have to stay in order."""
        draft = self._draft
        deep = scope.depth >= 3
        # Nested guards multiply the states of a proof.
        often = 0.25 if draft.is_large or scope.depth < 2 else 0.1
        if not deep and draft.chance(often):
            return [self.guarded(scope)]
        most = 4 if draft.is_large else 3
        if not deep and draft.loops < most and draft.chance(0.12):
            return [self.loop(scope)]
        if not deep and draft.chance(0.03):
            return [self.unrolled(scope)]
        kinds = [
            *[self._transactions.matmul] * 5,
            *[self._transactions.read] * 4,
            self._transactions.batched,
            self._transactions.sparse_matmul,
            self._transactions.small_matmul,
            self._transactions.nibbles,
            self._transactions.softmax,
            self._transactions.recurrence,
            self._transactions.late,
            self._transactions.count,
            self._transactions.split_guard,
        ]
        return draft.choose(*kinds)(scope)

    def unrolled(self, scope: Scope) -> Lines:
        """A loop that is unrolled when the kernel is built."""
        draft = self._draft
        draft.variables += 1
        inner = scope.inside()
        body = self.block(inner)
        scope.ready |= inner.ready
        return [f"for s{draft.variables} in tl.static_range(2):", *indent(body)]

    def guarded(self, scope: Scope) -> Lines:
        """A part of the body, or all of it, under a condition."""
        condition = self._guards.guard(scope)
        before = set(scope.ready)
        inner = Scope(scope.variable, scope.depth + 1, set(before))
        lines = [f"if {condition}:", *indent(self.block(inner))]
        if self._draft.chance(0.2):
            other = Scope(scope.variable, scope.depth + 1, set(before))
            lines += ["else:", *indent(self.block(other))]
            scope.ready = inner.ready & other.ready
        return lines
