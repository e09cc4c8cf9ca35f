"""The modifiers after the operands of a vector instruction."""

import re
from collections.abc import Callable

import numpy as np

from .disassembly import MachineError, MachineInstruction
from .registers import Operand, Wave, apply_signs, read_vector, write_vector

#: Modifiers without an effect: masks that enable all lanes.
_HARMLESS = {"row_mask": "0xf", "bank_mask": "0xf", "bound_ctrl": "1", "fi": "1"}
SDWA = ("dst_sel", "dst_unused", "src0_sel", "src1_sel")
_PARTS = {
    "DWORD": (0, 0xFFFFFFFF),
    **{f"WORD_{i}": (16 * i, 0xFFFF) for i in range(2)},
    **{f"BYTE_{i}": (8 * i, 0xFF) for i in range(4)},
}
DPP = ("quad_perm", "row_ror", "row_mirror", "row_half_mirror", "row_xmask")


def _get_dpp_source(modifiers: dict[str, str], lanes: int) -> np.ndarray | None:
    """The lane that each lane reads; None without such a modifier."""
    lane = np.arange(lanes)
    row = lane & ~15
    if "quad_perm" in modifiers:
        order = np.array([int(x) for x in re.findall(r"\d+", modifiers["quad_perm"])])
        return (lane & ~3) + order[lane & 3]
    if "row_ror" in modifiers:
        return row + ((lane - int(modifiers["row_ror"])) & 15)
    if "row_mirror" in modifiers:
        return row + (15 - (lane & 15))
    if "row_half_mirror" in modifiers:
        return (lane & ~7) + (7 - (lane & 7))
    if "row_xmask" in modifiers:
        return lane ^ int(modifiers["row_xmask"])
    return None


def check_modifiers(inst: MachineInstruction, known: tuple[str, ...]) -> None:
    for key, value in inst.modifiers.items():
        if key in known or _HARMLESS.get(key) == value:
            continue
        raise MachineError(f"unknown modifier '{key}:{value}' in '{inst.text}'")


def get_bits(inst: MachineInstruction, key: str, count: int, default: int) -> list[int]:
    text = inst.modifiers.get(key)
    return [int(x) for x in re.findall(r"\d", text)] if text else [default] * count


def half_ops(inst: MachineInstruction) -> bool:
    """Whether an instruction selects halves or parts of registers."""
    return "op_sel" in inst.modifiers or (
        inst.modifiers.get("dst_sel", "DWORD") != "DWORD"
    )


def read_source(
    inst: MachineInstruction,
    index: int,
    operand: Operand,
    kind: str,
    lanes: int,
    high: bool = False,
) -> Callable[[Wave], np.ndarray]:
    """A function that reads source `index` of `inst`, as its modifiers say.

    The source is selected first, and its sign changes afterwards: ``-v1`` with
    ``src0_sel:WORD_1`` is minus the upper half of v1.
    """
    part = inst.modifiers.get(f"src{index}_sel")
    if part is None or operand.constant is not None:
        read = read_vector(operand, kind, lanes, high)
    else:
        read = _read_part(operand, kind, lanes, part)
    source = None if index else _get_dpp_source(inst.modifiers, lanes)
    return read if source is None else lambda wave: read(wave)[source]


def _read_part(
    operand: Operand, kind: str, lanes: int, part: str
) -> Callable[[Wave], np.ndarray]:
    """Reads a byte or half of a register, as SDWA can."""
    shift, mask = _PARTS[part]
    register = Operand(operand.text)
    register.negate = register.absolute = False
    raw = read_vector(register, "u32", lanes)
    dtype = np.uint16 if kind.endswith("16") else np.uint32
    view = np.dtype(f"{kind[0]}{np.dtype(dtype).itemsize}")

    def read(wave: Wave) -> np.ndarray:
        bits = raw(wave) >> np.uint32(shift) & np.uint32(mask)
        if operand.is_signed:
            sign = np.uint32((mask + 1) >> 1)
            bits = (bits ^ sign) - sign
        return apply_signs(bits.astype(dtype).view(view), operand)

    return read


def write_result(
    inst: MachineInstruction, operand: Operand, kind: str
) -> Callable[[Wave, np.ndarray], None]:
    """A function that writes a result of `kind`, or a part of a register (SDWA)."""
    part = inst.modifiers.get("dst_sel", "DWORD")
    if part == "DWORD":
        return write_vector(operand, kind)
    shift, mask = _PARTS[part]
    unused = inst.modifiers.get("dst_unused", "UNUSED_PAD")
    if unused not in ("UNUSED_PAD", "UNUSED_PRESERVE"):
        raise MachineError(f"unknown modifier '{unused}' in '{inst.text}'")
    keep = ~(mask << shift) & 0xFFFFFFFF if unused == "UNUSED_PRESERVE" else 0

    def write(wave: Wave, value: np.ndarray) -> None:
        bits = value.view(f"u{value.dtype.itemsize}").astype(np.uint32)
        bits = (bits & np.uint32(mask)) << np.uint32(shift)
        wave.write(operand.first, wave.v[operand.first] & np.uint32(keep) | bits)

    return write
