"""Atomic accesses to global and shared memory, lane by lane."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from .disassembly import MachineInstruction
from .memory import GlobalMemory, SharedMemory
from .registers import Operand, Wave

_NAME = re.compile(
    r"(?:global|buffer)_atomic_(add|sub|[su]?min|[su]?max|and|or|xor|swap|cmpswap)"
    r"(?:_num)?(?:_([a-z]+\d+))?"
)
_SHARED_NAME = re.compile(
    r"ds_(add|sub|[su]?min|[su]?max|and|or|xor|wrxchg|storexchg|cmpst|cmpstore)"
    r"(?:_num)?(_rtn)?_([a-z]+\d+)"
)
#: Names in shared memory of what has another one in global memory.
_SHARED_ALIASES = {
    "wrxchg": "swap",
    "storexchg": "swap",
    "cmpst": "cmpswap",
    "cmpstore": "cmpswap",
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "min": np.fmin,
    "max": np.fmax,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "swap": lambda a, b: b,
    "cmpswap": lambda a, b: b,  # if the comparison holds
}


class Atomic:
    """The effect of an atomic instruction, parsed from its name and operands.

    Attributes:
        dest: the register for the old value, if any.
        address, base: operands; there is no base in shared memory.
        data: the registers of the new value, then those of the one to compare with.
    """

    def __init__(
        self,
        name: str,
        kind: str,
        dest: Operand | None,
        address: Operand,
        data: list[int],
        base: Operand | None = None,
    ) -> None:
        self.compares = name == "cmpswap"
        signed = name in ("smin", "smax") or kind.startswith("i")
        letter = "f" if kind.startswith("f") else "i" if signed else "u"
        self.size = 8 if kind.endswith(("64", "x2")) else 4
        self.dtype = np.dtype(f"{letter}{self.size}")
        is_extremum = name.endswith(("min", "max"))
        self.function = _FUNCTIONS[name.lstrip("su") if is_extremum else name]
        self.dest = dest
        self.address, self.data, self.base = address, data, base

    @staticmethod
    def parse(inst: MachineInstruction, operands: list[Operand]) -> "Atomic | None":
        """Returns None unless `inst` is a known atomic instruction."""
        match = _NAME.fullmatch(inst.name)
        if match and inst.name.startswith("buffer"):
            returns = {"sc0", "glc"} & inst.modifiers.keys()
            returns |= {inst.modifiers.get("th", "")} & {"TH_ATOMIC_RETURN"}
            dest = operands[0] if returns else None
            data = operands[0].vectors
            return Atomic(match[1], match[2] or "u32", dest, operands[1], data)
        if match and len(operands) in (3, 4):
            dest = operands[0] if len(operands) == 4 else None
            address, new, base = operands[-3:]
            return Atomic(match[1], match[2] or "u32", dest, address, new.vectors, base)
        match = _SHARED_NAME.fullmatch(inst.name)
        if match:
            return Atomic._parse_shared(match, operands)
        return None

    @staticmethod
    def _parse_shared(match: re.Match[str], operands: list[Operand]) -> "Atomic | None":
        name = _SHARED_ALIASES.get(match[1], match[1])
        dest = operands[0] if match[2] else None
        address, *values = operands[1:] if match[2] else operands
        if len(values) != (2 if name == "cmpswap" else 1):
            return None
        # gfx9 has the value to compare with first, later chips the new one ("CDNA3"
        # ISA, DS_CMPST_B32, and "RDNA3" ISA, DS_CMPSTORE_B32).
        if match[1] == "cmpst":
            values.reverse()
        data = [register for value in values for register in value.vectors]
        return Atomic(name, match[3], dest, address, data)

    @property
    def result(self) -> list[int]:
        """The registers that the old value goes to."""
        first = self.dest.first if self.dest is not None else 0
        count = self.size // 4 if self.dest is not None else 0
        return list(range(first, first + count))

    def read(self, wave: Wave, mask: np.ndarray) -> np.ndarray:
        """The data of the active lanes, one row each."""
        words = np.stack([wave.v[register][mask] for register in self.data], axis=1)
        return np.ascontiguousarray(words).view(self.dtype)

    def perform(
        self,
        memory: GlobalMemory | SharedMemory,
        places: np.ndarray,
        data: np.ndarray,
    ) -> np.ndarray:
        """Updates the places one after the other; returns the old contents as bytes."""
        before = np.zeros((len(places), self.size), np.uint8)
        for i, values in enumerate(data):
            place = places[i : i + 1]
            before[i] = memory.load(place, self.size)[0]
            old = before[i].view(self.dtype)[0]
            if not self.compares:
                new = self.function(old, values[0])
            elif old == values[1]:
                new = values[0]
            else:
                continue
            memory.store(place, np.array([new], self.dtype).view(np.uint8)[None])
        return before
