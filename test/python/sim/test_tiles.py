"""Reductions, scans, shapes and matmuls in the interpreter."""

import itertools

import numpy as np
import pytest

from support.interpreting import (
    DTYPES,
    FLOATS,
    SHARED,
    apply,
    fragment,
    memref,
    random_ints,
    round_to,
    run,
)

REDUCTIONS = {
    "sum": lambda a, axis: a.sum(axis),
    "max": lambda a, axis: np.fmax.reduce(a, axis),
    "min": lambda a, axis: np.fmin.reduce(a, axis),
    "absmax": lambda a, axis: np.fmax.reduce(np.abs(a), axis),
    "absmin": lambda a, axis: np.fmin.reduce(np.abs(a), axis),
}


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("type_", ["f64", "f32", "f16", "bf16", "f8E5M2", "i8", "i32"])
@pytest.mark.parametrize("kind", REDUCTIONS)
def test_reduce(kind, type_, axis):
    rng = np.random.default_rng(0)
    a = rng.integers(-9, 9, (3, 5, 7)) / (1 if type_[0] == "i" else 4)
    a = a.astype(DTYPES[type_])
    if kind != "sum" and type_ in FLOATS:
        a[rng.random(a.shape) < 0.4] = np.nan
        a[1, 2, :] = a[1, :, 3] = a[:, 2, 3] = np.nan  # Nothing but NaN.
    expected = REDUCTIONS[kind](a.astype("f8"), axis)
    text = f"tile.reduce <{kind}> {{0}} {{{{axis = {axis} : i64}}}} : {{t0}} -> {{r}}"
    actual = apply(text, [(type_, a)], type_, shape=expected.shape)
    if type_ in FLOATS:
        np.testing.assert_array_equal(
            actual.astype("f8"), round_to(expected, type_).astype("f8")
        )
    else:
        np.testing.assert_array_equal(actual, expected.astype(int).astype(a.dtype))


def test_integer_reductions_wrap_and_combine_bits():
    a = random_ints("i8", 30).reshape(5, 6)
    for kind, expected in {
        "sum": a.sum(0, dtype="i1"),
        "and": np.bitwise_and.reduce(a, 0),
        "or": np.bitwise_or.reduce(a, 0),
        "xor": np.bitwise_xor.reduce(a, 0),
    }.items():
        text = f"tile.reduce <{kind}> {{0}} {{{{axis = 0 : i64}}}} : {{t0}} -> {{r}}"
        actual = apply(text, [("i8", a)], "i8", shape=(6,))
        np.testing.assert_array_equal(actual, expected)
    bits = np.array([[True, True], [True, False], [False, False]])
    for kind, expected in {"any": bits.any(1), "all": bits.all(1)}.items():
        text = f"tile.reduce <{kind}> {{0}} {{{{axis = 1 : i64}}}} : {{t0}} -> {{r}}"
        actual = apply(text, [("i1", bits)], "i1", shape=(3,))
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("type_", ["f32", "f16", "i32"])
@pytest.mark.parametrize("kind", ["sum", "max", "min"])
def test_scan(kind, type_, axis, reverse):
    rng = np.random.default_rng(0)
    a = rng.integers(-9, 9, (6, 5)).astype(DTYPES[type_])
    if kind != "sum" and type_ in FLOATS:
        a[rng.random(a.shape) < 0.4] = np.nan
    step = {"sum": np.add, "max": np.fmax, "min": np.fmin}[kind]
    ordered = np.flip(a, axis) if reverse else a
    expected = step.accumulate(ordered, axis)
    expected = np.flip(expected, axis) if reverse else expected
    flag = ", reverse" if reverse else ""
    text = f"tile.scan <{kind}> {{0}} {{{{axis = {axis} : i64{flag}}}}} : {{r}}"
    np.testing.assert_array_equal(apply(text, [(type_, a)], type_), expected)


