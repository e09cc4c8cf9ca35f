"""Mixtures of experts of tilews.kernels against float64, and what is compiled."""

import math

import numpy as np
import pytest

from kernels.library import library_calls
from kernels.library.library_calls import FLOATS, ROUNDOFF, assert_close
from kernels.library.test_matmuls import SIM, TYPES, wide
from tilews import kernels
from tilews.kernels.rows.gated import ACTIVATIONS
from tilews.runtime import LaunchError

LAUNCHES = [{}, SIM, {"target": "gfx950", "run": "sim"}]
LAUNCHES.append({"target": "gfx1100", "run": "sim"})


def random_ids(tokens, choices, experts, seed=0):
    """The experts of tokens; one of them is popular, and some are none."""
    random = np.random.default_rng(seed)
    ids = random.integers(-1, experts + 1, (tokens, choices))
    ids[random.random(ids.shape) < 0.3] = experts // 2
    return ids.astype(np.int32)


@pytest.mark.parametrize("launch", LAUNCHES, ids=str)
@pytest.mark.parametrize(
    "tokens, choices, experts",
    [(1, 1, 1), (5, 3, 4), (700, 4, 9), (3, 2, 50), (0, 2, 3)],
)
def test_rows_are_sorted_by_expert(tokens, choices, experts, launch):
    ids = random_ids(tokens, choices, experts)
    starts, rows, places = kernels.sort_by_expert(ids, experts, **launch)
    flat = ids.reshape(-1)
    order = [i for e in range(experts) for i in np.flatnonzero(flat == e)]
    counts = [int((flat == e).sum()) for e in range(experts)]
    np.testing.assert_array_equal(starts, np.cumsum([0, *counts]))
    np.testing.assert_array_equal(rows[: len(order)], np.array(order) // choices)
    expected = np.full(ids.size, -1)
    expected[np.array(order, int)] = np.arange(len(order))
    np.testing.assert_array_equal(places.reshape(-1), expected)


@pytest.mark.parametrize("launch", LAUNCHES, ids=str)
@pytest.mark.parametrize("has_weights", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
def test_rows_are_combined(dtype, has_weights, launch):
    random = np.random.default_rng(0)
    x = random.normal(0, 1, (9, 1100)).astype(FLOATS[dtype])
    places = random.integers(-1, 9, (5, 3)).astype(np.int32)
    weights = random.random((5, 3)).astype(np.float32) if has_weights else None
    y = kernels.combine_rows(x, places, weights, **launch)
    factors = np.where(places < 0, 0, 1 if weights is None else weights)
    expected = (wide(x)[places] * factors[..., None]).sum(axis=1)
    assert_close(y, expected, dtype)


def gated(a, b, name):
    """The gated matmul of a and b.T, whose first half of rows are gates."""
    gates, values = np.split(wide(a) @ wide(b).T, 2, axis=1)
    if name == "relu":
        return np.maximum(gates, 0) * values
    if name == "silu":
        return gates / (1 + np.exp(-gates)) * values
    if name == "gelu":
        erf = np.vectorize(math.erf)
        return 0.5 * gates * (1 + erf(gates * 0.5**0.5)) * values
    inner = (2 / math.pi) ** 0.5 * (gates + 0.044715 * gates**3)
    return 0.5 * gates * (1 + np.tanh(inner)) * values


def check_gate(dtype, transposed, name="silu", **launch):
    random = np.random.default_rng(0)
    starts = np.array([0, 3, 3, 70], np.int32)
    a = random.normal(0, 0.3, (70, 48)).astype(TYPES[dtype])
    b = random.normal(0, 0.3, (3, 80, 48)).astype(TYPES[dtype])
    given = b if transposed else np.ascontiguousarray(np.swapaxes(b, 1, 2))
    y = kernels.grouped_matmul(
        a,
        given,
        starts,
        transpose_b=transposed,
        gate=name,
        allow_tf32=False,
        out_dtype=np.float32,
        **launch,
    )
    for group in range(3):
        own = slice(*starts[group : group + 2])
        if starts[group] < starts[group + 1]:
            assert_close(y[own], gated(a[own], b[group], name), "f32", terms=8)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "e4m3", "i8"])
def test_gates_against_float64(dtype, transposed):
    check_gate(dtype, transposed)


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("launch", LAUNCHES, ids=str)
def test_each_gate(launch, name):
    check_gate("bf16", True, name, **launch)


