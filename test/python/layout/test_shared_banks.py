"""The banks of shared memory by chip, and the layouts that avoid conflicts in them."""

import pytest

from tilews import layout as L

LANES = range(64)


def wavefronts(offsets, size, chip, is_write=False):
    return L.bank_conflicts(list(offsets), size, chip, is_write)["wavefronts"]


@pytest.mark.parametrize(
    "chip, size, is_write, cycles",
    [
        ("gfx942", 16, False, 8),
        ("gfx942", 16, True, 8),
        ("gfx942", 8, False, 4),
        ("gfx942", 8, True, 4),
        ("gfx942", 4, False, 2),
        ("gfx950", 16, False, 4),
        ("gfx950", 16, True, 8),
        ("gfx950", 8, False, 2),
        ("gfx950", 8, True, 4),
        ("gfx950", 4, True, 2),
        ("gfx1100", 16, False, 8),
        ("", 16, False, 8),
    ],
)
def test_consecutive_lanes_take_the_bandwidth(chip, size, is_write, cycles):
    """128 bytes a cycle, and 256 for reads of gfx950."""
    found = wavefronts((size * lane for lane in LANES), size, chip, is_write)
    assert found == cycles


@pytest.mark.parametrize("chip, phases", [("gfx942", 8), ("gfx950", 4)])
def test_lanes_that_read_the_same_words(chip, phases):
    assert wavefronts([0] * 64, 16, chip) == phases


@pytest.mark.parametrize(
    "chip, stride, cycles",
    [
        ("gfx942", 128, 8 * 8),  # the 8 lanes of a phase use the same 4 banks
        ("gfx942", 64, 8 * 4),
        ("gfx942", 144, 8),  # a padding of 16 bytes
        ("gfx950", 256, 4 * 16),
        ("gfx950", 128, 4 * 8),
    ],
)
def test_strides(chip, stride, cycles):
    assert wavefronts((stride * lane for lane in LANES), 16, chip) == cycles


def test_inactive_lanes_take_no_time():
    assert wavefronts([*(16 * i for i in range(4)), *[-1] * 60], 16, "gfx942") == 1
    assert wavefronts([-1] * 64, 4, "gfx942") == 0


def test_lanes_of_a_phase():
    """Lanes 0 and 20 share a phase of gfx942, lanes 0 and 4 do not."""

    def read(chip, other):
        places = [-1] * 64
        places[0], places[other] = 0, 1024
        return L.bank_conflicts(places, 16, chip)

    assert read("gfx942", 20)["clash"] == (0, 20)
    assert read("gfx942", 4)["degree"] == 1
    assert read("gfx950", 12)["clash"] == (0, 12)
    assert read("gfx950", 4)["degree"] == 1
    assert read("", 4)["clash"] == (0, 4)
    assert read("", 20)["degree"] == 1


def test_unknown_chips():
    with pytest.raises(ValueError, match="unknown chip 'gfx95'"):
        L.bank_conflicts([0], 4, "gfx95")


def test_layouts_of_threads_and_values():
    """Rows of 128 bytes, a lane each: gfx950 needs the swizzle by pairs of rows."""
    rows = "(32,8):(64,1)"
    for chip, swizzle, degree in (
        ("gfx942", "Sw<3,3,3>", 1),
        ("gfx950", "Sw<3,3,3>", 2),
        ("gfx950", "Sw<3,3,4>", 1),
    ):
        layout = L.Layout(f"{swizzle} o {rows}")
        found = layout.bank_conflicts(16, vector=8, warp=32, chip=chip)
        assert found["degree"] == degree, chip
