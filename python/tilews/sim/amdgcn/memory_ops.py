"""Loads, stores and atomics of global and shared memory."""

import functools
import re
from collections.abc import Callable, Sequence

import numpy as np

from ...layout import bank_conflicts
from .atomic_ops import Atomic
from .buffer_ops import BufferCompiler
from .direct_copies import compile_copy
from .disassembly import MachineError, MachineInstruction
from .memory import GlobalMemory, SharedMemory
from .queues import Access, AccessQueues, Width, get, nothing, put
from .registers import Operand, Wave, read_scalar, read_vector

Step = Callable[[Wave], None]


_HARMLESS = ("nt", "sc0", "sc1", "glc", "slc", "dlc", "th", "scope", "gds")


def _call_all(functions: Sequence[Callable[[], None]]) -> None:
    for function in functions:
        function()


class MemoryCompiler:
    """Makes functions of the instructions that access memory."""

    def __init__(
        self, chip: str, lanes: int, generation: int, memory: GlobalMemory
    ) -> None:
        self.chip = chip
        self.lanes, self.generation, self.memory = lanes, generation, memory
        # gfx9 counts stores with loads; later chips have separate counters.
        self.store_counter = "load" if generation == 9 else "store"
        self.queues: dict[int, AccessQueues] = {}
        self.shared = SharedMemory(0)
        self.buffers = BufferCompiler(lanes, generation, memory)

    def compile(self, inst: MachineInstruction) -> Step | None:
        """The function of `inst`; None if the instruction is unknown."""
        operands = [Operand(text) for text in inst.operands]
        if inst.name.startswith("buffer_"):
            if "lds" in inst.modifiers:
                return self._direct_copy(inst, operands)
            self._check(inst, ("offset", "offen", "idxen"))
            return self.buffers.compile(inst, operands, self.queues)
        match = re.fullmatch(r"ds_read_b64_tr_b(8|16)", inst.name)
        if match:
            return self._transposed(inst, int(match[1]) // 8, operands)
        match = re.fullmatch(r"(global|ds|s)_(load|read|store|write)_(\w+)", inst.name)
        if match:
            space, kind, rest = match.groups()
            loads = kind in ("load", "read")
            if space == "s":
                return self._scalar_load(inst, rest, operands) if loads else None
            if space == "ds" and rest.split("_")[0] in ("2addr", "2st64"):
                rest = rest.split("_", 1)[1]
                unit = 64 if "2st64" in inst.name or "stride64" in rest else 1
                return self._shared_two(
                    inst, rest.replace("stride64_", ""), operands, loads, unit
                )
            width = Width.parse(rest)
            if width is None:
                return None
            if space == "global":
                return self._global(inst, width, operands, loads)
            return self._shared_one(inst, width, operands, loads)
        match = re.fullmatch(r"ds_(read|write)2(st64)?_(b32|b64)", inst.name)
        if match:
            unit = 64 if match[2] else 1
            return self._shared_two(inst, match[3], operands, match[1] == "read", unit)
        atomic = Atomic.parse(inst, operands)
        if atomic:
            return self._atomic(inst, atomic)
        if inst.name in ("ds_bpermute_b32", "ds_permute_b32", "ds_swizzle_b32"):
            return self._exchange(inst, operands)
        return None

    def _check(self, inst: MachineInstruction, known: tuple[str, ...]) -> None:
        for key in inst.modifiers:
            if key not in known and key not in _HARMLESS:
                raise MachineError(f"unknown modifier '{key}' in '{inst.text}'")

    # ----------------------------------------------------------------- global

    def _global(
        self,
        inst: MachineInstruction,
        width: Width,
        operands: list[Operand],
        loads: bool,
    ) -> Step:
        self._check(inst, ("offset",))
        address, base = operands[1 if loads else 0], operands[2]
        data = operands[0 if loads else 1]
        get_places = self._get_places(inst, address, base)
        registers = list(range(data.first, data.first + max(width.size // 4, 1)))

        def step(wave: Wave) -> None:
            mask = wave.get_exec().copy()
            places = get_places(wave)[mask]
            if loads:
                access = self._make_load(
                    "load", self.memory, places, width, wave, data.first, mask
                )
                access.vectors = registers
            else:
                values = get(wave, data, width, mask)
                access = Access(
                    self.store_counter,
                    lambda: self.memory.store(places, values),
                    lambda: None,
                )
            self.queues[wave.index].issue("vm", access)

        return step

    def _get_places(
        self, inst: MachineInstruction, address: Operand, base: Operand
    ) -> Callable[[Wave], np.ndarray]:
        """A function that computes each lane's address in global memory."""
        offset = int(inst.modifiers.get("offset", "0"), 0)
        delta = np.uint64(offset & 0xFFFFFFFFFFFFFFFF)
        if base.text == "off":
            vector = read_vector(address, "u64", self.lanes)
            return lambda wave: vector(wave) + delta
        scalar = read_scalar(base, "u64")
        low = read_vector(address, "u32", self.lanes)
        return lambda wave: (
            low(wave).astype(np.uint64) + (np.uint64(scalar(wave)) + delta)
        )

    def _atomic(self, inst: MachineInstruction, atomic: Atomic) -> Step:
        self._check(inst, ("offset",))
        is_global = atomic.base is not None
        get_places = (
            self._get_places(inst, atomic.address, atomic.base)
            if atomic.base
            else self._get_shared_places(inst, atomic.address)
        )
        dest = atomic.dest
        width = Width(atomic.size, signed=False, half=False, high=False)

        def step(wave: Wave) -> None:
            mask = wave.get_exec().copy()
            places, data = get_places(wave)[mask], atomic.read(wave, mask)
            memory = self.memory if is_global else self.shared
            before: list[np.ndarray] = []

            def perform() -> None:
                before.append(atomic.perform(memory, places, data))

            def complete() -> None:
                if dest is not None:
                    put(wave, dest.first, width, mask, before[0])

            counter = "load" if dest is not None else self.store_counter
            access = Access(counter if is_global else "ds", perform, complete)
            access.vectors = dest.vectors if dest is not None else []
            self.queues[wave.index].issue("vm" if is_global else "ds", access)

        return step

    def _get_shared_places(
        self, inst: MachineInstruction, address: Operand
    ) -> Callable[[Wave], np.ndarray]:
        """A function that computes each lane's address in shared memory."""
        offset = int(inst.modifiers.get("offset", "0"), 0)
        vector = read_vector(address, "u32", self.lanes)
        return lambda wave: vector(wave).astype(np.int64) + offset

    @staticmethod
    def _make_load(
        counter: str,
        memory: GlobalMemory | SharedMemory,
        places: np.ndarray,
        width: Width,
        wave: Wave,
        first: int,
        mask: np.ndarray,
    ) -> Access:
        loaded: list[np.ndarray] = []
        return Access(
            counter,
            lambda: loaded.append(memory.load(places, width.size)),
            lambda: put(wave, first, width, mask, loaded[0]),
        )

    def _scalar_load(
        self, inst: MachineInstruction, rest: str, operands: list[Operand]
    ) -> Step | None:
        width = Width.parse(rest)
        if width is None:
            return None
        self._check(inst, ("offset",))
        base, extra = read_scalar(operands[1], "u64"), read_scalar(operands[2])
        offset = int(inst.modifiers.get("offset", "0"), 0)
        first, count = operands[0].first, max(width.size // 4, 1)
        unit = min(width.size, 4)
        kind = np.dtype(f"{'i' if width.signed else 'u'}{unit}")

        def step(wave: Wave) -> None:
            place = np.array([base(wave) + extra(wave) + offset], np.uint64)
            loaded: list[np.ndarray] = []

            def perform() -> None:
                words = [
                    self.memory.load(place + np.uint64(4 * i), unit)
                    for i in range(count)
                ]
                loaded.extend(words)

            def complete() -> None:
                for i, word in enumerate(loaded):
                    wave.s[first + i] = int(word.view(kind)[0, 0]) & 0xFFFFFFFF

            registers = list(range(first, first + count))
            access = Access("sm", perform, complete, scalars=registers)
            self.queues[wave.index].issue("sm", access)

        return step

    # ----------------------------------------------------------------- shared

    def _shared_one(
        self,
        inst: MachineInstruction,
        width: Width,
        operands: list[Operand],
        loads: bool,
    ) -> Step:
        self._check(inst, ("offset",))
        offset = int(inst.modifiers.get("offset", "0"), 0)
        return self._shared(width, operands, loads, [offset])

    def _shared_two(
        self,
        inst: MachineInstruction,
        rest: str,
        operands: list[Operand],
        loads: bool,
        unit: int,
    ) -> Step | None:
        width = Width.parse(rest)
        if width is None:
            return None
        self._check(inst, ("offset0", "offset1"))
        offsets = [
            int(inst.modifiers.get(key, "0"), 0) * unit * width.size
            for key in ("offset0", "offset1")
        ]
        return self._shared(width, operands, loads, offsets)

    def _shared(
        self, width: Width, operands: list[Operand], loads: bool, offsets: list[int]
    ) -> Step:
        address = read_vector(operands[1 if loads else 0], "u32", self.lanes)
        words = max(width.size // 4, 1)
        first = operands[0].first
        registers = list(range(first, first + words * len(offsets)))
        data = operands[1:]

        def step(wave: Wave) -> None:
            mask = wave.get_exec().copy()
            base = address(wave).astype(np.int64)[mask]
            shared, parts = self.shared, []
            for i, offset in enumerate(offsets):
                # Sums wrap around: LLVM splits 4 * (5 - i) into -4 * i and 20.
                places = (base + offset) & 0xFFFFFFFF
                if loads:
                    dest = first + i * words
                    part = self._make_load(
                        "ds", shared, places, width, wave, dest, mask
                    )
                    parts.append((part.perform, part.complete))
                else:
                    values = get(wave, data[i], width, mask)
                    parts.append((_make_store(shared, places, values), nothing))
            access = Access(
                "ds",
                functools.partial(_call_all, [perform for perform, _ in parts]),
                functools.partial(_call_all, [complete for _, complete in parts]),
            )
            access.vectors = registers if loads else []
            if wave.recorded:
                wave.recorded[-1].shared_cycles = sum(
                    self._count_cycles(base + each, width.size, not loads, mask)
                    for each in offsets
                )
            self.queues[wave.index].issue("ds", access)

        return step

    def _direct_copy(
        self, inst: MachineInstruction, operands: list[Operand]
    ) -> Step | None:
        """A load that writes shared memory."""
        self._check(inst, ("offset", "offen", "idxen", "lds"))
        make = compile_copy(
            inst, operands, self.chip, self.buffers, lambda: self.shared
        )
        if make is None:
            return None
        return lambda wave: self.queues[wave.index].issue("vm", make(wave))

    def _transposed(
        self, inst: MachineInstruction, size: int, operands: list[Operand]
    ) -> Step:
        """Each 16 lanes read a matrix, a row of which is 16 elements, and transpose it
        ("CDNA4" ISA, "MFMA Transpose Load from LDS").
        """
        self._check(inst, ("offset",))
        get_places = self._get_shared_places(inst, operands[1])
        first, count = operands[0].first, 8 // size

        def step(wave: Wave) -> None:
            if not wave.get_exec().all():
                raise MachineError(f"'{inst.text}' with inactive lanes")
            shared, places = self.shared, get_places(wave) & 0xFFFFFFFF
            if (places % 8).any():
                raise MachineError(f"'{inst.text}' at a place that 8 does not divide")
            loaded: list[np.ndarray] = []

            def complete() -> None:
                rows = loaded[0].reshape(self.lanes // 16, count, 16, size)
                columns = rows.transpose(0, 2, 1, 3).reshape(self.lanes, 8)
                words = np.ascontiguousarray(columns).view(np.uint32)
                wave.v[first][:], wave.v[first + 1][:] = words[:, 0], words[:, 1]

            access = Access(
                "ds", lambda: loaded.append(shared.load(places, 8)), complete
            )
            access.vectors = [first, first + 1]
            if wave.recorded:
                every = np.ones(self.lanes, bool)
                cycles = self._count_cycles(places, 8, False, every)
                wave.recorded[-1].shared_cycles = cycles
            self.queues[wave.index].issue("ds", access)

        return step

    def _count_cycles(
        self, places: np.ndarray, size: int, is_write: bool, active: np.ndarray
    ) -> int:
        """The cycles for which an access occupies the shared memory."""
        part = size if size in (1, 2, 4, 8, 16) else 4
        offsets = np.full(len(active), -1)
        cycles = 0
        for first in range(0, size, part):
            # The banks of an access that is not aligned are nearly those of one.
            offsets[active] = (places + first) // part * part
            found = bank_conflicts(offsets.tolist(), part, self.chip, is_write)
            cycles += found["wavefronts"]
        return cycles

    def _get_swizzle(self, inst: MachineInstruction, text: str) -> np.ndarray:
        """The source lane of each lane."""
        lanes = np.arange(self.lanes)
        if match := re.fullmatch(r"swizzle\(SWAP,(\d+)\)", text):
            return lanes ^ int(match[1])
        if match := re.fullmatch(r"swizzle\(REVERSE,(\d+)\)", text):
            return lanes ^ (int(match[1]) - 1)
        if match := re.fullmatch(r'swizzle\(BITMASK_PERM,"([pi]{5})"\)', text):
            return lanes ^ int(match[1].replace("p", "0").replace("i", "1"), 2)
        raise MachineError(f"unknown swizzle in '{inst.text}'")

    def _exchange(self, inst: MachineInstruction, operands: list[Operand]) -> Step:
        """ds_bpermute and ds_swizzle: lanes read each other's registers."""
        self._check(inst, ("offset",))
        dest = operands[0].first
        text = inst.modifiers.get("offset", "0")
        if inst.name == "ds_swizzle_b32":
            value = read_vector(operands[1], "u32", self.lanes)
            fixed = self._get_swizzle(inst, text)
            get_source = lambda wave: fixed  # noqa: E731
        elif inst.name == "ds_bpermute_b32":
            index = read_vector(operands[1], "u32", self.lanes)
            value = read_vector(operands[2], "u32", self.lanes)
            offset = int(text, 0)
            get_source = lambda wave: (  # noqa: E731
                (index(wave).astype(np.int64) + offset) // 4 % self.lanes
            )
        else:
            raise MachineError(f"unknown instruction '{inst.text}'")

        def step(wave: Wave) -> None:
            mask, source = wave.get_exec().copy(), get_source(wave)
            if not mask[source][mask].all():
                raise MachineError(f"'{inst.text}' reads an inactive lane")
            result = value(wave)[source]

            def complete() -> None:
                wave.v[dest][mask] = result[mask]

            access = Access("ds", lambda: None, complete, vectors=[dest])
            self.queues[wave.index].issue("ds", access)

        return step


def _make_store(
    shared: SharedMemory, places: np.ndarray, values: np.ndarray
) -> Callable[[], None]:
    return lambda: shared.store(places, values)
