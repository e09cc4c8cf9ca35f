"""``breakpoint()`` in a kernel: a print that the interpreter takes for a stop."""

from __future__ import annotations

import ast
from typing import Any

from ..errors import LanguageError
from ..language.control.debugging import print_values
from ..language.values import Cursor, Value
from ..runtime.prints import breakpoint_message
from .frame import CallFrame


def build_breakpoint(frame: CallFrame, node: ast.Call) -> None:
    """Makes the operation of a breakpoint, which has the values of the local names.

    Raises:
        LanguageError: the kernel is built for a GPU.
    """
    if frame.builder.chip is not None:
        raise LanguageError(
            "breakpoint() stops the interpreter only",
            "call the kernel with target='cpu', or write tl.print",
        )
    names = frame.env.items()
    values = {
        name: value
        for name, value in names
        if isinstance(value, Value) and not isinstance(value, Cursor)
    }
    constants = {name: value for name, value in names if _is_constant(value)}
    types = {name: (x.dtype.numpy.name, x.shape) for name, x in values.items()}
    place = frame.file.name, frame.line(node), frame.function.name.rpartition(".")[2]
    message = breakpoint_message(place, types, constants)
    print_values(message, list(values.values()))


def _is_constant(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))
