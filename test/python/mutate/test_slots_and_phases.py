"""Roles that share a slot, and phases that cancel: each premise has a near miss.

A near miss is a right kernel, or two edits, with one change. The argument of the rule
does not hold for it, and no run is needed to see that.
"""

import pytest

from kernels.mutation.near_misses import apply, parse, text_of
from tilews import ir
from tilews.mutate.rules import JOINT_RULES
from tilews.mutate.rules._phases import begin_in_first_phase
from tilews.mutate.rules._single_slot import with_one_slot

BUFFERS = "lit-two_buffers sm_90a"
_ARRIVE = (
    "tile.mbarrier_arrive %3[%arg7] {by = #tile.agents<warps>} : !tile.mbarrier<2>\n"
)
_HEAD = "            tile.mbarrier_wait %2[%arg7], %arg8 : !tile.mbarrier<2>\n"
_PRODUCER = "tile.role @load warps(1) elected {\n          %4:2 = scf.for %arg6 = "
_SIGNAL = "to %8 signals(%2[%arg7])"
_SIGNALS = " signals(%2[%arg7])"
_WHOLE = (
    "to %8 signals(%2[%arg7]) {tile.inst = #tile.inst<tma>} : memref<?xf32> to "
    "memref<16xf32, #tile.shared<(16):(1)>, #gpu.address_space<workgroup>>, "
    "!tile.mbarrier<2>"
)
_SUM = "%14 = arith.addf %7, %8"
_WRAP = "%11 = arith.cmpi eq, %10, %c2_i32 : i32\n"
_NEXT = "%12 = arith.select %11, %c0_i32, %10 : i32\n"
_LOADED = (
    "%7 = tile.load %5 : memref<16xf32, #tile.shared<(16):(1)>, "
    "#gpu.address_space<workgroup>> -> tensor<16xf32, #tile.fragment<thread = "
    "(16, 8):(1*d0, 0), value = ():()>>\n"
)
_TO_OWN = (
    "tile.copy %5 to %arg3 {tile.inst = #tile.inst<tma>} : memref<16xf32, "
    "#tile.shared<(16):(1)>, #gpu.address_space<workgroup>> to memref<16xf32>\n"
)

