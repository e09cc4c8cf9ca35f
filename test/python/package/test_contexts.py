"""IR is of one context: what refers to another one would dangle after it."""

import gc

import numpy as np
import pytest

from tilews import ir
from tilews.dialects import gpu, llvm

TEXT = """
gpu.module @m {
  gpu.func @k(%a: i32) kernel {
    %b = arith.addi %a, %a : i32
    gpu.return
  }
}
"""


class Parts:
    """A module, and objects of its context."""

    def __init__(self):
        context = self.context = ir.Context()
        context.allow_unregistered_dialects = True
        self.module = ir.Module.parse(TEXT, context)
        self.place = ir.Location.name("a_place", context=context)
        self.unknown = ir.Location.unknown(context)
        self.i77 = ir.IntegerType.get_signless(77, context)
        self.f32 = ir.F32Type.get(context)
        self.number = ir.Attribute.parse("77 : i33", context)
        self.map = ir.Attribute.parse("affine_map<(d0) -> (d0 + 77)>", context)
        self.dim = ir.AffineExpr.get_dim(7, context)
        self.four = ir.AffineExpr.get_constant(4, context)
        self.affine = ir.AffineMap.get(8, 0, [self.dim + 5], context)
        self.symbol = self.module.body.operations[0]
        self.kernel = self.symbol.bodyRegion.blocks[0].operations[0]
        self.block = self.kernel.regions[0].blocks[0]
        self.sum = self.block.operations[0]


#: Each makes an object of the first context of one of the second.
CALLS = {
    # Attributes.
    "array": lambda a, b: ir.ArrayAttr.get([b.number], a.context),
    "dictionary": lambda a, b: ir.DictAttr.get({"x": b.number}, a.context),
    "type of type": lambda a, b: ir.TypeAttr.get(b.i77, a.context),
    "opaque": lambda a, b: ir.OpaqueAttr.get("tile", b"x", b.i77, a.context),
    "buffer": lambda a, b: ir.DenseElementsAttr.get(
        np.zeros(3, np.int32), type=ir.IntegerType.get_signless(32, b.context),
        context=a.context,
    ),
    "object": lambda a, b: gpu.ObjectAttr.get(b.number, 1, b"", context=a.context),
    # Types.
    "function": lambda a, b: ir.FunctionType.get([b.i77], [], a.context),
    "tuple": lambda a, b: ir.TupleType.get_tuple([b.i77], a.context),
    "space": lambda a, b: ir.MemRefType.get(
        [7], a.f32, memory_space=b.number, loc=a.place
    ),
    "layout": lambda a, b: ir.MemRefType.get([7], a.f32, b.map, loc=a.place),
    "encoding": lambda a, b: ir.RankedTensorType.get([7], a.f32, b.number, a.place),
    "structure": lambda a, b: llvm.StructType.get_literal(
        [b.i77], context=a.context, loc=a.place
    ),
    "named structure": lambda a, b: llvm.StructType.new_identified(
        "s", [b.i77], context=a.context
    ),
    "body": lambda a, b: llvm.StructType.get_identified("t", context=a.context)
    .set_body([b.i77]),
    # Locations.
    "fused": lambda a, b: ir.Location.fused([a.place, b.place], context=a.context),
    "metadata": lambda a, b: ir.Location.fused([a.place], b.number, a.context),
    "callee": lambda a, b: ir.Location.callsite(b.place, [a.place], a.context),
    "frame": lambda a, b: ir.Location.callsite(
        a.place, [a.place, b.place, a.place], a.context
    ),
    "child": lambda a, b: ir.Location.name("x", b.place, a.context),
    "attribute": lambda a, b: ir.Location.from_attr(b.place.attr, a.context),
    # Affine expressions.
    "sum": lambda a, b: a.dim + b.dim,
    "difference": lambda a, b: a.dim - b.dim,
    "product": lambda a, b: ir.AffineExpr.get_mul(a.dim, b.dim),
    "modulo": lambda a, b: a.dim % b.four,
    "floor": lambda a, b: ir.AffineExpr.get_floor_div(a.dim, b.four),
    "ceiling": lambda a, b: ir.AffineExpr.get_ceil_div(a.dim, b.four),
    "composition": lambda a, b: a.dim.compose(b.affine),
    "map": lambda a, b: ir.AffineMap.get(8, 0, [b.dim], a.context),
    "replaced": lambda a, b: a.affine.replace(a.dim, b.dim, 8, 0),
    "replacing": lambda a, b: a.affine.replace(b.dim, a.dim, 8, 0),
    "compressed": lambda a, b: ir.AffineMap.compress_unused_symbols(
        [b.affine], a.context
    ),
    "set": lambda a, b: ir.IntegerSet.get(8, 0, [b.dim], [True], a.context),
    "set replaced": lambda a, b: ir.IntegerSet.get_empty(1, 0, a.context)
    .get_replaced([b.dim], [], 8, 0),
    # Operations.
    "location": lambda a, b: setattr(a.sum, "location", b.place),
    "argument type": lambda a, b: a.block.arguments[0].set_type(b.i77),
    "argument location": lambda a, b: a.block.arguments[0].set_location(b.place),
    "result type": lambda a, b: a.sum.result.set_type(b.i77),
    "added type": lambda a, b: a.block.add_argument(b.i77, a.place),
    "added location": lambda a, b: a.block.add_argument(a.i77, b.place),
    "first block": lambda a, b: ir.Block.create_at_start(
        a.kernel.regions[0], [b.i77], [a.place]
    ),
    "block after": lambda a, b: a.block.create_after(a.i77, arg_locs=[b.place]),
    "block before": lambda a, b: a.block.create_before(b.i77, arg_locs=[a.place]),
    "appended block": lambda a, b: a.kernel.regions[0].blocks.append(
        b.i77, arg_locs=[a.place]
    ),
    "successor": lambda a, b: ir.Operation.create(
        "test.branch", successors=[b.block], loc=a.place
    ),
    "inferred operand": lambda a, b: infer(a, [b.block.arguments[0]] * 2),
    "inferred attribute": lambda a, b: infer(
        a, [a.block.arguments[0]] * 2, ir.DictAttr.get({"x": b.number}, b.context)
    ),
    "inferred location": lambda a, b: infer(
        a, [a.block.arguments[0]] * 2, None, b.place
    ),
}  # fmt: skip


