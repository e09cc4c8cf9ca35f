"""Operations on rows against float64, in the interpreter and as machine code."""

import math
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

import tilews
import tilews.language as tl
from kernels.library import library_calls
from kernels.library.library_calls import FLOATS, assert_close
from tilews import kernels

#: Rows of one element, of an odd number, several dimensions, longer than 32 threads.
SHAPES = [(1, 1), (5, 33), (2, 3, 96), (130,), (3, 2500)]
EMPTY = [(0, 8), (3, 0, 16)]


def random_array(shape, dtype="f32", seed=0):
    values = np.random.default_rng(seed).normal(0, 2, shape)
    return values.astype(FLOATS[dtype])


def wide(x):
    return np.asarray(x, np.float64)


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True, initial=-1e30))
    return e / e.sum(axis=-1, keepdims=True)


def rms_norm(x, weight=1.0, eps=1e-6):
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps) * weight


def layer_norm(x, weight=1.0, bias=0.0, eps=1e-5):
    x = x - x.mean(axis=-1, keepdims=True)
    return rms_norm(x, weight, eps) + bias


def silu(x):
    return x / (1 + np.exp(-x))


erf = np.vectorize(math.erf, otypes=[np.float64])
ACTIVATIONS: dict[str, Callable] = {
    "silu": silu,
    "gelu": lambda x: 0.5 * x * (1 + erf(x / math.sqrt(2))),
    "gelu_tanh": lambda x: (
        0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    ),
    "relu": lambda x: np.maximum(x, 0),
}


def normalized(x):
    """The arguments of norms that have a weight, a bias and a residual of x's type."""
    weight = random_array(x.shape[-1:], seed=1).astype(x.dtype)
    bias = random_array(x.shape[-1:], seed=2).astype(x.dtype)
    return weight, bias, random_array(x.shape, seed=3).astype(x.dtype)


def check_softmax(x, dtype, **launch):
    found = kernels.softmax(x, scale=0.5, **launch)
    assert found.dtype == x.dtype
    assert_close(found, softmax(0.5 * wide(x)), dtype)


def check_rms_norm(x, dtype, **launch):
    weight, _, residual = normalized(x)
    found = kernels.rms_norm(x, weight, residual=residual, **launch)
    assert found.dtype == x.dtype
    assert_close(found, rms_norm(wide(x) + wide(residual), wide(weight)), dtype)


def check_layer_norm(x, dtype, **launch):
    weight, bias, residual = normalized(x)
    found = kernels.layer_norm(x, weight, bias, residual=residual, **launch)
    expected = layer_norm(wide(x) + wide(residual), wide(weight), wide(bias))
    # A row of one element is the square root of eps times rounding errors.
    assert_close(found, expected, dtype, terms=64)


def check_silu_and_mul(x, dtype, **launch):
    x = np.concatenate([x, x[..., ::-1]], axis=-1)
    gate, up = np.split(wide(x), 2, axis=-1)
    assert_close(kernels.silu_and_mul(x, **launch), silu(gate) * up, dtype)


def check_cross_entropy(x, dtype, **launch):
    random = np.random.default_rng(1)
    targets = random.integers(0, max(x.shape[-1], 1), x.shape[:-1], np.int32)
    targets = np.where(random.random(targets.shape) < 0.2, -1, targets).astype(np.int64)
    found = kernels.cross_entropy(
        x, targets, ignore_index=-1, label_smoothing=0.1, **launch
    )
    if not x.size:
        assert found.shape == targets.shape
        return
    wanted = np.full(x.shape, 0.1 / x.shape[-1])
    own = np.maximum(targets, 0)[..., None]
    np.put_along_axis(wanted, own, np.take_along_axis(wanted, own, -1) + 0.9, -1)
    expected = -(wanted * np.log(softmax(wide(x)))).sum(axis=-1)
    assert_close(found, np.where(targets == -1, 0, expected), "f32", size=10)


def check_argmax(x, dtype, **launch):
    x = np.round(x)  # Many equal elements.
    if x.shape[-1]:
        np.testing.assert_array_equal(
            kernels.argmax(x, **launch), np.argmax(wide(x), axis=-1)
        )


