"""The lines of a code object's source, as llvm-dwarfdump prints them."""

import re
import shutil
import subprocess
from dataclasses import dataclass

_FILE = re.compile(r'^file_names\[ *(\d+)\]:\n *name: "(.*)"', re.M)
_ROW = re.compile(r"^0x([0-9a-f]{16}) +(\d+) +\d+ +(\d+) +(.*)$", re.M)


@dataclass(frozen=True)
class LineRow:
    """A row: from this address on, instructions are from a line of a file."""

    address: int
    line: int
    file: str
    #: Whether it is the end of a piece of code, and no line.
    ends: bool


def find_dwarfdump() -> str:
    """Path of llvm-dwarfdump; raises FileNotFoundError."""
    for name in ("/usr/lib/llvm-22/bin/llvm-dwarfdump", "llvm-dwarfdump-22"):
        path = shutil.which(name)
        if path:
            return path
    raise FileNotFoundError("llvm-dwarfdump of LLVM 22 is not installed")


def dump(image: bytes, section: str) -> str:
    """The text of one section of DWARF, such as `line` or `info`."""
    command = [find_dwarfdump(), f"--debug-{section}", "-"]
    return subprocess.run(
        command, input=image, check=True, capture_output=True
    ).stdout.decode()


def read_line_table(image: bytes) -> list[LineRow]:
    """The table of lines of a code object; empty if it has none."""
    text = dump(image, "line")
    files = {int(found[1]): found[2] for found in _FILE.finditer(text)}
    return [
        LineRow(int(row[1], 16), int(row[2]), files[int(row[3])], "end_seq" in row[4])
        for row in _ROW.finditer(text)
    ]


def find_line(table: list[LineRow], address: int) -> str | None:
    """The place `file:line` of the instruction at an address; None if not known."""
    before = [row for row in table if row.address <= address]
    # Line 0 stands for none.
    if not before or before[-1].ends or not before[-1].line:
        return None
    return f"{before[-1].file}:{before[-1].line}"
