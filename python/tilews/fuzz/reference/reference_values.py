"""Functions of values that random kernels use, in numpy: see :mod:`.reference`."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...language import types
from ...language.memory.packed import unpack_elements

#: The types of which two share a byte, by those of numpy.
_NIBBLES = {dtype.numpy: dtype for dtype in (types.i4, types.u4, types.e2m1)}


class NumpyTile(np.ndarray):
    """A fragment."""

    def to(self, dtype: np.dtype) -> NumpyTile:
        values = np.asarray(self)
        if dtype.kind in "iu" and values.dtype.kind not in "iub":
            # A conversion of floating point to integers saturates.
            limits = np.iinfo(dtype)
            values = np.clip(values.astype(np.float64), limits.min, limits.max)
        return values.astype(dtype).view(NumpyTile)

    def bitcast(self, dtype: np.dtype) -> NumpyTile:
        if dtype not in _NIBBLES:
            return np.ascontiguousarray(self).view(dtype).view(NumpyTile)
        codes = np.ascontiguousarray(self).view(np.uint8)
        return unpack_elements(codes, _NIBBLES[dtype]).view(NumpyTile)


def _tile(values: Any, dtype: Any = None) -> NumpyTile:
    return np.asarray(values, dtype).view(NumpyTile)


# --- Fragments and shapes ---------------------------------------------------------


def full(shape: Sequence[int], value: Any, dtype: np.dtype) -> NumpyTile:
    return _tile(np.full(shape, value, dtype))


def zeros(shape: Sequence[int], dtype: np.dtype) -> NumpyTile:
    return full(shape, 0, dtype)


def arange(stop: int) -> NumpyTile:
    return _tile(np.arange(stop, dtype=np.int32))


def reshape(value: NumpyTile, shape: Sequence[int]) -> NumpyTile:
    return _tile(np.reshape(value, shape))


def transpose(value: NumpyTile) -> NumpyTile:
    return _tile(np.transpose(value))


def permute(value: NumpyTile, *axes: int) -> NumpyTile:
    return _tile(np.transpose(value, axes))


def iota(shape: Sequence[int], axis: int) -> NumpyTile:
    return _tile(np.indices(shape)[axis], np.int32)


def broadcast_to(value: NumpyTile, shape: Sequence[int]) -> NumpyTile:
    return _tile(np.broadcast_to(value, shape))


def with_layout(value: NumpyTile, layout: str) -> NumpyTile:
    return value


def histogram(value: NumpyTile, bins: int, mask: Any = True) -> NumpyTile:
    counted = np.asarray(value)[np.broadcast_to(mask, value.shape)]
    return _tile(np.bincount(counted, minlength=bins), np.int32)


def expand_dims(value: NumpyTile, axis: int) -> NumpyTile:
    return _tile(np.expand_dims(value, axis))


def flip(value: NumpyTile, axis: int | None = None) -> NumpyTile:
    return _tile(np.flip(value, axis))


def stack(values: Sequence[NumpyTile], axis: int = 0) -> NumpyTile:
    return _tile(np.stack(values, axis))


def cat(values: Sequence[NumpyTile], axis: int = 0) -> NumpyTile:
    return _tile(np.concatenate(values, axis))


def join(lhs: NumpyTile, rhs: NumpyTile) -> NumpyTile:
    return stack((lhs, rhs), -1)


def split(value: NumpyTile) -> tuple[NumpyTile, NumpyTile]:
    return _tile(value[..., 0]), _tile(value[..., 1])


# --- Arithmetic -------------------------------------------------------------------

maximum, minimum, exp2 = np.maximum, np.minimum, np.exp2
fmax, fmin, abs, sqrt = np.fmax, np.fmin, np.abs, np.sqrt
floor, ceil, trunc, round = np.floor, np.ceil, np.trunc, np.round
isnan, isinf, isfinite = np.isnan, np.isinf, np.isfinite
exp, expm1, log, log2, log10 = np.exp, np.expm1, np.log, np.log2, np.log10
log1p, sin, cos, tan, tanh, pow = np.log1p, np.sin, np.cos, np.tan, np.tanh, np.power


def sigmoid(value: NumpyTile) -> NumpyTile:
    return _tile(1 / (1 + np.exp(-value)))


def rsqrt(value: NumpyTile) -> NumpyTile:
    return _tile(1 / np.sqrt(value))


def erf(value: NumpyTile) -> NumpyTile:
    values = [math.erf(each) for each in value.ravel()]
    return _tile(np.reshape(np.array(values), value.shape))


def where(condition: Any, if_true: Any, if_false: Any) -> NumpyTile:
    return _tile(np.where(condition, if_true, if_false))


def clamp(value: NumpyTile, low: float, high: float) -> NumpyTile:
    return _tile(np.clip(value, low, high))


def fma(a: Any, b: Any, c: Any) -> NumpyTile:
    return _tile(a * b + c)


def asm(
    templates: Any,
    inputs: NumpyTile,
    dtype: np.dtype,
    *,
    pure: bool = True,
    python: Any,
) -> NumpyTile:
    return python(inputs).to(dtype)


# --- Integers ---------------------------------------------------------------------


def _bits(value: np.ndarray) -> np.ndarray:
    """The same bits without a sign."""
    return np.ascontiguousarray(value).view(f"u{value.itemsize}")


def _unsigned(
    function: Callable[[np.ndarray, np.ndarray], np.ndarray], lhs: NumpyTile, rhs: Any
) -> NumpyTile:
    """A function of the bits of two values."""
    other = np.full(lhs.shape, rhs, lhs.dtype)
    return _tile(function(_bits(lhs), _bits(other)).view(lhs.dtype))


def udiv(lhs: NumpyTile, rhs: Any) -> NumpyTile:
    def divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        ones = np.iinfo(a.dtype).max
        return np.where(b == 0, a.dtype.type(ones), a // np.maximum(b, 1))

    return _unsigned(divide, lhs, rhs)


def umod(lhs: NumpyTile, rhs: Any) -> NumpyTile:
    return _unsigned(lambda a, b: np.where(b == 0, a, a % np.maximum(b, 1)), lhs, rhs)


def ushr(lhs: NumpyTile, rhs: int) -> NumpyTile:
    return _unsigned(np.right_shift, lhs, rhs)


def cdiv(lhs: Any, rhs: int) -> Any:
    return (lhs + (rhs - 1)) // rhs


def mulhi(lhs: NumpyTile, rhs: NumpyTile) -> NumpyTile:
    # Python's integers have as many bits as they need.
    wide = np.asarray(lhs).astype(object) * np.asarray(rhs).astype(object)
    return _tile((wide >> 8 * lhs.itemsize).astype(lhs.dtype))


def umulhi(lhs: NumpyTile, rhs: NumpyTile) -> NumpyTile:
    return _unsigned(lambda a, b: np.asarray(mulhi(_tile(a), _tile(b))), lhs, rhs)


def popcount(value: NumpyTile) -> NumpyTile:
    return _tile(np.bitwise_count(_bits(value)), value.dtype)


def _bit_length(value: np.ndarray) -> np.ndarray:
    lengths = [int(each).bit_length() for each in value.ravel()]
    return np.reshape(np.array(lengths), value.shape)


def clz(value: NumpyTile) -> NumpyTile:
    return _tile(8 * value.itemsize - _bit_length(_bits(value)), value.dtype)


def ctz(value: NumpyTile) -> NumpyTile:
    bits = _bits(value)
    lowest = bits & (~bits + bits.dtype.type(1))
    places = np.where(bits == 0, 8 * value.itemsize, _bit_length(lowest) - 1)
    return _tile(places, value.dtype)


def byte_perm(low: NumpyTile, high: NumpyTile, selector: int) -> NumpyTile:
    both = np.stack([_bits(low), _bits(high)], -1)
    codes = both.view(np.uint8)
    places = [selector >> 4 * digit & 7 for digit in builtins.range(4)]
    chosen = np.ascontiguousarray(codes[..., places])
    return _tile(chosen.view(low.dtype)[..., 0])


# --- Reductions, scans and order --------------------------------------------------

_REDUCTIONS: dict[str, Callable[..., np.ndarray]] = {
    "max": np.max,
    "min": np.min,
    "absmax": lambda x, axis: np.max(np.abs(x), axis),
    "absmin": lambda x, axis: np.min(np.abs(x), axis),
    "and": np.bitwise_and.reduce,
    "or": np.bitwise_or.reduce,
    "xor": np.bitwise_xor.reduce,
}
_SCANS: dict[str, Callable[..., Any]] = {
    "sum": np.add,
    "max": np.maximum,
    "min": np.minimum,
}


def _sum(value: np.ndarray, axis: int | None) -> np.ndarray:
    wide = np.int64 if value.dtype.kind in "iu" else np.float64
    return np.asarray(np.sum(value, axis, wide))


def _reduced(function: Any, value: NumpyTile, axis: int | None) -> Any:
    result = function(np.asarray(value), axis=axis).astype(value.dtype)
    return result[()] if axis is None else _tile(result)


def sum(value: NumpyTile, axis: int | None = None) -> Any:
    return _reduced(_sum, value, axis)


def max(value: NumpyTile, axis: int | None = None) -> Any:
    return _reduced(np.max, value, axis)


def min(value: NumpyTile, axis: int | None = None) -> Any:
    return _reduced(np.min, value, axis)


def absmax(value: NumpyTile, axis: int) -> Any:
    return reduce(value, "absmax", axis)


def absmin(value: NumpyTile, axis: int) -> Any:
    return reduce(value, "absmin", axis)


def reduce_and(value: NumpyTile, axis: int) -> Any:
    return reduce(value, "and", axis)


def reduce_or(value: NumpyTile, axis: int) -> Any:
    return reduce(value, "or", axis)


def reduce_xor(value: NumpyTile, axis: int) -> Any:
    return reduce(value, "xor", axis)


def any(value: NumpyTile, axis: int | None = None) -> Any:
    return _reduced(np.any, value.astype(bool).view(NumpyTile), axis)


def all(value: NumpyTile, axis: int | None = None) -> Any:
    return _reduced(np.all, value.astype(bool).view(NumpyTile), axis)


def reduce(value: Any, kind: Any, axis: int) -> Any:
    if isinstance(kind, str):
        return _reduced(_REDUCTIONS[kind], value, axis)
    # The last of the running results.
    result = scan(value, kind, axis)
    if isinstance(result, tuple):
        return tuple(_tile(np.take(each, -1, axis)) for each in result)
    return _tile(np.take(result, -1, axis))


def scan(
    value: Any,
    kind: Any,
    axis: int = 0,
    reverse: bool = False,
    exclusive: bool = False,
    initial: Any = None,
) -> Any:
    values = value if isinstance(value, tuple) else (value,)
    combine: Callable[..., Any] = _SCANS[kind] if isinstance(kind, str) else kind
    parts = [np.moveaxis(np.asarray(each), axis, 0) for each in values]
    if reverse:
        parts = [each[::-1] for each in parts]
    state = tuple(each[0] for each in parts)
    if exclusive:
        start = 0 if initial is None else initial
        state = tuple(np.full_like(each[0], start) for each in parts)
    found = [state]
    last = len(parts[0]) - (1 if exclusive else 0)
    for place in builtins.range(0 if exclusive else 1, last):
        state = combine(*state, *(each[place] for each in parts))
        state = state if isinstance(state, tuple) else (state,)
        found.append(state)
    results = []
    for each in zip(*found, strict=True):
        steps = np.stack(each[::-1] if reverse else each)
        results.append(_tile(np.moveaxis(steps, 0, axis), values[0].dtype))
    return tuple(results) if isinstance(value, tuple) else results[0]


def cumsum(value: NumpyTile, axis: int = 0, reverse: bool = False) -> Any:
    return scan(value, "sum", axis, reverse)


def cummax(value: NumpyTile, axis: int = 0, reverse: bool = False) -> Any:
    return scan(value, "max", axis, reverse)


def cummin(value: NumpyTile, axis: int = 0, reverse: bool = False) -> Any:
    return scan(value, "min", axis, reverse)


def argmax(value: NumpyTile, axis: int) -> NumpyTile:
    return _tile(np.argmax(np.asarray(value), axis), np.int32)


def argmin(value: NumpyTile, axis: int) -> NumpyTile:
    return _tile(np.argmin(np.asarray(value), axis), np.int32)


def argsort(
    value: NumpyTile, axis: int = -1, descending: bool = False
) -> tuple[NumpyTile, NumpyTile]:
    keys = -np.asarray(value) if descending else np.asarray(value)
    places = np.argsort(keys, axis, kind="stable")
    return _tile(np.take_along_axis(value, places, axis)), _tile(places, np.int32)


def sort(value: NumpyTile, axis: int = -1, descending: bool = False) -> NumpyTile:
    return argsort(value, axis, descending)[0]


def topk(value: NumpyTile, k: int, axis: int = -1) -> tuple[NumpyTile, NumpyTile]:
    first = builtins.range(k)
    values, places = argsort(value, axis, descending=True)
    return _tile(np.take(values, first, axis)), _tile(np.take(places, first, axis))


# --- Random numbers -----------------------------------------------------------------


def philox(seed: int, counters: NumpyTile) -> tuple[NumpyTile, ...]:
    """Philox4x32-10, with Python's integers."""
    mask = (1 << 32) - 1
    counter = np.asarray(counters).astype(object)
    zero = counter * 0
    a, b, c, d = counter & mask, zero, zero, zero
    first, second = int(seed) & mask, int(seed) >> 32 & mask
    for _ in builtins.range(10):
        low, high = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b = (high >> 32) ^ b ^ first, high & mask
        c, d = (low >> 32) ^ d ^ second, low & mask
        first, second = first + 0x9E3779B9 & mask, second + 0xBB67AE85 & mask
    return tuple(_tile(w.astype(np.uint32).view(np.int32)) for w in (a, b, c, d))


def randint(seed: int, counters: NumpyTile) -> NumpyTile:
    return philox(seed, counters)[0]


def rand(seed: int, counters: NumpyTile) -> NumpyTile:
    bits = np.asarray(randint(seed, counters)).view(np.uint32) >> 8
    return _tile(bits.astype(np.float32) * np.float32(2.0**-24))


def randn(seed: int, counters: NumpyTile) -> NumpyTile:
    """Normal numbers by the method of Box and Muller."""
    words = philox(seed, counters)
    first, second = (np.asarray(word).view(np.uint32) for word in words[:2])
    radius = np.sqrt(-2.0 * np.log(((first >> 8) + 1.0) * 2.0**-24))
    return _tile(radius * np.cos(2.0 * math.pi * (second >> 8) * 2.0**-24), np.float32)
