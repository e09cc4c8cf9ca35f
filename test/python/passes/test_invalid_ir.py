"""IR that Python made invalid is refused by all that works on it, with the reason."""

import subprocess
import sys

import pytest

PRELUDE = """
import numpy as np
from kernels import pipelined_zoo
from tilews import CompileError, compiler, ir, passes, schedule, sim
from tilews.passmanager import PassManager

CASE = {case.name: case for case in pipelined_zoo.CASES}["gemm-s3"]
module = CASE.kernel.build("sm_90a", **CASE.constants)
passes.run(module, "tile-lower-persistent,canonicalize,cse")
kernel = schedule.find_kernel(module)
loops = schedule.pipelined_loops(kernel)

def spoil(op):
    if op.name == "arith.constant":
        del op.attributes["value"]
    return ir.WalkResult.ADVANCE

module.operation.walk(spoil)
try:
    USE
except (CompileError, ir.MLIRError) as error:
    assert "requires attribute 'value'" in str(error), error
else:
    raise AssertionError("accepted")
"""
USES = (
    "sim.run(module, None, CASE.arguments(np.random.default_rng(0)))",
    "passes.run(module, 'canonicalize')",
    "passes.run(module, 'tile-set-target{chip=sm_90a}')",
    "PassManager.parse('any(canonicalize)', module.context).run(module.operation)",
    "compiler.compile_module(module, 'sm_90a')",
    "schedule.annotate_instructions(kernel)",
    "schedule.plan_pipeline(loops)",
    "schedule.operations_to_schedule(loops[0])",
    "schedule.multi_version_buffers(loops)",
    "schedule.expand_pipeline(loops[0])",
    "schedule.specialize(kernel)",
)


@pytest.mark.parametrize("use", USES)
def test_invalid_ir_is_refused(use):
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE.replace("USE", use)],
        cwd="test/python",
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, f"{done.returncode}: {done.stderr[-2000:]}"
