"""Control flow of random kernels: loops, guards, and what is in them."""

from __future__ import annotations

import dataclasses

from .names import LONGEST, Lines, Names, Scope, indent


class Control(Names):
    """Loops and guards, around transactions."""

    def loop(self, scope: Scope) -> Lines:
        """A loop, most of the time to be pipelined."""
        self.loops += 1
        self.counters += 1
        counter = f"k{self.counters}"
        trips = self.choose(0, 1, 2, 3, 3, 4, 5, 7)
        if self.loops == 1 and self.chance(0.1):
            trips = self.choose(13, 16, 30)
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
        step = self.choose(1, 1, 1, 1, 2, 3) if trips < 10 else 1
        first = self.choose(0, 0, 0, 1, 3)
        last = first + trips * step - self.random.randrange(step)
        if trips == 0:
            last = self.choose(first, max(0, first - 2))
        start = str(first)
        kind = self.choose(
            "plain", "plain", "plain", "i64", "i64", "table", "table", "causal",
            "causal", "rows", "tile",
        )  # fmt: skip
        if kind == "i64":
            stop = self.add_number(last, "i64")
        elif kind == "table":
            # Each tile has its own number of turns.
            table = self.add_array("i32", (self.tiles,), fill=f"below {last + 1}")
            stop = f"tl.load({table}[t])"
        elif kind == "rows":
            # As in a compressed matrix.
            starts = self.add_array("i32", (self.tiles,), fill="below 4")
            ends = self.add_array("i32", (self.tiles,), fill=f"below {last + 1}")
            start, stop = f"tl.load({starts}[t])", f"tl.load({ends}[t])"
        elif kind == "tile":
            start, stop = "t", self.maybe_dynamic(last)
        elif kind == "causal":
            stop = f"tl.minimum({self.add_number(last)}, (t + 1) * 2)"
        else:
            stop = self.maybe_dynamic(last)
        always = kind in ("plain", "i64") or (kind == "causal" and first < 2)
        runs = trips > 0 and always
        return f"{start}, {stop}" + ("" if step == 1 else f", {step}"), runs

    def guard(self, scope: Scope) -> str:
        """A condition that is the same for all threads."""
        counter = scope.counter
        mask = ("random", "random", "ones", "zeros")

        def element() -> str:
            fill = self.choose(*mask)
            table = self.add_array("i1", (self.tiles, LONGEST), fill=fill)
            return f"tl.load({table}[t, {counter}])"

        def flat() -> str:
            fill = self.choose(*mask)
            table = self.add_array("i1", (self.tiles * LONGEST,), fill=fill)
            if self.chance(0.3):
                return f"tl.load({table}[{counter} * {self.tiles} + t])"
            return f"tl.load({table}[t * {self.maybe_dynamic(LONGEST)} + {counter}])"

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
                f"{counter} != {self.choose(0, 2, 14)}",
                f"{counter} {self.choose('==', '<=')} t",
            )

        condition = self.choose(
            element, element, flat, flag, flag, reduction, state, count
        )()
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
