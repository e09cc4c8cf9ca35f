"""Matmuls of tilews.kernels against float64; their tiles; what is compiled."""

import dataclasses

import ml_dtypes
import numpy as np
import pytest

import tilews
from kernels.library import library_calls
from kernels.library.library_calls import FLOATS, assert_close
from tilews import kernels
from tilews.kernels.matmuls import dense, tiling
from tilews.runtime import LaunchError

TYPES = {**FLOATS, "e4m3": ml_dtypes.float8_e4m3fn, "i8": np.int8}
RESULTS = {"e4m3": "bf16"}
SIM = {"target": "gfx942", "run": "sim"}


def random_array(shape, dtype, seed=0):
    """Small integers, whose matmuls are exact."""
    values = np.random.default_rng(seed).integers(-2, 3, shape)
    return values.astype(np.float32).astype(dtype)


def wide(x):
    return np.asarray(x, np.float64)


def operands(shape, transposes, dtype):
    """Random operands as they are stored, and their matmul."""
    *outer, m, n, k = shape
    a, b = random_array((*outer, m, k), dtype), random_array((*outer, k, n), dtype, 1)
    product = wide(a) @ wide(b)
    stored = (
        np.ascontiguousarray(np.swapaxes(x, -1, -2)) if transposed else x
        for x, transposed in zip((a, b), transposes, strict=True)
    )
    return *stored, product


SHAPES = [(1, 1, 1), (70, 33, 50), (2, 3, 17, 40, 24), (130, 72, 136), (5, 0, 3)]
TRANSPOSES = [(False, False), (False, True), (True, False), (True, True)]


@pytest.mark.parametrize("transposes", TRANSPOSES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", TYPES)
def test_against_float64(dtype, shape, transposes):
    check_product(dtype, shape, transposes)


def check_product(dtype, shape, transposes, **launch):
    kind = TYPES[dtype]
    if launch and dtype == "e4m3":
        kind = ml_dtypes.float8_e4m3fnuz
    a, b, expected = operands(shape, transposes, kind)
    found = kernels.matmul(
        a, b, transpose_a=transposes[0], transpose_b=transposes[1], **launch
    )
    assert found.dtype == FLOATS.get(RESULTS.get(dtype, dtype), np.int32)
    if dtype == "i8":
        np.testing.assert_array_equal(found, expected)
    else:
        assert_close(found, expected, RESULTS.get(dtype, dtype), terms=0)


@pytest.mark.parametrize("transposes", TRANSPOSES[:2], ids=str)
@pytest.mark.parametrize("dtype", TYPES)
def test_machine_code(dtype, transposes):
    check_product(dtype, (2, 50, 34, 40), transposes, **SIM)


def test_empty_sums_are_zero():
    y = kernels.matmul(np.ones((3, 0), np.float16), np.ones((0, 5), np.float16))
    assert y.shape == (3, 5) and (y == 0).all()


@pytest.mark.parametrize("launch", [{}, SIM], ids=str)
@pytest.mark.parametrize("splits", [1, 4])
def test_epilogue(splits, launch, monkeypatch):
    fixed = tiling.Tiling(64, 64, 32, 128, 2, 1.0, splits=splits)
    monkeypatch.setattr(tiling, "candidates", lambda *_: [fixed])
    a, b, product = operands((2, 70, 40, 200), (False, False), FLOATS["bf16"])
    random = np.random.default_rng(2)
    rows = random.random((2, 70)).astype(np.float32)
    columns = random.random(40).astype(np.float32)
    bias = random.normal(0, 1, 40).astype(np.float16)
    residual = random.normal(0, 1, (2, 70, 40)).astype(FLOATS["bf16"])
    found = kernels.matmul(
        a,
        b,
        scale=0.5,
        scale_a=rows,
        scale_b=columns,
        bias=bias,
        activation="relu",
        residual=residual,
        out_dtype=np.float32,
        **launch,
    )
    expected = 0.5 * product * rows[..., None] * columns + wide(bias)
    expected = np.maximum(expected, 0) + wide(residual)
    assert_close(found, expected, "f32")


def test_one_right_matrix_for_a_batch():
    a, b = random_array((2, 3, 7, 16), np.float16), random_array((16, 5), np.float16)
    found = kernels.matmul(a, b, out=np.empty((2, 3, 7, 5), np.float16))
    np.testing.assert_array_equal(wide(found), wide(a) @ wide(b))


def test_f32_without_tf32():
    a, b = (np.random.default_rng(i).normal(0, 1, (40, 40)) for i in range(2))
    a, b = a.astype(np.float32), b.astype(np.float32)
    expected = wide(a) @ wide(b)
    exact = np.abs(kernels.matmul(a, b, allow_tf32=False) - expected).max()
    assert exact < 1e-5


A = np.ones((4, 8), np.float16)


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: kernels.matmul(A, A),
            "matmul: 'b': expected a depth of 8 as that of 'a', found 4 (shape (4, 8), "
            "not transposed)",
        ),
        (
            lambda: kernels.matmul(A, A.T.astype(np.float32)),
            "matmul: 'b': expected one of f16, found f32",
        ),
        (
            lambda: kernels.matmul(A[None], np.ones((3, 8, 2), np.float16)),
            "matmul: 'b': expected a batch of shape (1,) as that of 'a', found (3,)",
        ),
        (
            lambda: kernels.matmul(A, A, transpose_b=True, bias=A),
            "matmul: 'bias': expected shape (4), found (4, 8)",
        ),
        (
            lambda: kernels.matmul(A, A, transpose_b=True, scale=2, out_dtype="int32"),
            "matmul: a result of i32 has no epilogue; pass out_dtype=tl.f32",
        ),
    ],
)
def test_wrong_arguments(call, message):
    with pytest.raises(LaunchError) as error:
        call()
    assert str(error.value) == message


