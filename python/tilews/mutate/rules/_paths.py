"""The operations that may come between an operation and the next or last barrier."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator

from ... import ir
from .. import _edits

_LOOPS = ("scf.for", "scf.while")
_OUTERMOST = ("gpu.func", "tile.role")

#: Whether a path ends at an operation.
Ends = Callable[[ir.Operation], bool]


def is_fence(op: ir.Operation) -> bool:
    """Whether an operation is a proxy fence, or has one."""
    return op.name == "tile.proxy_fence" or "proxy_fence" in op.attributes


def is_barrier(op: ir.Operation) -> bool:
    """Whether all threads of a role, or of the block, synchronize."""
    return op.name in ("tile.barrier", "tile.mbarrier_ready")


def up_to_next(ends: Ends, op: ir.Operation) -> Iterator[ir.Operation]:
    """All operations that may follow `op` in its role before a path ends."""
    block = _edits.block_of(op)
    rest = block[block.index(op) + 1 :]
    yield from _up_to(ends, rest)
    around = _edits.parent(op)
    if any(map(ends, rest)) or around.name in _OUTERMOST:
        return
    if around.name != "scf.if":  # The next iteration, up to `op`.
        for each in _blocks_of(around):
            yield from _up_to(ends, each)
    yield from up_to_next(ends, around)


def back_to_last(ends: Ends, op: ir.Operation) -> Iterator[ir.Operation]:
    """All operations that may come before `op` since a path has ended.

    Those of the kernel's body before the roles are included.
    """
    block = _edits.block_of(op)
    before = block[: block.index(op)][::-1]
    yield from _up_to(ends, before)
    around = _edits.parent(op)
    if any(map(ends, before)) or around.name == "gpu.func":
        return
    if around.name in _LOOPS:  # The iteration before, back to `op`.
        for each in _blocks_of(around):
            yield from _up_to(ends, each[::-1])
    is_role = around.name == "tile.role"
    yield from back_to_last(ends, _edits.parent(around) if is_role else around)


def _blocks_of(op: ir.Operation) -> Iterator[list[ir.Operation]]:
    for region in op.regions:
        for block in region.blocks:
            yield [each.operation for each in block.operations]


def _up_to(ends: Ends, ops: Iterable[ir.Operation]) -> Iterator[ir.Operation]:
    for op in itertools.takewhile(lambda each: not ends(each), ops):
        yield from _edits.walk(op)
