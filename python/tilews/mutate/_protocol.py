"""Which waits and signals of a kernel belong together, and what memory ops touch."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .. import ir
from . import _edits
from ._mutants import Mutant

# --- Barriers and their users ------------------------------------------------------


#: A channel and the side ``full`` or ``empty``, or an mbarrier and ``""``.
Barrier = tuple[ir.Value, str]


def barrier_of(op: ir.Operation) -> Barrier | None:
    """The barrier of a wait or a signal, as (value, side); None for other operations.

    The side is ``full`` or ``empty`` for a channel, and ``""`` for an mbarrier.
    """
    side = {
        "tile.acquire": "empty",
        "tile.release": "empty",
        "tile.wait": "full",
        "tile.commit": "full",
        "tile.mbarrier_wait": "",
        "tile.mbarrier_arrive": "",
        "tile.mbarrier_expect": "",
    }.get(op.name)
    return None if side is None else (op.operands[0], side)


BLOCKING = {"tile.acquire", "tile.wait", "tile.mbarrier_wait"}
#: The atomic updates, and the atomic load.
ATOMIC = {
    "tile.atomic_rmw",
    "tile.atomic_cas",
    "tile.atomic_load",
    "tile.atomic_scatter",
}
SIGNALING = {"tile.commit", "tile.release", "tile.mbarrier_arrive"}


def role_of(op: ir.Operation) -> ir.Operation | None:
    """The role that `op` is in; None outside of roles."""
    return _edits.enclosing(op, "tile.role")


def name_of(role: ir.Operation) -> str:
    """The name of a role, such as ``load``."""
    return ir.StringAttr(role.attributes["name"]).value


def loops_around(op: ir.Operation) -> list[ir.Operation]:
    """The loops that `op` is in, from the inside out."""
    return [
        each for each in _edits.ancestors(op) if each.name in ("scf.for", "scf.while")
    ]


def using(
    names: set[str], barrier: Barrier | None, root: ir.Operation
) -> list[ir.Operation]:
    """The operations in `root` that wait for, or signal, a barrier."""
    return [
        each
        for each in _edits.walk(root)
        if each.name in names and barrier_of(each) == barrier
    ]


def may_follow(op: ir.Operation, other: ir.Operation) -> bool:
    """Whether an execution of `op` may follow one of `other`, both in one role."""
    order = _edits.walk(_edits.kernel_of(op))
    if order.index(op) > order.index(other):
        return True
    return any(loop in loops_around(other) for loop in loops_around(op))


# --- What memory an operation touches --------------------------------------------


def is_shared(type_: ir.Type) -> bool:
    """Whether values of a type lie in shared memory."""
    return "#gpu.address_space<workgroup>" in str(type_)


def buffer_of(value: ir.Value) -> ir.Value:
    """The allocation that a view refers to."""
    op = _edits.defining(value)
    while op is not None and op.name in ("tile.slot", "tile.view"):
        value = op.operands[0]
        op = _edits.defining(value)
    return value


def touches(op: ir.Operation, buffers: list[ir.Value] | None) -> bool:
    """Whether `op`, or an operation in it, accesses one of `buffers`.

    If `buffers` is None, an access to any shared buffer or scratch memory counts.
    """
    for each in _edits.walk(op):
        if each.name == "tile.slot":
            continue
        shared = [buffer_of(v) for v in each.operands if is_shared(v.type)]
        if any(buffers is None or v in buffers for v in shared):
            return True
        scratch = each.name not in ("tile.alloc_shared", "tile.channel")
        if buffers is None and scratch and "tile.offset" in each.attributes:
            return True
    return False


def has_scratch(op: ir.Operation) -> bool:
    """Whether an operation on fragments has scratch memory, and accesses no other."""
    return "tile.offset" in op.attributes and all(
        str(each.type).startswith("tensor<") for each in (*op.operands, *op.results)
    )


def has_memory_of_its_own(op: ir.Operation) -> bool:
    """Whether only `op` accesses memory that it accesses: scratch after all else."""
    if not has_scratch(op):
        return False
    first = _offset_of(op)
    return all(
        each == op or (_is_buffer(each) and _end_of(each) <= first)
        for each in _edits.walk(_edits.kernel_of(op))
        if "tile.offset" in each.attributes
    )


def is_alone_in_memory(buffer: ir.Operation) -> bool:
    """Whether all other shared memory of the kernel lies after a buffer."""
    end = _end_of(buffer)
    return all(
        each == buffer or _offset_of(each) >= end
        for each in _edits.walk(_edits.kernel_of(buffer))
        if "tile.offset" in each.attributes
    )


def _is_buffer(op: ir.Operation) -> bool:
    return op.name in ("tile.alloc_shared", "tile.channel")


def _offset_of(op: ir.Operation) -> int:
    return ir.IntegerAttr(op.attributes["tile.offset"]).value


def _end_of(buffer: ir.Operation) -> float:
    """A byte of shared memory that a buffer or channel surely ends before."""
    if buffer.name == "tile.channel":
        # Two barriers of 8 bytes for each slot.
        return _offset_of(buffer) + 16 * _edits.depth(buffer.results[0].type)
    type_ = ir.MemRefType(buffer.results[0].type)
    text = r"#tile\.shared<(.*):(.*?)(?:, Sw<(\d+),(\d+),\d+>)?>"
    found = re.fullmatch(text, str(type_.layout))
    element = re.fullmatch(r"[a-z]+(\d+)", str(type_.element_type))
    if found is None or element is None:
        return float("inf")
    sizes, strides = (map(int, re.findall(r"\d+", found[n])) for n in (1, 2))
    last = sum((n - 1) * step for n, step in zip(sizes, strides, strict=True))
    bits, base = int(found[3] or 0), int(found[4] or 0)
    # A swizzle exchanges bytes within aligned blocks.
    block, size = 1 << (bits + base), (last + 1) * int(element[1]) // 8
    return _offset_of(buffer) + -(-size // block) * block


def buffers_of(op: ir.Operation) -> list[ir.Value] | None:
    """The buffers whose slots a transaction hands over; None if they are unknown."""
    maker = _edits.defining(op.operands[0])
    if maker is None:
        return None
    if maker.name == "tile.channel":
        return list(maker.operands) or None
    return _buffers_by_mbarrier(_edits.kernel_of(op)).get(op.operands[0]) or None


def _buffers_by_mbarrier(kernel: ir.Operation) -> dict[ir.Value, list[ir.Value]]:
    """The buffers that are written between a wait for a release and an arrival."""
    found: dict[ir.Value, list[ir.Value]] = {}
    for body in (each for each in _edits.walk(kernel) if each.regions):
        for region in body.regions:
            for block in region.blocks:
                _read_fills([each.operation for each in block.operations], found)
    return found


def _read_fills(
    block: list[ir.Operation], found: dict[ir.Value, list[ir.Value]]
) -> None:
    empty: ir.Value | None = None
    buffers: list[ir.Value] = []
    for op in block:
        if op.name == "tile.mbarrier_wait" and is_for_a_release(op):
            empty, buffers = op.operands[0], []
        elif op.name in ("tile.copy", "tile.store") and empty is not None:
            buffers += [buffer_of(v) for v in op.operands if is_shared(v.type)]
        elif op.name == "tile.mbarrier_arrive" and empty is not None:
            for each in (empty, op.operands[0]):
                found.setdefault(each, []).extend(buffers)


# --- Which operations a move crosses -----------------------------------------------


def crossed_by(mutant: Mutant) -> list[ir.Operation] | None:
    """The operations that the changed one was moved across.

    Returns:
        The operations; None if the mutant was not made by a move within a block.
    """
    op = mutant.op
    if mutant.mutation == "move-in":
        around = _edits.step(op, down=mutant.variant == 1)
        return None if around is None else [around]
    if mutant.mutation not in ("move-earlier", "move-later"):
        return None
    down = mutant.mutation == "move-later"
    place = _edits.steps(op, down, mutant.variant + 1)
    if place is None:
        return None
    block = _edits.block_of(op)
    first, last = sorted((block.index(op), block.index(place)))
    return [each for each in block[first : last + 1] if each != op]


def _first_number(value: ir.Value) -> int | None:
    """The first value of a number that a loop may carry; None if it is unknown."""
    op = _edits.defining(value)
    if op is None:
        argument = ir.BlockArgument(value)
        loop = argument.owner.owner.operation
        if loop.name != "scf.for" or argument.arg_number == 0:
            return None
        return _first_number(loop.operands[2 + argument.arg_number])
    if op.name == "scf.for":
        return _first_number(op.operands[3 + ir.OpResult(value).result_number])
    if op.name == "arith.constant":
        return ir.IntegerAttr(op.attributes["value"]).value
    if op.name == "arith.xori":
        lhs, rhs = (_first_number(each) for each in op.operands)
        return None if lhs is None or rhs is None else lhs ^ rhs
    return None


def is_for_a_release(op: ir.Operation) -> bool:
    """Whether a wait is for a release: slots are free at first, so it returns."""
    if op.name == "tile.mbarrier_wait":
        return _first_number(op.operands[2]) == 1
    return op.name == "tile.acquire"


def _barriers_in(root: ir.Operation) -> set[Barrier | None]:
    return {
        barrier_of(each)
        for each in _edits.walk(root)
        if each.name in BLOCKING | SIGNALING
    }


def is_in_step(op: ir.Operation) -> bool:
    """Whether the iterations of the loop around `op` match those of all other roles.

    Each other role has as many loops with transactions, and the corresponding one uses
    the same barriers. The loop around `op` waits for releases only, or for fills only.
    """
    role = role_of(op)
    loops = loops_around(op)
    if role is None or not loops:
        return False
    number = _transacting_loops(role).index(loops[0])
    for other in _edits.block_of(role):
        if other == role:
            continue
        others = _transacting_loops(other)
        if len(others) != len(_transacting_loops(role)):
            return False
        if _barriers_in(others[number]) != _barriers_in(loops[0]):
            return False
    waits = [each for each in _edits.walk(loops[0]) if each.name in BLOCKING]
    return len({is_for_a_release(each) for each in waits}) == 1


def corresponding_loop(loop: ir.Operation, op: ir.Operation) -> ir.Operation | None:
    """The loop of the role of `op` that corresponds to `loop`; None without one."""
    role, other = role_of(loop), role_of(op)
    if role is None or other is None:
        return None
    number = _transacting_loops(role).index(loop)
    loops = _transacting_loops(other)
    return loops[number] if number < len(loops) else None


def _transacting_loops(role: ir.Operation) -> list[ir.Operation]:
    return [
        each
        for each in _edits.walk(role)
        if each.name in ("scf.for", "scf.while") and _barriers_in(each)
    ]


# --- Which waits are over ----------------------------------------------------------


def is_last_signal(op: ir.Operation, crossed: Sequence[ir.Operation] = ()) -> bool:
    """Whether all waits for a signal are over when it is given.

    That has to hold before the operations that the signal `crossed`, too.
    """
    role, barrier = role_of(op), barrier_of(op)
    if role is None or op.name not in SIGNALING:
        return False
    inside = [each for outer in crossed for each in _edits.walk(outer)]
    return all(
        _has_passed(waiter, op, role, inside)
        for waiter in using(BLOCKING, barrier, _edits.kernel_of(op))
    )


def _has_passed(
    waiter: ir.Operation,
    op: ir.Operation,
    role: ir.Operation,
    crossed: list[ir.Operation],
) -> bool:
    """Whether the last execution of `waiter` happens before `op`.

    That follows if the waiter's role gives a signal afterwards that `role` waits for
    before `op`.
    """
    other = role_of(waiter)
    if other is None or other == role:
        return False
    block = _edits.block_of(waiter)
    for signal in block[block.index(waiter) :]:
        if signal.name not in SIGNALING:
            continue
        answers = using(BLOCKING, barrier_of(signal), role)
        # A wait for a release returns at first without any signal.
        late = any(
            is_for_a_release(each) or may_follow(each, op) or each in crossed
            for each in answers
        )
        if answers and not late:
            return True
    return False


def finds_a_free_slot(op: ir.Operation) -> bool:
    """Whether a wait is one of a role's first ones for slots that are free at first."""
    role = role_of(op)
    if op.name not in BLOCKING or role is None or not is_for_a_release(op):
        return False
    waits = using(BLOCKING, barrier_of(op), role)
    before = waits[: waits.index(op) + 1]
    depth = _edits.depth(op.operands[0].type)
    looped = any(loops_around(each) for each in before)
    return len(before) <= depth and not looped