# --- Tiles ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape, is_persistent, is_split",
    [
        ((1, 8192, 8192, 8192), True, False),
        ((1, 512, 512, 16384), False, True),
        ((1, 16, 1024, 8192), False, True),
        ((1, 64, 64, 64), False, False),
    ],
    ids=str,
)
def test_choice_on_hopper(shape, is_persistent, is_split):
    chosen = tiling.choose(shape, 2, "H100", on_host=False, is_direct=True)
    assert (chosen.blocks > 0, chosen.splits > 1) == (is_persistent, is_split)
    whole = tiling.choose(shape, 2, "H100", False, True, can_split=False)
    assert whole.splits == 1


@pytest.mark.parametrize("shape", [(1, 1, 1, 1), (3, 64, 64, 8192), (1, 5, 8192, 300)])
def test_splits(shape):
    """Each part has two steps, and there are not many more parts than processors."""
    batches, m, n, k = shape
    for one in tiling.candidates("sm_90a", 2, True):
        splits = tiling.possible_splits(one, shape)
        assert splits[0] == 1
        if one.blocks:
            assert len(splits) == 1
        tiles = batches * -(-m // one.bm) * -(-n // one.bn)
        for each in splits[1:]:
            assert each * 2 * one.bk <= k
            assert each * tiles <= 4 * tiling.PROCESSORS


def test_misaligned_rows_are_read_in_pairs():
    """Rows of fp8 that are no multiple of 128 bytes take more of the cache."""
    shape = (1, 4096, 4096, 4112)
    chosen = tiling.choose(shape, 1, "H100", on_host=False, is_direct=True)
    assert chosen.cluster == 2


def test_every_tiling_fits():
    for target in ("sm_80", "sm_90a", "gfx942"):
        for itemsize in (1, 2, 4):
            for one in tiling.candidates(target, itemsize, True):
                tile = (one.bm + one.bn) * one.bk * itemsize
                limit = {"sm_80": 160, "sm_90a": 224, "gfx942": 64}[target]
                assert tile * one.stages <= limit * 1024


def big(dtype, shape, transposes, **launch):
    """A matmul of zeros. The bytes of e4m3 are those of gfx942 there."""
    kind = TYPES[dtype]
    if dtype == "e4m3" and launch["target"] == "gfx942":
        kind = ml_dtypes.float8_e4m3fnuz
    m, n, k = shape
    a = np.zeros((k, m) if transposes[0] else (m, k), kind)
    b = np.zeros((n, k) if transposes[1] else (k, n), kind)
    kernels.matmul(a, b, transpose_a=transposes[0], transpose_b=transposes[1], **launch)


#: Persistent, with sums of parts, and rows that TMA does not copy.
LARGE = [(2048, 2048, 2048), (64, 64, 4096), (300, 100, 75)]


@pytest.mark.parametrize("shape", LARGE, ids=str)
@pytest.mark.parametrize("chip", library_calls.CHIPS)
@pytest.mark.parametrize("dtype", TYPES)
def test_compiles(dtype, chip, shape):
    def run(**launch):
        big(dtype, shape, (False, True), **launch)

    if dtype == "e4m3" and chip in ("sm_80", "gfx1100"):
        with pytest.raises(tilews.CompileError, match="does not multiply e4m3"):
            library_calls.compile_for(run, chip)
        return
    (compiled,) = library_calls.compile_for(run, chip)
    assert compiled.resources["spill_stores"] <= 4
    if chip == "sm_90a" and shape != LARGE[2]:
        assert "wgmma" in compiled.ptx


@pytest.mark.parametrize("transposes", TRANSPOSES, ids=str)
@pytest.mark.parametrize("dtype", TYPES)
def test_compiles_in_each_order(dtype, transposes):
    def run(**launch):
        big(dtype, LARGE[0], transposes, **launch)

    (compiled,) = library_calls.compile_for(run, "sm_90a")
    assert compiled.resources["spill_stores"] == 0
    direct = dtype in ("f16", "bf16") or transposes == (False, True)
    assert ("wgmma" in compiled.ptx) == direct


@pytest.mark.parametrize("shape", LARGE, ids=str)
@pytest.mark.parametrize("chip", ["sm_90a", "gfx942"])
@pytest.mark.parametrize("dtype", ["bf16", "e4m3"])
def test_proved(dtype, chip, shape):
    def run(**launch):
        big(dtype, shape, (False, True), **launch)

    library_calls.prove(run, chip)


def hopper_tilings():
    """Each candidate for sm_90a, and with parts of the depth where it may be split."""
    for one in tiling.candidates("sm_90a", 2, True):
        yield one
        if not one.blocks:
            yield dataclasses.replace(one, splits=2)


@pytest.mark.parametrize("one", list(hopper_tilings()), ids=str)
def test_every_tiling_is_proved(one, monkeypatch):
    monkeypatch.setattr(dense, "choose", lambda *_: one)

    def run(**launch):
        big("bf16", (1000, 1000, 1000), (False, True), **launch)

    (compiled,) = library_calls.compile_for(run, "sm_90a")
    assert "wgmma" in compiled.ptx
    if one.splits == 1:
        assert compiled.resources["spill_stores"] == 0
    assert ("multicast" in compiled.ptx) == (one.cluster > 1)
    library_calls.prove(run, "sm_90a")
