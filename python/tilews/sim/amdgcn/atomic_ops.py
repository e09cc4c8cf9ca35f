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
        data: operands: the new value, then what a `cmpswap` compares with. In global
            memory one operand has both.
    """

    def __init__(
        self,
        name: str,
        kind: str,
        dest: Operand | None,
        operands: list[Operand],
        is_shared: bool = False,
    ) -> None:
        self.compares = name == "cmpswap"
        signed = name in ("smin", "smax") or kind.startswith("i")
        letter = "f" if kind.startswith("f") else "i" if signed else "u"
        self.size = 8 if kind.endswith(("64", "x2")) else 4
        self.dtype = np.dtype(f"{letter}{self.size}")
        is_extremum = name.endswith(("min", "max"))
        self.function = _FUNCTIONS[name.lstrip("su") if is_extremum else name]
        self.dest = dest
        self.address, self.data, self.base = operands[0], [operands[1]], None
        if name == "cmpswap" and is_shared:
            self.data.append(operands[2])
        elif len(operands) == 3:
            self.base = operands[2]

    @staticmethod
    def parse(inst: MachineInstruction, operands: list[Operand]) -> "Atomic | None":
        """Returns None unless `inst` is a known atomic instruction."""
        match = _NAME.fullmatch(inst.name)
        if match and inst.name.startswith("buffer"):
            returns = {"sc0", "glc"} & inst.modifiers.keys()
            returns |= {inst.modifiers.get("th", "")} & {"TH_ATOMIC_RETURN"}
            dest = operands[0] if returns else None
            return Atomic(match[1], match[2] or "u32", dest, [operands[1], operands[0]])
        if match and len(operands) in (3, 4):
            dest = operands[0] if len(operands) == 4 else None
            return Atomic(match[1], match[2] or "u32", dest, operands[-3:])
        match = _SHARED_NAME.fullmatch(inst.name)
        if not match:
            return None
        dest, rest = (operands[0], operands[1:]) if match[2] else (None, operands)
        name = match[1]
        if name.startswith("cmpst"):
            # The two names have the two values in different orders ("CDNA3" and "RDNA3"
            # ISA).
            if name == "cmpst" and len(rest) == 3:
                rest[1:] = reversed(rest[1:])
            name = "cmpswap"
        elif name.endswith("xchg"):
            name = "swap"
        if len(rest) != (3 if name == "cmpswap" else 2):
            return None
        return Atomic(name, match[3], dest, rest, is_shared=True)

    @property
    def result(self) -> list[int]:
        """The registers that the old value goes to."""
        first = self.dest.first if self.dest is not None else 0
        count = self.size // 4 if self.dest is not None else 0
        return list(range(first, first + count))

    def read(self, wave: Wave, mask: np.ndarray) -> np.ndarray:
        """The data of the active lanes, one row each."""
        words = np.stack(
            [
                wave.v[each.first + i][mask]
                for each in self.data
                for i in range(each.count)
            ],
            axis=1,
        )
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
