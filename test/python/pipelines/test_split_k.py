"""Loops over K that several blocks share (split-K and stream-K) have the same sums."""

import numpy as np
import pytest

import tilews
import tilews.language as tl
from kernels.cooperating.split_k import arguments, gemm, persistent, streamed
from tilews import passes, sim
from tilews.errors import LanguageError


def run(kernel, constants, arrays, pipeline):
    """Runs a kernel on the interpreter after some passes."""
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


# Six tiles of 13 or 4 iterations: blocks with no, one or many iterations or tiles.
@pytest.mark.parametrize("pipeline", ["tile-stream-k", SCHEDULE])
@pytest.mark.parametrize("blocks", [1, 4, 7, 25, 78, 100])
@pytest.mark.parametrize("first, step", [(0, 1), (2, 3)])
def test_streamed_products(first, step, blocks, pipeline):
    a, b, c = arguments(200)
    constants = {"BLOCKS": blocks, "FIRST": first, "STEP": step}
    run(streamed, constants, (a, b, c), pipeline)
    iteration = np.arange(200) // 16
    kept = (iteration >= first) & ((iteration - first) % step == 0)
    np.testing.assert_array_equal(c, 1 + a[:, kept].astype("f4") @ b[kept].astype("f4"))


def test_streamed_without_turns():
    a, b, c = arguments(16)
    run(streamed, {"BLOCKS": 4, "FIRST": 3}, (a, b, c), SCHEDULE)
    assert (c == 1).all()


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "gfx942"])
def test_streamed_compiles(target):
    messages = streamed.compile(target, BLOCKS=8).messages
    # On AMD GPUs, two slots are as good as three.
    assert all("tile-pipe-0018" in str(message) for message in messages), messages


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
