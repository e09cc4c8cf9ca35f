"""A cycle model of AMD's compute units: how busy a kernel keeps the matrix units.

The model replays what the waves of a block executed (:class:`Recording`) on one compute
unit. A wave issues its instructions in order. An instruction waits until

* the registers that it reads are there (``dependency``),
* the vector unit or the matrix unit of its SIMD is free (``vector``, ``matmul``),
* the counter of an ``s_waitcnt`` is low enough, or can count one more access
  (``vmcnt``, ``lgkmcnt``),
* all waves of the block have reached the barrier (``barrier``).

Accesses to shared and to global memory queue up at one unit each, which all waves
share.

All blocks that fit the compute unit at the same time are replayed together. Results
*rank* schedules of one kernel. They are no prediction of its speed: there is one
latency for global memory, and no model of caches, of other compute units, or of clocks.
"""

from __future__ import annotations

import functools
import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..disassembly import MachineInstruction
from ..recording import ExecutedInstruction, Recording
from ..registers import Operand
from .unit_times import GLOBAL_LATENCIES, UnitTimes, get_times

#: The most accesses of a wave in flight, by counter (its bits on gfx9).
_MOST_PENDING = {"vmcnt": 63, "lgkmcnt": 15}
#: Cycles of shared memory for accesses whose addresses are not recorded.
_OTHER_SHARED = 4
#: LLVM's name of the matrix unit.
_MATMUL = "HWXDL"


@dataclass(frozen=True)
class CycleReport:
    """How one compute unit spent its time.

    Attributes:
        chip: such as ``gfx942``.
        latency: of global memory, in cycles.
        blocks: of the compute unit at the same time.
        cycles: of the part that is measured: the iterations of the loop with the most
            matmuls, without the first quarter; without such a loop, the whole kernel.
        iterations: of one wave in that time; 0 without a loop.
        matmul: the share of time in which matrix units work.
        shared: the share of time in which the shared memory works.
        stalls: by cause, the share of time in which waves wait.
    """

    chip: str
    latency: int
    blocks: int
    cycles: int
    iterations: int
    matmul: float
    shared: float
    stalls: dict[str, float]

    def __str__(self) -> str:
        loop = (
            f"{self.cycles / self.iterations:.0f} cycles an iteration"
            if self.iterations
            else f"{self.cycles} cycles, no loop with matmuls"
        )
        stalls = ", ".join(
            f"{cause} {share:.0%}"
            for cause, share in sorted(self.stalls.items(), key=lambda item: -item[1])
            if share >= 0.005
        )
        return (
            f"{self.chip}, global memory in {self.latency} cycles, {self.blocks} "
            f"block{'s' * (self.blocks > 1)} a compute unit: matrix units busy "
            f"{self.matmul:.0%}, shared memory {self.shared:.0%}; {loop}\n"
            f"  waves wait for: {stalls or 'nothing'}"
        )


@dataclass(frozen=True)
class _Use:
    """What an instruction needs, from its text: the same in each execution."""

    kind: str  # matmul, vector, shared, global, wait, barrier, or scalar
    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    waits: tuple[tuple[str, int], ...] = ()
    passes: int = 0
    latency: int = 0
    size: int = 0


@functools.cache
def _bytes_of(name: str) -> int:
    """The bytes of a lane that a load or store moves."""
    match = re.search(r"_(dword|b32|short|byte|b64|b128|ushort|ubyte)(?:x(\d))?", name)
    if not match:
        return 4
    sizes = {"b64": 8, "b128": 16}
    return sizes.get(match[1], 4) * int(match[2] or 1)


def _analyze(inst: MachineInstruction) -> _Use:
    if inst.name == "s_waitcnt":
        found = re.findall(r"(vmcnt|lgkmcnt)\((\d+)\)", inst.text)
        return _Use("wait", waits=tuple((name, int(limit)) for name, limit in found))
    if inst.name == "s_barrier":
        return _Use("barrier")
    if inst.name == "s_nop":
        return _Use("scalar", passes=int(inst.operands[0], 0))
    if inst.name.startswith("s_"):
        is_load = inst.name.startswith("s_load")
        return _Use("scalar load" if is_load else "scalar")
    operands = [Operand(text) for text in inst.operands]
    vectors = [tuple(operand.vectors) for operand in operands]
    if inst.name.startswith("ds_"):
        is_write = inst.name.startswith("ds_write")
        return _Use("shared", sum(vectors[0 if is_write else 1 :], ()))
    if inst.name.startswith(("global_", "buffer_", "flat_", "scratch_")):
        is_load = "_load_" in inst.name and "lds" not in inst.modifiers
        reads = sum(vectors[1 if is_load else 0 :], ())
        return _Use("global", reads, size=_bytes_of(inst.name))
    reads, writes = sum(vectors[1:], ()), vectors[0] if vectors else ()
    timing = inst.timing
    if timing.unit == _MATMUL:
        return _Use("matmul", reads, writes, (), timing.occupied, timing.latency)
    return _Use("vector", reads, writes, (), max(timing.occupied, 1))


