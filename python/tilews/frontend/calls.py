"""Calls: of the language, of Python, and of functions to be inlined."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

from ..errors import LanguageError
from ..language import control
from ..language import math as tile_math
from ..language.roles import Channel
from ..language.values import Buffer, BufferRegion, Value
from .expressions import Expressions
from .source import Function, body_of, from_python

_MAX_DEPTH = 64


def _extremum(pairwise: Callable, native: Callable) -> Callable:
    """Python's min or max, which work on scalars and fragments, too."""

    def function(*values: Any, **options: Any) -> Any:
        items = values[0] if len(values) == 1 else values
        if options or not any(isinstance(item, Value) for item in items):
            return native(*values, **options)
        return functools.reduce(pairwise, items)

    return function


def _sum(items: Any, start: Any = 0) -> Any:
    """Python's sum; adding zero first would be an operation for nothing."""
    items = list(items)
    if items and isinstance(items[0], Value) and isinstance(start, int) and start == 0:
        return functools.reduce(lambda x, y: x + y, items)
    return builtins.sum(items, start)


_REPLACED: dict[Any, Callable] = {
    builtins.range: control.range,
    builtins.print: control.print,
    builtins.abs: tile_math.abs,
    builtins.min: _extremum(tile_math.minimum, builtins.min),
    builtins.max: _extremum(tile_math.maximum, builtins.max),
    builtins.sum: _sum,
}


class InlineFunction:
    """A function decorated with :func:`tilews.func`."""

    def __init__(self, function: types.FunctionType) -> None:
        functools.update_wrapper(self, function)
        self.python = function

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise LanguageError(
            f"{self.python.__name__} works only inside a kernel",
            "call it in a function decorated with @tilews.kernel",
        )

    def __get__(self, instance: Any, owner: type) -> Any:
        return self if instance is None else functools.partial(self, instance)


def contains_value(item: Any) -> bool:
    """Whether there is a value of the kernel in nested Python containers."""
    if isinstance(item, (Value, Buffer, BufferRegion, Channel)):
        return True
    if isinstance(item, (tuple, list)):
        return any(map(contains_value, item))
    if isinstance(item, dict):
        return any(map(contains_value, item.values()))
    return False


def _is_ours(function: types.FunctionType) -> bool:
    return (function.__module__ or "").split(".")[0] == "tilews"


class Calls(Expressions):
    """Evaluates calls."""

    def eval_Call(self, node: ast.Call) -> Any:
        callee = self.eval(node.func)
        args = self.eval_all(node.args)
        kwargs: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.eval(keyword.value)
            kwargs.update(value if keyword.arg is None else {keyword.arg: value})
        return self.call(node, callee, args, kwargs)

    def call(
        self, node: ast.Call, callee: Any, args: list[Any], kwargs: dict[str, Any]
    ) -> Any:
        """Calls what an expression evaluated to."""
        if isinstance(callee, functools.partial):
            args = [*callee.args, *args]
            return self.call(node, callee.func, args, {**callee.keywords, **kwargs})
        if isinstance(callee, Function):
            return self.inline(node, callee, args, kwargs)
        if isinstance(callee, InlineFunction):
            return self.inline(node, from_python(callee.python), args, kwargs)
        if isinstance(callee, types.MethodType) and isinstance(
            callee.__func__, types.FunctionType
        ):
            if not _is_ours(callee.__func__):
                return self.call(
                    node, callee.__func__, [callee.__self__, *args], kwargs
                )
        elif isinstance(callee, types.FunctionType) and not _is_ours(callee):
            if contains_value(args) or contains_value(kwargs):
                return self.inline(node, from_python(callee), args, kwargs)
        try:
            callee = _REPLACED.get(callee, callee)
        except TypeError:  # not hashable
            pass
        if getattr(callee, "is_tilews_kernel", False):
            raise LanguageError(
                "a kernel cannot call another kernel",
                "decorate what they share with @tilews.func",
            )
        if not callable(callee):
            raise LanguageError(f"{type(callee).__name__} cannot be called")
        return callee(*args, **kwargs)

    def inline(
        self,
        node: ast.Call,
        function: Function,
        args: list[Any],
        kwargs: dict[str, Any],
    ) -> Any:
        """Interprets the body of a function in the place of a call to it."""
        if len(self.callers) >= _MAX_DEPTH:
            raise LanguageError(
                f"calls are nested more than {_MAX_DEPTH} deep",
                "recursion has to end while the kernel is built",
            )
        try:
            bound = function.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise LanguageError(f"{function.name}: {error}") from None
        bound.apply_defaults()
        line, column = self.file.position(node)
        inner = type(self)(
            self.builder,
            function,
            callers=[self.own_location(node), *self.callers],
            caller_texts=(f"{self.file.name}:{line}:{column}", *self.caller_texts),
        )
        return inner.run(dict(bound.arguments))

    def make_function(self, node: ast.FunctionDef | ast.Lambda) -> Function:
        """A function defined inside a function that is interpreted."""
        return Function(
            getattr(node, "name", "<lambda>"),
            body_of(node),
            self._signature(node.args),
            self.file,
            # The names of this call, as they are when the function is called.
            [_Scope(self), *self.function.scopes],
        )

    def _signature(self, args: ast.arguments) -> inspect.Signature:
        Parameter = inspect.Parameter
        positional = [*args.posonlyargs, *args.args]
        defaults = [Parameter.empty] * (len(positional) - len(args.defaults))
        defaults += self.eval_all(args.defaults)
        parameters = [
            Parameter(arg.arg, Parameter.POSITIONAL_OR_KEYWORD, default=default)
            for arg, default in zip(positional, defaults, strict=True)
        ]
        if args.vararg:
            parameters.append(Parameter(args.vararg.arg, Parameter.VAR_POSITIONAL))
        for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
            value = Parameter.empty if default is None else self.eval(default)
            parameters.append(Parameter(arg.arg, Parameter.KEYWORD_ONLY, default=value))
        if args.kwarg:
            parameters.append(Parameter(args.kwarg.arg, Parameter.VAR_KEYWORD))
        return inspect.Signature(parameters)

    def eval_Lambda(self, node: ast.Lambda) -> Function:
        return self.make_function(node)


class _Scope(dict):
    """The local names of a call, looked up when they are needed."""

    def __init__(self, call: Calls) -> None:
        self._call = call

    def __contains__(self, name: object) -> bool:
        return name in self._call.env

    def __getitem__(self, name: str) -> Any:
        return self._call.env[name]
