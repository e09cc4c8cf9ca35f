"""Spin's opinion on schedules, also on a sample of those that the verifier judges."""

import itertools
import pathlib
import re
import shutil

import pytest
from click.testing import CliRunner

from kernels import pipelined_zoo, scheduled
from support import spin_corpus
from tilews import spin
from tilews.errors import CompileError
from tilews.spin.__main__ import main

INPUTS = pathlib.Path(__file__).parents[2] / "lit/Verifier/Inputs"
TWO_SLOTS = (INPUTS / "two_slots.mlir").read_text()
GUARDED = (INPUTS / "guarded.mlir").read_text()

needs_spin = pytest.mark.skipif(
    not shutil.which("spin"), reason="Spin is not installed"
)
#: Both forms; copies by TMA and by cp.async; several warps; narrow integers; extents.
SAMPLE = [
    "barriers/arrivals:other_warps_are_slow",
    "barriers/atomics:fence_before_the_update",
    "barriers/arrivals:producer_of_four_warps",
    "barriers/arrivals:all_warps_arrive",
    "barriers/arrivals:expected_before_the_slot_is_free",
    "barriers/contents:nothing_stores",
    "barriers/exclusions:buffer_of_one_role",
    "barriers/fills:one_half_by_tma",
    "barriers/fills:offsets_in_narrow_integers",
    "barriers/fills:loop_over_parts_runs_again",
    "barriers/fills:stores_are_shifted",
    "barriers/fills:stores_by_the_same_threads",
    "barriers/fills:synchronized_scatters",
    "barriers/fills:tail_in_the_loop",
    "barriers/fills:no_arrival_by_copies",
    "barriers/fills:leaves_its_copies_pending",
    "barriers/arrivals:waits_again_after_the_release",
    "barriers/exclusions:step_of_zero",
    "barriers/memory-plan:apart",
    "barriers/memory-plan:at_the_same_time",
    "barriers/memory-plan:barriers_at_odd_bytes",
    "barriers/memory-plan:barriers_in_a_buffer",
    "barriers/memory-plan:buffer_after_the_end",
    "barriers/memory-plan:buffer_at_odd_bytes",
    "barriers/path-knowledge:two_paths",
    "barriers/phases:init_after_ready",
    "barriers/thread-order:scratch_only",
    "barriers/thread-order:scratch_used_twice_in_order",
    "channels/fills:parts_overlap",
    "channels/transactions:missing_wait",
    "loops/integers:counts_from_an_unsigned_flag",
    "loops/integers:extended_with_and_without_sign",
    "loops/integers:one_role_truncates",
    "loops/integers:signed_comparison_of_flags",
    "loops/integers:sum_of_bytes_wraps",
    "loops/premises:static_extent",
    "loops/trip-counts:rounded_down",
]


@needs_spin
def test_a_right_schedule():
    found = spin.check(TWO_SLOTS, bound=3)
    assert (found.outcome, found.bound) == ("right", 3)
    assert found.states > 100


def without(text: str, place: str) -> str:
    """The kernel without the line that has `place` in it."""
    lines = text.splitlines()
    kept = [line for line in lines if place not in line]
    assert len(kept) == len(lines) - 1
    return "\n".join(kept)


@needs_spin
def test_a_broken_rule_has_a_place():
    found = spin.check(without(TWO_SLOTS, "tile.mbarrier_wait %full"))
    assert found.outcome == "wrong" and found.reason.startswith("broken rule: ")
    assert found.place.endswith("%x = tile.load %a : !slot -> !tile")


@needs_spin
def test_a_deadlock_has_the_places_of_all_who_wait():
    found = spin.check(without(TWO_SLOTS, "tile.mbarrier_arrive %empty"))
    assert (found.outcome, found.reason) == ("wrong", "deadlock")
    assert "math waits at" in found.place and "load waits at" in found.place


@needs_spin
def test_given_inputs():
    """The consumer of an iteration more waits forever, unless there is none."""
    wrong = TWO_SLOTS.replace("%c0 to %n", "%c0 to %c1", 1)
    assert spin.check(wrong, values={"n": 1}).outcome == "right"
    assert spin.check(wrong, values={"n": 0}).outcome == "wrong"
    elements = {"n": 3, "mask": [1, 0, 1]}
    assert spin.check(GUARDED, values=elements).outcome == "right"


