"""Every kernel of the zoo compiles for every kind of target."""

import numpy as np
import pytest

from kernels import zoo
from tilews.runtime.manifest import check_manifest


def compile_case(case: zoo.ZooCase, target: str):
    arguments = case.arguments(np.random.default_rng(0))
    constants = case.constants_for(target)
    return case.kernel.compile_for(*arguments, target=target, **constants)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "gfx942", "gfx1100"])
@pytest.mark.parametrize(
    "case", zoo.gemm_cases() + zoo.other_cases(), ids=lambda c: c.name
)
def test_compiles(case, target):
    compiled = compile_case(case, target)
    assert compiled.asm
    check_manifest(compiled.manifest)


@pytest.mark.parametrize("target", ["sm_89", "sm_90a"])
@pytest.mark.parametrize(
    "case",
    zoo.fp8_cases() + zoo.fp8_other_cases(),
    ids=lambda c: c.name,
)
def test_fp8_compiles(case, target):
    assert compile_case(case, target).ptx
