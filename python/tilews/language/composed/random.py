"""Random numbers that depend on a seed and a counter only.

The generator is Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as
easy as 1, 2, 3. SC 2011). A number is a function of its seed and its counter, so each
element of a tensor has the same one whatever the tiles, the chip and the order. The
functions give the same numbers for numpy arrays, outside of kernels.
"""

from __future__ import annotations

import math as python_math
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import LanguageError
from ..arithmetic import as_value, cast, is_number
from ..bits import umulhi, ushr
from ..math import cos, log, sqrt
from ..types import f32, i32, i64
from ..values import Scalar, Tile, Value, describe

_ROUNDS = 10
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)
#: The distance of neighbouring numbers of :func:`rand`.
_STEP = 2.0**-24


def philox(seed: Any, counters: Any) -> tuple[Any, Any, Any, Any]:
    """Four words of random bits for each counter.

    Args:
        seed: an integer of up to 64 bits: a Python number, or a scalar of the kernel.
        counters: integers of up to 64 bits, e.g. the places of the elements in their
            tensor: a fragment or a scalar of the kernel, or a numpy array.

    Returns:
        Four values of i32 with the shape of `counters`.

    Raises:
        LanguageError: an argument is no integer.

    Example:
        >>> a, b, c, d = tl.philox(7, tl.arange(2))
        >>> a
        [-195003859, 1747881627]
    """
    what = "tl.philox"
    if isinstance(counters, (np.ndarray, np.integer)) and counters.dtype.kind in "iu":
        low, high = _seed_words(seed, what)
        return _philox_of_array([low, high], np.asarray(counters))
    if not isinstance(counters, (Tile, Scalar)) or not counters.dtype.is_int:
        raise LanguageError(
            f"{what}: expected a fragment or a scalar of integers as counters, found "
            f"{describe(counters)}"
        )
    shape = counters.shape if isinstance(counters, Tile) else None
    low, high = _words(counters)
    zero = as_value(0, i32, shape)
    words: list[Any] = [low, high, zero, zero]
    keys: list[Any] = [as_value(key, i32, shape) for key in _seed_words(seed, what)]
    for _ in range(_ROUNDS):
        first, second = (as_value(number, i32, shape) for number in _MULTIPLIERS)
        words = [
            umulhi(second, words[2]) ^ words[1] ^ keys[0],
            second * words[2],
            umulhi(first, words[0]) ^ words[3] ^ keys[1],
            first * words[0],
        ]
        keys = [
            key + as_value(step, i32, shape)
            for key, step in zip(keys, _WEYL, strict=True)
        ]
    return tuple(words)


def _philox_of_array(
    keys: list[int], counters: npt.NDArray[Any]
) -> tuple[Any, Any, Any, Any]:
    """The same for an array of numpy."""
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    multipliers = [np.uint64(number) for number in _MULTIPLIERS]
    if counters.dtype.itemsize <= 4:
        counters = counters.astype(np.int32).view(np.uint32)
    counter = counters.astype(np.uint64)
    zero = np.zeros_like(counter)
    words = [counter & low, counter >> half, zero, zero]
    for _ in range(_ROUNDS):
        first, second = multipliers[0] * words[0], multipliers[1] * words[2]
        words = [
            (second >> half) ^ words[1] ^ np.uint64(keys[0]),
            second & low,
            (first >> half) ^ words[3] ^ np.uint64(keys[1]),
            first & low,
        ]
        keys = [
            (key + step) & 0xFFFFFFFF for key, step in zip(keys, _WEYL, strict=True)
        ]
    first, second, third, fourth = (
        word.astype(np.uint32).view(np.int32) for word in words
    )
    return first, second, third, fourth


def _words(value: Value) -> tuple[Any, Any]:
    """The lower and the upper 32 bits of integers."""
    if value.dtype.bits <= 32:
        low = cast(value, i32)
        return low, low ^ low
    return cast(value, i32), cast(ushr(cast(value, i64), 32), i32)


def _seed_words(seed: Any, what: str) -> tuple[Any, Any]:
    if is_number(seed) and int(seed) == seed and -(2**63) <= seed < 2**64:
        return int(seed) & 0xFFFFFFFF, int(seed) >> 32 & 0xFFFFFFFF
    if isinstance(seed, Scalar) and seed.dtype.is_int:
        return _words(seed)
    raise LanguageError(
        f"{what}: expected a seed of up to 64 bits, found {describe(seed)}"
    )


def randint(seed: Any, counters: Any) -> Any:
    """A random i32 for each counter; arguments and errors as for :func:`philox`.

    Example:
        @tilews.kernel
        def numbers(Y: tl.Tensor["64", tl.i32], seed: tl.i64):
            Y[0] = tl.randint(seed, tl.arange(64))

        y = np.zeros(64, np.int32)
        numbers(y, 7)
        assert (y == tl.randint(7, np.arange(64))).all()  # the same outside of a kernel
    """
    return philox(seed, counters)[0]


def rand(seed: Any, counters: Any) -> Any:
    """A random f32 for each counter, uniform in [0, 1) with 24 bits.

    Arguments and errors as for :func:`philox`.

    Example:
        @tilews.kernel
        def numbers(Y: tl.Tensor["N", tl.f32], seed: tl.i64):
            place = tl.grid(tl.cdiv(Y.shape[0], 64)) * 64
            Y[place] = tl.rand(seed, tl.arange(64) + place)

        y = np.zeros(1000, np.float32)
        numbers(y, 7)
        assert (y >= 0).all() and (y < 1).all()
        assert (y == tl.rand(7, np.arange(1000))).all()  # the tiles make no difference
    """
    return _uniform(philox(seed, counters)[0])


def randn(seed: Any, counters: Any) -> Any:
    """A random f32 for each counter, normal with mean 0 and deviation 1.

    The bits are the same on every target. The last bits of the result are not, since
    ``log`` and ``cos`` differ (Box and Muller: A note on the generation of random
    normal deviates. Annals of Mathematical Statistics 29, 1958). Arguments and errors
    as for :func:`philox`.

    Example:
        @tilews.kernel
        def numbers(Y: tl.Tensor["4096", tl.f32], seed: tl.i64):
            Y[0] = tl.randn(seed, tl.arange(4096))

        y = np.zeros(4096, np.float32)
        numbers(y, 7)
        assert abs(y.mean()) < 0.1 and abs(y.std() - 1) < 0.1
        assert np.allclose(y, tl.randn(7, np.arange(4096)), atol=1e-5)
    """
    first, second, *_ = philox(seed, counters)
    # In (0, 1], for the logarithm.
    shifted, angle = _uniform(first) + _STEP, 2.0 * python_math.pi * _uniform(second)
    if isinstance(shifted, np.ndarray):
        return np.sqrt(np.float32(-2.0) * np.log(shifted)) * np.cos(angle)
    return sqrt(-2.0 * log(shifted)) * cos(angle)


def _uniform(bits: Any) -> Any:
    if isinstance(bits, np.ndarray):
        return (bits.view(np.uint32) >> np.uint32(8)).astype(np.float32) * np.float32(
            _STEP
        )
    return cast(ushr(bits, 8), f32) * _STEP
