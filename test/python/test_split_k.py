"""Loops whose turns several blocks share: the same sums, from parts."""

import numpy as np
import pytest

import tilews
import tilews.language as tl
from tilews import passes, sim
from tilews.errors import LanguageError


@tilews.kernel(threads=128)
def gemm(
    A: tl.Tensor["M, K:8", tl.f16],
    B: tl.Tensor["K, N:8", tl.f16],
    C: tl.Tensor["M, N", tl.f32],
    SPLITS: tl.constexpr,
    STAGES: tl.constexpr = 2,
):
    M, K = A.shape
    N = B.shape[1]
    bx, by = tl.grid(tl.cdiv(N, 32), tl.cdiv(M, 64))
    tl.rasterize("row", panel=2)
    As = tl.alloc_shared((64, 16), A.dtype)
    Bs = tl.alloc_shared((16, 32), B.dtype)
    acc = tl.zeros((64, 32), tl.f32)
    for k in tl.range(tl.cdiv(K, 16), num_stages=STAGES, split_k=SPLITS):
        tl.copy(A[by * 64, k * 16], As)
        tl.copy(B[k * 16, bx * 32], Bs)
        acc = tl.gemm(As, Bs, acc)
    tl.atomic_add(acc, C[by * 64, bx * 32])


@tilews.kernel(threads=128)
def persistent(
    A: tl.Tensor["M, K:8", tl.f16],
    B: tl.Tensor["K, N:8", tl.f16],
    C: tl.Tensor["M, N", tl.f32],
    SPLITS: tl.constexpr,
):
    """Also from a turn on, two steps at a time, with a scaled sum."""
    M, K = A.shape
    N = B.shape[1]
    tl.grid(3)
    As = tl.alloc_shared((64, 16), A.dtype)
    Bs = tl.alloc_shared((16, 32), B.dtype)
    for x, y in tl.persistent(tl.cdiv(N, 32), tl.cdiv(M, 64)):
        acc = tl.zeros((64, 32), tl.f32)
        for k in tl.range(1, tl.cdiv(K, 16), 2, num_stages=2, split_k=SPLITS):
            if k != 5:
                tl.copy(A[y * 64, k * 16], As)
                tl.copy(B[k * 16, x * 32], Bs)
                acc = tl.gemm(As, Bs, acc)
        tl.atomic_add(acc * 0.5, C[y * 64, x * 32])


@tilews.kernel(threads=128)
def streamed(
    A: tl.Tensor["M, K:8", tl.f16],
    B: tl.Tensor["K, N:8", tl.f16],
    C: tl.Tensor["M, N", tl.f32],
    BLOCKS: tl.constexpr,
    FIRST: tl.constexpr = 0,
    STEP: tl.constexpr = 1,
):
    M, K = A.shape
    N = B.shape[1]
    tl.grid(BLOCKS)
    As = tl.alloc_shared((64, 16), A.dtype)
    Bs = tl.alloc_shared((16, 32), B.dtype)
    for x, y in tl.persistent(tl.cdiv(N, 32), tl.cdiv(M, 64), order="row", panel=2):
        acc = tl.zeros((64, 32), tl.f32)
        for k in tl.range(FIRST, tl.cdiv(K, 16), STEP, num_stages=3, stream_k=True):
            tl.copy(A[y * 64, k * 16], As)
            tl.copy(B[k * 16, x * 32], Bs)
            acc = tl.gemm(As, Bs, acc)
        tl.atomic_add(acc, C[y * 64, x * 32])


def arguments(k):
    random = np.random.default_rng(0)
    a = random.integers(-3, 4, (100, k)).astype(np.float16)
    b = random.integers(-3, 4, (k, 72)).astype(np.float16)
    return a, b, np.ones((100, 72), np.float32)


def run(kernel, constants, arrays, pipeline):
    """Runs a kernel behind some passes on the interpreter."""
    module = kernel.build("sm_90a", **constants)
    with module.context:
        messages = passes.run(module, pipeline)
        assert not messages, messages
        assert "split_k" not in str(module)
        assert "stream_k" not in str(module)
        sim.run(module, None, list(arrays))


