"""Copies of run-time sizes by TMA on a GPU, at the edges of mapped memory.

A fault ends the context of the driver: after it, all tests of the process fail.
"""

import numpy as np
import pytest

from targets.tma import windows
from targets.tma.guarded_memory import guarded
from tilews import runtime

torch = pytest.importorskip("torch", reason="torch is not installed")
if runtime.device_target() != "sm_90a":
    pytest.skip("needs a Hopper GPU", allow_module_level=True)

AT_END = pytest.mark.parametrize("at_end", [False, True], ids=["start", "end"])


@pytest.fixture(autouse=True)
def context():
    torch.zeros(1, device="cuda")


def random(*shape, dtype=np.float16):
    return np.random.default_rng(0).standard_normal(shape).astype(dtype)


@AT_END
@pytest.mark.parametrize("tile", [(64, 64), (512, 64), (64, 128)], ids=str)
@pytest.mark.parametrize("rows", [1, 100, 700])
def test_loads(rows, tile, at_end):
    x = random(rows, 72)
    empty = np.full((tile[0], 256), np.nan, np.float16)
    compiled = windows.load_rows.compile("sm_90a", BM=tile[0], BK=tile[1])
    with guarded(x, at_end) as X:
        for first, n in windows.places(rows, tile[0]):
            with guarded(empty, at_end) as Y:
                compiled(X, Y, first, n)
                wanted = windows.rows_of(x, first, n, empty.shape)
                np.testing.assert_array_equal(Y.get(), wanted)


@AT_END
@pytest.mark.parametrize("start", [-1, 0, 2, 5])
def test_loads_of_a_batch(start, at_end):
    x = random(3, 100, 64)
    empty = np.full((4, 64, 64), np.nan, np.float16)
    compiled = windows.load_batch.compile("sm_90a")
    with guarded(x, at_end) as X, guarded(empty, at_end) as Y:
        for first, n in windows.places(100, 64):
            compiled(X, Y, start, first, n)
            wanted = np.zeros_like(empty)
            for b in range(4):
                if 0 <= start + b < 3:
                    wanted[b] = windows.rows_of(x[start + b], first, n, (64, 64))
            np.testing.assert_array_equal(Y.get(), wanted)


@AT_END
@pytest.mark.parametrize("shape", [(700, 64), (700, 52), (1, 32), (40, 4)], ids=str)
def test_stores(shape, at_end):
    x = random(512, 32, dtype=np.float32)
    untouched = np.full(shape, 7, np.float32)
    compiled = windows.compile_store_rows()
    with guarded(x) as X:
        for first, n in windows.places(shape[0], 512):
            for column in (0, 32, 64):
                with guarded(untouched, at_end) as Y:
                    compiled(X, Y, first, first + n, column)
                    wanted = untouched.copy()
                    if first >= 0 and n > 0:
                        part = wanted[first : first + n, column : column + 32]
                        part[:] = x[: part.shape[0], : part.shape[1]]
                    np.testing.assert_array_equal(Y.get(), wanted)


@pytest.mark.parametrize("shape", [(0, 72), (100, 0), (0, 0)], ids=str)
def test_empty_arrays(shape):
    y = torch.full((64, 256), float("nan"), device="cuda", dtype=torch.float16)
    compiled = windows.load_rows.compile("sm_90a")
    x = torch.empty(shape, device="cuda", dtype=torch.float16)
    for first, n in ((0, 0), (0, 64), (5, 3)):
        compiled(x, y.fill_(7), first, n)
        assert not y.any()
