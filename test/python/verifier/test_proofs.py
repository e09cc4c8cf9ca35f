"""The verifier proves every schedule that the passes make, after each pass."""

import importlib

import numpy as np
import pytest

from kernels import hopper, pipelined_zoo, scheduled
from support import simulating
from support.verifying import verify_lowering, verify_steps
from tilews import errors, ir, passes


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("case", pipelined_zoo.CASES, ids=lambda case: case.name)
def test_pipelined_kernels(case, target):
    module = case.kernel.build(target, **case.constants)
    pipeline = f"tilews-to-nvvm{{chip={target}}}"
    verify_steps(module, pipeline)


@pytest.mark.parametrize("case", pipelined_zoo.CASES, ids=lambda case: case.name)
def test_one_role_on_request(case):
    """Without separate warps for copies, kernels on a chip with TMA are right, too."""
    module = case.kernel.build("sm_90a", **case.constants)
    expected = simulating.simulate(case, module)
    pipeline = "tilews-to-nvvm{chip=sm_90a one-role=true}"
    verify_steps(module, pipeline)
    assert "tile.role @" not in str(module)
    for timing in simulating.TIMINGS[:3]:
        found = simulating.simulate(case, module, **timing)
        for own, wanted in zip(found, expected, strict=True):
            np.testing.assert_array_equal(own, wanted, err_msg=str(timing))


@pytest.mark.parametrize("target", ["gfx942", "gfx950", "gfx1100"])
@pytest.mark.parametrize("case", pipelined_zoo.CASES, ids=lambda case: case.name)
def test_kernels_of_amd(case, target):
    module = case.kernel.build(target, **case.constants)
    pipeline = f"tilews-to-rocdl{{chip={target}}}"
    verify_steps(module, pipeline)


OTHERS = [
    pytest.param(entry, target, id=f"{entry.name}-{target}")
    for entry in scheduled.ALL
    for target in entry.targets
]


@pytest.mark.parametrize(("entry", "target"), OTHERS)
def test_kernels_of_examples_benchmarks_and_tests(entry, target):
    module = entry.build(target)
    verify_steps(module, f"tilews-to-nvvm{{chip={target}}}")


@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
@pytest.mark.parametrize(
    "entry",
    [*scheduled.EXAMPLES, *scheduled.ZOO],
    ids=lambda entry: entry.name,
)
def test_examples_and_tests_for_amd(entry, target):
    pipeline = f"tilews-to-rocdl{{chip={target}}}"
    verify_steps(entry.build(target), pipeline)


@pytest.mark.parametrize("by", ["by_steps", "by_hand"])
def test_schedules_made_by_functions(by):
    example = importlib.import_module("custom_pipeline")
    module = example.gemm.build("sm_90a")
    getattr(example, by)(module)
    verify_lowering(module)


HOPPER = {
    "plain": {"deferred": False},
    "deferred": {},
    "registers": {"registers": (232, 40)},
    "tma-store": {"store": "tma", "stages": 3},
    "masked": {"masked": True},
    "persistent": {"persistent": True},
    "persistent-masked": {
        "persistent": True,
        "masked": True,
        "store": "tma",
        "stages": 2,
    },
    "deep": {"stages": 7, "tile_n": 128, "warps": 4},
}


@pytest.mark.parametrize("options", HOPPER.values(), ids=HOPPER)
def test_kernels_for_hopper(options):
    with ir.Context(), ir.Location.unknown():
        verify_lowering(ir.Module.parse(hopper.gemm(**options)))


def test_what_is_wrong_stops_the_pipeline():
    text = hopper.gemm(deferred=False)
    wrong = text.replace("tile.commit %ch[%p]", "tile.commit %ch[%pn]").replace(
        "%pn = tile.advance %p : !tile.cursor<4>\n", ""
    )
    wrong = wrong.replace(
        "tile.acquire %ch[%p]",
        "%pn = tile.advance %p : !tile.cursor<4>\ntile.acquire %ch[%p]",
    )
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(wrong)
        with pytest.raises(errors.CompileError, match="commits slot 1 in phase 0"):
            passes.verify_schedule(module)
