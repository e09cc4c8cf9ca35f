"""Elementwise operations of the interpreter against NumPy."""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from support.interpreting import (
    DTYPES,
    FLOATS,
    INTS,
    apply,
    check_equal,
    fragment,
    memref,
    random_floats,
    random_ints,
    round_to,
    run,
    unsigned,
)

FLOAT_BINARY = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.divf": np.divide,
    "arith.remf": np.fmod,
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
    "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin,
    "math.copysign": np.copysign,
}


@pytest.mark.parametrize("scalars", [False, True], ids=["fragment", "scalar"])
@pytest.mark.parametrize("type_", FLOATS)
@pytest.mark.parametrize("op", FLOAT_BINARY)
def test_float_binary(op, type_, scalars):
    a, b = (random_floats(type_, 200, seed) for seed in (1, 2))
    with np.errstate(all="ignore"):
        expected = FLOAT_BINARY[op](a.astype("f8"), b.astype("f8"))
    # Zeros of different sign compare equal in NumPy's maximum and minimum.
    keep = ~((a.astype("f8") == 0) & (b.astype("f8") == 0))
    inputs = [(type_, a[keep]), (type_, b[keep])]
    actual = apply(op + " {0}, {1} : {r}", inputs, type_, scalars=scalars)
    check_equal(actual, round_to(expected[keep], type_))


def test_maximum_and_minimum_order_zeros():
    a, b = np.array([0.0, -0.0], "f4"), np.array([-0.0, 0.0], "f4")
    for op in ("maximumf", "maxnumf"):
        result = apply(
            f"arith.{op} {{0}}, {{1}} : {{r}}", [("f32", a), ("f32", b)], "f32"
        )
        assert not np.signbit(result).any()
    for op in ("minimumf", "minnumf"):
        result = apply(
            f"arith.{op} {{0}}, {{1}} : {{r}}", [("f32", a), ("f32", b)], "f32"
        )
        assert np.signbit(result).all()


FLOAT_UNARY = {
    "arith.negf": (np.negative, 0),
    "math.absf": (np.abs, 0),
    "math.ceil": (np.ceil, 0),
    "math.floor": (np.floor, 0),
    "math.trunc": (np.trunc, 0),
    "math.roundeven": (np.rint, 0),
    "math.round": (lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x), 0),
    "math.sqrt": (np.sqrt, 0),
    "math.exp": (np.exp, 1),
    "math.exp2": (np.exp2, 1),
    "math.expm1": (np.expm1, 1),
    "math.log": (np.log, 1),
    "math.log2": (np.log2, 1),
    "math.log10": (np.log10, 1),
    "math.log1p": (np.log1p, 1),
    "math.rsqrt": (lambda x: 1 / np.sqrt(x), 1),
    "math.cbrt": (np.cbrt, 1),
    "math.sin": (np.sin, 1),
    "math.cos": (np.cos, 1),
    "math.tan": (np.tan, 1),
    "math.asin": (np.arcsin, 1),
    "math.acos": (np.arccos, 1),
    "math.atan": (np.arctan, 1),
    "math.sinh": (np.sinh, 1),
    "math.cosh": (np.cosh, 1),
    "math.tanh": (np.tanh, 1),
    "math.asinh": (np.arcsinh, 1),
    "math.acosh": (np.arccosh, 1),
    "math.atanh": (np.arctanh, 1),
    "math.erf": (np.vectorize(math.erf), 1),
    "math.erfc": (np.vectorize(math.erfc), 1),
}


@pytest.mark.parametrize("type_", ["f64", "f32", "f16", "bf16"])
@pytest.mark.parametrize("op", FLOAT_UNARY)
def test_float_unary(op, type_):
    function, ulps = FLOAT_UNARY[op]
    a = random_floats(type_, 100)
    with np.errstate(all="ignore"):
        expected = round_to(function(a.astype("f8")), type_)
    actual = apply(op + " {0} : {r}", [(type_, a)], type_)
    if ulps == 0:
        check_equal(actual, expected)
        return
    # NumPy's functions and libm's differ in the last bit of a double.
    np.testing.assert_allclose(
        actual.astype("f8"),
        expected.astype("f8"),
        rtol=float(ml_dtypes.finfo(FLOATS[type_]).eps) * (4 if type_ == "f64" else 1),
    )


