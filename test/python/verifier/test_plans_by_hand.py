"""Proofs of pipelines whose stages are given by hand."""

import pytest

import tilews
import tilews.language as tl
from support.verifying import prove_steps
from tilews import passes, schedule


@tilews.kernel(threads=128)
def scaled_gemm(
    A: tl.Tensor["M, K:32", tl.f16],
    B: tl.Tensor["K, N:32", tl.f16],
    S: tl.Tensor["M, K:32", tl.f16],
    mask: tl.Tensor["L", tl.i1],
    C: tl.Tensor["M, N:32", tl.f32],
    GUARD: tl.constexpr,
):
    """A matmul whose left operand is scaled; three copies and four other operations."""
    x, y = tl.grid(tl.cdiv(B.shape[1], 64), tl.cdiv(A.shape[0], 64))
    As = tl.alloc_shared((64, 32), tl.f16)
    Bs = tl.alloc_shared((32, 64), tl.f16)
    Ss = tl.alloc_shared((64, 32), tl.f16)
    acc = tl.zeros((64, 64), tl.f32)
    for k in tl.range(tl.cdiv(A.shape[1], 32), num_stages=4):
        if GUARD(k, A.shape[1] // 32, mask):
            tl.copy(A[y * 64, k * 32], As)
            tl.copy(B[k * 32, x * 64], Bs)
            tl.copy(S[y * 64, k * 32], Ss)
            acc = tl.gemm(tl.load(As) * tl.load(Ss), Bs, acc)
    C[y * 64, x * 64] = acc


def always(k, n, mask):
    return True


GUARDS = {
    "none": always,
    "mask": lambda k, n, mask: tl.load(mask[k]),
    "last": lambda k, n, mask: k < n - 1,
    "thirds": lambda k, n, mask: k % 3 != 1,
}
#: The stages of the copies, and of the other operations.
PLANS = {
    "three ahead": ((0, 0, 0), 3),
    "two ahead": ((1, 1, 1), 3),
    "one ahead": ((0, 0, 0), 1),
}


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
@pytest.mark.parametrize("guard", GUARDS.values(), ids=GUARDS)
def test_plans_are_proved(guard, plan, target):
    module = scaled_gemm.build(target, GUARD=guard)
    passes.run(module, "canonicalize,cse,tile-annotate-instructions")
    (loop,) = schedule.pipelined_loops(schedule.find_kernel(module))
    operations = schedule.operations_to_schedule(loop)
    copies, others = list(plan[0]), plan[1]
    stage = [
        copies.pop(0) if op.operation.name == "tile.copy" else others
        for op in operations
    ]
    assert len(stage) >= 7 and not copies
    for i, op in enumerate(operations):
        op.attributes["tile.stage"] = schedule._i32(stage[i], op.context)
        op.attributes["tile.order"] = schedule._i32(i, op.context)
    prove_steps(module, f"tilews-to-nvvm{{chip={target}}}")
