"""What rules must not call equivalent: mutants in which the simulator finds a fault."""

import collections
import re

import pytest

from kernels.mutation import mutation_seeds
from tilews import ir, mutate
from tilews.mutate import _edits
from tilews.mutate._equivalent import argue
from tilews.mutate._exclusions import exclusion
from tilews.mutate._order import are_waited_for
from tilews.mutate._random_mutants import RandomMutant, RandomMutants
from tilews.mutate._report import percent

_COVERED = "the-next-fence-covers-it"
_GROUPS = "more-or-earlier-groups"


@pytest.fixture(scope="module")
def mutants():
    return RandomMutants(mutation_seeds.SUBJECTS)


@pytest.mark.parametrize(
    "kernel, form, prefix",
    [
        # nothing-is-unordered: copies that signal an mbarrier need the fence.
        ("lit-one_role sm_90a", "barriers", "drop-flag:barrier.0"),
        # The same and once-an-iteration: a thread signals that all copies are done.
        ("lit-stores_to_slots sm_90a", "barriers", "move-earlier:barrier.1"),
        # order-is-kept: no launch has a loop of no iterations before the guard.
        ("lit-persistent_gemm sm_90a", "barriers", "move-in:barrier.0"),
        # order-is-kept: a while loop that has no barrier in its body in other launches.
        ("around sm_80", "channels", "drop:barrier.0"),
        # copied-for-nothing: other masks fill slots that are in use.
        ("lit-mask_ahead sm_80", "channels", "guard:if.1"),
        ("scattered_sums sm_90a", "barriers", "guard:if.1"),
        # same-program: with other masks a wait blocks forever.
        ("scattered_sums sm_80", "channels", "move-out:commit.1"),
        # number-is-not-used: the loop has to use a slot again.
        ("view-prelude sm_80", "barriers", "select:select.1"),
        # the-next-release-comes-later: two waits for the channel, one of them changed.
        ("sequential sm_90a", "channels", "slot:acquire.0"),
        # the-next-fence-covers-it: the slots are filled again, and no channel with a
        # fence comes between.
        ("attention sm_90a", "barriers", "drop:proxy_fence.0"),
        ("sequential sm_90a", "barriers", "drop:proxy_fence.0"),
        # the-fence-covers-as-much: the fence comes before the matmul that reads.
        ("attention sm_90a", "barriers", "move-earlier:proxy_fence.2"),
        # out-of-the-way and within-an-iteration: an arrival before its fence.
        ("sequential sm_90a", "barriers", "move-earlier:mbarrier_arrive.1"),
        # expected-before-sent: the previous phase may be incomplete.
        ("nested sm_90a", "barriers", "move-earlier:mbarrier_arrive.1"),
        # more-or-earlier-groups: a wait covers a group less.
        ("around sm_80", "barriers", "drop:commit_group.0"),
        ("around sm_80", "channels", "move-in:commit_group.1"),
        ("gemm sm_80", "barriers", "move-earlier:commit_group.0"),
        # nothing-else-uses-it: other operations have scratch memory, too.
        ("attention sm_80", "barriers", "move-earlier:barrier.0"),
        # order-is-kept: the copy from a buffer is under way when stores change it.
        ("nested sm_90a", "barriers", "move-later:barrier.1"),
    ],
)
def test_faults_are_not_called_equivalent(mutants, kernel, form, prefix):
    outcomes = collections.Counter()
    judge = mutants._get_judge(kernel)
    module = mutants._get_forms(kernel)[form]
    for each in mutate.mutants(module, [prefix.partition(":")[0]]):
        if re.sub(r"-\d+\.", ".", each.id) != prefix:
            continue
        verdict, outcome, _ = mutants.explain(RandomMutant(kernel, form, (each,)))
        outcomes[outcome] += 1
        assert outcome != "refuted", (each.id, verdict.equivalent, verdict.simulator)
        if verdict.simulator is not None:
            assert argue([each], judge) is None
    assert outcomes["both"] + outcomes["verifier"], outcomes


