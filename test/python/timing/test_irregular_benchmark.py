"""Kernels with irregular accesses that are measured: their results, and the table."""

import itertools

import numpy as np
import pytest

from benchmarks.irregular import __main__ as command
from benchmarks.irregular.irregular_kernels import expert_matmul, sequence_attention

RNG = np.random.default_rng(5)


def test_attention_of_sequences():
    starts = np.array([0, 5, 5, 45, 109], np.int32)
    q, k, v = (RNG.standard_normal((109, 2, 128)).astype(np.float16) for _ in range(3))
    # What is in one sequence must not be seen in another.
    k[:5] = v[:5] = np.nan
    y = np.zeros_like(q)
    scale = 128**-0.5 * np.log2(np.e)
    sequence_attention(q, k, v, starts, y, 64, scale, QUERIES=32, KEYS=32)
    assert np.isnan(y[:5]).all()
    for (first, end), h in itertools.product(itertools.pairwise(starts[2:]), range(2)):
        one = slice(first, end), h
        scores = q[one].astype(float) @ k[one].astype(float).T * 128**-0.5
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        wanted = weights @ v[one].astype(float) / weights.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(y[one], wanted, atol=2e-3)


@pytest.mark.parametrize("gather", [True, False])
def test_matmul_of_gathered_rows(gather):
    x, w = (
        RNG.integers(-2, 3, shape).astype(np.float16)
        for shape in ((60, 128), (3, 64, 128))
    )
    rows = RNG.integers(0, 60, 60).astype(np.int32)
    expert = np.array([2, 0, 1, 0], np.int32)
    y = np.zeros((60, 64), np.float16)
    tiles = {"BM": 16, "BN": 64, "BK": 64, "STAGES": 2}
    expert_matmul(x, w, rows, expert, y, GATHER=gather, **tiles)
    of_row = np.repeat(expert, 16)[:60]
    taken = x[rows] if gather else x
    wanted = np.einsum("mk,mnk->mn", taken.astype(float), w[of_row].astype(float))
    np.testing.assert_array_equal(y, wanted)


def test_the_table_has_ratios_of_speeds():
    facts = {"gpu": "G", "date": "D", "driver": "1", "torch": "2", "tilews": "3"}
    compared = {"against": "other", "error": 0.5, "kernel": "k"}
    rows = [
        {**compared, "case": "a", "ours": 3.0, "other": 2.0, "unit": "TFLOP/s"},
        {**compared, "case": "b", "ours": 2.0, "other": 3.0, "unit": "ms"},
        {"kernel": "k", "case": "c", "error": 0.25},
    ]
    text = command.describe({**facts, "rows": rows})
    assert "| k | a | 3 | 2 | TFLOP/s | other | 1.500 | 5.0e-01 |" in text
    assert "| k | b | 2 | 3 | ms | other | 1.500 | 5.0e-01 |" in text
    assert "| k | c |  |  |  |  |  | 2.5e-01 |" in text
