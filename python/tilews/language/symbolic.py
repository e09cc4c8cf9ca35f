"""Index arithmetic read back from the operations that compute it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import ir
from ..errors import LanguageError
from .builder import Builder
from .types import dtype_of_ir
from .values import Scalar

#: A sum of values times integers, plus an integer.
Linear = tuple[dict[Any, int], int]

#: Operations whose result has the common divisors of the operands. Those that a cast
#: keeps are powers of two, also where a sum wraps around.
_KEEP_DIVISORS = {
    *("arith.index_cast", "arith.index_castui", "arith.extsi", "arith.extui"),
    *("arith.addi", "arith.subi", "arith.trunci"),
    *("arith.minsi", "arith.maxsi", "arith.minui", "arith.maxui"),
}
_CASTS = {"arith.index_cast", "arith.index_castui", "arith.extsi", "arith.extui"}


def _owner(value: ir.Value) -> ir.Operation | None:
    """The operation that defines a value, or None for a block argument."""
    owner = value.owner
    return None if isinstance(owner, ir.Block) else owner.operation


def _constant(value: ir.Value) -> int | None:
    op = _owner(value)
    if op is None or op.name != "arith.constant":
        return None
    attribute = op.attributes["value"]
    return attribute.value if isinstance(attribute, ir.IntegerAttr) else None


def _key(value: ir.Value) -> Any:
    """Equal for values that are the same although computed twice."""
    op = _owner(value)
    if op is not None and op.name == "memref.dim":
        return "dim", op.operands[0], _constant(op.operands[1])
    if op is not None and op.name in ("gpu.block_id", "gpu.grid_dim"):
        return op.name, str(op.attributes["dimension"])
    return value


def _add(lhs: Linear, rhs: Linear, factor: int) -> Linear:
    terms = dict(lhs[0])
    for key, coefficient in rhs[0].items():
        terms[key] = terms.get(key, 0) + factor * coefficient
    terms = {key: coefficient for key, coefficient in terms.items() if coefficient}
    return terms, lhs[1] + factor * rhs[1]


def _linear(value: ir.Value) -> Linear:
    number = _constant(value)
    if number is not None:
        return {}, number
    op = _owner(value)
    if op is None:
        return {_key(value): 1}, 0
    if op.name in _CASTS:
        return _linear(op.operands[0])
    if op.name in ("arith.addi", "arith.subi"):
        sign = 1 if op.name == "arith.addi" else -1
        return _add(_linear(op.operands[0]), _linear(op.operands[1]), sign)
    if op.name == "arith.muli":
        lhs, rhs = _linear(op.operands[0]), _linear(op.operands[1])
        if not lhs[0]:
            lhs, rhs = rhs, lhs
        if not rhs[0]:
            return _add(({}, 0), lhs, rhs[1])
    return {_key(value): 1}, 0


def quotient(value: int | Scalar, divisor: int) -> int | Scalar | None:
    """`value / divisor` if every run has a whole number there, else None."""
    if isinstance(value, int):
        return None if value % divisor else value // divisor
    return value // divisor if _divides(divisor, value.ir) else None


def _divides(divisor: int, value: ir.Value) -> bool:
    """Whether an integer is a multiple in every run, as its operations tell."""
    number = _constant(value)
    if number is not None:
        return number % divisor == 0
    owner = value.owner
    if isinstance(owner, ir.Block):
        loop = owner.owner
        if loop is None or loop.name != "scf.for" or owner.arguments[0] != value:
            return False
        start, _, step = list(loop.operands)[:3]
        return _divides(divisor, start) and _divides(divisor, step)
    op = owner.operation
    if op.name in _KEEP_DIVISORS:
        return all(_divides(divisor, operand) for operand in op.operands)
    if op.name == "arith.muli":
        return any(_divides(divisor, operand) for operand in op.operands)
    if op.name == "arith.select":
        return all(_divides(divisor, operand) for operand in list(op.operands)[1:])
    return False


def difference(stop: int | Scalar, start: int | Scalar) -> int | None:
    """`stop - start` if it is the same number in every run, else None."""
    last, first = (
        _linear(value.ir) if isinstance(value, Scalar) else ({}, value)
        for value in (stop, start)
    )
    terms, number = _add(last, first, -1)
    return None if terms else number


def known_difference(stop: int | Scalar, start: int | Scalar) -> Scalar | None:
    """The scalar that `stop - start` is, as `n` for `i + n` and `i`, else None."""
    if not isinstance(stop, Scalar):
        return None
    if isinstance(start, int):
        return stop if start == 0 else None
    op = _owner(stop.ir)
    while op is not None and op.name in _CASTS:
        op = _owner(op.operands[0])
    if op is None or op.name != "arith.addi":
        return None
    for part, rest in (op.operands, reversed(op.operands)):
        if _linear(part) == _linear(start.ir):
            dtype = dtype_of_ir(rest.type)
            return Scalar(rest, stop.dtype if stop.dtype.signed == dtype else dtype)
    return None


def _argument_symbols(builder: Builder) -> dict[tuple[int, int | None], int]:
    """Positions of the symbols of ``tile.grid``.

    Argument by argument, the dynamic extents of a memref, or (dimension None) the
    value of an integer.
    """
    symbols: dict[tuple[int, int | None], int] = {}
    for number, argument in enumerate(builder.entry.arguments):
        if isinstance(argument.type, ir.MemRefType):
            for dim in range(argument.type.rank):
                if argument.type.is_dynamic_dim(dim):
                    symbols[number, dim] = len(symbols)
        elif isinstance(argument.type, (ir.IntegerType, ir.IndexType)):
            symbols[number, None] = len(symbols)
    return symbols


def grid_map(builder: Builder, extents: list[int | Scalar]) -> ir.AffineMap:
    """The extents of a grid as an affine map of the kernel's arguments."""
    symbols = _argument_symbols(builder)
    results = []
    for extent in extents:
        if isinstance(extent, Scalar):
            results.append(_affine(extent.ir, symbols, builder))
        else:
            results.append(ir.AffineExpr.get_constant(extent))
    return ir.AffineMap.get(0, len(symbols), results)


