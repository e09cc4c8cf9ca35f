"""Kernels that the interpreter refuses, and its errors."""

import numpy as np
import pytest

from support.interpreting import CONSTANTS, GEMM, SHARED, fragment, memref, run
from tilews import ir, sim


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
    assert ":4:" in text.split(": ")[0]  # The error has the line in the kernel's text.


def nest(depth):
    opened = "\n".join(["scf.if %yes {"] * depth)
    return (
        "%yes = arith.constant true\n%one = arith.constant 1.0 : f32\n"
        "%i = arith.constant 0 : index\n"
        f"{opened}\nmemref.store %one, %a[%i] : memref<4xf32>\n" + "}\n" * depth
    )


def test_regions_may_be_nested_deeply_but_not_without_limit():
    a = np.zeros(4, "f4")
    run(nest(499), [("a", "memref<4xf32>", a)])
    assert a[0] == 1
    roles = f"tile.specialize {{ tile.role @r warps(4) {{\n{nest(490)}\n}} }}"
    run(roles, [("a", "memref<4xf32>", np.zeros(4, "f4"))])
    fails(
        nest(500),
        [("a", "memref<4xf32>", a)],
        "'scf.if' op is nested more than 500 regions deep",
    )


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
    fails(body, match="has to read by tl.atomic_load", max_steps=1000)


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
            "%x = arith.constant dense<0> : tensor<4294967296x4294967296xi8>",
            "has a fragment of type",
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
    fails(view, args, "takes 2 elements from 3 on, 1 apart, of dimension 0")


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
        ("tensor<4xf32>", 1.0, "a kernel takes memrefs and scalars"),
    ],
)
def test_argument_mismatch(type_, value, match):
    fails("", [("x", type_, value)], r"argument 0 of 'k': .*" + match)


@pytest.mark.parametrize(
    ("type_", "value", "match"),
    [
        ("i32", 2.5, "expected an integer, found 2.5"),
        ("i8", 128, r"expected an integer from -128 to 127 \(i8\), found 128"),
        ("i8 {tile.unsigned}", -1, r"from 0 to 255 \(u8\), found -1"),
        ("index", 2**63, r"\(index\), found 9223372036854775808"),
        ("i1", -1, r"expected an integer from 0 to 1 \(i1\), found -1"),
    ],
)
def test_scalars_that_the_type_does_not_hold(type_, value, match):
    with pytest.raises(TypeError, match="argument '0': .*" + match):
        run("", [("x", type_, value)])


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
    fails(store, args, "expected an array that may be written, found a read-only one")


def test_read_only_arrays_are_refused_where_nothing_is_written_at_last():
    a = np.zeros(4, "f4")
    a.flags.writeable = False
    never = """
      %no = arith.constant false
      scf.if %no {
        %t = tile.load %a : memref<4xf32> -> tensor<4xf32>
        tile.store %t to %a : tensor<4xf32> to memref<4xf32>
      }"""
    fails(never, [("a", memref(a), a)], "found a read-only one")


def test_threads_are_no_more_than_a_system_has():
    a = np.zeros(50000, "f4")
    text = """
      gpu.module @m {
        gpu.func @k(%a: memref<50000xf32>) kernel attributes {
            tile.threads = 32 : i32, tile.grid = affine_map<() -> (50000)>} {
          %i = gpu.block_id x
          %one = arith.constant 1.0 : f32
          memref.store %one, %a[%i] : memref<50000xf32>
          gpu.return
        }
      }"""
    with ir.Context():
        module = ir.Module.parse(text)
        sim.run(module, "k", [a], threads=2**32 - 1)
        with pytest.raises(ValueError, match="threads: expected a number from 0"):
            sim.run(module, "k", [a], threads=-1)
    assert a.all()


@pytest.mark.parametrize(
    ("name", "most"),
    {"seed": 2**64, "max_steps": 2**64, "runs": 2**32, "threads": 2**32}.items(),
)
def test_numbers_of_a_run(name, most):
    a = np.zeros(4, "f4")
    run("", [("a", memref(a), a)], **{name: most - 1 if name != "runs" else 1})
    for number in (-1, most, np.int64(-1)):
        with pytest.raises(ValueError, match=f"{name}: expected a number from 0"):
            run("", [("a", memref(a), a)], **{name: number})
    for number in (1.0, "1", None):
        with pytest.raises(TypeError, match=f"{name}: expected an integer, found"):
            run("", [("a", memref(a), a)], **{name: number})


def test_wrong_dtype_grid_or_name():
    with pytest.raises(
        TypeError, match="expected an array of float32 for memref<4xf32>"
    ):
        run("", [("a", "memref<4xf32>", np.zeros(4))])
    with pytest.raises(TypeError, match="a NumPy array or a number, found list"):
        run("", [("a", "memref<4xf32>", [0.0] * 4)])
    with pytest.raises(ValueError, match=r"1 to 3 extents, found \(1, 1, 1, 1\)"):
        run("", [], grid=(1, 1, 1, 1))
    fails("", grid=(1, -1), match="cannot be launched")
    fails("", grid=None, match="no 'tile.grid' attribute")
    with ir.Context():
        module = ir.Module.parse(GEMM)
        with pytest.raises(ValueError, match=r"one kernel 'gem', found \['gemm'\]"):
            sim.run(module, "gem", [])
