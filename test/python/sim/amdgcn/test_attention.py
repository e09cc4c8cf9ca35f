"""Attention on gfx950 with scores of keys x queries, in the simulator of machine code.

A lane then has the scores of one query: the softmax needs registers and one exchange
between the halves of a wave, and the weights become an operand by v_permlane32_swap.
"""

import math
import re

import ml_dtypes
import numpy as np
import pytest

import tilews
import tilews.language as tl
from tilews.sim.amdgcn import (
    GLOBAL_LATENCIES,
    POLICIES,
    launch,
    model_cycles,
    record,
)

KEYS, DEPTH, QUERIES = 32, 128, 128


@tilews.kernel(threads=256)
def attention(
    Q: tl.Tensor["S, 128", tl.bf16],
    K: tl.Tensor["L:32, 128", tl.bf16],
    V: tl.Tensor["L:32, 128", tl.bf16],
    Y: tl.Tensor["S, 128", tl.f32],
):
    m = tl.grid(tl.cdiv(Q.shape[0], QUERIES)) * QUERIES
    scale = math.log2(math.e) / math.sqrt(DEPTH)
    queries = tl.transpose(tl.load(Q[m : m + QUERIES, 0:DEPTH]))
    Ks = tl.alloc_shared((KEYS, DEPTH), tl.bf16)
    Vs = tl.alloc_shared((KEYS, DEPTH), tl.bf16)
    out = tl.zeros((DEPTH, QUERIES), tl.f32)
    top = tl.full((QUERIES,), -1e30, tl.f32)
    total = tl.zeros((QUERIES,), tl.f32)
    for k in tl.range(tl.cdiv(K.shape[0], KEYS), num_stages=2):
        tl.copy(K[k * KEYS, 0], Ks)
        none = tl.zeros((KEYS, QUERIES), tl.f32)
        scores = tl.gemm(Ks, queries, none, policy="full_col")
        higher = tl.maximum(top, tl.max(scores, axis=0) * scale)
        weights = tl.exp2(scores * scale - higher[None, :])
        factor = tl.exp2(top - higher)
        total = total * factor + tl.sum(weights, axis=0)
        tl.copy(V[k * KEYS, 0], Vs)
        rescaled = out * factor[None, :]
        weights = weights.to(tl.bf16)
        out = tl.gemm(Vs, weights, rescaled, transpose_lhs=True, policy="full_col")
        top = higher
    Y[m : m + QUERIES, 0:DEPTH] = tl.transpose(out / total[None, :])


def make_arguments(keys):
    rng = np.random.default_rng(keys)
    q, k, v = (
        rng.standard_normal((n, DEPTH)).astype(ml_dtypes.bfloat16)
        for n in (QUERIES, keys, keys)
    )
    return q, k, v, np.zeros((QUERIES, DEPTH), np.float32)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("keys", [32, 64, 160])
def test_results(keys, policy):
    q, k, v, y = make_arguments(keys)
    launch(attention.compile("gfx950"), [q, k, v, y], 1, policy=policy)
    q, k, v = (array.astype(np.float64) for array in (q, k, v))
    scores = q @ k.T / math.sqrt(DEPTH)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    expected = weights @ v / weights.sum(-1, keepdims=True)
    np.testing.assert_allclose(y, expected, rtol=1e-2, atol=1e-2)


def test_matrix_units_are_busy():
    compiled = attention.compile("gfx950")
    recording = record(compiled, [*make_arguments(1024)])
    for latency in GLOBAL_LATENCIES:
        assert model_cycles(recording, latency).matmul > 0.6
    assert "scratch_" not in compiled.asm


def test_copies_have_two_slots_and_weights_are_swapped():
    compiled = attention.compile("gfx950")
    assert compiled.manifest["shared_bytes"] == 2 * 2 * KEYS * DEPTH * 2
    assert re.search(r"buffer_load_dwordx4 .* lds", compiled.asm)
    assert "v_permlane32_swap_b32" in compiled.asm
    assert "v_permlane32_swap_b32" not in attention.compile("gfx942").asm
