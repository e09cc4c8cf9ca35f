"""Python functions as syntax trees, with the scopes of their free names.

:func:`from_python` finds the tree of a function object: it parses the function's file
and takes the node at the line (for lambdas also the column) that the code object
records. The source on disk has to be the source that Python compiled. Where Python
keeps no text, as for ``exec``, the decorator of the kernel gives it.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import dataclasses
import functools
import inspect
import linecache
import sys
import textwrap
import types
from collections.abc import Callable, Hashable, Mapping, Sequence
from types import CodeType
from typing import Any

from ..errors import KernelError, Place
from ..language.types import DType

_Node = ast.FunctionDef | ast.Lambda
#: How many lines of a prompt's history may hold a kernel.
_MOST_TYPED = 300


@dataclasses.dataclass(eq=False)
class SourceFunction:
    """A Python function whose body the frontend builds, instead of calling it.

    Attributes:
        name: the function's name in messages.
        body: the statements.
        signature: parameters and defaults.
        file: the file that holds the function.
        scopes: where its free names are looked up, the nearest scope first.
    """

    name: str
    body: list[ast.stmt]
    signature: inspect.Signature
    file: SourceFile
    scopes: Sequence[Mapping[str, Any]]

    def __repr__(self) -> str:
        return f"the function {self.name}"

    def lookup(self, name: str) -> Any:
        """The value of a free name.

        Raises:
            NameError: no scope has the name.
        """
        for scope in self.scopes:
            if name in scope:
                return scope[name]
        raise NameError(f"name '{name}' is not defined")

    def names(self) -> list[str]:
        """The free names that have values."""
        return [name for scope in self.scopes for name in scope]


@dataclasses.dataclass(frozen=True)
class SourceFile:
    """A file of Python source.

    Attributes:
        name: its path, or what Python calls it, such as ``<string>``.
        lines: its text.
        is_given: whether the decorator of the kernel gave the text.
    """

    name: str
    lines: tuple[str, ...]
    is_given: bool = False

    def position(self, node: ast.AST) -> tuple[int, int]:
        """Line and column of a statement or an expression, counted from one."""
        assert isinstance(node, (ast.stmt, ast.expr))
        # The tree counts bytes of UTF-8.
        prefix = self.lines[node.lineno - 1].encode()[: node.col_offset]
        return node.lineno, len(prefix.decode(errors="ignore")) + 1

    def text(self, line: int) -> str:
        """A line, counted from one."""
        return self.lines[line - 1].rstrip()


@functools.lru_cache(maxsize=16)
def _parse_file(lines: tuple[str, ...]) -> dict[int, list[_Node]]:
    """The functions of a file by their first line, that of a decorator included."""
    functions: dict[int, list[_Node]] = {}
    for node in ast.walk(ast.parse("".join(lines))):
        if isinstance(node, ast.Lambda):
            functions.setdefault(node.lineno, []).append(node)
        elif isinstance(node, ast.FunctionDef):
            decorators = [each.lineno for each in node.decorator_list]
            first = min([node.lineno, *decorators])
            functions.setdefault(first, []).append(node)
    return functions


def source_lines(function: types.FunctionType) -> tuple[str, ...]:
    """The lines of the text that holds a function; none if it is not kept."""
    code = function.__code__
    # A file may have changed since it was read, as by importlib.reload.
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines and code.co_filename == "<string>":
        # Python keeps the text of `python -c` since 3.13; before, it is an argument.
        text = (sys.orig_argv[-len(sys.argv) :] or [""])[0]
        lines = text.splitlines(keepends=True) if _compiles_to(text, code) else []
    elif not lines and code.co_filename == "<stdin>":
        lines = _typed_lines(code)
    return tuple(lines)


def _typed_lines(code: CodeType) -> list[str]:
    """The lines of a function that was typed at the prompt, from its history.

    Since 3.13 Python keeps them itself. A statement at the prompt starts in line one.
    """
    readline = sys.modules.get("readline")
    if readline is None or not hasattr(sys, "ps1"):
        return []
    last = readline.get_current_history_length()
    first = max(1, last - _MOST_TYPED)
    history = [readline.get_history_item(i) or "" for i in range(first, last + 1)]
    for start in reversed(range(len(history))):
        if not history[start].startswith(("@", "def ")):
            continue
        for end in range(start + 1, len(history) + 1):
            lines = [f"{line}\n" for line in history[start:end]]
            if _compiles_to("".join(lines), code):
                return lines
    return []


def _given_lines(text: str, code: CodeType) -> tuple[str, ...]:
    """The lines of a text that was given for a function, in the lines of its code.

    The text is all that was executed, or the function alone; none if it is neither.
    """
    alone = "\n" * (code.co_firstlineno - 1) + textwrap.dedent(text).lstrip("\n")
    for each in (text, alone):
        # Names that an import binds in the same text have instructions of their own,
        # and those of an enclosing function are global in the function alone.
        if _compiles_to(each, code, _traits):
            return tuple(each.splitlines(keepends=True))
    return ()


#: The flags of all ``from __future__`` imports, which ``exec`` may inherit.
_FUTURES = functools.reduce(
    lambda flags, name: flags | getattr(__future__, name).compiler_flag,
    __future__.all_feature_names,
    0,
)


def _traits(code: CodeType) -> Hashable:
    """What of a function's code does not depend on the text around the function."""
    return (
        (code.co_name, code.co_firstlineno, code.co_argcount, code.co_varnames),
        frozenset((*code.co_names, *code.co_freevars, *code.co_cellvars)),
        tuple(
            _traits(const) if isinstance(const, CodeType) else repr(const)
            for const in code.co_consts
        ),
    )


