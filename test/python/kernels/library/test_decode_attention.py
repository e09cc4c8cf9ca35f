"""Decoding attention of tilews.kernels against float64, and what is compiled for it."""

import numpy as np
import pytest

from kernels.library import library_calls
from kernels.library.library_calls import FLOATS
from kernels.library.test_attention_operation import check, reference
from tilews import kernels
from tilews.kernels.attentions.decode import DecodeTile, split_count
from tilews.runtime import LaunchError

SIM = {"target": "gfx942", "run": "sim"}


def decode_inputs(shape, page, lengths, dtype="f16", seed=0):
    """Queries, a cache in pages, its table, and the same keys and values in order.

    What is beyond the lengths is NaN, and so are pages that no sequence has. The table
    has wrong pages there.
    """
    queries, heads, groups, depth, pages = shape
    random = np.random.default_rng(seed)
    batches, count = len(lengths), len(lengths) * pages + 3
    table = random.permutation(count)[: batches * pages].reshape(batches, pages)
    table = table.astype(np.int32)
    cache = np.full((2, count, page, groups, depth), np.nan, FLOATS[dtype])
    whole = random.normal(size=(2, batches, pages * page, groups, depth))
    whole = whole.astype(cache.dtype)
    for b, length in enumerate(lengths):
        whole[:, b, length:] = np.nan
        cache[:, table[b]] = whole[:, b].reshape(2, pages, page, groups, depth)
        table[b, -(-length // page) :] = -7
    q = random.normal(size=(batches, queries, heads, depth)).astype(cache.dtype)
    return q, cache, table, whole


def check_decode(shape, page, lengths, dtype="f16", launch=None, **options):
    """Checks results with and without pages, and the logarithms of sums."""
    q, cache, table, whole = decode_inputs(shape, page, lengths, dtype)
    counts = np.array(lengths, np.int32)
    for keys, given in ((cache, {"table": table}), (whole, {})):
        y, sums = kernels.decode_attention(
            q, *keys, counts, return_sums=True, **given, **options, **(launch or {})
        )
        assert y.dtype == q.dtype and sums.shape == (len(lengths), shape[1], shape[0])
        for b, length in enumerate(lengths):
            k, v = whole[:, b, :length]
            wanted, logs = reference(q[b], k, v, causal=True, **options)
            check(y[b], wanted, dtype)
            np.testing.assert_allclose(sums[b], logs, atol=2e-3)


#: Queries, heads of queries, heads of keys, elements, pages; tokens of a page; lengths.
CASES = [
    ((1, 1, 1, 16, 1), 1, [1]),
    ((1, 8, 2, 32, 40), 1, [40, 1, 17]),
    ((2, 4, 2, 32, 50), 5, [250, 2, 120]),
    ((1, 4, 1, 64, 20), 16, [320, 31, 33]),
    ((3, 3, 3, 16, 5), 64, [320, 64, 65]),
    ((1, 6, 2, 48, 3), 128, [129, 384]),
    ((1, 4, 4, 32, 7), 48, [300, 0, 97]),
]


@pytest.mark.parametrize("shape, page, lengths", CASES, ids=str)
@pytest.mark.parametrize("launch", [{}, SIM], ids=str)
def test_decode_against_float64(launch, shape, page, lengths):
    check_decode(shape, page, lengths, launch=launch)


@pytest.mark.parametrize("chip", ["gfx950", "gfx1100"])
def test_decode_machine_code(chip):
    launch = {"target": chip, "run": "sim"}
    check_decode((2, 8, 2, 32, 20), 16, [319, 5], "bf16", launch)


def test_more_rows_than_a_tile():
    check_decode((9, 16, 2, 16, 3), 64, [150, 9], "bf16")


@pytest.mark.parametrize(
    "options",
    [
        {"window": 1},
        {"window": 70},
        {"window": 1000},
        {"soft_cap": 1.5, "scale": 0.5},
        {"sinks": np.array([0.5, -2, 3, 0], np.float32)},
        {"window": 64, "soft_cap": 2.0, "sinks": np.zeros(4, np.float32)},
    ],
    ids=str,
)
@pytest.mark.parametrize("launch", [{}, SIM], ids=str)
def test_decode_options(launch, options):
    check_decode((2, 4, 2, 16, 20), 16, [320, 2, 131], launch=launch, **options)


def test_longest_decides_how_many_blocks_share_a_sequence():
    q, cache, table, _ = decode_inputs((1, 4, 1, 64, 64), 64, [4096])
    arguments = (q, *cache, np.array([4096], np.int32))
    found = []
    for longest in (None, 128, 100_000):
        with library_calls.launches() as calls:
            kernels.decode_attention(*arguments, table=table, longest=longest)
        ((_, args, _),) = calls
        found.append(args[-1])
    assert found == [32, 1, 64]
    y = [
        kernels.decode_attention(*arguments, table=table, longest=longest)
        for longest in (None, 128)
    ]
    np.testing.assert_allclose(*np.float32(y), atol=2e-3)


def test_split_count():
    tile = DecodeTile(64, 64, 128, 3)
    assert split_count(tile, 1, 1_000_000) == 64
    assert split_count(tile, 64, 1_000_000) == 5
    assert split_count(tile, 1000, 1_000_000) == 1
    assert split_count(tile, 1, 256) == 2 and split_count(tile, 1, 10) == 1


Q = np.zeros((2, 1, 6, 32), np.float16)
K = np.zeros((2, 64, 2, 32), np.float16)
N = np.zeros(2, np.int32)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: kernels.decode_attention(Q[0], K, K, N), "'q': expected shape"),
        (lambda: kernels.decode_attention(Q, K[:1], K, N), "'k': expected shape"),
        (lambda: kernels.decode_attention(Q, K, K[:, :5].copy(), N), "'v': expected"),
        (lambda: kernels.decode_attention(Q, K, K, N[:1]), "'lengths': expected shape"),
        (
            lambda: kernels.decode_attention(Q, K, K, N, table=N),
            "'table': expected shape (2, pages), found (2,)",
        ),
        (
            lambda: kernels.decode_attention(Q[:, :, :5].copy(), K, K, N),
            "'k': expected a number of heads that divides 5, found 2",
        ),
        (
            lambda: kernels.decode_attention(Q, K, K, N, window=0),
            "'window': expected 1 or more, found 0",
        ),
        (
            lambda: kernels.decode_attention(Q, K, K, N, soft_cap=0.0),
            "'soft_cap': expected a number above 0, found 0.0",
        ),
    ],
)
def test_wrong_decode_arguments(call, message):
    with pytest.raises(LaunchError) as error:
        call()
    assert str(error.value).startswith("decode_attention: ")
    assert message in str(error.value)


