"""Prints and assertions of a kernel that runs."""

from __future__ import annotations

import os
from typing import Any

from ... import ir
from ..._support.locations import innermost
from ...dialects import tile
from ...errors import LanguageError
from ..arithmetic import cast, is_number
from ..builder import current
from ..types import i1
from ..unloaded import InMemory, load_hint
from ..values import Value, describe


def print(*values: Any) -> None:
    """Prints values when the kernel runs: a scalar once a block, a fragment whole.

    The interpreter prints fragments as tables, which numpy's print options shorten. An
    NVIDIA GPU prints a line for up to eight elements of a row, with the block and the
    indices. A launch on an AMD GPU waits for the kernel, and prints the tables of the
    interpreter. A run prints at most 1000 lines (the variable ``TILEWS_PRINT_LINES``).

    Args:
        values: scalars and fragments. Python strings and numbers form the label of the
            values after them; without any, it is the line of the kernel.

    Raises:
        LanguageError: a value is a buffer.

    Example:
        >>> tl.print("sum", tl.sum(tl.arange(4)))  # block (0, 0, 0): sum 6
        >>> tl.sum(tl.arange(4))  # in the examples of this reference: 6
        6
    """
    current("tl.print")
    for value in values:
        if isinstance(value, InMemory):
            value.refuse("tl.print")
    label: list[str] = []
    shown: list[Value] = []
    for value in values:
        if isinstance(value, Value):
            shown.append(value)
            continue
        if shown:
            print_values(" ".join(label) or _place(), shown)
            label, shown = [], []
        label.append(str(value))
    print_values(" ".join(label) or _place(), shown)


def print_values(message: str, shown: list[Value]) -> None:
    """Prints values after a message, integers with or without a sign."""
    op = tile.PrintOp(message, [value.ir for value in shown])
    unsigned = [i for i, value in enumerate(shown) if value.dtype.is_unsigned]
    if unsigned:
        op.attributes["tile.unsigned"] = ir.DenseI64ArrayAttr.get(unsigned)


def _place() -> str:
    """The file and the line of the kernel that is being built."""
    location = innermost(ir.Location.current)
    if not location.is_a_file():
        return ""
    return f"{os.path.basename(location.filename)}:{location.start_line}"


def device_assert(condition: Any, message: str = "assertion failed") -> None:
    """Stops the kernel unless a condition holds.

    An error has the message, the line of the kernel and the block: that of the
    interpreter or of ``run="sim"`` at once, that of a GPU with the next launch. NVIDIA
    GPUs also print them. Where HIP ends the process instead, the text is lost.

    Args:
        condition: a scalar, or a fragment, all elements of which have to be true.
        message: what the error says.

    Raises:
        LanguageError: `condition` is neither, or `message` is no text.

    Example:
        @tilews.kernel
        def invert(X: tl.Tensor["64", tl.f32]):
            x = tl.load(X)
            tl.device_assert(x != 0.0, "a zero has no inverse")
            X[0] = 1.0 / x

        x = np.full(64, 4, np.float32)
        invert(x)
        assert (x == 0.25).all()
        try:
            invert(np.zeros(64, np.float32))
        except tilews.sim.SimulationError as error:
            assert "a zero has no inverse" in str(error)
        else:
            assert False
    """
    builder = current("tl.device_assert")
    if not isinstance(message, str):
        raise LanguageError(
            f"tl.device_assert: expected a message, found {describe(message)}",
            "print values with tl.print",
        )
    if is_number(condition):
        condition = cast(bool(condition), i1)
    if not isinstance(condition, Value):
        raise LanguageError(
            f"tl.device_assert: expected a condition, found {describe(condition)}",
            load_hint(condition),
        )
    if builder.chip is not None:
        # The interpreter's errors have the place.
        message = f"{message} ({_place()})"
    tile.assert_(condition.to(i1).ir, message)
