"""Loading of code objects: segments, kernel descriptors, instructions."""

import struct
from dataclasses import dataclass
from pathlib import Path

from .disassembly import Instruction, MachineError, disassemble

# ELF machine flags (LLVM, "User Guide for AMDGPU Backend").
_CHIPS = {
    0x3F: "gfx90a",
    0x4C: "gfx942",
    0x4F: "gfx950",
    0x41: "gfx1100",
    0x46: "gfx1101",
    0x47: "gfx1102",
    0x48: "gfx1200",
    0x4E: "gfx1201",
}


@dataclass
class KernelDescriptor:
    """A kernel's descriptor (LLVM, "Code Object V3 Kernel Descriptor")."""

    entry: int
    shared_bytes: int
    scratch_bytes: int
    kernarg_bytes: int
    rsrc2: int
    properties: int


class CodeObject:
    """A loaded code object.

    Attributes: `chip`, `kernels` (by name), `instructions` (by address) and
    `lanes`, the wave's size.
    """

    def __init__(self, path: Path) -> None:
        self.image = path.read_bytes()
        flags = struct.unpack_from("<I", self.image, 48)[0]
        try:
            self.chip = _CHIPS[flags & 0xFF]
        except KeyError:
            raise MachineError(f"unknown chip, ELF flags {flags:#x}") from None
        self.generation = 9 if self.chip.startswith("gfx9") else int(self.chip[3:5])
        self.lanes = 64 if self.generation == 9 else 32
        self.kernels: dict[str, KernelDescriptor] = {}
        self._read_symbols()
        self.instructions: dict[int, Instruction] = disassemble(path)

    def _read_symbols(self) -> None:
        (offset,) = struct.unpack_from("<Q", self.image, 40)
        entry_size, count = struct.unpack_from("<HH", self.image, 58)
        sections = [
            struct.unpack_from("<IIQQQQIIQQ", self.image, offset + i * entry_size)
            for i in range(count)
        ]
        for _, kind, _, _, start, size, link, _, _, step in sections:
            if kind != 11:  # SHT_DYNSYM
                continue
            names = sections[link][4]
            for at in range(start, start + size, step):
                name, _, _, _, value, _ = struct.unpack_from("<IBBHQQ", self.image, at)
                end = self.image.index(b"\0", names + name)
                symbol = self.image[names + name : end].decode()
                if symbol.endswith(".kd"):
                    place = self._get_offset(value, sections)
                    self.kernels[symbol[:-3]] = self._read_descriptor(place, value)

    @staticmethod
    def _get_offset(address: int, sections: list[tuple]) -> int:
        for _, kind, _, start, offset, size, *_ in sections:
            if kind == 1 and start <= address < start + size:
                return offset + address - start
        raise MachineError(f"no section holds address {address:#x}")

    def _read_descriptor(self, offset: int, address: int) -> KernelDescriptor:
        shared, scratch, kernarg = struct.unpack_from("<III", self.image, offset)
        (entry,) = struct.unpack_from("<q", self.image, offset + 16)
        rsrc2, properties, preload = struct.unpack_from("<IHH", self.image, offset + 52)
        if preload:
            raise MachineError("preloaded kernel arguments are not simulated")
        return KernelDescriptor(
            address + entry, shared, scratch, kernarg, rsrc2, properties
        )
