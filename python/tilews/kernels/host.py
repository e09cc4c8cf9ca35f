"""What the host functions of the library share: checks of arguments, and results.

An array has a ``shape`` and a ``dtype`` and is one that launches take: of torch, CuPy,
JAX or numpy. Results are allocated by the library of the first argument, on its device.
"""

from __future__ import annotations

import contextlib
import functools
import math
import struct
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._support.call_recorder import current_recorder
from .._support.chips import find_chip
from ..errors import LanguageError
from ..language.types import FNUZ, DType, bf16, dtype_of_array, f16, f32
from ..runtime import LaunchError, device_target
from ..runtime.arrays import is_on_host
from ..runtime.scalars import float_bits, read_integer
from ..runtime.schema import show

#: The smallest number of f32 above 0, and the numbers that are above 0 and finite.
ABOVE_0 = 2.0**-149
POSITIVE = (ABOVE_0, float(np.finfo(np.float32).max))
#: The types that most operations on rows take.
FLOATS = (f16, bf16, f32)


def fail(function: str, text: str) -> LaunchError:
    """The error of a wrong argument, to be raised."""
    return LaunchError(f"{function}: {text}")


def element_type(value: Any) -> DType:
    """The element type that is given as one of tilews, or of an array's library.

    Raises:
        LanguageError: it is none.
    """
    if isinstance(value, DType):
        return value
    if isinstance(value, type):
        value = np.dtype(value)
    return dtype_of_array(types.SimpleNamespace(dtype=value))


def check_type(function: str, name: str, dtype: Any, allowed: Sequence[DType]) -> DType:
    """The element type of an argument, one of those allowed.

    Raises:
        LaunchError: it is another one.
    """
    found = None
    with contextlib.suppress(LanguageError, TypeError):
        found = element_type(dtype)
    if found is not None and found in allowed:
        return found
    expected = f"'{name}': expected one of {', '.join(map(str, allowed))}"
    if isinstance(dtype, str):
        raise fail(function, f"{expected} of tilews.language, found the text {dtype!r}")
    raise fail(function, f"{expected}, found {found or dtype}")


def check_array(
    function: str,
    name: str,
    array: Any,
    shape: Sequence[int | str],
    allowed: Sequence[DType],
) -> DType:
    """Checks an array, and returns its element type.

    Args:
        function: the name of the operation, for errors.
        name: the name of the argument.
        array: the argument.
        shape: numbers, and names for extents that may be any; "..." as the first one
            stands for any number of extents.
        allowed: element types.

    Raises:
        LaunchError: it is no array, or of another type or shape, or not row-major.
    """
    if not hasattr(array, "shape") or not hasattr(array, "dtype"):
        raise fail(
            function,
            f"'{name}': expected an array of torch, CuPy, JAX or numpy, found a "
            f"{type(array).__name__}",
        )
    dtype = _check_layout(
        function, name, array.dtype, tuple(array.shape), tuple(shape), tuple(allowed)
    )
    if not _is_row_major(array):
        raise fail(
            function,
            f"'{name}': expected a row-major array, found another order of elements; "
            "pass a contiguous copy",
        )
    return dtype


@functools.lru_cache(maxsize=4096)
def _check_layout(
    function: str,
    name: str,
    given: Any,
    found: tuple[int, ...],
    shape: tuple[int | str, ...],
    allowed: tuple[DType, ...],
) -> DType:
    """Checks the element type and the shape of an array: see :func:`check_array`."""
    dtype = check_type(function, name, given, allowed)
    wanted = [extent for extent in shape if extent != "..."]
    inner = found[len(found) - len(wanted) :] if len(wanted) < len(shape) else found
    fits = len(inner) == len(wanted) and all(
        isinstance(extent, str) or extent == size
        for extent, size in zip(wanted, inner, strict=True)
    )
    if not fits:
        text = ", ".join(map(str, shape))
        raise fail(function, f"'{name}': expected shape ({text}), found {found}")
    return dtype


