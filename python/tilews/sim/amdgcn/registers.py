"""Registers of a wave and the operands that name them."""

import re
import struct
from collections.abc import Callable

import numpy as np

from .disassembly import MachineError
from .recording import ExecutedInstruction

VCC, M0, NULL, EXEC = 106, 124, 125, 126
_NAMES = {
    "vcc": VCC,
    "vcc_lo": VCC,
    "vcc_hi": VCC + 1,
    "exec": EXEC,
    "exec_lo": EXEC,
    "exec_hi": EXEC + 1,
    "m0": M0,
    "null": NULL,
}
_FLOATS = {
    "0.15915494": 0.15915494309189532,
    "0.15915494309189532": 0.15915494309189532,
}
_TYPES = {
    "b32": np.uint32,
    "u32": np.uint32,
    "i32": np.int32,
    "f32": np.float32,
    "u64": np.uint64,
    "i64": np.int64,
    "f64": np.float64,
    "u16": np.uint16,
    "i16": np.int16,
    "f16": np.float16,
}


class Wave:
    """Registers of one wave. Accumulation registers follow the vector ones."""

    def __init__(self, lanes: int, index: int) -> None:
        self.lanes, self.index = lanes, index
        self.v = np.zeros((512, lanes), np.uint32)
        self.s = [0] * 128
        self.scc = 0
        self.pc = 0
        self.pending_v: set[int] = set()
        #: Those of them that loads from global memory write.
        self.pending_vm: set[int] = set()
        self.pending_s: set[int] = set()
        #: ``ready``, ``barrier`` (it waits at one) or ``ended``.
        self.state = "ready"
        #: How often it signalled the barrier of the block, and waited for it.
        self.signals = self.waits = 0
        #: What it executed, if that is recorded.
        self.recorded: list[ExecutedInstruction] | None = None
        self.bits = np.uint64(1) << np.arange(lanes, dtype=np.uint64)
        self._exec_key: tuple[int, int] | None = None
        self._exec = np.ones(lanes, bool)
        self.all_lanes = True
        self.set_mask(EXEC, np.ones(lanes, bool))

    def get_digest(self) -> int:
        """A hash of the registers."""
        return hash((self.v.tobytes(), tuple(self.s), self.scc))

    def get_exec(self) -> np.ndarray:
        """The active lanes, shape (lanes,)."""
        key = (self.s[EXEC], self.s[EXEC + 1])
        if key != self._exec_key:
            self._exec_key = key
            self._exec = self.get_mask(EXEC)
            self.all_lanes = bool(self._exec.all())
        return self._exec

    def get_mask(self, register: int) -> np.ndarray:
        value = self.s[register]
        if self.lanes == 64:
            value |= self.s[register + 1] << 32
        return (np.uint64(value) & self.bits) != 0

    def set_mask(self, register: int, mask: np.ndarray) -> None:
        value = int(np.bitwise_or.reduce(np.where(mask, self.bits, np.uint64(0))))
        self.s[register] = value & 0xFFFFFFFF
        if self.lanes == 64:
            self.s[register + 1] = value >> 32

    def write(self, register: int, value: np.ndarray) -> None:
        """Writes 32-bit `value` to a vector register's active lanes."""
        active = self.get_exec()
        if self.all_lanes:
            self.v[register] = value
        else:
            np.copyto(self.v[register], value, where=active)

    def check(self, vectors: list[int], scalars: list[int]) -> None:
        """Refuses registers of a load that the wave has not waited for."""
        for register in vectors:
            if register in self.pending_v:
                name = f"v{register}" if register < 256 else f"a{register - 256}"
                raise MachineError(f"{name} is used before its load was waited for")
        for register in scalars:
            if register in self.pending_s:
                raise MachineError(
                    f"s{register} is used before its load was waited for"
                )


_REGISTER = re.compile(r"^(v|s|a|ttmp)(?:(\d+)|\[(\d+):(\d+)\])(?:\.([lh]))?$")


