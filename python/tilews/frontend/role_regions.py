"""Hand-written roles: ``with tl.specialize():`` and ``with tl.role(...):``.

They become ``tile.specialize`` with one ``tile.role`` each. Names that a role assigns
end with it, because only the role's threads have their values.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from .. import ir
from ..dialects import tile
from ..errors import LanguageError
from ..language.control import roles
from .frame import CallFrame
from .merging import Undefined
from .source import contains_return


class RoleBuilder:
    """Builds the roles of a kernel in a frame.

    Args:
        frame: the frame that holds the ``with`` statements.
        evaluate: evaluates an expression.
        build_body: builds the statements of a role.
    """

    def __init__(
        self,
        frame: CallFrame,
        *,
        evaluate: Callable[[ast.expr], Any],
        build_body: Callable[[list[ast.stmt]], None],
    ) -> None:
        self._frame = frame
        self._evaluate = evaluate
        self._build_body = build_body

    def build(self, node: ast.With) -> None:
        """A ``with`` statement.

        Raises:
            LanguageError: it is neither tl.specialize() nor tl.role(...), or returns.
        """
        if len(node.items) != 1 or node.items[0].optional_vars is not None:
            raise LanguageError("'with' takes one item, without 'as'")
        if contains_return(node.body):
            raise LanguageError("a function cannot return from inside a role")
        context = node.items[0].context_expr
        # No other function is called: it might have a side effect.
        callee = None
        if isinstance(context, ast.Call):
            callee = self._evaluate(context.func)
        if callee not in (roles.specialize, roles.role):
            raise LanguageError(
                "kernels support 'with' for tl.specialize() and tl.role(...) only"
            )
        value = self._evaluate(context)
        with self._apart(node):
            if isinstance(value, roles.Role):
                self._build_role(node, value)
            else:
                self._build_specialize(node)

    @contextlib.contextmanager
    def _apart(self, node: ast.With) -> Iterator[None]:
        """Ends the names that are assigned inside: they are undefined afterwards."""
        frame = self._frame
        before = frame.env
        with frame.scope(dict(before)), frame.unrolling(None):
            yield
            after = frame.env
        reason = (
            f"is assigned in the role of line {frame.line(node)}, and known only to "
            "its threads"
        )
        frame.env = dict(before)
        for name, value in after.items():
            if name not in before or before[name] is not value:
                frame.env[name] = before.get(name, Undefined(reason))

    def _build_specialize(self, node: ast.With) -> None:
        builder = self._frame.builder
        if builder.regions:
            raise LanguageError(
                "tl.specialize stands in a run-time loop, conditional or role",
                "write it in the kernel's own body, and loops in its roles",
            )
        op = tile.SpecializeOp()
        with builder.region(op.body.blocks.append()):
            self._build_body(node.body)
        builder.set_threads(_count_warps(op))

    def _build_role(self, node: ast.With, role: roles.Role) -> None:
        parent = ir.InsertionPoint.current.block.owner
        if not isinstance(parent.opview, tile.SpecializeOp):
            raise LanguageError(
                f"role '{role.name}' stands outside of tl.specialize",
                "write: with tl.specialize():",
            )
        op = tile.RoleOp(role.name, role.warps, registers=role.registers)
        builder = self._frame.builder
        with builder.role(role.warps), builder.region(op.body.blocks.append()):
            self._build_body(node.body)


def _count_warps(specialize: tile.SpecializeOp) -> int:
    """The warps of all roles together."""
    return sum(
        ir.IntegerAttr(op.attributes["warps"]).value
        for op in specialize.body.blocks[0].operations
        if isinstance(op, tile.RoleOp)
    )