@pytest.mark.parametrize("type_", ["f16", "i32"])
def test_shape_operations(type_):
    a = np.arange(24).reshape(2, 3, 4).astype(DTYPES[type_])
    b = a[:, :1, :].copy()
    for text, source, expected in [
        ("tile.broadcast {0} : {t0} -> {r}", b, np.broadcast_to(b, a.shape)),
        (
            "tile.transpose {0} {{permutation = array<i64: 2, 0, 1>}} : {t0} -> {r}",
            a,
            a.transpose(2, 0, 1),
        ),
        ("tile.flip {0} {{axes = array<i64: 1>}} : {r}", a, a[:, ::-1]),
        ("tile.flip {0} {{axes = array<i64: 0, 2>}} : {r}", a, a[::-1, :, ::-1]),
        ("tile.flip {0} {{axes = array<i64>}} : {r}", a, a),
        ("tile.reshape {0} : {t0} -> {r}", a, a.reshape(6, 4)),
        ("tile.expand_dims {0} {{axis = 3 : i64}} : {t0} -> {r}", a, a[..., None]),
        ("tile.expand_dims {0} {{axis = 0 : i64}} : {t0} -> {r}", a, a[None]),
    ]:
        actual = apply(text, [(type_, source)], type_, shape=expected.shape)
        np.testing.assert_array_equal(actual, expected)


def test_iota_and_tensor_operations():
    out = np.zeros((3, 4), "i4")
    picked = np.zeros(2, "i4")
    run(
        """
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %x = tile.iota {axis = 0 : i64} : tensor<3x4xi32>
        %y = tile.iota {axis = 1 : i64} : tensor<3x4xi32>
        %ten = arith.constant dense<10> : tensor<3x4xi32>
        %z = arith.muli %x, %ten : tensor<3x4xi32>
        %w = arith.addi %z, %y : tensor<3x4xi32>
        tile.store %w to %out : tensor<3x4xi32> to memref<3x4xi32>
        %e = tensor.extract %w[%c2, %c1] : tensor<3x4xi32>
        %k = arith.constant 5 : i32
        %f = tensor.from_elements %e, %k : tensor<2xi32>
        tile.store %f to %picked : tensor<2xi32> to memref<2xi32>""",
        [("out", memref(out), out), ("picked", memref(picked), picked)],
    )
    np.testing.assert_array_equal(out, np.add.outer(np.arange(3) * 10, np.arange(4)))
    assert picked.tolist() == [21, 5]


def test_dense_constants():
    values = np.array([[1.5, -2.0], [np.inf, 0.1]], "f2")
    out = np.zeros((2, 2), "f2")
    run(
        """
        %t = arith.constant dense<[[1.5, -2.0], [0x7C00, 0.1]]> : tensor<2x2xf16>
        tile.store %t to %out : tensor<2x2xf16> to memref<2x2xf16>""",
        [("out", memref(out), out)],
    )
    np.testing.assert_array_equal(out, values)


GEMM_TYPES = [
    ("f16", "f16", "f32"),
    ("f16", "f16", "f16"),
    ("bf16", "bf16", "f32"),
    ("f32", "f32", "f32"),
    ("f64", "f64", "f64"),
    ("f8E4M3FN", "f8E5M2", "f32"),
    ("f8E5M2FNUZ", "f8E5M2FNUZ", "f32"),
    ("i8", "i8", "i32"),
    ("i4", "i4", "i32"),
]


def gemm_operand(type_, shape, seed):
    rng = np.random.default_rng(seed)
    if type_ in FLOATS:
        return round_to(rng.standard_normal(shape), type_)
    return rng.integers(-8, 8, shape).astype(DTYPES[type_])


def gemm_reference(a, b, c, acc):
    """The matmul in float64, which is exact for the small types."""
    exact = a.astype("f8") @ b.astype("f8") + c.astype("f8")
    return round_to(exact, acc) if acc in FLOATS else exact.astype(DTYPES[acc])