#: What is changed, and the changes of `two_buffers`.
SHARED_SLOTS = {
    "a third mbarrier": [
        (
            "tile.mbarrier_ready",
            "%b = tile.mbarrier {count = 1 : i64, tile.offset = 512 : i64} : "
            "!tile.mbarrier<1>\n tile.mbarrier_ready",
            1,
        )
    ],
    "a third role": [
        ("tile.threads = 160", "tile.threads = 192", 1),
        ("tile.role @math", "tile.role @idle warps(1) {\n }\n tile.role @math", 1),
    ],
    "an access outside of the roles": [
        (
            "tile.specialize {",
            "%s = arith.constant dense<0.0> : tensor<16xf32>\n "
            "%v = tile.slot %0[%c0_i32] : memref<2x16xf32, "
            "#tile.shared<(2, 16):(32, 1)>, #gpu.address_space<workgroup>>, i32 -> "
            "memref<16xf32, "
            "#tile.shared<(16):(1)>, #gpu.address_space<workgroup>>\n tile.store %s to "
            "%v : tensor<16xf32> to memref<16xf32, #tile.shared<(16):(1)>, "
            "#gpu.address_space<workgroup>>\n tile.specialize {",
            1,
        )
    ],
    "another number of iterations": [
        (f"{_PRODUCER}%c0 to %arg4", f"{_PRODUCER}%c0 to %arg5", 1)
    ],
    "another first iteration": [
        (f"{_PRODUCER}%c0 to %arg4", f"{_PRODUCER}%c1 to %arg4", 1)
    ],
    "a wait for another mbarrier": [
        ("tile.mbarrier_wait %3[%arg7], %6", "tile.mbarrier_wait %2[%arg7], %6", 1)
    ],
    "two roles that wait for a release": [
        (
            _HEAD,
            f"%x = arith.xori %arg8, %c1_i32 : i32\n {_HEAD.replace('%arg8', '%x')}",
            1,
        )
    ],
    "another barrier": [(_SUM, f"tile.barrier\n {_SUM}", 1)],
    "a second wait": [(_HEAD, _HEAD * 2, 1)],
    "control flow": [
        (
            _SUM,
            f"%t = arith.cmpi eq, %c0, %c1 : index\n scf.if %t {{\n }}\n {_SUM}",
            1,
        )
    ],
    "a load after the arrival": [
        (_ARRIVE, "", 1),
        ("%7 = tile.load", f"{_ARRIVE} %7 = tile.load", 1),
    ],
    "an asynchronous read": [(_LOADED, f"{_LOADED} {_TO_OWN}", 1)],
    "an arrival for another slot": [(_ARRIVE, _ARRIVE.replace("%arg7", "%c0_i32"), 1)],
    "a load from another slot": [
        ("%6 = tile.slot %1[%arg7]", "%6 = tile.slot %1[%c0_i32]", 1)
    ],
    "a load from all slots": [
        (
            _SUM,
            "%w = tile.load %0 : memref<2x16xf32, #tile.shared<(2, 16):(32, 1)>, "
            f"#gpu.address_space<workgroup>> -> tensor<2x16xf32>\n {_SUM}",
            1,
        ),
        (_ARRIVE, "", 1),
        (_SUM, f"{_ARRIVE} {_SUM}", 1),
    ],
    "a fill of another slot": [
        ("%8 = tile.slot %1[%arg7]", "%8 = tile.slot %1[%c0_i32]", 1)
    ],
    "a signal for another slot": [(_SIGNAL, _SIGNAL.replace("%arg7", "%c0_i32"), 1)],
    "a copy that signals nothing": [
        (_WHOLE, _WHOLE.replace(_SIGNALS, "").removesuffix(", !tile.mbarrier<2>"), 1)
    ],
    "a signal at another mbarrier": [(_SIGNAL, _SIGNAL.replace("%2", "%3"), 1)],
    "another first slot": [
        (
            f"{_PRODUCER}%c0 to %arg4 step %c1 iter_args(%arg7 = %c0_i32",
            f"{_PRODUCER}%c0 to %arg4 step %c1 iter_args(%arg7 = %c1_i32",
            1,
        )
    ],
    "another first phase": [("%arg8 = %c0_i32", "%arg8 = %c1_i32", 2)],
    "another comparison": [(_WRAP, _WRAP.replace("eq", "sge"), 2)],
    "a comparison of the slot": [(_WRAP, _WRAP.replace("%10", "%arg7"), 2)],
    "another slot after the last one": [
        (_NEXT, _NEXT.replace("%c0_i32", "%c1_i32"), 2)
    ],
    "a slot that does not move on": [
        ("%10 = arith.addi %arg7, %c1_i32", "%10 = arith.addi %arg7, %c0_i32", 2)
    ],
    "a phase that stays": [
        ("%9 = arith.xori %arg8, %c1_i32", "%9 = arith.xori %arg8, %c0_i32", 2)
    ],
    "the other phase in between": [("select %11, %9, %arg8", "select %11, %9, %9", 2)],
    "a phase that changes with another comparison": [
        (_NEXT, f"{_NEXT} %o = arith.cmpi eq, %10, %c1_i32 : i32\n", 2),
        ("%13 = arith.select %11", "%13 = arith.select %o", 2),
    ],
    "another use of the slot": [
        (_SUM, f"%u = arith.index_cast %arg7 : i32 to index\n {_SUM}", 1)
    ],
    "another use of the phase": [
        (_SUM, f"%u = arith.index_cast %arg8 : i32 to index\n {_SUM}", 1)
    ],
    "a use of the slot after the loop": [
        (
            "          }\n        }\n        tile.role @load",
            "          }\n %u = arith.index_cast %4#0 : i32 to index\n }\n"
            " tile.role @load",
            1,
        )
    ],
}


def test_roles_that_need_one_slot():
    assert with_one_slot(parse(BUFFERS)) is not None


@pytest.mark.parametrize("changes", SHARED_SLOTS.values(), ids=SHARED_SLOTS)
def test_roles_that_may_need_more_slots(changes):
    assert with_one_slot(parse(BUFFERS, changes)) is None


def test_transactions_of_channels_may_need_more_slots():
    assert with_one_slot(parse(BUFFERS, form="channels")) is None


@pytest.mark.parametrize(
    ("edits", "is_enough"),
    [
        ("step:addi-43.0 step:addi-25.0", True),
        ("depth:mbarrier-11.0 step:addi-43.0 step:addi-25.0", True),
        # One role, or one operation, still uses the second slot.
        ("step:addi-43.0", False),
        ("step:addi-43.0 step:addi-25.0 slot:slot-18.0", False),
        ("step:addi-43.0 step:addi-25.0 slot:mbarrier_wait-17.0", False),
        # The program differs otherwise.
        ("step:addi-43.0 step:addi-25.0 phase:mbarrier_wait-17.0", False),
        ("step:addi-43.0 step:addi-25.0 count:mbarrier-11.0", False),
    ],
)
def test_both_roles_use_one_slot(edits, is_enough):
    edited = apply(parse(BUFFERS), edits)
    assert JOINT_RULES["roles-share-one-slot"](edited) is is_enough


