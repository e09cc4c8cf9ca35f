"""What commands share: streams and files to write, options that would be ignored."""

from __future__ import annotations

import io
import os
import pathlib
import signal
import sys
import threading
import types
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from .errors import CompileError

# Older versions of click have no generic ParamType, newer ones no other.
if TYPE_CHECKING:
    _ParamType = click.ParamType[pathlib.Path]
else:
    _ParamType = click.ParamType


class _ClosedOutput(io.TextIOBase):
    """The standard output of a process that was started without one.

    Python has None there, to which ``print`` and the like write nothing.
    """

    def write(self, text: Any, /) -> int:
        raise OSError("cannot write the output: stdout is closed")

    @property
    def buffer(self) -> _ClosedOutput:
        """What takes bytes."""
        return self


def _end(number: int, frame: types.FrameType | None) -> None:
    """Ends the process at a signal, as an exception does: that removes its files.

    During imports there are none, and an exception in one of native code would crash.
    """
    place = frame
    while place is not None:
        if "importlib" in place.f_code.co_filename:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        place = place.f_back
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    sys.exit(128 + number)


def _handle_signals() -> None:
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            default = (signal.SIG_DFL, signal.default_int_handler)
            if signal.getsignal(number) in default:
                signal.signal(number, _end)


class Command(click.Command):
    """A command that reports in one line what it cannot do.

    For example a stream that cannot be written, such as a full disk.
    """

    def main(self, *args: Any, **options: Any) -> Any:
        _handle_signals()
        if sys.stdout is None:
            sys.stdout = _ClosedOutput()
        try:
            return super().main(*args, **options)
        except (OSError, CompileError) as error:
            sys.exit(f"Error: {error}")


class Group(Command, click.Group):
    """Commands that report such streams."""


def printable(text: str) -> str:
    """A text that others chose, as one line: a terminal obeys control characters.

    Example:
        >>> printable("a\\x1b[31m")
        'a\\\\x1b[31m'
    """
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode()
        for char in text
    )


class OutputFile(_ParamType):
    """A file that can be written: found out before any work is done for it."""

    name = "file"

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> pathlib.Path:
        path = pathlib.Path(value)
        if path.is_dir():
            self.fail(f"'{path}' is a folder, expected a file to write", param, ctx)
        if not path.parent.is_dir():
            self.fail(
                f"cannot write '{path}': there is no folder '{path.parent}'; make it "
                "first",
                param,
                ctx,
            )
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            self.fail(f"cannot write '{path}': permission denied", param, ctx)
        return path


def refuse_ignored(reasons: Mapping[str, str | None]) -> None:
    """Refuses options that would have no effect.

    Args:
        reasons: why parameters of the command have no effect, by name, such as "needs
            --random"; None for one that has an effect.

    Raises:
        click.UsageError: one was given all the same.
    """
    context = click.get_current_context()
    # In the order of --help, so that the same one of several is always reported.
    for parameter in context.command.params:
        reason = reasons.get(parameter.name)
        source = context.get_parameter_source(parameter.name)
        if reason is not None and source is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{parameter.opts[0]} {reason}")


def parse_pairs(pairs: tuple[str, ...], what: str) -> dict[str, str]:
    """Options of the form ``NAME=VALUE`` by name; `what` is that form in messages."""
    values: dict[str, str] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise click.BadParameter(f"expected {what}, found '{pair}'")
        if name in values:
            raise click.BadParameter(f"'{name}' is given twice, expected {what} once")
        values[name] = text
    return values


def parse_extents(pairs: tuple[str, ...]) -> dict[str, int]:
    """Extents of the form ``NAME=EXTENT``, by name."""
    values = parse_pairs(pairs, "NAME=EXTENT")
    for name, text in values.items():
        if not text.isdecimal():
            raise click.BadParameter(
                f"expected as extent '{name}' a number from 0 on, found '{text}'"
            )
    return {name: int(text) for name, text in values.items()}
