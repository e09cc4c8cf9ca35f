"""Minima and maxima, for which -0 is smaller than +0.

numpy returns either zero; the manuals of all chips define which one ("V_MIN_F32").
"""

from collections.abc import Callable

import numpy as np

__all__ = ["maximum", "maximum_number", "minimum", "minimum_number"]

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
