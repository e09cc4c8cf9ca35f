"""Buffer instructions: accesses by a resource whose bounds the hardware checks.

A lane's offset is that of the instruction plus, with `offen`, that of a register;
with `idxen` a register also selects a record of the resource's stride. A load out of
range gives zeros, a store or an atomic does nothing ("CDNA3" ISA, "Range Checking";
"RDNA3" and "RDNA4" ISA, "Range Checking", with the field OOB_SELECT).

Each word of a load or a store is checked by itself. A word that the end of the range
cuts is an error: what happens differs between chips.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .atomic_ops import Atomic
from .disassembly import MachineError, MachineInstruction
from .memory import GlobalMemory
from .queues import Access, AccessQueues, Width, get, nothing, put
from .registers import Operand, Wave, read_scalar, read_vector


@dataclass
class Resource:
    """The fields of a buffer resource, four words."""

    base: int
    stride: int
    records: int
    #: What is compared: 0 to 3, as OOB_SELECT.
    select: int

    @staticmethod
    def parse(words: list[int], generation: int) -> "Resource":
        """Raises MachineError for fields that are not simulated, or not valid."""
        flags = words[3]
        stride = words[1] >> 16 & 0x3FFF
        if generation == 9:
            swizzles = words[1] >> 31
            formats = flags >> 15 & 15  # a data format of 0 is no resource
            select = 0 if stride else 3
        else:
            swizzles = words[1] >> 30
            formats = flags >> 12 & 63
            select = flags >> 28 & 3
        if swizzles or flags >> 23 & 1 or flags >> 30 or not formats:
            raise MachineError(f"unknown buffer resource, flags {flags:#x}")
        base = words[0] | (words[1] & 0xFFFF) << 32
        return Resource(base, stride, words[2], select)

    def is_inside(self, index: np.ndarray, offset: np.ndarray, size: int) -> np.ndarray:
        """Whether `size` bytes at `offset` of a record are in range.

        Raises MachineError if the end of the range cuts them.
        """
        if self.select == 3:
            end, place = self.records, offset
        elif self.select == 0:
            end, place = self.stride, offset
        else:
            raise MachineError(f"OOB_SELECT {self.select} is not simulated")
        inside = place < end
        if self.select == 0:
            inside &= index < self.records
        if (inside & (place + size > end)).any():
            raise MachineError(f"the end of a buffer, {end}, cuts a word")
        return inside


@dataclass
class BufferPlaces:
    """The addresses of the active lanes, and which of their words are in range."""

    addresses: np.ndarray
    inside: np.ndarray

    def load(self, memory: GlobalMemory, size: int) -> np.ndarray:
        """Bytes at each address, zero out of range, shape (n, size)."""
        loaded = np.zeros((len(self.addresses), size), np.uint8)
        word = size // self.inside.shape[1]
        for i, inside in enumerate(self.inside.T):
            addresses = self.addresses[inside] + np.uint64(i * word)
            loaded[inside, i * word : (i + 1) * word] = memory.load(addresses, word)
        return loaded

    def store(self, memory: GlobalMemory, data: np.ndarray) -> None:
        word = data.shape[1] // self.inside.shape[1]
        for i, inside in enumerate(self.inside.T):
            addresses = self.addresses[inside] + np.uint64(i * word)
            memory.store(addresses, data[inside, i * word : (i + 1) * word])

    def update(
        self, memory: GlobalMemory, atomic: Atomic, data: np.ndarray
    ) -> np.ndarray:
        """Performs an atomic; returns the old contents, zero out of range."""
        before = np.zeros((len(self.addresses), atomic.size), np.uint8)
        inside = self.inside.all(axis=1)
        addresses = self.addresses[inside]
        before[inside] = atomic.perform(memory, addresses, data[inside])
        return before


class BufferCompiler:
    """Makes functions of buffer instructions."""

    def __init__(self, lanes: int, generation: int, memory: GlobalMemory) -> None:
        self.lanes, self.generation, self.memory = lanes, generation, memory
        # gfx9 counts stores with loads; later chips have separate counters.
        self.store_counter = "load" if generation == 9 else "store"

    def compile(
        self,
        inst: MachineInstruction,
        operands: list[Operand],
        queues: dict[int, AccessQueues],
    ) -> Callable[[Wave], None] | None:
        """The function of `inst`; None if the instruction is unknown.

        Args:
            inst: the instruction.
            operands: its operands.
            queues: the pending accesses of each wave.
        """
        match = re.fullmatch(r"buffer_(load|store|atomic)_(\w+)", inst.name)
        if not match or len(operands) != 4:
            return None
        if match[1] == "atomic":
            make = self._get_atomic(inst, operands)
        else:
            make = self._get_access(inst, match[1] == "load", match[2], operands)
        if make is None:
            return None
        return lambda wave: queues[wave.index].issue("vm", make(wave))

    def _get_access(
        self, inst: MachineInstruction, loads: bool, name: str, operands: list[Operand]
    ) -> Callable[[Wave], Access] | None:
        """A function that makes a load or a store."""
        width, data = Width.parse(name), operands[0]
        if width is None:
            return None
        size = width.size
        get_places = self.get_places(inst, operands[1:], size)
        registers = list(range(data.first, data.first + max(size // 4, 1)))

        def make(wave: Wave) -> Access:
            mask = wave.get_exec().copy()
            places = get_places(wave, mask)
            if not loads:
                values = get(wave, data, width, mask)
                return Access(
                    self.store_counter,
                    lambda: places.store(self.memory, values),
                    nothing,
                )
            loaded: list[np.ndarray] = []
            return Access(
                "load",
                lambda: loaded.append(places.load(self.memory, size)),
                lambda: put(wave, data.first, width, mask, loaded[0]),
                registers,
            )

        return make

    def _get_atomic(
        self, inst: MachineInstruction, operands: list[Operand]
    ) -> Callable[[Wave], Access] | None:
        """A function that makes an atomic."""
        atomic = Atomic.parse(inst, operands)
        if atomic is None:
            return None
        get_places = self.get_places(inst, operands[1:], atomic.size, parts=False)
        registers = atomic.result
        width = Width(atomic.size, signed=False, half=False, high=False)

        def make(wave: Wave) -> Access:
            mask = wave.get_exec().copy()
            places, data = get_places(wave, mask), atomic.read(wave, mask)
            before: list[np.ndarray] = []

            def complete() -> None:
                if registers:
                    put(wave, registers[0], width, mask, before[0])

            return Access(
                "load" if registers else self.store_counter,
                lambda: before.append(places.update(self.memory, atomic, data)),
                complete,
                registers,
            )

        return make

    def get_places(
        self,
        inst: MachineInstruction,
        operands: list[Operand],
        size: int,
        parts: bool = True,
    ) -> Callable[[Wave, np.ndarray], BufferPlaces]:
        """A function that computes the places of the active lanes.

        Args:
            inst: the instruction.
            operands: registers of the lane, resource, scalar offset.
            size: bytes of a lane's access.
            parts: whether each word is checked by itself.
        """
        lane, resource, scalar = operands
        constant = int(inst.modifiers.get("offset", "0"), 0)
        registers = [k for k in ("idxen", "offen") if k in inst.modifiers]
        if len(lane.vectors) != len(registers):
            raise MachineError(f"unknown address in '{inst.text}'")
        if resource.bank != "s" or resource.count != 4:
            raise MachineError(f"expected a resource, found '{resource.text}'")
        read = {
            key: read_vector(Operand(f"v{number}"), "u32", self.lanes)
            for key, number in zip(registers, lane.vectors, strict=True)
        }
        read_base = read_scalar(scalar)
        count = max(size // 4, 1) if parts else 1
        word = size // count

        def find(wave: Wave, mask: np.ndarray) -> BufferPlaces:
            words = [wave.s[resource.first + i] for i in range(4)]
            fields = Resource.parse(words, self.generation)
            moved = read_base(wave)
            zero = np.zeros(self.lanes, np.uint32)
            index = read["idxen"](wave) if "idxen" in read else zero
            offset = read["offen"](wave) if "offen" in read else zero
            index, offset = index[mask].astype(np.int64), offset[mask].astype(np.int64)
            offset += constant
            # Only gfx9 takes the scalar offset from the range.
            checked = offset + (moved if self.generation == 9 else 0)
            inside = [
                fields.is_inside(index, checked + i * word, word) for i in range(count)
            ]
            addresses = fields.base + moved + index * fields.stride + offset
            addresses &= (1 << 48) - 1
            return BufferPlaces(addresses.astype(np.uint64), np.stack(inside, axis=1))

        return find
