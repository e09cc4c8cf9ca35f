"""Expressions of a manifest: the grid of a kernel as a function of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .launch_errors import LaunchError

_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "mod": lambda a, b: a % b,
    "floordiv": lambda a, b: a // b,
    "ceildiv": lambda a, b: -(-a // b),
}


def evaluate(
    expression: Any,
    shapes: Mapping[int, Sequence[int]],
    scalars: Mapping[int, int],
    strides: Mapping[int, Sequence[int]] | None = None,
) -> int:
    """Evaluates an expression of a manifest.

    Args:
        expression: a number or a tree, as the manifest describes them.
        shapes: the extents of each array, by the argument's position.
        scalars: the value of each integer argument, by position.
        strides: the strides of each array in elements, by the argument's position.

    Raises:
        LaunchError: if it divides by zero.
    """
    if isinstance(expression, int):
        return expression
    if "extent" in expression:
        argument, dimension = expression["extent"]
        return shapes[argument][dimension]
    if "scalar" in expression:
        return scalars[expression["scalar"]]
    if "stride" in expression:
        argument, dimension = expression["stride"]
        return (strides or {})[argument][dimension]
    a, b = (evaluate(arg, shapes, scalars, strides) for arg in expression["args"])
    if b == 0 and expression["op"] not in ("add", "mul"):
        raise LaunchError("the grid of the kernel divides by zero")
    return _OPERATIONS[expression["op"]](a, b)


def with_shapes(expression: Any, shapes: Mapping[int, Sequence[int]]) -> Any:
    """An expression of a grid with the extents of arrays as numbers."""
    if isinstance(expression, int) or "scalar" in expression:
        return expression
    if "extent" in expression:
        return evaluate(expression, shapes, {})
    args = [with_shapes(each, shapes) for each in expression["args"]]
    return {**expression, "args": args}


def scalars_in(expression: Any) -> set[int]:
    """The positions of the integer arguments in a grid expression."""
    if isinstance(expression, int) or "extent" in expression:
        return set()
    if "scalar" in expression:
        return {expression["scalar"]}
    return set().union(*map(scalars_in, expression["args"]))
