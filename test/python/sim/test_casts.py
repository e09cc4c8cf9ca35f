"""Conversions between element types in the interpreter."""

import ml_dtypes
import numpy as np
import pytest

from support.interpreting import (
    FLOATS,
    INTS,
    SMALL_FLOATS,
    apply,
    check_equal,
    random_floats,
    random_ints,
    round_to,
    unsigned,
)


@pytest.mark.parametrize("type_", SMALL_FLOATS)
def test_truncf_rounds_to_nearest_even(type_):
    """Every value, every midpoint between two values, and their neighbours."""
    dtype = FLOATS[type_]
    codes = np.arange(2 ** min(8 * dtype.itemsize, 16), dtype=np.uint64)
    if type_ == "f32":
        codes = np.random.default_rng(0).integers(0, 2**32, 2**14, np.uint64)
    with np.errstate(invalid="ignore"):
        values = codes.astype(f"u{dtype.itemsize}").view(dtype).astype("f8")
    values = np.sort(values[np.isfinite(values)])
    middles = (values[1:] + values[:-1]) / 2
    large = float(ml_dtypes.finfo(dtype).max)
    step = large - values[-2]
    inputs = np.concatenate(
        [values, middles, np.nextafter(middles, 0), np.nextafter(middles, np.inf)]
        + [s * np.array([large + step / 2, large + step * 0.6]) for s in (1, -1)]
        + [[np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-300, -1e-300, 1e300]]
    )
    actual = apply("arith.truncf {0} : {t0} to {r}", [("f64", inputs)], type_)
    check_equal(actual, round_to(inputs, type_))


@pytest.mark.parametrize("type_", ["f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ"])
def test_every_fp8_code_survives(type_):
    codes = np.arange(256, dtype="u1").view(FLOATS[type_])
    extended = apply("arith.extf {0} : {t0} to {r}", [(type_, codes)], "f32")
    check_equal(extended, codes.astype("f4"))
    back = apply("arith.truncf {0} : {t0} to {r}", [("f32", extended)], type_)
    check_equal(back, round_to(codes.astype("f8"), type_))  # infinities saturate
    bits = apply("arith.bitcast {0} : {t0} to {r}", [(type_, codes)], "i8")
    number = ~np.isnan(codes.astype("f4"))
    np.testing.assert_array_equal(bits[number], codes.view("i1")[number])


@pytest.mark.parametrize("type_", ["f64", "f32", "f16", "bf16"])
def test_bitcast_keeps_all_bits(type_):
    size = FLOATS[type_].itemsize
    codes = np.random.default_rng(0).integers(0, 2 ** (8 * size) - 1, 500, np.uint64)
    codes = codes.astype(f"u{size}").view(f"i{size}")
    nan = np.array([np.nan], FLOATS[type_]).view(f"i{size}")[0]
    codes[:3] = [nan, nan + 1, nan - 1]
    int_type = f"i{8 * size}"
    floats = apply("arith.bitcast {0} : {t0} to {r}", [(int_type, codes)], type_)
    np.testing.assert_array_equal(floats.view(codes.dtype), codes)
    back = apply("arith.bitcast {0} : {t0} to {r}", [(type_, floats)], int_type)
    np.testing.assert_array_equal(back, codes)


@pytest.mark.parametrize("to", FLOATS)
@pytest.mark.parametrize("from_", INTS)
def test_integer_to_float(from_, to):
    a = random_ints(from_, 200)
    if from_ == "i64":  # Close to the midpoint of two floats, beyond 53 bits.
        a[:4] = [2**62 + 2**38, 2**62 + 2**38 + 1, 2**62 + 2**38 - 1, 2**53 + 1]
    for op, ints in (("sitofp", a), ("uitofp", unsigned(a))):
        actual = apply(f"arith.{op} {{0}} : {{t0}} to {{r}}", [(from_, a)], to)
        if from_ == "i64" and to in ("f64", "f32"):
            expected = ints.astype(FLOATS[to])  # The processor rounds once.
        else:
            expected = round_to(ints.astype("f8"), to)
        check_equal(actual, expected)


@pytest.mark.parametrize("to", INTS)
@pytest.mark.parametrize("from_", ["f64", "f32", "f16", "f8E5M2"])
def test_float_to_integer_saturates(from_, to):
    a = random_floats(from_, 100)
    for op, dtype in (("fptosi", INTS[to]), ("fptoui", np.dtype(f"u{INTS[to]}"))):
        actual = apply(f"arith.{op} {{0}} : {{t0}} to {{r}}", [(from_, a)], to)
        info = np.iinfo(dtype)
        expected = []
        for x in a.astype("f8"):
            if np.isnan(x):
                expected.append(0)
            elif np.isinf(x):
                expected.append(info.max if x > 0 else info.min)
            else:
                expected.append(min(max(int(x), info.min), info.max))
        assert actual.view(dtype).tolist() == expected


def test_integer_widths():
    a = random_ints("i16", 100)
    cases = {
        ("extsi", "i32"): a.astype("i4"),
        ("extui", "i32"): unsigned(a).astype("i4"),
        ("trunci", "i8"): a.astype("i1"),
        ("trunci", "i1"): (a & 1).astype(bool),
        ("index_cast", "index"): a.astype("i8"),
        ("index_castui", "index"): unsigned(a).astype("i8"),
    }
    for (op, to), expected in cases.items():
        actual = apply(f"arith.{op} {{0}} : {{t0}} to {{r}}", [("i16", a)], to)
        np.testing.assert_array_equal(actual, expected)
    bits = np.array([True, False])
    for op, expected in {"extsi": [-1, 0], "extui": [1, 0]}.items():
        actual = apply(f"arith.{op} {{0}} : {{t0}} to {{r}}", [("i1", bits)], "i8")
        assert actual.tolist() == expected


def test_int4_wraps():
    a = np.arange(-8, 8).astype(ml_dtypes.int4)
    actual = apply("arith.addi {0}, {1} : {r}", [("i4", a), ("i4", a)], "i4")
    expected = (np.arange(-16, 16, 2) + 8) % 16 - 8
    np.testing.assert_array_equal(actual.astype(int), expected)
