"""Pipelines with stages and orders that the kernel gives (tl.pipelined)."""

import inspect
import re

import numpy as np
import pytest

import tilews
import tilews.language as tl
from tilews import KernelError, passes, sim


@tilews.kernel(threads=128)
def gemm(
    A: tl.Tensor["M, K:16", tl.f16],
    B: tl.Tensor["K, N:16", tl.f16],
    C: tl.Tensor["M, N:16", tl.f32],
    STAGES: tl.constexpr = 3,
    STAGE: tl.constexpr = (0, 0, 2),
    ORDER: tl.constexpr = (0, 1, 2),
):
    M, K = A.shape
    N = B.shape[1]
    bx, by = tl.grid(tl.cdiv(N, 32), tl.cdiv(M, 32))
    As = tl.alloc_shared((32, 32), A.dtype)
    Bs = tl.alloc_shared((32, 32), B.dtype)
    acc = tl.zeros((32, 32), tl.f32)
    for k in tl.pipelined(tl.cdiv(K, 32), num_stages=STAGES, stage=STAGE, order=ORDER):
        place = k * 32
        tl.copy(A[by * 32, place], As)
        tl.copy(B[place, bx * 32], Bs)
        acc = tl.gemm(As, Bs, acc)
    C[by * 32, bx * 32] = acc


@tilews.kernel(threads=128)
def guarded(
    A: tl.Tensor["32, K:16", tl.f16],
    mask: tl.Tensor["KB", tl.i1],
    C: tl.Tensor["32, 16", tl.f32],
    steps: tl.index,
):
    """Each statement under a guard has a stage; another compound statement has one."""
    tl.grid(2)
    As = tl.alloc_shared((32, 16), tl.f16)
    for _x in tl.persistent(2):
        acc = tl.zeros((32, 16), tl.f32)
        for k in tl.pipelined(
            steps, num_stages=2, stage=[0, 2, 2, 2], order=[3, 0, 1, 2]
        ):
            if tl.load(mask[k]):
                tl.copy(A[0, k * 16], As)
                acc = acc + tl.load(As).to(tl.f32)
            for _i in tl.range(3):
                acc = acc * 2.0 - acc
            if k > 2:
                acc = acc + 1.0
        C[0, 0] = acc


def arguments():
    random = np.random.default_rng(0)
    a = random.integers(-3, 4, (72, 208)).astype(np.float16)
    b = random.integers(-3, 4, (208, 48)).astype(np.float16)
    return a, b, np.zeros((72, 48), np.float32)


SCHEDULE = "tile-annotate-instructions,tile-plan-pipeline,tile-multi-version"


@pytest.mark.parametrize(
    ("stages", "stage", "order", "versions"),
    [
        (3, (0, 0, 2), (0, 1, 2), {3}),
        (2, (0, 0, 2), (1, 2, 0), {2}),
        (3, (0, 1, 2), (1, 2, 0), {2}),
        (4, (1, 0, 3), (0, 1, 2), {4}),
        (1, (0, 0, 0), (0, 1, 2), set()),
    ],
)
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_plans_by_hand(stages, stage, order, versions, target):
    module = gemm.build(target, STAGES=stages, STAGE=stage, ORDER=order)
    a, b, c = arguments()
    passes.run(module, SCHEDULE)
    text = str(module)
    for depth in range(1, 5):
        assert (f"!tile.channel<{depth}>" in text) == (depth in versions)
    for step in ("tile-specialize-warps", "tile-expand-pipeline"):
        passes.run(module, step)
        c[:] = 0
        sim.run(module, None, [a, b, c])
        np.testing.assert_array_equal(c, a.astype("f4") @ b.astype("f4"))


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "gfx942"])
def test_plans_that_are_not_carried_out(target):
    """Plans that start no copy early, plans for targets without pipelines, and plans of
    loops that are simplified to one iteration."""

    @tilews.kernel(threads=128)
    def sums(
        A: tl.Tensor["64, K:8", tl.f16],
        C: tl.Tensor["64, 64", tl.f32],
        STAGE: tl.constexpr,
        KB: tl.constexpr = None,
    ):
        tl.grid(1)
        As = tl.alloc_shared((64, 64), tl.f16)
        acc = tl.zeros((64, 64), tl.f32)
        count = tl.cdiv(A.shape[1], 64) if KB is None else KB
        for k in tl.pipelined(count, num_stages=3, stage=STAGE, order=(0, 1)):
            tl.copy(A[0, k * 64], As)
            acc = acc + tl.load(As).to(tl.f32)
        C[0, 0] = acc

    for constants, remark in (
        ({"STAGE": (0, 0)}, "tile-pipe-0016"),
        ({"STAGE": (1, 1)}, "tile-pipe-0016"),
        ({"STAGE": (0, 2), "KB": 1}, "tile-pipe-0017"),
    ):
        compiled = sums.compile(target, **constants)
        assert compiled.mlir("target")
        found = [m for m in compiled.messages if "tile-pipe" in m]
        assert len(found) == 1
        assert remark in found[0]


