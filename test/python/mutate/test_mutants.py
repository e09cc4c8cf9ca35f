"""Mutants of schedules, and the verifier and the simulator, which find them."""

import collections
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from kernels import mutation_corpus
from support.interpreting import SHARED
from tilews import ir, mutate
from tilews.errors import CompileError
from tilews.mutate.__main__ import main
from tilews.mutate._equivalent import RULES, RULES_OF_RUNS, argue
from tilews.mutate._order import Order, OrderedAccess
from tilews.mutate._report import false_alarms, render, scores

#: A producer and a consumer with two slots.
KERNEL = f"""
!buffer = memref<2x64xf32, {SHARED}>
!slot = memref<64xf32, {SHARED}>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {{
  gpu.func @sum(%a: memref<?x64xf32>, %out: memref<64xf32>, %n: index)
      kernel attributes {{tile.threads = 64 : i32}} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %buffer = tile.alloc_shared : !buffer
    %ch = tile.channel(%buffer) {{producer = #tile.producer<simt>}}
      : !buffer -> !tile.channel<2>
    tile.specialize {{
      tile.role @math warps(1) {{
        %q0 = tile.cursor : !tile.cursor<2>
        %zero = arith.constant dense<0.0> : tensor<64xf32>
        %sum, %last = scf.for %i = %c0 to %n step %c1
            iter_args(%s = %zero, %q = %q0) -> (tensor<64xf32>, !tile.cursor<2>) {{
          tile.wait %ch[%q] : !tile.channel<2>
          %slot = tile.slot %buffer[%q] : !buffer -> !slot
          %row = tile.load %slot : !slot -> tensor<64xf32>
          %r = arith.addf %s, %row : tensor<64xf32>
          tile.release %ch[%q] : !tile.channel<2>
          %next = tile.advance %q : !tile.cursor<2>
          scf.yield %r, %next : tensor<64xf32>, !tile.cursor<2>
        }}
        tile.store %sum to %out : tensor<64xf32> to memref<64xf32>
      }}
      tile.role @load warps(1) {{
        %p0 = tile.cursor : !tile.cursor<2>
        %last = scf.for %i = %c0 to %n step %c1 iter_args(%p = %p0)
            -> !tile.cursor<2> {{
          tile.acquire %ch[%p] : !tile.channel<2>
          %slot = tile.slot %buffer[%p] : !buffer -> !slot
          tile.copy %a[%i, 0] [1, 64] to %slot : memref<?x64xf32> to !slot
          tile.commit %ch[%p] : !tile.channel<2>
          %next = tile.advance %p : !tile.cursor<2>
          scf.yield %next : !tile.cursor<2>
        }}
      }}
    }}
    gpu.return
  }}
}}
"""


@pytest.fixture
def module():
    with ir.Context(), ir.Location.unknown():
        yield ir.Module.parse(KERNEL)


def find(module: ir.Module, prefix: str) -> mutate.Mutant:
    """The only mutant with the id `prefix`, apart from the operation's index."""
    found = [
        each
        for each in mutate.mutants(module, [prefix.partition(":")[0]])
        if re.sub(r"-\d+\.", ".", each.id) == prefix
    ]
    assert len(found) == 1, prefix
    return found[0]


class NoRuns:
    """Answers no to every rule that needs runs."""

    def orders(self, module, role):
        return None

    def passes_transactions(self, module):
        return True


def lines(module: ir.Module) -> list[str]:
    return [line.strip() for line in str(module).splitlines()]


def test_an_operation_is_dropped(module):
    before, after = lines(module), lines(find(module, "drop:wait.0").module)
    assert [line for line in before if line not in after] == [
        "tile.wait %1[%arg5] : !tile.channel<2>"
    ]
    assert len(after) == len(before) - 1


def test_an_operation_is_there_twice(module):
    after = lines(find(module, "duplicate:release.0").module)
    assert after.count("tile.release %1[%arg5] : !tile.channel<2>") == 2


