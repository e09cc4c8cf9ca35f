"""Classes of mutants that change slots, phases and other numbers."""

from __future__ import annotations

import re

from .. import ir
from . import _edits
from ._classes import mutation
from ._edits import ON_BARRIERS, TRANSACTIONS

# --- Slots, phases and cursors -------------------------------------------------


@mutation("phase", *TRANSACTIONS, "tile.mbarrier_wait")
def _phase(op: ir.Operation, variant: int) -> bool:
    """Uses the other phase of the cursor's slot."""
    if variant:
        return False
    place = _edits.before(op)
    if op.name == "tile.mbarrier_wait":
        one = _edits.constant(1, op.operands[2].type, place)
        op.operands[2] = _edits.binary("arith.xori", op.operands[2], one, place)
        return True
    depth = _edits.depth(op.operands[1].type)
    op.operands[1] = _edits.advance(op.operands[1], depth, place)
    return True


@mutation("slot", *TRANSACTIONS, *ON_BARRIERS, "tile.copy", "tile.slot")
def _slot(op: ir.Operation, variant: int) -> bool:
    """Uses the next (0) or previous (1) slot."""
    found = _edits.slot_of(op)
    if found is None or variant > 1:
        return False
    index, depth = found
    slot, place = op.operands[index], _edits.before(op)
    steps = 1 if variant == 0 else depth - 1
    if _edits.is_cursor(slot.type):
        # A cursor passes its slots twice for one period of slots and phases. So the
        # slot before, in its own phase, is 2 * depth - 1 steps ahead.
        steps += depth * variant
        op.operands[index] = _edits.advance(slot, steps, place)
        return True
    steps, count = (_edits.constant(n, slot.type, place) for n in (steps, depth))
    shifted = _edits.binary("arith.addi", slot, steps, place)
    op.operands[index] = _edits.binary("arith.remui", shifted, count, place)
    return True


@mutation("constant-cursor", *TRANSACTIONS, *ON_BARRIERS, "tile.copy", "tile.slot")
def _constant_cursor(op: ir.Operation, variant: int) -> bool:
    """Always uses the first slot (0), or one parity (1, 2)."""
    place = _edits.before(op)
    if variant == 0:
        found = _edits.slot_of(op)
        if found is None:
            return False
        index = found[0]
        op.operands[index] = _edits.start(op.operands[index].type, 0, place)
        return True
    if variant > 2 or op.name != "tile.mbarrier_wait":
        return False
    op.operands[2] = _edits.constant(variant - 1, op.operands[2].type, place)
    return True


def _shift(cursor: ir.Value, times: int) -> bool:
    """Replaces a cursor by the one a number of transactions later, in all uses."""
    place = _edits.after(ir.OpResult(cursor).owner.operation)
    first = _edits.advance(cursor, 1, place)
    last = _edits.advance(first, times - 1, place)
    cursor.replace_all_uses_except(last, ir.OpResult(first).owner.operation)
    return True


@mutation("start", "tile.cursor")
def _start(op: ir.Operation, variant: int) -> bool:
    """A cursor starts at the second slot (0), or in the second phase (1)."""
    times = [1, _edits.depth(op.results[0].type)]
    return variant < len(times) and _shift(op.results[0], times[variant])


@mutation("not-advanced", "tile.advance")
def _not_advanced(op: ir.Operation, variant: int) -> bool:
    """The cursor is not advanced."""
    return variant == 0 and _edits.erase(op)


@mutation("advanced-twice", "tile.advance")
def _advanced_twice(op: ir.Operation, variant: int) -> bool:
    """The cursor moves by two."""
    return variant == 0 and _shift(op.results[0], 1)


@mutation("not-carried", "scf.yield")
def _not_carried(op: ir.Operation, variant: int) -> bool:
    """A loop or guard yields the cursor that it got; variant n: the n-th cursor."""
    around = _edits.parent(op)
    places = _edits.carried_state(op)
    if variant >= len(places):
        return False
    index = places[variant]
    if around.name == "scf.for":
        op.operands[index] = op.block.arguments[1 + index]
        return True
    if around.name != "scf.if" or len(around.regions[1].blocks) == 0:
        return False
    other = next(r.blocks[0] for r in around.regions if r.blocks[0] != op.block)
    value = _edits.terminator(other).operands[index]
    if _edits.is_defined_in(value, around):
        return False
    op.operands[index] = value
    return True