def _compiles_to(
    text: str,
    code: CodeType,
    identity: Callable[[CodeType], Hashable] = lambda code: code,
) -> bool:
    """Whether source text holds a function with this code, or with its identity."""
    flags = code.co_flags & _FUTURES
    try:
        pending = [compile(text, code.co_filename, "exec", flags, dont_inherit=True)]
    except (SyntaxError, ValueError):
        return False
    wanted = identity(code)
    while pending:
        found = pending.pop()
        if identity(found) == wanted:
            return True
        pending += [const for const in found.co_consts if isinstance(const, CodeType)]
    return False


def _missing_source_hint(filename: str) -> str:
    """What to do where no source is available."""
    if filename == "<stdin>":
        return (
            "what is piped into Python is not kept: write the kernel in a file, or "
            "type it at the prompt"
        )
    if filename.startswith("<"):
        return (
            "the text that exec runs is not kept: give it, "
            "@tilews.kernel(source=text), or put its lines into linecache.cache under "
            "the file name that it is compiled with"
        )
    return "the file is missing, or has changed since it was imported"


def _find_file(
    function: types.FunctionType, text: str | None, caller: SourceFile | None
) -> SourceFile:
    """The file that holds a function; without lines if its text is not kept."""
    code = function.__code__
    if text is not None:
        return SourceFile(code.co_filename, _given_lines(text, code), is_given=True)
    if caller is not None and caller.is_given and caller.name == code.co_filename:
        if _compiles_to("".join(caller.lines), code):
            return caller
    return SourceFile(code.co_filename, source_lines(function))


def parse(
    function: types.FunctionType,
    text: str | None = None,
    caller: SourceFile | None = None,
) -> tuple[_Node, SourceFile]:
    """The syntax tree of a Python function.

    Args:
        function: the function.
        text: what holds the function, if Python does not keep it.
        caller: the file of a function that calls it, whose text may hold both.

    Raises:
        KernelError: its source is not available.
    """
    code = function.__code__
    file = _find_file(function, text, caller)
    lines = file.lines
    place: Place = {
        "filename": file.name,
        "line": code.co_firstlineno,
        "column": 1,
    }
    try:
        found = _parse_file(lines).get(code.co_firstlineno, [])
    except SyntaxError:  # the file has changed
        found = []
    except RecursionError:
        raise KernelError(
            f"an expression in the file of {function.__qualname__} is nested too "
            "deeply to be parsed",
            hint="compute parts of it in variables",
            **place,
        ) from None
    kind = ast.Lambda if code.co_name == "<lambda>" else ast.FunctionDef
    found = [
        node
        for node in found
        if isinstance(node, kind)
        and getattr(node, "name", code.co_name) == code.co_name
    ]
    if len(found) > 1:
        found = _at_positions(found, code)
    if not found:
        if file.is_given:
            raise KernelError(
                f"the text that source= gives does not hold {function.__qualname__}",
                hint="give all of the text that exec runs, or all lines of the "
                "function with its decorators",
                **place,
            )
        raise KernelError(
            f"cannot read the source of {function.__qualname__}",
            hint=_missing_source_hint(file.name),
            **place,
        )
    if len(found) > 1:
        raise KernelError(
            f"line {code.co_firstlineno} has several functions with the same code; "
            "cannot identify which one this is",
            hint="write each in a line of its own",
            **place,
        )
    return found[0], file


