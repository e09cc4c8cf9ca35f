"""Run-time conditionals and loops: scf operations with carried values inferred."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from typing import Any

from .. import ir
from ..dialects import scf, tile
from ..errors import LanguageError
from ..language.arithmetic import as_condition, as_index
from ..language.control import Persistent, Range, rasterize_attribute
from ..language.types import index
from ..language.values import BufferRegion, Scalar, Value, wrap
from .calls import Calls
from .merging import (
    Carried,
    Undefined,
    flatten,
    merge_leaves,
    same_structure,
    unflatten,
)
from .pipelines import Noting, Schedule, mark
from .source import assigned_names

#: What a path through a function gives: a value if it returned.
Result = tuple[Any] | None


class Regions(Noting, Calls):
    """Builds the regions of run-time control flow."""

    # ===--- Conditionals ---=== #

    def choose(
        self,
        node: ast.AST,
        condition: Scalar,
        if_true: Callable[[], Any],
        if_false: Callable[[], Any],
        what: str,
    ) -> Any:
        """The value of one of two computations, chosen when the kernel runs."""
        conditional = scf.IfOp(condition.ir, has_else=True)
        before, values = self.env, []
        for block, compute in zip(
            (conditional.then_block, conditional.else_block),
            (if_true, if_false),
            strict=True,
        ):
            with self.builder.region(block):
                values.append(compute())
        self.env = before
        (result,) = self._join(node, conditional, [(what, *values)])
        if isinstance(result, Undefined):
            raise LanguageError(f"{what} {result.reason}")
        return result

    def branch(
        self,
        node: ast.AST,
        condition: Scalar,
        then: list[ast.stmt],
        orelse: list[ast.stmt],
        rest: list[ast.stmt] | None,
    ) -> Result:
        """A run-time ``if``.

        `rest` is what follows it up to the end of the function, if one of its
        branches returns: then both run it.
        """
        conditional = scf.IfOp(condition.ir, has_else=True)
        before, ends, results = self.env, [], []
        for block, statements in zip(
            (conditional.then_block, conditional.else_block),
            (then, orelse),
            strict=True,
        ):
            self.env = dict(before)
            with self.builder.region(block):
                results.append(self.run_block([*statements, *(rest or [])], []))
            ends.append(self.env)
        self.env = dict(before)
        if rest is not None:
            values = [None if result is None else result[0] for result in results]
            (value,) = self._join(node, conditional, [("the return value", *values)])
            return (value,)
        names = dict.fromkeys([*ends[0], *ends[1]])
        meeting = []
        for name in names:
            missing = Undefined(
                f"is assigned in only one branch of the conditional of line "
                f"{self.line(node)}; give it a value before"
            )
            values = [end.get(name, missing) for end in ends]
            if values[0] is not values[1] or values[0] is not before.get(name):
                meeting.append((name, *values))
        merged = self._join(
            node, conditional, [(f"'{name}'", *values) for name, *values in meeting]
        )
        for (name, *_), value in zip(meeting, merged, strict=True):
            self.env[name] = value
        return None

    def _join(
        self, node: ast.AST, conditional: scf.IfOp, pairs: list[tuple[str, Any, Any]]
    ) -> list[Any]:
        """Ends both branches of a conditional and returns what they agree on.

        Each pair is a description and the values of the two branches.
        """
        line = self.line(node)
        merged: list[Any] = []
        yields: tuple[list[Value], list[Value]] = ([], [])
        with ir.InsertionPoint(conditional):
            for what, lhs, rhs in pairs:
                merged.append(self._join_one(what, lhs, rhs, line, yields))
        blocks = conditional.then_block, conditional.else_block
        for block, values in zip(blocks, yields, strict=True):
            with ir.InsertionPoint(block):
                scf.YieldOp([value.ir for value in values])
        if not yields[0]:
            return [value for value, _ in merged]
        # The types of the results are known only now.
        types = [value.ir.type for value in yields[0]]
        joined = ir.Operation.create(
            "scf.if",
            results=types,
            operands=[conditional.operands[0]],
            regions=2,
            ip=ir.InsertionPoint(conditional),
        )
        for block, region in zip(blocks, joined.regions, strict=True):
            block.append_to(region)
        conditional.operation.erase()
        leaves = [wrap(result) for result in joined.results]
        return [
            unflatten(value, leaves) if staged else value for value, staged in merged
        ]

    def _join_one(
        self,
        what: str,
        lhs: Any,
        rhs: Any,
        line: int,
        yields: tuple[list[Value], list[Value]],
    ) -> tuple[Any, bool]:
        """One value of two branches, and whether it is made of yielded leaves."""
        if lhs is rhs:
            return lhs, False
        for value in (lhs, rhs):
            if isinstance(value, Undefined):
                return value, False
        lhs_leaves, rhs_leaves = flatten(lhs), flatten(rhs)
        if lhs_leaves is None or rhs_leaves is None or not same_structure(lhs, rhs):
            reason = (
                f"has different Python values in the branches of line {line}; only "
                "scalars and fragments can depend on a run-time condition"
            )
            return (lhs, False) if _equal(lhs, rhs) else (Undefined(reason), False)
        numbers = [x for x in (*lhs_leaves, *rhs_leaves) if not isinstance(x, Value)]
        if len(numbers) == 2 * len(lhs_leaves) and _equal(lhs, rhs):
            return lhs, False
        for pair in zip(lhs_leaves, rhs_leaves, strict=True):
            for side, value in zip(
                yields, merge_leaves(what, *pair, line), strict=True
            ):
                side.append(value)
        return lhs, True

    # ===--- Loops ---=== #

    def _carried(self, node: ast.For | ast.While, targets: list[str]) -> Carried:
        names = [name for name in assigned_names(node.body) if name not in targets]
        return Carried(names, self.env)

    def _run_body(
        self, node: ast.For | ast.While, carried: Carried, bound: dict[str, Any]
    ) -> list[Value] | None:
        """Interprets a loop's body; gives the values to carry on."""
        before = self.env
        self.env = {**before, **bound}
        try:
            self.run_block(node.body, [])
            return carried.finish(self.env, self.line(node))
        finally:
            self.after_body = self.env
            self.env = before

    def _leave(
        self, node: ast.For | ast.While, carried: Carried, results: list[Any]
    ) -> None:
        """Gives names the values they have after a loop."""
        reason = (
            f"is assigned only in the loop of line {self.line(node)}, which may not "
            "run at all; give it a value before"
        )
        self.env = dict(self.env)
        for name in self.after_body:
            if name not in self.env:
                self.env[name] = Undefined(reason)
        if isinstance(node, ast.For):
            for name in assigned_names([ast.Expr(node.target)]):
                self.env[name] = Undefined(reason)
        self.env.update(carried.results(results))

    def loop(self, node: ast.For, bounds: Range) -> None:
        """A run-time ``for`` over a range."""
        operands = [
            as_index(bound, "a bound of the loop")
            for bound in (bounds.start, bounds.stop, bounds.step)
        ]
        carried = self._carried(node, assigned_names([ast.Expr(node.target)]))
        fail = functools.partial(self.error, node)
        yielded = None
        while yielded is None:
            if bounds.stage is not None:
                self.schedule = Schedule(bounds, fail)
            loop = scf.ForOp(*operands, [value.ir for value in carried.values])
            counter, *arguments = loop.body.arguments
            with self.builder.region(loop.body):
                bound = carried.bind(arguments)
                before, self.env = self.env, dict(self.env)
                self.assign(node.target, Scalar(counter, index))
                target, self.env = self.env, before
                yielded = self._run_body(node, carried, {**target, **bound})
                if yielded is not None:
                    scf.YieldOp([value.ir for value in yielded])
            if yielded is None:
                loop.operation.erase()
        if bounds.stage is not None:
            mark(loop, self.builder.schedules, self.schedule)
            self.schedule = None
        counts = {"num_stages": bounds.num_stages, "split_k": bounds.split_k}
        for name, count in counts.items():
            if count is not None:
                loop.attributes[f"tile.{name}"] = ir.IntegerAttr.get(
                    ir.IntegerType.get_signless(32), count
                )
        if bounds.stream_k:
            loop.attributes["tile.stream_k"] = ir.UnitAttr.get()
        self._leave(node, carried, list(loop.results))

    def persistent_loop(self, node: ast.For, tiles: Persistent) -> None:
        """A loop over the output tiles a block owns."""
        self.builder.knows_grid = True
        extents = [as_index(extent, "an extent") for extent in tiles.extents]
        carried = self._carried(node, assigned_names([ast.Expr(node.target)]))
        yielded = None
        while yielded is None:
            inits = [value.ir for value in carried.values]
            types = [value.type for value in inits]
            loop = tile.PersistentOp(
                types, extents, inits, rasterize=rasterize_attribute(tiles)
            )
            body = loop.body.blocks.append(*[index.to_ir()] * len(extents), *types)
            indices = [Scalar(x, index) for x in body.arguments[: len(extents)]]
            with self.builder.region(body):
                bound = carried.bind(list(body.arguments[len(extents) :]))
                before, self.env = self.env, dict(self.env)
                self.assign(
                    node.target, tuple(indices) if len(indices) > 1 else indices[0]
                )
                target, self.env = self.env, before
                yielded = self._run_body(node, carried, {**target, **bound})
                if yielded is not None:
                    tile.YieldOp([value.ir for value in yielded])
            if yielded is None:
                loop.operation.erase()
        if tiles.ping_pong:
            loop.attributes["tile.ping_pong"] = ir.UnitAttr.get()
        self._leave(node, carried, list(loop.results))

    def while_loop(self, node: ast.While) -> None:
        """A ``while`` whose condition depends on the running kernel."""
        carried = self._carried(node, [])
        yielded = None
        while yielded is None:
            inits = [value.ir for value in carried.values]
            types = [value.type for value in inits]
            loop = ir.Operation.create(
                "scf.while", results=types, operands=inits, regions=2
            )
            before, after = (region.blocks.append(*types) for region in loop.regions)
            if not self._run_condition(node, carried, before):
                loop.erase()
                return
            with self.builder.region(after):
                bound = carried.bind(list(after.arguments))
                yielded = self._run_body(node, carried, bound)
                if yielded is not None:
                    scf.YieldOp([value.ir for value in yielded])
            if yielded is None:
                loop.erase()
        self._leave(node, carried, list(loop.results))

    def _run_condition(
        self, node: ast.While, carried: Carried, block: ir.Block
    ) -> bool:
        """Builds the condition; False if the loop is known not to run."""
        outer = self.env
        with self.builder.region(block):
            self.env = {**outer, **carried.bind(list(block.arguments))}
            condition = self.eval(node.test)
            self.env = outer
            if not isinstance(condition, Value):
                if not condition:
                    return False
                raise self.error(
                    node.test,
                    "the condition of this loop is always true",
                    "let it depend on a name that the body assigns",
                )
            with self.at(node.test):
                condition = as_condition(condition, "the condition")
                scf.ConditionOp(condition.ir, list(block.arguments))
        return True


def _equal(lhs: Any, rhs: Any) -> bool:
    """Whether two Python values are the same."""
    if isinstance(lhs, BufferRegion) and isinstance(rhs, BufferRegion):
        lhs, rhs = vars(lhs), vars(rhs)
    try:
        return type(lhs) is type(rhs) and bool(lhs == rhs)
    except Exception:  # a comparison that is not Python's
        return False