@pytest.mark.parametrize("type_", ["f32", "f16", "bf16", "f8E4M3FN"])
def test_fma_rounds_once(type_):
    a, b, c = (random_floats(type_, 300, seed, special=False) for seed in range(3))
    # Sums that cancel, and sums close to the midpoint of two values.
    c[:100] = round_to(-(a[:100].astype("f8") * b[:100].astype("f8")), type_)
    inputs = [(type_, x) for x in (a, b, c)]
    actual = apply("math.fma {0}, {1}, {2} : {r}", inputs, type_)
    info = ml_dtypes.finfo(FLOATS[type_])
    for x, y, z, r in zip(*(v.astype("f8") for v in (a, b, c, actual)), strict=True):
        if not np.isfinite([x, y, z]).all():
            continue
        exact = Fraction(x) * Fraction(y) + Fraction(z)
        if abs(exact) > float(info.max) or not np.isfinite(r):
            continue
        exponent = max(math.frexp(float(exact))[1] - 1, int(info.minexp))
        half = Fraction(2) ** (exponent - int(info.nmant) - 1)
        assert abs(Fraction(r) - exact) <= half


def test_powers():
    a = np.array([2.0, -2.0, 0.5, 10.0], "f4")
    i = np.array([3, 3, -2, 0], "i4")
    result = apply("math.fpowi {0}, {1} : {t0}, {t1}", [("f32", a), ("i32", i)], "f32")
    np.testing.assert_array_equal(result, [8, -8, 4, 1])
    result = apply("math.powf {0}, {1} : {r}", [("f32", a), ("f32", a)], "f32")
    np.testing.assert_allclose(result, [4, 0.25, 0.5**0.5, 1e10], rtol=1e-6)
    b, p = np.array([3, -3, 2, 2, -1], "i4"), np.array([4, 3, 31, -1, -3], "i4")
    result = apply("math.ipowi {0}, {1} : {r}", [("i32", b), ("i32", p)], "i32")
    np.testing.assert_array_equal(result, [81, -27, -(2**31), 0, -1])


