"""Launches kernels of a code object: waves interleaved, and blocks that take long.

A block that executes many instructions may wait for another one, so that others run in
between. Blocks start in the order of their numbers, as on a GPU.
"""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .code_object import CodeObject, KernelDescriptor
from .disassembly import MachineError, MachineInstruction
from .line_table import find_line, read_line_table
from .matrix import MatrixCompiler
from .memory import GlobalMemory, HostMemory, SharedMemory
from .memory_ops import MemoryCompiler
from .queues import POLICIES, AccessQueues
from .recording import ExecutedInstruction, Recording
from .registers import Operand, Wave
from .scalar import ScalarCompiler
from .vector import VectorCompiler
from .vector_ops import get_ops

__all__ = ["KernelTrap", "MachineError", "Simulator"]

Step = Callable[[Wave], None]

#: Instructions whose effects the simulator does not model.
_IGNORED = re.compile(
    r"s_nop|s_sleep|s_setprio|s_delay_alu|s_clause|s_code_end|s_sendmsg|s_inst_prefetch"
    r"|s_set_inst_prefetch_distance|s_waitcnt_depctr|s_wait_alu|s_denorm_mode"
    r"|s_setreg_imm32_b32|s_version|s_wait_idle"
    r"|buffer_gl0_inv|buffer_gl1_inv|buffer_inv|buffer_invl2|buffer_wbl2|buffer_wbinvl1|buffer_wbinvl1_vol|global_inv|global_wb"
)

_COUNTERS = {
    "vmcnt": ("load",),
    "lgkmcnt": ("ds", "sm"),
    "vscnt": ("store",),
    "expcnt": (),
    "loadcnt": ("load",),
    "storecnt": ("store",),
    "dscnt": ("ds",),
    "kmcnt": ("sm",),
}

#: Bytes of the arguments that the runtime adds (LLVM, "Code Object V5").
_HIDDEN_BYTES = 256
#: The first address of host memory that variables point to, below those of buffers.
_HOST_REGION = 0x7E00_0000_0000
#: Instructions of a block until others run.
_SLICE = 4_000
#: The most blocks that run at the same time.
_MOST_RUNNING = 64
#: Instructions of a block in which a loop that waits has been repeated.
_LOOP_STEPS = 2_000


def _pass_barriers(waves: list[Wave]) -> None:
    """Ends waits for barriers that all waves have signalled, or have ended before."""
    signals = min((wave.signals for wave in waves if wave.state != "ended"), default=0)
    for wave in waves:
        if wave.state == "barrier" and wave.waits <= signals:
            wave.state = "ready"


@dataclass
class RunningBlock:
    """A block that was started, with what belongs to it alone."""

    place: tuple[int, int, int]
    waves: list[Wave]
    queues: list[AccessQueues]
    shared: SharedMemory

    @property
    def has_ended(self) -> bool:
        return all(wave.state == "ended" for wave in self.waves)


def _perform_all(blocks: list[RunningBlock]) -> None:
    """Performs all pending accesses, so that memory changes no more by itself."""
    for block in blocks:
        for queues in block.queues:
            for queue in queues.queues:
                queues.perform(queue)


def _run_blocks(
    starts: Iterator[RunningBlock],
    run: Callable[[RunningBlock, int], None],
    check_progress: Callable[[list[RunningBlock]], None],
) -> None:
    """Runs blocks until all have ended.

    Args:
        starts: makes the blocks.
        run: executes a number of instructions of a block, fewer if it ends.
        check_progress: raises an error if none of the blocks can go on.
    """
    running: list[RunningBlock] = []
    while True:
        started = next(starts, None) if len(running) < _MOST_RUNNING else None
        if started:
            running.append(started)
        if not running:
            return
        for block in running:
            run(block, _SLICE)
        count = len(running)
        running = [block for block in running if not block.has_ended]
        if not started and len(running) == count:
            check_progress(running)


class KernelTrap(Exception):
    """The kernel ended itself: an assertion does not hold."""


