"""Instructions of a code object, as llvm-objdump prints them."""

import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path


class MachineError(Exception):
    """The program broke a rule, or needs something that is not simulated."""


@dataclass
class Instruction:
    """One instruction: `v_add_f32 v0, v1, v2 clamp` at an address."""

    address: int
    size: int
    name: str
    operands: list[str]
    modifiers: dict[str, str]
    text: str
    #: The second half of a dual instruction.
    second: "Instruction | None" = None
    words: list[int] = field(default_factory=list)

    @property
    def branch_target(self) -> int:
        """The target address of a branch with a 16-bit offset."""
        offset = self.words[0] & 0xFFFF
        return self.address + 4 + 4 * (offset - (offset >> 15 << 16))


_SUFFIXES = ("_e32", "_e64_dpp", "_e64", "_dpp", "_dpp8", "_sdwa")


def find_objdump() -> str:
    """Path of llvm-objdump; raises FileNotFoundError."""
    for name in ("/usr/lib/llvm-22/bin/llvm-objdump", "llvm-objdump-22"):
        path = shutil.which(name)
        if path:
            return path
    raise FileNotFoundError("llvm-objdump of LLVM 22 is not installed")


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


def _parse(text: str, address: int, words: list[int]) -> Instruction:
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
    return Instruction(
        address, 4 * len(words), name, operands, modifiers, text, words=words
    )


_LINE = re.compile(r"^\t(.*?)\s*// ([0-9A-F]+): ((?:[0-9A-F]{8} ?)+)")


def disassemble(path: Path) -> dict[int, Instruction]:
    """The instructions of the code object at `path`, by address."""
    command = [find_objdump(), "-d", str(path)]
    output = subprocess.run(command, check=True, capture_output=True, text=True)
    instructions = {}
    for line in output.stdout.splitlines():
        match = _LINE.match(line)
        if not match:
            continue
        address = int(match[2], 16)
        words = [int(word, 16) for word in match[3].split()]
        halves = [half.strip() for half in match[1].split(" :: ")]
        first = _parse(halves[0], address, words)
        if len(halves) == 2:
            first.second = _parse(halves[1], address, words)
            first.text = match[1]
        instructions[address] = first
    return instructions
