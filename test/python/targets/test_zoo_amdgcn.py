"""Kernels of the zoo as machine code of AMD's chips, against the interpreter."""

import numpy as np
import pytest

from kernels import zoo
from support import function_cases
from tilews.sim.amdgcn import launch

CHIPS = ("gfx942", "gfx950", "gfx1100")


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("case", function_cases.CASES, ids=lambda case: case.name)
def test_functions(case, chip):
    x, y = case.arguments()
    expected = case.expected(x, y)
    found = np.zeros(expected.shape, function_cases.stored(expected.dtype))
    compiled = function_cases.apply.compile_for(x, y, found, F=case.ours, target=chip)
    launch(compiled, [x, y, found])
    case.check(found, expected)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("case", zoo.other_cases(), ids=lambda case: case.name)
def test_matches_interpreter(case, chip):
    found = case.arguments(np.random.default_rng(7))
    expected = [a.copy() if isinstance(a, np.ndarray) else a for a in found]
    case.kernel(*expected, target="cpu", **case.constants)
    compiled = case.kernel.compile_for(*found, target=chip, **case.constants)
    launch(compiled, found)
    for ours, wanted in zip(found, expected, strict=True):
        if isinstance(wanted, np.ndarray):
            case.check(ours, wanted)