def check_moe(shape, dtype, launch, **options):
    """Compares a mixture with float64; hidden values are rounded to the type."""
    tokens, depth, inner, experts, choices = shape
    random = np.random.default_rng(1)

    def normal(*extents):
        return random.normal(0, 0.5, extents).astype(FLOATS[dtype])

    x, w13 = normal(tokens, depth), normal(experts, 2 * inner, depth)
    w2, ids = normal(experts, depth, inner), random_ids(tokens, choices, experts)
    weights = random.random((tokens, choices)).astype(np.float32)
    y = kernels.moe(x, ids, weights, w13, w2, **options, **launch)
    assert y.dtype == x.dtype
    expected = np.zeros((tokens, depth))
    size = 1e-30
    for t, j in np.ndindex(ids.shape):
        if 0 <= ids[t, j] < experts:
            hidden = gated(x[t : t + 1], w13[ids[t, j]], "silu")
            part = weights[t, j] * (hidden @ wide(w2[ids[t, j]]).T)[0]
            expected[t] += part
            terms = np.abs(hidden) @ np.abs(wide(w2[ids[t, j]])).T
            size = max(size, terms.max(), np.abs(part).max())
    error = np.abs(wide(y) - expected).max()
    # Operands are rounded to tf32, and hidden values and results to the type.
    assert error <= 4 * max(ROUNDOFF[dtype], 2**-11) * size


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "shape", [(1, 16, 8, 1, 1), (37, 48, 40, 5, 3), (200, 32, 72, 2, 2)], ids=str
)
def test_moe_against_float64(shape, dtype):
    check_moe(shape, dtype, {})


@pytest.mark.parametrize("launch", LAUNCHES[1:], ids=str)
def test_machine_code_of_moe(launch):
    check_moe((19, 48, 40, 5, 3), "bf16", launch)


def test_tokens_without_experts_are_zero():
    x, w13 = np.ones((3, 16), np.float16), np.ones((2, 16, 16), np.float16)
    ids, weights = np.full((3, 2), -1, np.int32), np.ones((3, 2), np.float32)
    y = kernels.moe(x, ids, weights, w13, np.ones((2, 16, 8), np.float16))
    assert (y == 0).all()


X, IDS = np.zeros((3, 16), np.float16), np.zeros((3, 2), np.int32)
WEIGHTS, W13 = np.zeros((3, 2), np.float32), np.zeros((2, 24, 16), np.float16)
W2, STARTS = np.zeros((2, 16, 12), np.float16), np.zeros(3, np.int32)


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: kernels.moe(X, IDS, WEIGHTS[:, :1].copy(), W13, W2),
            "moe: 'weights': expected shape (3, 2), found (3, 1)",
        ),
        (
            lambda: kernels.moe(X, IDS, WEIGHTS, W13[:, :23].copy(), W2),
            "moe: 'w13': expected an even number of rows, found 23",
        ),
        (
            lambda: kernels.moe(X, IDS, WEIGHTS, W13, W2[:, :, :8].copy()),
            "moe: 'w2': expected shape (2, 16, 12), found (2, 16, 8)",
        ),
        (
            lambda: kernels.moe(X, IDS, WEIGHTS, W13, W2, activation="sine"),
            "moe: 'activation': expected one of 'silu', 'gelu', 'gelu_tanh', 'relu', "
            "found 'sine'",
        ),
        (
            lambda: kernels.moe(X, IDS, WEIGHTS, W13, W2, out=X[:2]),
            "moe: 'out': expected shape (3, 16), found (2, 16)",
        ),
        (
            lambda: kernels.sort_by_expert(IDS, 0),
            "sort_by_expert: 'experts': expected an integer, from 1 to 4096, found 0",
        ),
        (
            lambda: kernels.combine_rows(X, IDS, WEIGHTS[:2]),
            "combine_rows: 'weights': expected shape (3, 2), found (2, 2)",
        ),
        (
            lambda: kernels.grouped_matmul(
                X, W13[:, :23].copy(), STARTS, transpose_b=True, gate="silu"
            ),
            "grouped_matmul: 'b': expected an even number of columns, for gates and "
            "values, found 23",
        ),
        (
            lambda: kernels.grouped_matmul(
                X.astype(np.int8),
                W13.astype(np.int8),
                STARTS,
                transpose_b=True,
                gate="silu",
            ),
            "grouped_matmul: a result of i32 has no gate; pass out_dtype=tl.f32",
        ),
    ],
)
def test_wrong_mixtures(call, message):
    with pytest.raises(LaunchError) as error:
        call()
    assert str(error.value) == message


# --- What is compiled -----------------------------------------------------------------


def serve_experts(tokens, **launch):
    """The experts of a model of Mixtral's kind."""
    x, ids = np.zeros((tokens, 4096), np.float16), np.zeros((tokens, 2), np.int32)
    w13, w2 = np.zeros((8, 2048, 4096), np.float16), np.zeros((8, 4096, 1024), x.dtype)
    kernels.moe(x, ids, ids.astype(np.float32), w13, w2, **launch)


@pytest.mark.parametrize("tokens", [16, 4096])
@pytest.mark.parametrize("chip", library_calls.CHIPS)
def test_experts_compile(chip, tokens):
    found = library_calls.compile_for(
        lambda **launch: serve_experts(tokens, **launch), chip
    )
    assert len(found) == 4
    for compiled in found:
        assert compiled.resources["spill_stores"] == 0
        assert compiled.resources["stack_bytes"] == 0
        if chip.startswith("sm_"):
            assert not compiled.resources["warnings"]
    if chip == "sm_90a":
        assert "wgmma" in found[1].ptx and "wgmma" in found[2].ptx


@pytest.mark.parametrize("tokens", [16, 4096])
@pytest.mark.parametrize("chip", ["sm_80", "sm_90a", "gfx942", "gfx950"])
def test_experts_are_proved(chip, tokens):
    library_calls.prove(lambda **launch: serve_experts(tokens, **launch), chip)
