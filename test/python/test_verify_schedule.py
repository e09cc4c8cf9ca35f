"""Every schedule that the passes make is proved to be right, after each pass."""

import hopper_kernels
import kernel_zoo
import numpy as np
import pipelined_zoo
import pytest

from tilews import errors, ir, passes

#: From here on there is a schedule to check.
FIRST = "tile-multi-version"
#: Barriers are expected from the memory plan on, and placed right after it.
SKIPPED = {"tile-plan-shared-memory"}


def verify(module: ir.Module, step: str) -> None:
    """Fails unless all kernels are proved."""
    remarks = passes.verify_schedule(module, report=True)
    assert remarks, step
    for remark in remarks:
        assert "tile-verify-0002" in remark and "is proved" in remark, (step, remark)


def verify_steps(module: ir.Module, pipeline: str, first: str) -> int:
    """Runs a pipeline up to per-thread code and verifies after each pass."""
    count = 0
    started = False
    for step in passes.expand(pipeline):
        flag = step.partition("{")[0]
        if flag.startswith("convert-tile-to-"):
            break
        passes.run(module, step)
        started |= flag == first
        if started and flag not in SKIPPED:
            verify(module, step)
            count += 1
    return count


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("case", pipelined_zoo.CASES, ids=lambda case: case.name)
def test_pipelined_kernels(case, target):
    module = case.kernel.build(target, **case.constants)
    pipeline = f"tilews-to-nvvm{{chip={target}}}"
    assert verify_steps(module, pipeline, FIRST) >= 10


@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
@pytest.mark.parametrize("name", ["gemm-s3", "attention-s2", "guard-random-s2"])
def test_kernels_of_amd(name, target):
    case = next(case for case in pipelined_zoo.CASES if case.name == name)
    module = case.kernel.build(target, **case.constants)
    assert verify_steps(
        module, f"tilews-to-rocdl{{chip={target}}}", "tile-annotate-instructions"
    )


@pytest.mark.parametrize("case", kernel_zoo.gemm_cases()[::8], ids=lambda c: c.name)
def test_other_kernels(case):
    arguments = case.arguments(np.random.default_rng(0))
    compiled = case.kernel.compile_for(*arguments, target="sm_90a", **case.constants)
    assert not [m for m in compiled.messages if "tile-verify" in m]


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
        module = ir.Module.parse(hopper_kernels.gemm(**options))
        verify(module, "as written")
        for step in (
            "tile-infer-layouts",
            "tile-plan-shared-memory",
            "tile-insert-barriers",
            "tile-lower-channels",
        ):
            passes.run(module, step)
            if step not in SKIPPED:
                verify(module, step)


def test_what_is_wrong_stops_the_pipeline():
    text = hopper_kernels.gemm(deferred=False)
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
