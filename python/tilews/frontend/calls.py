"""Calls: of the language's functions, of plain Python, and of functions to inline.

A callee is resolved in this order:

1. ``functools.partial`` and bound methods are unwrapped.
2. Functions defined in the kernel, functions decorated with ``@tilews.func``, and
   user functions that get a value of the kernel are inlined: their body is built in
   place of the call.
3. Some builtins, such as ``range`` and ``print``, are replaced by their counterpart in
   :mod:`tilews.language`.
4. Everything else is called as plain Python while the kernel is built.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import functools
import re
import types
from collections.abc import Callable, Iterable
from typing import Any

from ..errors import LanguageError
from ..language import math as tile_math
from ..language.control import debugging, ranges
from ..language.control.roles import Channel
from ..language.values import Buffer, BufferRegion, Value, describe
from .breakpoints import build_breakpoint
from .frame import CallFrame
from .hints import argument_hint, library_hint, library_of, name_hint, public_name
from .inline import InlineFunction
from .source import SourceFunction, from_python

_MAX_DEPTH = 64


def _refuse_fragment(items: Any, name: str) -> None:
    """Refuses a fragment where one of Python's functions takes several values."""
    if isinstance(items, Value):
        raise LanguageError(
            f"{name} is Python's and takes several values, found {describe(items)}",
            f"write tl.{name}(x) for all elements, or tl.{name}(x, axis)",
        )


def _extremum(
    pairwise: Callable[[Any, Any], Any], native: Callable[..., Any]
) -> Callable[..., Any]:
    """Python's min or max, extended to scalars and fragments."""

    def function(*values: Any, **options: Any) -> Any:
        items = values[0] if len(values) == 1 else values
        _refuse_fragment(items, native.__name__)
        if options or not any(isinstance(item, Value) for item in items):
            return native(*values, **options)
        return functools.reduce(pairwise, items)

    return function


def _sum(items: Iterable[Any], start: Any = 0) -> Any:
    """Python's sum, without an operation that adds the zero it starts with."""
    _refuse_fragment(items, "sum")
    items = list(items)
    if items and isinstance(items[0], Value) and isinstance(start, int) and start == 0:
        return functools.reduce(lambda x, y: x + y, items)
    return builtins.sum(items, start)


_REPLACED: dict[Any, Callable[..., Any]] = {
    builtins.range: ranges.range,
    builtins.print: debugging.print,
    builtins.abs: tile_math.abs,
    builtins.min: _extremum(tile_math.minimum, builtins.min),
    builtins.max: _extremum(tile_math.maximum, builtins.max),
    builtins.sum: _sum,
}


def contains_value(item: Any) -> bool:
    """Whether nested Python containers hold a value of the kernel."""
    if isinstance(item, (Value, Buffer, BufferRegion, Channel)):
        return True
    if isinstance(item, (tuple, list)):
        return any(map(contains_value, item))
    if isinstance(item, dict):
        return any(map(contains_value, item.values()))
    if dataclasses.is_dataclass(item) and not isinstance(item, type):
        fields = dataclasses.fields(item)
        return any(contains_value(getattr(item, field.name)) for field in fields)
    return False


def _is_ours(function: types.FunctionType) -> bool:
    return (function.__module__ or "").split(".")[0] == "tilews"


def _is_ours_to_call(callee: Any) -> bool:
    """Whether this is a function of the language."""
    return isinstance(callee, types.FunctionType) and _is_ours(callee)


def _refuse_library(node: ast.Call, callee: Any, args: list[Any]) -> None:
    """Refuses functions that compute with arrays, for values of the kernel."""
    library = library_of(callee)
    if library is not None and contains_value(args):
        raise LanguageError(
            f"{ast.unparse(node.func)} is a function of {library}, which does not know "
            "values of the kernel",
            library_hint(node),
        )


