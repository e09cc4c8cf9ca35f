"""Operators: their element types, broadcasting, and their operations of arith."""

from __future__ import annotations

from typing import Any, overload

from .. import ir
from ..dialects import arith, math, tensor, tile
from ..errors import LanguageError
from .builder import chip_type, constant
from .types import DType, dtype_hint, f32, i1, i64, index
from .unloaded import InMemory, load_hint
from .values import CarriedNumber, Cursor, Scalar, Tile, Value, describe, wrap

_Number = (bool, int, float)


def is_number(value: Any) -> bool:
    """Whether a value is a Python number (numpy's scalars included)."""
    return isinstance(value, _Number) or (
        hasattr(value, "item") and getattr(value, "shape", None) == ()
    )


def number(value: Any) -> float:
    """A Python or numpy number as a Python number."""
    return value if isinstance(value, _Number) else value.item()


def default_dtype(value: Any) -> DType:
    """The element type of a number that is combined with no other value."""
    value = number(value)
    return f32 if isinstance(value, float) else index


def broadcast_shapes(what: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that all shapes broadcast to, by numpy's rules.

    Raises:
        LanguageError: two shapes do not fit; `what` names the caller in the message.
    """
    rank = max(len(shape) for shape in shapes)
    aligned = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    result = []
    for dim, extents in enumerate(zip(*aligned, strict=True)):
        larger = {extent for extent in extents if extent != 1}
        if len(larger) > 1:
            raise LanguageError(
                f"{what}: shapes {' and '.join(map(str, shapes))} differ in dimension "
                f"{dim - rank}",
                "extents agree, or one of them is 1",
            )
        result.append(larger.pop() if larger else 1)
    return tuple(result)


def broadcast(value: Tile, shape: tuple[int, ...]) -> Tile:
    """A fragment repeated to a shape that it fits."""
    result = value.ir
    for _ in range(len(shape) - len(value.shape)):
        result = tile.expand_dims(result, 0)
    if tuple(ir.RankedTensorType(result.type).shape) != shape:
        type_ = ir.RankedTensorType.get(shape, value.dtype.to_ir())
        result = tile.broadcast(type_, result)
    return Tile(result, value.dtype)


def _common_dtype(what: str, values: list[Value]) -> DType:
    """The element type that all operands have or adapt to."""
    firm = [value for value in values if not isinstance(value, CarriedNumber)]
    if firm and all(
        number.dtype.is_int or firm[0].dtype.is_float
        for number in values
        if isinstance(number, CarriedNumber)
    ):
        values = firm
    tiles = [value for value in values if isinstance(value, Tile)]
    scalars = [value for value in values if not isinstance(value, Tile)]
    dtypes = dict.fromkeys(value.dtype for value in tiles + scalars)
    if len(dtypes) > 1 and all(dtype.is_int for dtype in dtypes):
        if not tiles and index in dtypes:
            return index
        # Scalars of type index adapt to a fragment's integers.
        if tiles and {v.dtype for v in scalars} <= {index, tiles[0].dtype}:
            dtypes = dict.fromkeys(value.dtype for value in tiles)
    if len(dtypes) > 1:
        first, second = list(dtypes)[:2]
        raise LanguageError(
            f"{what}: operands have types {first} and {second}",
            f"convert one of them, for example with .to(tl.{first})",
        )
    return next(iter(dtypes))


@overload
def as_value(value: Any, dtype: DType, shape: tuple[int, ...]) -> Tile: ...


@overload
def as_value(value: Any, dtype: DType, shape: tuple[int, ...] | None) -> Value: ...


def as_value(value: Any, dtype: DType, shape: tuple[int, ...] | None) -> Value:
    """A number or scalar as a scalar of `dtype`, or as a fragment of `shape`."""
    if is_number(value):
        return wrap(constant(number(value), dtype, shape), dtype)
    if value.dtype != dtype:
        value = cast(value, dtype)
    if shape is None:
        return value
    if isinstance(value, Tile):
        return broadcast(value, shape)
    type_ = ir.RankedTensorType.get(shape, dtype.to_ir())
    return Tile(tensor.splat(type_, value.ir, []), dtype)


def _array_hint(value: Any) -> str | None:
    """What to do with an array where a value is needed; None for other objects."""
    if isinstance(value, Value) or is_number(value):
        return None
    if not getattr(value, "shape", ()) or not hasattr(value, "dtype"):
        return None
    return (
        "an array is known outside of the kernel only: make it an argument, or compute "
        "its elements with tl.arange or tl.full"
    )


def unify(what: str, *operands: Any) -> list[Value]:
    """Operands with one element type and one shape.

    Raises:
        LanguageError: an operand is no value, or types or shapes do not fit.
    """
    for operand in operands:
        is_value = isinstance(operand, Value) and not isinstance(operand, Cursor)
        if not is_value and not is_number(operand):
            raise LanguageError(
                f"{what}: expected a fragment, a scalar or a number, found "
                f"{describe(operand)}",
                load_hint(operand) or _array_hint(operand),
            )
    values = [operand for operand in operands if isinstance(operand, Value)]
    if values:
        dtype = _common_dtype(what, values)
    else:
        floats = [x for x in operands if isinstance(number(x), float)]
        dtype = default_dtype((floats or operands)[0])
    shapes = [value.shape for value in values if isinstance(value, Tile)]
    shape = broadcast_shapes(what, *shapes) if shapes else None
    return [as_value(operand, dtype, shape) for operand in operands]


#: The operations of `arith`, by name: a module that is not loaded yet.
_FLOAT_OPS = {"+": "addf", "-": "subf", "*": "mulf", "/": "divf"}
_INT_OPS = {
    "+": "addi",
    "-": "subi",
    "*": "muli",
    "//": "floordivsi",
    "&": "andi",
    "|": "ori",
    "^": "xori",
    "<<": "shli",
    ">>": "shrsi",
}
_UNSIGNED_OPS = {**_INT_OPS, "//": "divui", ">>": "shrui"}
_FLOAT_HINTS = {"//": "write tl.floor(a / b)"}


def binary(op: str, lhs: Any, rhs: Any) -> Value:
    """``lhs op rhs`` for one of Python's operators."""
    for operand in (lhs, rhs):
        if not isinstance(operand, InMemory) and _array_hint(operand):
            unify(f"'{op}'", operand)  # Raises.
    if not _operands_fit(lhs, rhs):
        return NotImplemented
    if op == "**":
        return _power(lhs, rhs)
    lhs, rhs = unify(f"'{op}'", lhs, rhs)
    if lhs.dtype.is_float:
        if op == "%":
            return _float_remainder(lhs, rhs)
        if op not in _FLOAT_OPS:
            raise LanguageError(
                f"'{op}' takes integers, found {lhs.dtype}", _FLOAT_HINTS.get(op)
            )
        return wrap(getattr(arith, _FLOAT_OPS[op])(lhs.ir, rhs.ir))
    if op == "/":
        raise LanguageError(
            f"'/' takes floating point, found {lhs.dtype}",
            "write // for integers, or convert with .to(tl.f32)",
        )
    if not lhs.dtype.has_sign:
        name = "remui" if op == "%" else _UNSIGNED_OPS[op]
        return wrap(getattr(arith, name)(lhs.ir, rhs.ir), lhs.dtype)
    if op == "%":
        # Python's remainder has the sign of the divisor.
        quotient = arith.floordivsi(lhs.ir, rhs.ir)
        return wrap(arith.subi(lhs.ir, arith.muli(quotient, rhs.ir)))
    return wrap(getattr(arith, _INT_OPS[op])(lhs.ir, rhs.ir))


def _float_remainder(lhs: Value, rhs: Value) -> Value:
    """The remainder with the sign of the divisor, as Python's and numpy's.

    ``remf`` is exact, and has the sign of the dividend: where signs differ, the divisor
    is added. A zero gets the sign of the divisor, too.
    """
    rest = wrap(arith.remf(lhs.ir, rhs.ir))
    zero = as_value(0.0, rest.dtype, rest.shape)
    differs = binary("^", compare("<", rest, zero), compare("<", rhs, zero))
    moved = arith.select(differs.ir, arith.addf(rest.ir, rhs.ir), rest.ir)
    signed_zero = math.copysign(zero.ir, rhs.ir)
    return wrap(arith.select(compare("==", rest, zero).ir, signed_zero, moved))


def _operands_fit(*operands: Any) -> bool:
    return all(isinstance(operand, Value) or is_number(operand) for operand in operands)


def unsigned(name: str, lhs: Any, rhs: Any) -> Value:
    """The unsigned form of a division, remainder or shift."""
    lhs, rhs = unify(f"tl.{name}", lhs, rhs)
    if lhs.dtype.is_float:
        raise LanguageError(f"tl.{name} takes integers, found {lhs.dtype}")
    op = {"udiv": arith.divui, "umod": arith.remui, "ushr": arith.shrui}[name]
    return wrap(op(lhs.ir, rhs.ir), lhs.dtype)


def _power(lhs: Any, rhs: Any) -> Value:
    """``lhs ** rhs``: multiplications for the constant powers 1 to 4, else ``powf``.

    The code for GPUs multiplies for other constant integers, too.
    """
    if is_number(rhs) and number(rhs) in (1, 2, 3, 4):
        result = lhs
        for _ in range(int(number(rhs)) - 1):
            result = result * lhs
        return result
    lhs, rhs = unify("'**'", lhs, rhs)
    if not lhs.dtype.is_float:
        raise LanguageError(
            f"'**' takes floating point, found {lhs.dtype}",
            "integers have the constant powers 1 to 4",
        )
    return wrap(math.powf(lhs.ir, rhs.ir))


#: The predicates of signed and unsigned integers and of floating point.
_PREDICATES = {
    "<": ("slt", "ult", "OLT"),
    "<=": ("sle", "ule", "OLE"),
    ">": ("sgt", "ugt", "OGT"),
    ">=": ("sge", "uge", "OGE"),
    "==": ("eq", "eq", "OEQ"),
    "!=": ("ne", "ne", "UNE"),
}


def compare(op: str, lhs: Any, rhs: Any) -> Value:
    """``lhs op rhs`` as i1; comparisons with NaN are false, but for ``!=``."""
    lhs, rhs = unify(f"'{op}'", lhs, rhs)
    on_signed, on_unsigned, on_float = _PREDICATES[op]
    if lhs.dtype.is_float:
        predicate = arith.CmpFPredicate[on_float]
        return wrap(arith.cmpf(predicate, lhs.ir, rhs.ir))
    on_int = on_signed if lhs.dtype.has_sign else on_unsigned
    return wrap(arith.cmpi(arith.CmpIPredicate[on_int], lhs.ir, rhs.ir))


def negate(value: Value) -> Value:
    (value,) = unify("'-'", value)
    if value.dtype.is_float:
        return wrap(arith.negf(value.ir))
    return binary("-", 0, value)


def invert(value: Value) -> Value:
    (value,) = unify("'~'", value)
    if value.dtype.is_float:
        raise LanguageError(f"'~' takes integers, found {value.dtype}")
    dtype = value.dtype
    ones = -1 if dtype.has_sign else (1 << dtype.bits) - 1
    return binary("^", value, ones)


def _type_like(value: Value, dtype: DType) -> ir.Type:
    if value.shape is None:
        return dtype.to_ir()
    return ir.RankedTensorType.get(value.shape, dtype.to_ir())


def _element_type(dtype: Any) -> DType:
    """An element type, of the target."""
    if not isinstance(dtype, DType):
        raise LanguageError(
            f"expected an element type such as tl.f16, found {describe(dtype)}",
            dtype_hint(dtype),
        )
    return chip_type(dtype)


def cast(value: Any, dtype: DType) -> Value:
    """See :meth:`Value.to`; makes a scalar of a number."""
    dtype = _element_type(dtype)
    if is_number(value):
        return wrap(constant(number(value), dtype, None), dtype)
    if not isinstance(value, Value) or isinstance(value, Cursor):
        raise LanguageError(
            f"cannot convert {describe(value)} to {dtype}", load_hint(value)
        )
    source = value.dtype
    if source == dtype:
        return value
    if dtype.is_bool:
        return compare("!=", value, 0)
    if source.is_index and dtype.is_float:
        return cast(cast(value, i64), dtype)
    if source.is_float and dtype.is_index:
        return cast(cast(value, i64), dtype)
    if source.is_float != dtype.is_float and _is_small(source, dtype):
        return cast(cast(value, f32), dtype)
    type_ = _type_like(value, dtype)
    if source.is_float and dtype.is_float:
        return _cast_float(value, dtype, type_)
    if source.is_float:
        convert = arith.fptoui if dtype.is_unsigned else arith.fptosi
    elif dtype.is_float:
        convert = arith.sitofp if source.has_sign else arith.uitofp
    elif source.is_index or dtype.is_index:
        convert = arith.index_cast if source.has_sign else arith.index_castui
    elif dtype.mlir == source.mlir:
        return wrap(value.ir, dtype)
    elif dtype.bits < source.bits:
        convert = arith.trunci
    else:
        convert = arith.extsi if source.has_sign else arith.extui
    return wrap(convert(type_, value.ir), dtype)


def _is_small(*dtypes: DType) -> bool:
    """Whether a type is floating point of at most 8 bits."""
    return any(dtype.is_float and dtype.bits <= 8 for dtype in dtypes)


def _cast_float(value: Value, dtype: DType, type_: ir.Type) -> Value:
    if dtype.bits > value.dtype.bits:
        return wrap(arith.extf(type_, value.ir))
    if dtype.bits < value.dtype.bits:
        return wrap(arith.truncf(type_, value.ir))
    # Formats of one width do not contain each other; f32 contains both.
    return cast(cast(value, f32), dtype)


def _bits_in_memory(dtype: DType) -> int:
    """The bits of an element that another one's may be read from; 0 for none."""
    if dtype.is_index or dtype.is_bool:
        return 0
    return 8 if dtype.bits == 6 else dtype.bits


def bitcast(value: Any, dtype: DType) -> Any:
    """See :meth:`Value.bitcast`."""
    (value,) = unify("bitcast", value)
    dtype, source = _element_type(dtype), value.dtype
    if source.mlir == dtype.mlir:
        return wrap(value.ir, dtype)
    if source.bits == dtype.bits and not source.is_index and not dtype.is_index:
        return wrap(arith.bitcast(_type_like(value, dtype), value.ir), dtype)
    before, after = _bits_in_memory(source), _bits_in_memory(dtype)
    if not before or not after or not value.shape:
        raise LanguageError(
            f"cannot read the bits of {source} as {dtype}",
            "a scalar keeps its width, and i1 and index have no other form",
        )
    *outer, last = value.shape
    if last * before % after:
        raise LanguageError(
            f"bitcast: {last} elements of {source} along the last dimension are no "
            f"whole number of {dtype}"
        )
    shape = (*outer, last * before // after)
    type_ = ir.RankedTensorType.get(shape, dtype.to_ir())
    return wrap(tile.bitcast(type_, value.ir), dtype)


def as_index(value: Any, what: str) -> ir.Value:
    """An integer scalar or number as an MLIR index."""
    if is_number(value) and not isinstance(number(value), float):
        return constant(number(value), index, None)
    if isinstance(value, Scalar) and value.dtype.is_int:
        return cast(value, index).ir
    raise LanguageError(
        f"{what}: expected an integer scalar, found {describe(value)}",
        load_hint(value),
    )


def as_condition(value: Any, what: str) -> Scalar:
    """A scalar as i1, integers being compared with zero."""
    if isinstance(value, Tile):
        raise LanguageError(
            f"{what}: a fragment has many truth values",
            "reduce it with tl.any or tl.all, or choose by element with tl.where",
        )
    if isinstance(value, Scalar) and value.dtype.is_int:
        condition = cast(value, i1)
        assert isinstance(condition, Scalar)
        return condition
    raise LanguageError(
        f"{what}: expected a condition, found {describe(value)}", load_hint(value)
    )