def infer(parts, operands, attributes=None, place=None):
    interface = ir.InferTypeOpInterface(type(parts.sum), parts.context)
    return interface.inferReturnTypes(
        operands, attributes, context=parts.context, loc=place or parts.place
    )


@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_made_of_parts_of_another_context(name):
    first, second = Parts(), Parts()
    before = str(first.module)
    with pytest.raises(ValueError, match="of another context"):
        CALLS[name](first, second)
    del second
    gc.collect()
    assert str(first.module) == before
    assert first.module.operation.verify()


@pytest.mark.parametrize("name", CALLS)
def test_it_is_made_of_parts_of_its_own(name):
    parts = Parts()
    parts.module.operation.verify()
    CALLS[name](parts, parts)


def test_the_context_of_a_part_is_that_of_the_whole():
    first, second = Parts(), Parts()
    with first.unknown:
        made = [
            ir.VectorType.get([7], second.i77),
            ir.MemRefType.get([7], second.i77),
            ir.FloatAttr.get(second.f32, 1.0),
        ]
    assert all(each.context is second.context for each in made)


# --- branches and blocks ---------------------------------------------------------


def branch(parts, **options):
    return ir.Operation.create(
        "test.branch", successors=[parts.block], loc=parts.place, **options
    )


def test_a_block_lives_as_long_as_branches_to_it():
    parts = Parts()
    jump = branch(parts)
    with pytest.raises(ValueError, match="cannot be erased"):
        parts.kernel.operation.erase()
    parts.module = parts.symbol = parts.kernel = parts.block = parts.sum = None
    gc.collect()
    assert "test.branch" in str(jump)
    del jump
    gc.collect()


def test_branches_stay_in_their_module():
    parts = Parts()
    other = ir.Module.parse(TEXT, parts.context)
    kernel = other.body.operations[0].bodyRegion.blocks[0].operations[0]
    there = kernel.regions[0].blocks[0]
    jump = branch(parts, ip=ir.InsertionPoint(parts.sum))
    with pytest.raises(ValueError, match="of another module, or a block"):
        branch(parts, ip=ir.InsertionPoint(there.operations[0]))
    with pytest.raises(ValueError, match="of another module, or a block"):
        jump.successors[0] = there
    with pytest.raises(ValueError, match="of another module, or a block"):
        there.append(jump)
    jump.successors[0] = parts.block


def test_blocks_are_moved_within_a_module_only():
    parts = Parts()
    other = ir.Module.parse(TEXT, parts.context)
    with pytest.raises(ValueError, match="within a module"):
        other.body.operations[0].bodyRegion.blocks[0].append_to(parts.kernel.regions[0])
    with pytest.raises(ValueError, match="into itself"):
        parts.symbol.bodyRegion.blocks[0].append_to(parts.kernel.regions[0])
    with pytest.raises(ValueError, match="the block of a module"):
        parts.module.body.append_to(parts.module.operation.regions[0])


def test_objects_of_a_moved_block():
    parts = Parts()
    old, argument, total = parts.block, parts.block.arguments[0], parts.sum
    moved = parts.kernel.regions[0].blocks[0]
    moved.append_to(parts.symbol.bodyRegion)
    assert moved.owner == parts.symbol.operation
    assert moved.arguments[0].type == total.result.type
    for stale in (lambda: old.arguments, lambda: argument.type):
        with pytest.raises(RuntimeError, match="invalidated"):
            stale()
    parts.kernel.operation.erase()
    assert "arith.addi" in str(moved)
    assert "arith.addi" in str(total)


# --- symbols -----------------------------------------------------------------------


def test_symbols_are_inserted_once():
    first, second = Parts(), Parts()
    table = ir.SymbolTable(first.module.operation)
    assert table.insert(first.symbol).value == "m"
    copy = first.symbol.operation.clone(ip=False)
    assert table.insert(copy).value == "m_0"
    assert [op.sym_name.value for op in first.module.body.operations] == ["m", "m_0"]
    for elsewhere in (second.symbol, first.kernel):
        with pytest.raises(ValueError, match="the operation is elsewhere"):
            table.insert(elsewhere)
    with pytest.raises(ValueError, match="of another context"):
        table.insert(second.symbol.operation.clone(ip=False))


def test_tables_that_a_callback_erases_are_not_visited():
    parts = Parts()
    seen = []

    def visit(op, is_visible):
        seen.append(op.name)
        if len(seen) == 1:
            for inner in parts.module.body.operations:
                if inner.operation != op:
                    inner.operation.erase()

    root = parts.module.operation
    ir.SymbolTable.walk_symbol_tables(root, True, visit)
    assert len(seen) in (1, 2)
    with pytest.raises(ZeroDivisionError):
        ir.SymbolTable.walk_symbol_tables(root, True, lambda op, _: 1 // 0)


def test_operations_have_a_number_of_regions_that_fits():
    parts = Parts()
    with pytest.raises(ValueError, match="number of regions must be < 8388608"):
        ir.Operation.create("test.op", regions=2**30, loc=parts.place)
