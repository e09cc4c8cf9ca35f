"""Hand-written roles with copies that fill channels, and with other copies."""

import numpy as np
import pytest

import tilews
from kernels.role_copies import KERNELS, expect, operands
from support import simulating
from tilews import passes, sim

STEPS = passes.expand("tilews-to-nvvm{chip=sm_90a}")
ROLES = next(i for i, x in enumerate(STEPS) if x.startswith("tile-specialize-warps"))
SCHEDULED = STEPS[: ROLES + 1]


@pytest.mark.parametrize("k", [64, 336])
@pytest.mark.parametrize(("kernel", "what"), KERNELS, ids=lambda x: x.__name__)
def test_every_form_and_timing(kernel, what, k):
    """Kernels compute the same as numpy after each pass up to barriers in memory."""
    module = kernel.build("sm_90a")
    for step in ["canonicalize", *STEPS[: STEPS.index("tile-lower-channels") + 1]]:
        passes.run(module, step)
        for timing in simulating.TIMINGS:
            a, d, c = operands(k)
            sim.run(module, None, [a, d, c], **timing)
            np.testing.assert_array_equal(
                c, expect(a, d, what), err_msg=f"{step} {timing}"
            )


@pytest.mark.parametrize(("kernel", "what"), KERNELS, ids=lambda x: x.__name__)
def test_they_are_proved_and_compiled(kernel, what):
    module = kernel.build("sm_90a")
    for begin, end in (
        (0, len(SCHEDULED)),
        (len(SCHEDULED), STEPS.index("tile-lower-channels") + 1),
    ):
        passes.run(module, ",".join(STEPS[begin:end]))
        remarks = passes.run(module, "tile-verify-schedule{report=true}")
        assert f"tile-verify-0002: schedule of @{kernel.name} is proved" in remarks[0]
    text = str(module)
    # Threads make the copy that fills no channel.
    assert text.count("inst<tma>") == 1
    assert text.count("inst<cp_async>") == 1
    compiled = kernel.compile("sm_90a")
    assert "cp.async.bulk.tensor" in compiled.ptx
    assert "cp.async.cg.shared.global" in compiled.ptx
    if tilews.compiler.find_ptxas():
        assert compiled.cubin