def test_a_release_comes_before_the_read(module):
    text = str(find(module, "move-earlier:release.0").module)
    assert text.index("tile.release") < text.index("tile.load")


def test_a_wait_comes_after_the_read(module):
    text = str(find(module, "move-later:wait.0").module)
    assert text.index("tile.load") < text.index("tile.wait")
    assert text.index("tile.wait") < text.index("tile.release")


def test_a_release_leaves_its_loop(module):
    text = str(find(module, "move-out:release.1").module)
    assert re.search(r"\}\n *tile.release %1\[%\d+#1\]", text)


def test_a_cursor_is_at_another_place(module):
    text = str(find(module, "slot:wait.0").module)
    assert re.search(r"(%\w+) = tile.advance %arg5.*\n *tile.wait %1\[\1\]", text)
    text = str(find(module, "phase:wait.0").module)
    assert text.count("tile.advance") == 4
    text = str(find(module, "constant-cursor:wait.0").module)
    assert re.search(r"(%\w+) = tile.cursor.*\n *tile.wait %1\[\1\]", text)


def test_a_cursor_is_not_carried(module):
    found = mutate.mutants(module, ["not-carried", "not-advanced"])
    # A loop that yields its argument does not advance it.
    texts = {each.id: str(each.module) for each in found}
    assert len(texts) == 4
    assert all(text.count("yield") == 2 for text in texts.values())


def test_a_role_has_an_iteration_more_or_less(module):
    more, less, *_ = mutate.mutants(module, ["trip-count"])
    assert "arith.addi" in str(more.module)
    assert "arith.subi" in str(less.module)


def test_all_mutants_are_different_and_come_again_by_their_ids(module):
    found = list(mutate.mutants(module))
    assert len({str(each.module) for each in found}) == len(found)
    for each in found:
        assert str(mutate.mutant(module, each.id).module) == str(each.module)
        assert each.module.operation.verify()


@pytest.mark.parametrize(
    "id, message",
    [
        ("drop", "is no mutant, expected CLASS:OPERATION-INDEX"),
        ("break:wait-13.0", "no class 'break'"),
        ("drop:wait-999.0", "operation 999 is no wait, there is none"),
        ("drop:wait-0.0", "operation 0 is no wait, it is a builtin.module"),
        ("drop:func-2.0", "class 'drop' cannot change gpu.func @sum"),
    ],
)
def test_ids_that_are_none(module, id, message):
    with pytest.raises(CompileError, match=re.escape(message)):
        mutate.mutant(module, id)


def test_modules_list_and_print_their_mutants(tmp_path: Path):
    path = tmp_path / "kernel.mlir"
    path.write_text(KERNEL)
    listed = CliRunner().invoke(main, [str(path)])
    assert listed.exit_code == 0
    id = re.search(r"^drop:commit-\S+(?=:)", listed.output, re.M).group()
    printed = CliRunner().invoke(main, [str(path), "--emit", id])
    assert printed.output.count("tile.commit") == 0
    assert printed.output.count("tile.acquire") == 1


CORPUS = str(Path(mutation_corpus.__file__))
ONE = ["--kernel", "gemm sm_90a", "--form", "channels"]