def check_cumsum(x, dtype, **launch):
    for reverse in (False, True):
        for exclusive in (False, True):
            found = kernels.cumsum(x, reverse=reverse, exclusive=exclusive, **launch)
            own = wide(x)[..., ::-1] if reverse else wide(x)
            sums = np.cumsum(own, axis=-1) - (own if exclusive else 0)
            expected = sums[..., ::-1] if reverse else sums
            error = np.abs(wide(found) - expected)
            # An error is relative to the sums on the way.
            allowed = library_calls.ROUNDOFF[dtype] * np.abs(expected)
            allowed += 2**-18 * np.abs(own).sum(axis=-1, keepdims=True)
            assert (error <= allowed).all()


CHECKS = {
    name.removeprefix("check_"): check
    for name, check in globals().items()
    if name.startswith("check_")
}


@pytest.mark.parametrize("shape", SHAPES + EMPTY, ids=str)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", CHECKS)
def test_against_float64(name, dtype, shape):
    CHECKS[name](random_array(shape, dtype), dtype)


@pytest.mark.parametrize("chip", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("name", CHECKS)
def test_machine_code(name, chip):
    CHECKS[name](random_array((5, 100), "bf16"), "bf16", target=chip, run="sim")


@pytest.mark.parametrize("name", ["softmax", "cross_entropy", "argmax", "cumsum"])
def test_rows_longer_than_a_tile(name):
    CHECKS[name](random_array((2, 33000)), "f32")


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name):
    x = random_array((3, 2 * 40))
    gate, up = np.split(wide(x), 2, axis=-1)
    expected = ACTIVATIONS[name](gate) * up
    assert_close(kernels.gated(x, activation=name), expected, "f32")
    if name.startswith("gelu"):
        found = kernels.gelu_and_mul(x, approximate=name == "gelu_tanh")
        assert_close(found, expected, "f32")


def test_norms_without_weights():
    x = random_array((3, 50))
    assert_close(kernels.rms_norm(x), rms_norm(wide(x)), "f32")
    assert_close(kernels.layer_norm(x), layer_norm(wide(x)), "f32", terms=16)


@pytest.mark.parametrize("name", ["rms_norm", "layer_norm"])
def test_norm_updates_its_residual(name):
    x, residual = random_array((3, 50), "f16"), random_array((3, 50), "f16", seed=1)
    total = x.astype(np.float32) + residual.astype(np.float32)
    getattr(kernels, name)(x, residual=residual, update_residual=True)
    np.testing.assert_array_equal(residual, total.astype(np.float16))


@pytest.mark.parametrize("launch", [{}, {"target": "gfx942", "run": "sim"}], ids=str)
@pytest.mark.parametrize("kind", ["e4m3", "e5m2"])
@pytest.mark.parametrize("name", ["rms_norm", "layer_norm"])
def test_norm_to_fp8(name, kind, launch):
    x = random_array((3, 50), "bf16")
    found, scales = getattr(kernels, name)(x, out_dtype=getattr(tl, kind), **launch)
    assert found.dtype.name.startswith(f"float8_{kind}") and scales.shape == (3,)
    assert found.dtype.name.endswith("fnuz") == bool(launch)
    expected = {"rms_norm": rms_norm, "layer_norm": layer_norm}[name](wide(x))
    largest = np.abs(expected).max(axis=-1, keepdims=True)
    # Half of the last place, at the largest number of the row or below.
    error = np.abs(wide(found) * scales[:, None] - expected)
    place = {"e4m3": 2**-4, "e5m2": 2**-3}[kind]
    assert (error <= place * np.abs(expected) + 2**-9 * largest).all()
    limit = float(ml_dtypes.finfo(found.dtype).max)
    np.testing.assert_allclose(scales, largest[:, 0] / limit, rtol=1e-5)


