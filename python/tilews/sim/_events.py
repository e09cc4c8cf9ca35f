"""Events: what the simulator records of one block."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from .. import ir

_UNITS = ("role", "tma", "cp_async", "tensor", "arrival")


@dataclasses.dataclass(frozen=True, slots=True)
class Event:
    """An operation, or an asynchronous part of one; numbers that do not apply are -1.

    Attributes:
        op: Name of the operation, such as ``tile.copy``.
        inst: Its instruction (``tile.inst``), such as ``tma``.
        location: Its source location, as ``file:line:column`` if it has one.
        role: The role's name; empty for the block outside of roles.
        unit: ``role`` for the operation itself; ``tma``, ``cp_async``, ``tensor`` or
            ``arrival`` for a part that runs asynchronously, beside the role.
        begin: Logical time of the start.
        end: Logical time of the end; -1 if it never ended.
        barrier: Number of the barrier in the block; each slot has one.
        slot: Slot of the barrier.
        phase: The phase of the barrier that the event waits for, arrives in, or lands
            bytes in, counted from 0.
        bytes: Bytes of memory that the event accesses or copies, or that a barrier
            expects.
        number: For a copy by cp.async, a copy to global memory or an asynchronous
            matmul: its number among those of the role, counted from 1. For a wait for
            them: how many are complete.
        work: For a matmul: multiplications; for others: elements of their fragments.
        accesses: The accessed bytes of memories that the kernel writes, as tuples of
            memory, first byte, end (exclusive), and whether they are written. Memories
            are numbered in the order of their first access.
    """

    op: str
    inst: str
    location: str
    role: str
    unit: str
    begin: int
    end: int
    barrier: int
    slot: int
    phase: int
    bytes: int
    number: int
    work: int
    accesses: tuple[tuple[int, int, int, bool], ...] = ()


def make_event(op: ir.Operation, role: str, unit: int, *rest: Any) -> Event:
    """Makes an event of a record of the native module.

    `rest` are the fields of :class:`Event` from `begin` on.
    """
    attributes = op.attributes
    inst = str(attributes["tile.inst"]) if "tile.inst" in attributes else ""
    location = re.match(r'loc\("(.*?)":(\d+):(\d+)', str(op.location))
    return Event(
        op.name,
        inst.removeprefix("#tile.inst<").removesuffix(">"),
        ":".join(location.groups()) if location else str(op.location),
        role,
        _UNITS[unit],
        *rest,
    )
