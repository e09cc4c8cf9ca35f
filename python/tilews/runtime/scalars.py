"""Numbers of a call: scalar arguments and the grid."""

from __future__ import annotations

import functools
import itertools
import math
import operator
import struct
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any

from .launch_errors import LaunchError
from .schema import show

#: Iterables whose items have no order, or are no numbers of blocks.
_NO_NUMBERS = (Mapping, Set, str, bytes, bytearray)
_MAX_GRID = (2**31 - 1, 65535, 65535)
# Without "<", struct makes large numbers infinite.
_CODES = {"f16": ("<e", "<H"), "f32": ("<f", "<I"), "f64": ("<d", "<Q")}


def scalar_packer(dtype: str, is_unsigned: bool = False) -> Callable[[Any, str], int]:
    """The function from a scalar argument and its name to the bits of its parameter.

    It raises a LaunchError if the argument is no number, or one that the type does not
    hold: nothing wraps around or becomes infinite. Integers have a sign unless
    `is_unsigned`; those of one bit are 0 and 1.
    """
    if dtype.startswith("i"):
        return _pack_integer(dtype, is_unsigned)
    return _pack_float(dtype)


def _pack_integer(dtype: str, is_unsigned: bool) -> Callable[[Any, str], int]:
    bits = 64 if dtype == "index" else int(dtype[1:])
    has_sign = bits > 1 and not is_unsigned
    lowest = -(1 << (bits - 1)) if has_sign else 0
    highest = (1 << (bits - has_sign)) - 1
    kind = f"u{bits}" if is_unsigned else dtype

    def pack(value: Any, name: str) -> int:
        number = read_integer(value)
        if number is None:
            raise LaunchError(
                f"argument '{name}': expected an integer, found {show(value)}"
            )
        if not lowest <= number <= highest:
            raise LaunchError(
                f"argument '{name}': expected an integer from {lowest} to {highest} "
                f"({kind}), found {show(number)}"
            )
        return number & ((1 << bits) - 1)

    return pack


def read_integer(value: Any) -> int | None:
    """A number of Python, numpy or the like as one of Python; None if it is none."""
    try:
        return operator.index(value)
    except TypeError:
        import numpy

        # Python makes no number of a truth value of numpy.
        return int(value) if isinstance(value, numpy.bool_) else None


def _pack_float(dtype: str) -> Callable[[Any, str], int]:
    def pack(value: Any, name: str) -> int:
        try:
            return float_bits(value, dtype)
        except TypeError:
            raise LaunchError(
                f"argument '{name}': expected a number, found {show(value)}"
            ) from None
        except OverflowError:
            raise LaunchError(
                f"argument '{name}': expected a number that {dtype} holds, found "
                f"{show(value)}"
            ) from None

    return pack


def float_bits(value: Any, dtype: str) -> int:
    """The bits of a real number that is rounded to a type of floating point.

    Raises:
        TypeError: it is no number.
        OverflowError: the type does not hold it.
    """
    return _round(_as_float(value), dtype)


def _as_float(value: Any) -> float:
    """A real number as one of Python.

    Raises:
        TypeError: it is none; numpy would drop an imaginary part.
        OverflowError: it becomes infinite, as a long double may.
    """
    # float() also reads texts.
    if not (hasattr(value, "__float__") or hasattr(value, "__index__")):
        raise TypeError
    if getattr(getattr(value, "dtype", None), "kind", None) == "c":
        raise TypeError
    try:
        number = float(value)
    except ValueError as error:
        raise TypeError from error
    if math.isinf(number) and value != number:
        raise OverflowError
    return number


@functools.cache
def numpy_float(dtype: str) -> Any:
    """The NumPy type of a type of floats, such as ``bf16``."""
    import ml_dtypes
    import numpy

    types = {
        "f64": numpy.float64,
        "f32": numpy.float32,
        "f16": numpy.float16,
        "bf16": ml_dtypes.bfloat16,
        "f8E4M3FN": ml_dtypes.float8_e4m3fn,
        "f8E5M2": ml_dtypes.float8_e5m2,
        "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
        "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
        "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
        "f6E2M3FN": ml_dtypes.float6_e2m3fn,
        "f6E3M2FN": ml_dtypes.float6_e3m2fn,
        "f4E2M1FN": ml_dtypes.float4_e2m1fn,
    }
    return numpy.dtype(types[dtype])


def _round(number: float, dtype: str) -> int:
    """The bits of a number that is rounded to a type.

    Raises:
        OverflowError: the type does not hold it.
    """
    if dtype in _CODES:
        code, integer = _CODES[dtype]
        bits: int = struct.unpack(integer, struct.pack(code, number))[0]
        return bits
    import numpy

    with numpy.errstate(over="ignore", invalid="ignore"):
        rounded = numpy.array(number).astype(numpy_float(dtype))
    if not math.isnan(number) and float(rounded) != number:
        if not math.isfinite(number) or not math.isfinite(float(rounded)):
            raise OverflowError
    return int.from_bytes(rounded.tobytes(), "little")


def read_integers(numbers: int | Iterable[int]) -> list[int]:
    """One number or the given ones; of more than three, the first four.

    Raises:
        TypeError: these are no integers, or have no order.
    """
    try:
        return [operator.index(numbers)]  # type: ignore[arg-type]
    except TypeError:
        if not isinstance(numbers, Iterable) or isinstance(numbers, _NO_NUMBERS):
            raise
    # Iterables may have no end.
    return [*map(operator.index, itertools.islice(numbers, 4))]


def read_grid(grid: int | Iterable[int], kernel: str) -> tuple[int, int, int]:
    """Blocks in x, y and z, of one to three given numbers.

    Raises:
        LaunchError: these are no integers, or a device cannot launch as many.
    """
    try:
        blocks = read_integers(grid)
    except TypeError:
        blocks = []
    if not 1 <= len(blocks) <= 3:
        raise LaunchError(
            f"kernel '{kernel}': expected a grid of one to three integers, found "
            f"{show(grid)}"
        )
    x, y, z = [*blocks, 1, 1][:3]
    if not all(
        0 <= number <= most for number, most in zip((x, y, z), _MAX_GRID, strict=True)
    ):
        raise LaunchError(
            f"kernel '{kernel}': expected a grid from 0 to {_MAX_GRID} blocks, found "
            f"({', '.join(map(show, blocks))})"
        )
    return (x, y, z)
