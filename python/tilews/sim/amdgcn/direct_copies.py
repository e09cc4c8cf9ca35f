"""Loads of buffer resources that write shared memory, not registers (gfx950).

Lane l writes at the place that M0 and the instruction's offset give, plus l times the
bytes of a lane. Lanes out of range write zeros ("CDNA4" ISA, "Memory Buffer Load to
LDS"). That manual gives M0 sixteen bits; compilers rely on all that 160 KiB need.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .buffer_ops import BufferCompiler
from .disassembly import MachineError, MachineInstruction
from .memory import SharedMemory
from .queues import Access, Width
from .registers import M0, Operand, Wave

#: Bytes that shared memory takes in a cycle from a load.
_BYTES_OF_CYCLE = 128
#: The bytes of a lane that chips can copy.
_SIZES = {"gfx950": (4, 12, 16)}


def compile_copy(
    inst: MachineInstruction,
    operands: list[Operand],
    chip: str,
    buffers: BufferCompiler,
    get_shared: Callable[[], SharedMemory],
) -> Callable[[Wave], Access] | None:
    """A function that makes the access of a copy; None if `inst` is unknown.

    Args:
        inst: the instruction.
        operands: its operands.
        chip: such as ``gfx950``.
        buffers: computes places in global memory.
        get_shared: the shared memory of the block that is executed.
    """
    kind, _, rest = inst.name.removeprefix("buffer_").partition("_")
    width = Width.parse(rest)
    if kind != "load" or width is None or len(operands) != 3:
        return None
    size = width.size
    if size not in _SIZES.get(chip, (4,)):
        raise MachineError(f"{chip} does not copy {size} bytes of a lane")
    get_places = buffers.get_places(inst, operands, size)
    offset = int(inst.modifiers.get("offset", "0"), 0)
    memory, lanes = buffers.memory, buffers.lanes

    def make(wave: Wave) -> Access:
        mask = wave.get_exec().copy()
        sources, shared = get_places(wave, mask), get_shared()
        places = (int(wave.s[M0]) + offset + np.arange(lanes) * size)[mask]
        loaded: list[np.ndarray] = []
        shared.begin_copy(places, size)
        if wave.recorded:
            wave.recorded[-1].shared_cycles = -(-lanes * size // _BYTES_OF_CYCLE)

        def land() -> None:
            while loaded:
                shared.land(places, loaded.pop())

        def complete() -> None:
            land()
            shared.end_copy(places, size)

        return Access(
            "load",
            lambda: loaded.append(sources.load(memory, size)),
            complete,
            land=land,
        )

    return make
