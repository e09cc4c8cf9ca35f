"""Signs, parts of registers and lanes that vector instructions select."""

import warnings

import numpy as np
import pytest

import tilews
import tilews.language as tl
from tilews.sim.amdgcn.disassembly import parse
from tilews.sim.amdgcn.registers import VCC, Wave
from tilews.sim.amdgcn.vector import VectorCompiler
from tilews.sim.amdgcn.vector_ops import get_ops

LANES = 64
LOW = np.arange(LANES).astype(np.float16) - np.float16(9.5)
HIGH = np.float16(3.25) * np.arange(LANES).astype(np.float16) - np.float16(70)
EVEN = np.arange(LANES) % 2 == 0
UINT = np.uint32


def pack(low, high):
    return low.view(np.uint16).astype(UINT) | high.view(np.uint16).astype(UINT) << 16


def execute(text):
    """Executes one instruction of gfx942.

    v1 holds :data:`LOW` and :data:`HIGH`, v2 the other way round. v3 is 1.5 in even
    lanes and -2.5 in odd ones. v0 is full of ones, s4 holds 1.0 and -2.0 in f16, and
    VCC :data:`EVEN`.
    """
    wave = Wave(LANES, 0)
    wave.v[0] = 0xFFFFFFFF
    wave.v[1], wave.v[2] = pack(LOW, HIGH), pack(HIGH, LOW)
    wave.v[3] = np.where(EVEN, np.float32(1.5), np.float32(-2.5)).view(UINT)
    wave.s[4] = 0xC0003C00
    wave.set_mask(VCC, EVEN)
    step = VectorCompiler(LANES, get_ops("gfx942")).compile(parse(0, [0, 0], text))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        step(wave)
    return wave


PAD = "dst_sel:DWORD dst_unused:UNUSED_PAD"
PAIRS = "quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf"
F32 = LOW.astype(np.float32), HIGH.astype(np.float32)
MULTIPLIED = -F32[1] * abs(F32[0]) + F32[0]
QUADS = np.arange(LANES) ^ 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"v_cvt_f32_f16_sdwa v0, -v1 {PAD} src0_sel:WORD_0", -F32[0]),
        (f"v_cvt_f32_f16_sdwa v0, -v1 {PAD} src0_sel:WORD_1", -F32[1]),
        (f"v_cvt_f32_f16_sdwa v0, |v1| {PAD} src0_sel:WORD_1", abs(F32[1])),
        (f"v_cvt_f32_f16_sdwa v0, -|v1| {PAD} src0_sel:WORD_1", -abs(F32[1])),
        (f"v_cvt_f32_f16_sdwa v0, -s4 {PAD} src0_sel:WORD_1", np.float32(2)),
        (f"v_cvt_f32_i32_sdwa v0, sext(v1) {PAD} src0_sel:BYTE_1", None),
        (
            f"v_add_f32_sdwa v0, |v3|, -v3 {PAD} src0_sel:DWORD src1_sel:DWORD",
            np.where(EVEN, np.float32(0), np.float32(5)),
        ),
        (
            f"v_sub_f16_sdwa v0, |v1|, -v2 {PAD} src0_sel:WORD_1 src1_sel:WORD_0",
            abs(HIGH) + HIGH,
        ),
        ("v_fma_f16 v0, -v1, |v2|, v1 op_sel:[1,1,0,0]", MULTIPLIED.astype(np.float16)),
        ("v_add_f16_e64 v0, |v1|, -v1 op_sel:[1,0,0]", abs(HIGH) - LOW),
        (
            f"v_add_f16_dpp v0, -v1, |v2| {PAIRS}",
            -LOW[QUADS] + abs(HIGH),
        ),
        (
            f"v_add_f32_dpp v0, |v3|, v3 {PAIRS}",
            np.where(EVEN, np.float32(4), np.float32(-1)),
        ),
        (
            "v_cndmask_b32_e64 v0, -v3, |v3|, vcc",
            np.where(EVEN, np.float32(1.5), np.float32(2.5)),
        ),
    ],
)
def test_values(text, expected):
    if expected is None:
        bytes_ = (LOW.view(np.uint16) >> 8).astype(np.uint8).view(np.int8)
        expected = bytes_.astype(np.float32)
    found = execute(text).v[0]
    expected = np.broadcast_to(expected, (LANES,))
    bits = expected.view(f"u{expected.dtype.itemsize}").astype(UINT)
    if "dst_sel" not in text and expected.dtype == np.float16:
        found, bits = found & UINT(0xFFFF), bits & UINT(0xFFFF)
    np.testing.assert_array_equal(found, bits)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v_cmp_lt_f16_sdwa vcc, -v1, v1 src0_sel:WORD_1 src1_sel:WORD_0", -HIGH < LOW),
        ("v_cmp_gt_f16_sdwa s[2:3], |v1|, |v1| src0_sel:WORD_1 src1_sel:WORD_0", None),
        ("v_cmp_lt_i16_sdwa vcc, v1, v2 src0_sel:WORD_1 src1_sel:WORD_1", "i2"),
        (
            "v_cmp_lt_i32_sdwa vcc, sext(v1), sext(v2) src0_sel:WORD_1 src1_sel:WORD_1",
            "i2",
        ),
        ("v_cmp_lt_f16_e64 vcc, -v1, |v2|", -LOW < abs(HIGH)),
    ],
)
def test_comparisons(text, expected):
    if expected is None:
        expected = abs(HIGH) > abs(LOW)
    elif isinstance(expected, str):
        expected = HIGH.view(expected) < LOW.view(expected)
    register = 2 if "s[2:3]" in text else VCC
    np.testing.assert_array_equal(execute(text).get_mask(register), expected)


