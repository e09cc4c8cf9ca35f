"""A random kernel with its arguments."""

from __future__ import annotations

import dataclasses
import functools
import linecache
import types
import typing
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import ir
from .. import language as tl
from ..decorator import kernel as make_kernel
from ..dispatch import Kernel
from .parameters import RandomParameter, Wrap


@dataclasses.dataclass(frozen=True)
class RandomProgram:
    """A kernel with its arguments.

    Attributes:
        seed: what it is made from.
        source: the function's text, without the decorator.
        parameters: of the kernel, in order.
        threads: of a block.
        blocks: of the grid.
        exact: whether numpy computes exactly the same.
        chips: what the frontend builds other kernels for, and the chips that can run
            this one; None if it builds one kernel for all.
        classes: the text of the classes that the function uses.
    """

    seed: int
    source: str
    parameters: tuple[RandomParameter, ...]
    threads: int
    blocks: int
    exact: bool
    chips: tuple[str, ...] | None = None
    classes: str = ""

    @property
    def name(self) -> str:
        return f"kernel_{self.seed}"

    @property
    def text(self) -> str:
        """The text of a file with the kernel."""
        modules = [
            f"import {name}\n"
            for name in ("dataclasses", "typing")
            if f"{name}." in self.classes
        ]
        return (
            f"{''.join(modules)}import tilews\nimport tilews.language as tl\n\n\n"
            f"{self.classes}@tilews.kernel(threads={self.threads})\n{self.source}"
        )

    @property
    def has_forms(self) -> bool:
        """Whether some parameter is not one argument of the compiled kernel."""
        return not all(parameter.is_plain for parameter in self.parameters)

    @functools.cached_property
    def _names(self) -> dict[str, Any]:
        """The names of the text's classes and modules.

        The classes are made once: a call passes objects of those that the kernel names.
        """
        names: dict[str, Any] = {
            "dataclasses": dataclasses,
            "typing": typing,
            "tl": tl,
        }
        # The frontend evaluates annotations that are text in the module of a class.
        exec(compile(self.classes, f"<{self.name}>", "exec", dont_inherit=True), names)
        return names

    def function(self, language: Any = tl) -> types.FunctionType:
        """The function, written in a language."""
        path = f"<{self.name}>"
        # The frontend reads a function's source where tracebacks do.
        lines = (self.classes + self.source).splitlines(keepends=True)
        linecache.cache[path] = (len(self.source), None, lines, path)
        names = {**self._names, "tl": language}
        above = "\n" * self.classes.count("\n")
        exec(compile(above + self.source, path, "exec"), names)
        function = names[self.name]
        assert isinstance(function, types.FunctionType)
        return function

    def kernel(self) -> Kernel:
        """The kernel."""
        return make_kernel(self.function(), threads=self.threads)

    def build(self, target: str | None = None) -> ir.Module:
        """The kernel's IR, for the lists and the missing arguments that it has."""
        bindings: dict[str, Any] = {}
        for parameter in self.parameters:
            bindings |= parameter.binding()
        return self.kernel().build(target, **bindings)

    def arguments(self) -> list[Any]:
        """New arrays and numbers to run the compiled kernel with."""
        numbers = np.random.default_rng(self.seed)
        return [each for one in self.parameters for each in one.make(numbers)]

    def assemble(self, arguments: Sequence[Any], wrap: Wrap) -> dict[str, Any]:
        """What a call of the function gives for its parameters.

        Args:
            arguments: those of the compiled kernel.
            wrap: is called for each of them.
        """
        left = iter(arguments)
        values: dict[str, Any] = {}
        for parameter in self.parameters:
            values |= parameter.assemble(left, wrap, self._names)
        return values

    def call(self, arguments: Sequence[Any]) -> None:
        """Calls the kernel as a user would, in the interpreter; updates the arrays."""
        values = self.assemble(arguments, lambda _, value: value)
        self.kernel()(**values, backend="cpu")
