"""Roles, channels and cursors, for schedules that the kernel itself writes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ... import _tilews, ir
from ...dialects import tile
from ...errors import LanguageError
from ..builder import current
from ..integers import check_integer
from ..values import Buffer, Cursor, describe

if TYPE_CHECKING:
    # The field `ir` hides the module in annotations of :class:`Channel`.
    from ...ir import Value as IRValue

_PRODUCERS = ("tma", "cp_async", "simt", "mixed")


# ===--- Roles ---=== #


@dataclasses.dataclass(frozen=True)
class Specialize:
    """The context of a block with roles, made by :func:`specialize`."""


@dataclasses.dataclass(frozen=True)
class Role:
    """The work of one group of warps, made by :func:`role`."""

    name: str
    warps: int
    registers: int | None


def specialize() -> Specialize:
    """Splits the block into groups of warps with different work.

    Written as ``with tl.specialize():``. The body contains only ``with tl.role(...)``
    statements. The roles run concurrently. They get the threads of the block in the
    order in which they are written. A kernel without ``threads=`` has as many threads
    as its roles together.

    Raises:
        LanguageError: called outside of a kernel.

    Example:
        @tilews.kernel
        def halves(C: tl.Tensor["128", tl.i32]):
            with tl.specialize():
                with tl.role("first", warps=1):
                    C[0] = tl.full((64,), 1, tl.i32)
                with tl.role("second", warps=1):
                    C[64] = tl.full((64,), 2, tl.i32)

        c = np.zeros(128, np.int32)
        halves(c)
        assert (c == np.repeat([1, 2], 64)).all()
    """
    current("tl.specialize")
    return Specialize()


def role(name: str, *, warps: int, registers: int | None = None) -> Role:
    """The work of one group of warps: ``with tl.role("load", warps=1):``.

    The body can use buffers, channels and scalars that exist before it. Fragments and
    cursors have to be made inside, and names that the body assigns are local to it.

    Args:
        name: the name of the role, an identifier, for messages and pictures.
        warps: the number of warps, 1 to 32. wgmma needs warpgroups: 4 warps that start
            at a multiple of 4.
        registers: the registers of each thread (NVIDIA sm_90 and later), a multiple of
            8 from 24 to 256. Every role of the block then has to fill warpgroups.

    Raises:
        LanguageError: an argument has another type or is out of range.

    Example:
        @tilews.kernel
        def split_rows(A: tl.Tensor["128, 64", tl.f32], C: tl.Tensor["128", tl.f32]):
            with tl.specialize():
                for i in tl.static_range(2):
                    with tl.role(f"rows{i}", warps=4):
                        rows = tl.load(A[i * 64 : i * 64 + 64, :])
                        C[i * 64] = tl.sum(rows, axis=1)

        a, c = np.ones((128, 64), np.float32), np.zeros(128, np.float32)
        split_rows(a, c)
        assert (c == 64).all()
    """
    current("tl.role")
    if not isinstance(name, str) or not name.isidentifier():
        raise LanguageError(f"tl.role: expected a name, found {describe(name)}")
    warps = check_integer(warps, "tl.role: warps", 1, 32)
    if registers is not None:
        registers = _check_registers(registers, "tl.role: registers")
    return Role(name, warps, registers)


def role_registers(*, math: int, load: int) -> None:
    """Sets the registers of each thread in the roles that the compiler makes.

    Args:
        math: for the role that computes, a multiple of 8 from 24 to 256.
        load: for the role that fills channels, likewise.

    Raises:
        LanguageError: a number is out of range, or the registers were set before.

    Example:
        @tilews.kernel(threads=128)
        def sum_tiles(A: tl.Tensor["64, K:8", tl.f16], C: tl.Tensor["64, 64", tl.f32]):
            tl.grid(1)
            tl.role_registers(math=232, load=40)
            As = tl.alloc_shared((64, 64), tl.f16)
            acc = tl.zeros((64, 64), tl.f32)
            for k in tl.range(tl.cdiv(A.shape[1], 64), num_stages=3):
                tl.copy(A[0, k * 64], As)
                acc += tl.load(As).to(tl.f32)
            C[0, 0] = acc

        a, c = np.ones((64, 512), np.float16), np.zeros((64, 64), np.float32)
        sum_tiles(a, c)
        assert (c == 8).all()
        assert "setmaxnreg" in sum_tiles.compile("sm_90a").ptx
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

    The producer acquires, fills and commits a slot; then each consumer waits for it,
    reads and releases it. Each side has its own cursor and advances it once for each
    transaction.

    Attributes:
        depth: the number of slots.

    Example:
        @tilews.kernel  # 4 + 4 warps
        def copy(A: tl.Tensor["M:64, 64", tl.f16], C: tl.Tensor["M, 64", tl.f16]):
            tl.grid(1)
            n = tl.cdiv(A.shape[0], 64)
            As = tl.alloc_shared((64, 64), tl.f16, versions=2)
            ch = tl.channel(As, producer="tma")
            with tl.specialize():
                with tl.role("store", warps=4):
                    q = ch.cursor()
                    for i in tl.range(n):
                        ch.wait(q)
                        C[i * 64, 0] = tl.load(tl.slot(As, q))
                        ch.release(q)
                        q = ch.advance(q)
                with tl.role("load", warps=4):
                    p = ch.cursor()
                    for i in tl.range(n):
                        ch.acquire(p)
                        tl.copy(A[i * 64, 0], tl.slot(As, p))
                        ch.commit(p)
                        p = ch.advance(p)

        a = np.arange(512 * 64).reshape(512, 64).astype(np.float16)
        c = np.zeros_like(a)
        copy(a, c)
        assert (c == a).all()
    """

    ir: ir.Value
    depth: int

    def cursor(self) -> Cursor:
        """A new cursor, at the first transaction."""
        current("a cursor")
        return Cursor(tile.cursor(ir.Type.parse(f"!tile.cursor<{self.depth}>")))

    def advance(self, cursor: Cursor) -> Cursor:
        """The cursor of the next transaction.

        Raises:
            LanguageError: `cursor` is no cursor of a channel with as many slots. The
                other methods raise it, too.
        """
        return Cursor(tile.advance(self._check(cursor, "advance")))

    def acquire(self, cursor: Cursor) -> None:
        """Waits until the slot can be filled."""
        tile.acquire(self.ir, self._check(cursor, "acquire"))

    def commit(self, cursor: Cursor) -> None:
        """Completes the slot's fill, once the copies into it have landed."""
        tile.commit(self.ir, self._check(cursor, "commit"))

    def wait(self, cursor: Cursor) -> None:
        """Waits until the slot's fill is complete."""
        tile.wait(self.ir, self._check(cursor, "wait"))

    def release(self, cursor: Cursor) -> None:
        """Gives the slot back to the producer."""
        tile.release(self.ir, self._check(cursor, "release"))

    def _check(self, cursor: Any, what: str) -> IRValue:
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
        buffers: shared buffers whose leading dimension is the number of slots; see
            `versions` of :func:`alloc_shared`. A channel without buffers only orders
            its roles.
        depth: the number of slots, 1 to 64; needed only without buffers.
        producer: the instructions that fill the slots. The compiler checks ``tma``,
            ``cp_async`` and ``simt``; ``mixed`` allows any.

    Raises:
        LanguageError: the numbers of versions differ, a buffer is not shared, or the
            producer is unknown.

    Example:
        @tilews.kernel
        def hand_over(C: tl.Tensor["64", tl.i32]):
            As = tl.alloc_shared((64,), tl.i32, versions=1)
            ch = tl.channel(As, producer="simt")
            with tl.specialize():
                with tl.role("write", warps=1):
                    p = ch.cursor()
                    ch.acquire(p)
                    tl.store(tl.arange(64), tl.slot(As, p))
                    ch.commit(p)
                with tl.role("read", warps=1):
                    q = ch.cursor()
                    ch.wait(q)
                    C[0] = tl.load(tl.slot(As, q))
                    ch.release(q)

        c = np.zeros(64, np.int32)
        hand_over(c)
        assert (c == np.arange(64)).all()
    """
    what = "tl.channel"
    current(what)
    given: list[Any] = [buffers]
    if isinstance(buffers, tuple | list):
        given = list(buffers)
    if depth is not None:
        depth = check_integer(depth, f"{what}: the depth", 1, 64)
    depths: set[int | None] = set() if depth is None else {depth}
    for buffer in given:
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
    depth = check_integer(depth, f"{what}: the depth", 1, 64)
    if producer not in _PRODUCERS:
        raise LanguageError(
            f"{what}: the producer is one of {', '.join(_PRODUCERS)}, found "
            f"{describe(producer)}"
        )
    kind = ir.Attribute.parse(f"#tile.producer<{producer}>")
    type_ = ir.Type.parse(f"!tile.channel<{depth}>")
    return Channel(tile.channel(type_, [b.ir for b in given], kind), depth)


def slot(buffer: Buffer, cursor: Cursor) -> Buffer:
    """The version of a buffer that a cursor points to.

    Args:
        buffer: a shared buffer of shape (depth, ...).
        cursor: a cursor of a channel with `depth` slots.

    Returns:
        A buffer of shape (...), a view.

    Raises:
        LanguageError: the buffer is not shared, or the numbers of slots differ.

    Example:
        @tilews.kernel
        def fill_slots(C: tl.Tensor["3, 64", tl.i32]):
            As = tl.alloc_shared((64,), tl.i32, versions=3)
            ch = tl.channel(As)
            with tl.specialize():
                with tl.role("write", warps=1):
                    p = ch.cursor()
                    for i in tl.range(3):
                        ch.acquire(p)
                        tl.store(i.to(tl.i32), tl.slot(As, p)[0:64])
                        ch.commit(p)
                        p = ch.advance(p)
                with tl.role("read", warps=1):
                    q = ch.cursor()
                    for i in tl.range(3):
                        ch.wait(q)
                        C[i, 0:64] = tl.load(tl.slot(As, q))
                        ch.release(q)
                        q = ch.advance(q)

        c = np.zeros((3, 64), np.int32)
        fill_slots(c)
        assert (c == [[0], [1], [2]]).all()
    """
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
    return Buffer(tile.slot(type_, buffer.ir, cursor.ir), dtype=buffer.dtype)
