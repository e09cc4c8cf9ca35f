"""Scalar arithmetic and branches."""

import re
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from .disassembly import MachineError, MachineInstruction
from .float_ops import maximum, maximum_number, minimum, minimum_number
from .registers import EXEC, NULL, VCC, Operand, Wave, read_scalar
from .vector_ops import RELATIONS

Step = Callable[[Wave], None]
_MASK32, _MASK64 = (1 << 32) - 1, (1 << 64) - 1


def _signed(value: int, bits: int = 32) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def _bit_field(value: int, control: int, bits: int, signed: bool) -> int:
    offset, width = control & (bits - 1), control >> 16 & 0x7F
    field = value >> offset & ((1 << width) - 1)
    return _signed(field, width) if signed and width else field


def _leading_zeros(value: int, bits: int) -> int:
    return bits - value.bit_length() if value else -1


def _trailing_zeros(value: int) -> int:
    return (value & -value).bit_length() - 1


def _reverse(value: int, bits: int) -> int:
    return int(f"{value:0{bits}b}"[::-1], 2)


#: Results that set the condition code to "not zero".
_LOGIC: dict[str, Callable[[int, int], int]] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "andn2": lambda a, b: a & ~b,
    "and_not1": lambda a, b: a & ~b,
    "orn2": lambda a, b: a | ~b,
    "or_not1": lambda a, b: a | ~b,
    "nand": lambda a, b: ~(a & b),
    "nor": lambda a, b: ~(a | b),
    "xnor": lambda a, b: ~(a ^ b),
}
_SHIFTS: dict[str, Callable[[int, int, int], int]] = {
    "lshl": lambda a, b, bits: a << (b & bits - 1),
    "lshr": lambda a, b, bits: a >> (b & bits - 1),
    "ashr": lambda a, b, bits: _signed(a, bits) >> (b & bits - 1),
}
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "lg": lambda a, b: a != b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
}


