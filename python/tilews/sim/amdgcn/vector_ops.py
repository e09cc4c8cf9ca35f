"""The semantics of vector instructions: types and a function for each name.

An entry is `(result, operands, function)` with types as LLVM names them; the
function takes one array for each operand and returns the result.
"""

from collections.abc import Callable

import ml_dtypes
import numpy as np

from .float_ops import (
    fix_quotient,
    maximum,
    maximum_number,
    minimum,
    minimum_number,
    multiply_add,
    multiply_and_add,
)

Function = Callable[..., np.ndarray]
Op = tuple[str, str, Function]


def _u32(value: np.ndarray) -> np.ndarray:
    return value.astype(np.uint32)


def _shift(value: np.ndarray) -> np.ndarray:
    bits = value.dtype.itemsize * 8
    return value & value.dtype.type(bits - 1)


def _high(a: np.ndarray, b: np.ndarray, kind: type[np.generic]) -> np.ndarray:
    product: np.ndarray = a.astype(kind) * b.astype(kind)
    return (product >> kind(32)).astype(np.uint32)


def _u24(value: np.ndarray) -> np.ndarray:
    return value & np.uint32(0xFFFFFF)


def _i24(value: np.ndarray) -> np.ndarray:
    return (value << np.uint32(8)).view(np.int32) >> np.int32(8)


def _extract(value: np.ndarray, offset: np.ndarray, width: np.ndarray) -> np.ndarray:
    width = width & np.uint32(31)
    mask = (np.uint32(1) << width) - np.uint32(1)
    return (value >> (offset & np.uint32(31))) & mask


def _extract_signed(
    value: np.ndarray, offset: np.ndarray, width: np.ndarray
) -> np.ndarray:
    width = width & np.uint32(31)
    bits = _extract(value, offset, width)
    top = (np.uint32(32) - width) & np.uint32(31)
    signed = (bits << top).view(np.int32) >> top.view(np.int32)
    return np.where(width == 0, 0, signed).astype(np.int32)


def _permute(a: np.ndarray, b: np.ndarray, selector: np.ndarray) -> np.ndarray:
    data = b.astype(np.uint64) | a.astype(np.uint64) << np.uint64(32)
    result = np.zeros_like(a)
    for i in range(4):
        index = (selector >> np.uint32(8 * i)) & np.uint32(0xFF)
        byte = (data >> (np.uint64(8) * (index & np.uint32(7)))) & np.uint64(0xFF)
        # 8 to 11: the sign of byte 1, 3, 5 or 7 in all bits.
        place = np.uint64(16) * (index & np.uint32(3)) + np.uint64(15)
        sign = (data >> place & np.uint64(1)) * np.uint64(0xFF)
        special = np.where(index < 12, sign, np.where(index == 12, 0, 0xFF))
        byte = np.where(index < 8, byte, special)
        result |= _u32(byte) << np.uint32(8 * i)
    return result


def _reverse(value: np.ndarray) -> np.ndarray:
    result = np.zeros_like(value)
    for i in range(32):
        result |= (value >> np.uint32(i) & np.uint32(1)) << np.uint32(31 - i)
    return result


def _leading_zeros(value: np.ndarray) -> np.ndarray:
    """The zeros above the first one; -1 if there is none."""
    exponent = np.frexp(value.astype(np.float64))[1]
    return np.where(value == 0, -1, 32 - exponent).astype(np.int32)


def _trailing_zeros(value: np.ndarray) -> np.ndarray:
    """The zeros below the last one; -1 if there is none."""
    lowest = value & (~value + np.uint32(1))
    exponent = np.frexp(lowest.astype(np.float64))[1]
    return np.where(value == 0, -1, exponent - 1).astype(np.int32)


def _leading_signs(value: np.ndarray) -> np.ndarray:
    """The bits above the first one that differs from the sign; -1 if none does."""
    return _leading_zeros((value ^ (value >> np.int32(31))).view(np.uint32))


def _count_ones(value: np.ndarray, more: np.ndarray) -> np.ndarray:
    ones = np.unpackbits(value.view(np.uint8).reshape(-1, 4), axis=1).sum(axis=1)
    return ones.astype(np.uint32) + more


