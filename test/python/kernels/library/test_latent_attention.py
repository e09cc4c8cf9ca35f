"""Latent attention of tilews.kernels against float64, and what is compiled for it."""

import numpy as np
import pytest

from kernels.library import library_calls
from kernels.library.library_calls import FLOATS
from kernels.library.test_attention_operation import check, reference
from kernels.library.test_decode_attention import decode_inputs
from tilews import kernels
from tilews.runtime import LaunchError


def latent_inputs(shape, page, lengths, dtype):
    """Queries, a cache in pages, its table, and its rows in order."""
    queries, heads, width, pages = shape
    decode_shape = (queries, heads, 1, width, pages)
    q, cache, table, whole = decode_inputs(decode_shape, page, lengths, dtype)
    return q, cache[0][:, :, 0].copy(), table, whole[0][:, :, 0].copy()


def check_row(found, q, rows, rank, scale, dtype):
    """Checks the results and the logarithms of sums of some queries of a sequence."""
    y, sums = found
    values = rows[:, None, :rank]
    wanted, logs = reference(q, rows[:, None], values, causal=True, scale=scale)
    check(y, wanted, dtype)
    np.testing.assert_allclose(sums, logs.T, atol=2e-3)


def check_latents(shape, rank, page, lengths, dtype="f16", scale=None, **launch):
    """Checks results with pages and, in the interpreter, without them."""
    q, cache, table, whole = latent_inputs(shape, page, lengths, dtype)
    counts, options = np.array(lengths, np.int32), {"rank": rank, "scale": scale}
    calls = [(cache, {"table": table}), (whole, {})][: 1 if launch else 2]
    for rows, given in calls:
        y, sums = kernels.mla_decode(
            q, rows, counts, return_sums=True, **given, **options, **launch
        )
        assert y.shape == (*q.shape[:3], rank) and sums.shape == q.shape[:3]
        for b, length in enumerate(lengths):
            found = y[b], sums[b]
            check_row(found, q[b], whole[b, :length], rank, scale, dtype)


def check_chosen(shape, rank, page, count, dtype="f16", **launch):
    """Checks queries that see chosen rows; the last one of a sequence sees none."""
    queries, _, _, pages = shape
    q, cache, _, _ = latent_inputs(shape, page, [page * pages] * 2, dtype)
    flat = np.nan_to_num(cache.reshape(-1, cache.shape[2]).astype(np.float32))
    flat = flat.astype(cache.dtype)
    random = np.random.default_rng(5)
    ids = random.integers(0, len(flat), (2, queries, count)).astype(np.int32)
    ids[random.random(ids.shape) < 0.3] = -1
    ids[1, -1] = -1
    y, sums = kernels.mla_decode(
        q,
        flat.reshape(cache.shape),
        ids=ids,
        rank=rank,
        return_sums=True,
        **launch,
    )
    for b, s in np.ndindex(2, queries):
        chosen = flat[ids[b, s][ids[b, s] >= 0]]
        if not len(chosen):
            assert (y[b, s] == 0).all()
            continue
        found = y[b, s][None], sums[b, s][None]
        check_row(found, q[b, s][None], chosen, rank, None, dtype)


#: Queries, heads, elements of a row, pages; the rank; tokens of a page; lengths.
CASES = [
    ((1, 1, 80, 1), 64, 1, [1]),
    ((1, 16, 80, 40), 64, 1, [40, 1, 17]),
    ((2, 70, 144, 50), 128, 5, [250, 2, 120]),
    ((1, 4, 576, 20), 512, 16, [320, 31]),
    ((3, 3, 208, 4), 192, 64, [200, 64, 65]),
]


@pytest.mark.parametrize("shape, rank, page, lengths", CASES, ids=str)
def test_latents_against_float64(shape, rank, page, lengths):
    check_latents(shape, rank, page, lengths)


def test_scale_of_latents():
    check_latents((1, 4, 80, 3), 64, 16, [48, 9], "bf16", scale=0.3)


@pytest.mark.parametrize(
    "shape, rank, page, count",
    [((1, 8, 80, 4), 64, 16, 30), ((3, 5, 144, 9), 128, 64, 400)],
    ids=str,
)
def test_chosen_rows_against_float64(shape, rank, page, count):
    check_chosen(shape, rank, page, count)


