"""Random mutants: the same for the same index, judged in runs that go on."""

import json
import os
import pathlib
import re
import signal

import pytest
from click.testing import CliRunner

from kernels import mutation_corpus
from kernels.mutation import mutation_seeds
from tilews import ir, mutate
from tilews.errors import CompileError
from tilews.mutate import _campaign, _edits
from tilews.mutate.__main__ import main
from tilews.mutate._protocol import stores_apart
from tilews.mutate._random_mutants import RandomFinding, RandomMutants
from tilews.mutate._tally import DEFECTS, OUTCOMES, Tally

SEEDS = str(pathlib.Path(mutation_seeds.__file__))
#: Kernels that are made fast.
SOME = [
    each
    for each in mutation_corpus.SUBJECTS
    if str(each) in ("gemm sm_90a", "wide sm_80")
]


@pytest.fixture(scope="module")
def mutants():
    return RandomMutants(SOME)


def test_an_index_determines_the_mutant(mutants):
    drawn = [mutants.draw(index) for index in range(30)]
    assert {len(each.edits) for each in drawn} == {1, 2, 3}
    assert {each.subject for each in drawn} == {str(each) for each in SOME}
    assert {each.form for each in drawn} == {"channels", "barriers"}
    assert len({str(each.edits[-1].module) for each in drawn}) > 25
    for index, each in enumerate(drawn):
        again = RandomMutants(SOME).draw(index) if index < 2 else mutants.draw(index)
        assert str(again.edits[-1].module) == str(each.edits[-1].module)
        # Each edit is one of the module that the one before it left.
        ids = [edit.id for edit in each.edits]
        found = mutants.find(each.subject, each.form, ids)
        assert str(found.edits[-1].module) == str(each.edits[-1].module)
        assert each.edits[-1].module.operation.verify()


def test_edits_that_are_undone_are_equivalent(mutants):
    twice = ("sides:channel-8.0", "sides:channel-8.0")
    found = mutants.judge(RandomFinding(0, "gemm sm_90a", "channels", twice))
    assert (found.outcome, found.reason) == ("equivalent", "same-program")
    found = mutants.judge(RandomFinding(0, "gemm sm_90a", "channels", twice[:1]))
    assert found.outcome == "both"


def test_mutants_that_are_no_more(mutants):
    for subject, edit in (("gone", "drop:wait-1.0"), ("gemm sm_90a", "drop:wait-1.0")):
        with pytest.raises(CompileError):
            mutants.find(subject, "channels", [edit])


def test_runs_add_up(tmp_path):
    parts, whole = tmp_path / "parts.json", tmp_path / "whole.json"
    for count in (3, 0, 4):
        _campaign.run(SOME, parts, count, jobs=2)
    _campaign.run(SOME, whole, 7, jobs=1)
    assert parts.read_text() == whole.read_text()
    tally = Tally.load(whole)
    assert (tally.next, tally.total) == (7, 7)
    assert "7 random mutants" in tally.report()
    rows = re.findall(r"^\| \w+ \|.* (\d+) \|$", tally.render(), re.MULTILINE)
    assert sum(map(int, rows)) == 7


def test_crashes_are_findings_and_are_judged_again(tmp_path, monkeypatch):
    path = tmp_path / "state.json"
    judge = RandomMutants.judge

    def crash(self, one):
        if one.index == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return judge(self, one)

    monkeypatch.setattr(RandomMutants, "judge", crash)
    tally = _campaign.run(SOME, path, 3, jobs=1)
    assert tally.defects == ["crash: 1: the process ended with SIGKILL"]
    assert tally.next == 3
    monkeypatch.setattr(RandomMutants, "judge", judge)
    tally = _campaign.run(SOME, path, 0, jobs=1)
    assert not tally.defects and tally.total == tally.next == 3