@pytest.mark.parametrize(
    "kernel, form, prefix, rule",
    [
        # Nobody fills the slot again.
        ("attention sm_90a", "barriers", "drop:proxy_fence.0", _COVERED),
        ("attention sm_90a", "barriers", "move-later:proxy_fence.1", _COVERED),
        # The release of the other channel has a fence as well.
        ("guarded-part sm_90a", "barriers", "drop:proxy_fence.0", _COVERED),
        ("guarded-part sm_90a", "barriers", "other-branch:proxy_fence.0", _COVERED),
        # Over a conversion through scratch memory, and over the barrier before it.
        (
            "attention sm_90a",
            "barriers",
            "move-earlier:proxy_fence.1",
            "the-fence-covers-as-much",
        ),
        # A wait before a fence, and an arrival after it.
        (
            "nested sm_90a",
            "barriers",
            "move-earlier:mbarrier_wait.0",
            "within-an-iteration",
        ),
        (
            "attention sm_90a",
            "barriers",
            "move-later:mbarrier_arrive.2",
            "within-an-iteration",
        ),
        # The slot has no previous phase, or a complete one.
        (
            "attention sm_90a",
            "barriers",
            "move-earlier:mbarrier_arrive.1",
            "expected-before-sent",
        ),
        (
            "guarded-part sm_90a",
            "barriers",
            "move-earlier:mbarrier_arrive.1",
            "expected-before-sent",
        ),
        # A while loop, whose launches prove nothing.
        ("around sm_80", "channels", "move-later:commit_group.2", _GROUPS),
        ("around sm_80", "barriers", "move-earlier:commit_group.3", _GROUPS),
        ("around sm_80", "barriers", "move-in:commit_group.1", _GROUPS),
        ("around sm_80", "barriers", "move-later:barrier.0", "nothing-else-uses-it"),
        # Over a fence, which each thread executes for itself.
        ("nested sm_90a", "barriers", "move-earlier:barrier.1", "order-is-kept"),
        ("sequential sm_90a", "barriers", "move-earlier:barrier.1", "order-is-kept"),
    ],
)
def test_a_rule_covers_a_mutant(mutants, kernel, form, prefix, rule):
    judge = mutants._get_judge(kernel)
    module = mutants._get_forms(kernel)[form]
    found = [
        argue([each], judge)
        for each in mutate.mutants(module, [prefix.partition(":")[0]])
        if re.sub(r"-\d+\.", ".", each.id) == prefix
    ]
    assert rule in found, found


def test_scalars_from_beyond_an_array_are_excluded(mutants):
    """Also if no guard is changed: the load itself comes under another one."""
    found = "'memref.load' op index 12 is out of bounds for dimension 0 of extent 12"
    module = mutants._get_forms("guarded-part sm_90a")["channels"]
    edits = list(mutate.mutants(module, ["guard-elsewhere"]))[:1]
    assert edits[0].op.name == "memref.load"
    assert exclusion(edits, found) == "bounds"
    assert exclusion(edits, found.replace("memref", "tile")) == "no exclusion"


def test_contents_do_not_depend_on_the_timing(mutants):
    """Otherwise the fault would be one of synchronization, which has no exclusion."""

    def depends(kernel, prefix):
        judge = mutants._get_judge(kernel)
        module = mutants._get_forms(kernel)["barriers"]
        return [
            judge._depends_on_timing(each.module)
            for each in mutate.mutants(module, [prefix.partition(":")[0]])
            if each.id.startswith(prefix) and judge.simulate(each.module)
        ]

    assert False in depends("nested sm_80", "slot:slot")
    # The math role reads what has landed, or what has not.
    assert True in depends("gemm sm_90a", "drop:mbarrier_wait")


def test_shares_are_rounded_down():
    assert [percent(each) for each in (1.0, 0.9999, 0.5)] == ["100.0", "99.9", "50.0"]


def test_an_endless_replay_is_no_fault(mutants):
    """Without iterations nothing ends the loop, in the original neither."""
    ids = ("move-out:commit-25.1", "phase:commit-28.0")
    chosen = mutants.find("around sm_80", "channels", ids)
    _, outcome, reason = mutants.explain(chosen)
    assert outcome in ("refused", "verifier"), reason
    assert "endless" not in reason


