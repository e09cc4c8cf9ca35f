"""Checks of a kernel that is built, whose errors are at places in the source."""

from __future__ import annotations

from .. import ir
from .._support.locations import innermost
from ..errors import KernelError
from ..passmanager import PassManager
from .pipelines import LoopSchedule, with_given_orders
from .source import SourceFunction


def verify(module: ir.Module, function: SourceFunction) -> None:
    """Verifies a built kernel.

    Raises:
        KernelError: at the place in the source that the wrong operation is from.
    """
    try:
        module.operation.verify()
    except ir.MLIRError as error:
        diagnostic = error.error_diagnostics[0]
        raise _located(diagnostic, function) from error


def check_schedules(
    module: ir.Module, function: SourceFunction, schedules: list[LoopSchedule]
) -> None:
    """Checks stages and orders that are given by hand.

    Raises:
        KernelError: at an operation that would come before one it depends on.
    """
    text = "builtin.module(gpu.module(tile-lower-persistent,tile-plan-pipeline))"
    try:
        PassManager.parse(text).run(module.operation.clone())
    except ir.MLIRError as error:
        diagnostic = error.error_diagnostics[0]
        message = with_given_orders(diagnostic.message, diagnostic.location, schedules)
        raise _located(diagnostic, function, message) from error


def _located(
    diagnostic: ir.DiagnosticInfo, function: SourceFunction, message: str | None = None
) -> KernelError:
    """The error at a place in the source; with another message, if one is given."""
    message = message or diagnostic.message
    hint = None
    if "does not dominate this use" in message:
        hint = (
            "a value of a run-time loop or conditional is used after it, through a "
            "Python list or dictionary; keep it in a variable"
        )
    return error_at(function, diagnostic.location, message, hint)


def error_at(
    function: SourceFunction, location: ir.Location, message: str, hint: str | None
) -> KernelError:
    """The error at the place in the source that an operation is from."""
    callers = []
    if location.is_a_callsite():
        caller = location.caller
        while caller.is_a_callsite():
            callers.append(innermost(caller))
            caller = caller.caller
        callers.append(innermost(caller))
    location = innermost(location)
    if not location.is_a_file():
        return KernelError(message, hint=hint)
    file, line = function.file, location.start_line
    return KernelError(
        message,
        hint=hint,
        filename=location.filename,
        line=line,
        column=location.start_col,
        source=file.text(line) if location.filename == file.name else None,
        callers=tuple(f"{x.filename}:{x.start_line}:{x.start_col}" for x in callers),
    )
