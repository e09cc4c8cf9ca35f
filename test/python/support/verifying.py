"""Proofs of schedules after each pass, and roles whose loops are given as text."""

import pathlib
import re
import textwrap

import pytest

import tilews
import tilews.language as tl
from tilews import ir, passes

#: The first pass after which there is a schedule to check.
FIRST = "tile-multi-version"
#: The verifier expects barriers after the memory plan; the next pass places them. What
#: runs in the last iteration of a loop is proved before it is split off.
SKIPPED = {"tile-plan-shared-memory", "tile-peel-pipelines"}


#: Operations that need a proof. Before the memory plan, copies outside of channels
#: wait for themselves.
SCHEDULE = re.compile(
    r"tile\.(channel|mbarrier|copy_group_wait)|tile\.shared_bytes(?s:.*)inst<cp_async>"
)


def verify(module: ir.Module, step: str) -> bool:
    """Fails unless each kernel is proved or has nothing to prove.

    Returns:
        Whether there was anything to prove.
    """
    remarks = passes.verify_schedule(module, report=True)
    assert remarks, step
    for remark in remarks:
        if "tile-verify-0003" in remark:
            assert not SCHEDULE.search(str(module)), step
            continue
        assert "tile-verify-0002" in remark and "is proved" in remark, (step, remark)
    return any("tile-verify-0002" in remark for remark in remarks)


def verify_lowering(module: ir.Module) -> None:
    """Verifies a hand-written schedule before and after each pass of its lowering."""
    verify(module, "as made")
    for step in (
        "tile-infer-layouts",
        "tile-plan-shared-memory",
        "tile-insert-barriers",
        "tile-lower-channels",
    ):
        passes.run(module, step)
        if step not in SKIPPED:
            verify(module, step)


def schedule_steps(pipeline: str, first: str = FIRST) -> list[str]:
    """The passes of a pipeline after which there is a schedule to verify."""
    steps = [*passes.expand(pipeline)]
    flags = [step.partition("{")[0] for step in steps]
    end = next(i for i, e in enumerate(flags) if e.startswith("convert-tile-to-"))
    start = flags.index(first)
    return [each for each in flags[start:end] if each not in SKIPPED]


def verify_steps(module: ir.Module, pipeline: str, first: str = FIRST) -> int:
    """Runs a pipeline up to per-thread code and verifies after each pass.

    Returns:
        The number of passes after which a schedule was proved: at most that of
        :func:`schedule_steps`, and 0 for a kernel without a schedule.
    """
    proved = []
    for step in passes.expand(pipeline):
        flag = step.partition("{")[0]
        if flag.startswith("convert-tile-to-"):
            break
        passes.run(module, step)
        if (proved or flag == first) and flag not in SKIPPED:
            proved.append(verify(module, step))
    assert len(proved) == len(schedule_steps(pipeline, first))
    return sum(proved)


def prove_steps(module: ir.Module, pipeline: str) -> None:
    """Fails unless a schedule is proved after each pass of a pipeline that has one."""
    assert verify_steps(module, pipeline) == len(schedule_steps(pipeline))


#: A consumer and a producer.
_KERNEL = """
def kernel(
    A: tl.Tensor["K", tl.f32],
    C: tl.Tensor["16", tl.f32],
    mask: tl.Tensor["L", tl.i1],
    n: tl.index,
    m: tl.index,
    first: tl.index,
):
    t = tl.grid(8)
    K = A.shape[0]
    tiles = tl.cdiv(K, 16)
    {premise}
    As = tl.alloc_shared((16,), tl.f32, versions=2)
    ch = tl.channel(As)
    with tl.specialize():
        with tl.role("math", warps=4):
            acc = tl.zeros((16,), tl.f32)
            q = ch.cursor()
{math}
            C[0] = acc
        with tl.role("load", warps=1):
            p = ch.cursor()
{load}
"""
_READ = (
    "ch.wait(q)",
    "acc = acc + tl.load(tl.slot(As, q))",
    "ch.release(q)",
    "q = ch.advance(q)",
)
_FILL = (
    "ch.acquire(p)",
    "tl.copy(A[0], tl.slot(As, p))",
    "ch.commit(p)",
    "p = ch.advance(p)",
)


def _expand(loops: str, transaction: tuple[str, ...]) -> str:
    """The lines of a role, with the steps of transactions."""
    lines: list[str] = []
    for line in loops.strip("\n").split("\n"):
        text = line.lstrip()
        indent = line.removesuffix(text)
        lines += [indent + s for s in (transaction if text == "STEP" else [text])]
    return textwrap.indent("\n".join(lines), " " * 12)


def build_roles(path: pathlib.Path, premise: str, math: str, load: str) -> ir.Module:
    """Builds a kernel whose roles execute statements, of which STEP is a transaction.

    Args:
        path: of the file that the text of the kernel is written to.
        premise: a statement before the roles.
        math: the statements of the consumer.
        load: those of the producer.
    """
    path.write_text(
        _KERNEL.format(
            premise=premise, math=_expand(math, _READ), load=_expand(load, _FILL)
        )
    )
    names = {"tl": tl}
    exec(compile(path.read_text(), path, "exec"), names)
    return tilews.kernel(names["kernel"]).build("sm_90a")


def check_right_roles(path: pathlib.Path, parts: tuple[str, str, str]) -> None:
    """Fails unless the kernel of :func:`build_roles` is proved, in each form."""
    module = build_roles(path, *parts)
    remarks = passes.verify_schedule(module, report=True)
    assert any("tile-verify-0002" in remark for remark in remarks), remarks
    prove_steps(module, "tilews-to-nvvm{chip=sm_90a}")


def check_wrong_roles(path: pathlib.Path, parts: tuple[str, str, str]) -> None:
    """Fails unless the verifier refutes the kernel of :func:`build_roles`."""
    module = build_roles(path, *parts)
    with pytest.raises(tilews.errors.CompileError, match="is wrong"):
        passes.verify_schedule(module, report=True)
