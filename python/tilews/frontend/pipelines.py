"""Stages and orders of pipelined loops, given statement by statement."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import re
from collections.abc import Callable, Iterator
from typing import Any

from .. import ir
from .._mlir_libs import _tilews
from ..dialects import scf
from ..language.control import Range

_STATEMENT, _LOOP = "tile.statement", "tile.schedule"


@dataclasses.dataclass
class Schedule:
    """What is asked for a loop.

    Attributes:
        bounds: stages and orders, one for each statement that needs them.
        lines: the line of each statement of the body.
        fail: makes the error at the loop.
        orders: the given order of each operation, in the order of the operations.
        places: the location and the order of each operation.
    """

    bounds: Range
    fail: Callable[..., Exception]
    lines: list[int] = dataclasses.field(default_factory=list)
    orders: list[int] = dataclasses.field(default_factory=list)
    places: set[tuple[str, int]] = dataclasses.field(default_factory=set)

    @contextlib.contextmanager
    def note(self, line: int) -> Iterator[None]:
        """Marks the operations that are made with the number of their statement."""
        block = ir.InsertionPoint.current.block
        count = len(block.operations)
        yield
        for op in list(block.operations)[count:]:
            op.attributes[_STATEMENT] = _i32(len(self.lines))
        self.lines.append(line)


def _i32(number: int) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(32), number)


def mark(loop: scf.ForOp, schedules: list[Schedule], schedule: Schedule) -> None:
    """Remembers which loop a schedule is for: it may be built again."""
    loop.attributes[_LOOP] = _i32(len(schedules))
    schedules.append(schedule)


def apply(kernel: ir.OpView, schedules: list[Schedule]) -> None:
    """Gives operations the stages and orders of their statements.

    Raises:
        KernelError: there are more or fewer of them than statements.
    """
    if not schedules:
        return
    marked = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if _LOOP in op.attributes:
            marked.append(op)
        return ir.WalkResult.ADVANCE

    kernel.operation.walk(visit)
    for loop in marked:
        _apply_to_loop(loop, schedules[_take(loop, _LOOP)])
    kernel.operation.walk(_clean)


def _clean(op: ir.Operation) -> ir.WalkResult:
    if _STATEMENT in op.attributes:
        del op.attributes[_STATEMENT]
    return ir.WalkResult.ADVANCE


def _take(op: ir.Operation, name: str) -> int:
    number = ir.IntegerAttr(op.attributes[name]).value
    del op.attributes[name]
    return number


def _apply_to_loop(loop: ir.Operation, schedule: Schedule) -> None:
    # Operations by statement, in program order.
    statements: dict[int, list[ir.Operation]] = {}
    for op in _tilews._operations_to_schedule(loop):
        statements.setdefault(_statement(op), []).append(op)
    bounds, count = schedule.bounds, len(statements)
    for name, given in (("stage", bounds.stage), ("order", bounds.order)):
        if len(given) != count:
            lines = ", ".join(str(schedule.lines[place]) for place in statements)
            raise schedule.fail(
                f"tl.pipelined: {name} has {len(given)} entries, but the body has "
                f"{count} statements to schedule, in lines {lines}",
                "give one for each statement that copies, stores or makes fragments",
            )
    if sorted(bounds.order) != list(range(count)):
        raise schedule.fail(
            f"tl.pipelined: order holds each of 0 to {count - 1} once, found "
            f"{list(bounds.order)}"
        )
    by_order = sorted(
        zip(bounds.order, bounds.stage, statements.values(), strict=True),
        key=lambda entry: entry[0],
    )
    for order, stage, operations in by_order:
        for op in operations:
            place = len(schedule.orders)
            op.attributes["tile.stage"] = _i32(stage)
            op.attributes["tile.order"] = _i32(place)
            schedule.orders.append(order)
            schedule.places.add((str(op.location), place))


_ORDER = re.compile(r"\border (\d+)")


def with_given_orders(
    message: str, location: ir.Location, schedules: list[Schedule]
) -> str:
    """What an error at an operation says, with the orders of statements.

    A statement of several operations has an order, each of these one of its own.
    """
    found = _ORDER.search(message)
    if not found:
        return message
    place = str(location), int(found[1])
    orders = next((s.orders for s in schedules if place in s.places), None)
    if orders is None:
        return message
    return _ORDER.sub(lambda order: f"order {orders[int(order[1])]}", message)


def _statement(op: ir.Operation) -> int:
    """The statement that made an operation, or the first one in it."""
    numbers: list[int] = []

    def visit(inner: ir.Operation) -> Any:
        if _STATEMENT in inner.attributes:
            numbers.append(ir.IntegerAttr(inner.attributes[_STATEMENT]).value)
            return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    op.walk(visit, ir.WalkOrder.PRE_ORDER)
    return numbers[0]


class Noting:
    """Mixed into interpreters: notes statements of loops with a schedule."""

    schedule: Schedule | None = None

    @contextlib.contextmanager
    def noting(self, statement: ast.stmt) -> Iterator[None]:
        """Notes the operations of a statement; those in an ``if`` one by one."""
        schedule = self.schedule
        if schedule is None or isinstance(statement, ast.If):
            yield
            return
        self.schedule = None
        try:
            with schedule.note(self.line(statement)):
                yield
        finally:
            self.schedule = schedule
