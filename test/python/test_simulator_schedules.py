"""Schedules compute the same under every timing, in each of their forms."""

import numpy as np
import pipelined_case
import pipelined_zoo
import pytest
import simulating

import tilews
import tilews.language as tl


@tilews.kernel(threads=128)
def sparse(
    A: tl.Tensor["64, 128", tl.f16],
    E: tl.Tensor["64, 16", tl.i16],
    B: tl.Tensor["256, 64", tl.f16],
    C: tl.Tensor["64, 64", tl.f32],
):
    """Products by wgmma.sp, which run on while the next one starts."""
    tl.grid(1)
    As = tl.alloc_shared((64, 32), tl.f16)
    Es = tl.alloc_shared((64, 4), tl.i16)
    Bs = tl.alloc_shared((64, 64), tl.f16)
    acc = tl.zeros((64, 64), tl.f32)
    for k in tl.range(4, num_stages=2):
        tl.copy(A[0, k * 32], As)
        tl.copy(E[0, k * 4], Es)
        tl.copy(B[k * 64, 0], Bs)
        acc = tl.gemm_sp(As, Es, Bs, acc)
    C[0, 0] = acc


def _sparse(random):
    pairs = np.array([i | j << 2 for i in range(4) for j in range(i + 1, 4)], "u2")
    nibbles = random.choice(pairs, (64, 16, 4))
    words = sum(nibbles[:, :, i] << np.uint16(4 * i) for i in range(4))
    return [
        pipelined_case.integers(random, (64, 128)),
        words.astype("u2").view("i2"),
        pipelined_case.integers(random, (256, 64)),
        np.zeros((64, 64), np.float32),
    ]


CASES = [*pipelined_zoo.CASES, pipelined_case.Case("wgmma-sparse", sparse, _sparse)]
TARGETS = ["sm_80", "sm_90a"]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_timing_computes_the_same(case, target):
    expected = simulating.simulate(case, simulating.lower(case, target))
    for phase, passes in simulating.PHASES.items():
        module = simulating.lower(case, target, passes)
        for timing in simulating.TIMINGS:
            found = simulating.simulate(case, module, **timing)
            for left, right in zip(found, expected, strict=True):
                np.testing.assert_array_equal(left, right, err_msg=f"{phase} {timing}")