#: Two groups of copies and waits for them, in the order of `body`.
_GROUPS_KERNEL = """
!slot = memref<64xf32, #gpu.address_space<workgroup>>
!source = memref<64xf32>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {{
  gpu.func @k(%a: memref<64xf32>, %n: index, %on: i1, %go: i1) kernel
      attributes {{tile.threads = 64 : i32}} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = tile.alloc_shared : !slot
    %stores = tile.channel() {{producer = #tile.producer<simt>}} -> !tile.channel<1>
    %copies = tile.channel() {{producer = #tile.producer<cp_async>}} -> !tile.channel<1>
    %p = tile.cursor : !tile.cursor<1>
    {body}
    gpu.return
  }}
}}
"""
_COPY = (
    "tile.copy %a to %s {tile.inst = #tile.inst<cp_async>} : memref<64xf32> to !slot"
)
_WHILE = "scf.while : () -> () { scf.condition(%go) } do {"
_WAIT = "tile.copy_group_wait {pending = 0 : i64}"
_LEAVE_ONE = "tile.copy_group_wait {pending = 1 : i64}"
_COMMIT = "tile.commit_group"


@pytest.mark.parametrize(
    "body, other, is_covered",
    [
        ([_COPY, _COMMIT, _WAIT], [_COPY, _COMMIT, _COMMIT, _WAIT], True),
        ([_COPY, _COMMIT, _WAIT], [_COPY, _WAIT, _COMMIT], False),
        # An empty group makes a wait leave less.
        ([_COPY, _COMMIT, _LEAVE_ONE], [_COPY, _COMMIT, _COMMIT, _LEAVE_ONE], True),
        ([_COPY, _COMMIT, _COMMIT, _LEAVE_ONE], [_COPY, _COMMIT, _LEAVE_ONE], False),
        # Matmuls are no copies.
        (
            [_COPY, _COMMIT, "tile.gemm_wait {pending = 0 : i64}", _WAIT],
            [_COPY, "tile.gemm_wait {pending = 0 : i64}", _WAIT, _COMMIT],
            False,
        ),
        # A wait for stores closes no group and waits for none; one for copies does.
        (
            [_COPY, _COMMIT, "tile.wait %stores[%p] : !tile.channel<1>", _WAIT],
            [_COPY, "tile.wait %stores[%p] : !tile.channel<1>", _WAIT, _COMMIT],
            False,
        ),
        (
            [_COPY, _COMMIT, "tile.wait %copies[%p] : !tile.channel<1>", _WAIT],
            [_COPY, "tile.wait %copies[%p] : !tile.channel<1>", _WAIT, _COMMIT],
            True,
        ),
        # On the path without the guard, and on the one without iterations.
        (
            [_COPY, "scf.if %on {", "}", _COMMIT, _WAIT],
            [_COPY, "scf.if %on {", _COMMIT, "}", _WAIT],
            False,
        ),
        (
            [_COPY, _COMMIT, "scf.for %i = %c0 to %n step %c1 {", "}", _WAIT],
            [_COPY, "scf.for %i = %c0 to %n step %c1 {", _COMMIT, "}", _WAIT],
            False,
        ),
        # The next iteration waits, and closes the group before or after that.
        (
            ["scf.for %i = %c0 to %n step %c1 {", _WAIT, _COPY, _COMMIT, "}"],
            ["scf.for %i = %c0 to %n step %c1 {", _COMMIT, _WAIT, _COPY, "}"],
            True,
        ),
        (
            ["scf.for %i = %c0 to %n step %c1 {", _WAIT, _COPY, _COMMIT, "}"],
            ["scf.for %i = %c0 to %n step %c1 {", _WAIT, _COMMIT, _COPY, "}"],
            False,
        ),
        (
            [_WHILE, _WAIT, _COPY, _COMMIT, "scf.yield", "}"],
            [_WHILE, _WAIT, _COMMIT, _COPY, "scf.yield", "}"],
            False,
        ),
    ],
)
def test_groups_are_counted_on_all_paths(body, other, is_covered):
    with ir.Context(), ir.Location.unknown():
        modules = [
            ir.Module.parse(_GROUPS_KERNEL.format(body="\n".join(each)))
            for each in (body, other)
        ]
        kernels = [
            next(op for op in _edits.walk(each.operation) if op.name == "gpu.func")
            for each in modules
        ]
        assert are_waited_for(*kernels) is is_covered
