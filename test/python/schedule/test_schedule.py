"""`tilews.schedule` makes the same schedules as the passes, and refuses misuse."""

import pathlib
import re

import numpy as np
import pytest

from kernels import pipelined_zoo
from tilews import CompileError, compiler, ir, passes, schedule, sim
from tilews.dialects import tile

BY_NAME = {case.name: case for case in pipelined_zoo.CASES}
SHARED = "#gpu.address_space<workgroup>"


def build(name: str = "gemm-s3", target: str = "sm_90a") -> ir.Module:
    """A case's module, ready to be scheduled."""
    case = BY_NAME[name]
    module = case.kernel.build(target, **case.constants)
    passes.run(module, "tile-lower-persistent,canonicalize,cse")
    return module


def planned(name: str = "gemm-s3", target: str = "sm_90a"):
    """A module, its kernel, and its loops with plans."""
    module = build(name, target)
    kernel = schedule.find_kernel(module)
    schedule.annotate_instructions(kernel)
    loops = schedule.pipelined_loops(kernel)
    if loops:
        schedule.plan_pipeline(loops)
    return module, kernel, loops


# --- The same as the passes ------------------------------------------------------


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", BY_NAME)
def test_functions_do_what_passes_do(name, target):
    expected = build(name, target)
    passes.run(
        expected,
        "tile-annotate-instructions,tile-plan-pipeline,tile-multi-version,"
        "tile-channel-preludes,tile-specialize-warps,tile-defer-gemm-waits,"
        "tile-expand-pipeline",
    )
    module, kernel, loops = planned(name, target)
    if loops:
        schedule.multi_version_buffers(loops)
    schedule.channel_preludes(kernel)
    try:
        if target != "sm_90a" or not loops:
            raise CompileError("it cannot have roles")
        schedule.specialize(kernel)
    except CompileError:
        schedule.keep_one_role(kernel)
        # An outer loop comes first: an inner one is an operation for it.
        while left := schedule.pipelined_loops(kernel):
            schedule.expand_pipeline(left[0])
    schedule.defer_gemm_waits(kernel)
    assert str(module) == str(expected)


# --- Choices --------------------------------------------------------------------


def run(module: ir.Module, name: str) -> list[np.ndarray]:
    arguments = BY_NAME[name].arguments(np.random.default_rng(0))
    sim.run(module, None, arguments)
    return [value for value in arguments if isinstance(value, np.ndarray)]