class ScalarCompiler:
    """Makes functions of scalar instructions."""

    def compile(self, inst: MachineInstruction) -> Step | None:
        """The function of `inst`; None if the instruction is unknown."""
        name = inst.name
        if name.startswith("s_cbranch_") or name == "s_branch":
            return self._branch(inst)
        operands = [Operand(text) for text in inst.operands]
        if name == "s_getpc_b64":
            return self._get_pc(operands)
        if re.fullmatch(r"s_(mov|cmov|movk)_[bi]\d+", name):
            return self._move(inst, operands)
        if match := re.fullmatch(r"s_cmpk?_(\w\w)_([iu])(32|64)", name):
            return self._compare(match, operands)
        if match := re.fullmatch(r"s_cmp_(\w+)_f32", name):
            return self._compare_floats(match, operands)
        if match := re.fullmatch(r"s_bitcmp([01])_b(32|64)", name):
            return self._test_bit(match, operands)
        if match := re.fullmatch(r"s_cselect_b(32|64)", name):
            return self._select(match, operands)
        if match := re.fullmatch(r"s_(\w+)_saveexec_b(32|64)", name):
            return self._save_exec(match, operands)
        if match := re.fullmatch(r"s_(\w+?)_[bi](32|64)", name):
            step = self._bitwise(match, operands)
            if step:
                return step
        return self._arithmetic(inst, operands)

    def _get_pc(self, operands: list[Operand]) -> Step:
        """Reads the address of the next instruction."""
        write = self._write(operands[0], 64)
        return lambda wave: write(wave, wave.pc)

    # --------------------------------------------------------------- branches

    def _branch(self, inst: MachineInstruction) -> Step:
        target, name = inst.branch_target, inst.name
        conditions: dict[str, Callable[[Wave], bool]] = {
            "s_branch": lambda wave: True,
            "s_cbranch_scc0": lambda wave: not wave.scc,
            "s_cbranch_scc1": lambda wave: bool(wave.scc),
            "s_cbranch_vccz": lambda wave: not _any(wave, VCC),
            "s_cbranch_vccnz": lambda wave: _any(wave, VCC),
            "s_cbranch_execz": lambda wave: not _any(wave, EXEC),
            "s_cbranch_execnz": lambda wave: _any(wave, EXEC),
        }
        if name not in conditions:
            raise MachineError(f"unknown instruction '{inst.text}'")
        taken = conditions[name]

        def step(wave: Wave) -> None:
            if taken(wave):
                wave.pc = target

        return step

    # ------------------------------------------------------------------ moves

    def _write(self, operand: Operand, bits: int) -> Callable[[Wave, int], None]:
        first = operand.first
        if operand.bank != "s":
            raise MachineError(f"expected a scalar, found '{operand.text}'")

        def write(wave: Wave, value: int) -> None:
            if first == NULL:
                return
            wave.s[first] = value & _MASK32
            if bits == 64:
                wave.s[first + 1] = value >> 32 & _MASK32

        return write

    def _move(self, inst: MachineInstruction, operands: list[Operand]) -> Step:
        bits = 64 if inst.name.endswith("64") else 32
        write = self._write(operands[0], bits)
        source = read_scalar(operands[1], f"u{bits}")
        if "movk" in inst.name:
            value = _signed(operands[1].get_bits("u32") & 0xFFFF, 16)
            return lambda wave: write(wave, value)
        if "cmov" in inst.name:
            return lambda wave: write(wave, source(wave)) if wave.scc else None
        return lambda wave: write(wave, source(wave))

    def _compare(self, match: re.Match[str], operands: list[Operand]) -> Step:
        relation, signed, bits = _COMPARE[match[1]], match[2] == "i", int(match[3])
        a, b = (read_scalar(o, f"u{bits}") for o in operands)

        def step(wave: Wave) -> None:
            x, y = a(wave), b(wave)
            if signed:
                x, y = _signed(x, bits), _signed(y, bits)
            wave.scc = int(relation(x, y))

        return step

    def _compare_floats(self, match: re.Match[str], operands: list[Operand]) -> Step:
        relation = RELATIONS[match[1]]
        sources = [read_scalar(operand, "f32") for operand in operands]

        def step(wave: Wave) -> None:
            bits = [source(wave) for source in sources]
            x, y = np.array(bits, np.uint32).view(np.float32)
            wave.scc = int(relation(x, y))

        return step

    def _test_bit(self, match: re.Match[str], operands: list[Operand]) -> Step:
        expected, bits = int(match[1]), int(match[2])
        value, index = read_scalar(operands[0], f"u{bits}"), read_scalar(operands[1])

        def step(wave: Wave) -> None:
            bit = value(wave) >> (index(wave) & bits - 1) & 1
            wave.scc = int(bit == expected)

        return step

    def _select(self, match: re.Match[str], operands: list[Operand]) -> Step:
        bits = int(match[1])
        write = self._write(operands[0], bits)
        a, b = (read_scalar(o, f"u{bits}") for o in operands[1:])
        return lambda wave: write(wave, a(wave) if wave.scc else b(wave))

    def _save_exec(self, match: re.Match[str], operands: list[Operand]) -> Step:
        function, bits = _LOGIC.get(match[1]), int(match[2])
        if match[1] in ("andn1", "and_not0"):
            function = lambda a, b: ~a & b  # noqa: E731
        if function is None:
            raise MachineError(f"unknown instruction '{match[0]}'")
        write = self._write(operands[0], bits)
        write_exec = self._write(Operand("exec"), bits)
        source, mask = read_scalar(operands[1], f"u{bits}"), Operand("exec")
        read_exec = read_scalar(mask, f"u{bits}")

        def step(wave: Wave) -> None:
            old = read_exec(wave)
            new = function(source(wave), old) & (1 << bits) - 1
            write(wave, old)
            write_exec(wave, new)
            wave.scc = int(new != 0)

        return step

    # ------------------------------------------------------------- arithmetic

    def _bitwise(self, match: re.Match[str], operands: list[Operand]) -> Step | None:
        name, bits = match[1], int(match[2])
        kind, mask = f"u{bits}", (1 << bits) - 1
        write = self._write(operands[0], bits)
        if name in _LOGIC or name in _SHIFTS:
            a = read_scalar(operands[1], kind)
            b = read_scalar(operands[2], "u32" if name in _SHIFTS else kind)

            def step(wave: Wave) -> None:
                x, y = a(wave), b(wave)
                if name in _LOGIC:
                    value = _LOGIC[name](x, y) & mask
                else:
                    value = _SHIFTS[name](x, y, bits) & mask
                write(wave, value)
                wave.scc = int(value != 0)

            return step
        if name == "not":
            source = read_scalar(operands[1], kind)

            def step(wave: Wave) -> None:
                value = ~source(wave) & mask
                write(wave, value)
                wave.scc = int(value != 0)

            return step
        return None

    def _arithmetic(
        self, inst: MachineInstruction, operands: list[Operand]
    ) -> Step | None:
        function = _ARITHMETIC.get(inst.name)
        if function is None:
            return None
        bits = 64 if inst.name.endswith("64") else 32
        # A count of bits has 32 of them, whatever it counts.
        write = self._write(operands[0], 32 if "_i32_" in inst.name else bits)
        sources = [read_scalar(o, f"u{bits}") for o in operands[1:]]
        if inst.name == "s_fmac_f32" or inst.name.startswith("s_bitset"):
            sources.append(read_scalar(operands[0]))
        if inst.name.startswith(("s_addk", "s_mulk")):
            amount = _signed(operands[1].get_bits("u32") & 0xFFFF, 16) & _MASK32
            sources = [read_scalar(operands[0]), lambda wave: amount]

        def step(wave: Wave) -> None:
            value, scc = function(wave.scc, *[source(wave) for source in sources])
            write(wave, value)
            if scc is not None:
                wave.scc = int(scc)

        return step


