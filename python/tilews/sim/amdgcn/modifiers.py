"""The modifiers after the operands of a vector instruction."""

import re

import numpy as np

from .disassembly import MachineError, MachineInstruction

#: Modifiers without an effect: masks that enable all lanes.
_HARMLESS = {"row_mask": "0xf", "bank_mask": "0xf", "bound_ctrl": "1", "fi": "1"}
SDWA = ("dst_sel", "dst_unused", "src0_sel", "src1_sel")
PARTS = {
    "DWORD": (0, 0xFFFFFFFF),
    **{f"WORD_{i}": (16 * i, 0xFFFF) for i in range(2)},
    **{f"BYTE_{i}": (8 * i, 0xFF) for i in range(4)},
}
DPP = ("quad_perm", "row_ror", "row_mirror", "row_half_mirror", "row_xmask")


def get_dpp_source(modifiers: dict[str, str], lanes: int) -> np.ndarray | None:
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