@pytest.mark.parametrize("name", ["gemm-s3", "guard-random-s2", "attention-s2"])
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_more_slots_than_the_plan_needs(name, target):
    module, kernel, loops = planned(name, target)
    channels = schedule.multi_version_buffers(loops, depth=7)
    assert all(str(c.result.type) == "!tile.channel<7>" for c in channels)
    if target == "sm_90a":
        schedule.specialize(kernel)
    else:
        schedule.keep_one_role(kernel)
        for loop in schedule.pipelined_loops(kernel):
            schedule.expand_pipeline(loop)
    assert module.operation.verify()
    for found, expected in zip(run(module, name), run(build(name), name), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_stages_and_orders_by_hand():
    module = build()
    kernel = schedule.find_kernel(module)
    (loop,) = schedule.pipelined_loops(kernel)
    names = [op.operation.name for op in schedule.operations_to_schedule(loop)]
    assert names == ["tile.copy", "tile.copy", "tile.gemm"]
    schedule.plan_pipeline(loop, num_stages=3, stage=[0, 1, 2], order=[1, 2, 0])
    (channel,) = schedule.multi_version_buffers(loop)
    assert str(channel.result.type) == "!tile.channel<2>"
    for loop in schedule.pipelined_loops(kernel):
        schedule.expand_pipeline(loop)
    (found, expected) = run(module, "gemm-s3")[2], run(build(), "gemm-s3")[2]
    np.testing.assert_array_equal(found, expected)


def test_registers_of_roles():
    module, kernel, loops = planned()
    schedule.multi_version_buffers(loops)
    schedule.specialize(kernel, registers={"math": 232, "load": 40})
    text = str(module)
    assert "tile.role @math warps(4) registers(232)" in text
    assert "tile.role @load warps(4) registers(40)" in text
    assert "tile.role_registers" not in text
    assert "setmaxnreg" in compiler.compile_module(module, "sm_90a").ptx


def test_replaced_loops_are_gone():
    _module, kernel, loops = planned()
    schedule.multi_version_buffers(loops)
    for use in (
        lambda: str(loops[0]),
        lambda: schedule.plan_pipeline(loops),
        lambda: schedule.operations_to_schedule(loops[0]),
    ):
        with pytest.raises(RuntimeError, match="the operation has been invalidated"):
            use()
    assert len(schedule.pipelined_loops(kernel)) == 1


def test_versions_keep_a_layout():
    with ir.Context():
        buffer = ir.Type.parse(
            f"memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, {SHARED}>"
        )
        assert str(schedule.expand_layout(buffer, 3)) == (
            "memref<3x64x64xf16, #tile.shared<(3, 64, 64):(4096, 64, 1), Sw<3,4,3>>, "
            f"{SHARED}>"
        )


# --- Errors ----------------------------------------------------------------------


def first(kernel, kind):
    return schedule._all(kernel.operation, kind)[0]


def unplanned(name="gemm-s3"):
    kernel = schedule.find_kernel(build(name))
    return kernel, schedule.pipelined_loops(kernel)


def not_a_pipelined_loop():
    _kernel, (loop,) = unplanned()
    del loop.attributes["tile.num_stages"]
    schedule.plan_pipeline(loop)


def loops_of_two_kernels():
    (_, loops), (_, others) = unplanned(), unplanned()
    schedule.plan_pipeline([*loops, *others])


def part_of_the_loops():
    _kernel, loops = unplanned("loops-3-5-4")
    schedule.plan_pipeline(loops[0])


def versions_twice():
    _module, kernel, loops = planned()
    schedule.multi_version_buffers(loops)
    schedule.multi_version_buffers(schedule.pipelined_loops(kernel))


def without_channels():
    schedule.specialize(planned()[1])


def specialize_twice():
    _module, kernel, loops = planned()
    schedule.multi_version_buffers(loops)
    schedule.specialize(kernel)
    schedule.specialize(kernel)


def specialize_with(registers, name="gemm-s3", target="sm_90a"):
    _module, kernel, loops = planned(name, target)
    schedule.multi_version_buffers(loops)
    schedule.specialize(kernel, registers=registers)


def expand_in_a_role():
    _module, kernel, loops = planned()
    schedule.multi_version_buffers(loops)
    schedule.specialize(kernel)
    loop = first(kernel, type(loops[0]))
    loop.attributes["tile.num_stages"] = schedule._i32(2, loop.context)
    schedule.expand_pipeline(loop)


def with_a_stray_store():
    _module, kernel, loops = planned(target="sm_80")
    schedule.multi_version_buffers(loops)
    schedule.keep_one_role(kernel)
    (loop,) = schedule.pipelined_loops(kernel)
    for op in loop.body.operations:
        for name in ("tile.stage", "tile.order"):
            if isinstance(op, tile.CopyOp):
                del op.attributes[name]
    schedule.expand_pipeline(loop)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            lambda: schedule.annotate_instructions(unplanned()[1][0]),
            r"matmuls.py:\d+:\d+: error: is not a kernel; expected a gpu.func, found "
            r"'scf.for'$",
        ),
        (
            lambda: schedule.plan_pipeline(unplanned()[0]),
            r"is not a loop that can be pipelined; expected an scf.for, found "
            r"'gpu.func'$",
        ),
        (not_a_pipelined_loop, r"is not a pipelined loop; expected 'tile.num_stages'"),
        (lambda: schedule.plan_pipeline([]), r"expected at least one loop$"),
        (
            lambda: schedule.plan_pipeline(unplanned()[1], num_stages=0),
            r"matmuls.py:\d+:\d+: error: num_stages is an integer from 1 to "
            r"2147483647, found the Python value 0$",
        ),
        (
            lambda: schedule.plan_pipeline(unplanned()[1], num_stages=10**12),
            r"error: num_stages is .* found the Python value 1000000000000$",
        ),
        (
            lambda: schedule.plan_pipeline(unplanned()[1], num_stages="3"),
            r"error: num_stages is .* found the Python value '3'$",
        ),
        (
            lambda: schedule.plan_pipeline(unplanned()[1], num_stages=True),
            r"error: num_stages is .* found the Python value True$",
        ),
        (
            lambda: schedule.plan_pipeline(
                unplanned()[1], stage=[0, 0, 2**32 + 2], order=[0, 1, 2]
            ),
            r"matmuls.py:\d+:\d+: error: stage is .* found the Python value 42949672",
        ),
        (
            lambda: schedule.plan_pipeline(unplanned()[1], stage="002", order="012"),
            r"^stage: expected a list of integers, found '002'$",
        ),
        (
            lambda: schedule.plan_pipeline(
                unplanned()[1], stage=[1, 1, 1], order=[0, 1, 2]
            ),
            r"remark: tile-pipe-0016: .* no operation that only fills shared",
        ),
        (
            lambda: schedule.plan_pipeline(unplanned()[1], num_stages=65),
            r"remark: tile-pipe-0013: .* the loop has 65 stages, expected at most 64",
        ),
        (
            lambda: schedule.plan_pipeline(unplanned()[1], stage=[0, 0, 2]),
            r"^stage and order go together$",
        ),
        (
            lambda: schedule.plan_pipeline(unplanned()[1], stage=[0], order=[0, 1, 2]),
            r"^stage has 1 entries, but the loop has 3 operations to schedule: "
            r"tile.copy, tile.copy, tile.gemm$",
        ),
        (
            lambda: schedule.plan_pipeline(
                unplanned()[1], stage=[0, 0, 2], order=[0, 1, -1]
            ),
            r"error: order is an integer from 0 to 2147483647, found .* -1$",
        ),
        (
            lambda: schedule.plan_pipeline(
                unplanned()[1], stage=[2, 2, 0], order=[0, 1, 2]
            ),
            r"matmuls.py:\d+:\d+: error: .*stage 0 and order 2 are too early: "
            r"'tile.copy' \(stage 2",
        ),
        (part_of_the_loops, r"the buffer is also used outside of the loop"),
        (
            lambda: schedule.multi_version_buffers(unplanned()[1]),
            r"is not planned: its operations have no stages$",
        ),
        (
            lambda: schedule.multi_version_buffers(planned()[2], depth=2),
            r"error: buffer needs 3 versions in its loops, found a depth of 2$",
        ),
        (
            lambda: schedule.multi_version_buffers(planned()[2], depth=65),
            r"error: depth is an integer from 1 to 64, found the Python value 65$",
        ),
        (
            lambda: schedule.multi_version_buffers(planned()[2], depth=0),
            r"error: depth is an integer from 1 to 64, found the Python value 0$",
        ),
        (
            lambda: schedule.expand_layout(
                first(unplanned()[0], tile.AllocSharedOp), "3"
            ),
            r"^error: depth is an integer from 1 to 64, found the Python value '3'$",
        ),
        (
            lambda: specialize_with({"math": 2**64, "load": 40}),
            r"error: registers of 'math' is an integer from 1 to 2147483647, found",
        ),
        (versions_twice, r"has channels already: its buffers have their versions$"),
        (without_channels, r"error: has no channels: give the buffers"),
        (specialize_twice, r"error: has roles already$"),
        (
            lambda: specialize_with({"math": 232}),
            r"'tile.role_registers' expects i64 registers for 'math' and 'load'",
        ),
        (
            lambda: specialize_with({"math": 230, "load": 40}),
            r"multiples of 8 from 24 to 256, found .*math = 230",
        ),
        (
            lambda: specialize_with(None, "recurrent", "sm_80"),
            r"remark: tile-ws-0001: kernel keeps one role: TMA can do none",
        ),
        (
            lambda: schedule.expand_pipeline(planned()[2][0]),
            r"error: cannot be expanded: expected a planned loop whose buffers have",
        ),
        (expand_in_a_role, r"error: cannot be expanded: .*in no role$"),
        (
            with_a_stray_store,
            r"remark: tile-pipe-0014: loop is not pipelined: 'tile.copy' in it has "
            r"neither a stage nor an order$",
        ),
    ],
)
def test_errors(wrong, message):
    with pytest.raises(CompileError, match=message):
        wrong()


