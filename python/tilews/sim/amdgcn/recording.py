"""What a block executed: instructions of its waves, and their use of shared memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from .disassembly import MachineInstruction


@dataclass
class ExecutedInstruction:
    """An instruction that a wave executed.

    Attributes:
        instruction: it.
        shared_cycles: how long its accesses occupy the shared memory; 0 if it has none.
    """

    instruction: MachineInstruction
    shared_cycles: int = 0


@dataclass
class Recording:
    """What the waves of one block executed, in order.

    Attributes:
        chip: such as ``gfx942``.
        waves: the instructions of each wave.
        vector_registers: of a lane, both kinds.
        shared_bytes: of the block.
    """

    chip: str
    waves: list[list[ExecutedInstruction]] = field(default_factory=list)
    vector_registers: int = 0
    shared_bytes: int = 0
