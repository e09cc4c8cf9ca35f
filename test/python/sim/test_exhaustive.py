"""The policy that runs every order which may matter."""

import numpy as np
import pytest
from click.testing import CliRunner

from support import barrier_programs
from support.barrier_programs import make_operation, make_program
from support.edited_kernels import ROOT
from tilews import ir, sim
from tilews.sim.__main__ import main

BASES = ROOT / "test/lit/Verifier/Inputs"
ARRIVE = make_operation("arrive")
OTHER = make_operation("arrive", "q")


def launch(text, policy="exhaustive", **options):
    """Runs a kernel of ``barrier_programs``; returns what a search did, if any."""
    explored = []
    with ir.Context(), ir.Location.unknown():
        arguments = [np.ones((4, 16), "f4"), np.zeros(2, "i4")]
        module = ir.Module.parse(text)
        sim.run(module, None, arguments, 1, policy=policy, explored=explored, **options)
    return explored[0] if explored else None


def fails(text, **options):
    try:
        launch(text, **options)
    except sim.SimulationError as error:
        assert "not exhausted" not in str(error)
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("roles", "counts", "traces"),
    [
        # All arrivals are in one phase: their order is not observed.
        ([[ARRIVE], [ARRIVE], [ARRIVE]], (3, 1), 1),
        # Each arrival completes a phase: 3! orders, and those of 2 and 2 steps.
        ([[ARRIVE], [ARRIVE], [ARRIVE]], (1, 1), 6),
        ([[ARRIVE, ARRIVE], [ARRIVE, ARRIVE]], (1, 1), 6),
        # Two barriers: nothing orders them.
        ([[ARRIVE, ARRIVE], [OTHER, OTHER]], (1, 1), 1),
        # Atomic updates that return a number, and those that do not.
        ([[make_operation("observed", i=i)] for i in range(3)], (1, 1), 6),
        ([[make_operation("atomic", i=i)] for i in range(3)], (1, 1), 1),
        # One wait, which only the last arrival ends.
        ([[ARRIVE], [ARRIVE], [make_operation("wait")]], (2, 1), 1),
        # The bytes of two copies land in either order, and before the arrival or
        # after it.
        (
            [
                [
                    make_operation("tma", n=0),
                    make_operation("tma", n=1),
                    make_operation("arrive_bytes").replace("= 64", "= 128"),
                    make_operation("wait"),
                ],
            ],
            (1, 1),
            1,
        ),
        # An arrival of copies, which only the wait observes.
        (
            [
                [
                    make_operation("cp_async"),
                    make_operation("arrive_copies"),
                    make_operation("wait"),
                ],
            ],
            (32, 1),
            1,
        ),
    ],
)
def test_as_many_runs_as_traces(roles, counts, traces):
    found = launch(make_program(roles, counts))
    assert found.is_exhausted
    assert found.traces == traces
    assert found.runs - found.cut_off == traces
    # All interleavings have as many traces.
    if sum(map(len, roles)) < 10:
        everything = launch(make_program(roles, counts), reduces=False, runs=5000)
        assert everything.is_exhausted and everything.traces == traces


FIRST = make_operation("wait", "q")
EARLY = make_operation("wait", n=1)
#: Role 0 waits for the phase before the first. If it is that late that role 1 has made
#: all of its ten steps, the phase of the other parity never completes.
DEADLOCK = make_program([[OTHER, EARLY], [FIRST, *[OTHER] * 9, ARRIVE]])
#: Role 0 stores between its arrivals at %p. If role 1 makes ten steps before the first
#: one, its wait returns, and it loads what was not stored yet.
RACE = make_program(
    [
        [
            OTHER,
            ARRIVE,
            "%t = tile.load %A[%c0, 0] : memref<4x16xf32> -> tensor<16xf32>",
            "tile.store %t to %s0 : tensor<16xf32> to !slot",
            "tile.barrier",
            ARRIVE,
        ],
        [
            FIRST,
            *[OTHER] * 9,
            EARLY,
            "%t = tile.load %s0 : !slot -> tensor<16xf32>",
        ],
    ],
)


@pytest.mark.parametrize(
    ("text", "message"),
    [(DEADLOCK, "never returns"), (RACE, "of shared memory, which was never written")],
)
def test_faults_of_one_order_only(text, message):
    for timing in sim._differential.TIMINGS:
        assert not fails(text, **timing), timing
    found = fails(text)
    assert message in found
    schedule = found.split("its schedule is ")[1].split()[0]
    assert schedule.startswith("exhaustive:0,0,0:")
    assert message in fails(text, schedule=schedule)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("two_slots", ["4={n}", "5=0"]),
        ("two_buffers", ["4={n}", "5=0"]),
        ("cp_async_arrivals", ["2={n}"]),
    ],
)
@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_right_kernels_have_one_trace(name, arguments, n):
    given = [f"--arg={each.format(n=n)}" for each in arguments]
    options = [*given, "--grid=1", "--policy=exhaustive"]
    result = CliRunner().invoke(main, [str(BASES / f"{name}.mlir"), *options])
    assert result.exit_code == 0, result.output
    assert "exhaustive: ran all orders: 1 that differ, in 1 runs" in result.output


def test_the_search_says_where_it_stopped():
    text = make_program([[ARRIVE] * 4, [ARRIVE] * 4], (1, 1))
    with pytest.raises(sim.SimulationError, match="5 runs, not exhausted: more orders"):
        launch(text, runs=5)
    assert launch(text, runs=70).traces == 70


def test_reduction_is_sound():
    """No order at all has a fault that the search with reduction does not find."""
    wrong = right = several = 0
    for seed in range(120):
        text = barrier_programs.make_random(seed)
        try:
            everything = launch(text, reduces=False, runs=300)
        except sim.SimulationError as error:
            if "not exhausted" not in str(error):
                assert fails(text), seed
                wrong += 1
            continue
        found = launch(text)
        # Where bytes may be expected too late, more orders count as different.
        assert found.traces >= everything.traces, seed
        assert found.is_exhausted
        right += 1
        several += everything.traces > 1
    assert wrong >= 40 and right >= 20 and several >= 8


def test_faults_are_replayed_from_a_file(tmp_path):
    kernel, replay = tmp_path / "kernel.mlir", tmp_path / "found.json"
    kernel.write_text(DEADLOCK)
    search = ["--grid=1", "--policy=exhaustive", "--save-replay", str(replay)]
    result = CliRunner().invoke(main, [str(kernel), *search])
    assert result.exit_code == 1 and "never returns" in result.output
    result = CliRunner().invoke(main, [str(kernel), "--replay", str(replay)])
    assert result.exit_code == 1 and "never returns" in result.output
    found = sim.Counterexample.load(replay)
    assert found.schedule.startswith("exhaustive:") and not found.events
    assert [each["kind"] for each in found.inputs] == ["element", "element"]


def test_what_the_search_refuses():
    path = BASES / "shared_copies.mlir"
    options = ["--arg=2=1", "--grid=2", "--policy=exhaustive"]
    result = CliRunner().invoke(main, [str(path), *options])
    assert result.exit_code == 1
    assert "is about blocks that run alone; use 'worst'" in result.output
    with pytest.raises(sim.SimulationError, match="'exhaustive' tries all orders"):
        launch(make_program([[ARRIVE]]), order=[(0, 3)])
    error = sim.SimulationError("no search")
    with pytest.raises(ValueError, match="expected an error of the policy"):
        sim.Counterexample.from_error(None, [], error)
