"""Run-time loops: ``scf.for``, ``scf.while`` and ``tile.persistent``.

A name that the body assigns and that has a value before the loop is a loop-carried
value: an iteration argument of the operation (:class:`~.merging.Carried`). Numbers
among them have no element type yet, so that the body is built optimistically with the
default type. If the body gives such a number another type, the operation is erased and
built again with that type, until the types are a fixpoint. For example
``x = 0``, ``x = x + a`` with a scalar ``a`` of i64 is built twice: with an ``index``
and with an ``i64`` argument. Each round fixes the type of at least one number, so there
are at most as many rounds as loop-carried numbers, plus one.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Sequence
from typing import Any

from .. import ir
from ..dialects import scf, tile
from ..language.arithmetic import as_condition, as_index
from ..language.control.grids import rasterize_attribute
from ..language.control.ranges import Persistent, Range
from ..language.types import index
from ..language.values import Scalar, Value
from .frame import CallFrame
from .merging import Carried, Undefined
from .pipelines import LoopSchedule, StatementNotes, mark
from .source import assigned_names

#: A loop operation and the values that its body yields, None to build it again.
_Attempt = tuple[Any, list[Value] | None]


class LoopBuilder:
    """Builds run-time loops in a frame.

    Args:
        frame: the frame that holds the loops.
        notes: notes which statement makes which operation, for loops whose stages
            are given by hand.
        evaluate: evaluates an expression.
        assign: gives a value to the target of a loop.
        build_body: builds the statements of a loop's body.
    """

    def __init__(
        self,
        frame: CallFrame,
        notes: StatementNotes,
        *,
        evaluate: Callable[[ast.expr], Any],
        assign: Callable[[ast.expr, Any], None],
        build_body: Callable[[list[ast.stmt]], None],
    ) -> None:
        self._frame = frame
        self._notes = notes
        self._evaluate = evaluate
        self._assign = assign
        self._build_body = build_body

    def build_range(self, node: ast.For, bounds: Range) -> None:
        """A ``for`` over :func:`tl.range` or :func:`tl.pipelined`."""
        operands = [
            as_index(bound, "a bound of the loop")
            for bound in (bounds.start, bounds.stop, bounds.step)
        ]

        schedule = None
        if bounds.stage is not None and bounds.order is not None:
            fail = functools.partial(self._frame.error, node)
            schedule = LoopSchedule(bounds.stage, bounds.order, fail)

        def attempt(carried: Carried) -> _Attempt:
            if schedule is not None:
                schedule.restart()
            loop = scf.ForOp(*operands, [value.ir for value in carried.values])
            induction, *arguments = loop.body.arguments
            with self._frame.builder.region(loop.body):
                target = Scalar(induction, index)
                yielded = self._build_iteration(node, carried, arguments, target)
                if yielded is not None:
                    scf.YieldOp([value.ir for value in yielded])
            return loop, yielded

        with self._notes.recording(schedule):
            loop = self._build(node, attempt)
        if schedule is not None:
            mark(loop, self._frame.builder.schedules, schedule)
        _set_range_attributes(loop, bounds)

    def build_persistent(self, node: ast.For, tiles: Persistent) -> None:
        """A ``for`` over :func:`tl.persistent`: the output tiles of a block."""
        builder = self._frame.builder
        builder.reads_grid = True
        extents = [as_index(extent, "an extent") for extent in tiles.extents]
        rank = len(extents)

        def attempt(carried: Carried) -> _Attempt:
            inits = [value.ir for value in carried.values]
            types = [value.type for value in inits]
            loop = tile.PersistentOp(
                types, extents, inits, rasterize=rasterize_attribute(tiles)
            )
            body = loop.body.blocks.append(*[index.to_ir()] * rank, *types)
            with builder.region(body):
                coords = [Scalar(x, index) for x in body.arguments[:rank]]
                target = tuple(coords) if rank > 1 else coords[0]
                arguments = list(body.arguments[rank:])
                yielded = self._build_iteration(node, carried, arguments, target)
                if yielded is not None:
                    tile.YieldOp([value.ir for value in yielded])
            return loop, yielded

        loop = self._build(node, attempt)
        if tiles.ping_pong:
            loop.attributes["tile.ping_pong"] = ir.UnitAttr.get()

    def build_while(self, node: ast.While) -> None:
        """A ``while`` whose condition depends on the running kernel."""

        def attempt(carried: Carried) -> _Attempt:
            inits = [value.ir for value in carried.values]
            types = [value.type for value in inits]
            loop = ir.Operation.create(
                "scf.while", results=types, operands=inits, regions=2
            )
            before, after = (region.blocks.append(*types) for region in loop.regions)
            if not self._build_condition(node, carried, before):
                self._frame.builder.erase(loop)
                return None, []
            with self._frame.builder.region(after):
                bound = carried.bind(list(after.arguments))
                yielded = self._build_carrying(node, carried, bound)
                if yielded is not None:
                    scf.YieldOp([value.ir for value in yielded])
            return loop, yielded

        self._build(node, attempt)

    def _build_condition(
        self, node: ast.While, carried: Carried, block: ir.Block
    ) -> bool:
        """Builds the condition of a ``while``; False if the loop never runs."""
        frame = self._frame
        bound = carried.bind(list(block.arguments))
        with frame.builder.region(block):
            with frame.scope({**frame.env, **bound}):
                condition = self._evaluate(node.test)
            if not isinstance(condition, Value):
                if not condition:
                    return False
                raise frame.error(
                    node.test,
                    "the condition of this loop is always true",
                    "let it depend on a name that the body assigns",
                )
            with frame.at(node.test):
                condition = as_condition(condition, "the condition")
                scf.ConditionOp(condition.ir, list(block.arguments))
        return True

    # ===--- Loop-carried values ---=== #

    def _build(
        self,
        node: ast.For | ast.While,
        attempt: Callable[[Carried], _Attempt],
    ) -> Any:
        """Builds a loop until the types of its loop-carried numbers are a fixpoint.

        Args:
            node: the loop.
            attempt: builds the operation with certain loop-carried values.

        Returns:
            The loop's operation, None for a ``while`` that never runs.
        """
        frame = self._frame
        targets = _target_names(node)
        names = [name for name in assigned_names(node.body) if name not in targets]
        carried = Carried(names, frame.env)
        loop, yielded = None, None
        while yielded is None:
            loop, yielded = attempt(carried)
            if yielded is None:
                frame.builder.erase(loop.operation)
        if loop is not None:
            self._leave(node, targets, carried, list(loop.results))
        return loop

    def _build_iteration(
        self,
        node: ast.For,
        carried: Carried,
        arguments: Sequence[ir.Value],
        target: Scalar | tuple[Scalar, ...],
    ) -> list[Value] | None:
        """Builds the body of a ``for``; see :meth:`_build_carrying`."""
        frame = self._frame
        bound = carried.bind(list(arguments))
        with frame.scope(dict(frame.env)):
            self._assign(node.target, target)
            assigned = frame.env
        return self._build_carrying(node, carried, {**assigned, **bound})

    def _build_carrying(
        self, node: ast.For | ast.While, carried: Carried, bound: dict[str, Any]
    ) -> list[Value] | None:
        """Builds a loop's body with some names bound to block arguments.

        Returns:
            The loop-carried values for the next iteration, None if one of them has
            got another type.
        """
        frame = self._frame
        with frame.scope({**frame.env, **bound}):
            self._build_body(node.body)
            return carried.finish(frame.env, frame.line(node))

    def _leave(
        self,
        node: ast.For | ast.While,
        targets: list[str],
        carried: Carried,
        results: list[ir.Value],
    ) -> None:
        """Gives names the values they have after a loop.

        Loop-carried names get the loop's results. All others that the body assigns
        are undefined, because the loop may run no iteration.
        """
        frame = self._frame
        reason = (
            f"is assigned only in the loop of line {frame.line(node)}, which may not "
            "run at all; give it a value before"
        )
        frame.env = dict(frame.env)
        for name in carried.final_names:
            if name not in frame.env:
                frame.env[name] = Undefined(reason)
        for name in targets:
            frame.env[name] = Undefined(reason)
        frame.env.update(carried.results(results))


def _target_names(node: ast.For | ast.While) -> list[str]:
    """The names that a loop assigns at the start of each iteration."""
    if isinstance(node, ast.While):
        return []
    return assigned_names([ast.Expr(node.target)])


def _set_range_attributes(loop: scf.ForOp, bounds: Range) -> None:
    """Sets the attributes that the options of :func:`tl.range` stand for."""
    counts = {"num_stages": bounds.num_stages, "split_k": bounds.split_k}
    for name, count in counts.items():
        if count is not None:
            loop.attributes[f"tile.{name}"] = ir.IntegerAttr.get(
                ir.IntegerType.get_signless(32), count
            )
    if bounds.stream_k:
        loop.attributes["tile.stream_k"] = ir.UnitAttr.get()