def test_errors_change_nothing():
    module, kernel, loops = planned()
    before = str(module)
    for wrong in (
        lambda: schedule.multi_version_buffers(loops, depth=2),
        lambda: schedule.plan_pipeline(loops, num_stages=70),
        lambda: schedule.plan_pipeline(loops, num_stages=1),
        lambda: schedule.plan_pipeline(loops, stage=[0, 9, 2], order=[0, 1, 2]),
        lambda: schedule.specialize(kernel, registers={"math": 232, "load": 40}),
        lambda: schedule.expand_pipeline(loops[0]),
    ):
        with pytest.raises(CompileError):
            wrong()
        assert str(module) == before


def test_wrong_python_values():
    module, kernel, _loops = planned()
    with pytest.raises(TypeError, match="kernel: expected an operation, found 'gemm'"):
        schedule.annotate_instructions("gemm")
    with pytest.raises(TypeError, match="loops: expected an operation, found 3"):
        schedule.plan_pipeline([3])
    with pytest.raises(TypeError, match="buffer: expected a value"):
        schedule.expand_layout(kernel, 2)
    with pytest.raises(TypeError, match=r"module: expected an ir\.Module"):
        schedule.find_kernel(kernel)
    with pytest.raises(CompileError, match=r"a kernel 'other'; the module has gemm$"):
        schedule.find_kernel(module, "other")


