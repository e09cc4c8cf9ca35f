"""Schedules compute what the loops they are made from compute.

The interpreter lets asynchronous copies land as late as the waits permit.
"""

import re

import numpy as np
import pipelined_zoo
import pytest

from tilews import ir, passmanager, sim

PREPARE = "tile-lower-persistent,canonicalize,cse"
ANNOTATE = f"{PREPARE},tile-annotate-instructions,tile-plan-pipeline"
STEPS = {
    "planned": ANNOTATE,
    "versioned": f"{ANNOTATE},tile-multi-version",
    "versioned-clean": f"{ANNOTATE},tile-multi-version,canonicalize,cse",
    "expanded": f"{ANNOTATE},tile-multi-version,tile-expand-pipeline",
    "expanded-clean": f"{ANNOTATE},tile-multi-version,canonicalize,cse,"
    "tile-expand-pipeline,canonicalize,cse",
}


def transform(case: pipelined_zoo.Case, passes: str, target: str):
    """The case's module after `passes`."""
    module = case.kernel.build(target, **case.constants)
    with module.context:
        pipeline = f"builtin.module(gpu.module({passes}))"
        passmanager.PassManager.parse(pipeline).run(module.operation)
    return module


def run(case: pipelined_zoo.Case, module) -> list[np.ndarray]:
    """The arrays after the kernel has run."""
    arguments = case.arguments(np.random.default_rng(0))
    sim.run(module, None, arguments)
    return [value for value in arguments if isinstance(value, np.ndarray)]


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "gfx942"])
@pytest.mark.parametrize("case", pipelined_zoo.CASES, ids=lambda case: case.name)
def test_schedules_compute_the_same(case, target):
    expected = run(case, case.kernel.build(target, **case.constants))
    for step, passes in STEPS.items():
        module = transform(case, passes, target)
        for found, wanted in zip(run(case, module), expected, strict=True):
            np.testing.assert_array_equal(found, wanted, err_msg=step)
        text = str(module)
        if step != "planned":
            assert text.count("tile.channel(") == case.piped, step
        if step.startswith("expanded"):
            assert "tile.stage" not in text
            assert "tile.num_stages" not in text


@pytest.mark.parametrize("name", ["gemm-s3", "attention-s2", "guard-random-s4"])
def test_waits_are_as_strong_as_they_have_to_be(name):
    """With one more group under way the copies come too late."""
    case = next(case for case in pipelined_zoo.CASES if case.name == name)
    expected = run(case, case.kernel.build("sm_80", **case.constants))
    text = str(transform(case, STEPS["expanded"], "sm_80"))
    weak = re.sub(r"pending = (\d+)", lambda m: f"pending = {int(m[1]) + 1}", text)
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(weak)
        try:
            found = run(case, module)
        except sim.SimulationError:  # It reads what was never written.
            return
    assert any((f != e).any() for f, e in zip(found, expected, strict=True))
