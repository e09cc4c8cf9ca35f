"""Schedules compute the same under every timing, in each of their forms."""

import itertools

import numpy as np
import pytest

import tilews
import tilews.language as tl
from kernels import pipelined_case, pipelined_zoo, scheduled
from support import simulating
from tilews import passes as tilews_passes
from tilews import sim


@tilews.kernel(threads=128)
def sparse(
    A: tl.Tensor["64, 128", tl.f16],
    E: tl.Tensor["64, 16", tl.i16],
    B: tl.Tensor["256, 64", tl.f16],
    C: tl.Tensor["64, 64", tl.f32],
):
    """Matmuls by wgmma.sp, which run on while the next one starts."""
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


CASES = [
    *pipelined_zoo.CASES,
    pipelined_case.PipelinedCase("wgmma-sparse", sparse, _sparse),
]
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


@pytest.mark.parametrize("case", pipelined_zoo.CASES, ids=lambda case: case.name)
def test_forms_for_amd(case):
    """Copies through registers, after the default pipeline."""
    steps = tilews_passes.expand("tilews-to-rocdl{chip=gfx942}")
    passes = itertools.takewhile(lambda s: "convert-tile-to" not in s, steps)
    expected = simulating.simulate(case, simulating.lower(case, "gfx942"))
    module = simulating.lower(case, "gfx942", ",".join(passes))
    for timing in simulating.TIMINGS:
        found = simulating.simulate(case, module, **timing)
        for left, right in zip(found, expected, strict=True):
            np.testing.assert_array_equal(left, right, err_msg=str(timing))


OTHERS = [
    pytest.param(entry, target, id=f"{entry.name}-{target}")
    for entry in scheduled.ALL
    if entry.arguments
    for target in entry.targets
] + [
    pytest.param(entry, chip, id=f"{entry.name}-{chip}")
    for entry in (*scheduled.EXAMPLES, *scheduled.ZOO)
    if entry.arguments
    # gfx942 has fp8 types of its own.
    for chip in ["gfx950" if "float8" in entry.name else "gfx942"]
]


@pytest.mark.parametrize(("entry", "target"), OTHERS)
def test_kernels_of_examples_benchmarks_and_tests(entry, target):
    """As above, after the default pipeline's schedule and after its barriers."""
    dialect = "rocdl" if target.startswith("gfx") else "nvvm"
    steps = tilews_passes.expand(f"tilews-to-{dialect}{{chip={target}}}")
    lowered = [
        next(i for i, step in enumerate(steps) if step.startswith(flag))
        for flag in ("tile-infer-layouts", "convert-tile-to-")
    ]
    expected = run(entry, entry.build(target))
    for count in lowered:
        module = simulating.run_passes(entry.build(target), ",".join(steps[:count]))
        for timing in simulating.TIMINGS:
            found = run(entry, module, **timing)
            for left, right in zip(found, expected, strict=True):
                np.testing.assert_array_equal(left, right, err_msg=f"{count} {timing}")


def run(entry, module, **options):
    """The arrays after a kernel has run."""
    arguments = entry.arguments(np.random.default_rng(0))
    sim.run(module, None, arguments, **options)
    return [value for value in arguments if isinstance(value, np.ndarray)]