def _any(wave: Wave, register: int) -> bool:
    wide = wave.lanes == 64 and wave.s[register + 1] != 0
    return wave.s[register] != 0 or wide


def _overflows(value: int) -> bool:
    return not -(1 << 31) <= value < 1 << 31


def _add_signed(_: int, a: int, b: int) -> tuple[int, bool]:
    total = _signed(a) + _signed(b)
    return total, _overflows(total)


def _sub_signed(_: int, a: int, b: int) -> tuple[int, bool]:
    total = _signed(a) - _signed(b)
    return total, _overflows(total)


def _min_max(choose: Callable[[int, int], int], signed: bool) -> Callable[..., Any]:
    def function(_: int, a: int, b: int) -> tuple[int, bool]:
        x, y = (_signed(a), _signed(b)) if signed else (a, b)
        value = choose(x, y)
        return value, value == x

    return function


def _shift_add(amount: int) -> Callable[..., Any]:
    def function(_: int, a: int, b: int) -> tuple[int, bool]:
        total = (a << amount) + b
        return total, total > _MASK32

    return function


def _field(bits: int, signed: bool) -> Callable[..., Any]:
    def function(_: int, a: int, b: int) -> tuple[int, bool]:
        value = _bit_field(a, b, bits, signed)
        return value, value != 0

    return function


