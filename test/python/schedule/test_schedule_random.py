"""Random stages and orders are refused with a reason, or give the same results."""

import random

import numpy as np
import pytest

from kernels import pipelined_zoo
from tilews import CompileError, ir, passes, schedule, sim

BY_NAME = {case.name: case for case in pipelined_zoo.CASES}
NAMES = (
    *("gemm-s3", "i64", "cast", "guard-random-s2", "guarded-part", "any-of-a-mask"),
    *("two-branches", "bind-chains", "nested", "two-loops-4-7", "gather"),
    *("attention-s2", "preludes-5", "recurrent", "counters"),
)


def run(name: str, module: ir.Module) -> list[np.ndarray]:
    arguments = BY_NAME[name].arguments(np.random.default_rng(0))
    sim.run(module, None, arguments)
    return [value for value in arguments if isinstance(value, np.ndarray)]


def random_plan(rng: random.Random, count: int, copies: list[bool], stages: int):
    """Stages and orders: the usual ones with some changes, or random ones."""
    if rng.random() < 0.3:
        noise = [rng.randint(0, stages) for _ in range(count)]
        return noise, rng.sample(range(count), count)
    late = rng.randint(0, stages)
    stage = [0 if copy else late for copy in copies]
    first = rng.random() < 0.5
    sequence = sorted(range(count), key=lambda i: (copies[i] != first, i))
    if rng.random() < 0.3:
        sequence = list(range(count))
    order = [sequence.index(i) for i in range(count)]
    for numbers in (stage, order):
        if rng.random() < 0.25:
            i, j = rng.choice(range(count)), rng.choice(range(count))
            numbers[i], numbers[j] = numbers[j], numbers[i]
    return stage, order


def carry_out(rng: random.Random, kernel) -> None:
    """Gives loops random plans, and makes roles or a pipeline of them."""
    for loop in schedule.pipelined_loops(kernel):
        operations = schedule.operations_to_schedule(loop)
        copies = [op.operation.name == "tile.copy" for op in operations]
        stages = rng.randint(1, 4)
        stage, order = random_plan(rng, len(operations), copies, stages)
        i32 = schedule._i32
        loop.attributes["tile.num_stages"] = i32(stages, loop.context)
        for op, s, o in zip(operations, stage, order, strict=True):
            op.attributes["tile.stage"] = i32(s, op.context)
            op.attributes["tile.order"] = i32(o, op.context)
    loops = schedule.pipelined_loops(kernel)
    schedule.plan_pipeline(loops)
    schedule.multi_version_buffers(loops, depth=rng.choice([None, None, 5]))
    if rng.random() < 0.4:
        schedule.channel_preludes(kernel)
        schedule.specialize(kernel)
        return
    schedule.keep_one_role(kernel)
    while left := schedule.pipelined_loops(kernel):
        schedule.expand_pipeline(left[0])


@pytest.mark.parametrize("name", NAMES)
def test_plans_are_refused_or_right(name):
    case, expected, accepted = BY_NAME[name], None, 0
    for seed in range(14):
        rng = random.Random(f"{name} {seed}")
        module = case.kernel.build(rng.choice(["sm_80", "sm_90a"]), **case.constants)
        passes.run(
            module,
            "tile-lower-persistent,canonicalize,cse,tile-annotate-instructions",
        )
        expected = expected or run(name, module)
        try:
            carry_out(rng, schedule.find_kernel(module))
        except CompileError as error:
            assert "test/python/kernels/pipelined_" in str(error), error
            continue
        accepted += 1
        assert module.operation.verify()
        for found, wanted in zip(run(name, module), expected, strict=True):
            np.testing.assert_array_equal(found, wanted, err_msg=f"seed {seed}")
    assert accepted > 0 or name == "recurrent"


def test_fragments_that_producers_need_are_computed_twice():
    """A guard's operands are computed in both roles, whatever stage they have."""
    case = BY_NAME["any-of-a-mask"]
    for target in ("sm_80", "sm_90a"):
        module = case.kernel.build(target)
        passes.run(module, "canonicalize,cse,tile-annotate-instructions")
        kernel = schedule.find_kernel(module)
        expected = run(case.name, module)
        (loop,) = schedule.pipelined_loops(kernel)
        names = [op.operation.name for op in schedule.operations_to_schedule(loop)]
        assert names[:3] == ["tile.load", "tile.reduce", "tile.copy"]
        stage = [0, 0, 0] + [2] * (len(names) - 3)
        schedule.plan_pipeline(loop, stage=stage, order=range(len(names)))
        schedule.multi_version_buffers(loop)
        if target == "sm_90a":
            schedule.specialize(kernel)
        else:
            schedule.expand_pipeline(schedule.pipelined_loops(kernel)[0])
        for found, wanted in zip(run(case.name, module), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_scalars_between_operations_of_a_segment():
    """Scalars between two operations of a segment go into the segment's branch."""
    case = BY_NAME["guarded-part"]
    module = case.kernel.build("sm_80")
    passes.run(module, "canonicalize,cse,tile-annotate-instructions")
    kernel = schedule.find_kernel(module)
    expected = run(case.name, module)
    (loop,) = schedule.pipelined_loops(kernel)
    names = [op.operation.name for op in schedule.operations_to_schedule(loop)]
    gemm = names.index("tile.gemm")
    stage = [0] * gemm + [2] + [1] * (len(names) - gemm - 1)
    schedule.plan_pipeline(loop, stage=stage, order=range(len(names)))
    schedule.multi_version_buffers(loop)
    schedule.expand_pipeline(schedule.pipelined_loops(kernel)[0])
    assert module.operation.verify()
    for found, wanted in zip(run(case.name, module), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
