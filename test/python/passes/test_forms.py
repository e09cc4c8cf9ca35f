"""The form of each kernel: whether a separate role fills its channels."""

import pytest

from kernels import pipelined_zoo, scheduled
from tilews import passes

#: Kernels of examples and benchmarks whose copies cannot use TMA.
ONE_ROLE = {"gemm-NN-ragged", "gemm-NT-ragged"}
#: The kernels of the zoo with a pipelined loop.
PIPELINED_ZOO = {
    "zoo-scaled",
    "zoo-slices-float16-N",
    "zoo-slices-float16-T",
    "zoo-slices-bfloat16-N",
    "zoo-slices-bfloat16-T",
}


def has_roles(module, target: str) -> bool:
    """Whether the kernel has roles after the default pipeline."""
    for step in passes.expand(f"tilews-to-nvvm{{chip={target}}}"):
        passes.run(module, step)
        if step.startswith("tile-specialize-warps"):
            break
    return "tile.role @" in str(module)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("case", pipelined_zoo.CASES, ids=lambda case: case.name)
def test_pipelined_kernels(case, target):
    module = case.kernel.build(target, **case.constants)
    assert has_roles(module, target) == (case.roles and target == "sm_90a")


@pytest.mark.parametrize(
    ("entry", "target"),
    [
        pytest.param(entry, target, id=f"{entry.name}-{target}")
        for entry in scheduled.ALL
        for target in entry.targets
    ],
)
def test_kernels_of_examples_benchmarks_and_tests(entry, target):
    is_pipelined = entry not in scheduled.ZOO or entry.name in PIPELINED_ZOO
    expected = (
        target == scheduled.HOPPER and is_pipelined and entry.name not in ONE_ROLE
    )
    assert has_roles(entry.build(target), target) == expected