@needs_spin
@pytest.mark.parametrize(
    ("model", "outcome", "reason"),
    [
        ("init { skip }", "right", ""),
        ("init { assert(false) }", "wrong", "broken rule: 0"),
        ("byte x; init { x == 1 }", "wrong", "deadlock"),
        ("init { syntax", "unknown", "spin: "),
        (
            "chan q = [1] of { byte }; init { q!1; assert(nfull(q)) }",
            "unknown",
            "a queue of the model is too short",
        ),
    ],
)
def test_outcomes_of_models(model, outcome, reason):
    found = spin.explore(model)
    assert found.outcome == outcome and found.reason.startswith(reason)


#: Some 2^30 states.
_LONG = """
short x, y;
active proctype p() {
  do :: x < 32000 -> x++ :: y < 32000 -> y++ :: else -> break od
}
"""


@needs_spin
def test_searches_have_limits():
    found = spin.explore(_LONG, seconds=1)
    assert found.outcome == "unknown" and found.is_exhausted
    assert found.reason == "more than 1 seconds"
    found = spin.explore(_LONG, megabytes=20)
    assert found.outcome == "unknown" and found.is_exhausted


@needs_spin
def test_smaller_bounds_are_tried(monkeypatch):
    tried = []
    long = {"0 .. 3)", "0 .. 5)"}

    def explore(model, **_):
        tried.append(re.search(r"0 \.\. \d+\)", model)[0])
        if tried[-1] in long:
            return spin.SpinVerdict("unknown", "out of memory")
        return spin.SpinVerdict("right")

    monkeypatch.setattr("tilews.spin._explore.explore", explore)
    # The largest bound of which the search ends.
    assert spin.check(TWO_SLOTS).bound == 2
    assert tried == ["0 .. 5)", "0 .. 1)", "0 .. 2)", "0 .. 3)"]
    long.clear()
    assert spin.check(TWO_SLOTS).bound is None
    long.update({"0 .. 5)", "0 .. 1)"})
    found = spin.check(TWO_SLOTS)
    assert found.is_exhausted and found.bound == 1


@pytest.fixture(scope="module")
def corpus() -> dict[str, spin_corpus.CorpusKernel]:
    return {kernel.name: kernel for kernel in spin_corpus.edited()}


@needs_spin
@pytest.mark.parametrize("name", SAMPLE)
def test_a_sample_agrees(corpus, name):
    _, found = spin_corpus.judge(corpus[name])
    assert found.outcome == "agreed", found


@needs_spin
def test_schedules_of_passes():
    """The channel form and the barrier form of the first kernel."""
    for kernel in itertools.islice(spin_corpus.made(), 2):
        _, found = spin_corpus.judge(kernel)
        assert found.outcome == "agreed", found


@needs_spin
@pytest.mark.parametrize(
    "name",
    [
        # All threads of a role arrive when their copies land, those of a late warp
        # after its wait.
        "padded-sm_90a",
        # The last slot is read after a loop that may have no iterations.
        "pieces-sm_90a",
        # Groups of copies that no iteration waits for.
        "guard-all-s2-sm_80",
        # A guard is loaded from planned shared memory.
        "shared-mask-sm_90a",
        # A copy of 65536 bytes.
        "sparse-2:4-128x256x128 t256 s2-sm_90a",
    ],
)
def test_barrier_form(name):
    *_, kernel = spin_corpus.made(name)
    assert kernel.name == f"{name}:tile-lower-channels"
    _, found = spin_corpus.judge(kernel)
    assert found.outcome == "agreed", found