@mutation("restart", "scf.for")
def _restart(op: ir.Operation, variant: int) -> bool:
    """A loop starts with a cursor or number of its own, the first or the second."""
    places = _edits.carried_state(op, first=3)
    if variant >= 2 * len(places):
        return False
    index = places[variant // 2]
    type_ = op.operands[index].type
    op.operands[index] = _edits.start(type_, variant % 2, _edits.before(op))
    return True


def _is_advance(op: ir.Operation) -> bool:
    """Whether `op` is a part of `slot + 1 == depth ? 0 : slot + 1`, or of a phase."""
    found: ir.Operation | None = op
    for name in ("arith.select", "arith.cmpi"):
        if found is not None and found.name == name:
            found = _edits.defining(found.operands[0])
    if found is None or found.name != "arith.addi":
        return False
    if str(found.results[0].type) != "i32":
        return False
    users = [use.owner.operation for use in _edits.uses(found)]
    return any(each.name == "arith.cmpi" for each in users)


@mutation("step", "arith.addi")
def _step(op: ir.Operation, variant: int) -> bool:
    """The slot moves by two (0) or not at all (1)."""
    if variant > 1 or not _is_advance(op):
        return False
    step = _edits.constant(2 - 2 * variant, op.operands[1].type, _edits.before(op))
    op.operands[1] = step
    return True


@mutation("wrap", "arith.cmpi")
def _wrap(op: ir.Operation, variant: int) -> bool:
    """The slot wraps around after one more (0) or one less (1) than there are."""
    if variant > 1 or not _is_advance(op):
        return False
    place, depth = _edits.before(op), op.operands[1]
    name = "arith.addi" if variant == 0 else "arith.subi"
    one = _edits.constant(1, depth.type, place)
    op.operands[1] = _edits.binary(name, depth, one, place)
    return True


@mutation("select", "arith.select")
def _select(op: ir.Operation, variant: int) -> bool:
    """A slot or phase always (0) or never (1) wraps around."""
    if variant > 1 or not _is_advance(op):
        return False
    op.results[0].replace_all_uses_with(op.operands[1 + variant])
    op.erase()
    return True


# --- Numbers -------------------------------------------------------------------


@mutation("weaken", "tile.copy_group_wait", "tile.gemm_wait", "tile.wait")
def _weaken(op: ir.Operation, variant: int) -> bool:
    """One more group may be under way."""
    groups = op.name != "tile.wait" or _edits.enclosing(op, "tile.role") is None
    if variant or not groups or op.results:
        return False
    i64 = ir.IntegerType.get_signless(64)
    pending = (
        ir.IntegerAttr(op.attributes["pending"]).value
        if "pending" in op.attributes
        else 0
    )
    op.attributes["pending"] = ir.IntegerAttr.get(i64, pending + 1)
    return True


@mutation("count", "tile.mbarrier")
def _count(op: ir.Operation, variant: int) -> bool:
    """A barrier waits for one arrival more (0) or less (1)."""
    return variant < 2 and _add(op, "count", 1 - 2 * variant)


@mutation("bytes", "tile.mbarrier_arrive", "tile.mbarrier_expect")
def _bytes(op: ir.Operation, variant: int) -> bool:
    """Expects 16 bytes more (0) or less (1), one more (2), or none (3)."""
    if variant > 3 or "bytes" not in op.attributes:
        return False
    if variant < 3:
        return _add(op, "bytes", (16, -16, 1)[variant])
    if op.name == "tile.mbarrier_expect":
        return False
    del op.attributes["bytes"]
    return True


def _add(op: ir.Operation, name: str, value: int) -> bool:
    old = ir.IntegerAttr(op.attributes[name])
    op.attributes[name] = ir.IntegerAttr.get(old.type, old.value + value)
    return True


@mutation("agents", "tile.mbarrier_arrive")
def _agents(op: ir.Operation, variant: int) -> bool:
    """Other agents arrive: one thread, all warps, all threads, or their copies."""
    kinds = ("thread", "warps", "threads", "copies")
    if variant >= len(kinds):
        return False
    op.attributes["by"] = ir.Attribute.parse(f"#tile.agents<{kinds[variant]}>")
    return True


@mutation("depth", "tile.alloc_shared", "tile.mbarrier")
def _depth(op: ir.Operation, variant: int) -> bool:
    """There is one slot less than cursors count."""
    result = op.results[0]
    slots = [use.owner for use in result.uses if use.owner.name == "tile.slot"]
    if op.name == "tile.alloc_shared" and not slots:
        return False
    if any(use.owner.name == "tile.channel" for use in result.uses):
        return False  # The depth of a buffer is that of its channel.
    match = re.search(r"<(\d+)", str(result.type))
    if match is None:
        return False
    old, new = match[1], int(match[1]) - 1
    if variant or new == 0:
        return False
    text = re.sub(rf"(<\(?){old}(?=[x,>])", rf"\g<1>{new}", str(result.type))
    result.set_type(ir.Type.parse(text))
    return True


@mutation("late", "tile.mbarrier")
def _late(op: ir.Operation, variant: int) -> bool:
    """A barrier is initialized after the `mbarrier_ready` that publishes it."""
    ready = [e for e in _edits.block_of(op) if e.name == "tile.mbarrier_ready"]
    return variant < len(ready) and _edits.move_after(op, ready[variant])


_FLAGS = ("proxy_fence", "drain_copies")


@mutation("drop-flag", "tile.barrier", "tile.wait")
def _drop_flag(op: ir.Operation, variant: int) -> bool:
    """A barrier has no fence, or does not wait for copies."""
    flags = [each for each in _FLAGS if each in op.attributes]
    if variant >= len(flags):
        return False
    del op.attributes[flags[variant]]
    return True
