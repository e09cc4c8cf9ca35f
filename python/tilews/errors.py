"""The exceptions of tilews."""

from __future__ import annotations

from typing import TypedDict

#: Longer lines of source are cut in messages.
_MAX_WIDTH = 160


def _excerpt(source: str, column: int) -> tuple[str, int]:
    """The part of a long line around a column, and the column in it."""
    if len(source) <= _MAX_WIDTH:
        return source, column
    first = max(0, min(column - _MAX_WIDTH // 2, len(source) - _MAX_WIDTH))
    before = "..." if first else ""
    after = "..." if first + _MAX_WIDTH < len(source) else ""
    text = f"{before}{source[first : first + _MAX_WIDTH]}{after}"
    return text, column - first + len(before)


class CompileError(Exception):
    """A kernel that cannot be built or compiled; its text says where and why."""


class Place(TypedDict):
    """Where an error is; lines and columns are counted from one."""

    filename: str
    line: int
    column: int


class KernelError(CompileError):
    """An error in a kernel's Python source.

    Attributes:
        message: what is wrong.
        filename, line, column: where, lines and columns counted from one; None if
            the error has no place in the source.
        hint: what to do about it, or None.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        filename: str | None = None,
        line: int | None = None,
        column: int | None = None,
        source: str | None = None,
        callers: tuple[str, ...] = (),
    ) -> None:
        self.message = message
        self.hint = hint
        self.filename = filename
        self.line = line
        self.column = column
        place = f"{filename}:{line}:{column}: " if filename else ""
        text = [f"{place}error: {message}"]
        if source is not None and column is not None:
            shown, place_in_it = _excerpt(source, column)
            text += [f"    {shown}", "    " + " " * (place_in_it - 1) + "^"]
        text += [f"  called from {caller}" for caller in callers]
        if hint:
            text.append(f"hint: {hint}")
        super().__init__("\n".join(text))


class LanguageError(Exception):
    """A misuse of the kernel language, before its place in the source is known.

    Functions of ``tilews.language`` raise it; the frontend turns it into a
    :class:`KernelError`.
    """

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(f"{message}; {hint}" if hint else message)
        self.message = message
        self.hint = hint