@pytest.mark.parametrize("launch", [{}, {"target": "gfx942", "run": "sim"}], ids=str)
@pytest.mark.parametrize("group", [None, 32, 128])
def test_cast_to_fp8(group, launch):
    x = random_array((5, 300), "bf16")
    x[1] = 0
    found, scales = kernels.cast_to_fp8(x, group=group, **launch)
    groups = [wide(x)[:, i : i + (group or 300)] for i in range(0, 300, group or 300)]
    largest = np.stack([np.abs(each).max(axis=1) for each in groups], axis=1)
    limit = float(ml_dtypes.finfo(found.dtype).max)
    np.testing.assert_allclose(scales, np.maximum(largest, 1e-12) / limit, rtol=1e-6)
    every = np.repeat(scales, group or 300, axis=1)[:, :300]
    exact = (wide(x) / wide(every)).astype(found.dtype)
    # The quotient is rounded to f32 first, which may decide between two neighbors.
    assert (wide(found) == wide(exact)).mean() > 0.99
    np.testing.assert_allclose(wide(found), wide(exact), rtol=0.13)


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("shape", [(1, 1, 2), (7, 3, 64), (2, 5, 9, 48)], ids=str)
@pytest.mark.parametrize("dtype", FLOATS)
def test_rope(dtype, shape, interleaved):
    check_rope(random_array(shape, dtype), dtype, interleaved)


