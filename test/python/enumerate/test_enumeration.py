"""The verifier against all runs of a sample of the enumerated schedules."""

import itertools
import json
import re

import pytest
from click.testing import CliRunner

from tilews import ir
from tilews.enumerate import (
    FAMILIES,
    Comparer,
    Family,
    Schedule,
    enumerate_schedules,
    make_text,
)
from tilews.enumerate.__main__ import main
from tilews.enumerate._contract import find_broken_rule

#: Schedules that are right; one for each family of the grammar.
RIGHT = [
    "channels/1/none/flat/A0F0C0-W0L0R0",
    "channels/3/all/flat/A0F0C0-W0L0R0",
    "channels/2/none/nested/A0F0C0-W0L0R0",
    "channels/2/none/flat/A0F0C0-W0L0L0R0",
    "stores/2/none/flat/A0F0C0-W0L0R0",
    "channels/2/all/flat/A0f0-w0R0-w0R0",
    "channels/2/none/flat/A0f0-W0S0L0R0-W0R0",
    "channels/2,1/none/flat/A0f0-W0S0h1R0-W0t1L0R0",
    "channels/1,2/all/flat/A0f0A1f1-w0R0w1R1",
    "channels/1,2/all/flat/A0f0w1R1-w0R0A1f1",
    "channels/2,2/none/flat/A0f0-w0A1f1R0-w1R1",
    "barriers/2/all/flat/E0F0B0-W0l0R0",
    "barriers/2/none/flat/E0F0B0-W0L0P0R0",
    "barriers/2/none/flat/E0F0X0A0-W0l0R0",
    "barriers/2/none/flat/E0S0P0C0-W0T0R0",
    "barriers/2/none/flat/E0F0B0-W0S0P0R0",
    "barriers/2/none/flat/E0S0Y0A0-W0L0R0",
    "barriers/2/none/flat/E0K0N0-W0L0R0",
    "barriers/2/none/flat/E0S0C0-W0G0R0",
    "barriers/2/all/flat/E0f0-w0R0-w0R0",
    "stores/1/none/flat/A0A0C0-W0W0R0",
    # The second wait is for the same phase, which ends after the copy.
    "barriers/1/none/flat/E0B0E0F0-W0R0",
    # A store that is repeated: each of its elements has one thread.
    "barriers/1/none/flat/S0E0C0-W0R0",
]
#: Schedules that break a rule, without a consequence in any run of the simulator.
CONTRACT = [
    ("channels/1,1/all/flat/R1-R0", "releases slot"),
    ("stores/1/none/flat/C0-R0", "commits slot"),
    ("stores/1/none/flat/F0-R0", "outside of a transaction"),
    # The other role holds the slot, but this one has not waited for it.
    ("channels/1,1/none/flat/A0f0-W0h1-t1L0W0R0", "without a tile.wait"),
    ("channels/2,1/none/flat/A0f0-W0h1-W0t1R0", "never released"),
    ("barriers/2/none/flat/X0-R0", "left incomplete"),
    ("barriers/1/none/flat/C0-R0", "adds to slot"),
    # Warps of a role wait, and one thread arrives: a slow warp may miss a phase.
    ("barriers/1,2/none/flat/E0f0w1R1-w0R0E1f1", "may miss it and wait forever"),
]


@pytest.mark.parametrize("name", RIGHT)
def test_right_schedules_are_proved(name):
    found = Comparer().judge(Schedule.parse(name))
    assert (found.verdict, found.fault) == ("proved", ""), found
    assert found.is_exhausted and found.outcome == "agreed"


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("channels/1/none/flat/A0F0C0-W0L0", "never returns"),
        ("channels/2/none/flat/F0C0-W0L0R0", "to which a copy is under way"),
        ("channels/2/first/flat/A0f0-w0R0-w0R0", "never returns"),
        ("channels/1/none/flat/A0f0-W0S0R0-W0L0R0", "which nothing orders after"),
        ("channels/1/none/flat/A0f0-W0S0R0-W0S0R0", "which nothing orders after"),
        ("channels/2,1/none/flat/A0f0-W0h1S0R0-W0t1L0R0", "which nothing orders"),
        ("barriers/1/none/flat/E0F0A0-W0L0R0", "which was never written"),
        ("barriers/2/none/flat/E0S0C0-W0T0R0", "no tile.proxy_fence has made"),
    ],
)
def test_wrong_schedules_are_found(name, fault):
    found = Comparer().judge(Schedule.parse(name))
    assert found.verdict == "wrong" and fault in found.fault, found