@pytest.mark.parametrize(
    "arguments, code, message",
    [
        (["/"], 2, "'/' is a directory"),
        (["nowhere.py"], 2, "'nowhere.py' does not exist"),
        (["{text}"], 2, "expected an .mlir file or a .py file with subjects"),
        (["{empty}"], 1, "has no synchronization to break: expected a kernel"),
        (["{broken}"], 1, "cannot import"),
        (["{without}"], 1, "has no list SUBJECTS"),
        (["{kernel}", "--judge", "drop:wait-1.0"], 2, "--judge needs launches"),
        (["{kernel}", "--table", "{page}"], 2, "--table needs launches"),
        (["{kernel}", "--jobs", "2"], 2, "--jobs needs launches"),
        (["{kernel}", "--emit", "drop:wait-1.0"], 1, "operation 1 is no wait"),
        ([CORPUS, "--jobs", "0"], 2, "0 is not in the range"),
        ([CORPUS, "--table", "/nowhere/x.md"], 2, "there is no folder '/nowhere'"),
        ([CORPUS, "--form", "other"], 2, "'other' is not one of"),
        ([CORPUS, "--kernel", "gemm"], 2, "only: 'gemm sm_90a'"),
        ([CORPUS, "--emit", "drop:wait-1.0"], 2, "choose with --kernel and --form"),
        ([CORPUS, *ONE, "--emit", "a", "--judge", "b"], 2, "--judge does not go with"),
        ([CORPUS, *ONE, "--judge", "a", "--table", "{page}"], 2, "--table does not"),
        ([CORPUS, *ONE, "--judge", "break:wait-1.0"], 1, "no class 'break'"),
    ],
)
def test_wrong_usage(tmp_path, arguments, code, message):
    files = {
        "kernel": ("kernel.mlir", KERNEL),
        "empty": ("empty.mlir", "module {}"),
        "text": ("text.txt", ""),
        "broken": ("broken.py", "import nothing_of_that_name"),
        "without": ("without.py", "SUBJECTS = [1]"),
        "page": ("page.md", ""),
    }
    paths = {name: tmp_path / file for name, (file, _) in files.items()}
    for name, (_, text) in files.items():
        paths[name].write_text(text)
    result = CliRunner().invoke(main, [each.format(**paths) for each in arguments])
    assert result.exit_code == code, result.output
    assert message in result.output
    assert isinstance(result.exception, SystemExit)


@pytest.mark.parametrize(
    "prefix, rule",
    [
        ("duplicate:wait.0", "twice-is-once"),
        ("phase:release.0", "arrivals-have-no-phase"),
        ("slot:acquire.0", "the-next-release-comes-later"),
        ("restart:for.0", "same-program"),
        ("drop:wait.0", None),
        ("drop:release.0", None),
        ("duplicate:commit.0", None),
        ("phase:wait.0", None),
        ("move-earlier:release.0", None),
        ("move-earlier:commit.0", None),
    ],
)
def test_equivalent_mutants_are_argued(module, prefix, rule):
    for each in mutate.mutants(module, [prefix.partition(":")[0]]):
        if re.sub(r"-\d+\.", ".", each.id) == prefix:
            assert argue([each], NoRuns()) == rule


def test_accesses_that_conflict_have_to_stay_in_order():
    write, read = ((0, 0, 16, True),), ((0, 8, 24, False),)
    accesses = [
        OrderedAccess("tile.store", write, False),
        OrderedAccess("tile.load", read, False),
        OrderedAccess("tile.load", ((0, 16, 32, False),), False),
    ]
    ordered = Order(accesses, [1, 3, 3])
    # The second load reads other bytes.
    assert not ordered.is_kept_by(Order(accesses, [2, 3, 3]))
    assert Order(accesses, [2, 3, 3]).is_kept_by(Order(accesses, [3, 3, 3]))
    # Two reads need no order, nor do accesses that were unordered before.
    assert Order(accesses, [1, 2, 3]).is_kept_by(Order(accesses, [1, 3, 3]))
    assert not ordered.is_kept_by(Order(accesses[:2], [1, 2]))


def test_what_runs_argue_goes_wrong_nowhere():
    """Mutants that runs show to be equivalent are right under all timings."""
    subject = get_subject("guarded-part sm_80")
    judge = mutate.Judge(subject)
    classes = ("drop", "restart", "select")
    rules = collections.Counter()
    for each in mutate.mutants(subject.forms()["barriers"], classes):
        rule = argue([each], judge)
        if rule in RULES_OF_RUNS:
            rules[rule] += 1
            assert judge.simulate(each.module) is None, each.id
    assert rules["order-is-kept"] >= 2
    assert rules["number-is-not-used"] == 2


