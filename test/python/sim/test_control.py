"""Control flow, grids, output and whole kernels in the interpreter."""

import ml_dtypes
import numpy as np
import pytest

from support.interpreting import CONSTANTS, GEMM, run
from tilews import ir, passmanager, sim


@pytest.mark.parametrize(
    ("lower", "upper", "step"),
    [(0, 5, 1), (0, 5, 2), (3, 3, 1), (7, 2, 1), (-4, 3, 3), (0, 1, 100)],
)
def test_for_carries_values(lower, upper, step):
    out = np.zeros(2, "i8")
    run(
        CONSTANTS
        + """
        %r:2 = scf.for %i = %l to %u step %s iter_args(%sum = %c0, %last = %c2)
            -> (index, index) {
          %n = arith.addi %sum, %i : index
          scf.yield %n, %sum : index, index
        }
        memref.store %r#0, %out[%c0] : memref<2xindex>
        memref.store %r#1, %out[%c1] : memref<2xindex>""",
        [
            ("l", "index", lower),
            ("u", "index", upper),
            ("s", "index", step),
            ("out", "memref<2xindex>", out),
        ],
    )
    total, last = 0, 2
    for i in range(lower, upper, step):
        total, last = total + i, total
    assert out.tolist() == [total, last]


def test_unsigned_for_counts_past_the_signed_range():
    out = np.zeros(1, "i4")
    run(
        CONSTANTS
        + """
        %l = arith.constant 120 : i8
        %u = arith.constant -126 : i8
        %s = arith.constant 3 : i8
        %zero = arith.constant 0 : i32
        %r = scf.for unsigned %i = %l to %u step %s iter_args(%n = %zero) -> i32 : i8 {
          %w = arith.extui %i : i8 to i32
          %m = arith.addi %n, %w : i32
          scf.yield %m : i32
        }
        memref.store %r, %out[%c0] : memref<1xi32>""",
        [("out", "memref<1xi32>", out)],
    )
    assert out[0] == sum(range(120, 130, 3))


def test_for_swaps_carried_fragments():
    out = np.zeros(4, "i4")
    run(
        CONSTANTS
        + """
        %c3 = arith.constant 3 : index
        %a = arith.constant dense<1> : tensor<4xi32>
        %b = arith.constant dense<2> : tensor<4xi32>
        %r:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%x = %a, %y = %b)
            -> (tensor<4xi32>, tensor<4xi32>) {
          scf.yield %y, %x : tensor<4xi32>, tensor<4xi32>
        }
        tile.store %r#0 to %out : tensor<4xi32> to memref<4xi32>""",
        [("out", "memref<4xi32>", out)],
    )
    assert out.tolist() == [2] * 4


@pytest.mark.parametrize(("start", "steps"), [(27, 111), (1, 0)])
def test_while_counts_collatz_steps(start, steps):
    out = np.zeros(1, "i4")
    run(
        CONSTANTS
        + """
        %one = arith.constant 1 : i32
        %two = arith.constant 2 : i32
        %three = arith.constant 3 : i32
        %zero = arith.constant 0 : i32
        %r:2 = scf.while (%x = %start, %n = %zero) : (i32, i32) -> (i32, i32) {
          %more = arith.cmpi ne, %x, %one : i32
          scf.condition(%more) %n, %x : i32, i32
        } do {
        ^bb0(%n: i32, %x: i32):
          %bit = arith.andi %x, %one : i32
          %odd = arith.cmpi eq, %bit, %one : i32
          %next = scf.if %odd -> i32 {
            %t = arith.muli %x, %three : i32
            %u = arith.addi %t, %one : i32
            scf.yield %u : i32
          } else {
            %h = arith.divui %x, %two : i32
            scf.yield %h : i32
          }
          %m = arith.addi %n, %one : i32
          scf.yield %next, %m : i32, i32
        }
        memref.store %r#0, %out[%c0] : memref<1xi32>""",
        [("start", "i32", start), ("out", "memref<1xi32>", out)],
    )
    assert out[0] == steps


@pytest.mark.parametrize("which", [0, 2, 9])
def test_switch_and_execute_region(which):
    out = np.zeros(1, "i8")
    run(
        CONSTANTS
        + """
        %r = scf.index_switch %which -> index
        case 0 {
          scf.yield %c1 : index
        }
        case 2 {
          %e = scf.execute_region -> index {
            %x = affine.apply
              affine_map<(d0)[s0] -> (d0 * 10 + s0 floordiv 2)>(%c2)[%c2]
            scf.yield %x : index
          }
          scf.yield %e : index
        }
        default {
          %m = affine.min affine_map<(d0) -> (d0, 7)>(%which)
          scf.yield %m : index
        }
        scf.if %true {
          memref.store %r, %out[%c0] : memref<1xindex>
        }""",
        [
            ("which", "index", which),
            ("true", "i1", True),
            ("out", "memref<1xindex>", out),
        ],
    )
    assert out[0] == {0: 1, 2: 21, 9: 7}[which]


def test_grid_and_block_ids():
    out = np.zeros((2, 3, 4), "i8")
    run(
        """
        %x = gpu.block_id x
        %y = gpu.block_id y
        %z = gpu.block_id z
        %gx = gpu.grid_dim x
        %gy = gpu.grid_dim y
        %t = gpu.block_dim x
        %a = index.mul %z, %gy
        %b = index.add %a, %y
        %c = index.mul %b, %gx
        %d = index.add %c, %x
        %e = index.add %d, %t
        memref.store %e, %out[%z, %y, %x] : memref<2x3x4xindex>""",
        [("out", "memref<2x3x4xindex>", out)],
        grid=(4, 3, 2),
        attributes="tile.threads = 64 : i32",
    )
    np.testing.assert_array_equal(out.ravel(), np.arange(24) + 64)


