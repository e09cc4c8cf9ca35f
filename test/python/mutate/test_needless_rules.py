"""Mutants of schedules by hand: what nothing needs may be missing, all else may not."""

import pytest

from kernels.mutation import mutation_seeds
from tilews.mutate._random_mutants import RandomFinding, RandomMutants

UNUSED = "the-last-slot-is-unused"
PUBLISHED = "published-in-time"
FENCED = "the-next-fence-covers-it"


@pytest.fixture(scope="module")
def mutants():
    names = {kernel for kernel, *_ in (*EQUIVALENT, *FAULTS)}
    subjects = mutation_seeds.SUBJECTS
    return RandomMutants([each for each in subjects if str(each) in names])


def judge(mutants, kernel, edits):
    return mutants.judge(RandomFinding(0, kernel, "barriers", tuple(edits.split())))


EQUIVALENT = [
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


FAULTS = [
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
