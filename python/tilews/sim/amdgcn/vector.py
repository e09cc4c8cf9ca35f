"""Vector arithmetic: from an instruction to a function on a wave."""

import re
from collections.abc import Callable

import numpy as np

from .disassembly import MachineError, MachineInstruction
from .float_ops import multiply_add_scaled, scale_for_division
from .modifiers import (
    DPP,
    SDWA,
    check_modifiers,
    get_bits,
    half_ops,
    read_source,
    write_result,
)
from .registers import (
    EXEC,
    VCC,
    Operand,
    Wave,
    read_scalar,
    read_vector,
    write_half,
    write_vector,
)
from .vector_ops import Op, get_comparison, saturate

Step = Callable[[Wave], None]


class VectorCompiler:
    """Makes functions of vector instructions."""

    def __init__(self, lanes: int, ops: dict[str, Op]) -> None:
        self.lanes, self.ops = lanes, ops

    def compile(self, inst: MachineInstruction) -> Step | None:
        """The function of `inst`; None unless it is a known vector instruction."""
        if inst.second:
            return self._compile_dual(inst)
        operands = [Operand(text) for text in inst.operands]
        for special in (self._compile_special, self._compile_packed):
            step = special(inst, operands)
            if step:
                return step
        if get_comparison(inst.name):
            return self._compile_comparison(inst, operands)
        op = self.ops.get(inst.name)
        return self._compile_op(inst, op, operands) if op else None

    # ------------------------------------------------------------------ plain

    def _compile_op(
        self, inst: MachineInstruction, op: Op, operands: list[Operand]
    ) -> Step:
        result, kinds_text, function = op
        kinds = kinds_text.split()
        check_modifiers(inst, (*DPP, *SDWA, "op_sel", "clamp"))
        if "clamp" in inst.modifiers:
            function = saturate(inst.name, function)
        if len(operands) != len(kinds) + 1:
            raise MachineError(f"expected {len(kinds)} sources in '{inst.text}'")
        select = get_bits(inst, "op_sel", len(kinds) + 1, 0)
        readers = [
            read_source(inst, i, operand, kind, self.lanes, high=bool(half))
            for i, (operand, kind, half) in enumerate(
                zip(operands[1:], kinds, select, strict=False)
            )
        ]
        write = write_result(inst, operands[0], result)
        first = operands[0].first
        if result.endswith("16") and select[-1]:
            write = lambda w, v: write_half(w, first, v.view(np.uint16), True)  # noqa: E731
        elif result.endswith("16") and self.lanes == 64 and not half_ops(inst):
            # gfx9 clears the upper half, and LLVM relies on that.
            write = lambda w, v: w.write(first, v.view(np.uint16).astype(np.uint32))  # noqa: E731

        def step(wave: Wave) -> None:
            write(wave, function(*[reader(wave) for reader in readers]))

        return step

    def _compile_comparison(
        self, inst: MachineInstruction, operands: list[Operand]
    ) -> Step:
        comparison = get_comparison(inst.name)
        assert comparison
        *kinds, relation = comparison
        check_modifiers(inst, (*DPP, *SDWA, "op_sel"))
        to_exec = "cmpx" in inst.name
        if to_exec and len(operands) != 2:  # gfx9 writes two masks
            raise MachineError(f"unknown instruction '{inst.text}'")
        dest = EXEC if to_exec else operands[0].first
        select = get_bits(inst, "op_sel", 2, 0)
        left, right = (
            read_source(inst, i, operands[i - 2], kinds[i], self.lanes, bool(select[i]))
            for i in range(2)
        )

        def step(wave: Wave) -> None:
            wave.set_mask(dest, relation(left(wave), right(wave)) & wave.get_exec())

        return step

    # ---------------------------------------------------------------- special

    def _compile_special(
        self, inst: MachineInstruction, operands: list[Operand]
    ) -> Step | None:
        name = inst.name
        if name in ("v_nop", "v_pipeflush"):
            return lambda wave: None
        method = {
            "v_readfirstlane_b32": self._read_first_lane,
            "v_readlane_b32": self._read_lane,
            "v_writelane_b32": self._write_lane,
            "v_cndmask_b32": self._select,
            "v_cndmask_b16": self._select,
            "v_fmac_f32": self._accumulate,
            "v_fmac_f64": self._accumulate,
            "v_fmac_f16": self._accumulate,
            "v_mac_f32": self._accumulate,
            "v_mad_u64_u32": self._multiply_wide,
            "v_mad_co_u64_u32": self._multiply_wide,
            "v_mad_i64_i32": self._multiply_wide,
            "v_mad_co_i64_i32": self._multiply_wide,
            "v_div_scale_f32": self._div_scale,
            "v_div_scale_f64": self._div_scale,
            "v_div_fmas_f32": self._div_fmas,
            "v_div_fmas_f64": self._div_fmas,
            "v_swap_b32": self._swap,
            "v_permlane32_swap_b32": self._swap,
            "v_bitop3_b32": self._bit_operation,
            "v_bitop3_b16": self._bit_operation,
        }.get(name)
        if method is None and re.match(r"v_(add|sub|subrev)(b|c|_co)", name):
            method = self._carry
        return method(inst, operands) if method else None

    def _read_first_lane(
        self, inst: MachineInstruction, operands: list[Operand]
    ) -> Step:
        dest, source = operands[0].first, read_vector(operands[1], "u32", self.lanes)

        def step(wave: Wave) -> None:
            wave.s[dest] = int(source(wave)[int(np.argmax(wave.get_exec()))])

        return step

    def _read_lane(self, inst: MachineInstruction, operands: list[Operand]) -> Step:
        dest, source = operands[0].first, operands[1].first
        lane = read_scalar(operands[2])

        def step(wave: Wave) -> None:
            wave.s[dest] = int(wave.v[source][lane(wave) % self.lanes])

        return step

    def _write_lane(self, inst: MachineInstruction, operands: list[Operand]) -> Step:
        dest, value = operands[0].first, read_scalar(operands[1])
        lane = read_scalar(operands[2])

        def step(wave: Wave) -> None:
            wave.v[dest][lane(wave) % self.lanes] = value(wave)

        return step

    def _select(self, inst: MachineInstruction, operands: list[Operand]) -> Step:
        check_modifiers(inst, (*DPP, *SDWA))
        kind = "u16" if inst.name.endswith("16") else "u32"
        if any(o.negate or o.absolute for o in operands):
            kind = "f" + kind[1:]
        otherwise = read_source(inst, 0, operands[1], kind, self.lanes)
        chosen = read_source(inst, 1, operands[2], kind, self.lanes)
        mask = operands[3].first if len(operands) > 3 else VCC
        write = write_result(inst, operands[0], kind)

        def step(wave: Wave) -> None:
            chosen_lanes = wave.get_mask(mask)
            write(wave, np.where(chosen_lanes, chosen(wave), otherwise(wave)))

        return step

    def _accumulate(self, inst: MachineInstruction, operands: list[Operand]) -> Step:
        op = self.ops[inst.name.replace("v_fmac", "v_fma").replace("v_mac", "v_mad")]
        return self._compile_op(inst, op, [*operands, operands[0]])

    def _multiply_wide(self, inst: MachineInstruction, operands: list[Operand]) -> Step:
        kind = "i" if "i64" in inst.name else "u"
        wide = np.int64 if kind == "i" else np.uint64
        a = read_vector(operands[2], f"{kind}32", self.lanes)
        b = read_vector(operands[3], f"{kind}32", self.lanes)
        c = read_vector(operands[4], f"{kind}64", self.lanes)
        write = write_vector(operands[0], f"{kind}64")

        def step(wave: Wave) -> None:
            # The carry out is never used in tilews' code.
            write(wave, a(wave).astype(wide) * b(wave).astype(wide) + c(wave))

        return step

    def _carry(self, inst: MachineInstruction, operands: list[Operand]) -> Step:
        """Additions and subtractions that write, and may read, a carry."""
        name = inst.name
        check_modifiers(inst, (*DPP, *SDWA))
        with_input = bool(re.match(r"v_(addc|subb|(add|sub|subrev)_co_ci)", name))
        subtract = "sub" in name
        a, b = (
            read_source(inst, i, operands[i + 2], "u32", self.lanes) for i in range(2)
        )
        if "rev" in name:
            a, b = b, a
        write = write_result(inst, operands[0], "u32")
        carry_out = operands[1]
        carry_in = operands[4].first if with_input else 0

        def step(wave: Wave) -> None:
            carry = np.int64(0)
            if with_input:
                carry = wave.get_mask(carry_in).astype(np.int64)
            x, y = a(wave).astype(np.int64), b(wave).astype(np.int64)
            total = x - y - carry if subtract else x + y + carry
            active = wave.get_exec()
            write(wave, (total & 0xFFFFFFFF).astype(np.uint32))
            if carry_out.text != "null":
                out = (total < 0) | (total > 0xFFFFFFFF)
                wave.set_mask(carry_out.first, out & active)

        return step

    def _div_scale(self, inst: MachineInstruction, operands: list[Operand]) -> Step:
        kind = inst.name[-3:]
        sources = [read_vector(o, kind, self.lanes) for o in operands[2:5]]
        write, flag = write_vector(operands[0], kind), operands[1]

        def step(wave: Wave) -> None:
            value, denominator, numerator = (source(wave) for source in sources)
            scaled, flags = scale_for_division(value, denominator, numerator)
            write(wave, scaled)
            if flag.text != "null":
                wave.set_mask(flag.first, flags & wave.get_exec())

        return step

    def _div_fmas(self, inst: MachineInstruction, operands: list[Operand]) -> Step:
        kind = inst.name[-3:]
        sources = [read_vector(o, kind, self.lanes) for o in operands[1:4]]
        write = write_vector(operands[0], kind)

        def step(wave: Wave) -> None:
            a, b, c = (source(wave) for source in sources)
            write(wave, multiply_add_scaled(a, b, c, wave.get_mask(VCC)))

        return step

    def _bit_operation(self, inst: MachineInstruction, operands: list[Operand]) -> Step:
        """Any function of three bits, given as a table."""
        check_modifiers(inst, ("bitop3",))
        table = int(inst.modifiers.get("bitop3", "0"), 0)
        kind = "u" + inst.name[-2:]
        readers = [read_vector(o, kind, self.lanes) for o in operands[1:]]
        write = write_vector(operands[0], kind)

        def step(wave: Wave) -> None:
            a, b, c = (reader(wave) for reader in readers)
            result = np.zeros_like(a)
            for i in range(8):
                if table >> i & 1:
                    terms = (a if i & 4 else ~a, b if i & 2 else ~b, c if i & 1 else ~c)
                    result |= terms[0] & terms[1] & terms[2]
            write(wave, result)

        return step

    def _swap(self, inst: MachineInstruction, operands: list[Operand]) -> Step:
        one, two = operands[0].first, operands[1].first
        # v_permlane32_swap: lanes from 32 on of the first, lanes below of the second.
        is_half = inst.name != "v_swap_b32"
        low, high = (slice(32), slice(32, 64)) if is_half else (slice(None),) * 2

        def step(wave: Wave) -> None:
            first, second = wave.v[one].copy(), wave.v[two].copy()
            first[high], second[low] = second[low].copy(), first[high].copy()
            wave.write(one, first)
            wave.write(two, second)

        return step

    # ----------------------------------------------------------------- packed

    def _compile_packed(
        self, inst: MachineInstruction, operands: list[Operand]
    ) -> Step | None:
        if inst.name.startswith("v_fma_mix"):
            return self._mix(inst, operands)
        if inst.name.startswith(("v_cvt_pk_fp8", "v_cvt_pk_bf8")):
            return self._compile_op(inst, self.ops[inst.name], operands)
        if not inst.name.startswith("v_pk_"):
            return None
        if inst.name == "v_pk_mov_b32":
            op: Op | None = ("u32", "u32 u32", lambda a, b: a)
        else:
            name = inst.name.replace("v_pk_", "v_")
            op = self.ops.get(name)
            if inst.name == "v_pk_fmac_f16":
                operands = [*operands, operands[0]]
                op = self.ops["v_fma_f16"]
        if op is None:
            return None
        check_modifiers(inst, ("op_sel", "op_sel_hi", "neg_lo", "neg_hi"))
        kind = op[0]
        count = len(operands) - 1
        halves = []
        for half, (key, negation) in enumerate(
            [("op_sel", "neg_lo"), ("op_sel_hi", "neg_hi")]
        ):
            select = get_bits(inst, key, count, half)
            negate = get_bits(inst, negation, count, 0)
            halves.append(
                [
                    self._read_half(operand, kind, bool(s), bool(n))
                    for operand, s, n in zip(operands[1:], select, negate, strict=True)
                ]
            )
        function, dest = op[2], operands[0].first
        if inst.name == "v_pk_mov_b32":
            # The low result comes from the first source, the other from the second.
            # op_sel selects both: [1,0] exchanges the halves of one source.
            halves = [[halves[0][0]] * 2, [halves[0][1]] * 2]

        def step(wave: Wave) -> None:
            low, high = (function(*[r(wave) for r in readers]) for readers in halves)
            if kind.endswith("32"):
                low, high = low.copy(), high.copy()
                wave.write(dest, low.view(np.uint32))
                wave.write(dest + 1, high.view(np.uint32))
            else:
                bits = high.view(np.uint16).astype(np.uint32) << np.uint32(16)
                wave.write(dest, bits | low.view(np.uint16))

        return step

    def _read_half(
        self, operand: Operand, kind: str, high: bool, negate: bool
    ) -> Callable[[Wave], np.ndarray]:
        if kind.endswith("32") and operand.bank:
            part = Operand(operand.text)
            part.first += int(high and operand.count == 2)
            part.count = 1
            reader = read_vector(part, kind, self.lanes)
        elif kind.endswith("16") and not operand.bank and kind[0] != "f":
            # Constants have 32 bits, and a half each for the results.
            reader = read_vector(operand, kind, self.lanes, high=high)
        else:
            wide = kind.endswith("16") and operand.bank
            reader = read_vector(operand, kind, self.lanes, high=high and bool(wide))
        return (lambda wave: -reader(wave)) if negate else reader

    def _mix(self, inst: MachineInstruction, operands: list[Operand]) -> Step:
        """Multiply-add of f32 and halves: op_sel_hi chooses halves, op_sel which."""
        check_modifiers(inst, ("op_sel", "op_sel_hi"))
        is_half = get_bits(inst, "op_sel_hi", 3, 0)
        high = get_bits(inst, "op_sel", 3, 0)
        readers = [
            read_vector(o, "f16" if half else "f32", self.lanes, high=bool(h and half))
            for o, half, h in zip(operands[1:], is_half, high, strict=True)
        ]
        fma, dest = self.ops["v_fma_f32"][2], operands[0].first

        def step(wave: Wave) -> None:
            a, b, c = (reader(wave).astype(np.float32) for reader in readers)
            value = fma(a, b, c)
            if inst.name == "v_fma_mix_f32":
                wave.write(dest, value.view(np.uint32))
            else:
                half = value.astype(np.float16).view(np.uint16)
                write_half(wave, dest, half, inst.name == "v_fma_mixhi_f16")

        return step

    # ------------------------------------------------------------------- dual

    def _compile_dual(self, inst: MachineInstruction) -> Step:
        """Compiles two operations that both read before either writes."""
        steps = []
        assert inst.second
        for half in (inst, inst.second):
            name = half.name.replace("v_dual_", "v_")
            single = MachineInstruction(
                half.address, half.size, name, half.operands, half.modifiers, inst.text
            )
            step = self.compile(single)
            if step is None:
                raise MachineError(f"unknown instruction '{inst.text}'")
            steps.append((step, Operand(half.operands[0]).first))
        (first, one), (second, two) = steps

        def both(wave: Wave) -> None:
            before = wave.v[one].copy()
            first(wave)
            after, wave.v[one] = wave.v[one].copy(), before
            second(wave)
            if one != two:
                wave.v[one] = after

        return both
