"""Attention of tilews.kernels against float64, and what is compiled for it."""

import numpy as np
import pytest

from kernels.library import library_calls
from kernels.library.library_calls import FLOATS
from tilews import kernels
from tilews.runtime import LaunchError

SIM = {"target": "gfx942", "run": "sim"}


def random_array(shape, dtype, seed):
    return np.random.default_rng(seed).normal(0, 1, shape).astype(FLOATS[dtype])


def reference(
    q, k, v, causal=False, window=None, scale=None, soft_cap=None, sinks=None
):
    """The result for one sequence (S, H, D) in float64, and the logarithms of sums."""
    length, heads, depth = q.shape
    k, v = (np.repeat(x, heads // x.shape[1], axis=1) for x in (k, v))
    q, k, v = (np.asarray(x, np.float64) for x in (q, k, v))
    scores = np.einsum("shd,nhd->hsn", q, k) * (scale or depth**-0.5)
    if soft_cap:
        scores = soft_cap * np.tanh(scores / soft_cap)
    rows = np.arange(length)[:, None] + len(k) - length
    columns = np.arange(len(k))[None, :]
    visible = np.ones((length, len(k)), bool)
    if causal:
        visible &= columns <= rows
    if window:
        visible &= columns > rows - window
    weights = np.where(visible, np.exp(scores), 0)
    total = weights.sum(axis=-1)
    if sinks is not None:
        total += np.exp(np.float64(sinks))[:, None]
    y = np.einsum("hsn,nhd->shd", weights, v) / np.maximum(total, 1e-30).T[:, :, None]
    with np.errstate(divide="ignore"):
        return y, np.log(total)


def check(found, expected, dtype):
    """Weights are rounded to the type of the values."""
    error = np.abs(np.asarray(found, np.float64) - expected).max()
    assert error <= 6 * library_calls.ROUNDOFF[dtype], error


def run(shape, dtype="f16", launch=None, **options):
    """Attention of B sequences of S queries and N keys with H and G heads."""
    batch, length, keys, heads, groups, depth = shape
    q = random_array((batch, length, heads, depth), dtype, 0)
    k, v = (random_array((batch, keys, groups, depth), dtype, i) for i in (1, 2))
    y, sums = kernels.attention(q, k, v, return_sums=True, **options, **(launch or {}))
    assert y.dtype == q.dtype and sums.shape == (batch, heads, length)
    for i in range(batch):
        wanted, logs = reference(q[i], k[i], v[i], **options)
        check(y[i], wanted, dtype)
        np.testing.assert_allclose(sums[i], logs, atol=2e-3)


#: Batches, queries, keys, heads of queries, heads of keys, elements.
SHAPES = [
    (1, 1, 1, 1, 1, 16),
    (2, 70, 70, 4, 2, 32),
    (1, 65, 200, 2, 1, 48),
    (1, 3, 129, 3, 3, 64),
]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_against_float64(dtype, shape, causal):
    run(shape, dtype, causal=causal)


@pytest.mark.parametrize(
    "options",
    [
        {"causal": True, "window": 1},
        {"causal": True, "window": 50},
        {"causal": True, "window": 500},
        {"causal": True, "window": 2**31 - 1},
        {"soft_cap": 1.5, "scale": 0.5},
        {"sinks": np.array([0.5, -np.inf], np.float32)},
        {
            "causal": True,
            "window": 64,
            "soft_cap": 2.0,
            "sinks": np.zeros(2, np.float32),
        },
    ],
    ids=str,
)
@pytest.mark.parametrize("launch", [{}, SIM], ids=str)
def test_options(launch, options):
    run((1, 150, 180, 2, 1, 16), "f16", launch, **options)


@pytest.mark.parametrize("causal", [False, True])
def test_machine_code(causal):
    run((2, 70, 90, 2, 1, 32), "bf16", SIM, causal=causal)


@pytest.mark.parametrize("depth", [192, 256])
def test_machine_code_of_rdna(depth):
    run((1, 40, 70, 1, 1, depth), "f16", {"target": "gfx1100", "run": "sim"})


def test_queries_without_keys_are_zero():
    q, k = (random_array((1, n, 1, 16), "f16", n) for n in (100, 30))
    y = kernels.attention(q, k, k, causal=True)
    assert (y[0, :70] == 0).all() and (y[0, 70:] != 0).all()
    wanted, _ = reference(q[0, 70:], k[0], k[0], causal=True)
    check(y[0, 70:], wanted, "f16")


@pytest.mark.parametrize("launch", [{}, SIM], ids=str)
@pytest.mark.parametrize("options", [{}, {"causal": True}], ids=str)
def test_sequences_one_after_the_other(options, launch):
    lengths, depths = [5, 0, 130, 64], [9, 3, 130, 70]
    starts, key_starts = (
        np.concatenate([[0], np.cumsum(x)]).astype(np.int32) for x in (lengths, depths)
    )
    q = random_array((sum(lengths), 2, 16), "f16", 0)
    k, v = (random_array((sum(depths), 1, 16), "f16", i) for i in (1, 2))
    y, sums = kernels.attention(
        q,
        k,
        v,
        query_starts=starts,
        key_starts=key_starts,
        longest=130,
        return_sums=True,
        **options,
        **launch,
    )
    for i in range(4):
        own = slice(starts[i], starts[i + 1])
        theirs = slice(key_starts[i], key_starts[i + 1])
        wanted, logs = reference(q[own], k[theirs], v[theirs], **options)
        if lengths[i]:
            check(y[own], wanted, "f16")
            np.testing.assert_allclose(sums[:, own], logs, atol=2e-3)


Q = np.zeros((1, 8, 6, 32), np.float16)


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: kernels.attention(Q, Q[:, :, :4].copy(), Q[:, :, :4].copy()),
            "attention: 'k': expected a number of heads that divides 6, found 4",
        ),
        (
            lambda: kernels.attention(*[Q[..., :8].copy()] * 3),
            "attention: 'q': expected D a multiple of 16 up to 256, found 8",
        ),
        (
            lambda: kernels.attention(Q, Q, Q, window=4),
            "attention: 'window': expected causal=True with a window",
        ),
        (
            lambda: kernels.attention(Q, Q, Q, soft_cap=-1.0),
            "attention: 'soft_cap': expected a number above 0 in f32, found -1.0",
        ),
        (
            lambda: kernels.attention(Q, Q, Q, scale=0.0),
            "attention: 'scale': expected a number above 0 in f32, found 0.0",
        ),
        (
            lambda: kernels.attention(Q, Q, Q, key_starts=np.zeros(2, np.int32)),
            "attention: 'key_starts': expected query_starts, too, found None",
        ),
        (
            lambda: kernels.attention(Q, Q, Q, query_starts=np.zeros(2, np.int32)),
            "attention: 'q': expected shape (tokens, H, D), found (1, 8, 6, 32)",
        ),
    ],
)
def test_wrong_arguments(call, message):
    with pytest.raises(LaunchError) as error:
        call()
    assert str(error.value) == message


