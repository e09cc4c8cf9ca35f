"""Pipelined loops compute the same as the loops that they are made from.

In the interpreter, asynchronous copies land as late as the waits permit.
"""

import re

import numpy as np
import pytest

from kernels import pipelined_case, pipelined_zoo
from tilews import ir, passmanager, sim

PREPARE = "tile-lower-persistent,canonicalize,cse"
ANNOTATE = f"{PREPARE},tile-annotate-instructions,tile-plan-pipeline"
STEPS = {
    "planned": ANNOTATE,
    "versioned": f"{ANNOTATE},tile-multi-version",
    "versioned-clean": f"{ANNOTATE},tile-multi-version,canonicalize,cse",
    "expanded": f"{ANNOTATE},tile-multi-version,tile-expand-pipeline",
    "expanded-clean": f"{ANNOTATE},tile-multi-version,canonicalize,cse,"
    "tile-expand-pipeline,canonicalize,cse",
    "roles": f"{ANNOTATE},tile-multi-version,canonicalize,cse,tile-specialize-warps,"
    "tile-expand-pipeline",
    "asynchronous": f"{ANNOTATE},tile-multi-version,tile-channel-preludes,"
    "tile-specialize-warps,tile-overlap-products,tile-defer-gemm-waits,"
    "tile-stage-stores,"
    "tile-assign-registers,tile-expand-pipeline",
}


def transform(case: pipelined_case.PipelinedCase, passes: str, target: str):
    """The case's module after `passes`."""
    module = case.kernel.build(target, **case.constants)
    with module.context:
        pipeline = f"builtin.module(gpu.module({passes}))"
        passmanager.PassManager.parse(pipeline).run(module.operation)
    return module


def run(case: pipelined_case.PipelinedCase, module) -> list[np.ndarray]:
    """The arrays after the kernel has run."""
    arguments = case.arguments(np.random.default_rng(0))
    sim.run(module, None, arguments)
    return [value for value in arguments if isinstance(value, np.ndarray)]


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "gfx942"])
@pytest.mark.parametrize("case", pipelined_zoo.CASES, ids=lambda case: case.name)
def test_schedules_compute_the_same(case, target):
    expected = run(case, case.kernel.build(target, **case.constants))
    for step, passes in STEPS.items():
        module = transform(case, passes, target)
        for found, wanted in zip(run(case, module), expected, strict=True):
            np.testing.assert_array_equal(found, wanted, err_msg=step)
        text = str(module)
        if step not in ("planned", "roles", "asynchronous"):
            assert text.count("tile.channel(") == case.piped, step
        if step.startswith("expanded"):
            assert "tile.stage" not in text
            assert "tile.num_stages" not in text


#: A module of two kernels. The first has an induction variable of type i64, from 5 in
#: steps of 7, and given stages and orders.
TWO_KERNELS = """
!s = memref<16x16xf32, #gpu.address_space<workgroup>>
!t = tensor<16x16xf32>
gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @by_hand(%A: memref<160x16xf32>, %C: memref<16x16xf32>, %n: i64)
      kernel attributes {tile.threads = 64 : i32} {
    %c5 = arith.constant 5 : i64
    %c7 = arith.constant 7 : i64
    %c16 = arith.constant 16 : index
    %zero = arith.constant dense<0.0> : !t
    %two = arith.constant dense<2.0> : !t
    %as = tile.alloc_shared : !s
    %r = scf.for %i = %c5 to %n step %c7 iter_args(%c = %zero) -> !t : i64 {
      %k = arith.index_cast %i : i64 to index
      tile.copy %A[%k, 0] to %as
        {tile.inst = #tile.inst<cp_async>, tile.stage = 1 : i32, tile.order = 2 : i32}
        : memref<160x16xf32> to !s
      %a = tile.load %as {tile.stage = 2 : i32, tile.order = 0 : i32} : !s -> !t
      %m = arith.mulf %c, %two {tile.stage = 3 : i32, tile.order = 3 : i32} : !t
      %s = arith.addf %m, %a {tile.stage = 3 : i32, tile.order = 4 : i32} : !t
      scf.yield %s : !t
    } {tile.num_stages = 3 : i32}
    tile.store %r to %C : !t to memref<16x16xf32>
    gpu.return
  }
  gpu.func @other(%A: memref<160x16xf32>, %C: memref<16x16xf32>, %n: index)
      kernel attributes {tile.threads = 64 : i32} {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %zero = arith.constant dense<0.0> : !t
    %r = scf.for %i = %c0 to %n step %c16 iter_args(%c = %zero) -> !t {
      %as = tile.alloc_shared : !s
      tile.copy %A[%i, 0] to %as : memref<160x16xf32> to !s
      %a = tile.load %as : !s -> !t
      %s = arith.addf %c, %a : !t
      scf.yield %s : !t
    } {tile.num_stages = 2 : i32}
    tile.store %r to %C : !t to memref<16x16xf32>
    gpu.return
  }
}
"""


@pytest.mark.parametrize("kernel", ["by_hand", "other"])
@pytest.mark.parametrize("n", [0, 5, 6, 20, 97])
def test_kernels_of_a_module(kernel, n):
    a = np.random.default_rng(n).integers(-3, 4, (160, 16)).astype("f4")
    results = []
    with ir.Context(), ir.Location.unknown():
        for step, passes in [("written", "canonicalize"), *STEPS.items()]:
            module = ir.Module.parse(TWO_KERNELS)
            pipeline = f"builtin.module(gpu.module({passes}))"
            passmanager.PassManager.parse(pipeline).run(module.operation)
            if step.startswith("expanded"):
                assert "tile.num_stages" not in str(module)
            out = np.zeros((16, 16), "f4")
            sim.run(module, kernel, [a, out, n], 1)
            results.append(out)
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])


@pytest.mark.parametrize("name", ["gemm-s3", "attention-s2", "guard-random-s4"])
def test_waits_are_as_strong_as_they_have_to_be(name):
    """A wait that permits one more pending group is too weak: copies land too late."""
    case = next(case for case in pipelined_zoo.CASES if case.name == name)
    expected = run(case, case.kernel.build("sm_80", **case.constants))
    text = str(transform(case, STEPS["expanded"], "sm_80"))
    weak = re.sub(r"pending = (\d+)", lambda m: f"pending = {int(m[1]) + 1}", text)
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(weak)
        try:
            found = run(case, module)
        except sim.SimulationError:  # It reads bytes that were never written.
            return
    assert any((f != e).any() for f, e in zip(found, expected, strict=True))
