"""Kernels that are planned again: with each limit they compute what is written.

``tile.schedule_limit`` is what ``--tile-verify-schedule`` sets when a plan was wrong.
"""

import numpy as np
import pytest

import tilews
import tilews.language as tl
from kernels import pipelined_zoo
from support.simulating import PHASES, run_passes, simulate
from tilews import ir, sim

LIMITS = ("few_channels", "one_role", "no_pipeline")


def limit(module, value):
    """Gives the kernel of a module a limit."""
    kernel = sim._run.find_kernel(module, None)
    with module.context:
        attribute = ir.Attribute.parse(f"#tile.schedule_limit<{value}>")
    kernel.attributes["tile.schedule_limit"] = attribute
    return module


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("case", pipelined_zoo.CASES, ids=lambda case: case.name)
def test_limited_schedules_compute_the_same(case, target):
    expected = simulate(case, case.kernel.build(target, **case.constants))
    for value in LIMITS:
        module = limit(case.kernel.build(target, **case.constants), value)
        # The verifier fails if a limited schedule is wrong.
        run_passes(module, f"{PHASES['barriers']},tile-verify-schedule")
        text = str(module)
        assert value == "few_channels" or "tile.specialize" not in text
        assert value != "no_pipeline" or "inst<tma>" not in text
        found = simulate(case, module, policy="latest")
        for array, wanted in zip(found, expected, strict=True):
            np.testing.assert_array_equal(array, wanted, err_msg=value)


@tilews.kernel(threads=128)
def two_buffers_by_rows(
    A: tl.Tensor["64, K:64", tl.f16],
    B: tl.Tensor["64, K:64", tl.f16],
    D: tl.Tensor["64, K:64", tl.f16],
    C: tl.Tensor["M, 64", tl.f32],
):
    """One loop over rows fills two buffers, beside a TMA copy that gets a role."""
    As = tl.alloc_shared((64, 64), tl.f16)
    Bs = tl.alloc_shared((64, 64), tl.f16)
    Ds = tl.alloc_shared((64, 64), tl.f16)
    for m in tl.persistent(2, ping_pong=True):
        acc = tl.zeros((64, 64), tl.f32)
        for k in tl.range(tl.cdiv(A.shape[1], 64), num_stages=5):
            for i in tl.range(64):
                tl.copy(B[i : i + 1, k * 64 : k * 64 + 64], Bs[i : i + 1, :])
                tl.copy(D[i : i + 1, k * 64 : k * 64 + 64], Ds[i : i + 1, :])
            tl.copy(A[0, k * 64], As)
            acc = tl.gemm(Bs, Bs, acc)
            acc = tl.gemm(Ds, Ds, acc)
            acc = tl.gemm(As, As, acc)
        C[m * 64, 0] = acc


@pytest.mark.unverified
def test_a_plan_that_is_refused_is_no_error():
    """The verifier has refused this plan, of --tilews-to-nvvm, with barriers."""
    compiled = two_buffers_by_rows.compile("sm_90a")
    assert sum("tile-verify" in message for message in compiled.messages) <= 1
    results = []
    for form in ("tile", "barriers"):
        random = np.random.default_rng(0)
        arguments = [random.integers(-2, 3, (64, 128)).astype("f2") for _ in range(3)]
        arguments.append(np.zeros((128, 64), "f4"))
        with ir.Context():
            module = ir.Module.parse(compiled.mlir(form))
            sim.run(module, None, arguments, grid=(1,))
        results.append(arguments[-1])
    np.testing.assert_array_equal(*results)
