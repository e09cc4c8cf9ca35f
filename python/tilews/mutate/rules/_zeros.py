"""Loops whose next iteration, after the last one, would add zeros."""

from __future__ import annotations

from collections.abc import Sequence

from ... import ir
from ...dialects import tile
from .. import _edits, _protocol
from .._protocol import BLOCKING, SIGNALING

#: Operations whose results are zero if all their operands are.
_KEEP_ZEROS = {
    *(f"arith.{name}" for name in ("addf", "extf", "mulf", "subf", "truncf")),
    *(
        f"tile.{name}"
        for name in "broadcast convert_layout expand_dims reshape transpose".split()
    ),
}
#: Operations without effects on values.
_SYNCHRONIZING = _edits.SYNCHRONIZING | {"tile.slot", "tile.view"}


def add_zeros(loops: Sequence[ir.Operation]) -> bool:
    """Whether loops may have one iteration more, in which they add zeros."""
    return all(
        _has_simple_bounds(each) and _corresponds(each, loops) for each in loops
    ) and all(_Iteration(each, loops).adds_zeros() for each in loops)


def _has_simple_bounds(loop: ir.Operation) -> bool:
    lower, upper, step = loop.operands[:3]
    if (_edits.number_of(lower), _edits.number_of(step)) != (0, 1):
        return False
    if any(each.regions for each in _edits.walk(loop)[1:]):
        return False
    count = _edits.number_of(upper)
    if count is not None:
        return count > 1 and not _transactions_in(loop)
    return _dim_of(upper) is not None


def _dim_of(upper: ir.Value) -> tuple[ir.Operation, int] | None:
    """The extent n and the divisor of ceil(n / d), if only bounds use them."""
    quotient = _edits.defining(upper)
    if quotient is None or quotient.name != "arith.ceildivsi":
        return None
    divisor = _edits.number_of(quotient.operands[1])
    dim = _edits.defining(quotient.operands[0])
    if dim is None or dim.name != "memref.dim" or not divisor:
        return None
    bounds = [each.owner.operation for each in dim.results[0].uses]
    are_bounds = all(
        each.name == quotient.name
        and _edits.number_of(each.operands[1]) == divisor
        and all(
            use.owner.operation.name == "scf.for" and use.operand_number == 1
            for use in each.results[0].uses
        )
        for each in bounds
    )
    return (dim, divisor) if are_bounds else None


def _transactions_in(root: ir.Operation) -> list[ir.Operation]:
    return [e for e in _edits.walk(root) if e.name in BLOCKING | SIGNALING]


def _corresponds(loop: ir.Operation, loops: Sequence[ir.Operation]) -> bool:
    """Whether the partner of each transaction in a loop is in a loop of `loops`.

    Each barrier has one wait and one signal, both once in an iteration.
    """
    kernel = _edits.kernel_of(loop)
    for each in _transactions_in(loop):
        barrier = _protocol.barrier_of(each)
        ends = [_protocol.using(n, barrier, kernel) for n in (BLOCKING, SIGNALING)]
        if [len(end) for end in ends] != [1, 1]:
            return False
        around = [_edits.parent(end[0]) for end in ends]
        if not all(other in loops and _are_as_long(loop, other) for other in around):
            return False
    return True


def _are_as_long(loop: ir.Operation, other: ir.Operation) -> bool:
    """Whether two loops have equally many iterations, a number that is no constant."""
    one, two = _dim_of(loop.operands[1]), _dim_of(other.operands[1])
    if one is None or two is None or one[1] != two[1]:
        return False
    return _extent_of(one[0]) == _extent_of(two[0])


def _extent_of(dim: ir.Operation) -> tuple[ir.Value, int | None]:
    return dim.operands[0], _edits.number_of(dim.operands[1])