@dataclass
class _Wave:
    """A wave that is replayed."""

    block: int
    simd: int
    steps: Sequence[ExecutedInstruction]
    place: int = 0
    #: When a register's value is there.
    ready: dict[int, int] = field(default_factory=dict)
    #: When the pending accesses of each counter end, in order.
    pending: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    #: When it reached the barrier at which it waits.
    arrived: int | None = None
    #: When it executed each instruction, in order.
    times: list[int] = field(default_factory=list)

    @property
    def last(self) -> int:
        """When it executed its last instruction so far; -1 before the first one."""
        return self.times[-1] if self.times else -1


class _ComputeUnit:
    """Replays waves on the units of a compute unit."""

    def __init__(self, waves: list[_Wave], times: UnitTimes, latency: int) -> None:
        self.waves, self.times, self.latency = waves, times, latency
        #: When each unit is free: by name, and for units of a SIMD by its number.
        self.free: Counter[tuple[str, int]] = Counter()
        #: Times at which units work: (kind, begin, end).
        self.work: list[tuple[str, int, int]] = []
        #: Waits: (cause, begin, end).
        self.stalls: list[tuple[str, int, int]] = []
        #: What loads from global memory will write to shared memory: (time, cycles).
        self.writes: list[tuple[int, int]] = []
        self.uses: dict[int, _Use] = {}

    def run(self) -> None:
        """Replays all waves to their ends."""
        # The wave that issued the longest time ago is the first to issue again.
        queue = [(0, -1, number) for number in range(len(self.waves))]
        while queue:
            now, _, number = heapq.heappop(queue)
            wave = self.waves[number]
            if wave.place == len(wave.steps):
                self._release(wave.block, now, queue)
                continue
            step = wave.steps[wave.place]
            use = self._get_use(step.instruction)
            if use.kind == "barrier" and wave.arrived is None:
                wave.arrived = now
                self._release(wave.block, now, queue)
                continue
            start, cause = self._find_start(wave, use, now)
            if start > now:
                self.stalls.append((cause, now, start))
                heapq.heappush(queue, (start, wave.last, number))
                continue
            wave.arrived = None
            wave.times.append(now)
            wave.place += 1
            heapq.heappush(queue, (self._issue(wave, step, use, now), now, number))

    def _get_use(self, inst: MachineInstruction) -> _Use:
        found = self.uses.get(inst.address)
        if found is None:
            found = self.uses[inst.address] = _analyze(inst)
        return found

    def _release(self, block: int, now: int, queue: list[tuple[int, int, int]]) -> None:
        """Lets the waves of a block go on that all wait at its barrier."""
        waiting: list[tuple[int, int]] = []
        for number, wave in enumerate(self.waves):
            if wave.block != block or wave.place == len(wave.steps):
                continue
            if wave.arrived is None:
                return
            waiting.append((wave.arrived, number))
        for arrived, number in waiting:
            if arrived < now:
                self.stalls.append(("barrier", arrived, now))
            heapq.heappush(queue, (now, self.waves[number].last, number))

    def _find_start(self, wave: _Wave, use: _Use, now: int) -> tuple[int, str]:
        """When an instruction can be issued, and what it waits for until then."""
        found = [(now, "")]
        for name, limit in use.waits:
            pending = wave.pending[name]
            if len(pending) > limit:
                found.append((pending[len(pending) - limit - 1], name))
        for register in use.reads:
            found.append((wave.ready.get(register, 0), "dependency"))
        if use.kind in ("matmul", "vector"):
            found.append((self.free["vector", wave.simd], "vector"))
        if use.kind == "matmul":
            found.append((self.free["matmul", wave.simd], "matmul"))
        counter = {"shared": "lgkmcnt", "global": "vmcnt"}.get(use.kind)
        if counter:
            pending = [end for end in wave.pending[counter] if end > now]
            if len(pending) >= _MOST_PENDING[counter]:
                found.append((pending[0], counter))
        return max(found)

    def _issue(
        self, wave: _Wave, step: ExecutedInstruction, use: _Use, now: int
    ) -> int:
        """Occupies units; returns when the wave can issue its next instruction."""
        issue, simd = self.times.issue, wave.simd
        match use.kind:
            case "wait":
                for name, limit in use.waits:
                    pending = wave.pending[name]
                    del pending[: max(len(pending) - limit, 0)]
            case "matmul":
                self.free["vector", simd] = now + issue
                end = now + issue * use.passes
                self.free["matmul", simd] = end
                self.work.append(("matmul", now, end))
                self._write(wave, use, now + issue * max(use.latency, use.passes))
            case "vector":
                end = now + issue * use.passes
                self.free["vector", simd] = end
                self._write(wave, use, end + self.times.vector - issue)
            case "shared":
                cycles = step.shared_cycles or _OTHER_SHARED
                end = self._occupy("shared", now, cycles)
                self._add(wave, "lgkmcnt", end + self.times.shared)
            case "global":
                cycles = max(use.size * 64 // self.times.global_bytes, 1)
                end = self._occupy("global", now, cycles)
                self._add(wave, "vmcnt", end + self.latency)
                if step.shared_cycles:
                    write = (end + self.latency, step.shared_cycles)
                    heapq.heappush(self.writes, write)
            case "scalar load":
                self._add(wave, "lgkmcnt", now + self.latency)
            case "scalar":
                return now + issue * (1 + use.passes)
        return now + issue

    def _occupy(self, unit: str, now: int, cycles: int) -> int:
        """Queues work at a unit that all waves share; returns when that is done."""
        while unit == "shared" and self.writes and self.writes[0][0] <= now:
            arrived, before = heapq.heappop(self.writes)
            self._start(unit, arrived, before)
        return self._start(unit, now, cycles)

    def _start(self, unit: str, now: int, cycles: int) -> int:
        begin = max(now, self.free[unit, 0])
        self.free[unit, 0] = begin + cycles
        self.work.append((unit, begin, begin + cycles))
        return begin + cycles

    @staticmethod
    def _write(wave: _Wave, use: _Use, time: int) -> None:
        for register in use.writes:
            wave.ready[register] = time

    @staticmethod
    def _add(wave: _Wave, counter: str, time: int) -> None:
        """Adds an access that ends in order, not before the earlier ones."""
        pending = wave.pending[counter]
        pending.append(max(time, pending[-1] if pending else 0))


def _find_loop(waves: Sequence[_Wave]) -> tuple[int, int, int]:
    """The time of the loop with the most matmuls: begin, end, and iterations.

    It lasts from an execution of its first matmul to the last one, without the first
    quarter. Without a loop it is the whole time, with no iterations.
    """
    wave = waves[0]
    at: dict[int, list[int]] = defaultdict(list)
    for step, time in zip(wave.steps, wave.times, strict=True):
        if step.instruction.timing.unit == _MATMUL:
            at[step.instruction.address].append(time)
    whole = (0, max(wave.times[-1] for wave in waves), 0)
    if not at:
        return whole
    most = max(map(len, at.values()))
    times = next(found for found in at.values() if len(found) == most)
    first = most // 4
    if most - first < 3:
        return whole
    return times[first], times[-1], most - first - 1


def _share(spans: Sequence[tuple[int, int]], begin: int, end: int) -> float:
    """The sum of the parts of spans within a time, as a share of it."""
    inside = sum(max(min(b, end) - max(a, begin), 0) for a, b in spans)
    return inside / max(end - begin, 1)


def count_blocks(recording: Recording) -> int:
    """The blocks that fit a compute unit at the same time, by registers and memory."""
    times = get_times(recording.chip)
    registers = -(-max(recording.vector_registers, 1) // 8) * 8
    waves = times.simds * min(times.registers // registers, times.most_waves)
    by_waves = waves // max(len(recording.waves), 1)
    by_memory = times.shared_size // max(recording.shared_bytes, 1)
    return max(min(by_waves, by_memory), 1)


def model_cycles(
    recording: Recording,
    latency: int = GLOBAL_LATENCIES[0],
    blocks: int | None = None,
) -> CycleReport:
    """Replays a block on one compute unit.

    Args:
        recording: what the block executed.
        latency: cycles until data from global memory is there.
        blocks: replayed together; by default as many as fit.

    Raises:
        MachineError: there is no model of the chip.
    """
    times = get_times(recording.chip)
    blocks = count_blocks(recording) if blocks is None else blocks
    count = len(recording.waves)
    waves = [
        _Wave(block, (block * count + number) % times.simds, steps)
        for block in range(blocks)
        for number, steps in enumerate(recording.waves)
    ]
    unit = _ComputeUnit(waves, times, latency)
    unit.run()
    begin, end, iterations = _find_loop(waves)
    spans: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for kind, first, last in unit.work:
        spans[kind].append((first, last))
    stalls: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for cause, first, last in unit.stalls:
        stalls[cause].append((first, last))
    return CycleReport(
        recording.chip,
        latency,
        blocks,
        end - begin,
        iterations,
        _share(spans["matmul"], begin, end) / times.simds,
        _share(spans["shared"], begin, end),
        {
            cause: _share(found, begin, end) / len(waves)
            for cause, found in stalls.items()
        },
    )
