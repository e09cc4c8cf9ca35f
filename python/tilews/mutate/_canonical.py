"""A canonical text of a kernel: kernels that do the same have the same text."""

from __future__ import annotations

import functools
import hashlib
from typing import Any

from .. import ir
from ..passmanager import PassManager
from . import _edits

#: Lowers channels to barriers and removes dead operations.
_PASSES = (
    "builtin.module(gpu.module(tile-lower-channels,canonicalize,cse,remove-dead-values,"
    "int-range-optimizations,canonicalize,cse))"
)


#: Name, operands, attributes, types of results, and blocks of an operation.
_Read = tuple[str, list[str], list[str], list[str], list[list[Any]]]


class _CanonicalText:
    """The text of a module that ignores the names and places of pure operations.

    A pure operation gets a hash of what it computes as its name and appears only as an
    operand of others. For example, two modules that differ in the order of two
    ``arith.addi`` have the same text.
    """

    def __init__(self, module: ir.Module) -> None:
        self._names: dict[ir.Value, str] = {}
        self._count = 0
        self.text = str(self._read(module.operation))

    def _read(self, op: ir.Operation) -> _Read:
        operands = [self._names[each] for each in op.operands]
        attributes = sorted(f"{each}={op.attributes[each]}" for each in op.attributes)
        types = [str(each.type) for each in op.results]
        blocks = [block for region in op.regions for block in region.blocks]
        return op.name, operands, attributes, types, list(map(self._read_block, blocks))

    def _read_block(self, block: ir.Block) -> list[_Read]:
        for argument in block.arguments:
            self._names[argument] = self._new_name()
        effects = []
        for op in (each.operation for each in block.operations):
            read = self._read(op)
            is_value = _edits.is_pure(op) and not op.regions and len(op.results) > 0
            if is_value:
                name = hashlib.sha256(str(read).encode()).hexdigest()
            else:
                name = self._new_name()
                effects.append(read)
            for number, result in enumerate(op.results):
                self._names[result] = f"{name}.{number}"
        return effects

    def _new_name(self) -> str:
        self._count += 1
        return str(self._count)


def program(module: ir.Module) -> str | None:
    """The canonical text of a module with its channels lowered to barriers.

    Returns:
        The text; None if the channels cannot be lowered.
    """
    return program_of_text(str(module), module.context)


@functools.lru_cache(maxsize=512)
def program_of_text(text: str, context: ir.Context) -> str | None:
    """:func:`program` of a module in text form, cached."""
    module = ir.Module.parse(text, context=context)
    try:
        _get_passes(context).run(module.operation)
    except ir.MLIRError:
        return None
    return _CanonicalText(module).text


@functools.lru_cache(maxsize=512)
def _get_passes(context: ir.Context) -> PassManager:
    """The passes, whose patterns are collected once for a context."""
    return PassManager.parse(_PASSES, context)