def test_attributes_follow_the_statements():
    text = gemm.mlir("sm_80", STAGE=(0, 1, 2), ORDER=(1, 2, 0))
    assert "tile.order = 1 : i32, tile.stage = 0 : i32" in text
    assert "tile.order = 2 : i32, tile.stage = 1 : i32" in text
    assert "tile.order = 0 : i32, tile.stage = 2 : i32" in text
    assert "tile.statement" not in text
    assert "tile.schedule" not in text


def test_guards():
    random = np.random.default_rng(0)
    a = random.integers(-3, 4, (32, 144)).astype(np.float16)
    mask = random.integers(0, 2, 9).astype(bool)
    expected = np.zeros((32, 16), np.float32)
    guarded(a, mask, expected, 9)
    blocks = a.astype("f4").reshape(32, 9, 16)[:, mask].sum(1)
    np.testing.assert_array_equal(expected, blocks + 6)
    for target in ("sm_80", "sm_90a"):
        module = guarded.build(target)
        passes.run(
            module,
            f"tile-lower-persistent,{SCHEDULE},tile-specialize-warps,"
            "tile-expand-pipeline",
        )
        assert "tile.channel" in str(module)
        c = np.zeros_like(expected)
        sim.run(module, None, [a, mask, c, 9])
        np.testing.assert_array_equal(c, expected)


def line_of(text: str) -> int:
    lines, first = inspect.getsourcelines(gemm.python)
    return first + next(i for i, line in enumerate(lines) if text in line)


@pytest.mark.parametrize(
    ("constants", "line", "message"),
    [
        (
            {"STAGE": (0, 2)},
            "tl.pipelined",
            "stage has 2 entries, but the body has 3 statements to schedule, in lines",
        ),
        (
            {"ORDER": (0, 1, 2, 3)},
            "tl.pipelined",
            "order has 4 entries, but the body has 3 statements",
        ),
        (
            {"ORDER": (0, 1, 1)},
            "tl.pipelined",
            "order holds each of 0 to 2 once, found [0, 1, 1]",
        ),
        (
            {"STAGE": (2, 2, 0)},
            "tl.gemm",
            "stage 0 and order 2 are too early: 'tile.copy' (stage",
        ),
        (
            {"ORDER": (1, 2, 0), "STAGE": (0, 0, 0)},
            "tl.gemm",
            "are too early: 'tile.copy' (stage 0, order 1), which accesses the same",
        ),
        (
            {"STAGES": 2},
            "tl.copy(A",
            "the stages and orders keep 3 versions of the buffer, but the loop has 2",
        ),
        (
            {"STAGE": (0, 0, 4)},
            "tl.pipelined",
            "a stage is at most num_stages = 3, found [0, 0, 4]",
        ),
        ({"STAGE": None}, "tl.pipelined", "stage and order go together"),
        (
            {"STAGE": (0, 0, "x")},
            "tl.pipelined",
            "stage is a list of integers from 0 on, found (0, 0, 'x')",
        ),
        ({"STAGES": None}, "tl.pipelined", "num_stages is missing"),
        ({"STAGES": 0}, "tl.pipelined", "num_stages is an integer from 1 to"),
    ],
)
def test_errors_name_the_line(constants, line, message):
    with pytest.raises(KernelError) as caught:
        gemm.build("sm_80", **constants)
    assert message in str(caught.value)
    assert caught.value.line == line_of(line)