def _count_lanes_before(first: int) -> Callable[..., np.ndarray]:
    """Counts the ones of a mask of the lanes from `first` on that are before a lane."""

    def count(mask: np.ndarray, more: np.ndarray) -> np.ndarray:
        places = np.clip(np.arange(mask.size) - first, 0, 32).astype(np.uint64)
        before = (np.uint64(1) << places) - np.uint64(1)
        return _count_ones(mask & before.astype(np.uint32), more)

    return count


def _is_class(value: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Whether a number is of one of the classes of `v_cmp_class`.

    The bits of the mask are those of the ISA documents, section "VOPC Instructions":
    signaling and quiet NaN, then -infinity, -normal, -denormal, -0, and the positive
    ones from zero on.
    """
    unsigned = value.view(f"u{value.dtype.itemsize}")
    info = np.finfo(value.dtype)
    quiet = unsigned >> unsigned.dtype.type(info.nmant - 1) & unsigned.dtype.type(1)
    size = np.select(
        [np.isinf(value), np.abs(value) >= info.smallest_normal, value != 0],
        [3, 2, 1],
        0,
    )
    bit = np.where(np.signbit(value), 5 - size, 6 + size)
    bit = np.where(np.isnan(value), quiet.astype(bit.dtype), bit)
    return (_u32(mask) >> _u32(bit) & np.uint32(1)).astype(bool)


def _align_bit(a: np.ndarray, b: np.ndarray, amount: np.ndarray) -> np.ndarray:
    data = b.astype(np.uint64) | a.astype(np.uint64) << np.uint64(32)
    return _u32(data >> (amount & np.uint32(31)).astype(np.uint64))


def _scale(value: np.ndarray, power: np.ndarray) -> np.ndarray:
    # Larger powers give the same zeros and infinities; numpy is slow with them.
    return np.ldexp(value, np.clip(power.astype(np.int32), -2200, 2200))


def _split(value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The fraction and the exponent, 0 for numbers that are not finite."""
    fraction, power = np.frexp(value)
    power = np.where(np.isfinite(value), power, 0)
    return fraction, power.astype(np.int16 if value.dtype == np.float16 else np.int32)


def _to_int(value: np.ndarray, kind: type) -> np.ndarray:
    info = np.iinfo(kind)
    wide = np.nan_to_num(np.trunc(value.astype(np.float64)), nan=0.0)
    return np.clip(wide, info.min, info.max).astype(kind)


def _median(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    if a.dtype.kind == "f" and (np.isnan(a) | np.isnan(b) | np.isnan(c)).any():
        raise NotImplementedError("median of NaN")
    return np.sort(np.stack([a, b, c]), axis=0)[1]


def _fp8_pair(dtype: type) -> Callable[[np.ndarray], np.ndarray]:
    def convert(value: np.ndarray) -> np.ndarray:
        low = (value & np.uint16(0xFF)).astype(np.uint8).view(dtype)
        high = (value >> np.uint16(8)).astype(np.uint8).view(dtype)
        pair = np.stack([low, high]).astype(np.float32).view(np.uint32)
        return pair[0].astype(np.uint64) | pair[1].astype(np.uint64) << np.uint64(32)

    return convert


def _to_fp8_pair(dtype: type) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    def convert(low: np.ndarray, high: np.ndarray) -> np.ndarray:
        bytes_ = [x.astype(dtype).view(np.uint8).astype(np.uint16) for x in (low, high)]
        return bytes_[0] | bytes_[1] << np.uint16(8)

    return convert


def fp8_types(chip: str) -> dict[str, type]:
    """The formats that the chip's instructions call fp8 and bf8."""
    if chip == "gfx942":
        return {"fp8": ml_dtypes.float8_e4m3fnuz, "bf8": ml_dtypes.float8_e5m2fnuz}
    return {"fp8": ml_dtypes.float8_e4m3fn, "bf8": ml_dtypes.float8_e5m2}


def fp8_ops(chip: str) -> dict[str, Op]:
    """The conversions from and to fp8."""
    ops: dict[str, Op] = {}
    for name, dtype in fp8_types(chip).items():
        ops[f"v_cvt_pk_f32_{name}"] = ("u64", "u16", _fp8_pair(dtype))
        ops[f"v_cvt_pk_{name}_f32"] = ("u16", "f32 f32", _to_fp8_pair(dtype))
    return ops


def _to_bf16(value: np.ndarray) -> np.ndarray:
    return value.astype(ml_dtypes.bfloat16).view(np.uint16).astype(np.uint32)


def _pack(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return _u32(low.view(np.uint16)) | _u32(high.view(np.uint16)) << np.uint32(16)


def _truncate_to_half(value: np.ndarray) -> np.ndarray:
    half = value.astype(np.float16)
    over = np.abs(half.astype(np.float32)) > np.abs(value)
    return np.where(over, np.nextafter(half, np.float16(0)), half).astype(np.float16)


_INTEGER: dict[str, Op] = {
    "v_mov_b32": ("u32", "u32", lambda a: a.copy()),
    "v_mov_b16": ("u16", "u16", lambda a: a.copy()),
    "v_mov_b64": ("u64", "u64", lambda a: a.copy()),
    "v_accvgpr_read_b32": ("u32", "u32", lambda a: a.copy()),
    "v_accvgpr_write_b32": ("u32", "u32", lambda a: a.copy()),
    "v_accvgpr_mov_b32": ("u32", "u32", lambda a: a.copy()),
    "v_not_b32": ("u32", "u32", lambda a: ~a),
    "v_not_b16": ("u16", "u16", lambda a: ~a),
    "v_add_u32": ("u32", "u32 u32", lambda a, b: a + b),
    "v_sub_u32": ("u32", "u32 u32", lambda a, b: a - b),
    "v_subrev_u32": ("u32", "u32 u32", lambda a, b: b - a),
    "v_mul_lo_u32": ("u32", "u32 u32", lambda a, b: a * b),
    "v_mul_hi_u32": ("u32", "u32 u32", lambda a, b: _high(a, b, np.uint64)),
    "v_mul_hi_i32": ("u32", "i32 i32", lambda a, b: _high(a, b, np.int64)),
    "v_mul_u32_u24": ("u32", "u32 u32", lambda a, b: _u24(a) * _u24(b)),
    "v_mul_i32_i24": ("i32", "u32 u32", lambda a, b: _i24(a) * _i24(b)),
    "v_mad_u16": ("u16", "u16 u16 u16", lambda a, b, c: a * b + c),
    "v_mad_legacy_u16": ("u16", "u16 u16 u16", lambda a, b, c: a * b + c),
    "v_mad_u32_u24": ("u32", "u32 u32 u32", lambda a, b, c: _u24(a) * _u24(b) + c),
    "v_mad_i32_i24": ("i32", "u32 u32 i32", lambda a, b, c: _i24(a) * _i24(b) + c),
    "v_lshlrev_b32": ("u32", "u32 u32", lambda a, b: b << _shift(a)),
    "v_lshrrev_b32": ("u32", "u32 u32", lambda a, b: b >> _shift(a)),
    "v_ashrrev_i32": ("i32", "i32 i32", lambda a, b: b >> _shift(a)),
    "v_lshlrev_b16": ("u16", "u16 u16", lambda a, b: b << _shift(a)),
    "v_lshrrev_b16": ("u16", "u16 u16", lambda a, b: b >> _shift(a)),
    "v_ashrrev_i16": ("i16", "i16 i16", lambda a, b: b >> _shift(a)),
    "v_lshlrev_b64": ("u64", "u32 u64", lambda a, b: b << (a & 63).astype(np.uint64)),
    "v_lshrrev_b64": ("u64", "u32 u64", lambda a, b: b >> (a & 63).astype(np.uint64)),
    "v_ashrrev_i64": ("i64", "u32 i64", lambda a, b: b >> (a & 63).astype(np.int64)),
    "v_and_b32": ("u32", "u32 u32", lambda a, b: a & b),
    "v_or_b32": ("u32", "u32 u32", lambda a, b: a | b),
    "v_xor_b32": ("u32", "u32 u32", lambda a, b: a ^ b),
    "v_xnor_b32": ("u32", "u32 u32", lambda a, b: ~(a ^ b)),
    "v_and_b16": ("u16", "u16 u16", lambda a, b: a & b),
    "v_or_b16": ("u16", "u16 u16", lambda a, b: a | b),
    "v_xor_b16": ("u16", "u16 u16", lambda a, b: a ^ b),
    "v_and_or_b32": ("u32", "u32 u32 u32", lambda a, b, c: a & b | c),
    "v_or3_b32": ("u32", "u32 u32 u32", lambda a, b, c: a | b | c),
    "v_xor3_b32": ("u32", "u32 u32 u32", lambda a, b, c: a ^ b ^ c),
    "v_bfi_b32": ("u32", "u32 u32 u32", lambda a, b, c: a & b | ~a & c),
    "v_lshl_or_b32": ("u32", "u32 u32 u32", lambda a, b, c: a << _shift(b) | c),
    "v_lshl_add_u32": ("u32", "u32 u32 u32", lambda a, b, c: (a << _shift(b)) + c),
    "v_add_lshl_u32": ("u32", "u32 u32 u32", lambda a, b, c: (a + b) << _shift(c)),
    "v_add3_u32": ("u32", "u32 u32 u32", lambda a, b, c: a + b + c),
    "v_xad_u32": ("u32", "u32 u32 u32", lambda a, b, c: (a ^ b) + c),
    "v_lshl_add_u64": (
        "u64",
        "u64 u32 u64",
        lambda a, b, c: (a << (b & 7).astype(np.uint64)) + c,
    ),
    "v_bfe_u32": ("u32", "u32 u32 u32", _extract),
    "v_bfe_i32": ("i32", "u32 u32 u32", _extract_signed),
    "v_perm_b32": ("u32", "u32 u32 u32", _permute),
    "v_bfrev_b32": ("u32", "u32", _reverse),
    "v_alignbit_b32": ("u32", "u32 u32 u32", _align_bit),
    "v_min_u32": ("u32", "u32 u32", np.minimum),
    "v_max_u32": ("u32", "u32 u32", np.maximum),
    "v_min_i32": ("i32", "i32 i32", np.minimum),
    "v_max_i32": ("i32", "i32 i32", np.maximum),
    **{
        f"v_med3_{kind}": (kind, f"{kind} {kind} {kind}", _median)
        for kind in ("i16", "u16", "i32", "u32")
    },
    "v_add_u16": ("u16", "u16 u16", lambda a, b: a + b),
    "v_sub_u16": ("u16", "u16 u16", lambda a, b: a - b),
    "v_mul_lo_u16": ("u16", "u16 u16", lambda a, b: a * b),
    "v_min_u16": ("u16", "u16 u16", np.minimum),
    "v_max_u16": ("u16", "u16 u16", np.maximum),
    "v_min_i16": ("i16", "i16 i16", np.minimum),
    "v_max_i16": ("i16", "i16 i16", np.maximum),
    "v_subrev_u16": ("u16", "u16 u16", lambda a, b: b - a),
    "v_add_i16": ("i16", "i16 i16", lambda a, b: a + b),
    "v_sub_i16": ("i16", "i16 i16", lambda a, b: a - b),
    "v_ffbh_u32": ("i32", "u32", _leading_zeros),
    "v_ffbh_i32": ("i32", "i32", _leading_signs),
    "v_ffbl_b32": ("i32", "u32", _trailing_zeros),
    "v_bcnt_u32_b32": ("u32", "u32 u32", _count_ones),
    "v_mbcnt_lo_u32_b32": ("u32", "u32 u32", _count_lanes_before(0)),
    "v_mbcnt_hi_u32_b32": ("u32", "u32 u32", _count_lanes_before(32)),
    "v_pack_b32_f16": ("u32", "f16 f16", _pack),
}

_FLOAT: dict[str, Op] = {
    "v_fma_f32": ("f32", "f32 f32 f32", multiply_add),
    "v_fma_f64": ("f64", "f64 f64 f64", multiply_add),
    "v_fma_f16": ("f16", "f16 f16 f16", multiply_add),
    "v_mad_f32": ("f32", "f32 f32 f32", multiply_and_add),
    "v_fmamk_f32": ("f32", "f32 f32 f32", multiply_add),
    "v_fmaak_f32": ("f32", "f32 f32 f32", multiply_add),
    "v_exp_f32": ("f32", "f32", np.exp2),
    "v_log_f32": ("f32", "f32", np.log2),
    "v_sin_f32": ("f32", "f32", lambda a: np.sin(a * np.float32(2 * np.pi))),
    "v_cos_f32": ("f32", "f32", lambda a: np.cos(a * np.float32(2 * np.pi))),
    "v_cvt_f32_i32": ("f32", "i32", lambda a: a.astype(np.float32)),
    "v_cvt_f32_u32": ("f32", "u32", lambda a: a.astype(np.float32)),
    "v_cvt_i32_f32": ("i32", "f32", lambda a: _to_int(a, np.int32)),
    "v_cvt_u32_f32": ("u32", "f32", lambda a: _to_int(a, np.uint32)),
    "v_cvt_f32_f16": ("f32", "f16", lambda a: a.astype(np.float32)),
    "v_cvt_f16_f32": ("f16", "f32", lambda a: a.astype(np.float16)),
    "v_cvt_f64_f32": ("f64", "f32", lambda a: a.astype(np.float64)),
    "v_cvt_f32_f64": ("f32", "f64", lambda a: a.astype(np.float32)),
    "v_cvt_f64_i32": ("f64", "i32", lambda a: a.astype(np.float64)),
    "v_cvt_f64_u32": ("f64", "u32", lambda a: a.astype(np.float64)),
    "v_cvt_i32_f64": ("i32", "f64", lambda a: _to_int(a, np.int32)),
    "v_cvt_u32_f64": ("u32", "f64", lambda a: _to_int(a, np.uint32)),
    "v_cvt_f16_i16": ("f16", "i16", lambda a: a.astype(np.float16)),
    "v_cvt_f16_u16": ("f16", "u16", lambda a: a.astype(np.float16)),
    "v_cvt_i16_f16": ("i16", "f16", lambda a: _to_int(a, np.int16)),
    "v_cvt_u16_f16": ("u16", "f16", lambda a: _to_int(a, np.uint16)),
    "v_cvt_pkrtz_f16_f32": (
        "u32",
        "f32 f32",
        lambda a, b: _pack(_truncate_to_half(a), _truncate_to_half(b)),
    ),
    "v_cvt_pk_bf16_f32": (
        "u32",
        "f32 f32",
        lambda a, b: _to_bf16(a) | _to_bf16(b) << np.uint32(16),
    ),
    "v_cvt_pk_f16_f32": (
        "u32",
        "f32 f32",
        lambda a, b: _pack(a.astype(np.float16), b.astype(np.float16)),
    ),
}


def _make_power_ops(kind: str) -> dict[str, Op]:
    """Powers of two, quotients and medians of a type."""
    power = "i16" if kind == "f16" else "i32"
    triple = f"{kind} {kind} {kind}"
    return {
        f"v_ldexp_{kind}": (kind, f"{kind} {power}", _scale),
        f"v_frexp_mant_{kind}": (kind, kind, lambda a: _split(a)[0]),
        f"v_frexp_exp_{power}_{kind}": (power, kind, lambda a: _split(a)[1]),
        f"v_div_fixup_{kind}": (kind, triple, fix_quotient),
        f"v_med3_{kind}": (kind, triple, _median),
    }


def _make_float_ops() -> dict[str, Op]:
    """The operations that exist for several types alike."""
    binary: dict[str, Function] = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "subrev": lambda a, b: b - a,
        "mul": lambda a, b: a * b,
        "max": maximum_number,
        "min": minimum_number,
        "maximum": maximum,
        "minimum": minimum,
    }
    unary: dict[str, Function] = {
        "rcp": lambda a: a.dtype.type(1) / a,
        "rcp_iflag": lambda a: a.dtype.type(1) / a,
        "rsq": lambda a: a.dtype.type(1) / np.sqrt(a),
        "sqrt": np.sqrt,
        "rndne": np.rint,
        "floor": np.floor,
        "ceil": np.ceil,
        "trunc": np.trunc,
        "fract": lambda a: a - np.floor(a),
    }
    ops: dict[str, Op] = {}
    chains = {
        **{f"{name}3": (name, name) for name in ("max", "min", "maximum", "minimum")},
        "minmax": ("min", "max"),
        "maxmin": ("max", "min"),
        "minimummaximum": ("minimum", "maximum"),
        "maximumminimum": ("maximum", "minimum"),
    }
    for kind in ("f16", "f32", "i16", "u16", "i32", "u32"):
        for name, (first, second) in chains.items():
            ops[f"v_{name}_{kind}"] = (
                kind,
                f"{kind} {kind} {kind}",
                lambda a, b, c, f=binary[first], g=binary[second]: g(f(a, b), c),
            )
    for kind in ("f16", "f32", "f64"):
        for name, function in binary.items():
            ops[f"v_{name}_{kind}"] = (kind, f"{kind} {kind}", function)
        for name, function in unary.items():
            ops[f"v_{name}_{kind}"] = (kind, kind, function)
        ops.update(_make_power_ops(kind))
        ops[f"v_max_num_{kind}"] = ops[f"v_max_{kind}"]
        ops[f"v_min_num_{kind}"] = ops[f"v_min_{kind}"]
    for i in range(4):
        ops[f"v_cvt_f32_ubyte{i}"] = (
            "f32",
            "u32",
            lambda a, i=i: (a >> np.uint32(8 * i) & np.uint32(0xFF)).astype(np.float32),
        )
    return ops


#: Instructions that have another name on some chips.
_ALIASES = {
    "v_add_nc_u32": "v_add_u32",
    "v_sub_nc_u32": "v_sub_u32",
    "v_subrev_nc_u32": "v_subrev_u32",
    "v_add_nc_u16": "v_add_u16",
    "v_subrev_nc_u16": "v_subrev_u16",
    "v_add_nc_i16": "v_add_i16",
    "v_sub_nc_i16": "v_sub_i16",
    "v_clz_i32_u32": "v_ffbh_u32",
    "v_cls_i32": "v_ffbh_i32",
    "v_ctz_i32_b32": "v_ffbl_b32",
    "v_sub_nc_u16": "v_sub_u16",
    "v_lshlrev_b64_e64": "v_lshlrev_b64",
    "v_cvt_pk_rtz_f16_f32": "v_cvt_pkrtz_f16_f32",
    # gfx12 names what takes a number rather than a NaN.
    **{
        f"v_{name}_num_{kind}": f"v_{name}_{kind}"
        for name in ("max3", "min3", "med3", "maxmin", "minmax")
        for kind in ("f16", "f32")
    },
    "v_add_nc_u64": "v_add_u64",
}


def get_ops(chip: str) -> dict[str, Op]:
    """All operations of one chip."""
    ops = {**_INTEGER, **_FLOAT, **_make_float_ops(), **fp8_ops(chip)}
    ops.update({new: ops[old] for new, old in _ALIASES.items() if old in ops})
    return ops


def saturate(
    name: str, function: Callable[..., np.ndarray]
) -> Callable[..., np.ndarray]:
    """The function of an instruction with the modifier `clamp`.

    Raises NotImplementedError unless it adds or subtracts integers without sign.
    """
    if name in ("v_sub_u32", "v_sub_nc_u32"):
        return lambda a, b: np.where(a < b, np.uint32(0), function(a, b))
    if name not in ("v_add_u32", "v_add_nc_u32"):
        raise NotImplementedError(f"{name} with clamp")

    def clamped(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        total = function(a, b)
        return np.where(total < a, np.uint32(0xFFFFFFFF), total)

    return clamped


RELATIONS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lg": lambda a, b: (a < b) | (a > b),
    "neq": lambda a, b: ~(a == b),
    "nlt": lambda a, b: ~(a < b),
    "nle": lambda a, b: ~(a <= b),
    "ngt": lambda a, b: ~(a > b),
    "nge": lambda a, b: ~(a >= b),
    "nlg": lambda a, b: ~((a < b) | (a > b)),
    "u": lambda a, b: np.isnan(a) | np.isnan(b),
    "o": lambda a, b: ~(np.isnan(a) | np.isnan(b)),
}


def get_comparison(name: str) -> tuple[str, str, Callable[..., np.ndarray]] | None:
    """Operand types and relation of `v_cmp_lt_u32`, None for others."""
    parts = name.split("_")
    if len(parts) != 4 or parts[0] != "v" or parts[1] not in ("cmp", "cmpx"):
        return None
    if parts[2] == "class":
        return parts[3], "u32", _is_class
    relation = RELATIONS.get(parts[2])
    return (parts[3], parts[3], relation) if relation else None