_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "s_add_u32": lambda c, a, b: (a + b, a + b > _MASK32),
    "s_sub_u32": lambda c, a, b: (a - b, b > a),
    "s_addc_u32": lambda c, a, b: (a + b + c, a + b + c > _MASK32),
    "s_subb_u32": lambda c, a, b: (a - b - c, b + c > a),
    "s_add_i32": _add_signed,
    "s_addk_i32": _add_signed,
    "s_sub_i32": _sub_signed,
    "s_mul_i32": lambda c, a, b: (a * b, None),
    "s_mulk_i32": lambda c, a, b: (a * b, None),
    "s_mul_hi_u32": lambda c, a, b: (a * b >> 32, None),
    "s_mul_hi_i32": lambda c, a, b: (_signed(a) * _signed(b) >> 32, None),
    "s_mul_u64": lambda c, a, b: (a * b, None),
    "s_add_u64": lambda c, a, b: (a + b, None),
    "s_sub_u64": lambda c, a, b: (a - b, None),
    "s_min_u32": _min_max(min, False),
    "s_max_u32": _min_max(max, False),
    "s_min_i32": _min_max(min, True),
    "s_max_i32": _min_max(max, True),
    "s_lshl1_add_u32": _shift_add(1),
    "s_lshl2_add_u32": _shift_add(2),
    "s_lshl3_add_u32": _shift_add(3),
    "s_lshl4_add_u32": _shift_add(4),
    "s_bfe_u32": _field(32, False),
    "s_bfe_i32": _field(32, True),
    "s_bfe_u64": _field(64, False),
    "s_bfe_i64": _field(64, True),
    "s_abs_i32": lambda c, a: (abs(_signed(a)), a != 0),
    "s_sext_i32_i16": lambda c, a: (_signed(a & 0xFFFF, 16), None),
    "s_sext_i32_i8": lambda c, a: (_signed(a & 0xFF, 8), None),
    "s_flbit_i32_b32": lambda c, a: (_leading_zeros(a, 32), None),
    "s_clz_i32_u32": lambda c, a: (_leading_zeros(a, 32), None),
    "s_flbit_i32_b64": lambda c, a: (_leading_zeros(a, 64), None),
    "s_clz_i32_u64": lambda c, a: (_leading_zeros(a, 64), None),
    "s_ff1_i32_b32": lambda c, a: (_trailing_zeros(a), None),
    "s_ctz_i32_b32": lambda c, a: (_trailing_zeros(a), None),
    "s_bcnt1_i32_b32": lambda c, a: (a.bit_count(), a != 0),
    "s_bcnt1_i32_b64": lambda c, a: (a.bit_count(), a != 0),
    "s_brev_b32": lambda c, a: (_reverse(a, 32), None),
    "s_brev_b64": lambda c, a: (_reverse(a, 64), None),
    "s_bitset0_b32": lambda c, a, d: (d & ~(1 << (a & 31)), None),
    "s_bitset1_b32": lambda c, a, d: (d | 1 << (a & 31), None),
    "s_pack_ll_b32_b16": lambda c, a, b: (a & 0xFFFF | (b & 0xFFFF) << 16, None),
    "s_pack_lh_b32_b16": lambda c, a, b: (a & 0xFFFF | (b >> 16) << 16, None),
    "s_pack_hl_b32_b16": lambda c, a, b: (a >> 16 | (b & 0xFFFF) << 16, None),
    "s_pack_hh_b32_b16": lambda c, a, b: (a >> 16 | (b >> 16) << 16, None),
    "s_bfm_b32": lambda c, a, b: (((1 << (a & 31)) - 1) << (b & 31), None),
}
_ARITHMETIC |= {
    "s_add_co_u32": _ARITHMETIC["s_add_u32"],
    "s_sub_co_u32": _ARITHMETIC["s_sub_u32"],
    "s_add_co_ci_u32": _ARITHMETIC["s_addc_u32"],
    "s_sub_co_ci_u32": _ARITHMETIC["s_subb_u32"],
    "s_add_co_i32": _ARITHMETIC["s_add_i32"],
    "s_sub_co_i32": _ARITHMETIC["s_sub_i32"],
    "s_addk_co_i32": _ARITHMETIC["s_addk_i32"],
    "s_add_nc_u64": _ARITHMETIC["s_add_u64"],
    "s_sub_nc_u64": _ARITHMETIC["s_sub_u64"],
}


def _float(function: Callable[..., Any]) -> Callable[..., Any]:
    """Arithmetic on f32 given as bits."""

    def on_bits(_: int, *operands: int) -> tuple[int, None]:
        data = np.array(operands, np.uint32).view(np.float32)
        return int(np.float32(function(*data)).view(np.uint32)), None

    return on_bits


def _to_integer(bits: int, low: int = -(1 << 31), high: int = (1 << 31) - 1) -> int:
    (value,) = struct.unpack("<f", struct.pack("<I", bits))
    return int(min(max(value, low), high)) if value == value else 0


_ARITHMETIC |= {
    "s_add_f32": _float(lambda a, b: a + b),
    "s_sub_f32": _float(lambda a, b: a - b),
    "s_mul_f32": _float(lambda a, b: a * b),
    "s_fmac_f32": _float(lambda a, b, c: float(a) * float(b) + float(c)),
    "s_fmaak_f32": _float(lambda a, b, c: float(a) * float(b) + float(c)),
    "s_fmamk_f32": _float(lambda a, b, c: float(a) * float(b) + float(c)),
    "s_rndne_f32": _float(np.rint),
    "s_trunc_f32": _float(np.trunc),
    "s_max_num_f32": _float(maximum_number),
    "s_min_num_f32": _float(minimum_number),
    "s_maximum_f32": _float(maximum),
    "s_minimum_f32": _float(minimum),
    "s_cvt_f32_u32": lambda c, a: _float(lambda _: a)(c, 0),
    "s_cvt_f32_i32": lambda c, a: _float(lambda _: _signed(a))(c, 0),
    "s_cvt_u32_f32": lambda c, a: (_to_integer(a, 0, _MASK32), None),
    "s_cvt_i32_f32": lambda c, a: (_to_integer(a), None),
    "v_s_exp_f32": _float(np.exp2),
    "v_s_log_f32": _float(np.log2),
    "v_s_rcp_f32": _float(lambda a: np.float32(1) / a),
}