def test_errors_name_the_orders_that_were_given():
    """Errors count statements per loop, and a statement of several operations once."""

    @tilews.kernel(threads=128)
    def sums(
        A: tl.Tensor["64, K:8", tl.f16],
        C: tl.Tensor["64, 64", tl.f32],
        STAGE: tl.constexpr,
        ORDER: tl.constexpr,
    ):
        tl.grid(1)
        As = tl.alloc_shared((64, 64), tl.f16)
        Bs = tl.alloc_shared((64, 64), tl.f16)
        acc = tl.zeros((64, 64), tl.f32)
        for k in tl.pipelined(9, num_stages=3, stage=[0, 2], order=[1, 0]):
            tl.copy(A[0, k * 64], Bs)
            acc = acc * 3.0 + tl.load(Bs).to(tl.f32)
        for k in tl.pipelined(9, num_stages=3, stage=STAGE, order=ORDER):
            tl.copy(A[0, k * 64], As)
            acc = acc * 2.0 - tl.load(As).to(tl.f32) + 1.0
            acc = acc + tl.load(As).to(tl.f32)
        C[0, 0] = acc

    assert sums.build("sm_80", STAGE=(0, 2, 2), ORDER=(2, 0, 1))
    early = "are too early: 'arith.addf'"
    for stage, order, message in (
        # The first names the previous iteration, the second the same one.
        ((0, 1, 2), (0, 1, 2), f"1 and order 1 {early} of the previous iteration "),
        ((0, 2, 2), (0, 2, 1), f"2 and order 1 {early} "),
    ):
        message += r"\(stage 2, order 2\)"
        with pytest.raises(KernelError) as caught:
            sums.build("sm_80", STAGE=stage, ORDER=order)
        assert re.search(message, caught.value.message)


def test_use_swizzle():
    @tilews.kernel
    def swizzled(C: tl.Tensor["M, N", tl.f32], PANEL: tl.constexpr, ON: tl.constexpr):
        bx, by = tl.grid(tl.cdiv(C.shape[1], 32), tl.cdiv(C.shape[0], 32))
        tl.use_swizzle(PANEL, order="col", enable=ON)
        C[by * 32, bx * 32] = tl.zeros((32, 32), tl.f32)

    @tilews.kernel
    def twice(C: tl.Tensor["M, N", tl.f32], PANEL: tl.constexpr, ON: tl.constexpr):
        bx, by = tl.grid(2, 2)
        tl.rasterize("row", PANEL)
        tl.use_swizzle(PANEL, enable=ON)
        C[by * 32, bx * 32] = tl.zeros((32, 32), tl.f32)

    assert "#tile.rasterize<col, panel = 4>" in swizzled.mlir(PANEL=4, ON=True)
    assert "tile.rasterize" not in swizzled.mlir(PANEL=4, ON=False)
    with pytest.raises(
        KernelError, match="the panel is an integer from 1 to 65535, found"
    ):
        swizzled.build(PANEL=0, ON=True)
    assert "row, panel = 2" in twice.mlir(PANEL=2, ON=False)
    with pytest.raises(KernelError, match="the order of blocks is set twice"):
        twice.build(PANEL=2, ON=True)
    with pytest.raises(KernelError, match="enable is True or False, found"):
        swizzled.build(PANEL=4, ON=1)