class _Iteration:
    """The iteration of a loop after its last one."""

    def __init__(self, loop: ir.Operation, loops: Sequence[ir.Operation]) -> None:
        self._loop = loop
        self._loops = loops
        self._zeros: set[ir.Value] = set()
        #: Results of the iteration that equal what the loop carries.
        self._same: dict[ir.Value, ir.Value] = {}

    def adds_zeros(self) -> bool:
        body = self._loop.regions[0].blocks[0]
        carried = list(body.arguments)[1:]
        self._same = {each: each for each in carried}
        operations = [each.operation for each in body.operations]
        if not all(map(self._follow, operations[:-1])):
            return False
        return all(
            not list(result.uses)
            or (value in self._same and self._same[value] == argument)
            for result, value, argument in zip(
                self._loop.results, operations[-1].operands, carried, strict=True
            )
        )

    def _follow(self, op: ir.Operation) -> bool:
        """Notes which results are zero; False if an effect is not known."""
        if op.name == "tile.copy":
            return _starts_beyond(op, self._loop)
        if op.name == "tile.load":
            if not _protocol.is_shared(op.operands[0].type):
                return False
            if self._reads_zeros(op):
                self._zeros.add(op.results[0])
            return True
        is_sum = op.name == "tile.reduce" and "sum" in str(op.attributes["kind"])
        if op.name in _KEEP_ZEROS or is_sum:
            self._compute(op)
            return True
        return op.name in _SYNCHRONIZING or _edits.is_pure(op)

    def _compute(self, op: ir.Operation) -> None:
        rest = [each for each in op.operands if each not in self._zeros]
        if not rest:
            self._zeros.update(op.results)
        elif op.name == "arith.addf" and len(rest) == 1 and rest[0] in self._same:
            self._same[op.results[0]] = self._same[rest[0]]

    def _reads_zeros(self, load: ir.Operation) -> bool:
        """Whether all that is written to a buffer in this iteration are zeros."""
        if isinstance(load.opview, tile.LoadOp) and load.opview.padding is not None:
            return False
        buffer = _protocol.buffer_of(load.operands[0])
        kernel = _edits.kernel_of(load)
        users = [
            each
            for each in _edits.walk(kernel)
            if each.name not in ("tile.load", "tile.slot", "tile.view", "tile.channel")
            and any(_protocol.buffer_of(value) == buffer for value in each.operands)
        ]
        return bool(users) and all(
            each.name == "tile.copy"
            and _protocol.buffer_of(each.operands[0]) != buffer
            and self._precedes(each, load)
            for each in users
        )

    def _precedes(self, copy: ir.Operation, load: ir.Operation) -> bool:
        """Whether a load reads what a copy writes in the iteration of this number."""
        around, block = _edits.parent(copy), _edits.block_of(load)
        if around == self._loop:
            return block.index(copy) < block.index(load)
        signals = [e for e in copy.operands if "!tile.mbarrier" in str(e.type)]
        waits = [
            each
            for each in block[: block.index(load)]
            if each.name == "tile.mbarrier_wait" and each.operands[0] in signals
        ]
        return around in self._loops and bool(waits) and _starts_beyond(copy, around)


def _starts_beyond(op: ir.Operation, loop: ir.Operation) -> bool:
    """Whether a copy after the last iteration reads beyond an extent of an array."""
    copy = op.opview
    if not isinstance(copy, tile.CopyOp):
        return False
    memory = copy.source
    if _protocol.is_shared(memory.type) or not isinstance(memory.owner, ir.Block):
        return False
    if copy.limit is not None or copy.rows is not None:
        return False
    offsets = _protocol.dynamic_offsets(op, "static_source_offsets", first=1)
    return any(
        _is_beyond(memory, dim, factor, loop)
        for dim, offset in offsets.items()
        if (factor := _factor_of(offset, loop)) is not None
    )


def _factor_of(offset: ir.Value, loop: ir.Operation) -> int | None:
    """The constant c of an offset `variable * c`."""
    op = _edits.defining(offset)
    variable = loop.regions[0].blocks[0].arguments[0]
    if op is None or op.name != "arith.muli" or op.operands[0] != variable:
        return None
    return _edits.number_of(op.operands[1])


def _is_beyond(memory: ir.Value, dim: int, factor: int, loop: ir.Operation) -> bool:
    """Whether the number of iterations times `factor` is at least an extent."""
    upper = loop.operands[1]
    count = _edits.number_of(upper)
    if count is not None:
        type_ = ir.MemRefType(memory.type)
        return not type_.is_dynamic_dim(dim) and count * factor >= type_.shape[dim]
    found = _dim_of(upper)
    if found is None or factor < found[1]:
        return False
    other, number = _extent_of(found[0])
    if (memory, dim) == (other, number):
        return True
    symbol = _symbol_of(memory, dim)
    return bool(symbol) and symbol == _symbol_of(other, number or 0)


def _symbol_of(memory: ir.Value, dim: int) -> str:
    """The name of an extent of an argument of the kernel; empty without one."""
    if not isinstance(memory.owner, ir.Block):
        return ""
    argument = ir.BlockArgument(memory)
    kernel = argument.owner.owner.operation
    if kernel.name != "gpu.func" or "arg_attrs" not in kernel.attributes:
        return ""
    all_attributes = ir.ArrayAttr(kernel.attributes["arg_attrs"])
    attributes = ir.DictAttr(all_attributes[argument.arg_number])
    if "tile.symbols" not in attributes:
        return ""
    return ir.StringAttr(ir.ArrayAttr(attributes["tile.symbols"])[dim]).value
