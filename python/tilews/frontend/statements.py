"""Statements: builds the body of a function, statement by statement.

Control flow whose condition is a Python value is decided while the kernel is built:
``if`` takes one branch, and ``for`` over a Python iterable is unrolled. Control flow
that depends on a value of the running kernel becomes regions, which
:mod:`.conditionals`, :mod:`.loops` and :mod:`.role_regions` build.

A ``return`` under a run-time condition has no counterpart in structured control flow.
Both branches of such an ``if`` therefore build all statements up to the end of the
function, and the two return values are merged::

    if n > 0:              if n > 0:
        return a     ->        return a
    b = a + 1              else:
    return b                   b = a + 1
                               return b
"""

from __future__ import annotations

import ast
from typing import Any

from .. import ir
from ..dialects import gpu
from ..errors import LanguageError
from ..language.arithmetic import as_condition, is_number
from ..language.builder import Builder
from ..language.control import debugging
from ..language.control.ranges import Persistent, Range
from ..language.memory import atomics
from ..language.symbolic import grid_map
from ..language.types import DType
from ..language.unloaded import InMemory
from ..language.values import Value, describe
from .assignment import assign
from .calls import CallResolver
from .conditionals import RegionMerger, Result
from .expressions import ExpressionEvaluator
from .frame import CallFrame, LoopExit
from .loops import LoopBuilder
from .merging import Undefined
from .pipelines import StatementNotes, apply
from .role_regions import RoleBuilder
from .source import SourceFunction, contains_return

_HINTS = {
    "Try": "raise and catch outside of the kernel",
    "Import": "import outside of the kernel",
    "ImportFrom": "import outside of the kernel",
    "Global": "pass the value as an argument",
    "Nonlocal": "return the value",
    "ClassDef": "define the class outside of the kernel",
    "AsyncFunctionDef": "kernels are not asynchronous",
    "AsyncFor": "kernels are not asynchronous",
    "AsyncWith": "kernels are not asynchronous",
    "Match": "use if and elif",
}


class Break(LoopExit):
    """Leaves an unrolled loop."""


class Continue(LoopExit):
    """Goes on with the next iteration of an unrolled loop."""


