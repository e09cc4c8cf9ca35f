"""Rules for several edits hold only with all their premises: each has a near miss.

A near miss is the text of a right kernel with one change. Some are faults, and in all
the argument of the rule does not hold. No run is needed to see that.
"""

import pytest

from kernels.mutation.near_misses import apply, parse
from tilews.mutate import _edits
from tilews.mutate._equivalent import numbers_agree
from tilews.mutate.rules import JOINT_RULES
from tilews.mutate.rules._one_slot import fills_before_reads


def longer_loops(module, numbers):
    """Edits by which some loops, from the last to the first, have an iteration more."""
    places = [
        place
        for place, op in enumerate(_edits.walk(module.operation))
        if op.name == "scf.for"
    ]
    chosen = sorted((places[each] for each in numbers), reverse=True)
    return apply(module, " ".join(f"trip-count:for-{each}.0" for each in chosen))


def adds_only_zeros(module, numbers=(0, 1)):
    return JOINT_RULES["adds-only-zeros"](longer_loops(module, numbers))


PARTS = "view-parts sm_90a"
_COUNT = "%4 = arith.ceildivsi %dim, %c64 : index\n          %5:3"
_WAIT = "tile.mbarrier_wait %1[%arg5], %arg6 : !tile.mbarrier<2>\n"
_LOOP = "%5:3 = scf.for"
_BODY = "%7 = arith.muli %arg3, %c64 : index\n"
_READ = "%17 = arith.extf %11"
_VIEW = (
    "tile.view %3 : memref<4096xf16, #tile.shared<(4096):(1)>, "
    "#gpu.address_space<workgroup>> to memref<64x64xf16, #tile.shared<(64, 64):(64, 1)>"
    ", #gpu.address_space<workgroup>>"
)
_COPY = (
    "tile.copy %arg1[0, 0] [32, 64] to %v[0, 0] [32, 64] "
    "{tile.inst = #tile.inst<cp_async>} : memref<32x?xf16> to memref<64x64xf16, "
    "#tile.shared<(64, 64):(64, 1)>, #gpu.address_space<workgroup>>"
)

#: What is changed, and the change of `view-parts`.
ZEROS = {
    "another user of the extent": (
        _COUNT,
        f"%user = arith.index_cast %dim : index to i32\n {_COUNT}",
        1,
    ),
    "another number of iterations": (_COUNT, _COUNT.replace("%c64", "%c1"), 1),
    "constant numbers of iterations": ("to %4 step", "to %c64 step", 2),
    "another first iteration": ("= %c0 to %4", "= %c1 to %4", 2),
    "another step": ("step %c1 ", "step %c64 ", 2),
    "padding": (
        "%11 = tile.load %10 :",
        "%pad = arith.constant 1.0 : f16\n %11 = tile.load %10[0, 0] pad %pad :",
        1,
    ),
    "a limit of a copy by tma": (
        "to %8 signals",
        "to %8 limit(1 = %c64) signals",
        1,
    ),
    "a limit of a copy by cp.async": (
        "to %6[0, 0] [32, 64] {",
        "to %6[0, 0] [32, 64] limit(1 = %c64) {",
        1,
    ),
    "a copy that starts before the extent": (
        "%6 = arith.muli %arg3, %c64",
        "%6 = arith.muli %arg3, %c1",
        1,
    ),
    "an array of another extent": (
        'tile.name = "B", tile.symbols = ["", "K"]',
        'tile.name = "B", tile.symbols = ["", "N"]',
        1,
    ),
    "a multiplication instead of the sum": ("arith.addf %arg4", "arith.mulf %arg4", 1),
    "a term that may be no zero": ("arith.mulf %9, %20", "arith.divf %9, %20", 1),
    "a wait after the read": (
        _READ,
        f"{_WAIT} {_READ}",
        1,
        # The one before the read is removed.
        (f"{_WAIT}            %10 =", "%10 =", 1),
    ),
    "two waits": (_WAIT, _WAIT * 2, 1),
    "another copy into the buffer": (_LOOP, f"%v = {_VIEW}\n {_COPY}\n {_LOOP}", 1),
    "a copy after the read": (
        "%9 = arith.extf %8",
        _COPY.replace("0, 0", "0, %7", 1).replace("%v", "%6") + "\n %9 = arith.extf %8",
        1,
    ),
    "control flow": (
        _BODY,
        f"{_BODY} %t = arith.cmpi eq, %c0, %c1 : index\n"
        " scf.if %t { tile.barrier }\n",
        1,
    ),
    "another effect": (
        _BODY,
        f"{_BODY} %h = arith.constant 1.0 : f16\n"
        " memref.store %h, %arg1[%c0, %c0] : memref<32x?xf16>\n",
        1,
    ),
    "a use of the slot after the loop": (
        "tile.store %5#0",
        "%user = arith.addi %5#1, %c1_i32 : i32\n tile.store %5#0",
        1,
    ),
}


