"""Every kernel of the zoo compiles for every kind of target."""

import kernel_zoo
import numpy as np
import pytest


def compile_case(case: kernel_zoo.Case, target: str):
    arguments = case.arguments(np.random.default_rng(0))
    return case.kernel.compile_for(*arguments, target=target, **case.constants)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "gfx942", "gfx1100"])
@pytest.mark.parametrize(
    "case", kernel_zoo.gemm_cases() + kernel_zoo.other_cases(), ids=lambda c: c.name
)
def test_compiles(case, target):
    compiled = compile_case(case, target)
    assert compiled.asm


@pytest.mark.parametrize("target", ["sm_89", "sm_90a"])
@pytest.mark.parametrize(
    "case",
    kernel_zoo.fp8_cases() + kernel_zoo.fp8_other_cases(),
    ids=lambda c: c.name,
)
def test_fp8_compiles(case, target):
    assert compile_case(case, target).ptx
