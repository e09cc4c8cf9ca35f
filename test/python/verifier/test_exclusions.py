"""What docs/verifier.md excludes from proofs.

The lit test of `exclusions.edits` proves wrong kernels; here the simulator finds their
faults. Another right kernel is not proved, and its wrong twins are refused.
"""

import pathlib
import re

import numpy as np
import pytest

from support import edited_kernels
from tilews import ir, passes, sim
from tilews.errors import CompileError

ROOT = pathlib.Path(__file__).parents[3]
CASES = edited_kernels.read(ROOT / "test/lit/Verifier/barriers/exclusions.edits")
EXCLUDED = [name for name, case in CASES.items() if not case.is_base]
#: Right schedules that are not proved.
LATER = "arrives_an_iteration_later"
CASES |= edited_kernels.read(ROOT / "test/lit/Verifier/barriers/copy-arrivals.edits")

#: What the simulator says, and the arguments that differ from the usual ones.
FAULTS = {
    "loads_beyond_the_extent": ("out of bounds", {"mask": np.ones(1, bool)}),
    "truncated_bound": ("never waited for", {"n": 2**31}),
    "roles_write_the_same_element": ("nothing orders after a write", {}),
    "buffer_of_no_channel": (r"expected a tile\.barrier", {}),
    "buffer_of_one_role": (r"expected a tile\.barrier", {}),
    "exchanges": ("nothing orders after a write", {}),
    "endless_loop": ("the kernel may be endless", {}),
    "step_of_zero": ("expected a positive one", {"m": 0}),
    "assertion_fails": ("'tile.assert' op failed: never", {}),
}
#: The simulator has no lanes, no registers, no assembly, and no order between blocks.
UNSEEN = {
    "lanes_wait_together",
    "few_registers",
    "tile_asm_uniform",
    "reads_what_another_block_writes",
}


def simulate(name: str, **changed) -> np.ndarray:
    """Runs a case and returns the array that its kernel writes."""
    values = {
        "A": np.arange(64, dtype="f4"),
        "B": np.ones(64, "f4"),
        "mask": np.ones(4, bool),
        "C": np.zeros(16, "f4"),
        "n": 2,
        "m": 1,
        **changed,
    }
    text = "\n".join(CASES[name].kernel.lines)
    (signature,) = re.findall(r"gpu\.func @\w+\((.*)\) kernel", text)
    args = [values[each] for each in re.findall(r"%(\w+): ", signature)]
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        sim.run(module, None, args, 1, barriers="explicit", max_steps=10000)
    return values["C"]


def test_the_page_names_each_case():
    page = (ROOT / "docs/verifier.md").read_text()
    section = page.split("## What is not checked\n")[1].split("\nThe verifier is")[0]
    for exclusion in section.split("\n* ")[1:]:
        assert re.search(r"\(`\w+`\)", exclusion), exclusion
    assert sorted(re.findall(r"\(`(\w+)`\)", section)) == sorted(EXCLUDED)


def test_each_case_is_proved_and_has_a_fault():
    assert all(CASES[name].is_proved for name in EXCLUDED)
    assert set(EXCLUDED) == {*FAULTS, *UNSEEN, "copies_another_tile"}


@pytest.mark.parametrize("name", FAULTS)
def test_the_simulator_finds_what_is_not_checked(name):
    message, changed = FAULTS[name]
    with pytest.raises(sim.SimulationError, match=message):
        simulate(name, **changed)


def test_values_are_compared():
    assert not np.array_equal(simulate("copies_another_tile"), simulate("two_buffers"))


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_a_right_schedule_is_not_proved(n):
    assert f"`{LATER}`" in (ROOT / "docs/verifier.md").read_text()
    assert not CASES[LATER].is_proved
    assert np.array_equal(simulate(LATER, n=n), simulate("cp_async_arrivals", n=n))


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("{pending = 1", "{pending = 2", "without waiting for what was written"),
        ("{pending = 0", "{pending = 1", "without waiting for what was written"),
        ("sgt, %n, %c0", "slt, %n, %c0", "waits forever for the phase"),
        ("sgt, %n, %c0", "sge, %n, %c0", "completes that role @math never waits"),
    ],
)
def test_its_wrong_twins_are_refused(right, wrong, message):
    text = "\n".join(CASES[LATER].kernel.lines)
    assert text.count(right) == 1
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text.replace(right, wrong))
        with pytest.raises(CompileError, match=message):
            passes.verify_schedule(module)
