"""Grouped matmuls of tilews.kernels against float64, and what is compiled for them."""

import ml_dtypes
import numpy as np
import pytest

from kernels.library import library_calls
from kernels.library.library_calls import FLOATS, assert_close
from kernels.library.test_matmuls import SIM, TYPES, random_array, wide
from tilews import kernels
from tilews.kernels.matmuls import grouped, tiling
from tilews.runtime import LaunchError

#: Rows of groups: none, one, a few, whole tiles, and a whole tile and a row.
SIZES = (0, 1, 40, 128, 0, 65)


def check_groups(sizes, columns, depth, dtype="f16", *, gathers, transposed, **launch):
    """Compares the groups with numpy. Rows that no group has stay as they are."""
    kind = TYPES[dtype]
    if launch and dtype == "e4m3":
        kind = ml_dtypes.float8_e4m3fnuz
    random = np.random.default_rng(0)
    before, after = 3, 5
    starts = (np.cumsum([0, *sizes]) + before).astype(np.int32)
    count = int(starts[-1]) + after
    rows = random.integers(0, 30, count).astype(np.int32) if gathers else None
    a = random_array((30 if gathers else count, depth), kind)
    b = random_array((len(sizes), depth, columns), kind, 1)
    scales = None if dtype == "i8" else 2.0 ** random.integers(-2, 3, count)
    given = np.ascontiguousarray(np.swapaxes(b, 1, 2)) if transposed else b
    out = np.full((count, columns), 7, np.int32 if dtype == "i8" else np.float32)
    found = kernels.grouped_matmul(
        a,
        given,
        starts,
        rows=rows,
        row_scales=None if scales is None else scales.astype(np.float32),
        transpose_b=transposed,
        out_dtype=out.dtype.type,
        out=out,
        **launch,
    )
    assert found is out
    taken = wide(a if rows is None else a[rows])
    if scales is not None:
        taken = taken * scales[:, None]
    expected = np.full(out.shape, 7.0)
    for group in range(len(sizes)):
        own = slice(*starts[group : group + 2])
        expected[own] = taken[own] @ wide(b[group])
    np.testing.assert_array_equal(wide(found), expected)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("gathers", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
def test_groups_against_float64(dtype, gathers, transposed):
    check_groups(SIZES, 72, 80, dtype, gathers=gathers, transposed=transposed)


@pytest.mark.parametrize("gathers", [False, True])
@pytest.mark.parametrize("dtype", ["f16", "e4m3"])
def test_machine_code_of_groups(dtype, gathers):
    check_groups(SIZES, 40, 64, dtype, gathers=gathers, transposed=True, **SIM)


@pytest.mark.parametrize("sizes", [(5,), (0,), (0, 0, 0), (1,) * 40, (200, 0)], ids=len)
def test_few_and_many_groups(sizes):
    check_groups(sizes, 16, 16, gathers=False, transposed=False)


def test_each_tile_has_a_block():
    """Whatever the sizes of groups are, there is a block for each of their tiles."""
    random = np.random.default_rng(1)
    one = tiling.Tiling(64, 64, 64, 128, 2, 1.0)
    for _ in range(200):
        sizes = random.integers(0, random.integers(1, 200), random.integers(1, 40))
        tiles = int((-(-sizes // one.bm)).sum())
        assert tiles <= grouped.tile_count(one, int(sizes.sum()), len(sizes))


def test_result_type_and_scale():
    a, b = np.ones((4, 8), FLOATS["bf16"]), np.ones((1, 8, 2), FLOATS["bf16"])
    y = kernels.grouped_matmul(a, b, np.array([0, 4], np.int32), scale=0.5)
    assert y.dtype == FLOATS["bf16"]
    assert_close(y, np.full((4, 2), 4.0), "bf16")


A, B = np.zeros((6, 8), np.float16), np.zeros((3, 8, 4), np.float16)
STARTS = np.zeros(4, np.int32)


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: kernels.grouped_matmul(A, B, STARTS, transpose_b=True),
            "'b': expected shape (groups, N, 8), found (3, 8, 4)",
        ),
        (
            lambda: kernels.grouped_matmul(A, B, STARTS[1:]),
            "'starts': expected shape (4), found (3,)",
        ),
        (
            lambda: kernels.grouped_matmul(A, B[:0], STARTS[:1]),
            "'b': expected 1 to 4096 groups, found 0",
        ),
        (
            lambda: kernels.grouped_matmul(A, B, STARTS, rows=STARTS.astype(np.int64)),
            "'rows': expected one of i32, found i64",
        ),
        (
            lambda: kernels.grouped_matmul(
                A, B, STARTS, rows=STARTS, row_scales=np.zeros(6, np.float32)
            ),
            "'row_scales': expected shape (4), found (6,)",
        ),
        (
            lambda: kernels.grouped_matmul(
                A.astype(np.int8), B.astype(np.int8), STARTS, scale=2.0
            ),
            "a result of i32 has no scales; pass out_dtype=tl.f32",
        ),
    ],
)
def test_wrong_groups(call, message):
    with pytest.raises(LaunchError) as error:
        call()
    assert str(error.value) == f"grouped_matmul: {message}"


# --- What is compiled -----------------------------------------------------------------


def experts(gathers, **launch):
    """The matmul of a mixture of experts."""
    a, b = np.zeros((2048, 1024), np.float16), np.zeros((8, 1024, 1024), np.float16)
    given = {"rows": np.zeros(4096, np.int32)} if gathers else {}
    starts = np.zeros(9, np.int32)
    kernels.grouped_matmul(a, b, starts, transpose_b=True, **given, **launch)


@pytest.mark.parametrize("gathers", [False, True])
@pytest.mark.parametrize("chip", library_calls.CHIPS)
def test_groups_compile(chip, gathers):
    (compiled,) = library_calls.compile_for(
        lambda **launch: experts(gathers, **launch), chip
    )
    assert compiled.resources["spill_stores"] == 0
    if chip == "sm_90a":
        assert "wgmma" in compiled.ptx and "cp.async.bulk.tensor" in compiled.ptx
        assert not compiled.resources["warnings"]


@pytest.mark.parametrize("gathers", [False, True])
@pytest.mark.parametrize("chip", ["sm_80", "sm_90a", "gfx942", "gfx950"])
def test_groups_are_proved(chip, gathers):
    library_calls.prove(lambda **launch: experts(gathers, **launch), chip)
