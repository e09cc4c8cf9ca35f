"""Schedules for Hopper compute the right result and compile without spills.

The assembler does not have to serialize wgmma, of which it would warn."""

import numpy as np
import pytest

from kernels import hopper, pipelined_zoo
from tilews import compiler, ir, passmanager, sim


@pytest.mark.skipif(compiler.find_ptxas() is None, reason="ptxas is not installed")
@pytest.mark.parametrize("name", hopper.VARIANTS)
def test_compiles_without_spills_and_warnings(name):
    with ir.Context():
        module = ir.Module.parse(hopper.gemm(**hopper.VARIANTS[name]))
        kernel = hopper.compile_schedule(module)
        assert kernel.cubin[:4] == b"\x7fELF"
    assert kernel.resources["warnings"] == []
    assert kernel.resources["spill_stores"] == 0
    # The load role elects a thread once. The math role elects one for each place that
    # releases a slot: in the loop, and after it if releases are deferred.
    elections = 3 if hopper.VARIANTS[name].get("deferred", True) else 2
    assert kernel.ptx.count("elect.sync") == elections
    assert "setmaxnreg" in kernel.ptx or name != "registers"


DEFER = "builtin.module(gpu.module(tile-defer-gemm-waits))"


@pytest.mark.skipif(compiler.find_ptxas() is None, reason="ptxas is not installed")
@pytest.mark.parametrize("options", [{}, {"masked": True}, {"tile_m": 64, "warps": 4}])
def test_pass_defers_without_serializing(options):
    with ir.Context():
        module = ir.Module.parse(hopper.gemm(deferred=False, **options))
        passmanager.PassManager.parse(DEFER).run(module.operation)
        assert "async" in str(module)
        kernel = hopper.compile_schedule(module)
    assert "wgmma.wait_group.sync.aligned 1;" in kernel.ptx
    assert kernel.resources["warnings"] == []
    assert kernel.resources["spill_stores"] == 0


@pytest.mark.parametrize("deferred", [False, True, "pass"])
@pytest.mark.parametrize("options", [{}, {"masked": True}, {"persistent": True}])
def test_computes_the_product(options, deferred):
    text = hopper.gemm(
        tile_m=64,
        tile_n=32,
        tile_k=32,
        stages=2,
        warps=4,
        deferred=deferred is True,
        **options,
    )
    random = np.random.default_rng(0)
    a = random.standard_normal((100, 136)).astype(np.float16)
    b = random.standard_normal((72, 136)).astype(np.float16)
    c = np.full((100, 72), np.nan, np.float32)
    mask = random.integers(0, 2, 5).astype(np.int8)
    with ir.Context():
        module = ir.Module.parse(text)
        if deferred == "pass":
            passmanager.PassManager.parse(DEFER).run(module.operation)
        arguments = [a, b, c] + ([mask] if "masked" in options else [])
        sim.run(module, None, arguments)
    kept = np.ones(136, bool)
    if "masked" in options:
        kept = np.repeat(mask, 32)[:136].astype(bool)
    expected = a[:, kept].astype(np.float32) @ b[:, kept].astype(np.float32).T
    np.testing.assert_allclose(c, expected, rtol=1e-3, atol=1e-3)


ZOO = (
    *("guard-random-s4", "attention-s2-causal", "nested", "recurrent", "loops-3-5-4"),
    *("view-raw-bytes", "view-prelude", "view-parts"),
)


@pytest.mark.skipif(compiler.find_ptxas() is None, reason="ptxas is not installed")
@pytest.mark.parametrize(
    "case",
    [case for case in pipelined_zoo.CASES if case.name in ZOO],
    ids=lambda case: case.name,
)
def test_kernels_as_written_compile_to_roles(case):
    module = case.kernel.build("sm_90a", **case.constants)
    with module.context:
        kernel = compiler.compile_module(module)
    assert "mbarrier.try_wait" in kernel.ptx
    assert kernel.manifest["tensor_maps"]
    assert kernel.resources["warnings"] == []
    assert kernel.resources["spill_stores"] == 0