def test_faults_are_found():
    wanted = ("gemm sm_90a", "guarded sm_90a", "attention sm_90a", "gemm sm_80")
    results = {
        (each.name, form): list(mutate.judge_all(each, form, step=7))
        for each in mutation_corpus.SUBJECTS
        if f"{each.name} {each.target}" in wanted
        for form in each.forms()
    }
    assert sum(map(len, results.values())) > 100
    assert not false_alarms(results)
    verifier, either = scores(results)
    assert either >= 0.98
    page = render(results)
    assert f"**{100 * either:.1f} %**" in page
    assert f"**{100 * verifier:.1f} %**" in page


def test_rules_that_are_refuted_are_errors(tmp_path, monkeypatch):
    """A rule that calls a fault equivalent stops the table."""
    monkeypatch.setitem(RULES, "nonsense", lambda each: each.mutation == "drop")
    page = tmp_path / "page.md"
    result = CliRunner().invoke(
        main, [CORPUS, *ONE, "--jobs", "1", "--table", str(page)]
    )
    assert result.exit_code == 1
    assert re.search(
        r"Error: gemm sm_90a channels: drop:\S+ is equivalent by the rule nonsense, "
        "but the simulator finds: ",
        result.output,
    )
    assert "was not written" in result.output
    assert not page.exists()


@pytest.mark.parametrize(
    "kernel, form, ids",
    [
        # Bytes are expected before the wait for the slot, so perhaps in another phase.
        ("gemm sm_90a", "barriers", ["move-earlier:mbarrier_arrive.2"]),
        # The fill before the loop, which a consumer waits for.
        ("attention sm_90a", "channels", ["drop:commit.0", "duplicate:commit.0"]),
        # More arrivals than a phase expects.
        ("attention sm_90a", "barriers", ["count:mbarrier.1"]),
        # Without roles these operations make no code, but a consumer waits forever.
        ("gemm sm_80", "channels", ["phase:acquire.0", "drop:commit.0"]),
    ],
)
def test_what_no_rule_may_call_equivalent(kernel, form, ids):
    subject = get_subject(kernel)
    judge = mutate.Judge(subject)
    classes = {each.partition(":")[0] for each in ids}
    count = 0
    for each in mutate.mutants(subject.forms()[form], classes):
        if re.sub(r"-\d+\.", ".", each.id) in ids:
            count += 1
            verdict = judge.judge(each)
            assert verdict.outcome != "refuted", each.id
            assert verdict.simulator is None or verdict.equivalent is None
    assert count


def get_subject(name):
    return next(each for each in mutation_corpus.SUBJECTS if str(each) == name)


@pytest.mark.parametrize(
    "kernel, form, prefix, rule",
    [
        ("attention sm_90a", "channels", "constant-cursor:commit.0", "equal-cursors"),
        (
            "attention sm_90a",
            "barriers",
            "other-channel:mbarrier_wait.0",
            "returns-at-once",
        ),
        ("nested sm_90a", "channels", "move-earlier:wait.0", "within-an-iteration"),
        ("nested sm_90a", "channels", "move-later:release.2", "out-of-the-way"),
        ("attention sm_80", "barriers", "guard:if.1", "copied-for-nothing"),
        (
            "guarded-part sm_90a",
            "barriers",
            "move-earlier:mbarrier_arrive.0",
            "another-channel-orders-it",
        ),
        (
            "guarded-part sm_90a",
            "barriers",
            "move-later:mbarrier_wait.0",
            "another-channel-orders-it",
        ),
    ],
)
def test_rules_for_what_no_run_shows(kernel, form, prefix, rule):
    subject = get_subject(kernel)
    judge = mutate.Judge(subject)
    rules = set()
    for each in mutate.mutants(subject.forms()[form], [prefix.partition(":")[0]]):
        if re.sub(r"-\d+\.", ".", each.id) == prefix:
            found = judge.judge(each)
            rules.add(found.equivalent)
            assert found.simulator is None or found.equivalent is None
    assert rule in rules


