"""Places in source files that locations of MLIR hold."""

from __future__ import annotations

from typing import Any

from .. import ir


def innermost(location: ir.Location | None) -> Any:
    """The location of an operation in the function that it was written in.

    Calls that led to this function, and its name, are left out.
    """
    place: Any = location
    while place.is_a_callsite() or place.is_a_name():
        place = place.callee if place.is_a_callsite() else place.child_loc
    return place