# --- Channels and cursors ----------------------------------------------------------


@pytest.fixture
def parts():
    """A kernel's entry with versions, a channel and a cursor."""
    module = build()
    kernel = schedule.find_kernel(module)
    (loop,) = schedule.pipelined_loops(kernel)
    copy = first(kernel, tile.CopyOp)
    versions = schedule.version_buffer(copy.dest, 3)
    with ir.InsertionPoint(loop):
        channel = schedule.make_channel([versions])
        cursor = schedule.make_cursor(3)
    return module, kernel, loop, copy, versions, channel, cursor


def test_operations_are_made_where_they_are_wanted(parts):
    module, kernel, loop, _copy, versions, channel, cursor = parts
    with ir.InsertionPoint.at_block_begin(loop.body):
        schedule.acquire(channel, cursor)
        view = schedule.slot(versions, cursor)
        schedule.commit(channel, cursor)
        schedule.wait(channel, cursor)
        schedule.release(channel, cursor)
        schedule.advance(cursor)
    assert str(view.type) == f"memref<32x16xf16, {SHARED}>"
    schedule.carry_cursors(kernel, [cursor])
    assert module.operation.verify()
    # The sum is carried as before, and the cursor after it.
    (carrying,) = schedule.pipelined_loops(kernel)
    assert [str(r.type) for r in carrying.results][1] == "!tile.cursor<3>"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            lambda p: schedule.acquire(p[5], schedule.make_cursor(2)),
            r"^the channel has 3 slots, but the cursor is of one with 2$",
        ),
        (
            lambda p: schedule.commit(p[6], p[6]),
            r"^expected a channel, found a value of type !tile.cursor<3>$",
        ),
        (
            lambda p: schedule.advance(p[5]),
            r"^expected a cursor, found a value of type !tile.channel<3>$",
        ),
        (
            lambda p: schedule.slot(p[4], schedule.make_cursor(2)),
            r"^the cursor is of a channel with 2 slots, the buffer has 3 versions$",
        ),
        (
            lambda p: schedule.slot(p[3].source, p[6]),
            r"expected the type of a shared buffer with versions, found 'memref<\?x\?",
        ),
        (
            lambda p: schedule.make_cursor(0),
            r"depth is an integer from 1 to 64, found the Python value 0",
        ),
        (lambda p: schedule.make_channel([]), r"found no buffers and no depth$"),
        (lambda p: schedule.make_channel([p[4]], depth=2), r"versions, found 2, 3$"),
        (
            lambda p: schedule.make_channel([p[4]], "warp"),
            r"^producer: expected one of tma, cp_async, simt, mixed, found 'warp'$",
        ),
        (
            lambda p: schedule.version_buffer(p[3].source, 2),
            r"^expected a buffer that 'tile.alloc_shared' makes, found a value",
        ),
        (
            lambda p: schedule.expand_layout(p[3].source, 2),
            r"expected the type of a shared buffer, found 'memref<\?x\?xf16>",
        ),
        (
            lambda p: schedule.use_version(p[3], p[4], p[4], p[6]),
            r"expected versions of type 'memref<3x3x32x16xf16",
        ),
        (
            lambda p: schedule.use_version(p[3], p[3].dest, p[4], p[5]),
            r"expected a cursor, found a value of another type$",
        ),
        (
            lambda p: schedule.use_version(p[4].owner, p[3].dest, p[4], p[6]),
            r"is not known here",
        ),
        (
            lambda p: schedule.carry_cursors(p[1], [p[4]]),
            r"is not carried; expected the result of a 'tile.cursor' in the body",
        ),
    ],
)
def test_errors_of_the_parts(parts, wrong, message):
    with ir.InsertionPoint(parts[2]), pytest.raises(CompileError, match=message):
        wrong(parts)


def test_example_of_the_documentation():
    page = (pathlib.Path(__file__).parents[3] / "docs/launch.md").read_text()
    section = page.split("## Schedules step by step")[1]
    code = re.search(r"```python\n(.*?)```", section, flags=re.S).group(1)
    scope = {
        "gemm": BY_NAME["gemm-s3"].kernel,
        "compile_module": compiler.compile_module,
    }
    exec(code, scope)
    assert "tile.role @load warps(4) registers(40)" in str(scope["module"])
    names = set(re.findall(r"`(\w+)\(", section)) | {"version_buffer", "use_version"}
    assert names <= set(schedule.__all__)
