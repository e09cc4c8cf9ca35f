"""Scaled matmuls of tilews.kernels against float64, and what is compiled for them."""

import ml_dtypes
import numpy as np
import pytest

import tilews
import tilews.language as tl
from kernels.library import library_calls
from kernels.library.library_calls import FLOATS, assert_close
from kernels.library.test_matmuls import SIM, wide
from tilews import kernels
from tilews.kernels.matmuls import scaled, tiling
from tilews.runtime import LaunchError

FP8 = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}
FNUZ = {"e4m3": ml_dtypes.float8_e4m3fnuz, "e5m2": ml_dtypes.float8_e5m2fnuz}
CDNA4 = {"target": "gfx950", "run": "sim"}
#: What shares a scale, as rows and elements along the depth; 0 is all.
LEFT = [(0, 0), (1, 0), (1, 128)]
RIGHT = [*LEFT, (128, 128)]


def random_scales(shape, span, seed):
    """Scales of an operand, and the same for each of its elements."""
    rows, depth = (
        -(-extent // each) if each else 1
        for extent, each in zip(shape, span, strict=True)
    )
    scales = np.random.default_rng(seed).random((rows, depth)).astype(np.float32) + 0.5
    every = np.repeat(np.repeat(scales, span[0] or shape[0], 0), span[1] or shape[1], 1)
    if not span[1]:
        scales = scales[:, 0]
    return scales, wide(every)[: shape[0], : shape[1]]


def check_scaled(shape, spans, types=("e4m3", "e4m3"), dtype="f32", **launch):
    """Compares a scaled matmul, with a bias, with float64."""
    m, n, k = shape
    known = FNUZ if launch.get("target") == "gfx942" else FP8
    random = np.random.default_rng(0)
    stored, exact, scales = [], [], []
    for i, (rows, kind, span) in enumerate(zip((m, n), types, spans, strict=True)):
        stored.append(random.normal(0, 1, (rows, k)).astype(known[kind]))
        each, every = random_scales((rows, k), span, i)
        scales.append(each)
        exact.append(wide(stored[-1]) * every)
    bias = random.normal(0, 1, n).astype(np.float32)
    found = kernels.scaled_matmul(
        *stored, *scales, bias=bias, out_dtype=FLOATS[dtype], **launch
    )
    assert found.dtype == FLOATS[dtype]
    assert_close(found, exact[0] @ exact[1].T + bias, dtype)


@pytest.mark.parametrize("right", RIGHT, ids=str)
@pytest.mark.parametrize("left", LEFT, ids=str)
def test_scales_against_float64(left, right):
    check_scaled((70, 200, 300), (left, right))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("types", [("e4m3", "e5m2"), ("e5m2", "e4m3")], ids=str)
@pytest.mark.parametrize("shape", [(1, 1, 1), (130, 129, 128)], ids=str)
def test_types_against_float64(shape, types, dtype):
    check_scaled(shape, ((1, 128), (128, 128)), types, dtype)


@pytest.mark.parametrize("right", RIGHT, ids=str)
@pytest.mark.parametrize("left", LEFT, ids=str)
@pytest.mark.parametrize("launch", [SIM, CDNA4], ids=str)
def test_machine_code_of_scales(launch, left, right):
    check_scaled((40, 150, 272), (left, right), **launch)


@pytest.mark.parametrize("launch", [SIM, CDNA4], ids=str)
def test_machine_code_of_mixed_types(launch):
    check_scaled((17, 33, 144), LEFT[:2], ("e5m2", "e4m3"), "bf16", **launch)


@pytest.mark.parametrize("launch", [{}, SIM], ids=str)
def test_parts_of_the_depth(launch, monkeypatch):
    fixed = tiling.Tiling(64, 64, 128, 128, 2, 1.0, splits=3)
    monkeypatch.setattr(scaled, "choose_scaled", lambda *_: fixed)
    check_scaled((70, 130, 1000), ((1, 128), (128, 128)), **launch)
    check_scaled((70, 130, 1000), ((1, 0), (0, 0)), **launch)


def test_persistent_blocks(monkeypatch):
    fixed = tiling.Tiling(64, 64, 128, 128, 2, 1.0, blocks=3)
    monkeypatch.setattr(scaled, "choose_scaled", lambda *_: fixed)
    check_scaled((200, 200, 300), ((1, 128), (1, 128)), **SIM)


def test_batches_and_scales_of_tensors():
    a, b = np.ones((2, 3, 256), FP8["e4m3"]), np.ones((5, 256), FP8["e5m2"])
    one, rows = np.array(0.5, np.float32), np.arange(6, dtype=np.float32).reshape(2, 3)
    y = kernels.scaled_matmul(a, b, rows, one)
    assert y.shape == (2, 3, 5) and y.dtype == FLOATS["bf16"]
    np.testing.assert_array_equal(wide(y), np.repeat(128.0 * rows[..., None], 5, 2))
    blocks = np.ones((2, 3, 2), np.float32)
    y = kernels.scaled_matmul(a, b, blocks, one[None], out_dtype=tl.f32)
    assert (y == 128).all()


def test_empty_operands():
    scale = np.ones(1, np.float32)
    a, b = np.ones((3, 0), FP8["e4m3"]), np.ones((2, 0), FP8["e4m3"])
    assert (kernels.scaled_matmul(a, b, scale, scale) == 0).all()
    assert kernels.scaled_matmul(a[:0], b, scale, scale).shape == (0, 2)


A, B = np.zeros((4, 256), FP8["e4m3"]), np.zeros((200, 256), FP8["e5m2"])
ONE = np.ones(1, np.float32)


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: kernels.scaled_matmul(A, B[:, :128].copy(), ONE, ONE),
            "'b': expected shape (N, 256), found (200, 128)",
        ),
        (
            lambda: kernels.scaled_matmul(A.astype(np.float16), B, ONE, ONE),
            "'a': expected one of e4m3, e5m2, e4m3fnuz, e5m2fnuz, found f16",
        ),
        (
            lambda: kernels.scaled_matmul(A, B, np.ones(5, np.float32), ONE),
            "'scale_a': expected shape (1,) or (4,) or (4, 2), found (5,)",
        ),
        (
            lambda: kernels.scaled_matmul(A, B, ONE, np.ones((1, 2), np.float32)),
            "'scale_b': expected shape (1,) or (200,) or (200, 2) or (2, 2), found "
            "(1, 2)",
        ),
        (
            lambda: kernels.scaled_matmul(A, B, ONE, np.ones(1)),
            "'scale_b': expected one of f32, found f64",
        ),
        (
            lambda: kernels.scaled_matmul(A, B, ONE, ONE, out_dtype=np.int32),
            "'out_dtype': expected one of f16, bf16, f32, found i32",
        ),
        (
            lambda: kernels.scaled_matmul(A, B, ONE, ONE, bias=ONE),
            "'bias': expected shape (200), found (1,)",
        ),
    ],
)
def test_wrong_scales(call, message):
    with pytest.raises(LaunchError) as error:
        call()
    assert str(error.value) == f"scaled_matmul: {message}"