# --- Stores to global memory ----------------------------------------------------------


def is_ordered_by_channels(op: ir.Operation) -> bool:
    """Whether no barrier is needed for the memory accesses of `op`, in a role.

    That holds if `op` only reads slots, and stores to or updates global memory that no
    other operation accesses. A scalar is always stored by the same thread.
    """
    for each in _edits.walk(op):
        if each.name == "tile.store" and not stores_apart(each):
            return False
        if each.name == "memref.store" and not _is_alone(each.operands[1], each):
            return False
        if each.name in ATOMIC and not is_lone_update(each):
            return False
        if each.name == "tile.copy":
            return False
        if "tile.offset" in each.attributes:
            return False
        shared = [v for v in each.operands if is_shared(v.type)]
        if each.name != "tile.slot" and any(buffer_of(v) == v for v in shared):
            return False
    return True


def _is_alone(memory: ir.Value, op: ir.Operation) -> bool:
    """Whether `memory` is an argument of the kernel that only `op` accesses."""
    if not isinstance(memory.owner, ir.Block):
        return False
    users = [use.owner.operation for use in memory.uses]
    return memory.owner.owner.operation.name == "gpu.func" and users == [op]


def is_lone_update(op: ir.Operation) -> bool:
    """Whether `op` updates an argument of the kernel that no other operation accesses.

    Such updates commute if nothing uses the old values, and if they are no exchanges.
    """
    if op.name != "tile.atomic_rmw" or _edits.uses(op):
        return False
    if "exchange" in str(op.attributes["kind"]):
        return False
    return _is_alone(op.operands[1], op)


