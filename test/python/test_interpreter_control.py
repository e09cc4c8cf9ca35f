"""Control flow, grids, output and errors of the interpreter."""

import numpy as np
import pytest
from interpreting import SHARED, fragment, memref, run

from tilews import ir, sim

CONSTANTS = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
"""


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
def test_persistent_blocks_take_turns(blocks, rasterize):
    """Each tile notes its block and how many tiles the block had before."""
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
        "block (0, 0, 0): value (0, 0) 1.5",
        "block (0, 0, 0): value (0, 1) -0.100000001",
        "block (0, 0, 0): value (1, 0) 3",
        "block (0, 0, 0): value (1, 1) 4",
        "block (0, 0, 0): done",
    ]
    assert lines[6] == "block (1, 0, 0): value 1"


GEMM = """
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @gemm(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>)
      kernel attributes {tile.threads = 128 : i32, tile.grid =
        affine_map<()[m, k, k2, n, m2, n2] -> (n ceildiv 32, m ceildiv 64)>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %x = gpu.block_id x
    %y = gpu.block_id y
    %m = arith.muli %y, %c64 : index
    %n = arith.muli %x, %c32 : index
    %depth = memref.dim %a, %c1 : memref<?x?xf16>
    %as = tile.alloc_shared : memref<64x64xf16, #gpu.address_space<workgroup>>
    %bs = tile.alloc_shared : memref<64x32xf16, #gpu.address_space<workgroup>>
    %zero = arith.constant dense<0.0> : tensor<64x32xf32>
    %r = scf.for %k = %c0 to %depth step %c64 iter_args(%acc = %zero)
        -> tensor<64x32xf32> {
      tile.copy %a[%m, %k] to %as
        : memref<?x?xf16> to memref<64x64xf16, #gpu.address_space<workgroup>>
      tile.copy %b[%k, %n] to %bs
        : memref<?x?xf16> to memref<64x32xf16, #gpu.address_space<workgroup>>
      %d = tile.gemm %as, %bs, %acc
        : memref<64x64xf16, #gpu.address_space<workgroup>>,
          memref<64x32xf16, #gpu.address_space<workgroup>> -> tensor<64x32xf32>
      scf.yield %d : tensor<64x32xf32>
    }
    tile.store %r to %c[%m, %n] : tensor<64x32xf32> to memref<?x?xf32>
    gpu.return
  }
}"""

PASSES = """builtin.module(tile-lower-persistent, tile-rasterize-blocks,
  canonicalize, cse, tile-annotate-instructions, tile-infer-layouts,
  tile-plan-shared-memory, tile-insert-barriers)"""


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("passes", [False, True])
def test_whole_kernel_before_and_after_the_tile_passes(passes, threads):
    from tilews import passmanager

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


# ---------------------------------------------------------------------------
# Errors
# ---------------------------------------------------------------------------


def fails(body, args=(), match="", **options):
    with pytest.raises(sim.SimulationError, match=match):
        run(body, list(args), **options)


INDEX = [("i", "index", 7), ("a", "memref<4xf32>", np.zeros(4, "f4"))]


def test_error_names_operation_place_and_block():
    with pytest.raises(sim.SimulationError) as error:
        run("%x = memref.load %a[%i] : memref<4xf32>", INDEX)
    text = str(error.value)
    assert "'memref.load' op index 7 is out of bounds for dimension 0" in text
    assert "extent 4 (block (0, 0, 0))" in text
    assert ":4:" in text.split(": ")[0]  # The line in the kernel's text.


def test_first_failing_block_is_reported():
    for _ in range(5):
        fails(
            "%b = gpu.block_id x\n"
            "%ok = arith.cmpi ult, %b, %i : index\n"
            'tile.assert %ok, "too far" : i1',
            INDEX,
            r"'tile.assert' op failed: too far \(block \(7, 0, 0\)\)",
            grid=100,
        )


@pytest.mark.parametrize("index", [-1, 4])
def test_store_out_of_bounds(index):
    args = [("i", "index", index), ("x", "f32", 1.0), *INDEX[1:]]
    fails("memref.store %x, %a[%i] : memref<4xf32>", args, f"index {index} is out")


def test_reading_unwritten_shared_memory():
    shared = f"memref<4x8xi4, {SHARED}>"
    body = f"""
      %s = tile.alloc_shared : {shared}
      %t = arith.constant dense<1> : tensor<4x3xi4>
      tile.store %t to %s[0, 0] : tensor<4x3xi4> to {shared}
      %ok = tile.load %s[0, 0] : {shared} -> tensor<4x3xi4>
      %no = tile.load %s[1, 0] : {shared} -> tensor<2x4xi4>"""
    fails(body, match=r"'tile.load' op reads element \(1, 3\) of shared memory")
    gemm = f"""
      %s = tile.alloc_shared : memref<4x4xf16, {SHARED}>
      %c = arith.constant dense<0.0> : tensor<4x4xf32>
      %d = tile.gemm %s, %s, %c : memref<4x4xf16, {SHARED}>,
        memref<4x4xf16, {SHARED}> -> tensor<4x4xf32>"""
    fails(gemm, match=r"'tile.gemm' op reads element \(0, 0\)")


def test_shared_memory_is_fresh_in_every_iteration():
    body = f"""{CONSTANTS}
      scf.for %i = %c0 to %c2 step %c1 {{
        %s = tile.alloc_shared : memref<2xf32, {SHARED}>
        %first = arith.cmpi ult, %i, %c1 : index
        scf.if %first {{
          %t = arith.constant dense<1.0> : tensor<2xf32>
          tile.store %t to %s : tensor<2xf32> to memref<2xf32, {SHARED}>
        }}
        %u = tile.load %s : memref<2xf32, {SHARED}> -> tensor<2xf32>
      }}"""
    fails(body, match="never written")


@pytest.mark.parametrize("op", ["divsi", "divui", "remsi", "remui", "floordivsi"])
def test_division_by_zero(op):
    body = f"""
      %a = arith.constant dense<[3, 4]> : tensor<2xi32>
      %b = arith.constant dense<[1, 0]> : tensor<2xi32>
      %c = arith.{op} %a, %b : tensor<2xi32>"""
    fails(body, match=f"'arith.{op}' op divides by zero")


def test_division_that_overflows():
    args = [("a", "i32", -(2**31)), ("b", "i32", -1)]
    fails("%c = arith.divsi %a, %b : i32", args, "which overflows")


@pytest.mark.parametrize("step", [0, -2])
def test_step_has_to_be_positive(step):
    body = CONSTANTS + "scf.for %i = %c0 to %c2 step %s {\n}"
    fails(body, [("s", "index", step)], f"'scf.for' op has step {step}")


def test_endless_loop_meets_the_step_limit():
    body = """
      scf.while : () -> () {
        %true = arith.constant true
        scf.condition(%true)
      } do {
        scf.yield
      }"""
    fails(body, match="operation number 1000, which is the limit", max_steps=1000)


def test_assertion_on_a_fragment():
    body = """
      %t = arith.constant dense<[[true, true], [false, true]]> : tensor<2x2xi1>
      tile.assert %t, "not all" : tensor<2x2xi1>"""
    fails(body, match=r"failed at \(1, 0\): not all")


def test_upstream_assertion():
    fails('cf.assert %x, "no"', [("x", "i1", False)], "'cf.assert' op failed: no")


@pytest.mark.parametrize(
    ("body", "match"),
    [
        ("%t = gpu.thread_id x", "'gpu.thread_id' op asks for a thread"),
        ("%v = vector.broadcast %c : f32 to vector<4xf32>", "not supported"),
        ("%p = ub.poison : i32", "'ub.poison' op makes a value that is not defined"),
        ("%m = memref.alloc() : memref<4xf32>", "'memref.alloc' op is not supported"),
        ("%x = arith.constant 1.0 : f128", "f128', which the interpreter does not"),
        ("%x = arith.truncf %c downward : f32 to f16", "rounds by downward"),
        (
            "%x = arith.constant dense<0> : tensor<100000x100000xi32>",
            "has a fragment of type",
        ),
        (
            "%x = tile.iota {axis = 0 : i64} : tensor<4294967296x4294967296xi8>",
            "has a fragment of type",
        ),
        (
            f"%x = tile.alloc_shared : memref<100000x100000xi8, {SHARED}>",
            "the shape .* the interpreter holds up to",
        ),
    ],
)
def test_unsupported(body, match):
    fails(body, [("c", "f32", 1.0)], match)


def test_dim_and_subview_out_of_range():
    args = [("i", "index", 3), ("a", "memref<?x8xf32>", np.zeros((4, 8), "f4"))]
    fails("%d = memref.dim %a, %i : memref<?x8xf32>", args, "dimension 3 of a memref")
    view = """%v = memref.subview %a[%i, 0] [2, 8] [1, 1] : memref<?x8xf32>
      to memref<2x8xf32, strided<[8, 1], offset: ?>>"""
    fails(view, args, "takes elements 3 to 4 of dimension 0, whose extent is 4")


def test_sparse_metadata_has_ascending_places():
    body = """
      %a = arith.constant dense<1.0> : tensor<1x4xf16>
      %e = arith.constant dense<0> : tensor<1x1xi8>
      %b = arith.constant dense<1.0> : tensor<8x1xf16>
      %c = arith.constant dense<1.0> : tensor<1x1xf32>
      %d = tile.gemm_sp %a, %e, %b, %c : tensor<1x4xf16>, tensor<1x1xi8>,
        tensor<8x1xf16> -> tensor<1x1xf32>"""
    fails(body, match="metadata 0 in row 0, group 0: expected two ascending places")


@pytest.mark.parametrize(
    ("type_", "value", "match"),
    [
        ("memref<?x4xf32>", np.zeros((2, 5), "f4"), r"shape \(2, 5\) does not fit"),
        ("memref<?x4xf32>", np.zeros(8, "f4"), r"shape \(8\) does not fit"),
        ("memref<?x4xf32>", np.zeros((4, 2), "f4").T, r"strides \(1, 2\) do not fit"),
        ("memref<?x4xf32>", 3, "expected an array"),
        ("memref<4x?xf32, strided<[9, 1]>>", np.zeros((4, 4), "f4"), "do not fit"),
        ("f32", np.zeros(1, "f4"), "expected"),
        ("i32", 2.5, "expected an integer for 'i32'"),
        ("i8", 256, "256 does not fit 'i8'"),
    ],
)
def test_argument_mismatch(type_, value, match):
    fails("", [("x", type_, value)], r"argument 0 of 'k': .*" + match)


def test_argument_attributes_are_checked():
    x, y = np.zeros((6, 4), "f4"), np.zeros((3, 4), "f4")
    divisible = "memref<?x4xf32> {tile.divisible = array<i64: 4, 1>}"
    fails("", [("x", divisible, x)], "extent 6 of dimension 0 is not a multiple of 4")
    named = 'memref<?x4xf32> {tile.symbols = ["m", ""]}'
    fails("", [("x", named, x), ("y", named, y)], "is 'm', which is 6 in argument 0")


def test_number_of_arguments():
    with ir.Context():
        module = ir.Module.parse(GEMM)
        with pytest.raises(sim.SimulationError, match="takes 3 arguments, found 1"):
            sim.run(module, "gemm", [np.zeros((2, 2), "f2")])


def test_read_only_arrays_are_not_written():
    a = np.zeros(4, "f4")
    a.flags.writeable = False
    args = [("a", memref(a), a)]
    load = "%t = tile.load %a : memref<4xf32> -> tensor<4xf32>"
    run(load, args)
    store = f"{load} tile.store %t to %a : {fragment((4,), 'f32')} to memref<4xf32>"
    fails(store, args, "read-only")


def test_wrong_dtype_grid_or_name():
    with pytest.raises(
        TypeError, match="expected an array of float32 for memref<4xf32>"
    ):
        run("", [("a", "memref<4xf32>", np.zeros(4))])
    with pytest.raises(TypeError, match="a NumPy array or a number, found list"):
        run("", [("a", "memref<4xf32>", [0.0] * 4)])
    with pytest.raises(ValueError, match="1 to 3 extents, found 4"):
        run("", [], grid=(1, 1, 1, 1))
    fails("", grid=(1, -1), match="cannot be launched")
    fails("", grid=None, match="no 'tile.grid' attribute")
    with ir.Context():
        module = ir.Module.parse(GEMM)
        with pytest.raises(ValueError, match=r"one kernel 'gem', found \['gemm'\]"):
            sim.run(module, "gem", [])
