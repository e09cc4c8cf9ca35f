"""Each function of the language, run by the interpreter against numpy."""

import math

import ml_dtypes
import numpy as np
import pytest

import tilews
import tilews.language as tl
from support import function_cases

RNG = np.random.default_rng(0)
X = RNG.uniform(0.1, 2, (8, 16)).astype(np.float32)
Y = RNG.uniform(-2, 2, (8, 16)).astype(np.float32)
I = RNG.integers(-50, 50, (8, 16)).astype(np.int32)  # noqa: E741
J = RNG.integers(1, 9, (8, 16)).astype(np.int32)


@tilews.kernel
def apply(
    x: tl.Tensor["M, N", "T"],
    y: tl.Tensor["M, N", "T"],
    out: tl.Tensor["P, Q", "R"],
    F: tl.constexpr,
):
    out[0, 0] = F(tl.load(x[0, 0], (8, 16)), tl.load(y[0, 0], (8, 16)))


def run(function, x, y, shape=(8, 16), dtype=None):
    out = np.zeros(shape, dtype or x.dtype)
    apply(x, y, out, F=function)
    return out


UNARY = {
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "tanh": np.tanh,
    "erf": np.vectorize(math.erf),
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.round,
    "abs": np.abs,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}


@pytest.mark.parametrize("name", UNARY)
def test_unary_functions(name):
    function = getattr(tl, name)
    expected = UNARY[name](X.astype(np.float64))
    np.testing.assert_allclose(run(lambda x, y: function(x), X, Y), expected, 1e-5)


def arithmetic(x, y):
    return (-x + 2 * y - 1) / (x * 0.5) + x**2 + y**3


def conditions(where):
    def function(x, y):
        return where((x > 1) & ~(y < 0), 1.0, where(y != x, x, 0.0))

    return function


BINARY = {
    "maximum": (tl.maximum, np.maximum),
    "minimum": (tl.minimum, np.minimum),
    "fmax": (tl.fmax, np.fmax),
    "fmin": (tl.fmin, np.fmin),
    "pow": (tl.pow, np.power),
    "operators": (arithmetic, arithmetic),
    "reflected": (lambda x, y: 1.0 - 2 / x, lambda x, y: 1 - 2 / x),
    "fma": (lambda x, y: tl.fma(x, y, 0.5), lambda x, y: x * y + 0.5),
    "where": (conditions(tl.where), conditions(np.where)),
    "infinity": (
        lambda x, y: tl.where(y < 0, -math.inf, x),
        lambda x, y: np.where(y < 0, -np.inf, x),
    ),
    "compare": (
        lambda x, y: ((x != y) & (x >= y)).to(tl.f32),
        lambda x, y: (x != y) & (x >= y),
    ),
}


@pytest.mark.parametrize("name", BINARY)
def test_binary_functions(name):
    ours, numpys = BINARY[name]
    expected = numpys(X.astype(np.float64), Y.astype(np.float64))
    np.testing.assert_allclose(run(ours, X, Y), expected, 1e-5, 1e-6)


INTEGER = {
    "add": lambda a, b: a + b * 3 - 7,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "bits": lambda a, b: (a & b) | (a ^ 12) | ~b,
    "shifts": lambda a, b: (a << 2) + (a >> b),
    "negate": lambda a, b: -a + abs(b),
}


@pytest.mark.parametrize("name", INTEGER)
def test_integer_operators(name):
    expected = INTEGER[name](I, J)
    np.testing.assert_array_equal(run(INTEGER[name], I, J), expected)


