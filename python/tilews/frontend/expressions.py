"""Expressions: evaluates a syntax tree to Python values and values of the kernel.

The evaluator walks an expression as Python's own evaluator does. Operands that are
Python values give a Python value at once. Operands that are values of the running
kernel (:class:`~tilews.language.values.Value`) overload Python's operators, so that
``a + b`` makes an operation. ``and``, ``or`` and ``x if c else y`` cannot be
overloaded: with a run-time condition they become ``scf.if``, whose regions hold the
operands that Python would evaluate only if needed.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from ..errors import LanguageError
from ..language.arithmetic import as_condition
from ..language.math import logical_not
from ..language.unloaded import InMemory
from ..language.values import BufferRegion, Value, describe
from .assignment import assign
from .calls import CallResolver
from .conditionals import RegionMerger, fold_into_logic
from .frame import CallFrame, LocalNames
from .hints import attribute_hint, module_hint, nearest_name
from .merging import Undefined
from .source import SourceFunction, define_function

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.MatMult: operator.matmul,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Not: logical_not,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda item, items: item in items,
    ast.NotIn: lambda item, items: item not in items,
}
_CONVERSIONS: dict[int, Callable[[Any], Any]] = {
    -1: lambda value: value,
    ord("s"): str,
    ord("r"): repr,
    ord("a"): ascii,
}
_HINTS: dict[type[ast.AST], str] = {
    ast.NamedExpr: "assign in a statement of its own",
    ast.Await: "kernels are not asynchronous",
    ast.Yield: "kernels are not generators",
    ast.YieldFrom: "kernels are not generators",
    ast.Set: "use a tuple",
    ast.SetComp: "use a list comprehension",
    ast.DictComp: "use a list comprehension",
}


def _check_python_comparison(op: ast.cmpop, lhs: Any, rhs: Any) -> None:
    """Refuses `in` and `is` on operands that Python would compare by identity."""
    if isinstance(op, (ast.In, ast.NotIn)) and isinstance(lhs, (Value, InMemory)):
        raise LanguageError("'in' takes Python values", "compare with ==")
    if not isinstance(op, (ast.Is, ast.IsNot)) or lhs is None or rhs is None:
        return
    for side in (lhs, rhs):
        # Each access makes a new object, so that `is` would always be false.
        if isinstance(side, (Value, BufferRegion)):
            raise LanguageError(
                f"'is' asks for the same Python object, but found {describe(side)}",
                "compare with ==, memory after tl.load",
            )


class ExpressionEvaluator(ast.NodeVisitor):
    """Evaluates expressions with the names of one frame.

    Example: in ``i + 1 < n and mask[i]`` with a scalar ``n``, the comparison makes
    ``arith.cmpi``, and ``and`` makes an ``scf.if`` around the load of ``mask[i]``.
    """

    def __init__(
        self, frame: CallFrame, calls: CallResolver, regions: RegionMerger
    ) -> None:
        self._frame = frame
        self._calls = calls
        self._regions = regions

    def eval(self, node: ast.expr) -> Any:
        """The value of an expression.

        Raises:
            KernelError: at the innermost expression that failed.
        """
        if isinstance(node, ast.Constant):
            return node.value
        with self._frame.at(node):
            return self.visit(node)

    def eval_all(self, nodes: list[ast.expr]) -> list[Any]:
        """The values of expressions; starred ones give several."""
        values: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                values.extend(self.eval(node.value))
            else:
                values.append(self.eval(node))
        return values

    def generic_visit(self, node: ast.AST) -> Any:
        """Refuses the expressions that have no method here."""
        name = type(node).__name__
        raise LanguageError(f"kernels do not support {name}", _HINTS.get(type(node)))

    # ===--- Names and containers ---=== #

    def visit_Name(self, node: ast.Name) -> Any:
        env = self._frame.env
        value = env[node.id] if node.id in env else self._lookup_free(node.id)
        if isinstance(value, Undefined):
            raise LanguageError(f"'{node.id}' {value.reason}")
        return value

    def _lookup_free(self, name: str) -> Any:
        """The value of a name that has no local value yet."""
        if name in self._frame.local_names:
            raise LanguageError(f"'{name}' is used before it is assigned")
        try:
            return self._frame.function.lookup(name)
        except NameError as error:
            known = [*self._frame.env, *self._frame.function.names()]
            raise LanguageError(str(error), nearest_name(name, known)) from None

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        if isinstance(node.value, ast.Name):
            self._check_module(node.value.id, node.attr)
        value = self.eval(node.value)
        try:
            return getattr(value, node.attr)
        except AttributeError:
            raise LanguageError(
                f"{describe(value)} has no attribute '{node.attr}'",
                attribute_hint(value, node.attr),
            ) from None

    def _check_module(self, name: str, attribute: str) -> None:
        """Refuses T.copy where nothing is called T, with a hint about copy."""
        hint = module_hint(name, attribute)
        if hint is None or name in {*self._frame.env, *self._frame.local_names}:
            return
        try:
            self._frame.function.lookup(name)
        except NameError as error:
            raise LanguageError(str(error), hint) from None

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        return self.eval(node.value)[self.eval(node.slice)]

    def visit_Slice(self, node: ast.Slice) -> slice:
        bounds = (node.lower, node.upper, node.step)
        return slice(*(None if bound is None else self.eval(bound) for bound in bounds))

    def visit_Tuple(self, node: ast.Tuple) -> tuple[Any, ...]:
        return tuple(self.eval_all(node.elts))

    def visit_List(self, node: ast.List) -> list[Any]:
        return self.eval_all(node.elts)

    def visit_Dict(self, node: ast.Dict) -> dict[Any, Any]:
        keys = [key for key in node.keys if key is not None]
        if len(keys) != len(node.keys):
            raise LanguageError("kernels do not support ** in a dictionary")
        return dict(zip(self.eval_all(keys), self.eval_all(node.values), strict=True))

    # ===--- Operators ---=== #

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        return _BINARY[type(node.op)](self.eval(node.left), self.eval(node.right))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        return _UNARY[type(node.op)](self.eval(node.operand))

    def visit_Compare(self, node: ast.Compare) -> Any:
        """``a < b``, or a chain ``a < b < c``, which holds if all its parts hold."""
        lhs, result = self.eval(node.left), True
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            # Python stops at the first part that does not hold.
            if not isinstance(result, Value) and not result:
                break
            rhs = self.eval(comparator)
            _check_python_comparison(op, lhs, rhs)
            holds = _COMPARE[type(op)](lhs, rhs)
            if not isinstance(result, Value):
                result = holds
            elif isinstance(holds, Value) or not holds:
                result = result & (holds if isinstance(holds, Value) else False)
            lhs = rhs
        return result

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        """``and`` and ``or``, whose right side is evaluated only if needed."""
        is_and = isinstance(node.op, ast.And)
        result = self.eval(node.values[0])
        for place, operand in enumerate(node.values[1:], 1):
            if isinstance(result, Value):
                remaining = ast.BoolOp(node.op, node.values[place:])
                rest = ast.copy_location(remaining, operand)
                return self._short_circuit(
                    node, result, rest if len(rest.values) > 1 else operand
                )
            if bool(result) != is_and:
                return result
            result = self.eval(operand)
        return result

    def _short_circuit(self, node: ast.BoolOp, lhs: Value, rest: ast.expr) -> Any:
        """``lhs and rest`` or ``lhs or rest`` with a run-time left side."""
        is_and = isinstance(node.op, ast.And)
        name = "'and'" if is_and else "'or'"
        condition = as_condition(lhs, name)

        def right() -> Any:
            value = self.eval(rest)
            if isinstance(value, (Value, InMemory)):
                return as_condition(value, name)
            return value

        def known() -> bool:
            return not is_and

        if_true, if_false = (right, known) if is_and else (known, right)
        result = self._regions.choose(node, condition, if_true, if_false, name)
        if not isinstance(result, Value):
            return result
        return fold_into_logic(result, condition, is_and)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        condition = self.eval(node.test)
        if not isinstance(condition, Value):
            return self.eval(node.body if condition else node.orelse)
        return self._regions.choose(
            node,
            as_condition(condition, "the condition"),
            lambda: self.eval(node.body),
            lambda: self.eval(node.orelse),
            "the conditional expression",
        )

    # ===--- Texts ---=== #

    def visit_JoinedStr(self, node: ast.JoinedStr) -> str:
        return "".join(self.eval_all(node.values))

    def visit_FormattedValue(self, node: ast.FormattedValue) -> str:
        value = self.eval(node.value)
        if isinstance(value, (Value, BufferRegion)):
            raise LanguageError(
                f"{describe(value)} has no text while the kernel is built",
                "print it: tl.print('message', value)",
            )
        spec = self.eval(node.format_spec) if node.format_spec else ""
        return format(_CONVERSIONS[node.conversion](value), spec)

    # ===--- Functions ---=== #

    def visit_Call(self, node: ast.Call) -> Any:
        callee = self.eval(node.func)
        args = self.eval_all(node.args)
        kwargs: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.eval(keyword.value)
            kwargs.update(value if keyword.arg is None else {keyword.arg: value})
        return self._calls.call(node, callee, args, kwargs)

    def visit_Lambda(self, node: ast.Lambda) -> SourceFunction:
        return self.define(node)

    def define(self, node: ast.FunctionDef | ast.Lambda) -> SourceFunction:
        """A function that is defined inside the frame's function."""
        # The inner function sees the frame's names as they are when it is called.
        scopes = [LocalNames(self._frame), *self._frame.function.scopes]
        return define_function(node, self._frame.file, scopes, self.eval)

    # ===--- Comprehensions ---=== #

    def visit_ListComp(self, node: ast.ListComp | ast.GeneratorExp) -> list[Any]:
        results: list[Any] = []
        with self._frame.scope(dict(self._frame.env)):
            self._comprehend(node, node.generators, results)
        return results

    visit_GeneratorExp = visit_ListComp

    def _comprehend(
        self,
        node: ast.ListComp | ast.GeneratorExp,
        generators: list[ast.comprehension],
        results: list[Any],
    ) -> None:
        """Appends the items of the loops `generators`, the outermost first."""
        if not generators:
            results.append(self.eval(node.elt))
            return
        first, *rest = generators
        for item in self.eval(first.iter):
            assign(self._frame, first.target, item, self.eval)
            if all(self.eval(condition) for condition in first.ifs):
                self._comprehend(node, rest, results)
