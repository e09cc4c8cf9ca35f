"""Expressions."""

from __future__ import annotations

import ast
import contextlib
import difflib
import operator
from collections.abc import Callable, Iterator
from typing import Any

from .. import ir
from ..dialects import arith
from ..errors import CompileError, KernelError, LanguageError
from ..language.arithmetic import as_condition
from ..language.builder import Builder
from ..language.math import logical_not
from ..language.unloaded import InMemory
from ..language.values import BufferRegion, Value, describe
from .merging import Undefined
from .source import Function, SourceFile

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
# Operations that may run although their result is not needed.
_SPECULATABLE = {
    *("arith.cmpi", "arith.cmpf", "arith.constant", "arith.index_cast"),
    *("arith.addi", "arith.subi", "arith.muli", "arith.andi", "arith.ori"),
    *("arith.xori", "arith.extsi", "arith.trunci", "memref.dim"),
}
_HINTS = {
    ast.Lambda: None,
    ast.NamedExpr: "assign in a statement of its own",
    ast.Await: "kernels are not asynchronous",
    ast.Yield: "kernels are not generators",
    ast.YieldFrom: "kernels are not generators",
    ast.Set: "use a tuple",
    ast.SetComp: "use a list comprehension",
    ast.DictComp: "use a list comprehension",
}


def _check_python_comparison(op: ast.cmpop, lhs: Any, rhs: Any) -> None:
    """Refuses `in` and `is` where Python would answer for the wrong thing."""
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


class Control(Exception):
    """Break or continue of a loop that is unrolled."""