def test_iterations_that_add_zeros():
    assert adds_only_zeros(parse(PARTS))


@pytest.mark.parametrize("change", ZEROS.values(), ids=ZEROS)
def test_iterations_that_may_add_more_than_zeros(change):
    module = parse(PARTS, [change[3], change[:3]] if change[3:] else [change])
    assert not adds_only_zeros(module)


@pytest.mark.parametrize("number", [0, 1])
def test_an_iteration_without_its_partner(number):
    assert not adds_only_zeros(parse(PARTS), [number])


IN_A_LOOP = "in_a_loop sm_90a"


@pytest.mark.parametrize(
    ("changes", "adds_zeros"),
    [
        ((), True),
        # The array has more rows than all iterations read.
        ([("memref<64x64xf16> ", "memref<80x64xf16> ", 2)], False),
        # With a loop of one iteration.
        (
            [
                ("%c4 = arith.constant 4", "%c4 = arith.constant 1", 1),
                ("%c16 = arith.constant 16", "%c16 = arith.constant 64", 1),
            ],
            False,
        ),
    ],
)
def test_a_constant_number_of_iterations(changes, adds_zeros):
    module = parse(IN_A_LOOP, changes, "channels")
    assert adds_only_zeros(module, [1]) is adds_zeros


def test_a_sum_with_what_a_channel_hands_over():
    """The rule follows copies by mbarriers only, and this is no error."""
    assert not adds_only_zeros(parse(IN_A_LOOP, form="channels"), [0, 2])


MASK = "lit-shared_mask sm_80"
_SLOT = (
    "tile.slot %1[%arg8] : memref<2x16xf32, #tile.shared<(2, 16):(32, 1)>, "
    "#gpu.address_space<workgroup>>, i32 -> memref<16xf32, #tile.shared<(16):(1)>, "
    "#gpu.address_space<workgroup>>"
)
_MASK_TYPE = "memref<16xi32, #tile.shared<(16):(1)>, #gpu.address_space<workgroup>>"

ONE_SLOT = {
    "a mask that changes": (
        "tile.commit_group\n",
        f"tile.commit_group\n memref.store %c0_i32, %0[%arg5] : {_MASK_TYPE}\n",
        1,
    ),
    "a copy to the mask": (
        "tile.commit_group\n",
        "tile.copy %arg2 to %0 {tile.inst = #tile.inst<cp_async>} : memref<16xi32> to "
        f"{_MASK_TYPE}\n tile.commit_group\n",
        1,
    ),
    "a mask of another iteration": (
        "%6 = memref.load %0[%arg5]",
        "%6 = memref.load %0[%c0]",
        1,
    ),
    "another condition": ("%7 = arith.cmpi sgt", "%7 = arith.cmpi sge", 1),
    "another first slot": ("%arg8 = %c0_i32", "%arg8 = %c1_i32", 1),
    "another next slot": (
        "%14 = arith.select %13, %c0_i32, %12",
        "%14 = arith.select %13, %c1_i32, %12",
        1,
    ),
    "a fill of a part": (
        "tile.copy %arg0[%arg5] to %9 {",
        "tile.copy %arg0[%arg5] [8] to %9[0] [8] {",
        1,
    ),
    "a second read": (f"%9 = {_SLOT}", f"%9 = {_SLOT}\n %second = {_SLOT}", 1),
}


