"""Loading of code objects: segments, kernel descriptors, instructions."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from .disassembly import MachineError, MachineInstruction, disassemble, parse

_SHT_PROGBITS, _SHT_NOBITS, _SHT_DYNSYM = 1, 8, 11
_SHF_WRITE, _SHF_ALLOC, _SHF_EXECINSTR = 1, 2, 4
_STT_OBJECT = 1


@dataclass
class KernelDescriptor:
    """A kernel's descriptor (LLVM, "Code Object V3 Kernel Descriptor")."""

    entry: int
    shared_bytes: int
    scratch_bytes: int
    kernarg_bytes: int
    vector_registers: int
    rsrc2: int
    properties: int


class CodeObject:
    """A loaded code object.

    Attributes: `chip`, `kernels` (by name), `instructions` (by address),
    `variables` (the address of each, by name) and `lanes`, the wave's size.
    """

    def __init__(self, image: bytes) -> None:
        """Loads an HSACO.

        Raises:
            MachineError: it is none, or needs what is not simulated.
        """
        self.image = image
        self.chip, found = disassemble(image)
        self.generation = 9 if self.chip.startswith("gfx9") else int(self.chip[3:5])
        self.lanes = 64 if self.generation == 9 else 32
        self.kernels: dict[str, KernelDescriptor] = {}
        self.variables: dict[str, int] = {}
        sections = self._read_sections()
        self._read_symbols(sections)
        self.instructions: dict[int, MachineInstruction] = {}
        for address, size, text, timing in found:
            place = self._get_offset(address, sections)
            words = list(struct.unpack_from(f"<{size // 4}I", image, place))
            self.instructions[address] = parse(address, words, text, timing)

    def _read_sections(self) -> list[tuple[int, ...]]:
        (offset,) = struct.unpack_from("<Q", self.image, 40)
        entry_size, count = struct.unpack_from("<HH", self.image, 58)
        return [
            struct.unpack_from("<IIQQQQIIQQ", self.image, offset + i * entry_size)
            for i in range(count)
        ]

    def _read_symbols(self, sections: list[tuple[int, ...]]) -> None:
        for _, kind, _, _, start, size, link, _, _, step in sections:
            if kind != _SHT_DYNSYM:
                continue
            names = sections[link][4]
            for at in range(start, start + size, step):
                name, info, _, _, value, _ = struct.unpack_from(
                    "<IBBHQQ", self.image, at
                )
                end = self.image.index(b"\0", names + name)
                symbol = self.image[names + name : end].decode()
                if symbol.endswith(".kd"):
                    place = self._get_offset(value, sections)
                    self.kernels[symbol[:-3]] = self._read_descriptor(place, value)
                elif info & 15 == _STT_OBJECT:
                    self.variables[symbol] = value

    def load_data(self) -> list[tuple[int, np.ndarray]]:
        """What a loader puts into memory besides the code: addresses and contents."""
        data = []
        for _, kind, flags, start, offset, size, *_ in self._read_sections():
            if not flags & _SHF_ALLOC or flags & _SHF_EXECINSTR or not size:
                continue
            if kind == _SHT_NOBITS:
                content = np.zeros(size, np.uint8)
            elif kind == _SHT_PROGBITS:
                content = np.frombuffer(self.image, np.uint8, size, offset).copy()
            else:
                continue
            content.flags.writeable = bool(flags & _SHF_WRITE)
            data.append((start, content))
        return data

    @staticmethod
    def _get_offset(address: int, sections: list[tuple[int, ...]]) -> int:
        for _, kind, _, start, offset, size, *_ in sections:
            if kind == _SHT_PROGBITS and start <= address < start + size:
                return offset + address - start
        raise MachineError(f"no section holds address {address:#x}")

    def _read_descriptor(self, offset: int, address: int) -> KernelDescriptor:
        shared, scratch, kernarg = struct.unpack_from("<III", self.image, offset)
        (entry,) = struct.unpack_from("<q", self.image, offset + 16)
        rsrc1, rsrc2, properties, preload = struct.unpack_from(
            "<IIHH", self.image, offset + 48
        )
        if preload:
            raise MachineError("preloaded kernel arguments are not simulated")
        return KernelDescriptor(
            address + entry,
            shared,
            scratch,
            kernarg,
            # In units of 8 registers on the chips with a unified file (gfx90a on).
            8 * ((rsrc1 & 63) + 1),
            rsrc2,
            properties,
        )
