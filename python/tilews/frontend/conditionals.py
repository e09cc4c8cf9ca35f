"""Run-time conditionals: ``scf.if`` whose results are found by comparing the branches.

Both branches are built with copies of the local names. Afterwards each name that a
branch has changed is merged, as a phi node merges values in SSA form. Equal Python
values stay Python values, and values of the kernel are yielded by both branches. A name
that cannot be merged becomes :class:`~.merging.Undefined` with the reason, which is
reported only if the name is used. For example::

    if n > 0:          %x = scf.if %c -> (i32) {
        x = a            scf.yield %a : i32
    else:              } else {
        x = 0            %zero = arith.constant 0 : i32
                         scf.yield %zero : i32 }

The ``scf.if`` is first built without results, because the branches determine their
types; :meth:`RegionMerger._join` then moves its blocks into one with results.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from .. import ir
from ..dialects import arith, scf
from ..errors import LanguageError
from ..language.values import BufferRegion, Scalar, Value, wrap
from .frame import CallFrame
from .merging import Undefined, flatten, merge_leaves, same_structure, unflatten

#: The result of a path through a function: its value in a tuple if the path returns,
#: None if it falls through to the statements that follow.
Result = tuple[Any] | None

# Operations without side effects that are cheap enough to run unconditionally.
_SPECULATABLE = {
    *("arith.cmpi", "arith.cmpf", "arith.constant", "arith.index_cast"),
    *("arith.addi", "arith.subi", "arith.muli", "arith.andi", "arith.ori"),
    *("arith.xori", "arith.extsi", "arith.trunci", "memref.dim"),
}


class RegionMerger:
    """Builds conditionals in a frame and merges the values of their two branches."""

    def __init__(self, frame: CallFrame) -> None:
        self._frame = frame

    def choose(
        self,
        node: ast.AST,
        condition: Scalar,
        if_true: Callable[[], Any],
        if_false: Callable[[], Any],
        what: str,
    ) -> Any:
        """The value of one of two expressions, chosen when the kernel runs.

        Args:
            node: the conditional, for its line in messages.
            condition: an i1 scalar.
            if_true, if_false: each evaluates one expression.
            what: names the value in messages.

        Raises:
            LanguageError: the two values cannot be merged.
        """
        frame = self._frame
        conditional = scf.IfOp(condition.ir, has_else=True)
        branches = (conditional.then_block, if_true), (conditional.else_block, if_false)
        values = []
        for block, compute in branches:
            with frame.builder.region(block):
                values.append(compute())
        (result,) = self._join(node, conditional, [(what, values[0], values[1])])
        if isinstance(result, Undefined):
            raise LanguageError(f"{what} {result.reason}")
        return result

    def branch(
        self,
        node: ast.AST,
        condition: Scalar,
        if_true: Callable[[], Result],
        if_false: Callable[[], Result],
        *,
        returns: bool,
    ) -> Result:
        """A run-time ``if`` statement.

        Args:
            node: the statement, for its line in messages.
            condition: an i1 scalar.
            if_true, if_false: each builds the statements of one branch. If `returns`,
                they go on up to the end of the function.
            returns: whether a branch returns from the function.

        Returns:
            The merged return value if `returns`, else None.
        """
        frame = self._frame
        conditional = scf.IfOp(condition.ir, has_else=True)
        branches = (conditional.then_block, if_true), (conditional.else_block, if_false)
        before, ends, results = frame.env, [], []
        for block, build in branches:
            with frame.builder.region(block), frame.scope(dict(before)):
                results.append(build())
                ends.append(frame.env)
        frame.env = dict(before)
        if returns:
            lhs, rhs = (None if result is None else result[0] for result in results)
            merged = self._join(node, conditional, [("the return value", lhs, rhs)])
            return (merged[0],)
        changed = self._changed_names(node, before, ends[0], ends[1])
        pairs = [(f"'{name}'", lhs, rhs) for name, (lhs, rhs) in changed.items()]
        merged = self._join(node, conditional, pairs)
        frame.env.update(zip(changed, merged, strict=True))
        return None

    def _changed_names(
        self,
        node: ast.AST,
        before: dict[str, Any],
        lhs: dict[str, Any],
        rhs: dict[str, Any],
    ) -> dict[str, tuple[Any, Any]]:
        """The names that a branch has changed, with their values in both branches."""
        changed = {}
        for name in dict.fromkeys([*lhs, *rhs]):
            missing = Undefined(
                f"is assigned in only one branch of the conditional of line "
                f"{self._frame.line(node)}; give it a value before"
            )
            values = lhs.get(name, missing), rhs.get(name, missing)
            if values[0] is not values[1] or values[0] is not before.get(name):
                changed[name] = values
        return changed

    def _join(
        self, node: ast.AST, conditional: scf.IfOp, pairs: list[tuple[str, Any, Any]]
    ) -> list[Any]:
        """Ends both branches of a conditional and merges pairs of values.

        Args:
            node: for its line in messages.
            conditional: an ``scf.if`` without results, whose blocks have no
                terminator yet; is replaced if values are yielded.
            pairs: a description and the values of the two branches each.

        Returns:
            One merged value a pair.
        """
        line = self._frame.line(node)
        merged: list[tuple[Any, bool]] = []
        yields: tuple[list[Value], list[Value]] = ([], [])
        with ir.InsertionPoint(conditional):
            for what, lhs, rhs in pairs:
                merged.append(_join_one(what, lhs, rhs, line, yields))
        blocks = conditional.then_block, conditional.else_block
        for block, values in zip(blocks, yields, strict=True):
            with ir.InsertionPoint(block):
                scf.YieldOp([value.ir for value in values])
        if not yields[0]:
            return [value for value, _ in merged]
        joined = ir.Operation.create(
            "scf.if",
            results=[value.ir.type for value in yields[0]],
            operands=[conditional.operands[0]],
            regions=2,
            ip=ir.InsertionPoint(conditional),
        )
        for old, new in zip(conditional.regions, joined.regions, strict=True):
            old.blocks[0].append_to(new)
        conditional.operation.erase()
        leaves: list[Any] = [
            wrap(result, value.dtype)
            for result, value in zip(joined.results, yields[0], strict=True)
        ]
        return [
            unflatten(value, leaves) if is_yielded else value
            for value, is_yielded in merged
        ]


def _join_one(
    what: str, lhs: Any, rhs: Any, line: int, yields: tuple[list[Value], list[Value]]
) -> tuple[Any, bool]:
    """Merges the values of two branches.

    Returns:
        The value and False if it is a Python value; its structure and True if its
        leaves were appended to `yields`.
    """
    if lhs is rhs:
        return lhs, False
    for value in (lhs, rhs):
        if isinstance(value, Undefined):
            return value, False
    lhs_leaves, rhs_leaves = flatten(lhs), flatten(rhs)
    if lhs_leaves is None or rhs_leaves is None or not same_structure(lhs, rhs):
        reason = (
            f"has different Python values in the branches of line {line}; only "
            "scalars and fragments can depend on a run-time condition"
        )
        return (lhs, False) if _equal(lhs, rhs) else (Undefined(reason), False)
    numbers = [x for x in (*lhs_leaves, *rhs_leaves) if not isinstance(x, Value)]
    if len(numbers) == 2 * len(lhs_leaves) and _equal(lhs, rhs):
        return lhs, False
    for pair in zip(lhs_leaves, rhs_leaves, strict=True):
        for side, value in zip(yields, merge_leaves(what, *pair, line), strict=True):
            side.append(value)
    return lhs, True


def _equal(lhs: Any, rhs: Any) -> bool:
    """Whether two Python values are equal and of one type."""
    if isinstance(lhs, BufferRegion) and isinstance(rhs, BufferRegion):
        lhs, rhs = vars(lhs), vars(rhs)
    try:
        return type(lhs) is type(rhs) and bool(lhs == rhs)
    except Exception:  # a comparison that Python does not define
        return False


def fold_into_logic(result: Value, condition: Scalar, is_and: bool) -> Value:
    """Replaces an ``scf.if`` around speculatable operations by ``andi`` or ``ori``.

    Args:
        result: the result of an ``scf.if`` that :meth:`RegionMerger.choose` made for
            ``and`` or ``or``.
        condition: its condition, the left side.
        is_and: whether it stands for ``and``.

    Returns:
        The combined condition, or `result` if an operation of the right side may run
        only if needed.
    """
    conditional = ir.OpResult(result.ir).owner
    block = conditional.regions[0 if is_and else 1].blocks[0]
    *inner, last = list(block.operations)
    if any(op.operation.name not in _SPECULATABLE for op in inner):
        return result
    right = last.operands[0]
    for op in inner:
        op.operation.move_before(conditional)
    combine = arith.andi if is_and else arith.ori
    value = type(result)(combine(condition.ir, right), result.dtype)
    conditional.erase()
    return value