def test_the_command_fails_for_defects(tmp_path, monkeypatch):
    path, page = tmp_path / "state.json", tmp_path / "page.md"
    page.write_text("# Page\n\n## Missed\n\nNone.\n\n## Random mutants\n\nOld.\n")
    arguments = [SEEDS, "--random", "--count", "0", "--state", str(path)]
    result = CliRunner().invoke(main, [*arguments, "--table", str(page)])
    assert result.exit_code == 0, result.output
    text = page.read_text()
    assert text.startswith("# Page\n\n## Missed\n\nNone.\n\n## Random mutants\n\n`make")
    assert "Old" not in text
    tally = Tally()
    tally.add(RandomFinding(5, "gemm sm_90a", "gone", ("drop:wait-1.0",), "missed"))
    tally.add(RandomFinding(6, "x", "y", ("drop:wait-1.0",), "excluded", "contents"))
    monkeypatch.setattr(Tally, "take_kept", lambda self: [])
    tally.add(RandomFinding(9, "k", "channels", ("drop:wait-1.0",), "proved", "no end"))
    tally.save(path)
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 1
    assert "Error: proved: 9: k channels drop:wait-1.0: no end" in result.output


def test_one_mutant_on_the_command_line():
    emitted = CliRunner().invoke(main, [SEEDS, "--random", "--emit", "3"])
    with ir.Context():
        assert ir.Module.parse(emitted.output)
    judged = CliRunner().invoke(main, [SEEDS, "--random", "--judge", "3"])
    assert any(f"{each}: {OUTCOMES[each]}" in judged.output for each in OUTCOMES)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--count", "3"], "--count needs --random"),
        (["--random", "--form", "channels"], "--form does not go with --random"),
        (["--random", "--judge", "drop:wait-1.0"], "expected the index of a random"),
        (["--random", "--emit", "3", "--count", "3"], "does not go with --emit"),
    ],
)
def test_wrong_usage(arguments, message):
    result = CliRunner().invoke(main, [SEEDS, *arguments])
    assert result.exit_code == 2
    assert message in result.output


NEW = mutation_seeds.SUBJECTS[len(mutation_corpus.SUBJECTS) :]


@pytest.mark.parametrize("subject", NEW, ids=str)
def test_seeds_are_right(subject):
    judge = mutate.Judge(subject)
    for module in subject.forms().values():
        found = judge.judge_original(module)
        assert found.is_proved and found.simulator is None, found


def test_seeds_have_names_of_their_own():
    assert len(set(map(str, mutation_seeds.SUBJECTS))) == len(mutation_seeds.SUBJECTS)


def test_a_sample_shows_no_defects(tmp_path):
    tally = _campaign.run(mutation_seeds.SUBJECTS, tmp_path / "state.json", 60, 1)
    assert not tally.defects
    found = {outcome: sum(each) for outcome, each in tally.counts.items()}
    assert not found.keys() & set(DEFECTS)
    assert found["both"] > 30
    state = json.loads((tmp_path / "state.json").read_text())
    assert state["next"] == 60


@pytest.mark.parametrize("step, apart", [(64, True), (32, False)])
@pytest.mark.parametrize("region", ["%b, %o, 0] [1, 64, 16]", "%o, %b, 0] [64, 1, 16]"])
def test_stores_to_part_of_the_dimensions_lie_apart(region, step, apart):
    # A tile has fewer dimensions than the memory that it is stored to.
    text = f"""
    gpu.module @m {{
      gpu.func @k(%y: memref<?x?x?xf32>, %b: index, %n: index) kernel
          attributes {{tile.threads = 64 : i32}} {{
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %step = arith.constant {step} : index
        %x = arith.constant dense<1.0> : tensor<64x16xf32>
        scf.for %i = %c0 to %n step %c1 {{
          %o = arith.muli %i, %step : index
          tile.store %x to %y[{region} : tensor<64x16xf32> to memref<?x?x?xf32>
        }}
        gpu.return
      }}
    }}"""
    with ir.Context():
        module = ir.Module.parse(text)
        ops = _edits.walk(module.operation)
        (store,) = [op for op in ops if op.name == "tile.store"]
        assert stores_apart(store) is apart
