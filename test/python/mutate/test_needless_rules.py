"""Mutants of schedules by hand: what nothing needs may be missing, all else may not."""

import pytest

from kernels.mutation import mutation_seeds
from tilews.mutate._random_mutants import RandomFinding, RandomMutants

UNUSED = "the-last-slot-is-unused"
PUBLISHED = "published-in-time"
FENCED = "the-next-fence-covers-it"
WAITED = "every-thread-has-waited"
NOBODY = "nobody-arrives"


@pytest.fixture(scope="module")
def mutants():
    names = {kernel for kernel, *_ in (*EQUIVALENT, *TOGETHER, *FAULTS)}
    subjects = mutation_seeds.SUBJECTS
    return RandomMutants([each for each in subjects if str(each) in names])


def judge(mutants, kernel, edits):
    form = "channels" if kernel == IN_CHANNELS else "barriers"
    return mutants.judge(RandomFinding(0, kernel, form, tuple(edits.split())))


#: Its loop has no transactions, and its other parts have.
IN_CHANNELS = "in_a_loop sm_90a"


EQUIVALENT = [
    (IN_CHANNELS, "trip-count:for-26.0", "adds-only-zeros"),
    ("lit-scratch sm_80", "depth:alloc_shared-6.0", UNUSED),
    ("lit-scratch sm_80", "slot:slot-8.1", "another-slot-for-all"),
    ("lit-shared_atomics sm_90a", "move-later:mbarrier_ready-10.0", PUBLISHED),
    ("lit-one_role sm_90a", "duplicate:mbarrier_wait-16.0", "twice-is-once"),
    ("lit-stores_to_slots sm_90a", "drop-flag:barrier-20.0", FENCED),
    (
        "lit-cp_async_arrivals sm_90a",
        "drop-flag:barrier-37.0",
        "copies-arrive-by-themselves",
    ),
    # The first two of three roles have four warps each.
    ("lit-alternating_roles sm_90a", "roles:specialize-17.0", "only-names"),
    # Another mbarrier_ready follows the mbarrier.
    (
        "lit-memory_plan sm_90a",
        "duplicate:mbarrier_ready-7.0 late:mbarrier-6.0",
        "the-next-one-publishes-it",
    ),
    # The fence is lost before updates of global memory, which no copy reads.
    ("lit-peeled sm_90a", "move-out:proxy_fence-57.0", FENCED),
    ("lit-one_role sm_90a", "drop:barrier-17.0", WAITED),
    # A role of one warp, which only copies.
    ("lit-shared_copies sm_90a", "move-out:barrier-32.1", WAITED),
    # Only one phase completes.
    ("lit-shared_atomics sm_90a", "duplicate:mbarrier_wait-26.0", "twice-is-once"),
    (
        "lit-single_use sm_90a",
        "drop:mbarrier_arrive-14.0 move-later:mbarrier_wait-16.1",
        NOBODY,
    ),
    # A rule covers the first edit, and the others undo each other.
    (
        "lit-memory_plan sm_90a",
        "duplicate:mbarrier_ready-7.0 count:mbarrier-6.1 count:mbarrier-6.0",
        "same-program",
    ),
]


@pytest.mark.parametrize(("kernel", "edits", "rule"), EQUIVALENT)
def test_a_rule_covers_a_mutant(mutants, kernel, edits, rule):
    found = judge(mutants, kernel, edits)
    assert (found.outcome, found.reason) == ("equivalent", rule)


#: Edits that are right together; those that are faults alone, and those that are not,
#: as they are called in the original, where other operations come before them.
TOGETHER = [
    # Before the copy it drains too late, unless it is before the next stores, too.
    (
        "lit-planned_matmul sm_90a",
        "move-earlier:barrier-19.0 move-earlier:barrier-18.3",
        "move-earlier:barrier-19.0 move-earlier:barrier-19.1",
        "move-earlier:barrier-19.3",
        "all-barriers-together",
    ),
    (
        "lit-memory_plan sm_90a",
        "slot:mbarrier_wait-18.0 slot:mbarrier_arrive-17.1",
        "slot:mbarrier_wait-18.0 slot:mbarrier_arrive-17.1",
        "",
        "slots-are-renamed",
    ),
    (
        "lit-shared_mask sm_80",
        "step:addi-20.0 constant-cursor:slot-33.0",
        "step:addi-20.0 constant-cursor:slot-32.0",
        "",
        "one-slot-is-enough",
    ),
    # With two slots, the one after the next is the slot itself.
    (
        "copied_sequences sm_90a",
        "slot:copy-51.0 slot:copy-55.0",
        "slot:copy-51.0",
        "",
        "same-program",
    ),
    (
        "lit-cp_async_arrivals sm_90a",
        "slot:mbarrier_arrive-21.0 slot:mbarrier_wait-37.1",
        "slot:mbarrier_arrive-21.0 slot:mbarrier_wait-33.1",
        "",
        "slots-are-renamed",
    ),
    # A group more makes waits longer, which makes up for the first edit.
    (
        "lit-mask_ahead sm_80",
        "move-in:commit_group-26.1 duplicate:commit_group-42.0",
        "move-in:commit_group-26.1",
        "duplicate:commit_group-42.0",
        "all-groups-together",
    ),
    (
        "lit-copy_groups sm_80",
        "slot:slot-26.0 restart:for-21.0",
        "slot:slot-26.0 restart:for-21.0",
        "",
        "numbers-agree",
    ),
    (
        "view-parts sm_90a",
        "trip-count:for-49.0 trip-count:for-19.0",
        "trip-count:for-49.0 trip-count:for-19.0",
        "",
        "adds-only-zeros",
    ),
]
#: What is found of a fault; the verifier does not look at contents.
FOUND = ("both", "verifier", "simulator", "excluded")