def test_unsigned_operators():
    u, v = I.astype(np.uint32), J.astype(np.uint32)
    for ours, expected in [
        (tl.udiv, u // v),
        (tl.umod, u % v),
        (tl.ushr, u >> v),
    ]:
        np.testing.assert_array_equal(run(ours, I, J).astype(np.uint32), expected)
    np.testing.assert_array_equal(run(tl.cdiv, I, J), -(-I // J))


REDUCTIONS = {
    "sum": np.sum,
    "max": np.max,
    "min": np.min,
    "absmax": lambda x, **k: np.max(np.abs(x), **k),
    "absmin": lambda x, **k: np.min(np.abs(x), **k),
}


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_reductions(name, axis):
    reduce = getattr(tl, name)
    expected = REDUCTIONS[name](Y.astype(np.float64), axis=axis, keepdims=True)
    got = run(lambda x, y: reduce(y, axis, keepdims=True), X, Y, expected.shape)
    np.testing.assert_allclose(got, expected, 1e-5)
    full = run(lambda x, y: tl.full((1, 1), reduce(y), tl.f32), X, Y, (1, 1))
    np.testing.assert_allclose(full, REDUCTIONS[name](Y.astype(np.float64)), 1e-5)


@pytest.mark.parametrize("name", ["and", "or", "xor"])
def test_bitwise_reductions(name):
    reduce = getattr(tl, f"reduce_{name}")
    expected = getattr(np, f"bitwise_{name}").reduce(I, axis=1, keepdims=True)
    got = run(lambda x, y: reduce(x, 1)[:, None], I, J, (8, 1))
    np.testing.assert_array_equal(got, expected)


def test_any_and_all():
    def count(x, y):
        return (tl.any(x > 45, 1).to(tl.i32) + tl.all(x > -40, 1).to(tl.i32))[:, None]

    expected = (I > 45).any(1).astype(int) + (I > -40).all(1)
    np.testing.assert_array_equal(run(count, I, J, (8, 1)), expected[:, None])


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint8, np.int8, np.float16])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("reverse", [False, True])
def test_exclusive_scans(dtype, axis, reverse):
    x = np.abs(I).astype(dtype) if dtype == np.uint8 else I.astype(dtype)
    limits = np.finfo if np.issubdtype(dtype, np.floating) else np.iinfo
    ends = {"max": limits(dtype).min, "min": limits(dtype).max, "sum": 0}
    if limits is np.finfo:
        ends = {"max": -np.inf, "min": np.inf, "sum": 0}
    functions = {"max": np.maximum, "min": np.minimum, "sum": np.add}
    for kind, function in functions.items():
        cumulate = getattr(tl, f"cum{kind}")
        got = run(lambda x, y, f=cumulate: f(x, axis, reverse, exclusive=True), x, x)
        turned = np.flip(x, axis) if reverse else x
        scanned = np.roll(function.accumulate(turned, axis, dtype=dtype), 1, axis)
        scanned[(0,) if axis == 0 else (slice(None), 0)] = ends[kind]
        wanted = np.flip(scanned, axis) if reverse else scanned
        np.testing.assert_allclose(got, wanted, rtol=1e-3)
    got = run(lambda x, y: tl.scan(x, "sum", axis, exclusive=True, initial=3), x, x)
    wanted = np.roll(np.cumsum(x, axis, dtype=dtype), 1, axis)
    wanted[(0,) if axis == 0 else (slice(None), 0)] = 0
    np.testing.assert_allclose(got, wanted + dtype(3), rtol=1e-3)


def test_places_of_truth():
    got = run(
        lambda x, y: (
            tl.argmax(x > 30, 1).to(tl.f32)[:, None]
            + 100.0 * tl.argmin(x > 30, 1).to(tl.f32)[:, None]
        ),
        I.astype(np.float32),
        Y,
        (8, 1),
    )
    found = np.argmax(I > 30, 1) + 100 * np.argmin(I > 30, 1)
    np.testing.assert_array_equal(got[:, 0], found)


def test_scans():
    got = run(lambda x, y: tl.cumsum(x, 1) + tl.cumsum(y, 0, reverse=True), I, J)
    expected = np.cumsum(I, 1) + np.cumsum(J[::-1], 0)[::-1]
    np.testing.assert_array_equal(got, expected)
    got = run(lambda x, y: tl.cummax(x, 1) - tl.cummin(x, 0), I, J)
    expected = np.maximum.accumulate(I, 1) - np.minimum.accumulate(I, 0)
    np.testing.assert_array_equal(got, expected)


SHAPES = {
    "transpose": (lambda x: x.T, lambda x: x.T),
    "axes": (lambda x: tl.transpose(x, (1, 0)), lambda x: x.T),
    "reshape": (lambda x: x.reshape(4, 32), lambda x: x.reshape(4, 32)),
    "expand": (lambda x: tl.sum(x, 0)[None, :] + x, lambda x: x.sum(0) + x),
    "rows": (lambda x: x.max(1)[:, None] - x, lambda x: x.max(1)[:, None] - x),
    "numpy rule": (lambda x: x.min(0) * x, lambda x: x.min(0) * x),
    "broadcast": (
        lambda x: tl.broadcast_to(x.sum(0), (3, 16)),
        lambda x: np.broadcast_to(x.sum(0), (3, 16)),
    ),
    "iota": (
        lambda x: tl.iota((4, 5), 1) * 10 + tl.arange(4)[:, None],
        lambda x: np.arange(5) * 10 + np.arange(4)[:, None],
    ),
    "column-part": (lambda x: x[:, 8:12], lambda x: x[:, 8:12]),
    "row-part": (lambda x: x[x.shape[0] // 2 :], lambda x: x[x.shape[0] // 2 :]),
    "arange": (lambda x: tl.arange(3, 9)[None, :], lambda x: np.arange(3, 9)[None]),
    "full": (lambda x: tl.full((2, 2), 7, tl.i32), lambda x: np.full((2, 2), 7)),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name):
    ours, numpys = SHAPES[name]
    expected = numpys(I)
    np.testing.assert_array_equal(
        run(lambda x, y: ours(x), I, J, expected.shape), expected
    )


@pytest.mark.parametrize("case", function_cases.CASES, ids=lambda case: case.name)
def test_functions(case):
    function_cases.run(case)


def test_random_bits_are_those_of_philox():
    # The known answer of Random123 for philox4x32-10 with zeros.
    words = tl.philox(0, np.int32(0))
    assert " ".join(f"{int(word) & 0xFFFFFFFF:08x}" for word in words) == (
        "6627e8d5 e169c58d bc57ac4c 9b00dbd8"
    )


def test_random_numbers_are_spread_evenly():
    numbers = tl.rand(3, np.arange(100_000))
    assert 0 <= numbers.min() and numbers.max() < 1
    counts, _ = np.histogram(numbers, 50, (0, 1))
    # The 99.99 % quantile of chi-squared with 49 degrees of freedom is 94.
    assert ((counts - 2000) ** 2 / 2000).sum() < 94
    normal = tl.randn(3, np.arange(100_000))
    assert abs(normal.mean()) < 0.02 and abs(normal.std() - 1) < 0.02


CASTS = [
    (tl.f16, np.float16),
    (tl.bf16, ml_dtypes.bfloat16),
    (tl.e4m3, ml_dtypes.float8_e4m3fn),
    (tl.e5m2, ml_dtypes.float8_e5m2),
    (tl.e4m3fnuz, ml_dtypes.float8_e4m3fnuz),
    (tl.e5m2fnuz, ml_dtypes.float8_e5m2fnuz),
    (tl.f64, np.float64),
    (tl.i32, np.int32),
    (tl.i8, np.int8),
]


@pytest.mark.parametrize(("dtype", "numpy"), CASTS, ids=str)
def test_conversions(dtype, numpy):
    np.testing.assert_array_equal(
        run(lambda x, y: y.to(dtype), X, Y, dtype=numpy).astype(np.float64),
        Y.astype(numpy).astype(np.float64),
    )
    # Back, through a type of the same width, and through i1 and index.
    back = run(lambda x, y: y.to(dtype).to(tl.f32), X, Y)
    np.testing.assert_array_equal(back, Y.astype(numpy).astype(np.float32))


def test_conversions_between_formats_of_one_width():
    got = run(lambda x, y: y.to(tl.f16).to(tl.bf16).to(tl.f32), X, Y)
    expected = Y.astype(np.float16).astype(ml_dtypes.bfloat16).astype(np.float32)
    np.testing.assert_array_equal(got, expected)


def test_conversions_through_bool_and_index():
    got = run(lambda x, y: y.to(tl.i1).to(tl.f32) + x.to(tl.index).to(tl.f32), X, Y)
    np.testing.assert_array_equal(got, (Y != 0) + np.trunc(X))


def test_bits():
    got = run(lambda x, y: x.bitcast(tl.i32) & 0xFFFF, X, Y, dtype=np.int32)
    np.testing.assert_array_equal(got, X.view(np.int32) & 0xFFFF)


@tilews.kernel
def moves(
    A: tl.Tensor["B, P, Q", tl.f32],
    C: tl.Tensor["M, N", tl.f32],
    k: tl.i32,
    x: tl.f32,
):
    shared = tl.alloc_shared((8, 16), tl.f32)
    tl.copy(A[k, 2:10, -3:13], shared)
    tl.copy(shared, C[8:16, 0:16])
    C[0:8, :16] = tl.load(A[k, 2:10, -3:13], pad=x)
    flat = tl.view(shared, (128,))
    tl.store(tl.load(flat).reshape(8, 16) * 2, C[16, 0])
    tl.store(x, C[24:26, 4:6])
    C[26, 0] = x
    tl.atomic_add(tl.load(shared), C[8, 0])
    tl.atomic_max(100.0, C[27, 1])


def test_regions_copies_views_and_atomics():
    A = RNG.standard_normal((2, 10, 13)).astype(np.float32)
    C = np.zeros((28, 16), np.float32)
    expected = np.zeros_like(C)
    window = np.zeros((8, 16), np.float32)
    window[:, 3:] = A[1, 2:10]
    padded = np.full((8, 16), 9, np.float32)
    padded[:, 3:] = A[1, 2:10]
    expected[0:8], expected[8:16], expected[16:24] = padded, window * 2, window * 2
    expected[24:26, 4:6] = expected[26, 0] = 9
    expected[27, 1] = 100
    moves(A, C, 1, 9.0)
    np.testing.assert_array_equal(C, expected)


@tilews.kernel
def products(
    A: tl.Tensor["P, Q", "T"], B: tl.Tensor["R, S", "T"], C: tl.Tensor["M, N", "U"],
    TA: tl.constexpr, TB: tl.constexpr,
):  # fmt: skip
    a, b = tl.load(A), tl.load(B)
    shared = tl.alloc_shared(B.shape, B.dtype)
    tl.store(b, shared)
    acc = tl.gemm(a, shared, transpose_lhs=TA, transpose_rhs=TB)
    acc = tl.gemm(a, b, acc, transpose_lhs=TA, transpose_rhs=TB, policy="full_row")
    C[0, 0] = tl.gemm(a, b, acc, transpose_lhs=TA, transpose_rhs=TB, clear=True) + acc


@pytest.mark.parametrize("ta", [False, True])
@pytest.mark.parametrize("tb", [False, True])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.int8, np.float64])
def test_matrix_products(ta, tb, dtype):
    a = RNG.integers(-4, 4, (16, 32)).astype(dtype)
    b = RNG.integers(-4, 4, (32, 24)).astype(dtype)
    out = {np.int8: np.int32, np.float64: np.float64}.get(dtype, np.float32)
    c = np.zeros((16, 24), out)
    lhs, rhs = (np.ascontiguousarray(x.T) if t else x for x, t in ((a, ta), (b, tb)))
    extents = {
        "P": lhs.shape[0],
        "Q": lhs.shape[1],
        "R": rhs.shape[0],
        "S": rhs.shape[1],
    }
    products(lhs, rhs, c, TA=ta, TB=tb, **extents)
    np.testing.assert_array_equal(c, 3 * (a.astype(out) @ b.astype(out)))


def test_sparse_product_is_built():
    @tilews.kernel
    def sparse(C: tl.Tensor["M, N", tl.f32]):
        a = tl.alloc_shared((64, 16), tl.f16)
        e = tl.alloc_shared((64, 2), tl.i16)
        b = tl.alloc_shared((32, 64), tl.f16)
        C[0, 0] = tl.gemm_sp(a, e, b)

    assert "tile.gemm_sp %0, %1, %2" in sparse.mlir()


def test_kernel_attributes():
    @tilews.kernel(threads=64, cluster=(2, 1, 1))
    def attributes(
        A: tl.Tensor["M, N:8", tl.f16, "ld, 1"],
        B: tl.Tensor("M, 4", tl.f16, divisible=(2, 1), alignment=128),
    ):
        tl.rasterize("col", 4)
        tl.print("blocks", tl.num_blocks(1))

    text = attributes.mlir()
    assert "strided<[?, 1]>" in text
    assert 'tile.divisible = array<i64: 1, 8>, tile.name = "A"' in text
    assert "tile.alignment = 128 : i64, tile.divisible = array<i64: 2, 1>" in text
    assert "tile.rasterize = #tile.rasterize<col, panel = 4>" in text
    assert "tile.cluster = array<i32: 2, 1, 1>" in text
    assert "tile.threads = 64" in text
    assert "tile.threads = 128" in attributes.mlir(threads=128)
    assert "strided<[64, 1]>" in attributes.mlir(ld=64)