@pytest.mark.parametrize("flags", list(itertools.product([False, True], repeat=3)))
@pytest.mark.parametrize("types", GEMM_TYPES, ids="-".join)
def test_gemm(types, flags):
    lhs, rhs, acc = types
    transpose_lhs, transpose_rhs, clear = flags
    a, b = gemm_operand(lhs, (10, 8), 0), gemm_operand(rhs, (8, 6), 1)
    c, out = gemm_operand(acc, (10, 6), 2), np.zeros((10, 6), DTYPES[acc])
    given_a = np.ascontiguousarray(a.T) if transpose_lhs else a
    given_b = np.ascontiguousarray(b.T) if transpose_rhs else b
    names = ["transpose_lhs", "transpose_rhs", "clear_accumulator"]
    attributes = ", ".join(n for n, flag in zip(names, flags, strict=True) if flag)
    shared = memref(given_a, lhs)[:-1] + f", {SHARED}>"
    frag_b, frag_c = fragment(given_b.shape, rhs), fragment(c.shape, acc)
    run(
        f"""
        %s = tile.alloc_shared : {shared}
        tile.copy %a to %s : {memref(given_a, lhs)} to {shared}
        %y = tile.load %b : {memref(given_b, rhs)} -> {frag_b}
        %z = tile.load %c : {memref(c, acc)} -> {frag_c}
        %d = tile.gemm %s, %y, %z {{{attributes}}} : {shared}, {frag_b} -> {frag_c}
        tile.store %d to %out : {frag_c} to {memref(c, acc)}""",
        [
            ("a", memref(given_a, lhs), given_a),
            ("b", memref(given_b, rhs), given_b),
            ("c", memref(c, acc), c),
            ("out", memref(c, acc), out),
        ],
    )
    expected = gemm_reference(a, b, c * 0 if clear else c, acc)
    # The order of summation changes the last bit of a double only.
    tolerance = 1e-14 if acc == "f64" else 0
    np.testing.assert_allclose(
        out.astype("f8"), expected.astype("f8"), rtol=tolerance, atol=tolerance
    )


def test_integer_gemm_wraps():
    a = np.full((4, 8), -(2**31), "i4")
    b = np.full((8, 4), 2**30 + 1, "i4")
    text = "tile.gemm {0}, {1}, {2} : {t0}, {t1} -> {r}"
    inputs = [("i32", a), ("i32", b), ("i32", np.ones((4, 4), "i4"))]
    expected = (-(2**31) * (2**30 + 1) * 8 + 1 + 2**31) % 2**32 - 2**31
    assert (apply(text, inputs, "i32", shape=(4, 4)) == expected).all()


@pytest.mark.parametrize("transpose_rhs", [False, True])
@pytest.mark.parametrize("metadata", ["i8", "i16", "i32"])
@pytest.mark.parametrize("types", [("f16", "f32"), ("i8", "i32")], ids="-".join)
def test_gemm_sp(types, metadata, transpose_rhs):
    type_, acc = types
    m, n, k = 6, 5, 64
    rng = np.random.default_rng(0)
    places = np.array([(i, j) for i in range(4) for j in range(i + 1, 4)])
    chosen = places[rng.integers(0, 6, (m, k // 4))]
    sparse = gemm_operand(type_, (m, k // 2), 0)
    dense = np.zeros((m, k // 4, 4), sparse.dtype)
    np.put_along_axis(dense, chosen, sparse.reshape(m, k // 4, 2), -1)
    nibbles = chosen[..., 0] | chosen[..., 1] << 2
    per_word = DTYPES[metadata].itemsize * 2
    words = nibbles.reshape(m, -1, per_word) << (4 * np.arange(per_word))
    words = words.sum(-1).astype(f"u{DTYPES[metadata].itemsize}")
    b = gemm_operand(type_, (k, n), 1)
    c = gemm_operand(acc, (m, n), 2)
    given = np.ascontiguousarray(b.T) if transpose_rhs else b
    flag = "{{transpose_rhs}} " if transpose_rhs else ""
    actual = apply(
        "tile.gemm_sp {0}, {1}, {2}, {3} " + flag + ": {t0}, {t1}, {t2} -> {r}",
        [
            (type_, sparse),
            (metadata, words.view(DTYPES[metadata])),
            (type_, given),
            (acc, c),
        ],
        acc,
        shape=(m, n),
    )
    expected = gemm_reference(dense.reshape(m, k), b, c, acc)
    np.testing.assert_array_equal(actual, expected)