@needs_spin
def test_corpus_runs_go_on(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(spin_corpus, "made", lambda: iter(()))
    state = str(tmp_path / "state.json")
    options = ["--only", "memory-plan:buffer_a", "--state", state]
    for arguments, lines in (
        (["--count", "1"], ["1 kernels", "1 agreed"]),
        ([], ["2 kernels", "2 agreed"]),
        (["--count", "1"], ["1 kernels", "1 agreed"]),
    ):
        assert spin_corpus.main([*options, *arguments]) == 0
        printed = capsys.readouterr().out
        assert all(line in printed for line in lines), printed


def test_findings():
    """Disagreements, and models that Spin cannot read, but not long searches."""
    for verdict, outcome, reason, bound, is_finding in (
        ("proved", "right", "", None, False),
        ("proved", "wrong", "deadlock", None, True),
        ("proved", "wrong", "deadlock", 1, True),
        ("wrong", "right", "", None, True),
        ("wrong", "right", "", 1, False),
        ("proved", "declined", "<stdin>:1:1: error: is not exported", None, False),
        ("proved", "unknown", "out of memory", 1, False),
        ("proved", "unknown", "spin: syntax error", None, True),
    ):
        entry = spin_corpus.CorpusKernel("kernel", "", verdict)
        answer = spin.SpinVerdict(outcome, reason, bound=bound)
        found = spin.Comparison(verdict, "", answer)
        assert spin_corpus.is_finding(entry, found) == is_finding


def test_outcomes_have_the_bound():
    entry = spin_corpus.CorpusKernel("kernel", "", "proved")
    for bound, outcome in ((None, "agreed"), (2, "agreed up to 2")):
        answer = spin.SpinVerdict("right", bound=bound)
        found = spin.Comparison("proved", "", answer)
        assert spin_corpus.describe(entry, found) == outcome


def test_lists_name_cases(corpus):
    names = {*corpus, *(case.name for case in (*pipelined_zoo.CASES, *scheduled.ALL))}
    assert {name.split("-sm_")[0] for name in spin_corpus.OPTIONS} <= names


def test_missing_spin(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(spin.MissingSpin, match="spin is not installed; on Debian"):
        spin.explore("init { skip }")


def test_kernels_without_a_model():
    with pytest.raises(CompileError, match="about other blocks of a cluster"):
        spin.export_model((INPUTS / "shared_copies.mlir").read_text())


#: Kernels whose models have all macros between them, and their models.
SOURCES = [
    (INPUTS / f"{name}.mlir").read_text()
    for name in ("two_slots", "two_channels", "cp_async_arrivals", "async_matmuls")
]
MODELS = [spin.export_model(source) for source in SOURCES]
#: Macros and types, but those that have the name of something in the kernel.
DEFINED = {
    word
    for source, model in zip(SOURCES, MODELS, strict=True)
    for word in re.findall(r"^(?:#define|typedef) (\w+)", model, re.MULTILINE)
    if word != "KERNEL"
    and not word.startswith("was_written_")
    and not re.search(rf"[%@]{word}\b", source, re.IGNORECASE)
}
#: Kinds of messages, such as END_READ.
DEFINED |= {
    word
    for model in MODELS
    for kinds in re.findall(r"^mtype = \{(.*?)\}", model, re.MULTILINE | re.DOTALL)
    for word in re.findall(r"\w+", kinds)
}
FIELDS = {
    field
    for model in MODELS
    for fields in re.findall(r"typedef \w+ \{(.*?)\}", model, re.DOTALL)
    for line in re.sub(r"/\*.*?\*/", "", fields, flags=re.DOTALL).split(";")
    for field in re.findall(r"\w+", line)[1:]
}


@pytest.mark.parametrize("word", sorted(DEFINED))
def test_values_have_no_name_of_a_macro(word):
    """A buffer's name becomes a constant, in capitals, and a scalar's a variable."""
    old = "full" if word.isupper() else "qs"
    model = spin.export_model(re.sub(rf"%{old}\b", f"%{word.lower()}", TWO_SLOTS))
    assert re.search(rf"\b{word}_2\b", model), model
    assert f"int {word};" not in model


@pytest.mark.parametrize("field", sorted(FIELDS))
def test_roles_have_no_name_of_a_field(field):
    model = spin.export_model(TWO_SLOTS.replace("@math", f"@{field}"))
    assert f"proctype {field}(" not in model
    assert "proctype load(" in model


@needs_spin
def test_command(tmp_path):
    right, wrong = tmp_path / "right.mlir", tmp_path / "wrong.mlir"
    right.write_text(TWO_SLOTS)
    wrong.write_text(without(TWO_SLOTS, "tile.mbarrier_wait %full"))

    def run(*arguments: object):
        return CliRunner().invoke(main, [str(each) for each in arguments])

    found = run(right, "--bound", 2)
    assert found.exit_code == 0, found.output
    lines = found.output.splitlines()
    assert lines[:2] == ["agreed", "verifier: proved"]
    assert lines[2].startswith("spin: right")
    found = run(wrong, "--value", "n=1")
    assert found.exit_code == 1
    assert "verifier: wrong" in found.output and "spin: wrong" in found.output
    found = run(right, "--value", "n")
    assert found.exit_code == 2 and "expected NAME=NUMBER, found 'n'" in found.output


@pytest.mark.parametrize(
    ("verdict", "spins", "outcome"),
    [
        ("proved", "right", "agreed"),
        ("wrong", "wrong", "agreed"),
        ("proved", "wrong", "missed by the verifier"),
        ("wrong", "right", "missed by Spin"),
        ("unsupported", "right", "open"),
        ("proved", "unknown", "open"),
        ("wrong", "declined", "open"),
    ],
)
def test_outcomes_of_comparisons(verdict, spins, outcome):
    found = spin.Comparison(verdict, "", spin.SpinVerdict(spins))
    assert found.outcome == outcome
    assert str(found).startswith(outcome)
