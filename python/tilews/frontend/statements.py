"""Statements, and the interpretation of a whole function."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from .. import ir
from ..dialects import gpu
from ..errors import LanguageError
from ..language import control
from ..language.arithmetic import as_condition, is_number
from ..language.builder import Builder
from ..language.control import Persistent, Range
from ..language.symbolic import grid_map
from ..language.types import DType
from ..language.unloaded import InMemory
from ..language.values import Buffer, Tile, Value, describe
from .expressions import Control
from .merging import Undefined
from .pipelines import apply
from .regions import Result
from .roles import Roles
from .source import Function, assigned_names, contains_return

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


class Break(Control):
    """Leaves a loop that is unrolled."""


class Continue(Control):
    """Goes on with the next iteration of a loop that is unrolled."""


class Interpreter(Roles):
    """Interprets a function: one object for each call."""

    def __init__(
        self,
        builder: Builder,
        function: Function,
        callers: list[ir.Location] | None = None,
        caller_texts: tuple[str, ...] = (),
    ) -> None:
        self.builder = builder
        self.function = function
        self.callers = callers or []
        self.caller_texts = caller_texts
        self.env: dict[str, Any] = {}
        self.local_names = set(assigned_names(function.body))
        # Run-time regions around the call, and around the loop that unrolls.
        self.outer_regions = builder.regions
        self.loop_regions: int | None = None

    def run(self, arguments: dict[str, Any]) -> Any:
        """Interprets the function; gives what it returns."""
        self.env = dict(arguments)
        result = self.run_block(self.function.body, [])
        return None if result is None else result[0]

    def run_block(self, statements: list[ast.stmt], rest: list[ast.stmt]) -> Result:
        """Interprets statements; gives a value if they return.

        `rest` is what follows them up to the end of the function.
        """
        for place, statement in enumerate(statements):
            following = [*statements[place + 1 :], *rest]
            with self.at(statement), self.noting(statement):
                result = self.run_statement(statement, following)
            if result is not None:
                return result
        return None

    def run_statement(self, node: ast.stmt, following: list[ast.stmt]) -> Result:
        kind = type(node).__name__
        if isinstance(node, ast.If):
            return self.run_If(node, following)
        if isinstance(node, ast.Return):
            return (None if node.value is None else self.eval(node.value),)
        method = getattr(self, f"run_{kind}", None)
        if method is None:
            raise LanguageError(f"kernels do not support '{kind}'", _HINTS.get(kind))
        method(node)
        return None

    # ===--- Simple statements ---=== #

    def run_Pass(self, node: ast.Pass) -> None:
        pass

    def run_Expr(self, node: ast.Expr) -> None:
        self.eval(node.value)

    def run_Assign(self, node: ast.Assign) -> None:
        value = self.eval(node.value)
        for target in node.targets:
            self.assign(target, value)

    def run_AnnAssign(self, node: ast.AnnAssign) -> None:
        """An annotated assignment converts: ``x: tl.i32 = 0``."""
        if node.value is None:
            return
        value, annotation = self.eval(node.value), self.eval(node.annotation)
        if isinstance(annotation, DType) and (
            isinstance(value, Value) or is_number(value)
        ):
            value = annotation(value)
        self.assign(node.target, value)

    def run_AugAssign(self, node: ast.AugAssign) -> None:
        if not isinstance(node.target, ast.Name):
            raise LanguageError(
                "only a name can be updated in place",
                "load, compute and store: C[i, j] = tl.load(C[i, j]) + x",
            )
        load = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        value = ast.copy_location(ast.BinOp(load, node.op, node.value), node)
        self.assign(node.target, self.eval(value))

    def assign(self, target: ast.expr, value: Any) -> None:
        """Gives a value to the target of an assignment or a loop."""
        if isinstance(target, ast.Name):
            self.env[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, value)
        elif isinstance(target, ast.Subscript):
            container = self.eval(target.value)
            if isinstance(container, Tile):
                raise LanguageError(
                    "the elements of a fragment cannot be assigned",
                    "choose by element with tl.where, or store to a buffer",
                )
            if not isinstance(container, Buffer):
                raise LanguageError(
                    f"cannot assign to an element of {describe(container)}",
                    "make a new tuple or list",
                )
            container[self.eval(target.slice)] = value
        else:
            raise LanguageError(f"kernels cannot assign to {ast.unparse(target)}")

    def _unpack(self, target: ast.Tuple | ast.List, value: Any) -> None:
        if any(isinstance(item, ast.Starred) for item in target.elts):
            raise LanguageError("kernels do not support a starred target")
        try:
            values = list(value)
        except TypeError:
            raise LanguageError(f"cannot unpack {describe(value)}") from None
        if len(values) != len(target.elts):
            raise LanguageError(
                f"cannot unpack {len(values)} values into {len(target.elts)} names"
            )
        for item, part in zip(target.elts, values, strict=True):
            self.assign(item, part)

    def run_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if not isinstance(target, ast.Name):
                raise LanguageError("only a name can be deleted")
            self.env[target.id] = Undefined(f"is deleted in line {self.line(node)}")

    def run_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.decorator_list:
            raise LanguageError("functions inside a kernel have no decorators")
        self.env[node.name] = self.make_function(node)

    def run_Assert(self, node: ast.Assert) -> None:
        """Checked now for a Python condition, else when the kernel runs."""
        condition = self.eval(node.test)
        message = self.eval(node.msg) if node.msg else ast.unparse(node.test)
        if isinstance(condition, Value):
            control.device_assert(condition, str(message))
        elif not condition:
            raise LanguageError(f"assertion failed: {message}")

    def run_Raise(self, node: ast.Raise) -> None:
        if self.builder.regions:
            raise LanguageError(
                "a running kernel cannot raise", "write tl.device_assert(condition)"
            )
        error = self.eval(node.exc) if node.exc else "raised"
        raise LanguageError(str(error))

    def run_Break(self, node: ast.Break) -> None:
        self._check_unrolled("break")
        raise Break

    def run_Continue(self, node: ast.Continue) -> None:
        self._check_unrolled("continue")
        raise Continue

    def _check_unrolled(self, what: str) -> None:
        if self.loop_regions != self.builder.regions:
            raise LanguageError(
                f"'{what}' works only in loops that are unrolled, under conditions "
                "known when the kernel is built",
                "use a while loop with a condition, or an if around the rest of the "
                "body",
            )

    # ===--- Control flow ---=== #

    def run_If(self, node: ast.If, following: list[ast.stmt]) -> Result:
        condition = self.eval(node.test)
        if not isinstance(condition, Value):
            return self.run_block(node.body if condition else node.orelse, following)
        with self.at(node.test):
            condition = as_condition(condition, "the condition")
        rest = None
        if contains_return([node]):
            rest = following
        return self.branch(node, condition, node.body, node.orelse, rest)

    def run_For(self, node: ast.For) -> None:
        self._check_loop(node)
        iterable = self.eval(node.iter)
        if isinstance(iterable, Range):
            self._run_loop(self.loop, node, iterable)
            return
        if isinstance(iterable, Persistent):
            self._run_loop(self.persistent_loop, node, iterable)
            return
        if isinstance(iterable, (Value, InMemory)):
            raise LanguageError(
                f"cannot iterate over {describe(iterable)}", "loop over tl.range(n)"
            )
        self._unroll(node, iterable)

    def _unroll(self, node: ast.For, iterable: Any) -> None:
        outer, self.loop_regions = self.loop_regions, self.builder.regions
        try:
            for item in iterable:
                self.assign(node.target, item)
                try:
                    self.run_block(node.body, [])
                except Continue:
                    continue
        except Break:
            pass
        finally:
            self.loop_regions = outer

    def run_While(self, node: ast.While) -> None:
        self._check_loop(node)
        self._run_loop(self.while_loop, node)

    def _run_loop(self, run: Callable[..., None], *args: Any) -> None:
        """Builds a run-time loop, whose body cannot break out of an outer one."""
        outer, self.loop_regions = self.loop_regions, None
        run(*args)
        self.loop_regions = outer

    def _check_loop(self, node: ast.For | ast.While) -> None:
        if node.orelse:
            raise LanguageError("kernels do not support 'else' of a loop")
        if contains_return(node.body):
            raise LanguageError(
                "a function cannot return from inside a loop",
                "keep the value in a variable and return after the loop",
            )


def build_body(builder: Builder, function: Function, arguments: dict[str, Any]) -> None:
    """Interprets a kernel into its entry block, in the location of the kernel."""
    with builder, ir.InsertionPoint(builder.entry):
        interpreter = Interpreter(builder, function)
        result = interpreter.run(arguments)
        if result is not None:
            raise interpreter.error(
                function.body[-1],
                "a kernel returns nothing",
                "store the result: tl.store(value, C[i, j])",
            )
        gpu.ReturnOp([])
        apply(builder.kernel, builder.schedules)
        if "tile.grid" not in builder.kernel.attributes and not builder.knows_grid:
            grid = ir.AffineMapAttr.get(grid_map(builder, [1]))
            builder.kernel.attributes["tile.grid"] = grid
