"""Schedules written by hand: roles, channels and cursors."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from .. import ir
from .._mlir_libs import _tilews
from ..dialects import tile
from ..errors import LanguageError
from .builder import current
from .integers import check_integer
from .values import Buffer, Cursor, describe

_PRODUCERS = ("tma", "cp_async", "simt", "mixed")


# ===--- Roles ---=== #


@dataclasses.dataclass(frozen=True)
class Specialize:
    """Holds roles, made by :func:`specialize`."""


@dataclasses.dataclass(frozen=True)
class Role:
    """What one group of warps does, made by :func:`role`."""

    name: str
    warps: int
    registers: int | None


def specialize() -> Specialize:
    """Lets groups of warps do different things: ``with tl.specialize():``.

    Its body holds nothing but ``with tl.role(...)``; the roles run at the same time
    and share out the threads of the block in the order in which they are written. A
    kernel without ``threads=`` has as many threads as its roles.
    """
    current("tl.specialize")
    return Specialize()


def role(name: str, *, warps: int, registers: int | None = None) -> Role:
    """What one group of warps does: ``with tl.role("load", warps=1):``.

    Buffers, channels and scalars from before can be used in it; fragments and
    cursors are made in it, and names that it assigns are its own.

    Args:
        name: of the role, for messages and pictures.
        warps: 1 to 32. wgmma needs warpgroups: 4 warps, at a multiple of 4.
        registers: of a thread (NVIDIA sm_90 and later), a multiple of 8 from 24 to
            256; all roles of the block then fill warpgroups.
    """
    current("tl.role")
    if not isinstance(name, str) or not name.isidentifier():
        raise LanguageError(f"tl.role: expected a name, found {describe(name)}")
    warps = check_integer(warps, "tl.role: warps", 1, 32)
    if registers is not None:
        registers = _check_registers(registers, "tl.role: registers")
    return Role(name, warps, registers)


def role_registers(*, math: int, load: int) -> None:
    """Registers of a thread of the roles that the compiler makes of this kernel.

    Args:
        math: of the role that computes, a multiple of 8 from 24 to 256.
        load: of the role that fills channels.
    """
    kernel = current("tl.role_registers").kernel
    math = _check_registers(math, "tl.role_registers: math")
    load = _check_registers(load, "tl.role_registers: load")
    if "tile.role_registers" in kernel.attributes:
        raise LanguageError(
            "tl.role_registers: the registers of roles are set twice",
            "call it once in a kernel",
        )
    kernel.attributes["tile.role_registers"] = ir.Attribute.parse(
        f"{{math = {math} : i64, load = {load} : i64}}"
    )


def _check_registers(value: Any, what: str) -> int:
    return check_integer(value, what, 24, 256, multiple=8)


# ===--- Channels ---=== #


@dataclasses.dataclass(frozen=True, eq=False)
class Channel:
    """Hands the versions of buffers from a producer to consumers.

    A slot is acquired, filled and committed by the producer, then waited for, read
    and released by each consumer. Both sides keep a cursor of their own and advance
    it exactly where they have made a transaction::

        p = ch.cursor()
        for k in tl.range(n):
            ch.acquire(p)
            tl.copy(A[m, k * 64], tl.slot(As, p))
            ch.commit(p)
            p = ch.advance(p)
    """

    ir: ir.Value
    depth: int

    def cursor(self) -> Cursor:
        """The place of the first transaction."""
        current("a cursor")
        return Cursor(tile.cursor(ir.Type.parse(f"!tile.cursor<{self.depth}>")))

    def advance(self, cursor: Cursor) -> Cursor:
        """The place of the next transaction."""
        return Cursor(tile.advance(self._check(cursor, "advance")))

    def acquire(self, cursor: Cursor) -> None:
        """Waits until the slot can be filled."""
        tile.acquire(self.ir, self._check(cursor, "acquire"))

    def commit(self, cursor: Cursor) -> None:
        """Completes the slot's fill as soon as what was copied has landed."""
        tile.commit(self.ir, self._check(cursor, "commit"))

    def wait(self, cursor: Cursor) -> None:
        """Waits until the slot's fill is complete."""
        tile.wait(self.ir, self._check(cursor, "wait"))

    def release(self, cursor: Cursor) -> None:
        """Gives the slot back to the producer."""
        tile.release(self.ir, self._check(cursor, "release"))

    def _check(self, cursor: Any, what: str) -> ir.Value:
        current(f"channel.{what}")
        if not isinstance(cursor, Cursor):
            raise LanguageError(
                f"channel.{what}: expected a cursor, found {describe(cursor)}",
                "p = channel.cursor() makes one",
            )
        if cursor.depth != self.depth:
            raise LanguageError(
                f"channel.{what}: the channel has {self.depth} slots, but the cursor "
                f"is of one with {cursor.depth}"
            )
        return cursor.ir


