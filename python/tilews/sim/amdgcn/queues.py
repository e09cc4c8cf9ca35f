"""Accesses of a wave to memory, and the registers that they read and write.

An access is issued, performed and completed. Accesses are performed in the order of
issue, at a time that the policy chooses. The wait that orders an access completes it;
its registers can be used only afterwards. A load that writes shared memory does so at
any time until then.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .registers import Operand, Wave

#: The most accesses of a wave to global memory that are pending at the same time. The
#: counters have six bits, and an instruction that would exceed them waits.
MOST_PENDING = 63
#: When accesses are performed, as the probability that it is when they are issued.
#: Others wait for the next access that is, or for the wait that orders them.
POLICIES = {"earliest": 1.0, "latest": 0.0, "random": 0.5}


@dataclass
class Access:
    """One access of a wave to memory."""

    counter: str
    perform: Callable[[], None]
    complete: Callable[[], None]
    vectors: list[int] = field(default_factory=list)
    scalars: list[int] = field(default_factory=list)
    performed: bool = False
    #: Writes what was loaded to shared memory, if nothing has done so before.
    land: Callable[[], None] | None = None


class AccessQueues:
    """The pending accesses of a wave, one queue for each memory."""

    def __init__(self, wave: Wave, rng: random.Random, policy: str = "random") -> None:
        self.wave, self.rng = wave, rng
        self._at_once = POLICIES[policy]
        self.queues: dict[str, list[Access]] = {"vm": [], "ds": [], "sm": []}

    def issue(self, queue: str, access: Access) -> None:
        self.queues[queue].append(access)
        self.wave.pending_v.update(access.vectors)
        self.wave.pending_s.update(access.scalars)
        if queue == "vm":
            self.wave.pending_vm.update(access.vectors)
            self.wait((access.counter,), MOST_PENDING)
        if self.rng.random() < self._at_once:
            self.perform(queue)
            for pending in self.queues[queue]:
                if pending.land:
                    pending.land()

    def perform(self, queue: str) -> None:
        """Performs all accesses of a queue."""
        for access in self.queues[queue]:
            if not access.performed:
                access.performed = True
                access.perform()

    def wait(self, counters: tuple[str, ...], limit: int) -> None:
        """Completes the oldest accesses until at most `limit` are pending."""
        waiting = [
            (name, access)
            for name, queue in self.queues.items()
            for access in queue
            if access.counter in counters
        ]
        scalar = sum(name == "sm" for name, _ in waiting)
        # Scalar loads complete out of order: only a wait for all of them orders any.
        excess = len(waiting) - limit if limit == 0 else len(waiting) - limit - scalar
        for name, access in [w for w in waiting if limit == 0 or w[0] != "sm"][
            : max(excess, 0)
        ]:
            self._complete(name, access)

    def _complete(self, name: str, access: Access) -> None:
        queue = self.queues[name]
        for earlier in queue[: queue.index(access) + 1]:
            if not earlier.performed:
                earlier.performed = True
                earlier.perform()
        queue.remove(access)
        access.complete()
        if access.vectors or access.scalars:
            rest = [a for q in self.queues.values() for a in q]
            self.wave.pending_v = {r for a in rest for r in a.vectors}
            self.wave.pending_s = {r for a in rest for r in a.scalars}
            self.wave.pending_vm = {r for a in self.queues["vm"] for r in a.vectors}


_SIZES = {
    **dict.fromkeys(("dword", "b32", "u32"), 4),
    **dict.fromkeys(("dwordx2", "b64", "u64"), 8),
    **dict.fromkeys(("dwordx3", "b96"), 12),
    **dict.fromkeys(("dwordx4", "b128"), 16),
    **dict.fromkeys(("dwordx8", "b256"), 32),
    **dict.fromkeys(("dwordx16", "b512"), 64),
    **dict.fromkeys(("ushort", "short", "u16", "b16", "sshort", "i16"), 2),
    **dict.fromkeys(("ubyte", "byte", "u8", "b8", "sbyte", "i8"), 1),
}
_SIGNED = ("sbyte", "i8", "sshort", "i16")


@dataclass
class Width:
    """The data width in a name: `short_d16_hi` is two bytes, upper half."""

    size: int
    signed: bool
    half: bool
    high: bool

    @staticmethod
    def parse(text: str) -> "Width | None":
        tokens = text.split("_")
        base = [token for token in tokens if token not in ("d16", "hi")]
        if len(base) != 1 or base[0] not in _SIZES:
            return None
        return Width(
            _SIZES[base[0]], base[0] in _SIGNED, "d16" in tokens, "hi" in tokens
        )


def put(
    wave: Wave, first: int, width: Width, mask: np.ndarray, raw: np.ndarray
) -> None:
    """Writes loaded bytes, shape (active, size), to registers."""
    if width.size >= 4:
        words = np.ascontiguousarray(raw).view(np.uint32)
        for i in range(width.size // 4):
            wave.v[first + i][mask] = words[:, i]
        return
    kind = np.dtype(f"{'i' if width.signed else 'u'}{width.size}")
    value = np.ascontiguousarray(raw).view(kind)[:, 0].astype(np.int64)
    bits = (value & 0xFFFFFFFF).astype(np.uint32)
    if width.half or width.high:
        old = wave.v[first][mask]
        low = bits & np.uint32(0xFFFF)
        if width.high:
            bits = old & np.uint32(0xFFFF) | low << np.uint32(16)
        else:
            bits = old & np.uint32(0xFFFF0000) | low
    wave.v[first][mask] = bits


def get(wave: Wave, operand: Operand, width: Width, mask: np.ndarray) -> np.ndarray:
    """Bytes to store, shape (active, size)."""
    count = max(width.size // 4, 1)
    words = np.stack([wave.v[operand.first + i][mask] for i in range(count)], axis=1)
    if width.high or operand.high:
        words = words >> np.uint32(16)
    return np.ascontiguousarray(words).view(np.uint8)[:, : width.size]


def nothing() -> None:
    """Completes a store: nothing is left to do."""