def _is_row_major(array: Any) -> bool:
    if hasattr(array, "is_contiguous"):  # torch
        return bool(array.is_contiguous())
    flags = getattr(array, "flags", None)  # numpy and CuPy; those of JAX always are.
    return flags is None or bool(flags.c_contiguous)


def check_number(
    function: str,
    name: str,
    value: Any,
    allowed: tuple[float, float] | None = None,
) -> float:
    """A number, rounded to f32 as kernels take it.

    Args:
        function: the name of the operation, for errors.
        name: the name of the argument.
        value: the argument.
        allowed: the least and the largest number; all numbers if not given. The least
            number :data:`ABOVE_0` also excludes numbers that f32 rounds to 0.

    Raises:
        LaunchError: it is no number, or one that f32 does not hold or is not allowed.
    """
    expected = "a number"
    if allowed is not None:
        low, high = allowed
        expected += f" from {low} to {high}" if low != ABOVE_0 else " above 0 in f32"
    try:
        (number,) = struct.unpack("<f", struct.pack("<I", float_bits(value, "f32")))
        if allowed is None or low <= number <= high:
            return float(number)
    except TypeError:
        pass
    except OverflowError:
        expected += " that f32 holds" if allowed is None else ""
    raise fail(function, f"'{name}': expected {expected}, found {show(value)}")


def check_integer(
    function: str, name: str, value: Any, low: int, high: int | None = None
) -> int:
    """An integer of at least `low`, and at most `high` if that is given.

    Raises:
        LaunchError: it is none.
    """
    number = read_integer(value)
    if number is None or number < low or (high is not None and number > high):
        expected = f"{low} or more" if high is None else f"from {low} to {high}"
        text = f"'{name}': expected an integer, {expected}, found {show(value)}"
        raise fail(function, text)
    return number


def as_rows(array: Any) -> Any:
    """An array of one or more dimensions as the matrix of its rows."""
    *outer, columns = array.shape
    return array if len(outer) == 1 else array.reshape(math.prod(outer), columns)


def result(
    function: str, out: Any, like: Any, shape: Sequence[int], dtype: DType
) -> Any:
    """The array for a result: `out` if it is given and fits, else a new one.

    Args:
        function: the name of the operation, for errors.
        out: the caller's array, or None.
        like: an argument, whose library and device a new array has.
        shape: of the result.
        dtype: of its elements.

    Raises:
        LaunchError: `out` does not fit or is read-only, or the library of `like` is
            unknown.
    """
    if out is not None:
        check_array(function, "out", out, shape, (dtype,))
        if not getattr(getattr(out, "flags", None), "writeable", True):
            raise fail(
                function, "'out': expected an array to write, found a read-only one"
            )
        return out
    library = type(like).__module__.partition(".")[0]
    shape = tuple(shape)
    if library == "torch":
        import torch

        array = torch.empty(
            shape, dtype=getattr(torch, dtype.numpy.name), device=like.device
        )
        if recorder := current_recorder():
            recorder.add_array(array)
        return array
    if is_on_host(like):  # JAX's arrays in host memory can only be read.
        return np.empty(shape, dtype.numpy)
    if library == "cupy":
        import cupy

        with like.device:
            return cupy.empty(shape, dtype.numpy)
    if library in ("jax", "jaxlib"):
        import jax

        return jax.numpy.empty(shape, dtype.numpy, device=like.device)
    raise fail(
        function,
        f"cannot allocate a result like a {type(like).__module__}."
        f"{type(like).__name__}; pass out=",
    )


def largest(dtype: DType) -> float:
    """The largest number of a type of floating point."""
    import ml_dtypes  # Few operations need it, and it takes a while to load.

    return float(ml_dtypes.finfo(dtype.numpy).max)


def fp8_type(dtype: DType, array: Any, target: str | None) -> DType:
    """What a type of fp8 stands for on the chip of a launch.

    Args:
        dtype: `tl.e4m3` or `tl.e5m2`.
        array: an argument of the launch.
        target: the target of the launch, or None.
    """
    if target is None and not is_on_host(array):
        target = device_target()
    is_fnuz = target is not None and find_chip(target) == "gfx942"
    return FNUZ.get(dtype, dtype) if is_fnuz else dtype