SCHEDULE = (
    "tile-split-k,tile-stream-k,tile-lower-persistent,tile-rasterize-blocks,canonicalize,cse,"
    "tile-annotate-instructions,tile-plan-pipeline,tile-multi-version,"
    "tile-specialize-warps,tile-expand-pipeline"
)


@pytest.mark.parametrize("pipeline", ["tile-split-k", SCHEDULE])
@pytest.mark.parametrize("splits", [1, 2, 3, 7, 50])
@pytest.mark.parametrize("k", [16, 200])
def test_products(k, splits, pipeline):
    a, b, c = arguments(k)
    run(gemm, {"SPLITS": splits}, (a, b, c), pipeline)
    np.testing.assert_array_equal(c, 1 + a.astype("f4") @ b.astype("f4"))


@pytest.mark.parametrize("pipeline", ["tile-split-k", SCHEDULE])
@pytest.mark.parametrize("splits", [1, 2, 5])
def test_persistent_products(splits, pipeline):
    a, b, c = arguments(200)
    run(persistent, {"SPLITS": splits}, (a, b, c), pipeline)
    kept = np.isin(np.arange(200) // 16, [1, 3, 7, 9, 11])
    expected = a[:, kept].astype("f4") @ b[kept].astype("f4")
    np.testing.assert_array_equal(c, 1 + expected / 2)


# Six tiles of 13 turns, or of 4: blocks with one turn, with none, with many tiles.
@pytest.mark.parametrize("pipeline", ["tile-stream-k", SCHEDULE])
@pytest.mark.parametrize("blocks", [1, 4, 7, 25, 78, 100])
@pytest.mark.parametrize("first, step", [(0, 1), (2, 3)])
def test_streamed_products(first, step, blocks, pipeline):
    a, b, c = arguments(200)
    constants = {"BLOCKS": blocks, "FIRST": first, "STEP": step}
    run(streamed, constants, (a, b, c), pipeline)
    turn = np.arange(200) // 16
    kept = (turn >= first) & ((turn - first) % step == 0)
    np.testing.assert_array_equal(c, 1 + a[:, kept].astype("f4") @ b[kept].astype("f4"))


def test_streamed_without_turns():
    a, b, c = arguments(16)
    run(streamed, {"BLOCKS": 4, "FIRST": 3}, (a, b, c), SCHEDULE)
    assert (c == 1).all()


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "gfx942"])
def test_streamed_compiles(target):
    messages = streamed.compile(target, BLOCKS=8).messages
    # AMD GPUs have no pipelines yet.
    assert all("tile-pipe-0001" in str(message) for message in messages), messages


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "gfx942"])
def test_compiles(target):
    kernel = gemm.compile(target, SPLITS=4)
    assert kernel.manifest["grid_text"] == ["ceildiv(N, 32)", "ceildiv(M, 64)", "4"]
    assert not [text for text in kernel.messages if "tile-split" in text]


def test_remark_where_a_loop_is_not_split():
    @tilews.kernel(threads=128)
    def stores(A: tl.Tensor["M", tl.f32], C: tl.Tensor["M", tl.f32]):
        tl.grid(1)
        total = tl.zeros((32,), tl.f32)
        for k in tl.range(8, split_k=2):
            total = total + tl.load(A[k * 32], (32,))
        C[0] = total

    messages = stores.compile("sm_90a").messages
    assert any("tile-split-0001" in str(message) for message in messages)


def test_language():
    with pytest.raises(tilews.KernelError, match="split_k is an integer from 1 to"):
        gemm.mlir("sm_90a", SPLITS=0)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"stream_k": 2}, "stream_k is True or False, found"),
        ({"stream_k": True, "split_k": 2}, "split_k and stream_k both share"),
    ],
)
def test_stream_k_is_refused(options, message):
    with pytest.raises(LanguageError, match=message):
        tl.range(4, **options)
