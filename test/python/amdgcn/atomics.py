"""Atomic accesses to global memory, lane by lane."""

import re
from collections.abc import Callable

import numpy as np

from .disassembly import Instruction
from .memory import GlobalMemory
from .state import Operand, Wave

_NAME = re.compile(
    r"global_atomic_(add|sub|[su]?min|[su]?max|and|or|xor|swap|cmpswap)"
    r"(?:_num)?(?:_([a-z]+\d+))?"
)
_FUNCTIONS: dict[str, Callable] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "min": np.fmin,
    "max": np.fmax,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "swap": lambda a, b: b,
}


class Atomic:
    """The effect of an atomic instruction, parsed from its name and operands."""

    def __init__(self, name: str, kind: str, operands: list[Operand]) -> None:
        self.compares = name == "cmpswap"
        signed = name in ("smin", "smax") or kind.startswith("i")
        letter = "f" if kind.startswith("f") else "i" if signed else "u"
        self.size = 8 if kind.endswith(("64", "x2")) else 4
        self.dtype = np.dtype(f"{letter}{self.size}")
        self.function = _FUNCTIONS.get(name.lstrip("su") if "m" in name else name)
        self.dest = operands[0] if len(operands) == 4 else None
        self.address, self.data, self.base = operands[-3:]

    @staticmethod
    def parse(inst: Instruction, operands: list[Operand]) -> "Atomic | None":
        """Returns None unless `inst` is a known atomic instruction."""
        match = _NAME.fullmatch(inst.name)
        if not match or len(operands) not in (3, 4):
            return None
        return Atomic(match[1], match[2] or "u32", operands)

    def read(self, wave: Wave, mask: np.ndarray) -> np.ndarray:
        """The data of the active lanes, one row each."""
        first, count = self.data.first, self.data.count
        words = np.stack([wave.v[first + i][mask] for i in range(count)], axis=1)
        return np.ascontiguousarray(words).view(self.dtype)

    def perform(
        self, memory: GlobalMemory, places: np.ndarray, data: np.ndarray
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
