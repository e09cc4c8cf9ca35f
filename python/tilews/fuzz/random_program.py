"""A random kernel with its arguments."""

from __future__ import annotations

import dataclasses
import linecache
import types
from typing import Any

import numpy as np

from .. import language as tl
from ..decorator import kernel as make_kernel
from ..dispatch import Kernel
from .data import Array, Number


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
    """

    seed: int
    source: str
    parameters: tuple[Array | Number, ...]
    threads: int
    blocks: int
    exact: bool
    chips: tuple[str, ...] | None = None

    @property
    def name(self) -> str:
        return f"kernel_{self.seed}"

    @property
    def text(self) -> str:
        """The text of a file with the kernel."""
        decorator = f"@tilews.kernel(threads={self.threads})"
        return (
            "import tilews\nimport tilews.language as tl\n\n\n"
            f"{decorator}\n{self.source}"
        )

    def function(self, language: Any = tl) -> types.FunctionType:
        """The function, written in a language."""
        path = f"<{self.name}>"
        # The frontend reads a function's source where tracebacks do.
        lines = self.source.splitlines(keepends=True)
        linecache.cache[path] = (len(self.source), None, lines, path)
        names: dict[str, Any] = {"tl": language}
        exec(compile(self.source, path, "exec"), names)
        function = names[self.name]
        assert isinstance(function, types.FunctionType)
        return function

    def kernel(self) -> Kernel:
        """The kernel."""
        return make_kernel(self.function(), threads=self.threads)

    def arguments(self) -> list[Any]:
        """New arrays and numbers to run the kernel with."""
        numbers = np.random.default_rng(self.seed)
        return [parameter.make(numbers) for parameter in self.parameters]
