"""Matmuls with a 2:4 sparse left operand, on the interpreter and in assemblers."""

import numpy as np
import pytest

from kernels import sparse
from tilews import compiler

CASES = [*sparse.SMALL, *sparse.LARGE]


@pytest.mark.parametrize("case", sparse.SMALL, ids=lambda case: case.name)
def test_values(case):
    arguments, expected = case.data()
    case.compile("cpu")(*arguments)
    np.testing.assert_array_equal(arguments[-1], expected)


@pytest.mark.skipif(compiler.find_ptxas() is None, reason="ptxas is not installed")
@pytest.mark.parametrize(
    ("case", "target"),
    [
        (case, target)
        for case in CASES
        for target in ("sm_90a", "sm_89" if case.lhs in ("e4m3", "e5m2") else "sm_80")
        if case.runs_on(target)
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_assembles(case, target):
    """Each matmul becomes sparse instructions, without spills or warnings."""
    kernel = case.compile(target)
    by_warpgroups = target == "sm_90a" and case.tile[0] % 64 == 0
    by_warpgroups &= case.transposed or case.lhs in ("f16", "bf16")
    name = "wgmma.mma_async.sp" if by_warpgroups else "mma.sp::ordered_metadata"
    assert name in kernel.ptx
    assert kernel.resources["warnings"] == []
    assert kernel.resources["spill_stores"] == 0


@pytest.mark.parametrize("depth", [64, 128])
def test_schedule(depth):
    """A matmul ends in its iteration, because the next one overwrites the registers of
    its metadata. The producer copies rows of metadata of 8 bytes by cp.async, and
    rows of 16 bytes by TMA."""
    case = sparse.SparseCase((512, 512, 1024), (128, 128, depth), threads=256)
    ptx = case.compile("sm_90a").ptx
    assert "wgmma.wait_group.sync.aligned 0;" in ptx
    assert "wgmma.wait_group.sync.aligned 1;" not in ptx
    assert "cp.async.bulk.tensor.2d.shared::cluster.global" in ptx
    assert ("cp.async.mbarrier.arrive.noinc" in ptx) == (depth == 64)
