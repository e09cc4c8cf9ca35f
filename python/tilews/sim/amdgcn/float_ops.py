"""Arithmetic of floating point numbers that numpy has not, or not the same.

* Minima and maxima, for which -0 is smaller than +0. numpy returns either zero; the
  manuals of all chips define which one ("V_MIN_F32").
* `a * b + c`, rounded once.
* The steps of a division: V_DIV_SCALE moves numbers to where Newton's method neither
  overflows nor loses bits, V_DIV_FMAS undoes that, and V_DIV_FIXUP gives quotients of
  zeros, infinities and NaN.
"""

import ctypes
from collections.abc import Callable
from fractions import Fraction

import numpy as np

Function = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _order_zeros(function: Function, takes_negative: bool) -> Function:
    def choose(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        result = function(a, b)
        if a.dtype.kind != "f":
            return result
        zero = np.where(np.signbit(a) == takes_negative, a, b)
        return np.where((a == 0) & (b == 0), zero, result)

    return choose


minimum = _order_zeros(np.minimum, takes_negative=True)
maximum = _order_zeros(np.maximum, takes_negative=False)
#: A NaN and a number give the number.
minimum_number = _order_zeros(np.fmin, takes_negative=True)
maximum_number = _order_zeros(np.fmax, takes_negative=False)

#: C's function.
_fma = ctypes.CDLL(None).fma
_fma.restype = ctypes.c_double
_fma.argtypes = [ctypes.c_double] * 3


def _multiply_add_wide(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """`a * b + c` of f16 or f32 in f64, which represents `a * b` exactly.

    The sum is rounded to odd, so that rounding it once more gives what rounding once
    gives (S. Boldo, G. Melquiond: Emulation of FMA and correctly rounded sums: proved
    algorithms using rounding to odd. IEEE Transactions on Computers 57, 2008).
    """
    product, addend = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    total = product + addend
    part = total - product
    error = (product - (total - part)) + (addend - part)
    bits = total.view(np.int64)
    inexact = (error != 0) & (bits & 1 == 0) & np.isfinite(total)
    step = np.where((error > 0) == (total > 0), 1, -1)
    return np.where(inexact, bits + step, bits).view(np.float64)


def multiply_add(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """`a * b + c`, rounded once to the type of the operands."""
    if a.dtype != np.float64:
        return _multiply_add_wide(a, b, c).astype(a.dtype)
    return np.array(list(map(_fma, a.tolist(), b.tolist(), c.tolist())))


def _flush(value: np.ndarray) -> np.ndarray:
    """Zeros instead of denormal numbers."""
    is_tiny = np.abs(value) < np.finfo(value.dtype).smallest_normal
    return np.where(is_tiny, np.copysign(value.dtype.type(0), value), value)


def multiply_and_add(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """`a * b + c`, rounded twice and without denormal numbers ("V_MAD_F32")."""
    return _flush(_flush(_flush(a) * _flush(b)) + _flush(c))


#: For each type: the difference of exponents from which a quotient is large, the power
#: of two for the scale, and the largest exponent of a small numerator.
_SCALES = {np.dtype(np.float32): (96, 64, 23), np.dtype(np.float64): (768, 128, 53)}


def _get_exponent(value: np.ndarray) -> np.ndarray:
    """The exponent as it is in the bits: 0 for denormal numbers."""
    info = np.finfo(value.dtype)
    bits = value.view(f"i{value.dtype.itemsize}").astype(np.int64)
    return bits >> info.nmant & (1 << info.iexp) - 1


def scale_for_division(
    value: np.ndarray, denominator: np.ndarray, numerator: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Scales a numerator or a denominator ("CDNA3" and "RDNA3" ISA, "V_DIV_SCALE_F64").

    Returns:
        The scaled value, and where the quotient has to be scaled back.
    """
    large, shift, small = _SCALES[value.dtype]
    tiny = np.finfo(value.dtype).smallest_normal
    wide = numerator.astype(np.float64), denominator.astype(np.float64)
    low_inverse = np.abs(1 / wide[1]) < tiny
    low_quotient = np.abs(wide[0] / wide[1]) < tiny
    is_denominator, is_numerator = value == denominator, value == numerator
    up, down = np.ldexp(value, shift), np.ldexp(value, -shift)
    cases = [
        ((numerator == 0) | (denominator == 0), np.full_like(value, np.nan), False),
        (
            _get_exponent(numerator) - _get_exponent(denominator) >= large,
            np.where(is_denominator, up, value),
            True,
        ),
        (_get_exponent(denominator) == 0, up, False),
        # The manuals scale up here. That would be infinite, and the quotient, which
        # V_DIV_FMAS scales down, wrong.
        (low_inverse & low_quotient, np.where(is_denominator, down, value), True),
        (low_inverse, down, False),
        (low_quotient, np.where(is_numerator, up, value), True),
        (_get_exponent(numerator) <= small, up, False),
    ]
    conditions = [condition for condition, _, _ in cases]
    scaled = np.select(conditions, [result for _, result, _ in cases], value)
    flags = np.select(conditions, [flag for _, _, flag in cases], False)
    return scaled.astype(value.dtype), flags.astype(bool)


def multiply_add_scaled(
    a: np.ndarray, b: np.ndarray, c: np.ndarray, flags: np.ndarray
) -> np.ndarray:
    """The last step of a quotient, rounded once after it is scaled back.

    `flags` are those of :func:`scale_for_division` ("V_DIV_FMAS_F64"). The scale leads
    away from 1, which the manuals leave open.
    """
    shift = _SCALES[c.dtype][1]
    power = np.where(np.frexp(c)[1] > 1, shift, -shift)
    if c.dtype == np.float32:
        wide = _multiply_add_wide(a, b, c)
        return np.ldexp(wide, np.where(flags, power, 0)).astype(np.float32)
    result = multiply_add(a, b, c)
    for i in np.flatnonzero(flags & np.isfinite(result)):
        exact = Fraction(float(a[i])) * Fraction(float(b[i])) + Fraction(float(c[i]))
        try:
            scaled = float(exact * Fraction(2) ** int(power[i]))
        except OverflowError:
            scaled = np.inf if exact > 0 else -np.inf
        result[i] = scaled if exact else result[i]
    return result


def fix_quotient(q: np.ndarray, d: np.ndarray, n: np.ndarray) -> np.ndarray:
    """The quotient `n / d` from an approximation `q` ("V_DIV_FIXUP_F64")."""
    with np.errstate(all="ignore"):
        special = n / d
    edge = ~np.isfinite(n) | ~np.isfinite(d) | (n == 0) | (d == 0)
    # The manuals do not say what the chips do with the NaN that an overflow leaves.
    size = np.where(np.isnan(q), np.inf, np.abs(q))
    signed = np.where(np.signbit(n) != np.signbit(d), -size, size)
    return np.where(edge, special, signed).astype(q.dtype)
