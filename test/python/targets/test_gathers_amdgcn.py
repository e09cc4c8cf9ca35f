"""Accesses at indices and under masks, as machine code of AMD's chips."""

import pytest

from support.gather_cases import CASES, copies
from tilews.sim.amdgcn import launch

CHIPS = ("gfx942", "gfx950", "gfx1100")


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", CASES)
def test_kernels(name, chip):
    case = CASES[name]
    arguments = copies(case.arguments)
    compiled = case.kernel.compile_for(*arguments, target=chip, **case.constants)
    launch(compiled, arguments)
    case.check(arguments)
