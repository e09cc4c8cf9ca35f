"""What operations of integers, and conversions, compute for all operands.

The definitions are in Python's exact integers and share no code with the interpreter.
``docs/language.md`` states the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import ml_dtypes
import numpy as np

from support.interpreting import FLOATS, round_to

#: `index` has 64 bits in these kernels.
WIDTHS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64, "index": 64}


def wrap(value: int, width: int) -> int:
    """The integer of `width` bits, with a sign, that `value` is modulo 2^width."""
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


def natural(value: int, width: int) -> int:
    return value & ((1 << width) - 1)


Definition = Callable[[int, int, int], int]


def _shift(shift: Callable[[int, int, int], int]) -> Definition:
    def define(a: int, b: int, width: int) -> int:
        # Counts have no sign. One of the width or more shifts all bits out.
        return shift(a, min(natural(b, width), width), width)

    return define


def _divide(
    signed: bool, divide: Callable[[int, int], int], remainder: bool = False
) -> Definition:
    def define(a: int, b: int, width: int) -> int:
        if b == 0:
            return a if remainder else -1
        if signed:
            return divide(a, b)
        return divide(natural(a, width), natural(b, width))

    return define


def _to_zero(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _ceiling(a: int, b: int) -> int:
    return -(-a // b)


def _power(a: int, b: int, w: int) -> int:
    if b < 0:  # the reciprocal, toward zero
        return {1: 1, -1: -1 if b % 2 else 1, 0: -1}.get(a, 0)
    return pow(a, b, 1 << w)


#: Binary operations: the bits above the width are cut off.
BINARY: dict[str, Definition] = {
    "arith.addi": lambda a, b, w: a + b,
    "arith.subi": lambda a, b, w: a - b,
    "arith.muli": lambda a, b, w: a * b,
    "arith.andi": lambda a, b, w: a & b,
    "arith.ori": lambda a, b, w: a | b,
    "arith.xori": lambda a, b, w: a ^ b,
    "arith.maxsi": lambda a, b, w: max(a, b),
    "arith.minsi": lambda a, b, w: min(a, b),
    "arith.maxui": lambda a, b, w: max(natural(a, w), natural(b, w)),
    "arith.minui": lambda a, b, w: min(natural(a, w), natural(b, w)),
    "arith.shli": _shift(lambda a, b, w: a << b),
    "arith.shrsi": _shift(lambda a, b, w: a >> b),
    "arith.shrui": _shift(lambda a, b, w: natural(a, w) >> b),
    "arith.divsi": _divide(True, _to_zero),
    "arith.divui": _divide(False, _to_zero),
    "arith.remsi": _divide(True, lambda a, b: a - b * _to_zero(a, b), True),
    "arith.remui": _divide(False, lambda a, b: a % b, True),
    "arith.floordivsi": _divide(True, lambda a, b: a // b),
    "arith.ceildivsi": _divide(True, _ceiling),
    "arith.ceildivui": _divide(False, _ceiling),
    "math.ipowi": _power,
}
#: Those of the index dialect, by their twins.
INDEX_TWINS = {
    "index.shl": "arith.shli",
    "index.shrs": "arith.shrsi",
    "index.shru": "arith.shrui",
    "index.divs": "arith.divsi",
    "index.divu": "arith.divui",
    "index.rems": "arith.remsi",
    "index.remu": "arith.remui",
    "index.floordivs": "arith.floordivsi",
    "index.ceildivs": "arith.ceildivsi",
    "index.ceildivu": "arith.ceildivui",
}
UNARY: dict[str, Callable[[int, int], int]] = {
    "math.absi": lambda a, w: abs(a),
    "math.ctlz": lambda a, w: w - natural(a, w).bit_length(),
    "math.cttz": lambda a, w: w if a == 0 else (a & -a).bit_length() - 1,
    "math.ctpop": lambda a, w: natural(a, w).bit_count(),
}
COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "slt": lambda a, b: a < b,
    "sle": lambda a, b: a <= b,
    "sgt": lambda a, b: a > b,
    "sge": lambda a, b: a >= b,
}


def edges(width: int) -> list[int]:
    """Integers at the ends of the range, and around the width and zero.

    The first ten are enough where a run takes long.
    """
    low, high = -(1 << (width - 1)), (1 << (width - 1)) - 1
    return [
        *(0, -1, 1, width, width - 1, -width, low, high, 7, -7),
        *(2, -2, 3, width + 1, 2 * width - 1),
        *(low + 1, high - 1, low // 3, high // 5),
    ]


def float_edges(type_: str) -> np.ndarray:
    """Numbers around the limits of all integers, and those that are none."""
    info = ml_dtypes.finfo(FLOATS[type_])
    values = [0.0, 0.5, 0.75, 1.0, 1.5, 2.5, 100.4, 300.0, 1e9, 4e9, 1e18, 1e19, 3e38]
    for width in (8, 16, 32, 64):
        for power in (width - 1, width):
            limit = 2.0**power
            values += [limit, limit - 1, limit + 1, limit - 0.5]
            values += [limit * (1 - float(info.eps)), limit * (1 + float(info.eps))]
    values += [float(info.max), float(info.smallest_subnormal), math.inf]
    values += [-value for value in values] + [math.nan]
    rounded = round_to(np.array(values), type_)
    return rounded


def to_integer(value: float, width: int, signed: bool) -> int:
    """Toward zero; saturates, and NaN becomes zero."""
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, 0)
    if not signed:
        high = (1 << width) - 1
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return high if value > 0 else low
    return min(max(int(value), low), high)