class Operand:
    """An operand's text, taken apart: registers or a constant, and modifiers."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.negate = self.absolute = False
        #: SDWA extends a part of the register by its sign.
        self.is_signed = text.startswith("sext(")
        if self.is_signed:
            text = text[5:-1]
        if text.startswith("neg(") and text.endswith(")"):
            self.negate, text = True, text[4:-1]
        if re.match(r"^-[^0-9.]", text):
            self.negate, text = True, text[1:]
        if text.startswith("|") and text.endswith("|"):
            self.absolute, text = True, text[1:-1]
        if text.startswith("lit(") and text.endswith(")"):
            # lit(1.0) is 1.0 in a word after the instruction, though 1.0 needs no word.
            text = text[4:-1]
        self.bank, self.first, self.count = "", 0, 0
        self.high = False
        self.constant: str | None = None
        if text in _NAMES:
            self.bank, self.first = "s", _NAMES[text]
            self.count = 2 if text in ("vcc", "exec") else 1
            return
        match = _REGISTER.match(text)
        if not match:
            self.constant = text
            return
        self.bank = "v" if match[1] in "va" else "s"
        self.first = int(match[2] or match[3])
        self.count = 1 if match[2] else int(match[4]) - self.first + 1
        self.first += {"a": 256, "ttmp": 108}.get(match[1], 0)
        self.high = match[5] == "h"

    @property
    def vectors(self) -> list[int]:
        return self._list("v")

    @property
    def scalars(self) -> list[int]:
        return [r for r in self._list("s") if r != NULL]

    def _list(self, bank: str) -> list[int]:
        if self.bank != bank:
            return []
        return list(range(self.first, self.first + self.count))

    def get_bits(self, kind: str) -> int:
        """The constant as bits of `kind`; raises for other operands."""
        text = self.constant or ""
        wide = kind.endswith("64")
        try:
            if re.match(r"-?[0-9]+(\.|e[+-]?[0-9])", text):
                value = _FLOATS.get(text, None)
                value = float(text) if value is None else value
                layout = {"16": "<e", "64": "<d"}.get(kind[1:], "<f")
                return int.from_bytes(struct.pack(layout, value), "little")
            number = int(text, 0)
        except ValueError:
            raise MachineError(f"unknown operand '{self.text}'") from None
        if kind == "f64" and text.startswith("0x"):
            return number << 32  # a literal is the upper half
        return number & (0xFFFFFFFFFFFFFFFF if wide else 0xFFFFFFFF)


def read_scalar(operand: Operand, kind: str = "u32") -> Callable[[Wave], int]:
    """A function that reads an unsigned 32- or 64-bit scalar."""
    if operand.constant is not None:
        bits = operand.get_bits(kind)
        return lambda wave: bits
    first, wide = operand.first, kind.endswith("64")
    if operand.bank != "s":
        raise MachineError(f"expected a scalar operand, found '{operand.text}'")
    if first == NULL:
        return lambda wave: 0
    if wide and operand.count != 2 and first != EXEC and first != VCC:
        raise MachineError(f"expected 64 bits, found '{operand.text}'")
    if wide:
        return lambda wave: wave.s[first] | wave.s[first + 1] << 32
    return lambda wave: wave.s[first]


def apply_signs(value: np.ndarray, operand: Operand) -> np.ndarray:
    """`value` as the operand's minus sign and bars change it."""
    if operand.absolute:
        value = np.abs(value)
    return -value if operand.negate else value


def read_vector(
    operand: Operand, kind: str, lanes: int, high: bool = False
) -> Callable[[Wave], np.ndarray]:
    """A function that reads one value a lane, with the dtype of `kind`."""
    dtype = np.dtype(_TYPES[kind])
    high = high or operand.high
    first = operand.first
    if dtype.itemsize == 8:
        raw = _read_wide(operand, kind, lanes)
    elif operand.bank == "v":
        raw = lambda wave: wave.v[first]  # noqa: E731
    else:
        scalar = read_scalar(operand, kind)
        raw = lambda wave: np.full(lanes, scalar(wave), np.uint32)  # noqa: E731

    def read(wave: Wave) -> np.ndarray:
        value = raw(wave)
        if dtype.itemsize == 2:
            value = (value >> np.uint32(16) if high else value).astype(np.uint16)
        return apply_signs(value.view(dtype), operand)

    return read


def _read_wide(operand: Operand, kind: str, lanes: int) -> Callable[[Wave], np.ndarray]:
    first = operand.first
    if operand.bank == "v":
        if operand.count != 2:
            raise MachineError(f"expected 64 bits, found '{operand.text}'")

        def read(wave: Wave) -> np.ndarray:
            low = wave.v[first].astype(np.uint64)
            return low | wave.v[first + 1].astype(np.uint64) << np.uint64(32)

        return read
    scalar = read_scalar(operand, kind)
    return lambda wave: np.full(lanes, scalar(wave), np.uint64)


def write_vector(operand: Operand, kind: str) -> Callable[[Wave, np.ndarray], None]:
    """A function that writes one value of `kind` a lane."""
    if operand.bank != "v":
        raise MachineError(f"expected a vector register, found '{operand.text}'")
    first, size = operand.first, np.dtype(_TYPES[kind]).itemsize
    if size == 8:

        def write(wave: Wave, value: np.ndarray) -> None:
            bits = np.ascontiguousarray(value).view(np.uint64)
            wave.write(first, bits.astype(np.uint32))
            wave.write(first + 1, (bits >> np.uint64(32)).astype(np.uint32))

    elif size == 2:
        high = operand.high

        def write(wave: Wave, value: np.ndarray) -> None:
            write_half(wave, first, value.view(np.uint16), high)

    else:

        def write(wave: Wave, value: np.ndarray) -> None:
            wave.write(first, value.view(np.uint32))

    return write


def write_half(wave: Wave, register: int, bits: np.ndarray, high: bool) -> None:
    """Writes 16 bits a lane to one half of a register and keeps the other."""
    old = wave.v[register]
    if high:
        value = old & np.uint32(0xFFFF) | bits.astype(np.uint32) << np.uint32(16)
    else:
        value = old & np.uint32(0xFFFF0000) | bits
    wave.write(register, value)