def test_grid_follows_from_the_arguments():
    out = np.zeros((5, 7), "i4")
    run(
        """
        %one = arith.constant dense<1> : tensor<2x4xi32>
        %x = gpu.block_id x
        %y = gpu.block_id y
        %c2 = arith.constant 2 : index
        %c4 = arith.constant 4 : index
        %m = arith.muli %y, %c2 : index
        %n = arith.muli %x, %c4 : index
        %t = tile.load %out[%m, %n] : memref<?x?xi32> -> tensor<2x4xi32>
        %u = arith.addi %t, %one : tensor<2x4xi32>
        tile.store %u to %out[%m, %n] : tensor<2x4xi32> to memref<?x?xi32>""",
        [("out", "memref<?x?xi32>", out)],
        grid=None,
        attributes="""tile.grid = affine_map<()[s0, s1]
          -> (s1 ceildiv 4, s0 ceildiv 2)>""",
    )
    assert (out == 1).all()


@pytest.mark.parametrize("blocks", [1, 3, 50])
@pytest.mark.parametrize(
    "rasterize", ["", "{rasterize = #tile.rasterize<row, panel = 2>}"]
)
def test_persistent_blocks_alternate(blocks, rasterize):
    """Each tile stores its block and the number of the block's earlier tiles."""
    owner, order = np.full((5, 4), -1, "i8"), np.full((5, 4), -1, "i8")
    run(
        CONSTANTS
        + f"""
        %b = gpu.block_id x
        %r = tile.persistent (%x, %y) in (%n, %m) iter_args(%k = %c0) -> (index) {{
          memref.store %b, %owner[%y, %x] : memref<5x4xindex>
          memref.store %k, %order[%y, %x] : memref<5x4xindex>
          %next = arith.addi %k, %c1 : index
          tile.yield %next : index
        }} {rasterize}""",
        [
            ("n", "index", 4),
            ("m", "index", 5),
            ("owner", "memref<5x4xindex>", owner),
            ("order", "memref<5x4xindex>", order),
        ],
        grid=blocks,
    )
    numbers = order * blocks + owner
    if not rasterize:
        expected = np.arange(20).reshape(5, 4)
    else:
        # Panels of two rows, every other one from right to left.
        expected = np.zeros((5, 4), int)
        number = 0
        for panel, rows in enumerate([(0, 1), (2, 3), (4,)]):
            for column in range(4)[:: -1 if panel % 2 else 1]:
                for row in rows:
                    expected[row, column] = number
                    number += 1
    np.testing.assert_array_equal(numbers, expected)


def test_print(capsys):
    run(
        """
        %t = arith.constant dense<[[1.5, -0.1], [3.0, 4.0]]> : tensor<2x2xf32>
        %b = gpu.block_id x
        tile.print "value" %b, %t : index, tensor<2x2xf32>
        tile.print "done"
        """,
        [],
        grid=2,
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[:6] == [
        "block (0, 0, 0): value 0",
        "block (0, 0, 0): value, shape (2, 2)",
        "       0     1",
        "  0  1.5  -0.1",
        "  1    3     4",
        "block (0, 0, 0): done",
    ]
    assert lines[6] == "block (1, 0, 0): value 1"


PASSES = """builtin.module(tile-lower-persistent, tile-rasterize-blocks,
  canonicalize, cse, tile-annotate-instructions, tile-infer-layouts,
  tile-plan-shared-memory, tile-insert-barriers)"""


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("passes", [False, True])
def test_whole_kernel_before_and_after_the_tile_passes(passes, threads):
    rng = np.random.default_rng(0)
    a = rng.standard_normal((130, 100)).astype("f2")
    b = rng.standard_normal((100, 70)).astype("f2")
    c = np.zeros((130, 70), "f4")
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(GEMM)
        if passes:
            passmanager.PassManager.parse(PASSES).run(module.operation)
        sim.run(module, None, [a, b, c], threads=threads)
    np.testing.assert_allclose(c, a.astype("f8") @ b.astype("f8"), rtol=1e-6, atol=1e-5)


def test_numbers_of_numpy_are_scalars():
    out = np.zeros(3, "f4")
    body = """
      %x = arith.extf %b : bf16 to f32
      %y = arith.uitofp %i : i8 to f32
      %z = arith.uitofp %t : i1 to f32
      %v = tensor.from_elements %x, %y, %z : tensor<3xf32>
      tile.store %v to %out : tensor<3xf32> to memref<3xf32>"""
    for b in (ml_dtypes.bfloat16(1.5), np.float32(1.5), 1.5):
        args = [
            ("b", "bf16", b),
            ("i", "i8 {tile.unsigned}", np.uint8(200)),
            ("t", "i1", np.True_),
        ]
        run(body, [*args, ("out", "memref<3xf32>", out)])
        assert out.tolist() == [1.5, 200, 1]


def test_kernel_given_as_an_operation():
    with ir.Context():
        module = ir.Module.parse(GEMM)
        gpu_module = module.body.operations[0]
        kernel = gpu_module.regions[0].blocks[0].operations[0]
        arrays = [np.ones((4, 4), "f2"), np.ones((4, 4), "f2"), np.zeros((4, 4), "f4")]
        for given, name in [(kernel, None), (kernel, "gemm"), (gpu_module, "gemm")]:
            arrays[2][:] = 0
            sim.run(given, name, arrays)
            assert (arrays[2] == 4).all()