# --- What is compiled -----------------------------------------------------------------

#: Tokens of a page; None for a cache without pages.
PAGES = (None, 1, 16, 128)


def serve(page, depth=128, **launch):
    """A call as a server makes it: 8 sequences, 32 heads that share 8."""
    q = np.zeros((8, 1, 32, depth), FLOATS["bf16"])
    lengths, given = np.zeros(8, np.int32), {}
    k = np.zeros((8, 4096, 8, depth) if page is None else (40, page, 8, depth), q.dtype)
    if page is not None:
        given["table"] = np.zeros((8, 4096 // page), np.int32)
    kernels.decode_attention(q, k, k.copy(), lengths, **given, **launch)


@pytest.mark.parametrize("chip", library_calls.CHIPS)
@pytest.mark.parametrize("page", PAGES)
def test_decode_compiles(page, chip):
    (compiled,) = library_calls.compile_for(
        lambda **launch: serve(page, **launch), chip
    )
    assert compiled.resources["spill_stores"] == 0
    if chip.startswith("sm_"):
        assert not compiled.resources["warnings"]  # No wgmma waits for another one.
    if chip == "sm_90a":
        assert "wgmma" in compiled.ptx
        assert ("cp.async.bulk.tensor" in compiled.ptx) == (page != 1)


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a", "gfx942", "gfx950"])
@pytest.mark.parametrize("page", PAGES)
def test_decode_is_proved(page, chip):
    assert library_calls.prove(lambda **launch: serve(page, **launch), chip) >= 5