def check_rope(x, dtype, interleaved, **launch):
    *_, length, _, depth = x.shape
    half = max(1, depth // 4 if depth > 48 else depth // 2)
    angles = np.random.default_rng(1).random((length + 3, half)) * 6
    cos, sin = (f(angles).astype(np.float32) for f in (np.cos, np.sin))
    positions = np.random.default_rng(2).integers(0, length + 3, x.shape[:-2], np.int32)
    for place in (None, positions):
        own = (
            np.broadcast_to(np.arange(length), x.shape[:-2]) if place is None else place
        )
        c, s = wide(cos)[own][..., None, :], wide(sin)[own][..., None, :]
        expected = wide(x).copy()
        first = slice(0, 2 * half, 2) if interleaved else slice(0, half)
        second = slice(1, 2 * half, 2) if interleaved else slice(half, 2 * half)
        a, b = wide(x)[..., first], wide(x)[..., second]
        expected[..., first], expected[..., second] = a * c - b * s, b * c + a * s
        found = kernels.rope(
            x, cos, sin, positions=place, interleaved=interleaved, **launch
        )
        assert_close(found, expected, dtype)
    # In place.
    y = x.copy()
    kernels.rope(y, cos, sin, positions=positions, interleaved=interleaved, out=y)
    assert_close(y, expected, dtype)


@pytest.mark.parametrize("interleaved", [False, True])
def test_machine_code_of_rope(interleaved):
    x = random_array((5, 3, 16), "bf16")
    check_rope(x, "bf16", interleaved, target="gfx942", run="sim")


@pytest.mark.parametrize("launch", [{}, {"target": "gfx942", "run": "sim"}], ids=str)
@pytest.mark.parametrize("n, k", [(1, 1), (40, 5), (200, 200), (3000, 33)])
@pytest.mark.parametrize("dtype", FLOATS)
def test_top_k(dtype, n, k, launch):
    x = np.round(random_array((2, n), dtype) * 4)
    x[1, n // 2] = np.nan
    values, places = kernels.top_k(x, k, **launch)
    rank = np.where(np.isnan(wide(x)), np.inf, wide(x))
    rank += 1e-9 * ((x == 0) & ~np.signbit(x))
    expected = np.argsort(-rank, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(places, expected)
    np.testing.assert_array_equal(
        wide(values), wide(np.take_along_axis(x, expected, axis=1))
    )


def test_argmax_of_nan_and_infinity():
    x = random_array((3, 9000))
    x[0, [70, 8500]] = np.nan
    x[1] = -np.inf
    x[2, 8200] = np.inf
    np.testing.assert_array_equal(kernels.argmax(x), [70, 0, 8200])


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_cumsum_of_integers(dtype):
    x = np.random.default_rng(0).integers(-100, 100, (3, 9000)).astype(dtype)
    np.testing.assert_array_equal(kernels.cumsum(x), np.cumsum(x, axis=1))


@pytest.mark.parametrize("launch", [{}, {"target": "gfx942", "run": "sim"}], ids=str)
@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_dropout(p, launch):
    x = random_array((3, 1100), "f16")
    words = tl.philox(2**40 + 5, np.arange(825))
    bits = np.stack([each.astype(np.uint32) for each in words], axis=1).reshape(3, 1100)
    kept = bits >= round(p * 2**32)
    expected = np.where(kept, wide(x) / (1 - p if p < 1 else 1), 0)
    found = kernels.dropout(x, p, 2**40 + 5, **launch)
    assert_close(found, expected, "f16")
    assert abs(kept.mean() - (1 - p)) < 0.05
    kernels.dropout(x, p, 2**40 + 5, out=x)
    np.testing.assert_array_equal(x, found)


# --- What is compiled ---------------------------------------------------------------


def operate(name: str, **launch):
    """An operation at a size that fills several blocks."""
    x = np.zeros((64, 4096), FLOATS["bf16"])
    vector, tokens = np.zeros(4096, FLOATS["bf16"]), np.zeros(64, np.int64)
    angles = np.zeros((64, 64), np.float32)
    calls = {
        "argmax": lambda: kernels.argmax(x, **launch),
        "argmax-long": lambda: kernels.argmax(
            np.zeros((2, 30000), np.float16), **launch
        ),
        "cast_to_fp8": lambda: kernels.cast_to_fp8(x, group=128, **launch),
        "cast_to_fp8-rows": lambda: kernels.cast_to_fp8(x, **launch),
        "cross_entropy": lambda: kernels.cross_entropy(x, tokens, **launch),
        "cumsum": lambda: kernels.cumsum(x, **launch),
        "dropout": lambda: kernels.dropout(x, 0.5, 1, **launch),
        "gelu_and_mul": lambda: kernels.gelu_and_mul(x, **launch),
        "layer_norm": lambda: kernels.layer_norm(
            x, vector, vector, residual=x.copy(), update_residual=True, **launch
        ),
        "rms_norm": lambda: kernels.rms_norm(
            x, vector, out_dtype="float8_e4m3fn", **launch
        ),
        "rope": lambda: kernels.rope(x.reshape(64, 32, 128), angles, angles, **launch),
        "rope-interleaved": lambda: kernels.rope(
            x.reshape(64, 32, 128), angles, angles, interleaved=True, **launch
        ),
        "silu_and_mul": lambda: kernels.silu_and_mul(x, **launch),
        "softmax": lambda: kernels.softmax(x, **launch),
        "softmax-long": lambda: kernels.softmax(
            np.zeros((2, 40000), np.float16), **launch
        ),
        "top_k": lambda: kernels.top_k(x, 64, **launch),
        "top_k-short": lambda: kernels.top_k(x[:, :608].copy(), 64, **launch),
    }
    return calls if name == "" else calls[name]()


NAMES = list(operate(""))
WITH_FP8 = {"cast_to_fp8", "cast_to_fp8-rows", "rms_norm"}


@pytest.mark.parametrize("chip", library_calls.CHIPS)
@pytest.mark.parametrize("name", NAMES)
def test_compiles_without_spills(name, chip):
    def run(**launch):
        return operate(name, **launch)

    if name in WITH_FP8 and chip in ("sm_80", "gfx1100"):
        with pytest.raises(tilews.CompileError, match=f"{chip}, which has no fp8"):
            library_calls.compile_for(run, chip)
        return
    for compiled in library_calls.compile_for(run, chip):
        if chip.startswith("sm_"):
            assert compiled.resources["spill_stores"] == 0


@pytest.mark.parametrize("chip", ["sm_90a", "gfx942"])
@pytest.mark.parametrize("name", NAMES)
def test_no_schedule_has_to_be_proved(name, chip):
    """Row operations load, compute and store: they have no copies and no roles."""
    counts = library_calls.count_proofs(lambda **launch: operate(name, **launch), chip)
    assert set(counts) == {0}