def stores_apart(op: ir.Operation | None) -> bool:
    """Whether `op` stores tiles that do not overlap in different iterations."""
    if op is None or op.name != "tile.store" or is_shared(op.operands[1].type):
        return False
    if not _is_alone(op.operands[1], op):
        return False
    shape = ir.RankedTensorType(op.operands[0].type).shape
    offsets = dynamic_offsets(op, "static_offsets", first=2)
    sizes = list(ir.DenseI64ArrayAttr(op.attributes["sizes"]))
    # Without sizes, the tile lies in the last dimensions.
    rank = len(ir.DenseI64ArrayAttr(op.attributes["static_offsets"]))
    extents = sizes or [1] * (rank - len(shape)) + list(shape)
    factors = [_factor(offset, extents[dim]) for dim, offset in offsets.items()]
    variables = [
        loop.regions[0].blocks[0].arguments[0]
        for loop in loops_around(op)
        if loop.name == "scf.for"
    ]
    return len(variables) == len(loops_around(op)) and all(
        _are_injective(factors, variable) for variable in variables
    )


_DYNAMIC = -(2**63)


def dynamic_offsets(op: ir.Operation, name: str, first: int) -> dict[int, ir.Value]:
    """By dimension the offsets of a region that are no constants.

    Args:
        op: the operation.
        name: of its attribute with the constant offsets.
        first: the number of the first of these operands.
    """
    static = ir.DenseI64ArrayAttr(op.attributes[name])
    dimensions = [i for i, each in enumerate(static) if each == _DYNAMIC]
    return {dim: op.operands[first + i] for i, dim in enumerate(dimensions)}


def _factor(offset: ir.Value, extent: int) -> ir.Value | None:
    """The value v if `offset` is v * c with a constant c >= `extent`."""
    op = _edits.defining(offset)
    if op is None or op.name != "arith.muli":
        return None
    constant = _edits.defining(op.operands[1])
    if constant is None or constant.name != "arith.constant":
        return None
    value = ir.IntegerAttr(constant.attributes["value"]).value
    return op.operands[0] if value >= extent else None


def _are_injective(factors: list[ir.Value | None], variable: ir.Value) -> bool:
    """Whether the factors differ for any two values of an induction variable.

    One factor is the variable itself, or two are its quotient and its remainder by the
    same divisor.
    """
    if any(each == variable for each in factors if each is not None):
        return True
    parts: dict[str, list[ir.Value]] = {"arith.remui": [], "arith.divui": []}
    for each in factors:
        op = None if each is None else _edits.defining(each)
        if op is not None and op.name in parts and op.operands[0] == variable:
            parts[op.name].append(op.operands[1])
    return any(d == r for d in parts["arith.divui"] for r in parts["arith.remui"])
