"""Regions that reach past their arrays, by AMD's buffer instructions.

The simulator executes the machine code; the interpreter says what is right. An access
outside of the arrays that the hardware does not drop is an error of the simulator.
"""

import re

import ml_dtypes
import numpy as np
import pytest

import tilews
import tilews.language as tl
from tilews.sim.amdgcn import launch

CHIPS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
TYPES = ("i8", "i16", "f16", "bf16", "i32", "f32", "i64", "f64")
DTYPES = {"bf16": ml_dtypes.bfloat16, "i8": np.int8, "f16": np.float16}


def random(shape, dtype="f32", seed=0):
    numbers = np.random.default_rng(seed).integers(-100, 100, shape)
    kind = DTYPES.get(dtype) or np.dtype(dtype[0] + str(int(dtype[1:]) // 8))
    return numbers.astype(kind)


def check(kernel, arguments, chip, **constants):
    """Compares a kernel's machine code with the interpreter; returns the code."""
    expected = [np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments]
    kernel(*expected, **constants)
    compiled = kernel.compile_for(*arguments, target=chip, **constants)
    launch(compiled, arguments)
    for found, wanted in zip(arguments, expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
    return compiled.asm


def branches(asm):
    return re.findall(r"\n\s*(s_cbranch_\w+)", asm)


@tilews.kernel(threads=64)
def shift(
    X: tl.Tensor["m, n", "T"],
    Y: tl.Tensor["k, l", "T"],
    row: tl.i32,
    col: tl.i32,
    ROWS: tl.constexpr = 16,
    COLS: tl.constexpr = 32,
):
    tl.grid(1)
    x = tl.load(X[row, col], (ROWS, COLS))
    tl.store(x, Y[row + 1, col - 2])


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("dtype", TYPES)
def test_types(dtype, chip):
    x, y = random((13, 31), dtype), random((11, 30), dtype, seed=1)
    asm = check(shift, [x, y, 2, 3], chip)
    assert not branches(asm)
    assert "global_load" not in asm and "global_store" not in asm


STARTS = (-(2**31), -17, -16, -5, 0, 7, 12, 13, 2**31 - 40, 2**31 - 34)


@pytest.mark.parametrize("chip", ["gfx942", "gfx1100", "gfx1201"])
@pytest.mark.parametrize("start", STARTS)
def test_starts(start, chip):
    x, y = random((13, 33), "f16"), random((12, 40), "f16", seed=1)
    check(shift, [x, y, min(start, 2**31 - 2), 3], chip)
    check(shift, [x, y, 3, max(start, 2 - 2**31)], chip)


@tilews.kernel(threads=128)
def tiles(
    X: tl.Tensor["m, n:8", "T"],
    Y: tl.Tensor["m, n", "T"],
    Z: tl.Tensor["n, m", "T"],
):
    bx, by = tl.grid(tl.cdiv(X.shape[1], 32), tl.cdiv(X.shape[0], 64))
    Xs = tl.alloc_shared((64, 32), X.dtype)
    tl.copy(X[by * 64, bx * 32], Xs)
    x = tl.load(Xs)
    tl.store(x, Y[by * 64, bx * 32])
    tl.store(tl.transpose(x), Z[bx * 32, by * 64])


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("shape", [(1, 8), (64, 32), (65, 40), (127, 72), (0, 8)])
@pytest.mark.parametrize("dtype", ["i8", "f16", "f32"])
def test_tiles(dtype, shape, chip):
    x = random(shape, dtype)
    asm = check(tiles, [x, np.zeros_like(x), np.zeros(shape[::-1], x.dtype)], chip)
    assert not branches(asm)


@tilews.kernel(threads=64)
def padded(X: tl.Tensor["m, n", "T"], Y: tl.Tensor["16, 32", "T"], row: tl.i32):
    tl.grid(1)
    tl.store(tl.load(X[row, 0], (16, 32), pad=-7), Y)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("dtype", ["i8", "f16", "i32", "f64"])
@pytest.mark.parametrize("shape", [(5, 31), (16, 32), (20, 0), (0, 5)])
def test_padding(shape, dtype, chip):
    y = np.zeros((16, 32), random(1, dtype).dtype)
    asm = check(padded, [random(shape, dtype), y, 0], chip)
    assert not branches(asm)


@tilews.kernel(threads=64)
def strided(
    X: tl.Tensor("m, n", tl.f32, "s, t", alignment=4),
    Y: tl.Tensor("m, n", tl.f32, "u, v", alignment=4),
):
    bx, by = tl.grid(tl.cdiv(X.shape[1], 16), tl.cdiv(X.shape[0], 16))
    x = tl.load(X[by * 16 - 1, bx * 16], (16, 16))
    tl.store(x, Y[by * 16 - 1, bx * 16])


@pytest.mark.parametrize("chip", CHIPS)
def test_strides(chip):
    x, y = random((20, 40)), np.zeros((60, 50), np.float32)
    views = [x[1:18, 3:36:2], y[58:7:-3, ::2][:, :17]]
    compiled = strided.compile_for(*views, target=chip)
    launch(compiled, views)
    wanted = np.zeros_like(y)
    wanted[58:7:-3, ::2][:, :17] = views[0]
    np.testing.assert_array_equal(y, wanted)
    assert not branches(compiled.asm)


@tilews.kernel(threads=64)
def limited(X: tl.Tensor["m, 32", tl.f16], Y: tl.Tensor["m, 32", tl.f16], n: tl.i32):
    b = tl.grid(tl.cdiv(X.shape[0], 16))
    Xs = tl.alloc_shared((16, 32), tl.f16)
    tl.copy(X[b * 16 : b * 16 + n, 0:32], Xs)
    tl.store(tl.load(Xs), Y[b * 16 : b * 16 + n + 2, 0:32])


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("n", [0, 5, 16, 100, -3])
def test_run_time_sizes(n, chip):
    x, y = random((40, 32), "f16"), np.ones((40, 32), np.float16)
    asm = check(limited, [x, y, n], chip)
    assert not branches(asm)


@tilews.kernel(threads=64)
def masked(
    X: tl.Tensor["m, n:16", tl.f16],
    M: tl.Tensor["16, 32", tl.i8],
    Y: tl.Tensor["k, l:16", tl.f16],
):
    tl.grid(1)
    keep = tl.load(M) > 0
    x = tl.load(X[0, 0], (16, 32), mask=keep, pad=-3.0)
    tl.store(x, Y[2, 16], mask=keep)


@pytest.mark.parametrize("chip", CHIPS)
def test_masks_of_elements(chip):
    x, y = random((11, 16), "f16"), np.zeros((12, 32), np.float16)
    check(masked, [x, random((16, 32), "i8"), y], chip)


@tilews.kernel(threads=64)
def lookup(
    X: tl.Tensor["m, n:4", tl.f32],
    Rows: tl.Tensor["k", tl.i32],
    Y: tl.Tensor["k, l:4", tl.f32],
):
    b = tl.grid(tl.cdiv(Rows.shape[0], 32))
    rows = tl.load(Rows[b * 32], 32, pad=-1)
    x = tl.load(X[rows, 0:16], pad=5.0)
    tl.store(x, Y[rows - 1, 4:20])


@pytest.mark.parametrize("chip", CHIPS)
def test_gathers_and_scatters(chip):
    rows = np.random.default_rng(3).permutation(50).astype(np.int32)
    rows[:4] = -1, 2**31 - 1, -(2**31), 40
    arguments = [random((40, 12)), rows, np.zeros((50, 16), np.float32)]
    asm = check(lookup, arguments, chip)
    assert not branches(asm)


@tilews.kernel(threads=64)
def count(X: tl.Tensor["n", tl.i32], F: tl.Tensor["m", tl.f32], start: tl.i32):
    tl.grid(3)
    tl.atomic_add(tl.full((128,), 1, tl.i32), X[start])
    old = tl.atomic_add(tl.full((128,), 2.0, tl.f32), F[start + 1])
    tl.atomic_max((old * 0.0 - 5.0).to(tl.i32), X[start - 2])


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("start", [-5, 0, 60, 2**31 - 100])
def test_atomics(start, chip):
    check(count, [random(100, "i32"), random(70), start], chip)


@tilews.kernel(threads=128)
def matmul(
    A: tl.Tensor["M, K:8", tl.f16],
    B: tl.Tensor["K, N:8", tl.f16],
    C: tl.Tensor["M, N", tl.f16],
):
    M, K = A.shape
    N = B.shape[1]
    bx, by = tl.grid(tl.cdiv(N, 128), tl.cdiv(M, 128))
    As = tl.alloc_shared((128, 64), A.dtype)
    Bs = tl.alloc_shared((64, 128), B.dtype)
    acc = tl.zeros((128, 128), tl.f32)
    for k in tl.range(tl.cdiv(K, 64)):
        tl.copy(A[by * 128, k * 64], As)
        tl.copy(B[k * 64, bx * 128], Bs)
        acc = tl.gemm(As, Bs, acc)
    C[by * 128, bx * 128] = acc.to(C.dtype)


@pytest.mark.parametrize("chip", ["gfx942", "gfx950"])
def test_the_loop_of_a_matmul_has_one_path(chip):
    asm = matmul.compile(chip).asm
    loop = next(
        match[0]
        for match in re.finditer(r"\n(\.LBB\w+):.*?s_cbranch_\w+ \1\n", asm, re.S)
        if "v_mfma" in match[0]
    )
    assert len(branches(loop)) == 1
    assert "global_load" not in asm and "global_store" not in asm
    loads = re.findall(r"buffer_load_\w+|s_waitcnt vmcnt\(\d+\)", loop)
    # All loads start before the first is waited for, and each is waited for by itself,
    # unless they write shared memory.
    assert loads[:16] == ["buffer_load_dwordx4"] * 16
    waits = range(15, -1, -1) if chip == "gfx942" else [0]
    assert loads[16:] == [f"s_waitcnt vmcnt({n})" for n in waits]


@tilews.kernel(threads=64)
def line(X: tl.Tensor["n", "T"], Y: tl.Tensor["n", "T"]):
    b = tl.grid(tl.cdiv(X.shape[0], 256))
    tl.store(tl.load(X[b * 256], 256), Y[b * 256])


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("dtype", ["i8", "f16", "f32"])
@pytest.mark.parametrize("n", [1, 255, 257, 509])
def test_the_last_word_of_an_array(n, dtype, chip):
    """LLVM may merge neighbors that are narrower than a word."""
    asm = check(line, [random(n, dtype), np.zeros_like(random(n, dtype))], chip)
    assert not branches(asm)
