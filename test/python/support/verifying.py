"""Proofs of schedules after each pass."""

import re

from tilews import ir, passes

#: The first pass after which there is a schedule to check.
FIRST = "tile-multi-version"
#: The verifier expects barriers after the memory plan; the next pass places them. What
#: runs in the last iteration of a loop is proved before it is split off.
SKIPPED = {"tile-plan-shared-memory", "tile-peel-pipelines"}


#: Operations that need a proof. Before the memory plan, copies outside of channels
#: wait for themselves.
SCHEDULE = re.compile(
    r"tile\.(channel|mbarrier|copy_group_wait)|tile\.shared_bytes(?s:.*)inst<cp_async>"
)


def verify(module: ir.Module, step: str) -> None:
    """Fails unless each kernel is proved or has nothing to prove."""
    remarks = passes.verify_schedule(module, report=True)
    assert remarks, step
    for remark in remarks:
        if "tile-verify-0003" in remark:
            assert not SCHEDULE.search(str(module)), step
            continue
        assert "tile-verify-0002" in remark and "is proved" in remark, (step, remark)


def verify_lowering(module: ir.Module) -> None:
    """Verifies a hand-written schedule before and after each pass of its lowering."""
    verify(module, "as made")
    for step in (
        "tile-infer-layouts",
        "tile-plan-shared-memory",
        "tile-insert-barriers",
        "tile-lower-channels",
    ):
        passes.run(module, step)
        if step not in SKIPPED:
            verify(module, step)


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