# --- What is compiled -----------------------------------------------------------------

VARIANTS = {
    "full": {},
    "causal": {"causal": True},
    "window": {"causal": True, "window": 300},
    "starts": {"causal": True, "query_starts": np.array([0, 100, 512], np.int32)},
}


def large(variant, depth=128, **launch):
    q, k = (np.zeros((2, 512, h, depth), FLOATS["bf16"]) for h in (8, 2))
    if variant == "starts":
        q, k = q[0], k[0]
    kernels.attention(q, k, k.copy(), **VARIANTS[variant], **launch)


@pytest.mark.parametrize("chip", library_calls.CHIPS)
@pytest.mark.parametrize("depth", [64, 128, 256])
def test_compiles(depth, chip):
    for variant in ("full", "causal"):
        (compiled,) = library_calls.compile_for(
            lambda variant=variant, **launch: large(variant, depth, **launch), chip
        )
        if chip.startswith("sm_"):
            assert compiled.resources["spill_stores"] == 0
        if chip == "sm_90a":
            assert "wgmma" in compiled.ptx and "cp.async.bulk.tensor" in compiled.ptx


@pytest.mark.parametrize("chip", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("depth", [64, 128, 192, 256])
def test_needs_no_scratch(depth, chip):
    for variant in VARIANTS:
        (compiled,) = library_calls.compile_for(
            lambda variant=variant, **launch: large(variant, depth, **launch), chip
        )
        assert compiled.resources["stack_bytes"] == 0
        assert "scratch_" not in compiled.asm


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a", "gfx942"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_proved(variant, chip):
    library_calls.prove(lambda **launch: large(variant, **launch), chip)