@pytest.mark.parametrize(("name", "rule"), CONTRACT)
def test_broken_rules_without_a_fault(name, rule):
    found = Comparer().judge(Schedule.parse(name))
    assert found.outcome == "contract" and rule in found.reason, found
    assert found.is_exhausted and not found.fault


@pytest.mark.parametrize("name", RIGHT)
def test_right_schedules_keep_all_rules(name):
    assert find_broken_rule(Schedule.parse(name)) == ""


@pytest.mark.parametrize(
    ("verdict", "reason", "outcome"),
    [
        (
            "wrong",
            "role @r# adds to slot # of this barrier without waiting",
            "contract",
        ),
        ("wrong", "role @r# reads slot # of a buffer", "false alarm"),
        ("proved", "", "unsound"),
    ],
)
def test_only_the_rule_that_is_named_counts(monkeypatch, verdict, reason, outcome):
    """Four warps arrive at a barrier again before its phase is complete."""
    monkeypatch.setattr(Comparer, "_verify", lambda *_: (verdict, reason))
    found = Comparer().judge(Schedule.parse("barriers/1/none/flat/C0-R0"))
    assert found.outcome == outcome


def test_a_sample_agrees():
    every = [schedule for _, schedule in enumerate_schedules()]
    assert len(every) > 200_000
    judge = Comparer()
    findings = [judge.judge(each) for each in every[97 :: len(every) // 300]]
    wrong = ("unsound", "false alarm", "unknown")
    assert not [found for found in findings if found.outcome in wrong]
    assert sum(each.outcome == "agreed" for each in findings) > 250
    assert sum(each.verdict == "unsupported" for each in findings) < 6


def test_names_are_read_and_schedules_are_distinct():
    sample = [each for _, each in itertools.islice(enumerate_schedules(), 2000)]
    assert len({str(each) for each in sample}) == len(sample)
    assert all(Schedule.parse(str(each)) == each for each in sample)
    with ir.Context():
        for each in sample[::50]:
            assert ir.Module.parse(make_text(each))


def test_one_schedule_of_each_symmetry_class():
    def make(operations, depths, **symmetry):
        settings = tuple((each, "none", False) for each in depths)
        lengths = (1,) * len(operations)
        family = Family(
            "x", "channels", operations, lengths, (2, 3), settings, **symmetry
        )
        return {str(each) for each in family.schedules()}

    channels = (("A0", "A1"), ("R0", "R1"))
    assert make(channels, [(1, 1)], channels_alike=True) == {
        "channels/1,1/none/flat/A0-R0",
        "channels/1,1/none/flat/A0-R1",
    }
    # Channels of different depths are not alike.
    assert len(make(channels, [(1, 2)], channels_alike=True)) == 4
    consumers = (("A0",), ("w0", "R0"), ("w0", "R0"))
    assert len(make(consumers, [(1,)], consumers_alike=True)) == 3
    assert len({family.name for family in FAMILIES}) == len(FAMILIES)


def test_a_run_goes_on_where_it_was(tmp_path):
    path = tmp_path / "state.json"
    for _ in range(2):
        result = CliRunner().invoke(main, ["--count", "40", "--state", str(path)])
        assert "schedules" in result.output
    read = json.loads(path.read_text())
    assert read["next"] == 80
    judged = sum(sum(each.values()) for each in read["outcomes"].values())
    assert judged == 80
    assert re.search(r"^80 schedules$", result.output, re.MULTILINE)
    # Another grammar has other numbers.
    path.write_text(json.dumps({**read, "grammar": "other"}))
    CliRunner().invoke(main, ["--count", "5", "--state", str(path)])
    assert json.loads(path.read_text())["next"] == 5


def test_one_schedule_on_the_command_line():
    name = "channels/2/none/flat/A0F0C0-W0L0R0"
    result = CliRunner().invoke(main, ["--judge", name])
    assert result.output == "agreed: proved\nsimulator: no fault\n"
    assert "tile.acquire %ch0[%q0]" in CliRunner().invoke(main, ["--emit", name]).output
    result = CliRunner().invoke(main, ["--emit", "channels/2/some/flat/A0-W0"])
    assert result.exit_code == 2 and "expected a schedule such as" in result.output