@pytest.mark.parametrize(("kernel", "edits", "faults", "others", "rule"), TOGETHER)
def test_a_rule_covers_edits_together(mutants, kernel, edits, faults, others, rule):
    found = judge(mutants, kernel, edits)
    assert (found.outcome, found.reason) == ("equivalent", rule)
    for each in faults.split():
        assert judge(mutants, kernel, each).outcome in FOUND, each
    for each in others.split():
        assert judge(mutants, kernel, each).outcome == "equivalent", each


FAULTS = [
    # Copies are drained after their buffer is written again, or never.
    ("lit-planned_matmul sm_90a", "move-earlier:barrier-19.0"),
    ("lit-planned_matmul sm_90a", "drop-flag:barrier-19.0"),
    # Only one of the two operations uses another slot.
    ("lit-memory_plan sm_90a", "slot:mbarrier_wait-18.0"),
    # Without the barrier that drains, the next copy comes before the last read.
    (
        "lit-shared_mask sm_80",
        "step:addi-20.0 constant-cursor:slot-33.0 drop:barrier-13.0",
    ),
    # One role has an iteration more, or two.
    ("view-parts sm_90a", "trip-count:for-49.0"),
    ("view-parts sm_90a", "trip-count:for-49.0 trip-count:for-50.0"),
    # The loop starts with the slot that it used, or another edit changes a slot.
    ("lit-copy_groups sm_80", "slot:slot-26.0 restart:for-21.1"),
    ("lit-copy_groups sm_80", "slot:slot-38.0 restart:for-21.0"),
    ("lit-copy_groups sm_80", "select:select-31.0 slot:slot-26.0"),
    # A group less, or one that is closed on one path only.
    ("lit-mask_ahead sm_80", "drop:commit_group-26.0 drop:commit_group-41.0"),
    ("lit-mask_ahead sm_80", "drop:commit_group-42.0 duplicate:commit_group-26.0"),
    ("lit-mask_ahead sm_80", "move-in:commit_group-26.1 move-in:commit_group-42.1"),
    # The other operation uses the next slot, not the same one twice.
    ("copied_sequences sm_90a", "slot:copy-51.0 slot:mbarrier_arrive-56.0"),
    # No barrier follows the reads, after which the slot is filled again.
    ("lit-one_role sm_90a", "drop:barrier-19.0"),
    # The other role waits for the release.
    ("lit-single_use sm_90a", "drop:mbarrier_wait-11.0"),
    # The last slot is used.
    ("lit-two_buffers sm_90a", "depth:alloc_shared-9.0"),
    ("lit-two_buffers sm_90a", "depth:mbarrier-11.0"),
    # Another operation uses the slot.
    ("lit-two_buffers sm_90a", "slot:slot-18.0"),
    # Nothing publishes the second barrier.
    ("lit-two_buffers sm_90a", "move-earlier:mbarrier_ready-13.0"),
    # The other role writes again what this one has read.
    ("lit-two_slots sm_90a", "drop:proxy_fence-19.0"),
    # The fence is between the reads and the next copy.
    ("lit-one_role sm_90a", "drop-flag:barrier-19.0"),
    # Roles of four warps and of one.
    ("lit-alternating_roles sm_90a", "roles:specialize-17.2"),
    # The second edit undoes nothing.
    ("lit-memory_plan sm_90a", "count:mbarrier-6.1 duplicate:mbarrier_ready-7.0"),
]


@pytest.mark.parametrize(("kernel", "edits"), FAULTS)
def test_a_fault_is_found(mutants, kernel, edits):
    assert judge(mutants, kernel, edits).outcome in ("both", "verifier", "simulator")
