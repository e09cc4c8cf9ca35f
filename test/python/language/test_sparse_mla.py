"""A kernel whose three roles need different numbers of registers."""

import math
import re

import numpy as np
import pytest

from kernels.cooperating import sparse_mla
from tilews import compiler, passes, sim


def arguments(tokens, chosen):
    rng = np.random.default_rng(0)
    q = rng.standard_normal((tokens, sparse_mla.HEADS, sparse_mla.WIDTH))
    cache = rng.standard_normal((300, sparse_mla.WIDTH)).astype(np.float16)
    ids = rng.integers(0, 300, (tokens, chosen)).astype(np.int32)
    out = np.zeros((tokens, sparse_mla.HEADS, 2 * sparse_mla.HALF), np.float16)
    return [q.astype(np.float16), cache, ids, out, math.log2(math.e) / 24]


def check(found):
    q, cache, ids, out, scale = found
    wanted = sparse_mla.reference(q, cache, ids, scale)
    np.testing.assert_allclose(out, wanted, atol=1e-3)


def test_schedule_is_proved_and_right():
    module = sparse_mla.sparse_mla.build("sm_90a")
    steps = passes.expand("tilews-to-nvvm{chip=sm_90a}")
    flags = [each.partition("{")[0] for each in steps]
    for step in steps[: flags.index("convert-tile-to-nvvm")]:
        passes.run(module, step)
    remarks = passes.verify_schedule(module, report=True)
    assert any(" is proved" in remark for remark in remarks)
    for policy in ("earliest", "latest"):
        found = arguments(1, 192)
        sim.run(module, None, found, policy=policy)
        check(found)


def test_result():
    found = arguments(2, 128)
    sparse_mla.sparse_mla(*found)
    check(found)


@pytest.mark.skipif(compiler.find_ptxas() is None, reason="ptxas is not installed")
def test_registers_are_shared_out_by_need():
    compiled = sparse_mla.sparse_mla.compile("sm_90a")
    assert compiled.resources["spill_stores"] == 0
    assert compiled.resources["warnings"] == []
    numbers = re.findall(r"setmaxnreg\S*\s+(\d+)", compiled.ptx)
    left, right, gather = map(int, numbers)
    assert left > right > gather
    assert left + right + gather <= 504
