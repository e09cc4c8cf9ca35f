"""What is asked of the compiler."""

from __future__ import annotations

import dataclasses

from .. import _tilews, ir
from ..errors import CompileError
from . import tool_path


@dataclasses.dataclass(frozen=True)
class CompilerOptions:
    """What is asked of the compiler: see :func:`tilews.compiler.compile_module`.

    Attributes:
        chip: the target; empty for the one that the module names.
        index_bitwidth: width of index arithmetic.
        pipeline: passes in place of the default ones; empty for those.
        line_info: whether the code names lines of the source.
    """

    chip: str
    index_bitwidth: int = 32
    pipeline: str = ""
    line_info: bool = True

    def check(self) -> None:
        """Checks the values.

        Raises:
            CompileError: one is unfit.
        """
        if self.chip == "cpu":
            raise CompileError(
                "the target 'cpu' is interpreted, not compiled: use tilews.sim"
            )
        if self.index_bitwidth not in (32, 64):
            raise CompileError(
                f"index_bitwidth: expected 32 or 64, found {self.index_bitwidth}"
            )
        if not isinstance(self.line_info, bool):
            raise CompileError(
                f"line_info: expected True or False, found {self.line_info!r}"
            )

    def start(self, module: ir.Module) -> _tilews.Compilation:
        """The compilation of a module, whose passes have run."""
        return _tilews.Compilation(
            module,
            self.chip,
            self.index_bitwidth,
            self.pipeline,
            self.line_info,
            tool_path.directories(),
        )
