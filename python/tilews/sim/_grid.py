"""The blocks of a launch, from the kernel's `tile.grid` and its arguments."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import ir

#: By the class of the expression in `ir`.
_FUNCTIONS: dict[str, Callable[[int, int], int]] = {
    "AffineAddExpr": operator.add,
    "AffineMulExpr": operator.mul,
    "AffineModExpr": operator.mod,
    "AffineFloorDivExpr": operator.floordiv,
    "AffineCeilDivExpr": lambda lhs, rhs: -(-lhs // rhs),
}


def find_grid(kernel: ir.Operation, args: Sequence[Any]) -> list[int] | None:
    """Blocks in x, y and z; None if the kernel has no ``tile.grid``.

    Args:
        kernel: The ``gpu.func``.
        args: As for :func:`run`.

    Raises:
        ValueError: The grid is no expression of the arguments.
    """
    if "tile.grid" not in kernel.attributes:
        return None
    grid = ir.AffineMapAttr(kernel.attributes["tile.grid"]).value
    types = ir.FunctionType(ir.TypeAttr(kernel.attributes["function_type"]).value)
    # The symbols: dynamic extents and integers, argument by argument.
    symbols: list[int] = []
    for type_, arg in zip(types.inputs, args, strict=False):
        if isinstance(arg, np.ndarray) and isinstance(type_, ir.MemRefType):
            dims = range(min(type_.rank, arg.ndim))
            symbols += [arg.shape[dim] for dim in dims if type_.is_dynamic_dim(dim)]
        elif isinstance(type_, (ir.IntegerType, ir.IndexType)):
            symbols.append(int(arg))
    extents = [_evaluate(each, symbols) for each in grid.results]
    return extents + [1] * (3 - len(extents))


def _evaluate(expression: ir.AffineExpr, symbols: Sequence[int]) -> int:
    if isinstance(expression, ir.AffineConstantExpr):
        return expression.value
    if isinstance(expression, ir.AffineSymbolExpr):
        return symbols[expression.position]
    function = _FUNCTIONS.get(type(expression).__name__)
    if function and isinstance(expression, ir.AffineBinaryExpr):
        return function(
            _evaluate(expression.lhs, symbols), _evaluate(expression.rhs, symbols)
        )
    raise ValueError(f"expected a grid of the kernel's arguments, found {expression}")
