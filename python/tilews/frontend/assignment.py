"""Assignment: values bound to names, unpacked into tuples, stored to buffers."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from ..errors import LanguageError
from ..language.values import Buffer, Tile, describe
from .frame import CallFrame


def assign(
    frame: CallFrame,
    target: ast.expr,
    value: Any,
    evaluate: Callable[[ast.expr], Any],
) -> None:
    """Gives a value to the target of an assignment, a loop or a comprehension.

    Args:
        frame: holds the names.
        target: a name, a tuple of targets, or an element of a buffer.
        value: what is assigned; one item a target if the target is a tuple, and a list
            of the others for a starred target.
        evaluate: evaluates the container and the index of a target ``C[i, j]``.

    Raises:
        LanguageError: kernels cannot assign to such a target.
    """
    if isinstance(target, ast.Name):
        frame.env[target.id] = value
    elif isinstance(target, ast.Starred):
        assign(frame, target.value, value, evaluate)
    elif isinstance(target, (ast.Tuple, ast.List)):
        for item, part in zip(target.elts, _unpack(target, value), strict=True):
            assign(frame, item, part, evaluate)
    elif isinstance(target, ast.Subscript):
        container = evaluate(target.value)
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
        container[evaluate(target.slice)] = value
    else:
        raise LanguageError(f"kernels cannot assign to {ast.unparse(target)}")


def _unpack(target: ast.Tuple | ast.List, value: Any) -> list[Any]:
    """The items of a value, as many as a tuple of targets has."""
    try:
        values = list(value)
    except TypeError:
        raise LanguageError(f"cannot unpack {describe(value)}") from None
    starred = [isinstance(item, ast.Starred) for item in target.elts]
    if any(starred) and len(values) >= len(target.elts) - 1:
        first = starred.index(True)
        last = len(values) - (len(target.elts) - 1 - first)
        return [*values[:first], values[first:last], *values[last:]]
    if len(values) != len(target.elts):
        raise LanguageError(
            f"cannot unpack {len(values)} values into {len(target.elts)} names"
        )
    return values