def test_fills_that_are_read_in_their_iteration():
    assert fills_before_reads(parse(MASK))


@pytest.mark.parametrize("change", ONE_SLOT.values(), ids=ONE_SLOT)
def test_fills_that_may_be_read_later(change):
    assert not fills_before_reads(parse(MASK, [change]))


@pytest.mark.parametrize(
    ("changes", "edits", "is_enough"),
    [
        ((), "step:addi-20.0 constant-cursor:slot-33.0", True),
        # The read uses another slot than the fill.
        ((), "step:addi-20.0 constant-cursor:slot-33.0 slot:slot-34.0", False),
        # The reads still change their slot.
        ((), "step:addi-20.0", False),
        # Mbarriers may order what was not compared.
        (
            [
                (
                    "gpu.return",
                    "%b = tile.mbarrier {count = 1 : i64, tile.offset = 256 : i64} : "
                    "!tile.mbarrier<1>\n gpu.return",
                    1,
                )
            ],
            "step:addi-20.0 constant-cursor:slot-33.0",
            False,
        ),
    ],
)
def test_one_slot(changes, edits, is_enough):
    edited = apply(parse(MASK, changes), edits)
    assert JOINT_RULES["one-slot-is-enough"](edited) is is_enough


@pytest.mark.parametrize(
    ("kernel", "edits", "may_agree"),
    [
        ("lit-copy_groups sm_80", "slot:slot-26.0 restart:for-21.0", True),
        # An edit that changes more than numbers.
        ("lit-copy_groups sm_80", "slot:slot-26.0 drop:barrier-24.0", False),
        # Roles, guards that masks determine, and a while loop.
        (PARTS, "slot:slot-29.0 slot:mbarrier_wait-28.0", False),
        ("lit-mask_ahead sm_80", "slot:slot-82.0 slot:slot-66.0", False),
        ("around sm_80", "slot:slot-77.0 slot:slot-66.0", False),
    ],
)
def test_numbers_that_launches_compare(kernel, edits, may_agree):
    """Here no launch differs: only the premises decide."""
    edited = apply(parse(kernel), edits)
    assert numbers_agree(edited, lambda *_: []) is may_agree


AHEAD = "lit-mask_ahead sm_80"


@pytest.mark.parametrize(
    ("edits", "covers"),
    [
        ("move-in:commit_group-26.1 duplicate:commit_group-42.0", True),
        # A group less, or one that is closed too early.
        ("drop:commit_group-42.0 duplicate:commit_group-26.0", False),
        ("move-in:commit_group-26.1 move-in:commit_group-42.1", False),
        # An edit of something else.
        ("duplicate:commit_group-26.0 drop:copy_group_wait-81.0", False),
    ],
)
def test_groups_that_are_closed_elsewhere(edits, covers):
    edited = apply(parse(AHEAD), edits)
    assert JOINT_RULES["all-groups-together"](edited) is covers


def test_groups_of_a_role():
    """The rule counts groups of all threads, and those of a role are its own."""
    start = "%1 = arith.cmpi sgt, %arg3, %c0 : index"
    role = f"tile.specialize {{ tile.role @all warps(2) {{\n {start}"
    changes = [(start, role, 1), ("gpu.return", "}}\n gpu.return", 1)]
    ids = "move-in:commit_group-28.1 duplicate:commit_group-44.0"
    edited = apply(parse(AHEAD, changes), ids)
    assert not JOINT_RULES["all-groups-together"](edited)