def _at_positions(nodes: list[_Node], code: CodeType) -> list[_Node]:
    """The one of several lambdas in a line that was compiled to `code`."""
    if not hasattr(code, "co_positions"):  # before Python 3.11
        return nodes
    first = min(
        (line, column)
        for line, _, column, end in code.co_positions()
        if line is not None and column is not None and column < (end or 0)
    )
    around: list[_Node] = [
        node
        for node in nodes
        if isinstance(node, ast.Lambda)
        and (node.body.lineno, node.body.col_offset)
        <= first
        <= (node.body.end_lineno or 0, node.body.end_col_offset or 0)
    ]
    # Of nested ones, the innermost begins last.
    around.sort(key=lambda node: (node.lineno, node.col_offset))
    return around[-1:]


def from_python(
    function: types.FunctionType,
    text: str | None = None,
    caller: SourceFile | None = None,
) -> SourceFunction:
    """A Python function as one to interpret; arguments as for :func:`parse`."""
    node, file = parse(function, text, caller)
    closure = {}
    for name, cell in zip(
        function.__code__.co_freevars, function.__closure__ or (), strict=True
    ):
        try:
            closure[name] = cell.cell_contents
        except ValueError:  # assigned later than the function was made
            continue
    return SourceFunction(
        function.__qualname__,
        body_of(node),
        inspect.signature(function),
        file,
        [closure, function.__globals__, vars(builtins)],
    )


def define_function(
    node: ast.FunctionDef | ast.Lambda,
    file: SourceFile,
    scopes: Sequence[Mapping[str, Any]],
    evaluate: Callable[[ast.expr], Any],
) -> SourceFunction:
    """A function that is defined inside another one.

    Args:
        node: the definition.
        file: the file that holds it.
        scopes: where its free names are looked up, the nearest scope first.
        evaluate: evaluates the defaults of its parameters.
    """
    name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
    signature = _signature(node.args, evaluate)
    return SourceFunction(name, body_of(node), signature, file, scopes)


def _signature(
    args: ast.arguments, evaluate: Callable[[ast.expr], Any]
) -> inspect.Signature:
    """The parameters of a definition with the values of their defaults."""
    Parameter = inspect.Parameter
    positional = [*args.posonlyargs, *args.args]
    defaults = [Parameter.empty] * (len(positional) - len(args.defaults))
    defaults += map(evaluate, args.defaults)
    parameters = [
        Parameter(arg.arg, Parameter.POSITIONAL_OR_KEYWORD, default=default)
        for arg, default in zip(positional, defaults, strict=True)
    ]
    if args.vararg:
        parameters.append(Parameter(args.vararg.arg, Parameter.VAR_POSITIONAL))
    for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        value = Parameter.empty if default is None else evaluate(default)
        parameters.append(Parameter(arg.arg, Parameter.KEYWORD_ONLY, default=value))
    if args.kwarg:
        parameters.append(Parameter(args.kwarg.arg, Parameter.VAR_KEYWORD))
    return inspect.Signature(parameters)


def captured_names(function: types.FunctionType) -> list[tuple[dict[str, Any], str]]:
    """Where a function and those it calls may find plain numbers and texts.

    They are part of the kernel that is built, so that it has to be built again when
    they change.
    """
    found, seen = [], set()
    pending = [(function.__code__, function.__globals__)]
    while pending:
        code, scope = pending.pop()
        if code in seen:
            continue
        seen.add(code)
        nested = [const for const in code.co_consts if isinstance(const, CodeType)]
        pending += [(inner, scope) for inner in nested]
        for name in code.co_names:
            value = scope.get(name)
            value = getattr(value, "python", value)
            if isinstance(value, types.FunctionType):
                pending.append((value.__code__, value.__globals__))
            elif isinstance(value, (int, float, str, DType)):
                found.append((scope, name))
    return found


def body_of(node: _Node) -> list[ast.stmt]:
    """The statements of a function; a lambda's is to return its expression."""
    if isinstance(node, ast.Lambda):
        return [ast.copy_location(ast.Return(node.body), node.body)]
    return node.body


def assigned_names(statements: list[ast.stmt]) -> list[str]:
    """Names that statements assign, in order, without those of nested functions."""
    names: dict[str, None] = {}
    # A stack, because expressions can be nested deeper than calls of Python.
    pending: list[ast.AST] = [*reversed(statements)]
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names[node.name] = None
        elif not isinstance(node, (ast.Lambda, ast.ListComp, ast.GeneratorExp)):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                names[node.id] = None
            pending += reversed([*ast.iter_child_nodes(node)])
    return list(names)


def contains_return(statements: list[ast.stmt]) -> bool:
    """Whether statements return from their function."""
    for statement in statements:
        if isinstance(statement, ast.Return):
            return True
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            continue
        for name in ("body", "orelse"):
            if contains_return(getattr(statement, name, [])):
                return True
    return False
