"""The check for undefined values in LLVM IR, and kernels that had some."""

import numpy as np
import pytest

import tilews
import tilews.language as tl
from support import undefined_values


@pytest.mark.parametrize(
    "line",
    [
        "%2 = insertelement <2 x half> poison, half %1, i64 0",
        "%2 = shufflevector <8 x half> %1, <8 x half> poison, <2 x i32> <i32 0, i32 1>",
        "%2 = shufflevector <2 x half> %0, <2 x half> %1, "
        "<4 x i32> <i32 0, i32 1, i32 poison, i32 poison>",
        "%2 = phi <2 x half> [ %0, %a ], [ <half 0xH0000, half undef>, %b ]",
        "%2 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %1, i32 177, "
        "i32 15, i32 15, i1 true)",
        "%poisonous = add i32 %0, 1",
    ],
)
def test_elements_that_nothing_reads_are_allowed(line):
    assert undefined_values.find(line) == []


@pytest.mark.parametrize(
    "line",
    [
        "store i32 poison, ptr %0, align 4",
        "store <2 x half> <half 0xH0000, half undef>, ptr %0, align 4",
        "%1 = add i32 %0, poison",
        "%1 = select i1 %0, i32 undef, i32 1",
        "%1 = insertelement <2 x half> %0, half poison, i64 0",
        "%1 = shufflevector <2 x half> poison, <2 x half> poison, <2 x i32> zeroinit",
        "%1 = phi <2 x half> [ %0, %a ], [ <half poison, half undef>, %b ]",
        "%1 = phi <2 x half> [ %0, %a ], [ poison, %b ]",
        "call void @f(i32 undef)",
    ],
)
def test_undefined_values_are_found(line):
    assert undefined_values.find(f"  {line}\n  ret void") == [line]


@tilews.kernel(threads=128)
def constants(Y: tl.Tensor["11, 128", tl.i32]):
    """Each result was undefined, and its store deleted."""
    tl.grid(1)
    x = tl.full((1, 128), 5, tl.i32)
    Y[0, 0] = x << 32
    Y[1, 0] = x << -1
    Y[2, 0] = x >> 33
    Y[3, 0] = -x >> 33
    Y[4, 0] = tl.ushr(-x, 32)
    Y[5, 0] = tl.full((1, 128), 300.0, tl.f32).to(tl.i8).to(tl.i32)
    Y[6, 0] = tl.full((1, 128), float("nan"), tl.f32).to(tl.i32)
    Y[7, 0] = x // 0
    Y[8, 0] = x % 0
    Y[9, 0] = tl.full((1, 128), -(2**31), tl.i32) // -1
    Y[10, 0] = tl.full((1, 128), -1e30, tl.f32).to(tl.i32)


VALUES = [0, 0, 0, -1, 0, 127, 0, -1, 5, -(2**31), -(2**31)]


def test_constants_in_the_interpreter():
    y = np.full((11, 128), 77, np.int32)
    constants(y, target="cpu")
    assert y[:, 0].tolist() == VALUES
    assert (y == y[:, :1]).all()


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "gfx942", "gfx1100", "gfx1201"])
def test_constants_are_stored(target):
    compiled = constants.compile(target)
    assert compiled.asm
    stores = [line for line in compiled.llvm.splitlines() if " store " in line]
    stored = "\n".join(stores)
    for value in {*VALUES}:
        assert f"i32 {value}" in stored
