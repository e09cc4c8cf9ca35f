"""Schedules compute the same under every timing, in each of their forms."""

import numpy as np
import pipelined_zoo
import pytest
import simulating

TARGETS = ["sm_80", "sm_90a"]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", pipelined_zoo.CASES, ids=lambda case: case.name)
def test_every_timing_computes_the_same(case, target):
    expected = simulating.simulate(case, simulating.lower(case, target))
    for phase, passes in simulating.PHASES.items():
        module = simulating.lower(case, target, passes)
        for timing in simulating.TIMINGS:
            found = simulating.simulate(case, module, **timing)
            for left, right in zip(found, expected, strict=True):
                np.testing.assert_array_equal(left, right, err_msg=f"{phase} {timing}")