def test_parts_of_the_result():
    keep = "dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE"
    halves = f"{keep} src0_sel:WORD_1 src1_sel:WORD_1"
    wave = execute(f"v_add_f16_sdwa v0, -v1, |v2| {halves}")
    sums = (abs(LOW) - HIGH).view(np.uint16).astype(UINT)
    np.testing.assert_array_equal(wave.v[0], sums << 16 | UINT(0xFFFF))
    wave = execute(f"v_cndmask_b32_sdwa v0, v1, v2, vcc {halves}")
    chosen = np.where(EVEN, LOW, HIGH).view(np.uint16).astype(UINT)
    np.testing.assert_array_equal(wave.v[0], chosen << 16 | UINT(0xFFFF))


def test_carries_of_parts():
    parts = f"{PAD} src0_sel:WORD_1 src1_sel:BYTE_0"
    wave = execute(f"v_sub_co_u32_sdwa v0, vcc, v1, v2 {parts}")
    a = HIGH.view(np.uint16).astype(np.int64)
    b = a & 0xFF
    np.testing.assert_array_equal(wave.v[0], (a - b).astype(UINT))
    np.testing.assert_array_equal(wave.get_mask(VCC), a < b)


@tilews.kernel(threads=64)
def change_signs(X: tl.Tensor["128", tl.f16], Y: tl.Tensor["4, 128", tl.f32]):
    x = tl.load(X[0], (128,))
    Y[0, 0] = (-x).to(tl.f32)
    Y[1, 0] = tl.abs(x).to(tl.f32)
    Y[2, 0] = (-x).to(tl.i32).to(tl.f32)
    Y[3, 0] = tl.where(-x > 1.0, tl.abs(x), x).to(tl.f32)


@pytest.mark.parametrize("chip", ["gfx90a", "gfx942", "gfx950"])
def test_kernels(chip):
    x, y = np.concatenate([LOW, HIGH]), np.zeros((4, 128), np.float32)
    change_signs(x, y, target=chip, run="sim")
    wide = x.astype(np.float32)
    chosen = np.where(-wide > 1, abs(wide), wide)
    np.testing.assert_array_equal(y, [-wide, abs(wide), np.trunc(-wide), chosen])
