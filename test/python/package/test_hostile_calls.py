"""Calls of MLIR's Python package that crashed the process: each raises an error now."""

import gc

import pytest
from tilews.passmanager import PassManager

from tilews import ir

LIMITS = "expected between 0 and 65536 dimensions, symbols or results"
INPUTS = "an expression uses more than"


@pytest.fixture
def context():
    with ir.Context() as context, ir.Location.unknown():
        yield context


def dim(position):
    return ir.AffineExpr.get_dim(position)


CALLS = {
    "dimension": (lambda: dim(-1), LIMITS),
    "symbol": (lambda: ir.AffineExpr.get_symbol(2**40), LIMITS),
    "identity": (lambda: ir.AffineMap.get_identity(2**31), LIMITS),
    "minor identity": (lambda: ir.AffineMap.get_minor_identity(-1, 3), LIMITS),
    "too many results": (lambda: ir.AffineMap.get_minor_identity(2, 3), "more results"),
    "map": (lambda: ir.AffineMap.get(2**62, 0, []), LIMITS),
    "dimensions of a map": (lambda: ir.AffineMap.get(1, 0, [dim(0), dim(1)]), INPUTS),
    "symbols of a map": (
        lambda: ir.AffineMap.get(9, 1, [dim(3) + ir.AffineExpr.get_symbol(1) * 2]),
        INPUTS,
    ),
    "submap": (
        lambda: ir.AffineMap.get_identity(3).get_major_submap(-1),
        LIMITS,
    ),
    "replaced": (
        lambda: ir.AffineMap.get_identity(1).replace(dim(0), dim(5), 1, 0),
        INPUTS,
    ),
    "simplified": (
        lambda: ir.AffineExpr.simplify_affine_expr(dim(3) + 1, 1, 0),
        INPUTS,
    ),
    "simplified in much": (
        lambda: ir.AffineExpr.simplify_affine_expr(dim(3) + 1, 2**31, 0),
        LIMITS,
    ),
    "shifted": (lambda: dim(3).shift_dims(2, 1), INPUTS),
    "offset": (lambda: dim(0).shift_dims(2, 1, 3), "beyond the dimensions"),
    "offset of symbols": (lambda: dim(0).shift_symbols(2, 1, 3), "beyond the symbols"),
    "set": (lambda: ir.IntegerSet.get(1, 0, [dim(1)], [True]), INPUTS),
    "empty set": (lambda: ir.IntegerSet.get_empty(-1, 0), LIMITS),
    "replaced set": (
        lambda: ir.IntegerSet.get_empty(1, 0).get_replaced([dim(1)], [], 1, 0),
        INPUTS,
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_affine_expressions_have_the_inputs_that_they_use(name, context):
    call, message = CALLS[name]
    with pytest.raises(ValueError, match=message):
        call()


def test_affine_expressions_within_the_limits(context):
    assert str(ir.AffineMap.get_permutation([])) == "() -> ()"
    assert str(ir.AffineMap.get(2, 0, [dim(1)])) == "(d0, d1) -> (d1)"
    assert str(dim(1).shift_dims(2, 3)) == "d4"
    two = ir.AffineMap.get_identity(2)
    assert (
        str(two.get_major_submap(0)) == str(two.get_minor_submap(0)) == "(d0, d1) -> ()"
    )
    assert ir.AffineMap.get_identity(65536).n_dims == 65536
    assert str(ir.AffineExpr.simplify_affine_expr(dim(3) - dim(3), 4, 0)) == "0"


def number(value):
    return ir.AffineExpr.get_constant(value)


DIVISIONS = {
    "floor": ir.AffineExpr.get_floor_div,
    "ceil": ir.AffineExpr.get_ceil_div,
    "get_mod": ir.AffineExpr.get_mod,
    "%": lambda lhs, rhs: lhs % rhs,
    "of floor": ir.AffineFloorDivExpr.get,
    "of ceil": ir.AffineCeilDivExpr.get,
    "of mod": ir.AffineModExpr.get,
}


@pytest.mark.parametrize("name", DIVISIONS)
def test_affine_divisors_are_positive_numbers(name, context):
    """MLIR divided -2^63 by -1, or folded to such a division."""
    divide = DIVISIONS[name]
    dividend = dim(0) * number(-(2**63))
    assert str(divide(dividend, number(2**62))) in ("d0 * -2", "0")
    for divisor in (number(-1), number(0), ir.AffineExpr.get_symbol(0), dim(1)):
        with pytest.raises(ValueError, match="a positive number only"):
            divide(dividend, divisor)
    if not name.startswith("of"):
        with pytest.raises(ValueError, match="a positive number only"):
            divide(dividend, -1)
        with pytest.raises(ValueError, match="a positive number only"):
            divide(-(2**63), dim(0))


def test_affine_divisors_are_replaced_by_positive_numbers(context):
    affine_map = ir.AffineMap.get(1, 0, [(dim(0) % 4) * -(2**63) + 5])
    with pytest.raises(ValueError, match="no positive number"):
        affine_map.replace(number(4), number(-1), 1, 0)
    assert "mod 3" in str(affine_map.replace(number(4), number(3), 1, 0))
    assert "- 6" in str(affine_map.replace(number(5), number(-6), 1, 0))


def test_operands_of_simplified_expressions(context):
    assert str((dim(0) % 2).lhs) == "d0"
    for name in ("lhs", "rhs"):
        with pytest.raises(ValueError, match="it has no operands"):
            getattr(dim(0) % 1, name)


def test_lists_are_assigned_where_they_have_elements(context):
    module = ir.Module.parse(
        "func.func @f(%a: i32, %b: i32, %c: i1) {\n"
        "  %d = arith.select %c, %a, %b : i32\n  cf.br ^end\n^end:\n  return\n}"
    )
    function = module.body.operations[0]
    entry, end = function.body.blocks
    select, branch = entry.operations
    other = entry.arguments[1]
    for index in (3, -4, 2**62):
        with pytest.raises(IndexError, match="out of range"):
            select.operands[index] = other
    for index in (1, -2):
        with pytest.raises(IndexError, match="out of range"):
            branch.successors[index] = end
    select.operands[1:][0] = other
    assert "arith.select %arg2, %arg1, %arg1" in str(select)
    branch.successors[-1] = end
    assert module.operation.verify()


def test_memrefs_have_layouts(context):
    f32, number = ir.F32Type.get(), ir.Attribute.parse("7 : i32")
    for make in (ir.MemRefType.get, ir.MemRefType.get_unchecked):
        with pytest.raises(ValueError, match="expected an attribute that is a layout"):
            make([7], f32, number)
        layout = ir.Attribute.parse("strided<[2]>")
        assert str(make([7], f32, layout)) == "memref<7xf32, strided<[2]>>"


def test_arrays_have_no_negative_places(context):
    for text in ("[1]", "array<i32: 1>", "array<i1: true>", "dense<1> : tensor<1xi32>"):
        array = ir.Attribute.parse(text)
        assert array[0] is not None
        for place in (-1, 1):
            with pytest.raises(IndexError):
                array[place]


def test_dimensions_and_positions_of_types_are_in_range(context):
    scalar = ir.RankedTensorType.get([], ir.F32Type.get())
    matrix = ir.RankedTensorType.get([2, 3], ir.F32Type.get())
    unranked = ir.UnrankedTensorType.get(ir.F32Type.get())
    for name in ("is_static_dim", "is_dynamic_dim", "get_dim_size"):
        for shaped, place in ((scalar, 0), (matrix, 2), (matrix, -1), (matrix, 2**62)):
            with pytest.raises(IndexError, match=f"position {place} is out of range"):
                getattr(shaped, name)(place)
        with pytest.raises(ValueError, match="has a rank"):
            getattr(unranked, name)(0)
    assert matrix.get_dim_size(1) == 3
    pair = ir.TupleType.get_tuple([matrix, scalar])
    assert pair.get_type(1) == scalar
    for place in (2, -1):
        with pytest.raises(IndexError, match="out of range"):
            pair.get_type(place)


def test_invalid_operations_are_printed_in_generic_form(context):
    module = ir.Module.parse("gpu.module @kernels {\n}")
    (kernels,) = module.body.operations
    assert "gpu.module @kernels" in kernels.get_asm(assume_verified=True)
    del kernels.attributes["sym_name"]
    assert '"gpu.module"()' in kernels.get_asm(assume_verified=True)


@pytest.mark.parametrize(
    "make",
    [
        lambda: PassManager(),
        lambda: PassManager.parse("builtin.module(cse)"),
        lambda: ir.ShapedTypeComponents.get([2], ir.F32Type.get()),
        lambda: ir.Attribute.parse("{x = 1}")[0],
        lambda: ir.Module.parse("module @m {}").operation.attributes[0],
    ],
    ids=[
        "pass manager",
        "parsed pass manager",
        "components of a shape",
        "attribute of a dictionary",
        "attribute of an operation",
    ],
)
def test_what_refers_to_a_context_keeps_it_alive(make):
    def make_in_context_of_its_own():
        with ir.Context():
            return make()

    gc.collect()
    before = ir.Context._get_live_count()
    kept = make_in_context_of_its_own()
    gc.collect()
    assert ir.Context._get_live_count() == before + 1
    del kept
    gc.collect()
    assert ir.Context._get_live_count() == before
