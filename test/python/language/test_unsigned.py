"""Integers without sign, and conditions: interpreter, AMD's chips, NVIDIA's LLVM IR."""

import re

import ml_dtypes
import numpy as np
import pytest

import tilews
import tilews.language as tl
from support.small_types import ELEMENTWISE, FORMS, run

TYPES = {
    tl.u8: np.uint8,
    tl.u16: np.uint16,
    tl.u32: np.uint32,
    tl.u64: np.uint64,
}
WIDER = {tl.u8: tl.i16, tl.u16: tl.i32, tl.u32: tl.i64, tl.u64: tl.u64}
ROWS = 12


def edges(dtype):
    """Pairs of numbers of a type around its limits."""
    top = (1 << dtype.bits) - 1
    half = 1 << dtype.bits - 1
    numbers = [0, 1, 2, 7, half - 1, half, half + 1, top - 1, top]
    pairs = [(a, b) for a in numbers for b in numbers]
    x, y = (np.array(column, TYPES[dtype]) for column in zip(*pairs, strict=True))
    return np.resize(x, 128), np.resize(y, 128)


@tilews.kernel(threads=128)
def operators(
    X: tl.Tensor["128", "T"],
    Y: tl.Tensor["128", "T"],
    R: tl.Tensor["12, 128", "T"],
    C: tl.Tensor["4, 128", tl.i1],
    W: tl.Tensor["128", "W"],
    F: tl.Tensor["2, 128", tl.f64],
):
    tl.grid(1)
    x, y = tl.load(X), tl.load(Y)
    R[0, :] = x // y
    R[1, :] = x % y
    R[2, :] = x >> (y & 3)
    R[3, :] = tl.maximum(x, y)
    R[4, :] = tl.minimum(x, y)
    R[5, :] = -x
    R[6, :] = ~x
    R[7, :] = tl.cdiv(x, y)
    R[8, :] = tl.abs(x)
    R[9, :] = tl.where(x > 2, x - y, x * y)
    R[10, :] = x.to(tl.f64).to(X.dtype)
    R[11, :] = (x.to(tl.f32) - 3.0).to(X.dtype)
    C[0, :] = x < y
    C[1, :] = x <= y
    C[2, :] = x > y
    C[3, :] = x >= y
    W[:] = x.to(W.dtype)
    F[0, :] = x.to(tl.f32).to(tl.f64)
    F[1, :] = x.to(tl.f64)