def test_two_moves_that_only_deadlock_together():
    """A wait before the inner loop, for a fill that now comes after that loop."""
    subject = get_subject("nested sm_90a")
    module = subject.forms()["channels"]
    judge = mutate.Judge(subject)
    wait = "move-earlier:wait-30.0"
    commit = "move-later:commit-49.0"
    for id in (wait, commit):
        assert judge.judge(mutate.mutant(module, id)).equivalent
    first = mutate.mutant(module, wait)
    found = judge.judge(first, mutate.mutant(first.module, commit))
    assert found.outcome == "verifier" and "never returns" in found.simulator


def test_copies_that_nothing_uses_are_left_out():
    write, other = ((0, 0, 16, True),), ((0, 16, 32, True),)
    store = OrderedAccess("tile.store", write, False)
    load = OrderedAccess("tile.load", ((0, 0, 16, False),), False)
    copy = OrderedAccess("tile.copy", other, True)
    order = Order([store, load], [1, 2])
    assert Order([store, copy, load], [2, 3, 3]).without_copies_besides(order) == order
    # A load reads what the copy writes; a store is not ordered before it.
    later = Order([store, load], [1, 2])
    bad = OrderedAccess("tile.copy", write, True)
    assert Order([store, bad, load], [1, 3, 3]).without_copies_besides(later) is None
    assert Order([store, load, bad], [1, 3, 3]).without_copies_besides(later) is None
    assert Order([store, load, bad], [1, 2, 3]).without_copies_besides(later)
    # Another store is no copy.
    assert Order([store, store, load], [1, 2, 3]).without_copies_besides(order) is None


ROLES = ("sides", "exchanged", "other-role", "roles")


def test_roles_are_exchanged():
    subject = get_subject("attention sm_90a")
    judge = mutate.Judge(subject)
    found = collections.Counter()
    for module in subject.forms().values():
        for each in mutate.mutants(module, ROLES):
            found[each.mutation] += judge.judge(each).outcome != "missed"
    assert found["sides"] == 9
    assert found["exchanged"] > 10
    assert found["other-role"] > 15
    assert found["roles"] >= 1


def test_an_operation_moves_to_another_role(module):
    text = str(find(module, "other-role:release.0").module)
    load = text.index("tile.role @load")
    assert load < text.index("tile.acquire") < text.index("tile.release")


def test_a_role_plays_the_other_side(module):
    both, *single = mutate.mutants(module, ["sides"])
    assert len(single) == 2
    text = str(both.module)
    load = text.index("tile.role @load")
    assert text.index("tile.acquire") < text.index("tile.commit") < load
    assert load < text.index("tile.wait") < text.index("tile.release")


def test_why_faults_are_proved():
    subject = get_subject("nested sm_80")
    judge = mutate.Judge(subject)
    module = subject.forms()["barriers"]
    verdicts = [judge.judge(each) for each in mutate.mutants(module, ["guard-twice"])]
    found = [each for each in verdicts if each.exclusion]
    # The same slot is filled twice, in right order.
    assert [each.exclusion for each in found] == ["contents"]
    page = render({("nested sm_80", "barriers"): [verdicts[0], *verdicts]})
    assert re.search(r"### contents\n\n[^#]*\n1 mutant\.", page)


def test_the_barrier_of_scratch_memory_is_missing():
    subject = get_subject("guarded-part sm_90a")
    judge = mutate.Judge(subject)
    module = subject.forms()["barriers"]
    barriers = [e for e in mutate.mutants(module, ["drop"]) if "drop:barrier" in e.id]
    (found,) = (judge.judge(each) for each in barriers)
    assert "scratch memory that its own threads may still read" in found.verifier
    assert "scratch memory, which nothing orders" in found.simulator
