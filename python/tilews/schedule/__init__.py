"""Scheduling a kernel step by step: what the passes do, on parts of a live module.

The passes of :mod:`tilews.passes` work on whole modules. The functions here work on
one kernel or on some loops of it, take what a pass would choose as arguments, and
raise where a pass would decline with a remark::

    module = gemm.build("sm_90a")
    kernel = schedule.find_kernel(module)
    schedule.annotate_instructions(kernel)
    (loop,) = schedule.pipelined_loops(kernel)
    schedule.plan_pipeline(loop, num_stages=4)
    (channel,) = schedule.multi_version_buffers(loop, depth=5)
    schedule.specialize(kernel, registers={"math": 232, "load": 40})

Others build a schedule by hand: :func:`make_channel`, :func:`make_cursor`,
:func:`acquire` and the like make operations at the current ``ir.InsertionPoint``;
:func:`use_version` and :func:`carry_cursors` fit the kernel to them.

What fails raises :class:`~tilews.errors.CompileError` and leaves the module as it
was. Functions that return str return warnings and remarks.

The functions that replace operations say so. After such a function, operations, values
and blocks that were found in the kernel before raise RuntimeError: look for them again.
The kernel itself stays. Every operation keeps its module alive.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .. import _tilews, ir
from ..dialects import gpu, scf, tile
from ..errors import CompileError
from ..language.integers import INT32_MAX
from ._channels import (
    Op,
    acquire,
    advance,
    as_operation,
    carry_cursors,
    check_integer,
    commit,
    expand_layout,
    make_channel,
    make_cursor,
    release,
    replace_operations,
    slot,
    use_version,
    version_buffer,
    wait,
)

__all__ = [
    "acquire",
    "advance",
    "annotate_instructions",
    "carry_cursors",
    "channel_preludes",
    "commit",
    "defer_gemm_waits",
    "expand_layout",
    "expand_pipeline",
    "find_kernel",
    "keep_one_role",
    "make_channel",
    "make_cursor",
    "multi_version_buffers",
    "operations_to_schedule",
    "ping_pong",
    "pipelined_loops",
    "plan_pipeline",
    "release",
    "slot",
    "specialize",
    "use_version",
    "version_buffer",
    "wait",
]

Messages = list[str]

_Kernel = _tilews._KernelRewrite


# --- Finding ---------------------------------------------------------------------


def _all(root: ir.Operation, kind: type) -> list[Any]:
    """The operations of a kind in another one, in program order."""
    found = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if isinstance(op.opview, kind):
            found.append(op.opview)
        return ir.WalkResult.ADVANCE

    root.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def find_kernel(module: ir.Module, name: str | None = None) -> gpu.GPUFuncOp:
    """A kernel of a module: the one of that name, or the only one.

    Raises:
        CompileError: there is none, or there are several.
        TypeError: `module` is no module.
    """
    if not isinstance(module, ir.Module):
        raise TypeError(f"module: expected an ir.Module, found {module!r:.80}")
    kernels = _all(module.operation, gpu.GPUFuncOp)
    names = [ir.StringAttr(kernel.attributes["sym_name"]).value for kernel in kernels]
    found = [k for k, n in zip(kernels, names, strict=True) if name in (None, n)]
    if len(found) != 1:
        wanted = "one kernel" if name is None else f"a kernel '{name}'"
        raise CompileError(
            f"expected {wanted}; the module has {', '.join(names) or 'none'}"
        )
    return found[0]


def pipelined_loops(kernel: Op) -> list[scf.ForOp]:
    """The loops with ``tile.num_stages``, in program order, outer ones first."""
    loops = _all(as_operation(kernel, "kernel"), scf.ForOp)
    return [loop for loop in loops if "tile.num_stages" in loop.attributes]


def operations_to_schedule(loop: Op) -> list[ir.OpView]:
    """The operations of a loop that a plan gives a stage and an order.

    These are the operations with an effect and those that make fragments, in program
    order. They include the operations in an ``scf.if`` around copies (a guard).

    Raises:
        CompileError: `loop` is no loop with ``tile.num_stages`` in a kernel.
    """
    operation = as_operation(loop, "loop")
    return [op.opview for op in _tilews._operations_to_schedule(operation)]


# --- Kernels ---------------------------------------------------------------------


def annotate_instructions(kernel: Op) -> Messages:
    """Gives copies and matmuls their instructions: ``--tile-annotate-instructions``.

    Raises:
        CompileError: an operation cannot become the instruction in its ``tile.inst``.
    """
    operation = as_operation(kernel, "kernel")
    return _tilews._rewrite_kernel(_Kernel.ANNOTATE_INSTRUCTIONS, operation)


def channel_preludes(kernel: Op) -> Messages:
    """Gives buffers that TMA fills outside of pipelined loops channels of one slot.

    Runs ``--tile-channel-preludes`` on the kernel, and replaces operations.
    """
    return _rewrite_kernel(_Kernel.CHANNEL_PRELUDES, kernel)


def specialize(kernel: Op, *, registers: Mapping[str, int] | None = None) -> Messages:
    """Splits a kernel with channels into the roles ``load`` and ``math``.

    ``load`` fills the channels, ``math`` does the rest; ``tile.threads`` grows by
    the warps of ``load``. See ``--tile-specialize-warps``, which falls back to
    :func:`keep_one_role`. Replaces operations.

    Args:
        kernel: is changed.
        registers: of a thread of ``math`` and of ``load``, multiples of 8 from 24 to
            256; the roles then fill warpgroups.

    Raises:
        CompileError: with the remark that says why the kernel keeps one role.
    """
    op = as_operation(kernel, "kernel")
    name = "tile.role_registers"
    before = op.attributes[name] if name in op.attributes else None
    if registers is not None:
        counts = {
            role: check_integer(count, f"registers of '{role}'", at=op)
            for role, count in registers.items()
        }
        entries = ", ".join(f"{role} = {count} : i64" for role, count in counts.items())
        op.attributes[name] = ir.Attribute.parse(f"{{{entries}}}", op.context)
    try:
        _verify(op)
        return _rewrite_kernel(_Kernel.SPLIT_INTO_ROLES, op)
    except CompileError:
        if before is not None:
            op.attributes[name] = before
        elif registers is not None:
            del op.attributes[name]
        raise


def keep_one_role(kernel: Op) -> Messages:
    """Lets all threads fill the channels of a kernel, without TMA.

    Replaces operations.
    """
    return _rewrite_kernel(_Kernel.KEEP_ONE_ROLE, kernel)


def defer_gemm_waits(kernel: Op) -> Messages:
    """Lets asynchronous matmuls of roles overlap with the next ones.

    Runs ``--tile-defer-gemm-waits`` on the kernel, and replaces operations.
    """
    return _rewrite_kernel(_Kernel.DEFER_GEMM_WAITS, kernel)


def ping_pong(kernel: Op) -> Messages:
    """Distributes the iterations of loops with ``tile.ping_pong`` over two roles.

    The roles execute iterations alternately. Runs ``--tile-ping-pong`` on the kernel,
    and replaces operations.

    Returns:
        A remark with the reason for each loop that one role still executes alone.
    """
    return _rewrite_kernel(_Kernel.PING_PONG, kernel)


def _rewrite_kernel(which: Any, kernel: Op) -> Messages:
    operation = as_operation(kernel, "kernel")
    return replace_operations(operation, _tilews._rewrite_kernel, which, operation)


def _verify(op: ir.Operation) -> None:
    try:
        op.verify()
    except ir.MLIRError as error:
        raise CompileError(
            "\n".join(str(diagnostic.message) for diagnostic in error.error_diagnostics)
        ) from None


# --- Loops -----------------------------------------------------------------------


def _loops(loops: Op | Iterable[Op]) -> list[ir.Operation]:
    if isinstance(loops, (ir.Operation, ir.OpView)):
        loops = [loops]
    found = [as_operation(loop, "loops") for loop in loops]
    if not found:
        raise CompileError("loops: expected at least one loop")
    return found


def plan_pipeline(
    loops: Op | Iterable[Op],
    *,
    num_stages: int | None = None,
    stage: Sequence[int] | None = None,
    order: Sequence[int] | None = None,
) -> Messages:
    """Gives the operations of loops stages and orders: ``--tile-plan-pipeline``.

    Nothing moves: the function sets ``tile.stage`` and ``tile.order``.
    :func:`multi_version_buffers` and later steps carry out the plan.

    Args:
        loops: one loop, or several of one kernel. Loops that share buffers have to be
            planned together.
        num_stages: the number of stages of the pipeline; by default that of the loops.
        stage, order: for one loop only, the stage and the place in the order of each of
            its :func:`operations_to_schedule`; chosen by default.

    Returns:
        Remarks on copies that are not started ahead of time.

    Raises:
        CompileError: no operation of a loop can be pipelined, or the stages and orders
            violate dependences.
    """
    operations = _loops(loops)
    before = [_plan_attributes(loop) for loop in operations]
    try:
        if num_stages is not None:
            for loop in operations:
                count = check_integer(num_stages, "num_stages", at=loop)
                loop.attributes["tile.num_stages"] = _i32(count, loop.context)
        if (stage is None) != (order is None):
            raise CompileError("stage and order go together")
        if stage is not None:
            if len(operations) != 1:
                raise CompileError(
                    f"stage and order belong to one loop, found {len(operations)}"
                )
            _annotate(operations[0], stage, order)
        return _tilews._plan_pipelines(operations)
    except CompileError:
        for attributes in before:
            _restore(attributes)
        raise


def _i32(number: int, context: ir.Context) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(32, context), number)


_PLAN = ("tile.num_stages", "tile.stage", "tile.order")


def _plan_attributes(loop: ir.Operation) -> list[tuple[ir.Operation, dict[str, Any]]]:
    """The attributes of a plan, for a loop and each operation in it."""
    return [
        (op.operation, {n: op.attributes[n] for n in _PLAN if n in op.attributes})
        for op in _all(loop, ir.OpView)
    ]


def _restore(found: list[tuple[ir.Operation, dict[str, Any]]]) -> None:
    for op, attributes in found:
        for name in _PLAN:
            if name in attributes:
                op.attributes[name] = attributes[name]
            elif name in op.attributes:
                del op.attributes[name]


def _annotate(loop: ir.Operation, stages: Any, orders: Any) -> None:
    operations = operations_to_schedule(loop)
    for name, numbers, high in (
        ("stage", stages, 63),  # No channel has more slots.
        ("order", orders, INT32_MAX),
    ):
        if not isinstance(numbers, Sequence) or isinstance(numbers, str):
            raise CompileError(
                f"{name}: expected a list of integers, found {numbers!r:.80}"
            )
        if len(numbers) != len(operations):
            names = ", ".join(op.operation.name for op in operations)
            raise CompileError(
                f"{name} has {len(numbers)} entries, but the loop has "
                f"{len(operations)} operations to schedule: {names}"
            )
        for op, number in zip(operations, numbers, strict=True):
            number = check_integer(number, name, low=0, high=high, at=op.operation)
            op.attributes[f"tile.{name}"] = _i32(number, loop.context)


def multi_version_buffers(
    loops: Op | Iterable[Op], depth: int | None = None
) -> list[tile.ChannelOp]:
    """Gives the buffers of planned loops several versions, and channels for them.

    Replaces operations, among them the loops. In each iteration of the new loops, the
    operations that fill the channels come before those that read them, and each side
    has its own cursor.
    See ``--tile-multi-version``.

    Args:
        loops: one loop, or several of one kernel. A buffer that several of them fill
            gets one channel.
        depth: the number of slots of the channels; by default the number that the plans
            need. With more slots, producers in their own role run further ahead.

    Returns:
        The channels. :func:`pipelined_loops` finds the new loops.

    Raises:
        CompileError: a loop is not planned, its plan violates dependences or needs more
            versions, or a layout does not allow so many.
    """
    operations = _loops(loops)
    if depth is not None:
        depth = check_integer(depth, "depth", high=64, at=operations[0])
    channels = replace_operations(
        operations[0], _tilews._multi_version_buffers, operations, depth or 0
    )
    return [channel.opview for channel in channels]


def expand_pipeline(loop: Op) -> Messages:
    """Turns a planned loop with channels into a software pipeline.

    The copies of an iteration then start while earlier iterations are computed. Waits
    count groups of asynchronous copies. Replaces operations, among them the loop. See
    ``--tile-expand-pipeline``.

    Raises:
        CompileError: the loop has no plan or no channels, is in a role, or an
            operation in it has no stage.
    """
    operation = as_operation(loop, "loop")
    return replace_operations(operation, _tilews._expand_pipeline, operation)
