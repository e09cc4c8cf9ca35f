"""Stages and orders that :func:`tl.pipelined` gives to the statements of a loop.

While the body of such a loop is built, :class:`StatementNotes` marks each operation
with the number of its statement (``frontend.statement``). When the kernel is complete,
:func:`apply` groups the operations by statement and gives each its ``tile.stage`` and
``tile.order``. A statement of several operations spreads over as many places of the
order: with order ``[1, 0]`` and two operations in the first statement these get the
places 1 and 2.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import re
from collections.abc import Callable, Iterator

from .. import _tilews, ir
from ..dialects import scf
from .frame import CallFrame

_STATEMENT, _LOOP = "frontend.statement", "frontend.schedule"


@dataclasses.dataclass
class LoopSchedule:
    """The stages and orders that the source gives for one loop.

    Attributes:
        stage, order: one number a statement that needs them.
        fail: makes the error at the loop.
        lines: the line of each statement of the body.
        orders: the order in the source of each operation, by place in the pipeline.
        places: the location of each operation, and its place in the pipeline.
    """

    stage: tuple[int, ...]
    order: tuple[int, ...]
    fail: Callable[..., Exception]
    lines: list[int] = dataclasses.field(default_factory=list)
    orders: list[int] = dataclasses.field(default_factory=list)
    places: set[tuple[str, int]] = dataclasses.field(default_factory=set)

    def restart(self) -> None:
        """Forgets the statements, because the loop is built again."""
        self.lines.clear()

    @contextlib.contextmanager
    def note(self, line: int) -> Iterator[None]:
        """Marks the operations made inside with the number of their statement."""
        block = ir.InsertionPoint.current.block
        count = len(block.operations)
        yield
        for op in list(block.operations)[count:]:
            op.attributes[_STATEMENT] = _i32(len(self.lines))
        self.lines.append(line)


class StatementNotes:
    """Notes the statements of the innermost loop that is built in a frame."""

    def __init__(self, frame: CallFrame) -> None:
        self._frame = frame
        self._schedule: LoopSchedule | None = None

    @contextlib.contextmanager
    def recording(self, schedule: LoopSchedule | None) -> Iterator[None]:
        """Notes the statements built inside for a loop; for none if it is None."""
        before, self._schedule = self._schedule, schedule
        try:
            yield
        finally:
            self._schedule = before

    @contextlib.contextmanager
    def noting(self, statement: ast.stmt) -> Iterator[None]:
        """Notes the operations of a statement; those in an ``if`` one by one."""
        schedule = self._schedule
        if schedule is None or isinstance(statement, ast.If):
            yield
            return
        # The statements inside of this one belong to it.
        with self.recording(None), schedule.note(self._frame.line(statement)):
            yield


def _i32(number: int) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(32), number)


def mark(
    loop: scf.ForOp, schedules: list[LoopSchedule], schedule: LoopSchedule
) -> None:
    """Notes which loop a schedule is for; :func:`apply` reads it back."""
    loop.attributes[_LOOP] = _i32(len(schedules))
    schedules.append(schedule)


def apply(kernel: ir.OpView, schedules: list[LoopSchedule]) -> None:
    """Gives operations the stages and orders of their statements.

    Args:
        kernel: the complete ``gpu.func``.
        schedules: those of its loops.

    Raises:
        KernelError: a loop has more or fewer statements than stages or orders.
    """
    if not schedules:
        return
    marked: list[ir.Operation] = []

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


def _apply_to_loop(loop: ir.Operation, schedule: LoopSchedule) -> None:
    # Operations by statement, in program order.
    statements: dict[int, list[ir.Operation]] = {}
    for op in _tilews._operations_to_schedule(loop):
        statements.setdefault(_statement(op), []).append(op)
    count = len(statements)
    for name, given in (("stage", schedule.stage), ("order", schedule.order)):
        if len(given) != count:
            lines = ", ".join(str(schedule.lines[place]) for place in statements)
            raise schedule.fail(
                f"tl.pipelined: {name} has {len(given)} entries, but the body has "
                f"{count} statements to schedule, in lines {lines}",
                "give one for each statement that copies, stores or makes fragments",
            )
    if sorted(schedule.order) != list(range(count)):
        raise schedule.fail(
            f"tl.pipelined: order holds each of 0 to {count - 1} once, found "
            f"{list(schedule.order)}"
        )
    by_order = sorted(
        zip(schedule.order, schedule.stage, statements.values(), strict=True),
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
    message: str, location: ir.Location, schedules: list[LoopSchedule]
) -> str:
    """The message of an error at an operation, with orders as the source gives them.

    The compiler's messages name places of operations; the source gives the order of
    statements, which may have several operations.
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
    """The number of the statement that made an operation, or the first one in it."""
    numbers: list[int] = []

    def visit(inner: ir.Operation) -> ir.WalkResult:
        if _STATEMENT in inner.attributes:
            numbers.append(ir.IntegerAttr(inner.attributes[_STATEMENT]).value)
            return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    op.walk(visit, ir.WalkOrder.PRE_ORDER)
    return numbers[0]
