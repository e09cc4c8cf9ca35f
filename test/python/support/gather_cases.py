"""Arguments of the kernels of `kernels.gathers`, and what numpy makes of them."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernels import gathers
from tilews.language.types import dtype_of_array

RNG = np.random.default_rng(5)


def _floats(*shape, dtype=np.float32):
    return RNG.standard_normal(shape).astype(dtype)


def _halves(*shape):
    return _floats(*shape, dtype=np.float16)


def _integers(low, high, *shape, dtype=np.int32):
    return RNG.integers(low, high, shape).astype(dtype)


@dataclass
class GatherCase:
    """A kernel with arguments and the array that it writes.

    Attributes:
        expected: from copies of the arguments to the last array.
        tolerance: of matmuls; 0 if the bits are equal.
    """

    kernel: Any
    arguments: list[Any]
    expected: Callable[..., np.ndarray]
    constants: dict[str, Any] = field(default_factory=dict)
    written: int = -1
    tolerance: float = 0.0

    def check(self, arguments: list[Any]) -> None:
        wanted = self.expected(*copies(self.arguments))
        found = arguments[self.written]
        if self.tolerance:
            np.testing.assert_allclose(
                found, wanted, rtol=self.tolerance, atol=10 * self.tolerance
            )
        else:
            np.testing.assert_array_equal(found, wanted)


def copies(arguments: list[Any]) -> list[Any]:
    return [x.copy() if isinstance(x, np.ndarray) else x for x in arguments]


def _take(x, ids, outside=0.0):
    """x[ids], and `outside` for indices that are no place of x."""
    inside = (ids >= 0) & (ids < len(x))
    shape = inside.shape + (1,) * (x.ndim - 1)
    taken = x[np.clip(ids, 0, len(x) - 1)]
    return np.where(inside.reshape(shape), taken, x.dtype.type(outside))


def _pages(k, table, y):
    places = np.arange(len(y))
    page = table[places // 16]
    inside = (page >= 0) & (page < len(k))
    taken = k[np.clip(page, 0, len(k) - 1), places % 16]
    return np.where(inside[:, None, None], taken, np.float16(0))


def _scattered(x, ids, y):
    for row, place in enumerate(ids):
        if 0 <= place < len(y):
            y[place] = x[row]
    return y


def _added(x, ids, y):
    for row, place in enumerate(ids):
        if 0 <= place < len(y):
            y[place] += x[row]
    return y


def _masked(x, y, rows, columns):
    i, j = np.arange(x.shape[0])[:, None], np.arange(x.shape[1])[None]
    inside = (i < rows) & (j < columns)
    written = np.where(i % 2 == 0, np.float16(-2), y)
    return np.where(inside, x, written)


def _counts(x, count):
    return np.bincount(x[(x >= 0) & (x < len(count))], minlength=len(count))


def _counted(x, count, rows):
    x = x[:rows].astype(np.int64)
    return np.bincount(x[(x >= 0) & (x < len(count))], minlength=len(count))


def _product(x, w, ids, expert, y):
    rows = _take(x, ids).astype(np.float32)
    for block, e in enumerate(expert):
        part = slice(block * 64, block * 64 + 64)
        y[part] = rows[part] @ w[e].astype(np.float32)
    return y


def _sequences(x, start, y):
    for b, (first, last) in enumerate(itertools.pairwise(start)):
        y[b, : max(last - first, 0)] = x[first : max(first, last)]
    return y


def _zeros(*shape, dtype=np.float32):
    return np.zeros(shape, dtype)


#: Sequences of 5, 0, 48, 1 and fewer than no rows.
_STARTS = np.array([3, 8, 8, 56, 57, 50], np.int32)
_FAR = np.array([2**31 - 1, -(2**31), 0, 49, 50, -1], np.int32)
_FARTHER = np.array([2**63 - 1, -(2**63), 2**32, 2**32 + 3, 19, 50], np.int64)

CASES = {
    "rows": GatherCase(
        gathers.rows,
        [_floats(50, 70), _integers(-3, 55, 37), _zeros(37, 70)],
        lambda x, ids, y: _take(x, ids, -1),
    ),
    "rows_whole_tiles": GatherCase(
        gathers.rows,
        [_floats(50, 64), _integers(-3, 55, 48), _zeros(48, 64)],
        lambda x, ids, y: _take(x, ids, -1),
    ),
    "rows_far": GatherCase(
        gathers.rows,
        [_floats(50, 8), _FAR, _zeros(6, 8)],
        lambda x, ids, y: _take(x, ids, -1),
    ),
    "columns": GatherCase(
        gathers.columns,
        [_floats(20, 50), _integers(-3, 55, 37, dtype=np.int64), _zeros(20, 37)],
        lambda x, ids, y: _take(x.T, ids).T,
    ),
    "columns_far": GatherCase(
        gathers.columns,
        [_floats(8, 20), _FARTHER, _zeros(8, 6)],
        lambda x, ids, y: _take(x.T, ids).T,
    ),
    "table": GatherCase(
        gathers.table,
        [_halves(100), _integers(-5, 105, 8, 32), _zeros(8, 32, dtype=np.float16)],
        lambda t, ids, y: _take(t, ids, 0.5),
    ),
    "table_of_one": GatherCase(
        gathers.table,
        [_halves(1), _integers(-1, 2, 8, 32), _zeros(8, 32, dtype=np.float16)],
        lambda t, ids, y: _take(t, ids, 0.5),
    ),
    "pages": GatherCase(
        gathers.pages,
        [
            _halves(7, 16, 3, 32),
            _integers(-1, 8, 5),
            _zeros(80, 3, 32, dtype=np.float16),
        ],
        _pages,
    ),
    "scatter_rows": GatherCase(
        gathers.scatter_rows,
        [
            _floats(37, 70),
            (RNG.permutation(60)[:37] - 5).astype(np.int32),
            _floats(50, 70),
        ],
        _scattered,
    ),
    "add_rows": GatherCase(
        gathers.add_rows,
        [
            np.round(_floats(37, 70) * 8),
            _integers(-3, 12, 37),
            np.round(_floats(10, 70) * 8),
        ],
        _added,
    ),
    "histogram": GatherCase(
        gathers.histogram,
        [_integers(-5, 70, 1000), _zeros(64, dtype=np.int32)],
        _counts,
    ),
    **{
        f"counted_{np.dtype(dtype)}_{bins}": GatherCase(
            gathers.counted,
            [
                _integers(low, high, 40, 64, dtype=dtype),
                _zeros(bins, dtype=np.int32),
                np.int32(37),
            ],
            _counted,
            {"bins": bins, "num_stages": stages, "T": dtype_of_array(dtype(0))},
            written=1,
        )
        for dtype, low, high, bins, stages in (
            (np.uint8, 0, 256, 256, 3),
            (np.uint8, 7, 8, 200, 1),
            (np.int8, -128, 128, 100, 1),
            (np.int32, -(2**31), 2**31 - 1, 3, 1),
            (np.int32, -3, 9, 7, 3),
            (np.int64, -3, 2000, 1000, 1),
        )
    },
    "masked": GatherCase(
        gathers.masked,
        [_halves(40, 150), _halves(40, 150), np.int32(23), np.int32(101)],
        _masked,
        written=1,
    ),
    "masked_whole_tiles": GatherCase(
        gathers.masked,
        [_halves(32, 128), _halves(32, 128), np.int32(23), np.int32(101)],
        _masked,
        written=1,
    ),
    "masked_nothing": GatherCase(
        gathers.masked,
        [_halves(32, 128), _halves(32, 128), np.int32(0), np.int32(101)],
        _masked,
        written=1,
    ),
    "sequences": GatherCase(
        gathers.sequences,
        [_halves(60, 32), _STARTS, _halves(5, 48, 32)],
        _sequences,
    ),
    **{
        f"copied_sequences_{stages}": GatherCase(
            gathers.copied_sequences,
            [_halves(60, 32), _STARTS, _halves(5, 48, 32)],
            lambda x, start, y: _sequences(x, start, 0 * y),
            {"num_stages": stages},
        )
        for stages in (1, 2, 4)
    },
    **{
        f"copied_pages_{stages}": GatherCase(
            gathers.copied_pages,
            [
                _halves(7, 16, 3, 32),
                _integers(-1, 8, 6),
                _halves(90, 3, 32),
                np.int32(83),
            ],
            lambda k, table, y, n: (
                _pages(k, table, y) * (np.arange(len(y)) < n)[:, None, None]
            ),
            {"num_stages": stages},
            written=2,
        )
        for stages in (1, 3)
    },
    **{
        f"copied_pages_of_heads_{stages}": GatherCase(
            gathers.copied_pages_of_heads,
            [_halves(7, 3, 16, 32), _integers(-1, 8, 6), _halves(90, 3, 32)],
            lambda k, table, y: _pages(k.transpose(0, 2, 1, 3), table, y),
            {"num_stages": stages},
        )
        for stages in (1, 3)
    },
    **{
        f"{kernel.name}_{stages}": GatherCase(
            kernel,
            [_halves(7, 16, 3, 32), _integers(-1, 8, 6), _halves(90, 3, 32)],
            _pages,
            {"num_stages": stages},
        )
        for stages in (1, 3)
        for kernel in (gathers.copied_parts_of_pages, gathers.tables_of_pages)
    },
    **{
        f"product_of_pages_{stages}": GatherCase(
            gathers.product_of_pages,
            [
                _integers(-3, 4, 70, 104).astype(np.float16),
                _integers(-3, 4, 7, 16, 104).astype(np.float16),
                _integers(-1, 8, 6),
                np.zeros((70, 96), np.float32),
            ],
            lambda q, k, table, y: (
                q.astype(np.float32)
                @ _pages(k[:, :, None], table, np.zeros((96, 1, 104)))[:, 0].T
            ),
            {"num_stages": stages},
        )
        for stages in (1, 3)
    },
    **{
        f"copied_masked_{stages}": GatherCase(
            gathers.copied_masked,
            [_halves(40, 72), _halves(40, 72)],
            lambda x, y: x * (np.arange(len(x)) % 2 == 1)[:, None],
            {"num_stages": stages},
        )
        for stages in (1, 2)
    },
    **{
        f"copied_rows_{stages}": GatherCase(
            gathers.copied_rows,
            [
                _halves(50, 200),
                _integers(-3, 55, 70),
                _zeros(70, 200, dtype=np.float16),
            ],
            lambda x, ids, y: _take(x, ids),
            {"num_stages": stages},
        )
        for stages in (1, 2, 3, 5)
    },
    **{
        f"gathered_product_{stages}": GatherCase(
            gathers.gathered_product,
            [
                _halves(90, 104),
                _halves(3, 104, 72),
                _integers(-3, 95, 150),
                _integers(0, 3, 3),
                _zeros(150, 72),
            ],
            _product,
            {"num_stages": stages},
            tolerance=2e-3,
        )
        for stages in (1, 3)
    },
}
