"""The global names that the code of a function asks for."""

from __future__ import annotations

import ast
import dis
import functools
import re
import types
from collections.abc import Iterator, Sequence

from ..frontend.source import parse

#: A line that may give a local name a type.
_ANNOTATED = re.compile(r"(\s+|.*[;:]\s*)[\w.()]+\s*:\s*[^\s#]")


class UnknownError(Exception):
    """A value whose content no digest covers."""


def all_codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code of a function and of all functions within it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from all_codes(const)


@functools.lru_cache(maxsize=1024)
def global_names(code: types.CodeType) -> frozenset[tuple[str, ...]]:
    """The globals that a function loads, each with the attributes it asks them for.

    For example ``{("config", "BLOCK"), ("helper",)}``.

    Raises:
        UnknownError: it imports modules, or assigns globals.
    """
    found = set()
    for each in all_codes(code):
        names: list[str] = []
        for instruction in dis.get_instructions(each):
            name = instruction.opname
            if name in ("IMPORT_NAME", "STORE_GLOBAL", "STORE_NAME"):
                raise UnknownError
            if name in ("LOAD_ATTR", "LOAD_METHOD") and names:
                names.append(instruction.argval)
            elif name != "EXTENDED_ARG":
                found.add(tuple(names))
                names = []
            if name in ("LOAD_GLOBAL", "LOAD_NAME"):
                names = [instruction.argval]
    return frozenset(found - {()})


def names_of_types(
    function: types.FunctionType, lines: Sequence[str], text: str | None
) -> frozenset[tuple[str, ...]]:
    """Names in the types of local names, ``x: config.TYPE = 0``.

    Python does not evaluate them, so that they are not in the code; the frontend
    does.
    """
    code = function.__code__
    first = code.co_firstlineno
    used = {line or first for x in all_codes(code) for _, _, line in x.co_lines()}
    begin = min(used - {first}, default=first)
    given = lines or tuple((text or "").splitlines())
    body = given[begin - 1 : max(used)]
    if lines and not any(map(_ANNOTATED.match, body)):
        return frozenset()
    node, _ = parse(function, None if lines else text)
    kinds = [x.annotation for x in ast.walk(node) if isinstance(x, ast.AnnAssign)]
    codes = [compile(ast.Expression(each), "", "eval") for each in kinds]
    return frozenset().union(*map(global_names, codes))