#: The pages: rows one by one, several in a tile, and a part of one.
@pytest.mark.parametrize(
    "chip, page", [("gfx942", 5), ("gfx942", 64), ("gfx950", 16), ("gfx1100", 128)]
)
def test_machine_code_of_latents(chip, page):
    shape = (2, 9, 80, -(-200 // page))
    check_latents(shape, 64, page, [199, 5], "bf16", target=chip, run="sim")


@pytest.mark.parametrize("chip", ["gfx942", "gfx950", "gfx1100"])
def test_machine_code_of_chosen_rows(chip):
    check_chosen((2, 9, 80, 9), 64, 16, 100, target=chip, run="sim")


Q, C = np.zeros((2, 1, 4, 80), np.float16), np.zeros((2, 64, 80), np.float16)
N, IDS = np.zeros(2, np.int32), np.zeros((2, 1, 5), np.int32)


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: kernels.mla_decode(Q, C, N),
            "'q': expected rows of 512 + R elements, R a multiple of 16 up to 128, "
            "found 80",
        ),
        (
            lambda: kernels.mla_decode(Q, C, N, rank=80),
            "'rank': expected a multiple of 64 up to 512, found 80",
        ),
        (
            lambda: kernels.mla_decode(Q, C, rank=64),
            "expected either lengths or ids; give one of them",
        ),
        (
            lambda: kernels.mla_decode(Q, C, N, ids=IDS, rank=64),
            "expected either lengths or ids; give one of them",
        ),
        (
            lambda: kernels.mla_decode(Q, C, ids=IDS, table=IDS[0], rank=64),
            "'table': expected None with ids, which are rows of the cache",
        ),
        (
            lambda: kernels.mla_decode(Q, C[:1], N, rank=64),
            "'cache': expected shape (2, N, 80), found (1, 64, 80)",
        ),
        (
            lambda: kernels.mla_decode(Q, C, ids=IDS[:, 0], rank=64),
            "'ids': expected shape (2, 1, K), found (2, 5)",
        ),
        (
            lambda: kernels.mla_decode(Q, C, N, rank=64, scale=0.0),
            "'scale': expected a number above 0 in f32, found 0.0",
        ),
        (
            lambda: kernels.mla_decode(Q, C[:, :0].copy(), N, table=IDS[0], rank=64),
            "'table': expected shape (2, pages), found (1, 5)",
        ),
        (
            lambda: kernels.mla_decode(Q, C[:, :0].copy(), N, table=IDS[:, 0], rank=64),
            "'cache': expected at least one token in a page, found none",
        ),
    ],
)
def test_wrong_latents(call, message):
    with pytest.raises(LaunchError) as error:
        call()
    assert str(error.value) == f"mla_decode: {message}"


# --- What is compiled -----------------------------------------------------------------

#: Tokens of a page; None for a cache without pages, "ids" for chosen rows.
PAGES = (None, 1, 64, "ids")
CHIPS = ["sm_80", "sm_90a", "gfx942", "gfx950"]


def serve_latents(page, rank=512, heads=128, **launch):
    """A call as a server of DeepSeek makes it."""
    q = np.zeros((8, 1, heads, rank + 64), FLOATS["bf16"])
    lengths, given = np.zeros(8, np.int32), {}
    if page == "ids":
        lengths, given = None, {"ids": np.zeros((8, 1, 2048), np.int32)}
    outer = (8, 4096) if page is None else (40, 64 if page == "ids" else page)
    if isinstance(page, int):
        given["table"] = np.zeros((8, 4096 // page), np.int32)
    cache = np.zeros((*outer, rank + 64), q.dtype)
    kernels.mla_decode(q, cache, lengths, rank=rank, **given, **launch)


@pytest.mark.parametrize("chip", [*CHIPS, "sm_100a"])
@pytest.mark.parametrize("heads", [16, 128])
@pytest.mark.parametrize("page", PAGES)
def test_latents_compile(page, heads, chip):
    (compiled,) = library_calls.compile_for(
        lambda **launch: serve_latents(page, heads=heads, **launch), chip
    )
    assert compiled.resources["spill_stores"] == 0
    assert compiled.resources["stack_bytes"] == 0
    if chip.startswith("sm_"):
        assert not compiled.resources["warnings"]  # No wgmma waits for another one.
    if chip == "sm_90a":
        assert "wgmma" in compiled.ptx
        assert ("cp.async.bulk.tensor" in compiled.ptx) == (page in (None, 64))


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("page", PAGES)
def test_latents_are_proved(page, chip):
    library_calls.prove(lambda **launch: serve_latents(page, **launch), chip)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("paged", [False, True])
def test_lengths_beyond_the_cache_count_as_its_room(paged):
    q, cache, table, whole = latent_inputs((1, 2, 80, 3), 4, [12], "f16")
    rows, given = (cache, {"table": table}) if paged else (whole, {})
    wanted, found = (
        kernels.mla_decode(q, rows, np.array([count], np.int32), rank=64, **given)
        for count in (12, 2**31 - 1)
    )
    np.testing.assert_array_equal(found, wanted)
