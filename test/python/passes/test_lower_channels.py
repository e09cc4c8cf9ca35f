"""Barriers that `--tile-lower-channels` makes of compiled and hand-written schedules.

The simulator counts arrivals and bytes, and flips the phases' parities.
"""

import re

import numpy as np
import pytest

from kernels import hopper
from support.simulating import find_case, lower, simulate
from tilews import ir, passes, sim

NAMES = ("gemm-s3", "attention-s2-causal", "guard-random-s4", "nested", "loops-3-5-4")


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", NAMES)
def test_default_pipeline(name, target):
    case = find_case(name)
    steps = passes.expand(f"tilews-to-nvvm{{chip={target}}}")
    before = steps[: steps.index("tile-lower-channels")]
    module = lower(case, target, ",".join(before))
    has_roles = "tile.specialize" in str(module)
    assert passes.lower_channels(module) == []
    text = str(module)
    assert not re.search(r"tile\.(channel|cursor|acquire|release|wait)\b", text)
    assert ("tile.mbarrier_wait" in text) == has_roles
    compiled = case.kernel.compile(target, **case.constants).mlir("barriers")
    for op in ("tile.mbarrier", "tile.copy_group_wait", "tile.proxy_fence"):
        assert compiled.count(op) == text.count(op)
    expected = simulate(case, case.kernel.build(target, **case.constants))
    found = simulate(case, module, policy="latest")
    for one, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, wanted)


@pytest.mark.parametrize(
    "options",
    [{}, {"deferred": False}, {"masked": True}, {"persistent": True, "stages": 3}],
    ids=str,
)
def test_schedules_by_hand(options):
    size = {"tile_m": 64, "tile_n": 32, "tile_k": 32, "warps": 4}
    text = hopper.gemm(**size, **{"stages": 2} | options)
    random = np.random.default_rng(0)
    a = random.integers(-3, 4, (100, 136)).astype(np.float16)
    b = random.integers(-3, 4, (72, 136)).astype(np.float16)
    mask = random.integers(0, 2, 5).astype(np.int8)
    results = []
    with ir.Context():
        module = ir.Module.parse(text)
        for step in (
            "tile-infer-layouts,tile-plan-shared-memory,tile-insert-barriers",
            "tile-lower-channels",
        ):
            passes.run(module, step)
            c = np.full((100, 72), np.nan, np.float32)
            arguments = [a, b, c] + ([mask] if "masked" in options else [])
            sim.run(module, None, arguments, policy="latest")
            results.append(c)
        assert "elected" in str(module)
    np.testing.assert_array_equal(results[1], results[0])
