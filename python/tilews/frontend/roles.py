"""``with tl.specialize()`` and ``with tl.role(...)``."""

from __future__ import annotations

import ast
from typing import Any

from .. import ir
from ..dialects import tile
from ..errors import LanguageError
from ..language import roles
from .merging import Undefined
from .regions import Regions
from .source import contains_return


class Roles(Regions):
    """Builds the roles of a kernel."""

    def run_With(self, node: ast.With) -> None:
        if len(node.items) != 1 or node.items[0].optional_vars is not None:
            raise LanguageError("'with' takes one item, without 'as'")
        if contains_return(node.body):
            raise LanguageError("a function cannot return from inside a role")
        context = node.items[0].context_expr
        # Nothing else is called: it might have an effect.
        callee = self.eval(context.func) if isinstance(context, ast.Call) else None
        if callee not in (roles.specialize, roles.role):
            raise LanguageError(
                "kernels support 'with' for tl.specialize() and tl.role(...) only"
            )
        value = self.eval(context)
        if isinstance(value, roles.Role):
            self._apart(self._role, node, value)
        else:
            self._apart(self._specialize, node)

    def _apart(self, build: Any, node: ast.With, *args: Any) -> None:
        """Builds a region whose names end with it."""
        before, self.env = self.env, dict(self.env)
        outer, self.loop_regions = self.loop_regions, None
        try:
            build(node, *args)
        finally:
            after, self.env = self.env, before
            self.loop_regions = outer
        reason = (
            f"is assigned in the role of line {self.line(node)}, and known only to its "
            "threads"
        )
        self.env = dict(before)
        for name, value in after.items():
            if name not in before or before[name] is not value:
                self.env[name] = before.get(name, Undefined(reason))

    def _specialize(self, node: ast.With) -> None:
        if self.builder.regions:
            raise LanguageError(
                "tl.specialize stands in a run-time loop, conditional or role",
                "write it in the kernel's own body, and loops in its roles",
            )
        op = tile.SpecializeOp()
        with self.builder.region(op.body.blocks.append()):
            self.run_block(node.body, [])
        self.builder.set_threads(_count_warps(op))

    def _role(self, node: ast.With, role: roles.Role) -> None:
        parent = ir.InsertionPoint.current.block.owner
        if not isinstance(parent.opview, tile.SpecializeOp):
            raise LanguageError(
                f"role '{role.name}' stands outside of tl.specialize",
                "write: with tl.specialize():",
            )
        op = tile.RoleOp(role.name, role.warps, registers=role.registers)
        outer, self.builder.warps = self.builder.warps, role.warps
        try:
            with self.builder.region(op.body.blocks.append()):
                self.run_block(node.body, [])
        finally:
            self.builder.warps = outer


def _count_warps(specialize: tile.SpecializeOp) -> int:
    """Warps of all roles together."""
    return sum(
        ir.IntegerAttr(op.attributes["warps"]).value
        for op in specialize.body.blocks[0].operations
        if isinstance(op, tile.RoleOp)
    )