def _affine(
    value: ir.Value, symbols: dict[tuple[int, int | None], int], builder: Builder
) -> ir.AffineExpr:
    number = _constant(value)
    if number is not None:
        return ir.AffineExpr.get_constant(number)
    op = _owner(value)
    place: tuple[int, int | None] | None = None
    if op is None and ir.BlockArgument(value).owner == builder.entry:
        place = ir.BlockArgument(value).arg_number, None
    elif op is not None and op.name == "memref.dim" and _owner(op.operands[0]) is None:
        memref = ir.BlockArgument(op.operands[0])
        place = memref.arg_number, _constant(op.operands[1])
    if place is not None and place in symbols:
        return ir.AffineExpr.get_symbol(symbols[place])
    if op is not None and op.name in _CASTS:
        return _affine(op.operands[0], symbols, builder)
    if op is not None and op.name in _AFFINE:
        operands = [_affine(operand, symbols, builder) for operand in op.operands]
        return _AFFINE[op.name](*operands)
    name = "" if op is None else op.name
    raise LanguageError(
        "the grid has to be an expression of the kernel's arguments: extents and "
        f"integers, +, -, *, // and tl.cdiv; found {name or 'another value'}"
    )


_AFFINE: dict[str, Callable[[ir.AffineExpr, ir.AffineExpr], ir.AffineExpr]] = {
    "arith.addi": lambda lhs, rhs: lhs + rhs,
    "arith.subi": lambda lhs, rhs: lhs - rhs,
    "arith.muli": lambda lhs, rhs: lhs * rhs,
    "arith.floordivsi": lambda lhs, rhs: ir.AffineExpr.get_floor_div(lhs, rhs),
    "arith.ceildivsi": lambda lhs, rhs: ir.AffineExpr.get_ceil_div(lhs, rhs),
    "arith.divui": lambda lhs, rhs: ir.AffineExpr.get_floor_div(lhs, rhs),
    "arith.ceildivui": lambda lhs, rhs: ir.AffineExpr.get_ceil_div(lhs, rhs),
}
