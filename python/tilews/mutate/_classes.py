"""The classes of mutants: what can be done to synchronization to break it.

A class is a function that changes one operation of a module in place. It is called
with a number, that of the variant, and returns False if there is no such variant.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from .. import ir

Function = Callable[[ir.Operation, int], bool]


@dataclasses.dataclass(frozen=True)
class MutationClass:
    """What is done (`summary`) to operations of the names `on` by `function`."""

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
