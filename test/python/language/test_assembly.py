"""Inline assembly: what the interpreter computes, and wrong templates."""

import numpy as np
import pytest

import tilews
import tilews.language as tl
from support.kernel_errors import check
from tilews import sim

POWER = {"nvidia": ("ex2.approx.ftz.f32 $0, $1;", "=f,f")}


def test_the_interpreter_calls_the_function():
    @tilews.kernel
    def kernel(
        X: tl.Tensor["M, 64", tl.f32],
        Y: tl.Tensor["M, 64", tl.f32],
        Z: tl.Tensor["M", tl.i32],
        n: tl.i32,
    ):
        i = tl.grid(tl.cdiv(X.shape[0], 16))
        x = tl.load(X[i * 16, 0], (16, 64))

        def shrink(value, low, scale):
            return tl.where(value < low, 0.0, value / scale)

        templates = {"gfx942": ("v_mov_b32 $0, $1", "=v,v,v,v")}
        low = tl.load(X[i * 16, 5], (16, 1))
        Y[i * 16, 0] = tl.asm(templates, (x, low, 4.0), tl.f32, python=shrink)
        # A scalar, at run time and as a number.
        total = {"nvidia": ("add.s32 $0, $1, $2;", "=r,r,r")}
        sums = tl.asm(total, (n, i.to(tl.i32)), tl.i32, python=lambda a, b: a + b)
        Z[i * 16] = tl.full((16,), 0, tl.i32) + sums

    x = np.random.default_rng(0).standard_normal((40, 64)).astype(np.float32)
    y, z = np.zeros_like(x), np.zeros(40, np.int32)
    kernel(x, y, z, 30)
    wanted = np.where(x < x[:, 5:6], np.float32(0), x / np.float32(4))
    np.testing.assert_array_equal(y, wanted)
    np.testing.assert_array_equal(z, 30 + np.arange(40) // 16)


@pytest.mark.parametrize(
    "values",
    [
        np.array([np.nan, np.inf, -np.inf, -0.0, 1e-45, 3.4e38], np.float32),
        np.array([1], np.float32),
    ],
)
def test_edge_values_pass_through(values):
    @tilews.kernel
    def kernel(X: tl.Tensor["N", tl.f32], Y: tl.Tensor["N", tl.i32], N: tl.constexpr):
        moved = {"nvidia": ("mov.b32 $0, $1;", "=r,f")}
        x = tl.load(X[0], (N,))
        Y[0] = tl.asm(moved, x, tl.i32, python=lambda v: v.bitcast(tl.i32))

    found = np.zeros(len(values), np.int32)
    kernel(values, found, N=len(values))
    np.testing.assert_array_equal(found, values.view(np.int32))


def test_assembly_without_a_function_is_refused():
    @tilews.kernel
    def kernel(X: tl.Tensor["64", tl.f32]):
        X[0] = tl.asm(POWER, tl.load(X), tl.f32)

    with pytest.raises(sim.SimulationError) as caught:
        kernel(np.zeros(64, np.float32))
    text = str(caught.value)
    assert "assembly without a definition, which the interpreter cannot execute" in text
    assert f"{__file__}:" in text
    assert kernel.compile("sm_90a").ptx
    with pytest.raises(tilews.KernelError) as other:
        kernel.compile("gfx942")
    assert "tl.asm: no template for gfx942, found 'nvidia'" in other.value.message
    assert 'add one for "amd"' in other.value.hint


def test_a_chip_precedes_its_vendor():
    @tilews.kernel
    def kernel(X: tl.Tensor["128", tl.f32]):
        templates = {
            "nvidia": ("ex2.approx.f32 $0, $1;", "=f,f"),
            "H100": ("ex2.approx.ftz.f32 $0, $1;", "=f,f"),
        }
        X[0] = tl.asm(templates, tl.load(X), tl.f32)

    assert "ex2.approx.ftz.f32" in kernel.compile("sm_90a").ptx
    assert "ex2.approx.f32" in kernel.compile("sm_80").ptx


def test_impure_assembly_stays():
    @tilews.kernel
    def kernel(X: tl.Tensor["128", tl.f32], n: tl.i32):
        for _ in tl.range(n):
            tl.asm({"nvidia": ("nanosleep.u32 $0;", "r")}, 100, (), pure=False)
        clock = {"nvidia": ("mov.u32 $0, %clock;", "=r")}
        first = tl.asm(clock, (), tl.i32, pure=False)
        second = tl.asm(clock, (), tl.i32, pure=False)
        X[0] = tl.full((128,), 0.0, tl.f32) + (second - first).to(tl.f32)

    ptx = kernel.compile("sm_90a").ptx
    assert "nanosleep" in ptx
    assert ptx.count("%clock") == 2


def test_pipelines_have_assembly():
    @tilews.kernel(threads=128)
    def kernel(
        A: tl.Tensor["M, K:8", tl.f16],
        B: tl.Tensor["K, N:8", tl.f16],
        C: tl.Tensor["M, N", tl.f32],
    ):
        M, N = C.shape
        x, y = tl.grid(tl.cdiv(N, 64), tl.cdiv(M, 64))
        As, Bs = tl.alloc_shared((64, 64), tl.f16), tl.alloc_shared((64, 64), tl.f16)
        acc = tl.zeros((64, 64), tl.f32)
        for k in tl.range(tl.cdiv(A.shape[1], 64), num_stages=3):
            tl.copy(A[y * 64, k * 64], As)
            tl.copy(B[k * 64, x * 64], Bs)
            acc = tl.gemm(As, Bs, acc)
            clamped = {"nvidia": ("min.f32 $0, $1, $2;", "=f,f,f")}
            acc = tl.asm(clamped, (acc, 100.0), tl.f32, pure=False, python=tl.minimum)
        C[y * 64, x * 64] = acc

    random = np.random.default_rng(0)
    a = random.integers(-3, 4, (128, 192)).astype(np.float16)
    b = random.integers(-3, 4, (192, 64)).astype(np.float16)
    expected = np.zeros((128, 64), np.float32)
    kernel(a, b, expected)
    for chip in ("sm_80", "sm_90a"):
        compiled = kernel.compile(chip)
        found = np.zeros_like(expected)
        with tilews.ir.Context():
            module = tilews.ir.Module.parse(compiled.mlir("barriers"))
            sim.run(module, "kernel", [a, b, found])
        np.testing.assert_array_equal(found, expected)
        assert "min.f32" in compiled.ptx


def test_wrong_arguments():
    def no_dictionary(A: tl.Tensor["M", tl.f16]):
        tl.asm("ex2 $0, $1;", tl.zeros((8,), tl.f32), tl.f32)  # HERE

    def no_pair(A: tl.Tensor["M", tl.f16]):
        tl.asm({"nvidia": "ex2"}, tl.zeros((8,), tl.f32), tl.f32)  # HERE

    def no_chip(A: tl.Tensor["M", tl.f16]):
        tl.asm({"cpu": ("", "")}, tl.zeros((8,), tl.f32), tl.f32)  # HERE

    def small(A: tl.Tensor["M", tl.f16]):
        tl.asm(POWER, tl.zeros((8,), tl.i8), tl.f32)  # HERE

    def count(A: tl.Tensor["M", tl.f16]):
        x = tl.zeros((8,), tl.f32)
        tl.asm(POWER, (x, x), tl.f32)  # HERE

    def shapes(A: tl.Tensor["M", tl.f16]):
        x = tl.zeros((8,), tl.f32), tl.zeros((4,), tl.f32)
        tl.asm(POWER, x, tl.f32)  # HERE

    def in_memory(A: tl.Tensor["M", tl.f32]):
        tl.asm(POWER, A, tl.f32)  # HERE

    check(no_dictionary, "tl.asm: expected a dictionary of templates")
    check(no_pair, "tl.asm: expected a template and its constraints for 'nvidia'")
    check(no_chip, "templates are for 'nvidia', 'amd' or a chip, found one for 'cpu'")
    check(
        small,
        "tl.asm: an input has the type i8, expected one of 16, 32 or 64 bits",
        "x.bitcast(tl.i32)",
    )
    check(count, "expected constraints of 1 results ('=...') and 2 inputs, found 1 and")
    check(shapes, "tl.asm: shapes (8,) and (4,) differ in dimension -1")
    check(in_memory, "tl.asm: expected a fragment, a scalar or a number, found")


def test_wrong_functions():
    def result(A: tl.Tensor["M", tl.f16]):
        x = tl.zeros((8,), tl.f32)
        tl.asm(POWER, x, tl.f32, python=lambda v: v.to(tl.f16))  # HERE

    def number_of_results(A: tl.Tensor["M", tl.f16]):
        x = tl.zeros((8,), tl.f32)
        tl.asm(POWER, x, tl.f32, python=lambda v: (v, v))  # HERE

    def captured(A: tl.Tensor["M", tl.f16], s: tl.f32):
        x = tl.zeros((8,), tl.f32)
        tl.asm(POWER, x, tl.f32, python=lambda v: v + s)  # HERE

    def memory(A: tl.Tensor["M", tl.f32]):
        x = tl.zeros((8,), tl.f32)
        tl.asm(POWER, x, tl.f32, python=lambda v: v + tl.load(A[0]))  # HERE

    def array(A: tl.Tensor["M", tl.f16]):
        x = tl.zeros((8,), tl.f32)
        tl.asm(POWER, x, tl.f32, python=lambda v: np.exp2(v))  # HERE

    check(result, "tl.asm: python= has to return f32, found a scalar of type f16")
    check(number_of_results, "tl.asm: python= has to return f32, found a scalar of")
    check(captured, "tl.asm: python= uses a value of the kernel", "make it an input")
    check(memory, "python= may only compute with the elements that it gets")
    check(array, "np.exp2 is a function of numpy", "tl.exp2")


def test_equal_functions_are_one_definition():
    @tilews.kernel
    def kernel(X: tl.Tensor["64", tl.f32]):
        x = tl.load(X)
        for _ in tl.static_range(3):
            x = tl.asm(POWER, x, tl.f32, python=lambda v: tl.exp2(v))
        X[0] = tl.asm(POWER, x, tl.f32, python=lambda v: tl.exp2(v) * 2.0)

    text = str(kernel.mlir())
    assert text.count("func.func private") == 2
    assert text.count("tile.asm") == 4
