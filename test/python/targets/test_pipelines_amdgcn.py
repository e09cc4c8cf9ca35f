"""Pipelined loops as machine code of AMD's chips, against the interpreter."""

import numpy as np
import pytest

from amdgcn.launch import launch
from kernels import pipelined_zoo

CHIPS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("case", pipelined_zoo.CASES, ids=lambda case: case.name)
def test_matches_interpreter(case, chip):
    found = case.arguments(np.random.default_rng(5))
    expected = [a.copy() if isinstance(a, np.ndarray) else a for a in found]
    case.kernel(*expected, target="cpu", **case.constants)
    compiled = case.kernel.compile_for(*found, target=chip, **case.constants)
    spills = any("tile-pipe-0020" in message for message in compiled.messages)
    piped = case.piped > 0 and not spills
    assert ("tile.wait" in compiled.mlir("laid_out")) == piped
    assert compiled.resources["stack_bytes"] == 0
    assert not [m for m in compiled.messages if "tile-verify" in m]
    launch(compiled, found)
    for ours, wanted in zip(found, expected, strict=True):
        if isinstance(wanted, np.ndarray):
            np.testing.assert_allclose(ours, wanted, atol=case.tolerance)
