"""Instructions of a code object, taken apart."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ... import _tilews


class MachineError(Exception):
    """The program broke a rule, or needs something that is not simulated."""


@dataclass(frozen=True)
class InstructionTiming:
    """What LLVM's scheduling model of the chip says of an instruction, in cycles.

    Attributes:
        latency: until its result can be used.
        occupied: how long it occupies its unit.
        unit: such as ``HWXDL``, that of matmuls.
    """

    latency: int
    occupied: int
    unit: str


_NO_TIMING = InstructionTiming(0, 0, "")


@dataclass
class MachineInstruction:
    """One instruction: `v_add_f32 v0, v1, v2 clamp` at an address."""

    address: int
    size: int
    name: str
    operands: list[str]
    modifiers: dict[str, str]
    text: str
    #: The second half of a dual instruction.
    second: MachineInstruction | None = None
    words: list[int] = field(default_factory=list)
    timing: InstructionTiming = _NO_TIMING

    @property
    def branch_target(self) -> int:
        """The target address of a branch with a 16-bit offset."""
        offset = self.words[0] & 0xFFFF
        return self.address + 4 + 4 * (offset - (offset >> 15 << 16))


_SUFFIXES = ("_e32", "_e64_dpp", "_e64", "_dpp", "_dpp8", "_sdwa")


def _split(text: str) -> list[str]:
    """Splits at commas outside of brackets."""
    parts, depth, start = [], 0, 0
    for i, char in enumerate(text):
        if char in "[(":
            depth += 1
        elif char in "])":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return [part.strip() for part in parts]


def _parse(text: str, address: int, words: list[int]) -> MachineInstruction:
    name, _, rest = text.partition(" ")
    for suffix in _SUFFIXES:
        if name.endswith(suffix):
            name = name[: -len(suffix)]
            break
    operands, modifiers = [], {}
    if not name.startswith(("s_waitcnt", "s_delay", "s_wait_", "s_clause")):
        for part in _split(rest.strip()) if rest.strip() else []:
            words_of_part = re.split(r"\s+(?![^\[(]*[\])])", part)
            operands.append(words_of_part[0])
            for word in words_of_part[1:]:
                key, _, value = word.partition(":")
                modifiers[key] = value
    return MachineInstruction(
        address, 4 * len(words), name, operands, modifiers, text, words=words
    )


def disassemble(
    image: bytes,
) -> tuple[str, list[tuple[int, int, str, InstructionTiming]]]:
    """The chip of a code object; address, size, text and timing of its instructions.

    Raises:
        MachineError: it is no code object of an AMD GPU.
    """
    try:
        chip, found = _tilews.disassemble(image)
    except ValueError as error:
        raise MachineError(f"{error}: expected an HSACO") from None
    return chip, [
        (address, size, text, InstructionTiming(latency, occupied, unit))
        for address, size, text, latency, occupied, unit in found
    ]


def parse(
    address: int,
    words: list[int],
    text: str,
    timing: InstructionTiming = _NO_TIMING,
) -> MachineInstruction:
    """An instruction from its text, such as `v_add_f32_e32 v0, v1, v2`."""
    halves = [half.strip() for half in text.split(" :: ")]
    first = _parse(halves[0], address, words)
    first.timing = timing
    if len(halves) == 2:
        first.second = _parse(halves[1], address, words)
        first.text = text
    return first