class Simulator:
    """Runs the kernels of one code object.

    `image` is an HSACO. `seed` chooses when the simulator switches waves. `policy` is
    when it performs memory accesses: ``earliest``, as soon as they are issued;
    ``latest``, when a wait orders them; or ``random``, which `seed` chooses, too.

    Raises:
        MachineError: `image` is no HSACO, or needs what is not simulated.
        ValueError: there is no such policy.
    """

    def __init__(self, image: bytes, seed: int = 0, policy: str = "random") -> None:
        if policy not in POLICIES:
            raise ValueError(
                f"policy: expected one of {', '.join(POLICIES)}, found {policy!r}"
            )
        self.code = CodeObject(image)
        self.rng = random.Random(seed)
        self.policy = policy
        code = self.code
        self.memory = GlobalMemory()
        self.memory.regions.extend(code.load_data())
        self.memory_compiler = MemoryCompiler(
            code.chip, code.lanes, code.generation, self.memory
        )
        self.compilers = (
            ScalarCompiler(),
            self.memory_compiler,
            MatrixCompiler(code.chip, code.generation),
            VectorCompiler(code.lanes, get_ops(code.chip)),
        )
        self.steps: dict[int, Step] = {}
        #: The block that is executed.
        self.block = (0, 0, 0)
        #: Gets what the waves execute, if it is set before a launch.
        self.recording: Recording | None = None
        #: Names of the instructions that were executed.
        self.executed: set[str] = set()

    def add_host_memory(self, variable: str, data: np.ndarray) -> None:
        """Stores the address of host memory, which all launches use, in a variable.

        Args:
            variable: its name in the code object.
            data: the memory, as bytes.
        """
        address = _HOST_REGION + (len(self.memory.regions) << 32)
        self.memory.regions.append((address, data))
        place = np.array([self.code.variables[variable]], np.uint64)
        self.memory.store(place, np.array([[address]], np.uint64).view(np.uint8))

    def launch(
        self,
        name: str,
        grid: tuple[int, ...],
        threads: int,
        arguments: list[Any],
        shared_bytes: int = 0,
        blocks: Iterable[tuple[int, int, int]] | None = None,
    ) -> None:
        """Runs kernel `name`. Arrays are changed in place.

        `arguments` are numpy arrays or other memory (passed as pointers) and numpy
        scalars, in the order of the kernel's parameters. `blocks` are those to run, by
        default all of the grid. If there is a :attr:`recording`, it gets what their
        waves execute.
        """
        kernel = self.code.kernels[name]
        if kernel.scratch_bytes:
            raise MachineError(f"{name} needs scratch memory")
        if threads % self.code.lanes:
            raise MachineError(f"{threads} threads are no whole number of waves")
        buffers = self.memory.buffers
        del buffers[:]
        packed = self._pack(arguments)
        explicit = len(packed)
        grid = (*grid, 1, 1)[:3]
        hidden = struct.pack("<IIIHHH", *grid, threads, 1, 1)
        packed += b"\0" * (-explicit % 8) + hidden.ljust(_HIDDEN_BYTES, b"\0")
        if kernel.kernarg_bytes > len(packed):
            raise MachineError(
                f"{name} takes {kernel.kernarg_bytes} bytes of arguments, "
                f"found {explicit}"
            )
        pointer = self.memory.add(np.frombuffer(packed, np.uint8))
        size = kernel.shared_bytes + shared_bytes
        if self.recording:
            self.recording.vector_registers = kernel.vector_registers
            self.recording.shared_bytes = size
        if blocks is None:
            blocks = (
                (x, y, z)
                for z in range(grid[2])
                for y in range(grid[1])
                for x in range(grid[0])
            )
        starts = (
            self._make_block(kernel, pointer, threads, size, block) for block in blocks
        )
        with np.errstate(all="ignore"):
            _run_blocks(starts, self._run_block, self._check_progress)

    def _pack(self, arguments: list[Any]) -> bytes:
        packed = b""
        for argument in arguments:
            if isinstance(argument, np.ndarray) and argument.ndim:
                argument = HostMemory.of(argument)
            if isinstance(argument, HostMemory):
                base = self.memory.add(argument.map())
                data = struct.pack("<Q", base - argument.first)
            else:
                data = np.asarray(argument).tobytes()
            packed += b"\0" * (-len(packed) % len(data)) + data
        return packed

    # ----------------------------------------------------------------- blocks

    def _make_block(
        self,
        kernel: KernelDescriptor,
        pointer: int,
        threads: int,
        shared_bytes: int,
        place: tuple[int, int, int],
    ) -> RunningBlock:
        waves = [
            self._make_wave(kernel, pointer, index, place)
            for index in range(threads // self.code.lanes)
        ]
        queues = [AccessQueues(wave, self.rng, self.policy) for wave in waves]
        return RunningBlock(place, waves, queues, SharedMemory(shared_bytes))

    def _make_wave(
        self,
        kernel: KernelDescriptor,
        pointer: int,
        index: int,
        block: tuple[int, int, int],
    ) -> Wave:
        wave = Wave(self.code.lanes, index)
        properties = kernel.properties
        if properties & 0b110110 or not properties & 8:
            raise MachineError(f"unknown kernel properties {properties:#x}")
        first = 4 if properties & 1 else 0  # a descriptor of scratch comes first
        wave.s[first], wave.s[first + 1] = pointer & 0xFFFFFFFF, pointer >> 32
        if self.code.generation >= 12:
            wave.s[108 + 9] = block[0]
            wave.s[108 + 7] = block[1] | block[2] << 16
        else:
            at = kernel.rsrc2 >> 1 & 31
            for axis in range(3):
                if kernel.rsrc2 >> 7 + axis & 1:
                    wave.s[at] = block[axis]
                    at += 1
        wave.v[0] = np.arange(self.code.lanes) + index * self.code.lanes
        wave.pc = kernel.entry
        if self.recording:
            wave.recorded = []
            self.recording.waves.append(wave.recorded)
        return wave

    def _enter(self, block: RunningBlock) -> None:
        self.block = block.place
        self.memory_compiler.shared = block.shared
        self.memory_compiler.queues.update(enumerate(block.queues))

    def _choose_wave(self, block: RunningBlock) -> Wave:
        _pass_barriers(block.waves)
        ready = [wave for wave in block.waves if wave.state == "ready"]
        if not ready:
            raise MachineError(
                f"deadlock in block {block.place}: waves wait at a barrier that other "
                "waves do not signal, because they wait at one, too"
            )
        return self.rng.choice(ready)

    def _run_block(self, block: RunningBlock, budget: int) -> None:
        """Executes about `budget` instructions of a block, unless it ends before."""
        self._enter(block)
        while budget > 0 and not block.has_ended:
            step = self.rng.randint(1, 200)
            self._run_wave(self._choose_wave(block), step)
            budget -= step

    def _check_progress(self, running: list[RunningBlock]) -> None:
        """Refuses blocks that repeat loops while none changes memory."""
        _perform_all(running)
        before = self.memory.copy()
        known, repeated = (
            [self._get_loop_states(block) for block in running] for _ in range(2)
        )
        _perform_all(running)
        is_stuck = all(
            later and later <= earlier
            for earlier, later in zip(known, repeated, strict=True)
        )
        if is_stuck and self.memory.equals(before):
            lines = read_line_table(self.code.image)
            addresses = sorted(address for _, address, _ in repeated[0])
            places = filter(None, (find_line(lines, address) for address in addresses))
            raise MachineError(
                f"the kernel hangs: block {running[0].place} repeats the loop at "
                f"{next(places, hex(addresses[0]))}, and no block of {len(running)} "
                "that run at the same time changes memory any more"
            )

    def _get_loop_states(self, block: RunningBlock) -> set[tuple[int, int, int]]:
        """The states of waves where they start a loop again; none if the block ends."""
        self._enter(block)
        found: set[tuple[int, int, int]] = set()
        for _ in range(_LOOP_STEPS):
            if block.has_ended:
                return set()
            wave = self._choose_wave(block)
            before = wave.pc
            self._run_wave(wave, 1)
            if wave.pc < before:
                found.add((wave.index, wave.pc, wave.get_digest()))
        return found

    def _run_wave(self, wave: Wave, budget: int) -> None:
        steps, instructions = self.steps, self.code.instructions
        while budget and wave.state == "ready":
            budget -= 1
            pc = wave.pc
            inst = instructions.get(pc)
            if inst is None:
                raise MachineError(f"no instruction at {pc:#x}")
            step = steps.get(pc)
            try:
                if step is None:
                    step = steps[pc] = self._compile(inst)
                wave.pc = pc + inst.size
                if wave.recorded is not None:
                    wave.recorded.append(ExecutedInstruction(inst))
                step(wave)
            except (MachineError, NotImplementedError) as error:
                raise MachineError(
                    f"at {pc:#x}, wave {wave.index}: '{inst.text}': {error}"
                ) from error

    # ----------------------------------------------------------- instructions

    def _compile(self, inst: MachineInstruction) -> Step:
        self.executed.add(inst.name)
        step = self._compile_control(inst)
        if step:
            return step
        for compiler in self.compilers:
            step = compiler.compile(inst)
            if step:
                return self._guard(inst, step)
        raise MachineError("unknown instruction")

    @staticmethod
    def _guard(inst: MachineInstruction, step: Step) -> Step:
        """Refuses registers that a pending load will write."""
        halves = [inst] + ([inst.second] if inst.second else [])
        operands = [Operand(text) for half in halves for text in half.operands]
        arriving: list[int] = []
        is_copy = "lds" in inst.modifiers
        if inst.name.startswith(("global_load_", "buffer_load_")) and not is_copy:
            # Loads arrive in order: the later one has the last word.
            arriving = operands.pop(0).vectors
        elif "_load_" in inst.name and "d16" in inst.name:
            del operands[0]  # loads of two halves arrive in order
        vectors = [r for operand in operands for r in operand.vectors]
        scalars = [r for operand in operands for r in operand.scalars]

        def guarded(wave: Wave) -> None:
            if wave.pending_v or wave.pending_s:
                unordered = [r for r in arriving if r not in wave.pending_vm]
                wave.check(vectors + unordered, scalars)
            step(wave)

        return guarded

    def _compile_control(self, inst: MachineInstruction) -> Step | None:
        name = inst.name
        if _IGNORED.fullmatch(name):
            return lambda wave: None
        if name == "s_trap":
            return self._trap(inst)
        if name == "s_endpgm":
            return self._end
        if name == "s_barrier":
            return self._barrier
        if name in ("s_barrier_signal", "s_barrier_wait"):
            if inst.operands not in (["-1"], ["0xffff"]):
                raise MachineError("only the barrier of the block is simulated")
            return (
                self._signal if name == "s_barrier_signal" else self._wait_for_signals
            )
        if name.startswith(("s_waitcnt", "s_wait_")):
            return self._wait(inst)
        return None

    def _trap(self, inst: MachineInstruction) -> Step:
        """The end of a kernel with an assertion that does not hold."""
        if inst.operands != ["2"]:
            raise MachineError("unknown trap")
        place = find_line(read_line_table(self.code.image), inst.address)

        def fail(wave: Wave) -> None:
            raise KernelTrap(
                f"the assertion at {place or 'an unknown line'} failed "
                f"in block {self.block}"
            )

        return fail

    def _get_queues(self, wave: Wave) -> AccessQueues:
        return self.memory_compiler.queues[wave.index]

    def _end(self, wave: Wave) -> None:
        queues = self._get_queues(wave)
        for queue in queues.queues:
            queues.perform(queue)
        wave.state = "ended"

    def _barrier(self, wave: Wave) -> None:
        if self.code.generation == 9:
            # The waves of a block share a cache, which sees accesses in order.
            self._get_queues(wave).perform("vm")
        self._signal(wave)
        self._wait_for_signals(wave)

    @staticmethod
    def _signal(wave: Wave) -> None:
        if wave.signals > wave.waits:
            raise MachineError("the barrier is signalled twice without a wait between")
        wave.signals += 1

    @staticmethod
    def _wait_for_signals(wave: Wave) -> None:
        wave.waits += 1
        if wave.waits > wave.signals:
            raise MachineError("a wait for a barrier that this wave has not signalled")
        wave.state = "barrier"

    def _wait(self, inst: MachineInstruction) -> Step:
        if match := re.fullmatch(r"s_waitcnt_(\w+) null, (\w+)", inst.text):
            waits = [(match[1], int(match[2], 0))]
        elif match := re.fullmatch(r"s_wait_(\w+) (\w+)", inst.text):
            limit = int(match[2], 0)
            names = match[1].split("_")
            if names[0] in ("loadcnt", "storecnt") and len(names) == 2:
                # One limit for each hardware counter, the second in the lower bits.
                waits = [(names[0], limit >> 8 & 63), (names[1], limit & 63)]
            else:
                waits = [(name, limit) for name in names]
        else:
            found = re.findall(r"(\w+)\((\d+)\)", inst.text)
            waits = [(name, int(limit)) for name, limit in found]
        if not waits or any(name not in _COUNTERS for name, _ in waits):
            raise MachineError("unknown counters")

        def step(wave: Wave) -> None:
            for name, limit in waits:
                self._get_queues(wave).wait(_COUNTERS[name], limit)

        return step