def expected_of_operators(x, y, wide):
    dtype = x.dtype
    a, b = x.astype(object), y.astype(object)
    top = (1 << 8 * dtype.itemsize) - 1
    nonzero = np.where(b == 0, 1, b)
    wrap = [
        np.where(b == 0, top, a // nonzero),
        np.where(b == 0, a, a % nonzero),
        a >> (b & 3),
        np.maximum(a, b),
        np.minimum(a, b),
        -a,
        top - a,
        np.where(b == 0, top, -(-a // nonzero)),
        a,
        np.where(a > 2, a - b, a * b),
        np.minimum(x.astype("f8").astype(object), top),
        np.clip((x.astype("f4") - np.float32(3)).astype(object), 0, top),
    ]
    results = np.array([[int(v) & top for v in row] for row in wrap], object)
    floats = np.stack([x.astype("f4").astype("f8"), x.astype("f8")])
    compared = np.stack([x < y, x <= y, x > y, x >= y])
    return results.astype(dtype), compared, x.astype(wide), floats


def arguments_of_operators(dtype):
    x, y = edges(dtype)
    wide = WIDER[dtype].numpy
    outputs = [
        np.full((ROWS, 128), 77, x.dtype),
        np.zeros((4, 128), bool),
        np.zeros(128, wide),
        np.zeros((2, 128)),
    ]
    return [x, y, *outputs], expected_of_operators(x, y, wide)


@pytest.mark.parametrize("form", ELEMENTWISE)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_operators(dtype, form, tmp_path):
    arguments, expected = arguments_of_operators(dtype)
    run(operators, arguments, form, tmp_path)
    for found, wanted in zip(arguments[2:], expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


@tilews.kernel(threads=128)
def collective(
    X: tl.Tensor["32, 64", "T"],
    M: tl.Tensor["2, 32", "T"],
    S: tl.Tensor["32, 64", "T"],
    P: tl.Tensor["64", tl.i32],
    A: tl.Tensor["2, 64", "T"],
    Q: tl.Tensor["2", "T"],
    ids: tl.Tensor["32", tl.u8],
    G: tl.Tensor["32, 64", "T"],
    n: tl.u32,
):
    tl.grid(1)
    x = tl.load(X)
    M[0, :] = tl.max(x, axis=1)
    M[1, :] = tl.min(x, axis=1)
    S[:, :] = tl.cumsum(tl.cummax(x, axis=1), axis=1)
    P[:] = tl.argmax(x, axis=0)
    first = x[0]
    tl.atomic_max(first, A[0, :])
    tl.atomic_min(first, A[1, :])
    total, largest = first[0], tl.zeros((64,), X.dtype)
    for i in tl.range(n):
        total += 1
        if i % 2 == 0:
            largest = tl.maximum(largest, first)
        else:
            largest = largest >> 1
    Q[0] = total // 2
    Q[1] = tl.max(largest)
    shared = tl.alloc_shared((32, 64), X.dtype)
    tl.copy(X, shared)
    G[:, :] = tl.load(shared[tl.load(ids), 0:64]) // 3


def collective_case(dtype):
    rng = np.random.default_rng(3)
    numpy = TYPES[dtype]
    top = (1 << dtype.bits) - 1
    x = rng.integers(0, top, (32, 64), np.uint64, endpoint=True).astype(numpy)
    middle = np.full((2, 64), 1 << dtype.bits - 1, numpy)
    ids = rng.permutation(32).astype(np.uint8)
    outputs = [
        np.zeros((2, 32), numpy),
        np.zeros((32, 64), numpy),
        np.zeros(64, np.int32),
        middle.copy(),
        np.zeros(2, numpy),
    ]
    arguments = [x, *outputs, ids, np.zeros((32, 64), numpy), 5]
    largest = x[0]
    for i in range(1, 5):
        largest = np.maximum(largest, x[0]) if i % 2 == 0 else largest >> numpy(1)
    total = (int(x[0, 0]) + 5 & top) // 2
    expected = [
        np.stack([x.max(1), x.min(1)]),
        np.cumsum(np.maximum.accumulate(x, 1), 1, numpy),
        x.argmax(0),
        np.stack([np.maximum(middle[0], x[0]), np.minimum(middle[1], x[0])]),
        np.array([total, largest.max()], numpy),
    ]
    return arguments, [*expected, ids, x[ids] // numpy(3)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_reductions_atomics_and_loops(dtype, form):
    arguments, expected = collective_case(dtype)
    run(collective, arguments, form)
    for found, wanted in zip(arguments[1:-1], expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
def test_instructions_without_sign(chip):
    arguments, _ = collective_case(tl.u32)
    ptx = collective.compile_for(*arguments, target=chip).ptx
    assert "max.u32" in ptx and "min.u32" in ptx
    assert "atom.global.max.u32" in ptx or "red.relaxed.gpu.global.max.u32" in ptx
    # Bounds of loops have a sign: one below zero is no iteration.
    assert all(line.endswith(", 0;") for line in re.findall(r"max\.s32.*", ptx))


@tilews.kernel
def shown(X: tl.Tensor["4", "T"]):
    tl.grid(1)
    x = tl.load(X)
    tl.print("signed", x.bitcast(X.dtype.signed), "unsigned", x, tl.max(x))


def test_prints(capfd):
    shown(np.array([1, 2**64 - 1, 2**63, 0], np.uint64))
    text = capfd.readouterr().out
    signed, unsigned = text[: text.index("unsigned")], text[text.index("unsigned") :]
    assert "-9223372036854775808" in signed and "18446744073709551615" not in signed
    assert "18446744073709551615" in unsigned and "-" not in unsigned


def test_prints_on_nvidia():
    text = shown.compile_for(np.zeros(4, np.uint64), target="sm_90a").llvm
    assert "%11llu" in text and "%11lld" in text and "%llu" in text


@tilews.kernel
def added(X: tl.Tensor["64", "T"], Y: tl.Tensor["64", "T"], n: tl.u8):
    tl.grid(1)
    Y[:] = tl.load(X) // 2 + n.to(X.dtype)


def test_arrays_give_the_type():
    x, y = np.full(64, 254, np.uint8), np.zeros(64, np.uint8)
    added(x, y, 3)
    assert (y == 130).all()


def test_types_do_not_mix():
    with pytest.raises(tilews.KernelError, match="element type i8, but T is u8"):
        added(np.zeros(64, np.uint8), np.zeros(64, np.int8), 3)


@tilews.kernel
def mixed(X: tl.Tensor["64", tl.u32], Y: tl.Tensor["64", tl.i32]):
    tl.grid(1)
    Y[:] = tl.load(X) + tl.load(Y)


@tilews.kernel
def negative(X: tl.Tensor["64", tl.u32]):
    tl.grid(1)
    X[:] = tl.load(X) + (-1)


@tilews.kernel
def changed(X: tl.Tensor["64", tl.u32], n: tl.i32):
    tl.grid(1)
    x = tl.load(X)
    for _ in tl.range(n):
        x = x.to(tl.i32)
    X[:] = x.to(tl.u32)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (mixed, "operands have types u32 and i32"),
        (negative, "-1 does not fit u32"),
        (changed, "changes its type .*u32 fragment.*before, i32 fragment"),
    ],
)
def test_errors(kernel, message):
    with pytest.raises(tilews.KernelError, match=message):
        kernel.compile("sm_80")


@tilews.kernel(threads=128)
def multiplied(A: tl.Tensor["64, 64", tl.u8], C: tl.Tensor["64, 64", tl.i32]):
    tl.grid(1)
    a = tl.alloc_shared((64, 64), tl.u8)
    tl.copy(A, a)
    C[:, :] = tl.gemm(a, a)


def test_products_have_a_sign():
    with pytest.raises(tilews.KernelError, match="lhs has elements of u8"):
        multiplied.compile("sm_80")


def test_arrays_of_ml_dtypes():
    assert tl.u4.numpy == ml_dtypes.uint4 and tl.e2m1.numpy == ml_dtypes.float4_e2m1fn


# --- Conditions: False is below True, as in numpy ---------------------------------


@tilews.kernel(threads=64)
def conditions(
    X: tl.Tensor["32", tl.i1],
    Y: tl.Tensor["32", tl.i1],
    R: tl.Tensor["14, 32", tl.i1],
    I: tl.Tensor["4, 32", tl.i32],  # noqa: E741
):
    tl.grid(1)
    x, y = tl.load(X), tl.load(Y)
    R[0, :] = x < y
    R[1, :] = x <= y
    R[2, :] = x > y
    R[3, :] = x >= y
    R[4, :] = tl.maximum(x, y)
    R[5, :] = tl.minimum(x, y)
    R[6, :] = tl.fmax(x, y)
    R[7, :] = tl.clamp(x, y, True)
    R[8, :] = tl.abs(x)
    R[9, :] = tl.sort(x)
    R[10, :] = tl.sort(x, descending=True)
    R[11, :] = tl.where(y, x // y, x)
    R[12, :] = tl.where(y, x % y, x)
    R[13, :] = tl.full((32,), 1, tl.i1) * tl.topk(x, 1).values
    I[0, :] = tl.argsort(x).indices
    I[1, :] = tl.argsort(x, descending=True).indices
    I[2, :] = tl.full((32,), 1, tl.i32) * tl.argmax(x)
    I[3, :] = tl.full((32,), 1, tl.i32) * tl.argmin(x)


@pytest.mark.parametrize("form", FORMS)
def test_false_is_below_true(form):
    rng = np.random.default_rng(5)
    x, y = (rng.random(32) < 0.5 for _ in range(2))
    found, places = np.zeros((14, 32), bool), np.zeros((4, 32), np.int32)
    run(conditions, [x, y, found, places], form)
    down = np.argsort(~x, kind="stable")
    expected = [
        *(x < y, x <= y, x > y, x >= y, x | y, x & y, x | y, x | y, x),
        *(np.sort(x), np.sort(x)[::-1]),
        *(x, np.where(y, False, x), np.full(32, x.any())),
    ]
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(places[0], np.argsort(x, kind="stable"))
    np.testing.assert_array_equal(places[1], down)
    np.testing.assert_array_equal(places[2], x.argmax())
    np.testing.assert_array_equal(places[3], x.argmin())


@pytest.mark.parametrize(
    ("function", "what", "hint"),
    [
        (tl.max, "tl.max: 'max'", r"write tl.any\(x\), or convert the conditions"),
        (tl.min, "tl.min: 'min'", r"write tl.all\(x\), or convert the conditions"),
        (tl.sum, "tl.sum: 'sum'", r"convert the conditions: x.to\(tl.i32\)"),
        (tl.cumsum, "tl.cumsum: 'sum'", r"convert the conditions: x.to\(tl.i32\)"),
        (tl.cummax, "tl.cummax: 'max'", r"convert the conditions: x.to\(tl.i32\)"),
    ],
)
def test_reductions_of_conditions_are_refused(function, what, hint):
    @tilews.kernel
    def kernel(X: tl.Tensor["32", tl.i1]):
        tl.grid(1)
        function(tl.load(X))

    message = f"{what} takes numbers, found i1(.|\n)*{hint}"
    with pytest.raises(tilews.KernelError, match=message):
        kernel.compile("sm_80")
