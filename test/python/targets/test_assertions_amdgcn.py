"""Assertions in code for AMD's GPUs: the simulator says which one failed."""

import pathlib

import numpy as np
import pytest

import tilews
import tilews.language as tl
from tilews.sim.amdgcn import POLICIES, KernelTrap, Simulator, launch

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
    ("element", "value", "mark", "place"),
    [
        (3, -1.0, "elements", "block (0, 0, 0), element (3)"),
        (170, -1.0, "elements", "block (1, 0, 0), element (42)"),
        (170, 5000.0, "sum", "block (1, 0, 0)"),
    ],
)
def test_the_failed_assertion_is_named(chip, element, value, mark, place):
    x, y = np.ones(200, np.float32), np.zeros(200, np.float32)
    x[element] = value
    message = "a large sum" if mark == "sum" else "a root of a negative number"
    with pytest.raises(KernelTrap) as caught:
        checked(x, y, target=chip, run="sim")
    assert str(caught.value) == (
        f"assertion failed in kernel 'checked': {message} "
        f"({HERE.name}:{line_of(mark)}), {place}"
    )


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("policy", POLICIES)
def test_the_report_is_written_before_the_trap(chip, policy):
    x, y = np.ones(128, np.float32), np.zeros(128, np.float32)
    x[77] = -1
    # Two waves may hold the element; the trap of one may end the report of the other.
    text = r"root .*, block \(0, 0, 0\)(, element \(77\))?$"
    for seed in range(4):
        with pytest.raises(KernelTrap, match=text):
            launch(checked.compile(chip), [x, y], seed, policy=policy)


@tilews.kernel(threads=64)
def check_place(P: tl.Tensor["3", tl.i32]):
    x, y, z = tl.grid(5, 3, 4)
    a, b, c = tl.load(P[0]), tl.load(P[1]), tl.load(P[2])
    here = (x == a) & (y == b) & (z == c)
    tl.device_assert(~here, "here: 100 % sure")


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("place", [(0, 0, 3), (4, 1, 0), (2, 2, 2)])
def test_the_block_has_three_coordinates(chip, place):
    with pytest.raises(KernelTrap) as caught:
        check_place(np.array(place, np.int32), target=chip, run="sim")
    assert "here: 100 % sure (" in str(caught.value)
    assert str(caught.value).endswith(f"block {place}")


def test_messages_need_no_line_table():
    x, y = np.full(128, -1, np.float32), np.zeros(128, np.float32)
    with pytest.raises(KernelTrap, match="a root of a negative number"):
        launch(checked.compile("gfx942", line_info=False), [x, y])


@pytest.mark.parametrize(
    ("line_info", "place"),
    [(True, rf"{HERE.name}:{line_of('elements')}"), (False, "an unknown line")],
)
def test_a_trap_that_nobody_reads_is_an_error_too(line_info, place):
    x, y = np.full(128, -1, np.float32), np.zeros(128, np.float32)
    kernel = checked.compile("gfx942", line_info=line_info)
    numbers = [x, np.int32(128), y, np.int32(128)]
    with pytest.raises(KernelTrap, match=rf"assertion at {place} failed in block"):
        Simulator(kernel.hsaco).launch("checked", (1, 1, 1), 128, numbers)