ALTERNATING = "ping-pong-counted sm_90a"
_SECOND = "%26:4 = scf.for"


@pytest.mark.parametrize(
    ("kernel", "form", "changes", "edits", "cancels"),
    [
        (ALTERNATING, "channels", (), "phase:wait-118.0 start:cursor-93.1", True),
        (ALTERNATING, "channels", (), "start:cursor-93.1", False),
        (ALTERNATING, "channels", (), "phase:wait-118.0", False),
        # The second slot, and the wait of another role.
        (ALTERNATING, "channels", (), "phase:wait-118.0 start:cursor-93.0", False),
        (ALTERNATING, "channels", (), "start:cursor-93.1 phase:wait-46.0", False),
        (BUFFERS, "barriers", (), "restart:for-16.3 phase:mbarrier_wait-18.0", True),
        (BUFFERS, "barriers", (), "restart:for-16.3", False),
        (BUFFERS, "barriers", (), "restart:for-16.1 phase:mbarrier_wait-18.0", False),
        (BUFFERS, "barriers", (), "phase:mbarrier_wait-17.0", False),
    ],
)
def test_phases_that_cancel(kernel, form, changes, edits, cancels):
    edited = apply(parse(kernel, changes, form), edits)
    assert JOINT_RULES["phases-cancel"](edited) is cancels


#: What is changed, and the changes of `two_buffers` with a parity that begins with 1.
PARITIES = {
    "a use that is no wait": [
        (_SUM, f"%u = arith.index_cast %arg8 : i32 to index\n {_SUM}", 1)
    ],
    "a use as a slot": [("%6 = tile.slot %1[%arg7]", "%6 = tile.slot %1[%arg8]", 1)],
    "a parity that depends on something else": [
        ("%9 = arith.xori %arg8, %c1_i32", "%9 = arith.xori %arg8, %arg7", 1)
    ],
    "a choice between the parity and a constant": [
        (
            "%13 = arith.select %11, %9, %arg8",
            "%13 = arith.select %11, %c0_i32, %arg8",
            1,
        )
    ],
    "the parity of another value": [("scf.yield %12, %13", "scf.yield %12, %12", 1)],
    "a use after the loop": [
        (
            "          }\n        }\n",
            "          }\n %u = arith.index_cast %4#1 : i32 to index\n }\n",
            1,
        )
    ],
    "a parity as a condition": [
        (_SUM, f"%u = arith.cmpi eq, %arg8, %c1_i32 : i32\n {_SUM}", 1)
    ],
}


def begin_second(changes=()):
    """`two_buffers`, of which the first role has a parity that begins with 1."""
    text = text_of(BUFFERS)
    first, role, other = text.partition("tile.role @load")
    first = first.replace("%arg8 = %c0_i32", "%arg8 = %c1_i32")
    for old, new, count in changes:
        assert first.count(old) == count, (old, first.count(old))
        first = first.replace(old, new)
    return ir.Module.parse(first + role + other, context=ir.Context())


def test_a_parity_that_begins_with_1():
    assert begin_in_first_phase(parse(BUFFERS)) is None
    assert begin_in_first_phase(begin_second()) is not None


@pytest.mark.parametrize("changes", PARITIES.values(), ids=PARITIES)
def test_a_parity_with_other_uses(changes):
    assert begin_in_first_phase(begin_second(changes)) is None


CURSORS = {
    "a cursor that begins anew": [
        (_SECOND, f"%new = tile.cursor : !tile.cursor<2>\n {_SECOND}", 1),
        ("%arg11 = %10,", "%arg11 = %new,", 1),
    ],
    "another use of the first cursor": [
        (
            "%10 = tile.advance %9",
            "%user = tile.advance %8 : !tile.cursor<2>\n %10 = tile.advance %9",
            1,
        ),
    ],
}


def second_phase(changes=()):
    """A kernel of which one role has a cursor that begins in the second phase."""
    module = parse(ALTERNATING, form="channels")
    (edit,) = apply(module, "start:cursor-93.1")
    text = str(edit.module)
    for old, new, count in changes:
        assert text.count(old) == count, (old, text.count(old))
        text = text.replace(old, new)
    return ir.Module.parse(text, context=ir.Context())


def test_a_cursor_that_begins_in_the_second_phase():
    assert begin_in_first_phase(parse(ALTERNATING, form="channels")) is None
    assert begin_in_first_phase(second_phase()) is not None


@pytest.mark.parametrize("changes", CURSORS.values(), ids=CURSORS)
def test_a_cursor_with_other_uses(changes):
    assert begin_in_first_phase(second_phase(changes)) is None
