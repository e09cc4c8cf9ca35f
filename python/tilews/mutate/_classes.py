"""The classes of mutants: the changes that can break synchronization.

A class is a function that changes one operation of a module in place. Its arguments are
the operation and the number of a variant, from 0 on. It returns False if the operation
has no such variant.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from .. import ir

Function = Callable[[ir.Operation, int], bool]


@dataclasses.dataclass(frozen=True)
class MutationClass:
    """One kind of change.

    Attributes:
        name: the first part of the ids of its mutants, such as ``drop``.
        summary: the change in words, for the table of results.
        on: names of the operations that can be changed.
        function: makes the change.
    """

    name: str
    summary: str
    on: frozenset[str]
    function: Function


#: All classes, once the modules that define them are imported.
CLASSES: dict[str, MutationClass] = {}


def mutation(name: str, *on: str) -> Callable[[Function], Function]:
    """Registers a class, which applies to operations of the names `on`."""

    def register(function: Function) -> Function:
        summary = (function.__doc__ or "").partition("\n")[0].rstrip(".")
        CLASSES[name] = MutationClass(name, summary, frozenset(on), function)
        return function

    return register
