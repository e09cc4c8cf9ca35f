"""Numbers that constants determine, and slots that are moved on to themselves."""

import pytest

from tilews import ir
from tilews.mutate import _edits
from tilews.mutate._canonical import program


def number_of(text, type_):
    """What constants determine of the operand of a `test.use`."""
    with ir.Context() as context, ir.Location.unknown():
        context.allow_unregistered_dialects = True
        module = ir.Module.parse(
            f"{text}\n'test.use'(%x) : ({type_}) -> ()".replace("'", '"')
        )
        use = next(e for e in _edits.walk(module.operation) if e.name == "test.use")
        return _edits.number_of(use.operands[0])


@pytest.mark.parametrize(
    ("name", "lhs", "rhs", "type_", "number"),
    [
        ("addi", 2, 3, "i32", 5),
        ("remui", 5, 3, "index", 2),
        ("remui", 5, 0, "index", None),
        # Less than zero: in i32 it would be 2 ** 32 - 1.
        ("subi", 0, 1, "i32", None),
        ("addi", -1, 2, "index", None),
        # More than the type holds, or than an index of 32 bits.
        ("addi", 2**31 - 1, 1, "i32", None),
        ("muli", 2**16, 2**16, "i64", 2**32),
        ("muli", 2**16, 2**16, "index", None),
        ("addi", 100, 100, "i8", None),
    ],
)
def test_the_number_of_a_value(name, lhs, rhs, type_, number):
    text = f"""
      %a = arith.constant {lhs} : {type_}
      %b = arith.constant {rhs} : {type_}
      %x = arith.{name} %a, %b : {type_}"""
    assert number_of(text, type_) == number


def test_the_remainder_of_a_number_below_zero():
    """It is 0 in i32, and 2 with the integers of Python."""
    text = """
      %a = arith.constant 0 : i32
      %b = arith.constant 1 : i32
      %c = arith.constant 3 : i32
      %d = arith.subi %a, %b : i32
      %x = arith.remui %d, %c : i32"""
    assert number_of(text, "i32") is None


_KERNEL = """
#slots = #tile.shared<(2, 64):(64, 1)>
!slots = memref<2x64xf32, #slots, #gpu.address_space<workgroup>>
!slot = memref<64xf32, #tile.shared<(64):(1)>, #gpu.address_space<workgroup>>
!fragment = tensor<64xf32, #tile.fragment<thread = (64):(1*d0), value = ():()>>
gpu.module @m [#nvvm.target<chip = "sm_80">] {{
  gpu.func @k(%a: memref<64xf32>, %n: i32, %on: i1) kernel
      attributes {{tile.threads = 64 : i32}} {{
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c3 = arith.constant 3 : i32
    %slots = tile.alloc_shared {{tile.offset = 0 : i64}} : !slots
    %last = scf.for %k = %c0 to %n step %c1 iter_args(%carried = {first}) -> (i32)
        : i32 {{
      {slot}
      %sum = arith.addi {used}, {step} : i32
      %moved = arith.remui %sum, %c2 : i32
      %view = tile.slot %slots[{number}] : !slots, i32 -> !slot
      %loaded = tile.load %view : !slot -> !fragment
      tile.store %loaded to %a[0] : !fragment to memref<64xf32>
      %next = arith.addi %carried, {advance} : i32
      %end = arith.cmpi eq, %next, {depth} : i32
      %wrapped = arith.select %end, %c0, %next : i32
      scf.yield %wrapped : i32
    }}
    gpu.return
  }}
}}
"""
_STANDARD = {
    "first": "%c0",
    "slot": "",
    "used": "%carried",
    "step": "%c2",
    "advance": "%c1",
    "depth": "%c2",
}


@pytest.mark.parametrize(
    ("changes", "is_same"),
    [
        ({}, True),
        # The slot two after it is itself, three after it is another one.
        ({"step": "%c3"}, False),
        # Slot 3 would become slot 1, and slot 2 slot 0.
        ({"used": "%k"}, False),
        ({"first": "%c3"}, False),
        ({"depth": "%c3"}, False),
        ({"first": "%c1", "advance": "%c2"}, False),
        # Numbers that are surely below 2, or not.
        ({"slot": "%s = arith.remui %k, %c2 : i32", "used": "%s"}, True),
        ({"slot": "%s = arith.remui %k, %c3 : i32", "used": "%s"}, False),
        ({"slot": "%s = arith.select %on, %c1, %carried : i32", "used": "%s"}, True),
        ({"slot": "%s = arith.select %on, %k, %carried : i32", "used": "%s"}, False),
        ({"slot": "%s = arith.addi %carried, %c1 : i32", "used": "%s"}, False),
    ],
)
def test_a_slot_that_is_moved_on_to_itself(changes, is_same):
    parts = _STANDARD | changes
    with ir.Context(), ir.Location.unknown():
        original, moved = (
            program(ir.Module.parse(_KERNEL.format(**parts, number=each)))
            for each in (parts["used"], "%moved")
        )
    assert original is not None
    assert (original == moved) is is_same