class Expressions:
    """Evaluates expressions in the scope of one function's call.

    Attributes:
        builder: the kernel under construction.
        function: the function being interpreted.
        env: its local names.
        callers: locations of the calls that led here, the innermost first.
        caller_texts: the same for messages.
    """

    builder: Builder
    function: Function
    env: dict[str, Any]
    callers: list[ir.Location]
    caller_texts: tuple[str, ...]

    @property
    def file(self) -> SourceFile:
        return self.function.file

    def line(self, node: ast.AST) -> int:
        return self.file.position(node)[0]

    def own_location(self, node: ast.AST) -> ir.Location:
        """The place of a node in its file."""
        return ir.Location.file(self.file.name, *self.file.position(node))

    def location(self, node: ast.AST) -> ir.Location:
        """The place of a node, with the calls that led to it."""
        location = self.own_location(node)
        if self.callers:
            location = ir.Location.callsite(location, self.callers)
        return location

    def error(
        self, node: ast.AST, message: str, hint: str | None = None
    ) -> KernelError:
        line, column = self.file.position(node)
        return KernelError(
            message,
            hint=hint,
            filename=self.file.name,
            line=line,
            column=column,
            source=self.file.text(line),
            callers=self.caller_texts,
        )

    @contextlib.contextmanager
    def at(self, node: ast.AST) -> Iterator[None]:
        """Gives operations the place of a node, and errors too."""
        try:
            with self.location(node):
                yield
        except (CompileError, Control):
            raise
        except LanguageError as error:
            raise self.error(node, error.message, error.hint) from error
        except ir.MLIRError as error:
            message = "; ".join(d.message for d in error.error_diagnostics)
            raise self.error(node, message or str(error)) from error
        except NameError as error:
            raise self.error(node, str(error)) from error
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
            raise self.error(node, message) from error

    def eval(self, node: ast.expr) -> Any:
        """The value of an expression."""
        method = getattr(self, f"eval_{type(node).__name__}", None)
        if method is None:
            raise self.error(
                node,
                f"kernels do not support {type(node).__name__}",
                _HINTS.get(type(node)),
            )
        if isinstance(node, ast.Constant):
            return node.value
        with self.at(node):
            return method(node)

    def eval_all(self, nodes: list[ast.expr]) -> list[Any]:
        """Values of expressions, of which some may be starred."""
        values = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                values.extend(self.eval(node.value))
            else:
                values.append(self.eval(node))
        return values

    def eval_Constant(self, node: ast.Constant) -> Any:
        return node.value

    def eval_Name(self, node: ast.Name) -> Any:
        value = self.env[node.id] if node.id in self.env else self._free(node.id)
        if isinstance(value, Undefined):
            raise LanguageError(f"'{node.id}' {value.reason}")
        return value

    def _free(self, name: str) -> Any:
        if name in self.local_names:
            raise LanguageError(f"'{name}' is used before it is assigned")
        return self.function.lookup(name)

    def eval_Attribute(self, node: ast.Attribute) -> Any:
        value = self.eval(node.value)
        try:
            return getattr(value, node.attr)
        except AttributeError:
            close = difflib.get_close_matches(node.attr, dir(value), n=1)
            raise LanguageError(
                f"{describe(value)} has no attribute '{node.attr}'",
                f"did you mean '{close[0]}'?" if close else None,
            ) from None

    def eval_Subscript(self, node: ast.Subscript) -> Any:
        return self.eval(node.value)[self.eval(node.slice)]

    def eval_Slice(self, node: ast.Slice) -> slice:
        bounds = (node.lower, node.upper, node.step)
        return slice(*(None if bound is None else self.eval(bound) for bound in bounds))

    def eval_Tuple(self, node: ast.Tuple) -> tuple[Any, ...]:
        return tuple(self.eval_all(node.elts))

    def eval_List(self, node: ast.List) -> list[Any]:
        return self.eval_all(node.elts)

    def eval_Dict(self, node: ast.Dict) -> dict[Any, Any]:
        if None in node.keys:
            raise LanguageError("kernels do not support ** in a dictionary")
        return dict(
            zip(self.eval_all(node.keys), self.eval_all(node.values), strict=True)
        )

    def eval_BinOp(self, node: ast.BinOp) -> Any:
        return _BINARY[type(node.op)](self.eval(node.left), self.eval(node.right))

    def eval_UnaryOp(self, node: ast.UnaryOp) -> Any:
        return _UNARY[type(node.op)](self.eval(node.operand))

    def eval_Compare(self, node: ast.Compare) -> Any:
        """A comparison, or ``a < b < c``, whose parts hold all."""
        lhs, result = self.eval(node.left), True
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            # Python's answer is whole with the first part that does not hold.
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

    def eval_BoolOp(self, node: ast.BoolOp) -> Any:
        """``and`` and ``or``, the right side being computed only if needed."""
        is_and = isinstance(node.op, ast.And)
        result = self.eval(node.values[0])
        for place, operand in enumerate(node.values[1:], 1):
            if not isinstance(result, Value):
                if bool(result) != is_and:
                    return result
                result = self.eval(operand)
                continue
            rest = ast.copy_location(ast.BoolOp(node.op, node.values[place:]), operand)
            rest = rest if len(rest.values) > 1 else operand
            return self._short_circuit(node, is_and, result, rest)
        return result

    def _short_circuit(
        self, node: ast.BoolOp, is_and: bool, lhs: Value, rest: ast.expr
    ) -> Value:
        name = "'and'" if is_and else "'or'"
        condition = as_condition(lhs, name)

        def right() -> Any:
            value = self.eval(rest)
            if isinstance(value, (Value, InMemory)):
                return as_condition(value, name)
            return value

        branches = (right, lambda: False) if is_and else (lambda: True, right)
        result = self.choose(node, condition, *branches, name)
        if not isinstance(result, Value):
            return result
        return self._simplify(result, condition, 0 if is_and else 1)

    def _simplify(self, result: Value, condition: Value, region: int) -> Value:
        """Turns a conditional around simple operations into and, or."""
        conditional = result.ir.owner
        block = conditional.regions[region].blocks[0]
        *inner, last = list(block.operations)
        if any(op.operation.name not in _SPECULATABLE for op in inner):
            return result
        right = last.operands[0]
        for op in inner:
            op.operation.move_before(conditional)
        combine = arith.andi if region == 0 else arith.ori
        value = type(result)(combine(condition.ir, right), result.dtype)
        conditional.erase()
        return value

    def eval_IfExp(self, node: ast.IfExp) -> Any:
        condition = self.eval(node.test)
        if not isinstance(condition, Value):
            return self.eval(node.body if condition else node.orelse)
        condition = as_condition(condition, "the condition")
        return self.choose(
            node,
            condition,
            lambda: self.eval(node.body),
            lambda: self.eval(node.orelse),
            "the conditional expression",
        )

    def eval_JoinedStr(self, node: ast.JoinedStr) -> str:
        return "".join(self.eval_all(node.values))

    def eval_FormattedValue(self, node: ast.FormattedValue) -> str:
        value = self.eval(node.value)
        if isinstance(value, (Value, BufferRegion)):
            raise LanguageError(
                f"{describe(value)} has no text while the kernel is built",
                "print it: tl.print('message', value)",
            )
        convert = {-1: lambda x: x, 115: str, 114: repr, 97: ascii}[node.conversion]
        spec = self.eval(node.format_spec) if node.format_spec else ""
        return format(convert(value), spec)

    def eval_ListComp(self, node: ast.ListComp | ast.GeneratorExp) -> list[Any]:
        outer, results = self.env, []
        self.env = dict(outer)
        try:
            self._comprehend(node, node.generators, results)
        finally:
            self.env = outer
        return results

    eval_GeneratorExp = eval_ListComp

    def _comprehend(
        self,
        node: ast.ListComp | ast.GeneratorExp,
        generators: list[ast.comprehension],
        results: list[Any],
    ) -> None:
        if not generators:
            results.append(self.eval(node.elt))
            return
        first, *rest = generators
        for item in self.eval(first.iter):
            self.assign(first.target, item)
            if all(self.eval(condition) for condition in first.ifs):
                self._comprehend(node, rest, results)