INT_BINARY = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.andi": lambda a, b: a & b,
    "arith.ori": lambda a, b: a | b,
    "arith.xori": lambda a, b: a ^ b,
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
    "arith.maxui": lambda a, b: np.maximum(unsigned(a), unsigned(b)).view(a.dtype),
    "arith.minui": lambda a, b: np.minimum(unsigned(a), unsigned(b)).view(a.dtype),
}
INT_DIVISION = {
    "arith.divsi": lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    "arith.remsi": lambda a, b: abs(a) % abs(b) * (-1 if a < 0 else 1),
    "arith.floordivsi": lambda a, b: a // b,
    "arith.ceildivsi": lambda a, b: -(-a // b),
    "arith.divui": lambda a, b: a // b,
    "arith.remui": lambda a, b: a % b,
    "arith.ceildivui": lambda a, b: -(-a // b),
}


@pytest.mark.parametrize("scalars", [False, True], ids=["fragment", "scalar"])
@pytest.mark.parametrize("type_", INTS)
@pytest.mark.parametrize("op", INT_BINARY)
def test_int_binary(op, type_, scalars):
    a, b = (random_ints(type_, 100, seed) for seed in (1, 2))
    with np.errstate(over="ignore"):
        expected = INT_BINARY[op](a, b)
    inputs = [(type_, a), (type_, b)]
    actual = apply(op + " {0}, {1} : {r}", inputs, type_, scalars=scalars)
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("type_", INTS)
@pytest.mark.parametrize("op", INT_DIVISION)
def test_int_division(op, type_):
    a, b = (random_ints(type_, 100, seed) for seed in (1, 2))
    b[b == 0] = 7
    b[(b == -1)] = 1
    x, y = (unsigned(a), unsigned(b)) if op.endswith("ui") else (a, b)
    expected = [INT_DIVISION[op](int(p), int(q)) for p, q in zip(x, y, strict=True)]
    actual = apply(op + " {0}, {1} : {r}", [(type_, a), (type_, b)], type_)
    actual = unsigned(actual) if op.endswith("ui") else actual
    assert actual.tolist() == expected


@pytest.mark.parametrize("type_", INTS)
def test_shifts(type_):
    width = INTS[type_].itemsize * 8
    a = random_ints(type_, 100)
    by = np.random.default_rng(3).integers(0, width + 3, 100).astype(a.dtype)
    inputs = [(type_, a), (type_, by)]
    shifts = [int(s) for s in by]
    mask = 2**width - 1

    def check(op, expected):
        actual = apply(f"arith.{op} {{0}}, {{1}} : {{r}}", inputs, type_)
        assert unsigned(actual).tolist() == [e & mask for e in expected]

    check("shli", [int(x) << s for x, s in zip(a, shifts, strict=True)])
    check("shrsi", [int(x) >> s for x, s in zip(a, shifts, strict=True)])
    check("shrui", [(int(x) & mask) >> s for x, s in zip(a, shifts, strict=True)])


@pytest.mark.parametrize("type_", INTS)
def test_bit_counts(type_):
    width = INTS[type_].itemsize * 8
    a = random_ints(type_, 60)
    texts = [f"{int(x) & (2**width - 1):0{width}b}" for x in a]

    def check(op, expected):
        actual = apply(f"math.{op} {{0}} : {{r}}", [(type_, a)], type_)
        assert actual.tolist() == expected

    check("ctpop", [t.count("1") for t in texts])
    check("ctlz", [len(t) - len(t.lstrip("0")) for t in texts])
    check("cttz", [len(t) - len(t.rstrip("0")) for t in texts])
    with np.errstate(over="ignore"):
        check("absi", np.abs(a).tolist())


@pytest.mark.parametrize("type_", ["i8", "i32", "i64"])
@pytest.mark.parametrize("op", ["mulsi_extended", "mului_extended", "addui_extended"])
def test_extended(op, type_):
    width = INTS[type_].itemsize * 8
    a, b = (random_ints(type_, 50, seed) for seed in (1, 2))
    high_type = "i1" if op == "addui_extended" else type_
    low, high = np.zeros_like(a), np.zeros(50, DTYPES[high_type])
    frag, high_frag = fragment((50,), type_), fragment((50,), high_type)
    types = f"{frag}, {high_frag}" if op == "addui_extended" else frag
    run(
        f"""
        %x = tile.load %a : {memref(a)} -> {frag}
        %y = tile.load %b : {memref(a)} -> {frag}
        %l, %h = arith.{op} %x, %y : {types}
        tile.store %l to %low : {frag} to {memref(a)}
        tile.store %h to %high : {high_frag} to {memref(high)}""",
        [
            ("a", memref(a), a),
            ("b", memref(b), b),
            ("low", memref(low), low),
            ("high", memref(high), high),
        ],
    )
    x, y = (a, b) if "si" in op else (unsigned(a), unsigned(b))
    exact = [
        int(p) + int(q) if "add" in op else int(p) * int(q)
        for p, q in zip(x, y, strict=True)
    ]
    assert unsigned(low).tolist() == [e % 2**width for e in exact]
    bits = 1 if op == "addui_extended" else width
    assert [int(h) % 2**bits for h in high] == [(e >> width) % 2**bits for e in exact]


CMPI = {
    "eq": np.equal,
    "ne": np.not_equal,
    "slt": np.less,
    "sle": np.less_equal,
    "sgt": np.greater,
    "sge": np.greater_equal,
    "ult": np.less,
    "ule": np.less_equal,
    "ugt": np.greater,
    "uge": np.greater_equal,
}


@pytest.mark.parametrize("type_", INTS)
@pytest.mark.parametrize("predicate", CMPI)
def test_cmpi(predicate, type_):
    a, b = (random_ints(type_, 100, seed) for seed in (1, 2))
    x, y = (unsigned(a), unsigned(b)) if predicate[0] == "u" else (a, b)
    inputs = [(type_, a), (type_, b)]
    actual = apply(f"arith.cmpi {predicate}, {{0}}, {{1}} : {{t0}}", inputs, "i1")
    np.testing.assert_array_equal(actual, CMPI[predicate](x, y))


@pytest.mark.parametrize("ordered", ["o", "u"])
@pytest.mark.parametrize("relation", ["eq", "gt", "ge", "lt", "le", "ne"])
def test_cmpf(relation, ordered):
    a, b = (random_floats("f16", 100, seed) for seed in (1, 2))
    b[:30] = a[:30]
    nan = np.isnan(a) | np.isnan(b)
    names = {"gt": np.greater, "ge": np.greater_equal, "lt": np.less}
    names |= {"le": np.less_equal, "eq": np.equal, "ne": np.not_equal}
    expected = np.where(nan, ordered == "u", names[relation](a, b))
    inputs = [("f16", a), ("f16", b)]
    for scalars in (False, True):
        actual = apply(
            f"arith.cmpf {ordered}{relation}, {{0}}, {{1}} : {{t0}}",
            inputs,
            "i1",
            scalars=scalars,
        )
        np.testing.assert_array_equal(actual, expected)


def test_cmpf_without_relation():
    a = np.array([1, np.nan, np.inf], "f4")
    for predicate, expected in {
        "ord": [True, False, True],
        "uno": [False, True, False],
        "true": [True] * 3,
        "false": [False] * 3,
    }.items():
        inputs = [("f32", a), ("f32", a)]
        actual = apply(f"arith.cmpf {predicate}, {{0}}, {{1}} : {{t0}}", inputs, "i1")
        assert actual.tolist() == expected


def test_float_classes():
    a = np.array([1, np.nan, np.inf, -np.inf, 0, 6e-8, 6.2e-5], "f2")
    for op, expected in {
        "isnan": np.isnan(a),
        "isinf": np.isinf(a),
        "isfinite": np.isfinite(a),
        "isnormal": np.isfinite(a) & (np.abs(a) >= np.finfo("f2").tiny),
    }.items():
        actual = apply(f"math.{op} {{0}} : {{t0}}", [("f16", a)], "i1")
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("type_", ["f32", "i16"])
def test_select(type_):
    a = random_floats("f32", 40) if type_ == "f32" else random_ints("i16", 40)
    b = a[::-1].copy()
    condition = np.random.default_rng(0).random(40) < 0.5
    inputs = [("i1", condition), (type_, a), (type_, b)]
    actual = apply("arith.select {0}, {1}, {2} : {t0}, {r}", inputs, type_)
    np.testing.assert_array_equal(actual, np.where(condition, a, b))
    actual = apply("arith.select {0}, {1}, {2} : {r}", inputs, type_, scalars=True)
    np.testing.assert_array_equal(actual, np.where(condition, a, b))


INDEX_OPS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: a << b,
    "shrs": lambda a, b: a >> b,
    "shru": lambda a, b: (a % 2**64) >> b,
    "maxs": max,
    "mins": min,
    "maxu": lambda a, b: max(a, b, key=lambda x: x % 2**64),
    "minu": lambda a, b: min(a, b, key=lambda x: x % 2**64),
    "divs": lambda a, b: int(a / b),
    "rems": lambda a, b: int(math.fmod(a, b)),
    "divu": lambda a, b: (a % 2**64) // b,
    "remu": lambda a, b: (a % 2**64) % b,
    "ceildivs": lambda a, b: -(-a // b),
    "ceildivu": lambda a, b: -(-(a % 2**64) // b),
    "floordivs": lambda a, b: a // b,
}


@pytest.mark.parametrize("op", INDEX_OPS)
def test_index_dialect(op):
    a = np.array([7, -7, 6, 0, 100], "i8")
    b = np.array([2, 2, 3, 5, 7], "i8")
    inputs = [("index", a), ("index", b)]
    actual = apply(f"index.{op} {{0}}, {{1}}", inputs, "index", scalars=True)
    pairs = zip(a.tolist(), b.tolist(), strict=True)
    assert [x % 2**64 for x in actual.tolist()] == [
        INDEX_OPS[op](x, y) % 2**64 for x, y in pairs
    ]


def test_index_comparisons_constants_and_casts():
    a, b = np.array([7, -7, 2], "i8"), np.array([2, 2, 2], "i8")
    for predicate, expected in {
        "slt": [False, True, False],
        "ult": [False, False, False],
        "sge": [True, False, True],
        "ne": [True, True, False],
    }.items():
        text = f"index.cmp {predicate}({{0}}, {{1}})"
        inputs = [("index", a), ("index", b)]
        assert apply(text, inputs, "i1", scalars=True).tolist() == expected
    c = np.array([-1], "i4")
    for op, expected in {"casts": -1, "castu": 2**32 - 1}.items():
        text = f"index.{op} {{0}} : i32 to index"
        assert apply(text, [("i32", c)], "index", scalars=True)[0] == expected
    assert apply("index.constant -3", [("i32", c)], "index", scalars=True)[0] == -3
    assert apply("index.bool.constant true", [("i32", c)], "i1", scalars=True)[0]
    assert apply("index.sizeof", [("i32", c)], "index", scalars=True)[0] == 64