# --- What is compiled -----------------------------------------------------------------

#: Persistent, with sums of parts, and rows that TMA does not copy.
LARGE = [(4096, 4096, 4096), (64, 512, 7168), (300, 100, 1000)]


def big(shape, spans, types=("e4m3", "e4m3"), **launch):
    known = FNUZ if launch["target"] == "gfx942" else FP8
    (m, n, k), scales = shape, []
    for rows, span in zip((m, n), spans, strict=True):
        scales.append(random_scales((rows, k), span, 0)[0])
    a, b = (
        np.zeros((rows, k), known[kind])
        for rows, kind in zip((m, n), types, strict=True)
    )
    kernels.scaled_matmul(a, b, *scales, **launch)


#: All kinds of scales.
SPANS = [((1, 128), (128, 128)), ((1, 128), (1, 128)), ((1, 0), (0, 0))]


@pytest.mark.parametrize("shape", LARGE, ids=str)
@pytest.mark.parametrize("spans", SPANS, ids=str)
@pytest.mark.parametrize("chip", ["sm_89", "sm_90a", "gfx942", "gfx950"])
def test_scaled_compiles(chip, spans, shape):
    (compiled,) = library_calls.compile_for(
        lambda **launch: big(shape, spans, ("e4m3", "e5m2"), **launch), chip
    )
    assert compiled.resources["spill_stores"] == 0
    assert compiled.resources["stack_bytes"] == 0
    if chip.startswith("sm_"):
        assert not compiled.resources["warnings"]
    if chip == "sm_90a" and shape[2] % 16 == 0:
        assert "wgmma" in compiled.ptx and "cp.async.bulk.tensor" in compiled.ptx


@pytest.mark.parametrize("chip", ["sm_80", "gfx1100"])
def test_chips_without_fp8(chip):
    with pytest.raises(tilews.CompileError, match="does not multiply e4m3"):
        library_calls.compile_for(
            lambda **launch: big(LARGE[2], SPANS[0], **launch), chip
        )


@pytest.mark.parametrize("shape", LARGE, ids=str)
@pytest.mark.parametrize("spans", SPANS[:2], ids=str)
@pytest.mark.parametrize("chip", ["sm_89", "sm_90a", "gfx942", "gfx950"])
def test_scaled_is_proved(chip, spans, shape):
    library_calls.prove(lambda **launch: big(shape, spans, **launch), chip)


def test_large_results_have_persistent_blocks_on_hopper():
    chosen = scaled.choose_scaled(LARGE[0], "sm_90a", True, True)
    assert (chosen.bm, chosen.bn, chosen.blocks > 0) == (128, 128, True)
    assert scaled.choose_scaled(LARGE[1], "sm_90a", True, True).splits > 1
    assert scaled.choose_scaled(LARGE[1], "sm_90a", True, False).splits == 1