class CallResolver:
    """Finds out how to call what an expression evaluated to, and calls it.

    Example: in ``helper(x)`` with a plain Python function ``helper``, a fragment ``x``
    makes the resolver inline ``helper``; with ``x = 3`` Python calls it.

    Args:
        frame: the frame that holds the calls.
        build: builds the body of a function with its arguments in a new frame, and
            returns its result.
    """

    def __init__(
        self, frame: CallFrame, build: Callable[[CallFrame, dict[str, Any]], Any]
    ) -> None:
        self._frame = frame
        self._build = build

    def call(
        self, node: ast.Call, callee: Any, args: list[Any], kwargs: dict[str, Any]
    ) -> Any:
        """The result of ``callee(*args, **kwargs)``.

        Raises:
            LanguageError: the callee cannot be called in a kernel.
        """
        _refuse_library(node, callee, [*args, *kwargs.values()])
        if callee is breakpoint:
            return build_breakpoint(self._frame, node)
        if isinstance(callee, functools.partial):
            args = [*callee.args, *args]
            return self.call(node, callee.func, args, {**callee.keywords, **kwargs})
        if isinstance(callee, SourceFunction):
            return self._inline(node, callee, args, kwargs)
        if isinstance(callee, InlineFunction):
            return self._inline(node, self._source(callee.python), args, kwargs)
        if isinstance(callee, types.MethodType) and isinstance(
            callee.__func__, types.FunctionType
        ):
            if not _is_ours(callee.__func__):
                args = [callee.__self__, *args]
                return self.call(node, callee.__func__, args, kwargs)
        elif isinstance(callee, types.FunctionType) and not _is_ours(callee):
            if contains_value(args) or contains_value(kwargs):
                return self._inline(node, self._source(callee), args, kwargs)
        if _is_ours_to_call(callee):
            # Such as tl.reduce with a function of the kernel.
            args = [self._as_callable(node, item) for item in args]
            kwargs = {key: self._as_callable(node, x) for key, x in kwargs.items()}
        return self._call_python(callee, args, kwargs)

    def _source(self, function: types.FunctionType) -> SourceFunction:
        """The source of a function that is called, which may be the caller's text."""
        return from_python(function, caller=self._frame.function.file)

    def _as_callable(self, node: ast.Call, item: Any) -> Any:
        """A function of the kernel as one that Python can call; else the same."""
        is_function = isinstance(item, (SourceFunction, InlineFunction)) or (
            isinstance(item, types.FunctionType) and not _is_ours(item)
        )
        if not is_function:
            return item
        return lambda *args, **kwargs: self.call(node, item, list(args), kwargs)

    def _call_python(self, callee: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Calls a function of the language, or a plain Python function."""
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
            name = getattr(callee, "__name__", "").rpartition(".")[2]
            hint = name_hint(name) if isinstance(callee, types.ModuleType) else None
            raise LanguageError(f"{describe(callee)} cannot be called", hint)
        try:
            return callee(*args, **kwargs)
        except LanguageError as error:
            # Functions of the language are composed of others, and of operators,
            # which raise it.
            name = public_name(callee)
            if name is None:
                raise
            message = re.sub(r"^(tl\.\w+|'[^\w\s]+')", f"tl.{name}", error.message)
            raise LanguageError(message, error.hint) from error
        except TypeError:
            function = getattr(callee, "__func__", callee)
            found = _is_ours_to_call(function) and argument_hint(callee, args, kwargs)
            if not found:
                raise
            raise LanguageError(*found) from None

    def _inline(
        self,
        node: ast.Call,
        function: SourceFunction,
        args: list[Any],
        kwargs: dict[str, Any],
    ) -> Any:
        """Builds the body of a function in place of a call to it."""
        frame = self._frame
        if len(frame.callers) >= _MAX_DEPTH:
            raise LanguageError(
                f"calls are nested more than {_MAX_DEPTH} deep",
                "recursion has to end while the kernel is built",
            )
        try:
            bound = function.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise LanguageError(f"{function.name}: {error}") from None
        bound.apply_defaults()
        callers = (frame.call_site(node), *frame.callers)
        inner = CallFrame(frame.builder, function, callers)
        return self._build(inner, dict(bound.arguments))