def channel(
    buffers: Buffer | Sequence[Buffer] = (),
    depth: int | None = None,
    *,
    producer: str = "mixed",
) -> Channel:
    """Makes a channel that delivers the versions of shared buffers.

    Args:
        buffers: with as many versions, their leading dimension, as the channel has
            slots: see `versions` of :func:`alloc_shared`. Without any the channel
            only orders its roles.
        depth: the number of slots; needed only without buffers.
        producer: what fills them: ``tma``, ``cp_async`` or ``simt`` is checked;
            ``mixed`` stands for whatever it turns out to be.

    Raises:
        LanguageError: numbers of versions differ, or a buffer is not shared.
    """
    what = "tl.channel"
    current(what)
    buffers = [buffers] if isinstance(buffers, Buffer) else list(buffers)
    if depth is not None:
        depth = check_integer(depth, f"{what}: the depth", 1, 64)
    depths = set() if depth is None else {depth}
    for buffer in buffers:
        if not isinstance(buffer, Buffer) or not buffer.is_shared or not buffer.ndim:
            raise LanguageError(
                f"{what}: expected shared buffers with versions, found "
                f"{describe(buffer)}",
                "allocate them with tl.alloc_shared(..., versions=depth)",
            )
        depths.add(buffer.static_shape[0])
    if len(depths) != 1:
        found = ", ".join(str(depth) for depth in sorted(depths, key=str))
        raise LanguageError(
            f"{what}: a channel has as many slots as each buffer has versions, found "
            f"{found or 'no buffers and no depth'}"
        )
    (depth,) = depths
    check_integer(depth, f"{what}: the depth", 1, 64)
    if producer not in _PRODUCERS:
        raise LanguageError(
            f"{what}: the producer is one of {', '.join(_PRODUCERS)}, found "
            f"{describe(producer)}"
        )
    kind = ir.Attribute.parse(f"#tile.producer<{producer}>")
    type_ = ir.Type.parse(f"!tile.channel<{depth}>")
    return Channel(tile.channel(type_, [b.ir for b in buffers], kind), depth)


def slot(buffer: Buffer, cursor: Cursor) -> Buffer:
    """The version of a buffer that a cursor points at."""
    current("tl.slot")
    if not isinstance(buffer, Buffer) or not buffer.is_shared or not buffer.ndim:
        raise LanguageError(
            f"tl.slot: expected a shared buffer with versions, found {describe(buffer)}"
        )
    if not isinstance(cursor, Cursor):
        raise LanguageError(f"tl.slot: expected a cursor, found {describe(cursor)}")
    if buffer.static_shape[0] != cursor.depth:
        raise LanguageError(
            f"tl.slot: the cursor is of a channel with {cursor.depth} slots, but the "
            f"buffer has {buffer.static_shape[0]} versions"
        )
    type_ = _tilews._slot_type(buffer.ir.type, ir.Location.unknown())
    return Buffer(tile.slot(type_, buffer.ir, cursor.ir))
