"""Assertions in code for AMD's GPUs: the simulator says which one failed."""

import pathlib

import numpy as np
import pytest

import tilews
import tilews.language as tl
from tilews.sim.amdgcn import KernelTrap, launch

HERE = pathlib.Path(__file__)
CHIPS = ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"]


@tilews.kernel(threads=128)
def checked(X: tl.Tensor["N", tl.f32], Y: tl.Tensor["N", tl.f32]):
    i = tl.grid(tl.cdiv(X.shape[0], 128)) * 128
    x = tl.load(X[i], (128,))
    tl.device_assert(x >= 0.0, "a root of a negative number")  # elements
    Y[i] = tl.sqrt(x)
    tl.device_assert(tl.sum(x) < 1000.0, "a large sum")  # sum


def line_of(mark):
    texts = HERE.read_text().splitlines()
    (line,) = [i for i, text in enumerate(texts, 1) if text.endswith(f"  # {mark}")]
    return line


@pytest.mark.parametrize("chip", CHIPS)
def test_assertions_that_hold_change_nothing(chip):
    x, y = np.arange(200, dtype=np.float32) % 4, np.zeros(200, np.float32)
    launch(checked.compile(chip), [x, y])
    np.testing.assert_allclose(y, np.sqrt(x), rtol=1e-6)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize(
    ("element", "value", "mark", "block"),
    [(3, -1.0, "elements", 0), (170, -1.0, "elements", 1), (170, 5000.0, "sum", 1)],
)
def test_the_failed_assertion_is_named(chip, element, value, mark, block):
    x, y = np.ones(200, np.float32), np.zeros(200, np.float32)
    x[element] = value
    place = f"{HERE.name}:{line_of(mark)}"
    with pytest.raises(
        KernelTrap, match=rf"assertion at {place} failed in block \({block}, 0, 0\)"
    ):
        launch(checked.compile(chip), [x, y])


def test_a_trap_without_lines_is_an_error_too():
    x, y = np.full(128, -1, np.float32), np.zeros(128, np.float32)
    with pytest.raises(KernelTrap, match="assertion at an unknown line failed"):
        launch(checked.compile("gfx942", line_info=False), [x, y])
