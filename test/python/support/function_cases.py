"""A kernel for each group of functions of the language, with its result in numpy.

Each case of :data:`CASES` is a function of two fragments that the language has and the
same function of numpy arrays. Tests run the cases in the interpreter, on a GPU, and as
machine code of AMD's chips.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

import tilews
import tilews.language as tl

#: The shape of both arguments.
SHAPE = (8, 16)


@tilews.kernel(threads=128)
def apply(
    X: tl.Tensor["8, 16", "T"],
    Y: tl.Tensor["8, 16", "T"],
    Z: tl.Tensor["P, Q", "R"],
    F: tl.constexpr,
):
    """Stores the matrix F(x, y)."""
    tl.grid(1)
    Z[0, 0] = F(tl.load(X), tl.load(Y))


@dataclasses.dataclass
class FunctionCase:
    """A function of fragments, and the one of numpy that it agrees with.

    Attributes:
        name: a name for the test.
        ours: of two fragments of :data:`SHAPE`; the result is a matrix.
        expected: the same in numpy.
        dtype: of the arguments.
        tolerance: relative to the largest element of the result; 0 for equality.
    """

    name: str
    ours: Callable[[Any, Any], Any]
    expected: Callable[[np.ndarray, np.ndarray], np.ndarray]
    dtype: type = np.float32
    tolerance: float = 0.0

    def arguments(self) -> tuple[np.ndarray, np.ndarray]:
        """Random arguments; floating point with NaN, infinities and equal elements."""
        random = np.random.default_rng(3)
        if np.issubdtype(self.dtype, np.integer):
            info = np.iinfo(self.dtype)
            x, y = random.integers(
                info.min, info.max, (2, *SHAPE), self.dtype, endpoint=True
            )
            x[0, :3] = 0, info.min, info.max
            return x, y
        x, y = random.standard_normal((2, *SHAPE)).astype(self.dtype)
        x[1, 2:6] = x[1, 7]
        if self.tolerance == 0:
            x[2, 3], x[4, 5], x[5, 6] = np.nan, np.inf, -np.inf
            x[6, 7], x[6, 8] = -0.0, 0.0
        return x, y

    def check(self, found: np.ndarray, expected: np.ndarray) -> None:
        """Raises AssertionError if a result is not the expected one."""
        if self.tolerance == 0:
            np.testing.assert_array_equal(found, expected)
            return
        scale = np.abs(expected).max()
        np.testing.assert_allclose(found, expected, atol=self.tolerance * scale)


def _bytes(selector: int) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    digits = [selector >> 4 * place & 15 for place in range(4)]

    def permute(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        both = [
            np.ascontiguousarray(a).view(np.uint8).reshape(*SHAPE, 4) for a in (x, y)
        ]
        taken = np.concatenate(both, axis=2)[:, :, digits]
        return np.ascontiguousarray(taken).view(np.int32)[:, :, 0]

    return permute


def _bit_count(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.vectorize(lambda n: int(n).bit_count())(x.view(np.uint32)).astype(x.dtype)


def _leading_zeros(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.vectorize(lambda n: 32 - int(n).bit_length())(x.view(np.uint32))


def _trailing_zeros(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    count = np.vectorize(lambda n: (int(n) & -int(n)).bit_length() - 1 if n else 32)
    return count(x.view(np.uint32))


def _upper_half(wide: type, narrow: type) -> Callable[..., np.ndarray]:
    def product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        factors = (a.view(narrow).astype(wide) for a in (x, y))
        return (np.multiply(*factors) >> wide(32)).astype(narrow).view(np.int32)

    return product


def _places(x: np.ndarray) -> np.ndarray:
    return np.arange(x.size, dtype=np.int32).reshape(x.shape)


def _counters() -> Any:
    return tl.iota(SHAPE, 0) * SHAPE[1] + tl.iota(SHAPE, 1)


INDEXING = [
    FunctionCase("column", lambda x, y: x[:, 3][None, :], lambda x, y: x[None, :, 3]),
    FunctionCase("last-row", lambda x, y: x[-1][:, None], lambda x, y: x[-1][:, None]),
    FunctionCase("ellipsis", lambda x, y: x[..., 4:8], lambda x, y: x[..., 4:8]),
    FunctionCase(
        "element",
        lambda x, y: tl.full((1, 2), x[3, 5], x.dtype),
        lambda x, y: np.full((1, 2), x[3, 5]),
    ),
    FunctionCase(
        "stack",
        lambda x, y: tl.stack((x[:, 3], y[:, 5], x[:, 0]), 1),
        lambda x, y: np.stack((x[:, 3], y[:, 5], x[:, 0]), 1),
    ),
    FunctionCase(
        "cat-rows",
        lambda x, y: tl.cat((x, y, x), 0),
        lambda x, y: np.concatenate((x, y, x)),
    ),
    FunctionCase(
        "cat-columns",
        lambda x, y: tl.cat((x, y), -1),
        lambda x, y: np.concatenate((x, y), 1),
    ),
    FunctionCase(
        "cat-unequal",
        lambda x, y: tl.cat((x[:, 0:8], y, x[:, 4:8]), 1),
        lambda x, y: np.concatenate((x[:, 0:8], y, x[:, 4:8]), 1),
    ),
    FunctionCase(
        "cat-unequal-rows",
        lambda x, y: tl.cat((x[2:4], y, x[0:3]), 0),
        lambda x, y: np.concatenate((x[2:4], y, x[0:3])),
    ),
    FunctionCase("part", lambda x, y: x[:, 1:4], lambda x, y: x[:, 1:4]),
    FunctionCase("part-both", lambda x, y: x[3:8, 4:16], lambda x, y: x[3:8, 4:16]),
    FunctionCase(
        "join-split",
        lambda x, y: tl.split(tl.join(x, y))[1] + tl.split(x.reshape(8, 8, 2))[0][0, 0],
        lambda x, y: y + x[0, 0],
    ),
    FunctionCase("flip", lambda x, y: tl.flip(x), lambda x, y: x[::-1, ::-1]),
    FunctionCase(
        "flip-odd",
        lambda x, y: tl.flip(tl.cat((x, y, y), 1), 1),
        lambda x, y: np.concatenate((x, y, y), 1)[:, ::-1],
    ),
    FunctionCase("permute", lambda x, y: tl.permute(x, 1, 0), lambda x, y: x.T),
]

BITS = [
    FunctionCase("popcount", lambda x, y: tl.popcount(x), _bit_count, np.int32),
    FunctionCase("clz", lambda x, y: tl.clz(x), _leading_zeros, np.int32),
    FunctionCase("ctz", lambda x, y: tl.ctz(x), _trailing_zeros, np.int32),
    FunctionCase("mulhi", tl.mulhi, _upper_half(np.int64, np.int32), np.int32),
    FunctionCase("umulhi", tl.umulhi, _upper_half(np.uint64, np.uint32), np.int32),
    *(
        FunctionCase(
            f"byte_perm-{selector:04x}",
            lambda x, y, selector=selector: tl.byte_perm(x, y, selector),
            _bytes(selector),
            np.int32,
        )
        for selector in (0x3210, 0x7531, 0x0123, 0x4455)
    ),
]

NUMBERS = [
    FunctionCase(
        "clamp",
        lambda x, y: tl.clamp(x, -0.5, y),
        lambda x, y: np.minimum(np.maximum(x, np.float32(-0.5)), y),
    ),
    FunctionCase(
        "classes",
        lambda x, y: (
            tl.isnan(x).to(tl.i32)
            + tl.isinf(x).to(tl.i32) * 2
            + tl.isfinite(x).to(tl.i32) * 4
        ),
        lambda x, y: np.isnan(x) + np.isinf(x) * 2 + np.isfinite(x) * 4,
    ),
    FunctionCase("remainder", lambda x, y: x % y, np.mod, tolerance=1e-5),
    FunctionCase(
        "randint",
        lambda x, y: tl.randint(-5, _counters()),
        lambda x, y: tl.randint(-5, _places(x)),
        np.int32,
    ),
    FunctionCase(
        "rand",
        lambda x, y: tl.rand(2**40 + 1, _counters().to(tl.i64) * 2**33),
        lambda x, y: tl.rand(2**40 + 1, _places(x).astype(np.int64) * 2**33),
        tolerance=1e-30,
    ),
    FunctionCase(
        "randn",
        lambda x, y: tl.randn(7, _counters()),
        lambda x, y: tl.randn(7, _places(x)),
        tolerance=1e-5,
    ),
]

ORDER = [
    FunctionCase("sort", lambda x, y: tl.sort(x), lambda x, y: np.sort(x, 1)),
    FunctionCase(
        "sort-down",
        lambda x, y: tl.sort(y, 0, descending=True),
        lambda x, y: -np.sort(-y, 0),
    ),
    FunctionCase(
        "sort-integers", lambda x, y: tl.sort(x), lambda x, y: np.sort(x, 1), np.int32
    ),
    FunctionCase(
        "argsort",
        lambda x, y: tl.argsort(x).indices,
        lambda x, y: np.argsort(x, 1, kind="stable"),
    ),
    FunctionCase(
        "topk",
        lambda x, y: tl.topk(y, 4).values,
        lambda x, y: -np.sort(-y, 1)[:, :4],
    ),
    FunctionCase(
        "topk-places",
        lambda x, y: tl.topk(y, 4).indices,
        lambda x, y: np.argsort(-y, 1, kind="stable")[:, :4],
    ),
    *(
        FunctionCase(
            f"{name}-{axis}",
            lambda x, y, name=name, axis=axis: getattr(tl, name)(
                x, axis, keepdims=True
            ),
            lambda x, y, name=name, axis=axis: getattr(np, name)(
                x, axis, keepdims=True
            ),
            dtype,
        )
        for name in ("argmax", "argmin")
        for axis, dtype in ((0, np.float32), (1, np.int32), (None, np.float32))
    ),
]


def _compose(a1: Any, b1: Any, a2: Any, b2: Any) -> tuple[Any, Any]:
    """The map x -> a1 x + b1, and after it x -> a2 x + b2; this does not commute."""
    return a1 * a2, a2 * b1 + b2


def _composed(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
    """The constants of all compositions along an axis, from its start."""
    scales, constants = (np.moveaxis(a, axis, 0) for a in (x, y))
    results = []
    scale, constant = np.ones_like(scales[0]), np.zeros_like(scales[0])
    for next_scale, next_constant in zip(scales, constants, strict=True):
        scale, constant = _compose(scale, constant, next_scale, next_constant)
        results.append(constant)
    return np.moveaxis(np.stack(results), 0, axis)


def _both(x: Any, y: Any, join: Callable[..., Any]) -> Any:
    """48 columns, an extent that is no power of two."""
    return join((x, y, y), 1)


COMBINING = [
    *(
        FunctionCase(
            f"reduce-by-{axis}",
            lambda x, y, axis=axis: tl.reduce((x, y), _compose, axis, keepdims=True)[1],
            lambda x, y, axis=axis: np.take(_composed(x, y, axis), [-1], axis),
            np.int32,
        )
        for axis in (0, 1)
    ),
    *(
        FunctionCase(
            f"scan-by-{axis}",
            lambda x, y, axis=axis: tl.scan((x, y), _compose, axis)[1],
            lambda x, y, axis=axis: _composed(x, y, axis),
            np.int32,
        )
        for axis in (0, 1)
    ),
    FunctionCase(
        "reduce-all",
        lambda x, y: tl.full((1, 1), tl.reduce(x, lambda a, b: a ^ b), x.dtype),
        lambda x, y: np.bitwise_xor.reduce(x, axis=None, keepdims=True),
        np.int32,
    ),
    FunctionCase(
        "scan-reverse",
        lambda x, y: tl.scan((x, y), _compose, 1, reverse=True)[1],
        lambda x, y: _composed(x[:, ::-1], y[:, ::-1], 1)[:, ::-1],
        np.int32,
    ),
    FunctionCase(
        "exclusive-sum",
        lambda x, y: tl.scan(_both(x, y, tl.cat), "sum", 1, exclusive=True),
        lambda x, y: (
            np.cumsum(_both(x, y, np.concatenate), 1) - _both(x, y, np.concatenate)
        ).astype(np.int32),
        np.int32,
    ),
    FunctionCase(
        "exclusive-max",
        lambda x, y: tl.scan(y, "max", 0, True, exclusive=True, initial=0.25),
        lambda x, y: np.maximum.accumulate(
            np.concatenate((y[1:], np.full((1, 16), 0.25, y.dtype)))[::-1]
        )[::-1],
    ),
]

CASES = INDEXING + BITS + NUMBERS + ORDER + COMBINING


def run(case: FunctionCase, target: str = "cpu", **options: Any) -> None:
    """Runs a case and checks its result."""
    x, y = case.arguments()
    expected = case.expected(x, y)
    found = np.zeros(expected.shape, stored(expected.dtype))
    apply(x, y, found, F=case.ours, target=target, **options)
    case.check(found, expected)


def stored(dtype: np.dtype) -> np.dtype:
    """The type of a result: numpy's places have 64 bits, ours 32."""
    return dtype if np.issubdtype(dtype, np.floating) else np.dtype(np.int32)
