"""The call frame: what all parts of the frontend share about one function.

A kernel and each function that it inlines has a frame of its own, as calls of an
interpreter have: local names, the path of calls that led here, and the kernel under
construction. The classes that evaluate expressions, resolve calls, and build loops,
conditionals and roles each hold one frame and no other shared state.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from .. import ir
from ..errors import CompileError, KernelError, LanguageError
from ..language.builder import Builder
from .source import SourceFile, SourceFunction, assigned_names


class LoopExit(Exception):
    """``break`` or ``continue`` of a loop that is unrolled."""


@dataclasses.dataclass(frozen=True)
class CallSite:
    """A call that led to the function of a frame.

    Attributes:
        location: of the call, for operations.
        text: the same as ``file:line:column``, for messages.
    """

    location: ir.Location
    text: str


class CallFrame:
    """One function call while its body becomes operations.

    Attributes:
        builder: the kernel under construction.
        function: the function whose body is built.
        env: the values of its local names so far.
        local_names: all names that the function assigns anywhere.
        callers: the calls that led here, the innermost first.
        unrolled_regions: the number of run-time regions around the innermost unrolled
            loop, None outside of unrolled loops. ``break`` and ``continue`` are
            allowed only while :attr:`Builder.regions` is that number.
    """

    def __init__(
        self,
        builder: Builder,
        function: SourceFunction,
        callers: tuple[CallSite, ...] = (),
    ) -> None:
        self.builder = builder
        self.function = function
        self.callers = callers
        self.env: dict[str, Any] = {}
        self.local_names = frozenset(assigned_names(function.body))
        self.unrolled_regions: int | None = None

    # ===--- Places ---=== #

    @property
    def file(self) -> SourceFile:
        """The file that holds the function."""
        return self.function.file

    def line(self, node: ast.AST) -> int:
        """The line of a node, counted from one."""
        return self.file.position(node)[0]

    def call_site(self, node: ast.AST) -> CallSite:
        """The call at a node, as the functions that it inlines record it."""
        line, column = self.file.position(node)
        location = ir.Location.file(self.file.name, line, column)
        if self.callers:  # The name of a function that is inlined.
            name = self.function.name.rpartition(".")[2]
            location = ir.Location.name(name, location)
        return CallSite(location, f"{self.file.name}:{line}:{column}")

    def location(self, node: ast.AST) -> ir.Location:
        """The location of a node, with the calls that led to it.

        For example ``callsite("scaled"("k.py":6:9) at "k.py":13:9)``, in which line 6
        is in the function ``scaled``, which line 13 of the kernel calls.
        """
        location = self.call_site(node).location
        if self.callers:
            sites = [caller.location for caller in self.callers]
            location = ir.Location.callsite(location, sites)
        return location

    def error(
        self, node: ast.AST, message: str, hint: str | None = None
    ) -> KernelError:
        """The error at a node, with the calls that led to it."""
        line, column = self.file.position(node)
        return KernelError(
            message,
            hint=hint,
            filename=self.file.name,
            line=line,
            column=column,
            source=self.file.text(line),
            callers=tuple(caller.text for caller in self.callers),
        )

    @contextlib.contextmanager
    def at(self, node: ast.AST) -> Iterator[None]:
        """Gives the operations made inside, and errors raised inside, a node's place.

        Raises:
            KernelError: for every exception except those that have a place already.
        """
        try:
            with self.location(node):
                yield
        except (CompileError, LoopExit):
            raise
        except LanguageError as error:
            raise self.error(node, error.message, error.hint) from error
        except ir.MLIRError as error:
            message = "; ".join(d.message for d in error.error_diagnostics)
            raise self.error(node, message or str(error)) from error
        except NameError as error:
            raise self.error(node, str(error)) from error
        except RecursionError:
            # Near the limit this fails as well. An outer node then reports the error.
            raise self.error(
                node,
                "expressions or statements are nested too deeply here",
                "compute parts in variables or functions; a sum of many terms can be "
                "a loop",
            ) from None
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
            raise self.error(node, message) from error

    # ===--- Scopes ---=== #

    @contextlib.contextmanager
    def scope(self, env: dict[str, Any]) -> Iterator[None]:
        """Uses `env` for the local names inside, and restores them afterwards."""
        before, self.env = self.env, env
        try:
            yield
        finally:
            self.env = before

    @contextlib.contextmanager
    def unrolling(self, regions: int | None) -> Iterator[None]:
        """Sets :attr:`unrolled_regions` inside.

        An unrolled loop passes the current number of regions. A run-time loop or a
        role passes None, because its body cannot break out of an unrolled loop.
        """
        before, self.unrolled_regions = self.unrolled_regions, regions
        try:
            yield
        finally:
            self.unrolled_regions = before


class LocalNames(Mapping[str, Any]):
    """The local names of a frame, for the functions that are defined in it.

    A closure sees the values at the time of its call, not of its definition.
    """

    def __init__(self, frame: CallFrame) -> None:
        self._frame = frame

    def __getitem__(self, name: str) -> Any:
        return self._frame.env[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._frame.env)

    def __len__(self) -> int:
        return len(self._frame.env)
