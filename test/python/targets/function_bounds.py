"""Functions of f32, their arguments, and how far the code for GPUs may be off.

An ulp is the distance of f32 numbers at the exact result, which is computed in double
precision and rounded. docs/numerics.md has the table of the bounds.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import tilews.language as tl

#: The number of arguments of each case.
COUNT = 2048

_EDGES = np.array(
    [
        0.0,
        -0.0,
        1e-45,
        -1e-40,
        1.17549435e-38,
        1.3e-6,
        -1e-3,
        0.5,
        1.0,
        -1.0,
        1.001,
        0.999,
        2.0,
        -2.0,
        3.0,
        7.5,
        87.0,
        -67.0,
        -87.0,
        88.72,
        89.0,
        104.0,
        -104.0,
        1e2,
        1e3,
        48039.0,
        1e5,
        131071.9,
        131072.0,
        1e6,
        2e6,
        1e7,
        1e8,
        1e9,
        -1e10,
        2.0**31,
        1e20,
        -1e30,
        3e38,
        np.inf,
        -np.inf,
        np.nan,
    ],
    np.float32,
)
_PI_EDGES = (
    np.outer([1, 2, 3, 5, 710, 33102, 83443, 1e6, 1e9, 1e20, 2.0**90], [1, -1])
    * np.pi
    / 2
)


def _arguments(low: float, high: float, spread: str = "log") -> np.ndarray:
    """Edges, and random numbers of both signs whose logarithms are uniform."""
    random = np.random.default_rng(7)
    special = np.concatenate([_EDGES, _PI_EDGES.ravel().astype(np.float32)])
    count = COUNT - special.size
    if spread == "log":
        values = np.exp(random.uniform(np.log(low), np.log(high), count))
        values *= random.choice([-1, 1], count)
    else:
        values = random.uniform(low, high, count)
    return np.concatenate([special, values.astype(np.float32)])


@dataclasses.dataclass
class FunctionBound:
    """A function, and its largest error on GPUs.

    Attributes:
        name: the name in the language.
        exact: the function in numpy's double precision.
        ulps: the largest error.
        arguments: of the function; the second one is the exponent or the divisor.
        flushes: whether results below 2^-126 may be zero.
        keeps_sign: whether zeros have the right sign.
        ours: the function of fragments, if it is not the one with this name.
    """

    name: str
    exact: Callable[..., np.ndarray]
    ulps: float
    arguments: tuple[np.ndarray, ...]
    flushes: bool = False
    keeps_sign: bool = True
    ours: Callable[..., Any] | None = None

    def apply(self, x: Any, y: Any) -> Any:
        """The function of fragments."""
        if self.ours:
            return self.ours(x, y)
        return getattr(tl, self.name)(x)

    def expected(self, dtype: type = np.float32) -> np.ndarray:
        """The results in double precision, of arguments rounded to `dtype`."""
        with np.errstate(all="ignore"):
            wide = [a.astype(dtype).astype(np.float64) for a in self.arguments]
            return np.asarray(self.exact(*wide), np.float64)

    def error(self, found: np.ndarray) -> np.ndarray:
        """The errors in ulp.

        Raises:
            AssertionError: NaN, infinities or zeros are not where they should be.
        """
        exact = self.expected()
        with np.errstate(all="ignore"):
            rounded = exact.astype(np.float32)
        np.testing.assert_array_equal(np.isnan(found), np.isnan(rounded))
        zeros = exact == 0
        np.testing.assert_array_equal(found[zeros], exact[zeros])
        if self.keeps_sign:
            signs = np.signbit(exact[zeros])
            np.testing.assert_array_equal(np.signbit(found[zeros]), signs)
        found, exact, rounded = found.copy(), exact.copy(), rounded.copy()
        if self.flushes:
            tiny = np.abs(exact) < 2.0**-126 * 1.0001
            found[tiny & (found == 0)] = rounded[tiny & (found == 0)]
        # At the end of the range, infinity is one more than the largest number.
        limit = np.float64(2.0**128)
        known = np.isfinite(exact) & (np.abs(exact) < limit)
        np.testing.assert_array_equal(found[~known], rounded[~known])
        exact, close = exact[known], found[known].astype(np.float64)
        close = np.where(np.isinf(close), np.copysign(limit, close), close)
        ulp = np.spacing(np.minimum(np.abs(exact), 3.4e38).astype(np.float32))
        errors = np.zeros(found.shape)
        errors[known] = np.abs(close - exact) / ulp
        return errors

    def check(self, found: np.ndarray) -> float:
        """The largest error in ulp; raises AssertionError if it is too large."""
        errors = self.error(found)
        worst = int(np.argmax(errors))
        assert errors[worst] <= self.ulps, (
            f"{self.name}: {errors[worst]:.2f} ulp at "
            f"{[a[worst] for a in self.arguments]}: {found[worst]}, expected "
            f"{self.expected()[worst]}"
        )
        return float(errors.max())


def _pairs() -> tuple[np.ndarray, np.ndarray]:
    """Bases and exponents: special ones in all pairs, and random ones."""
    special = np.array(
        [
            0,
            -0.0,
            1,
            -1,
            2,
            -2,
            3,
            -3,
            0.5,
            -0.5,
            2.5,
            1 / 3,
            1e-40,
            3e38,
            -3e38,
            64,
            65,
            -127.5,
            2**24 + 2,
            -(2**24) + 1,
            np.inf,
            -np.inf,
            np.nan,
        ],
        np.float32,
    )
    x, y = (a.ravel() for a in np.meshgrid(special, special))
    random = np.random.default_rng(11)
    count = COUNT - x.size
    bases = np.exp(random.uniform(-20, 20, count)).astype(np.float32)
    bases[: count // 3] = random.uniform(0.5, 2, count // 3)
    limit = 126 * np.log(2) / np.maximum(np.abs(np.log(bases)), 1e-6)
    exponents = (random.uniform(-1, 1, count) * np.minimum(limit, 1e6)).astype("f4")
    return np.concatenate([x, bases]), np.concatenate([y, exponents])


def _quotients() -> tuple[np.ndarray, np.ndarray]:
    """Dividends and divisors."""
    x, y = _pairs()
    random = np.random.default_rng(13)
    count = x.size - 529
    x[529:] = np.exp(random.uniform(-88, 88, count)) * random.choice([-1, 1], count)
    y[529:] = np.exp(random.uniform(-88, 88, count)) * random.choice([-1, 1], count)
    half = count // 2
    y[529 : 529 + half] = x[529 : 529 + half] * random.uniform(1e-3, 3, half)
    x[-4:], y[-4:] = [1e9, 3e38, 1.0, -1e-40], [0.3, 7, np.inf, 1.0]
    return x.astype(np.float32), y.astype(np.float32)


def _integer_power(n: int) -> FunctionBound:
    x = _arguments(1e-3, 1e3)
    return FunctionBound(
        f"x ** {n}",
        lambda x: np.power(x, float(n)),
        2.5,
        (x,),
        ours=lambda x, y: tl.pow(x, float(n)) if n % 2 else x**n,
    )


_erf = np.vectorize(math.erf, otypes=[np.float64])

BOUNDS = [
    FunctionBound("exp", np.exp, 3, (_arguments(1e-6, 88),), flushes=True),
    FunctionBound("exp2", np.exp2, 2, (_arguments(1e-6, 127),), flushes=True),
    FunctionBound("expm1", np.expm1, 2, (_arguments(1e-6, 88),)),
    FunctionBound("log", np.log, 2, (_arguments(1e-37, 1e37),)),
    FunctionBound("log2", np.log2, 2, (_arguments(1e-37, 1e37),)),
    FunctionBound("log10", np.log10, 2.5, (_arguments(1e-37, 1e37),)),
    FunctionBound("log1p", np.log1p, 4, (_arguments(1e-6, 1e3),)),
    FunctionBound("sqrt", np.sqrt, 0.5, (_arguments(1e-37, 1e37),)),
    FunctionBound("rsqrt", lambda x: 1 / np.sqrt(x), 1.5, (_arguments(1e-37, 1e37),)),
    FunctionBound("sin", np.sin, 2.5, (_arguments(1e-6, 1e38),)),
    FunctionBound("cos", np.cos, 2.5, (_arguments(1e-6, 1e38),)),
    FunctionBound("tan", np.tan, 4, (_arguments(1e-6, 1e38),)),
    FunctionBound("tanh", np.tanh, 3, (_arguments(1e-6, 20),)),
    FunctionBound("erf", _erf, 4, (_arguments(1e-6, 6),), keeps_sign=False),
    FunctionBound(
        "sigmoid",
        lambda x: 1 / (1 + np.exp(-x)),
        5,
        (_arguments(1e-6, 87),),
        flushes=True,
    ),
    FunctionBound("pow", np.power, 4, _pairs(), ours=lambda x, y: tl.pow(x, y)),
    FunctionBound(
        "%",
        lambda x, y: np.mod(x.astype(np.float32), y.astype(np.float32)),
        0,
        _quotients(),
        ours=lambda x, y: x % y,
    ),
    *(_integer_power(n) for n in (-64, -5, -3, -1, 0, 5, 6, 13, 64)),
]
