"""Decoding attention of tilews.kernels against float64, and what is compiled for it."""

import numpy as np
import pytest

from kernels.library import library_calls
from kernels.library.library_calls import FLOATS
from kernels.library.test_attention_operation import check, reference
from tilews import kernels
from tilews.kernels.attentions.forward import AttentionTile
from tilews.kernels.attentions.sequence_parts import split_count, sum_sizes
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
    """Checks results and the logarithms of sums, with pages and, in the interpreter,
    without them."""
    q, cache, table, whole = decode_inputs(shape, page, lengths, dtype)
    counts = np.array(lengths, np.int32)
    for keys, given in ((cache, {"table": table}), (whole, {}))[: 1 if launch else 2]:
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
def test_decode_against_float64(shape, page, lengths):
    check_decode(shape, page, lengths)


#: The pages: rows one by one, several in a tile, and a part of one.
@pytest.mark.parametrize(
    "chip, page", [("gfx942", 5), ("gfx950", 16), ("gfx1100", 128)]
)
def test_decode_machine_code(chip, page):
    launch = {"target": chip, "run": "sim"}
    shape = (2, 8, 2, 32, -(-320 // page))
    check_decode(shape, page, [319, 5], "bf16", launch)


def test_machine_code_without_pages():
    q, _, _, whole = decode_inputs((1, 2, 1, 32, 4), 64, [200])
    y = kernels.decode_attention(q, *whole, np.array([200], np.int32), **SIM)
    wanted, _ = reference(q[0], *whole[:, 0, :200])
    check(y[0], wanted, "f16")


@pytest.mark.parametrize("pages", [3, 20])  # One block for a sequence, or several.
def test_more_rows_than_a_tile(pages):
    check_decode((9, 16, 2, 16, pages), 64, [64 * pages - 40, 9], "bf16")


@pytest.mark.parametrize(
    "options",
    [
        {"window": 1},
        {"window": 70},
        {"window": 1000},
        {"window": 2**31 - 1},
        {"window": 2**40},
        {"soft_cap": 1.5, "scale": 0.5},
        {"sinks": np.array([0.5, -2, 3, -np.inf], np.float32)},
        {"sinks": np.full(4, -np.inf, np.float32), "window": 5},
        {"window": 64, "soft_cap": 2.0, "sinks": np.zeros(4, np.float32)},
    ],
    ids=str,
)
def test_decode_options(options):
    check_decode((2, 4, 2, 16, 20), 16, [320, 2, 131], **options)


def test_machine_code_of_options():
    sinks = np.array([0.5, -2, 3, 0], np.float32)
    options = {"window": 64, "soft_cap": 2.0, "sinks": sinks}
    check_decode((2, 4, 2, 16, 20), 16, [320, 2, 131], launch=SIM, **options)


def test_longest_decides_how_many_blocks_share_a_sequence():
    q, cache, table, _ = decode_inputs((1, 4, 1, 64, 64), 64, [4096])
    arguments = (q, *cache, np.array([4096], np.int32))
    found = []
    for longest in (None, 128, 100_000):
        with library_calls.launches() as calls:
            kernels.decode_attention(*arguments, table=table, longest=longest)
        ((_, args, _),) = calls
        found.append(args[-1])
    assert found == [32, 1, 64]  # Parts have two tiles of keys or more.
    y = [
        kernels.decode_attention(*arguments, table=table, longest=longest)
        for longest in (None, 128)
    ]
    np.testing.assert_allclose(*np.float32(y), atol=2e-3)


def test_split_count():
    tile = AttentionTile(64, 64, 128, 3)
    assert split_count(tile, 1, 1_000_000) == 64
    assert split_count(tile, 64, 1_000_000) == 5
    assert split_count(tile, 1000, 1_000_000) == 1
    assert split_count(tile, 1, 256) == 2 and split_count(tile, 1, 10) == 1


@pytest.mark.parametrize("depth", range(16, 257, 16))
@pytest.mark.parametrize("rows", [1, 3, 8, 40, 64, 500])
def test_what_is_added_up_fits_registers(rows, depth):
    tile = AttentionTile(64, 64, 128, 3)
    count, width, together = sum_sizes(rows, depth, tile)
    assert min(rows, 64) <= count <= 64 and depth % width == 0
    assert count * width * together <= 32 * tile.threads


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
            "'window': expected an integer, 1 or more, found 0",
        ),
        (
            lambda: kernels.decode_attention(Q, K, K, N, soft_cap=0.0),
            "'soft_cap': expected a number above 0 in f32, found 0.0",
        ),
        (
            lambda: kernels.decode_attention(Q, K, K, N, scale=-0.25),
            "'scale': expected a number above 0 in f32, found -0.25",
        ),
        (
            lambda: kernels.decode_attention(
                Q[..., :8].copy(), *[K[..., :8].copy()] * 2, N
            ),
            "'q': expected D a multiple of 16 up to 256, found 8",
        ),
        (
            lambda: kernels.decode_attention(Q, *[K[:, :, :0].copy()] * 2, N),
            "'k': expected a number of heads that divides 6, found 0",
        ),
        (
            lambda: kernels.decode_attention(Q, K, K, N, sinks=np.zeros(5, np.float32)),
            "'sinks': expected shape (6), found (5,)",
        ),
        (
            lambda: kernels.decode_attention(
                Q, *[K[:, :0].copy()] * 2, N, table=np.zeros((2, 3), np.int32)
            ),
            "'k': expected at least one token in a page, found none",
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


def serve(page, depth=128, queries=1, batches=8, **launch):
    """A call as a server makes it: sequences whose 32 heads share 8."""
    q = np.zeros((batches, queries, 32, depth), FLOATS["bf16"])
    lengths, given = np.zeros(batches, np.int32), {}
    cache = (batches, 4096) if page is None else (40, page)
    k = np.zeros((*cache, 8, depth), q.dtype)
    if page is not None:
        given["table"] = np.zeros((batches, 4096 // page), np.int32)
    kernels.decode_attention(q, k, k.copy(), lengths, **given, **launch)


def compile_decode(chip, *call, **options):
    (compiled,) = library_calls.compile_for(
        lambda **launch: serve(*call, **options, **launch), chip
    )
    assert compiled.resources["stack_bytes"] == 0
    if chip.startswith("sm_"):
        assert not compiled.resources["warnings"]  # No wgmma waits for another one.
    return compiled


@pytest.mark.parametrize("chip", library_calls.CHIPS)
@pytest.mark.parametrize("page", PAGES)
def test_decode_compiles(page, chip):
    compiled = compile_decode(chip, page)
    if chip == "sm_90a":
        assert "wgmma" in compiled.ptx
        assert ("cp.async.bulk.tensor" in compiled.ptx) == (page != 1)


@pytest.mark.parametrize("chip", library_calls.CHIPS)
@pytest.mark.parametrize("depth, queries", [(64, 16), (192, 1), (256, 16)])
def test_other_depths_and_many_rows(depth, queries, chip):
    compile_decode(chip, 16, depth, queries, batches=1)


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a", "gfx942", "gfx950"])
@pytest.mark.parametrize("page", PAGES)
def test_decode_is_proved(page, chip):
    library_calls.prove(lambda **launch: serve(page, **launch), chip)


def test_sequences_and_heads_beyond_65535():
    """They are the first axis of the grid, which has room for 2^31 - 1 blocks."""
    compiled = compile_decode("sm_90a", None)
    assert compiled.manifest["grid_text"] == ["(G * B)", "blocks", "parts"]
