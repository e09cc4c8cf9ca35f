"""Makes mutants of a module. Each has an id from which it can be made again."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterator, Sequence

from .. import ir
from ..errors import CompileError

# The modules of classes register them.
from . import _edits, _numbers, _operations, _role_exchanges  # noqa: F401
from ._classes import CLASSES, MutationClass


@dataclasses.dataclass(frozen=True)
class Mutant:
    """A module with one fault.

    Attributes:
        mutation: the name of the class.
        op: the operation of the original that was changed.
        index: its place in the order in which the original is printed.
        variant: the number of the change among those of the class.
        module: the mutant.
    """

    mutation: str
    op: ir.Operation
    index: int
    variant: int
    module: ir.Module

    @property
    def id(self) -> str:
        """``class:operation-index.variant``, which :func:`mutant` accepts."""
        name = _edits.short_name(self.op)
        return f"{self.mutation}:{name}-{self.index}.{self.variant}"

    @property
    def place(self) -> str:
        """The changed operation as it was, without its types."""
        return _line(self.op)


def merged(edits: Sequence[Mutant]) -> Mutant:
    """Several edits as one: the change of the first one, with the result of all."""
    return dataclasses.replace(edits[0], module=edits[-1].module)


def mutants(
    module: ir.Module, classes: Collection[str] = tuple(CLASSES)
) -> Iterator[Mutant]:
    """All distinct mutants of a module, in a fixed order.

    Mutants that the IR's verifier rejects are left out, because no pass could have
    made them.

    Args:
        module: a scheduled kernel, with channels or with barriers. It is not changed.
        classes: names of the classes to make, keys of :data:`CLASSES`.
    """
    seen = {str(module)}
    for name in classes:
        one = CLASSES[name]
        for index, op in enumerate(_edits.walk(module.operation)):
            if op.name not in one.on:
                continue
            variant = 0
            while (changed := _apply(module, one, index, variant)) is not None:
                text = str(changed)
                if text not in seen and _is_valid(changed):
                    seen.add(text)
                    yield Mutant(name, op, index, variant, changed)
                variant += 1


def mutant(module: ir.Module, id: str) -> Mutant:
    """The mutant of a module with an id.

    Args:
        module: the module that the id was made for.
        id: ``class:operation-index.variant``, as in :attr:`Mutant.id`.

    Raises:
        CompileError: the id is malformed, or the module has no such mutant.
    """
    match = re.fullmatch(r"([a-z-]+):([a-z_]+)-(\d+)\.(\d+)", id)
    if match is None:
        raise CompileError(
            f"'{id}' is no mutant, expected CLASS:OPERATION-INDEX.VARIANT, such as "
            "drop:wait-23.0"
        )
    name, operation, index, variant = match.groups()
    if name not in CLASSES:
        raise CompileError(f"no class '{name}', only: {', '.join(CLASSES)}")
    operations = _edits.walk(module.operation)
    found = operations[int(index)] if int(index) < len(operations) else None
    if found is None or _edits.short_name(found) != operation:
        was = "there is none" if found is None else f"it is a {found.name}"
        raise CompileError(f"'{id}': operation {index} is no {operation}, {was}")
    changed = None
    if found.name in CLASSES[name].on:
        changed = _apply(module, CLASSES[name], int(index), int(variant))
    if changed is None:
        raise CompileError(f"'{id}': class '{name}' cannot change {_line(found)}")
    return Mutant(name, found, int(index), int(variant), changed)


def _apply(
    module: ir.Module, one: MutationClass, index: int, variant: int
) -> ir.Module | None:
    """A changed copy of the module; None if the class has no such variant."""
    with module.context:
        copy = ir.Module.create(module.operation.location)
        for op in module.body.operations:
            copy.body.append(op.operation.clone(ip=None))
        changed = _edits.walk(copy.operation)[index]
        return copy if one.function(changed, variant) else None


def try_edit(
    module: ir.Module, one: MutationClass, index: int, variant: int
) -> ir.Module | None:
    """A changed copy of a module that the IR's verifier accepts; None without one.

    Args:
        module: a scheduled kernel.
        one: a class that applies to the operation.
        index: its place in the order in which the module is printed.
        variant: the number of the change.
    """
    changed = _apply(module, one, index, variant)
    return changed if changed is not None and _is_valid(changed) else None


def _is_valid(module: ir.Module) -> bool:
    try:
        return module.operation.verify()
    except ir.MLIRError:
        return False


def _line(op: ir.Operation) -> str:
    text = str(op.get_asm()).strip().splitlines()[0]
    return re.sub(r" : .*", "", text)