class FunctionBuilder(ast.NodeVisitor):
    """Builds the operations of one function, in one frame.

    The parts of the work are done by objects that share the frame: an evaluator of
    expressions, a resolver of calls, and builders of conditionals, loops and roles.
    A call to an inlined function makes another builder with a frame of its own.
    """

    def __init__(self, frame: CallFrame) -> None:
        self._frame = frame
        self._notes = StatementNotes(frame)
        self._regions = RegionMerger(frame)
        calls = CallResolver(frame, _build_call)
        self._expressions = ExpressionEvaluator(frame, calls, self._regions)
        self._eval = self._expressions.eval
        self._loops = LoopBuilder(
            frame,
            self._notes,
            evaluate=self._eval,
            assign=self._assign,
            build_body=self._build_body,
        )
        self._roles = RoleBuilder(
            frame, evaluate=self._eval, build_body=self._build_body
        )

    def run(self, arguments: dict[str, Any]) -> Result:
        """Builds the function's body.

        Args:
            arguments: values of the parameters by name.

        Returns:
            The value that the function returns in a tuple, None if it returns nothing.
        """
        self._frame.env = dict(arguments)
        return self._run_block(self._frame.function.body, [])

    def _run_block(self, statements: list[ast.stmt], rest: list[ast.stmt]) -> Result:
        """Builds statements.

        Args:
            statements: what to build.
            rest: the statements that follow up to the end of the function.

        Returns:
            The value that the function returns in a tuple, None if it goes on.
        """
        for place, statement in enumerate(statements):
            following = [*statements[place + 1 :], *rest]
            with self._frame.at(statement), self._notes.noting(statement):
                result = self._run_statement(statement, following)
            if result is not None:
                return result
        return None

    def _run_statement(self, node: ast.stmt, following: list[ast.stmt]) -> Result:
        if isinstance(node, ast.If):
            return self._run_if(node, following)
        if isinstance(node, ast.Return):
            return (None if node.value is None else self._eval(node.value),)
        self.visit(node)
        return None

    def _build_body(self, statements: list[ast.stmt]) -> None:
        """Builds the body of a loop or role, which does not return."""
        self._run_block(statements, [])

    def generic_visit(self, node: ast.AST) -> None:
        """Refuses the statements that have no method here."""
        kind = type(node).__name__
        raise LanguageError(f"kernels do not support '{kind}'", _HINTS.get(kind))

    # ===--- Simple statements ---=== #

    def visit_Pass(self, node: ast.Pass) -> None:
        pass

    def visit_Expr(self, node: ast.Expr) -> None:
        value, call = self._eval(node.value), node.value
        if not isinstance(call, ast.Call):
            return
        if isinstance(call.func, ast.Name | ast.Attribute):
            if getattr(self._eval(call.func), "__module__", "") == atomics.__name__:
                atomics.drop_result(value)

    def visit_Assign(self, node: ast.Assign) -> None:
        value = self._eval(node.value)
        for target in node.targets:
            self._assign(target, value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """An annotated assignment converts its value: ``x: tl.i32 = 0``."""
        if node.value is None:
            return
        value, annotation = self._eval(node.value), self._eval(node.annotation)
        if isinstance(annotation, DType) and (
            isinstance(value, Value) or is_number(value)
        ):
            value = annotation(value)
        self._assign(node.target, value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if not isinstance(node.target, ast.Name):
            raise LanguageError(
                "only a name can be updated in place",
                "load, compute and store: C[i, j] = tl.load(C[i, j]) + x",
            )
        load = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        value = ast.copy_location(ast.BinOp(load, node.op, node.value), node)
        self._assign(node.target, self._eval(value))

    def _assign(self, target: ast.expr, value: Any) -> None:
        assign(self._frame, target, value, self._eval)

    def visit_Delete(self, node: ast.Delete) -> None:
        reason = f"is deleted in line {self._frame.line(node)}"
        for target in node.targets:
            if not isinstance(target, ast.Name):
                raise LanguageError("only a name can be deleted")
            self._frame.env[target.id] = Undefined(reason)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.decorator_list:
            raise LanguageError("functions inside a kernel have no decorators")
        self._frame.env[node.name] = self._expressions.define(node)

    def visit_Assert(self, node: ast.Assert) -> None:
        """A Python condition is checked now, others when the kernel runs."""
        condition = self._eval(node.test)
        message = self._eval(node.msg) if node.msg else ast.unparse(node.test)
        if isinstance(condition, Value):
            debugging.device_assert(condition, str(message))
        elif not condition:
            raise LanguageError(f"assertion failed: {message}")

    def visit_Raise(self, node: ast.Raise) -> None:
        if self._frame.builder.regions:
            raise LanguageError(
                "a running kernel cannot raise", "write tl.device_assert(condition)"
            )
        error = self._eval(node.exc) if node.exc else "raised"
        raise LanguageError(str(error))

    def visit_Break(self, node: ast.Break) -> None:
        self._check_unrolled("break")
        raise Break

    def visit_Continue(self, node: ast.Continue) -> None:
        self._check_unrolled("continue")
        raise Continue

    def _check_unrolled(self, what: str) -> None:
        if self._frame.unrolled_regions != self._frame.builder.regions:
            raise LanguageError(
                f"'{what}' works only in loops that are unrolled, under conditions "
                "known when the kernel is built",
                "use a while loop with a condition, or an if around the rest of the "
                "body",
            )

    # ===--- Control flow ---=== #

    def _run_if(self, node: ast.If, following: list[ast.stmt]) -> Result:
        condition = self._eval(node.test)
        if not isinstance(condition, Value):
            body = node.body if condition else node.orelse
            return self._run_block(body, following)
        with self._frame.at(node.test):
            condition = as_condition(condition, "the condition")
        returns = contains_return([node])
        rest = following if returns else []
        return self._regions.branch(
            node,
            condition,
            lambda: self._run_block([*node.body, *rest], []),
            lambda: self._run_block([*node.orelse, *rest], []),
            returns=returns,
        )

    def visit_For(self, node: ast.For) -> None:
        _check_loop(node)
        iterable = self._eval(node.iter)
        if isinstance(iterable, Range):
            with self._frame.unrolling(None):
                self._loops.build_range(node, iterable)
        elif isinstance(iterable, Persistent):
            with self._frame.unrolling(None):
                self._loops.build_persistent(node, iterable)
        elif isinstance(iterable, (Value, InMemory)):
            raise LanguageError(
                f"cannot iterate over {describe(iterable)}", "loop over tl.range(n)"
            )
        else:
            self._unroll(node, iterable)

    def _unroll(self, node: ast.For, iterable: Any) -> None:
        """Builds the body once for each item of a Python iterable."""
        with self._frame.unrolling(self._frame.builder.regions):
            try:
                for item in iterable:
                    self._assign(node.target, item)
                    try:
                        self._build_body(node.body)
                    except Continue:
                        continue
            except Break:
                pass

    def visit_While(self, node: ast.While) -> None:
        _check_loop(node)
        with self._frame.unrolling(None):
            self._loops.build_while(node)

    def visit_With(self, node: ast.With) -> None:
        self._roles.build(node)


def _check_loop(node: ast.For | ast.While) -> None:
    if node.orelse:
        raise LanguageError("kernels do not support 'else' of a loop")
    if contains_return(node.body):
        raise LanguageError(
            "a function cannot return from inside a loop",
            "keep the value in a variable and return after the loop",
        )


def _build_call(frame: CallFrame, arguments: dict[str, Any]) -> Any:
    """Builds the body of an inlined function in its frame; the value it returns."""
    result = FunctionBuilder(frame).run(arguments)
    return None if result is None else result[0]


def build_body(
    builder: Builder, function: SourceFunction, arguments: dict[str, Any]
) -> None:
    """Builds the body of a kernel in its entry block.

    Args:
        builder: the kernel, whose block is empty.
        function: its source.
        arguments: the values of its parameters.

    Raises:
        KernelError: with the place in the source.
    """
    with builder, ir.InsertionPoint(builder.entry):
        frame = CallFrame(builder, function)
        value = _build_call(frame, arguments)
        if value is not None:
            raise frame.error(
                function.body[-1],
                "a kernel returns nothing",
                "store the result: tl.store(value, C[i, j])",
            )
        gpu.ReturnOp([])
        apply(builder.kernel, builder.schedules)
        if "tile.grid" not in builder.kernel.attributes and not builder.reads_grid:
            grid = ir.AffineMapAttr.get(grid_map(builder, [1]))
            builder.kernel.attributes["tile.grid"] = grid
