"""Kernels that keep one role: their remarks, and their cp.async pipelines."""

import pathlib
import re
import runpy

import numpy as np
import pytest

import tilews
import tilews.language as tl
from kernels import pipelined_zoo
from support import simulating
from tilews import compiler, ir, passes, sim

SCHEDULE = (
    "tile-lower-persistent,canonicalize,cse,tile-annotate-instructions,"
    "tile-plan-pipeline,tile-multi-version,tile-channel-preludes,"
    "tile-specialize-warps,tile-expand-pipeline,canonicalize,cse"
)


def sums(threads=128, divisor=8, registers=False):
    """A kernel that adds up the tiles of a row."""

    @tilews.kernel(threads=threads)
    def kernel(
        A: tl.Tensor[f"64, K:{divisor}", tl.f16],
        C: tl.Tensor["64, 64", tl.f32],
    ):
        tl.grid(1)
        if registers:
            tl.role_registers(math=232, load=40)
        As = tl.alloc_shared((64, 64), tl.f16)
        acc = tl.zeros((64, 64), tl.f32)
        for k in tl.range(tl.cdiv(A.shape[1], 64), num_stages=3):
            tl.copy(A[0, k * 64], As)
            acc = acc * 2.0 + tl.load(As).to(tl.f32)
        C[0, 0] = acc

    return kernel.build("sm_90a"), [
        np.random.default_rng(0).integers(-3, 4, (64, 5 * 64)).astype("f2"),
        np.zeros((64, 64), "f4"),
    ]


def reads_what_it_writes():
    @tilews.kernel(threads=128)
    def kernel(A: tl.Tensor["64, K:8", tl.f16], C: tl.Tensor["64, 64", tl.f32]):
        tl.grid(1)
        As = tl.alloc_shared((64, 64), tl.f16)
        acc = tl.zeros((64, 64), tl.f32)
        A[0, 64] = tl.full((64, 64), 2.0, tl.f16)
        for k in tl.range(tl.cdiv(A.shape[1], 64), num_stages=4):
            tl.copy(A[0, k * 64], As)
            acc = acc * 2.0 + tl.load(As).to(tl.f32)
        C[0, 0] = acc

    return kernel.build("sm_90a"), sums()[1]


def until_it_is_large():
    case = next(case for case in pipelined_zoo.CASES if case.name == "around")
    return case.kernel.build("sm_90a"), case.arguments(np.random.default_rng(0))


#: An atomic chooses the row that is copied.
ATOMIC = """
  gpu.func @k(%A: memref<?x64xf16>, %C: memref<64xf16>, %N: memref<1xi32>) kernel
      attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c5 = arith.constant 5 : index
    %one = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : tensor<64xf16>
    %ones = tensor.from_elements %one : tensor<i32>
    %olds = tile.atomic_rmw <add> %ones to %N[0]
      : tensor<i32> to memref<1xi32> -> tensor<i32>
    %old = tensor.extract %olds[] : tensor<i32>
    %first = arith.index_cast %old : i32 to index
    %S = tile.alloc_shared : memref<64xf16, #gpu.address_space<workgroup>>
    %r = scf.for %k = %c0 to %c5 step %c1 iter_args(%acc = %zero) -> tensor<64xf16> {
      %row = arith.addi %first, %k : index
      tile.copy %A[%row, 0] [1, 64] to %S
        : memref<?x64xf16> to memref<64xf16, #gpu.address_space<workgroup>>
      %v = tile.load %S
        : memref<64xf16, #gpu.address_space<workgroup>> -> tensor<64xf16>
      %sum = arith.addf %acc, %v : tensor<64xf16>
      scf.yield %sum : tensor<64xf16>
    } {tile.num_stages = 3 : i32}
    tile.store %r to %C : tensor<64xf16> to memref<64xf16>
    gpu.return
  }
"""

#: A schedule that reads its channel in a nested region.
EXECUTE_REGION = """
  gpu.func @k(%A: memref<?x64xf16>, %C: memref<64xf16>, %N: memref<1xi32>) kernel
      attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c5 = arith.constant 5 : index
    %zero = arith.constant dense<0.0> : tensor<64xf16>
    %S = tile.alloc_shared : memref<3x64xf16, #gpu.address_space<workgroup>>
    %ch = tile.channel(%S) {producer = #tile.producer<tma>}
      : memref<3x64xf16, #gpu.address_space<workgroup>> -> !tile.channel<3>
    %p0 = tile.cursor : !tile.cursor<3>
    %r:3 = scf.for %k = %c0 to %c5 step %c1
        iter_args(%acc = %zero, %p = %p0, %q = %p0)
        -> (tensor<64xf16>, !tile.cursor<3>, !tile.cursor<3>) {
      tile.acquire %ch[%p] {tile.stage = 0 : i32, tile.order = 0 : i32}
        : !tile.channel<3>
      %sp = tile.slot %S[%p] : memref<3x64xf16, #gpu.address_space<workgroup>>
        -> memref<64xf16, #gpu.address_space<workgroup>>
      tile.copy %A[%k, 0] [1, 64] to %sp
        {tile.inst = #tile.inst<tma>, tile.stage = 0 : i32, tile.order = 1 : i32}
        : memref<?x64xf16> to memref<64xf16, #gpu.address_space<workgroup>>
      tile.commit %ch[%p] {tile.stage = 0 : i32, tile.order = 2 : i32}
        : !tile.channel<3>
      %p1 = tile.advance %p {tile.stage = 0 : i32, tile.order = 3 : i32}
        : !tile.cursor<3>
      %v = scf.execute_region -> tensor<64xf16> no_inline {
        tile.wait %ch[%q] : !tile.channel<3>
        %sq = tile.slot %S[%q] : memref<3x64xf16, #gpu.address_space<workgroup>>
          -> memref<64xf16, #gpu.address_space<workgroup>>
        %x = tile.load %sq
          : memref<64xf16, #gpu.address_space<workgroup>> -> tensor<64xf16>
        scf.yield %x : tensor<64xf16>
      } {tile.stage = 2 : i32, tile.order = 4 : i32}
      %sum = arith.addf %acc, %v {tile.stage = 2 : i32, tile.order = 5 : i32}
        : tensor<64xf16>
      tile.release %ch[%q] {tile.stage = 2 : i32, tile.order = 6 : i32}
        : !tile.channel<3>
      %q1 = tile.advance %q {tile.stage = 2 : i32, tile.order = 7 : i32}
        : !tile.cursor<3>
      scf.yield %sum, %p1, %q1 : tensor<64xf16>, !tile.cursor<3>, !tile.cursor<3>
    } {tile.num_stages = 3 : i32}
    tile.store %r#0 to %C : tensor<64xf16> to memref<64xf16>
    gpu.return
  }
"""


def parse(text):
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(
            'gpu.module @m [#nvvm.target<chip = "sm_90a">] {' + text + "}"
        )
    random = np.random.default_rng(0)
    return module, [
        random.integers(-3, 4, (9, 64)).astype("f2"),
        np.zeros(64, "f2"),
        np.array([2], "i4"),
    ]


#: The kernel for each number of a remark, and the groups of copies that may be pending
#: at each of its waits.
DECLINED = {
    1: (lambda: sums(divisor=2), [2]),
    2: (lambda: parse(ATOMIC), [2]),
    3: (reads_what_it_writes, [3]),
    4: (lambda: parse(EXECUTE_REGION), [2]),
    5: (lambda: sums(threads=1024), [2]),
    6: (until_it_is_large, [2]),
    7: (lambda: sums(threads=64, registers=True), [2]),
}


def run(module, arguments):
    arrays = [x.copy() if isinstance(x, np.ndarray) else x for x in arguments]
    sim.run(module, None, arrays, 1)
    return [x for x in arrays if isinstance(x, np.ndarray)]


#: The verifier supports no upstream operations with regions except those of scf.
UNVERIFIED = {4}


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(n, marks=[pytest.mark.unverified] if n in UNVERIFIED else [])
        for n in DECLINED
    ],
)
def test_a_cp_async_pipeline_is_kept(number):
    make, pending = DECLINED[number]
    module, arguments = make()
    expected = run(module, arguments)
    remarks = passes.run(module, SCHEDULE)
    assert [r for r in remarks if f"tile-ws-{number:04}: kernel keeps one role" in r]
    text = str(module)
    waits = re.findall(r"tile\.wait .*", text)
    found = [int(x) for wait in waits for x in re.findall(r"pending = (\d+)", wait)]
    assert found == pending
    assert len(waits) == len(pending)
    assert "producer = #tile.producer<cp_async>" in text
    for name in ("inst<tma>", "tile.stage", "tile.num_stages", "tile.role "):
        assert name not in text
    for got, wanted in zip(run(module, arguments), expected, strict=True):
        np.testing.assert_array_equal(got, wanted)
    ptx = compiler.compile_module(module, "sm_90a").ptx
    for count in pending:
        assert f"cp.async.wait_group \t{count};" in ptx


def test_registers_without_roles():
    @tilews.kernel
    def plain(C: tl.Tensor["64, 64", tl.f32]):
        tl.grid(1)
        tl.role_registers(math=232, load=40)
        C[0, 0] = tl.zeros((64, 64), tl.f32)

    remarks = passes.run(plain.build("sm_90a"), "tile-specialize-warps")
    assert re.search(r"tile-ws-0008: .* has no roles to go to", remarks[0])


@pytest.mark.parametrize("stages", [3, None])
def test_the_loop_is_named(stages):
    """The second loop depends on the result of the first one, so it cannot have a load
    role. If the second loop has no stages, the first one gets a load role."""

    @tilews.kernel(threads=128)
    def kernel(A: tl.Tensor["64, K:8", tl.f16], C: tl.Tensor["64, 64", tl.f32]):
        tl.grid(1)
        As = tl.alloc_shared((64, 64), tl.f16)
        Bs = tl.alloc_shared((64, 64), tl.f16)
        acc = tl.zeros((64, 64), tl.f32)
        for k in tl.range(4, num_stages=3):
            tl.copy(A[0, k * 64], As)
            acc = acc + tl.load(As).to(tl.f32)
        if tl.max(acc) > 3.0:
            for k in tl.range(4, num_stages=stages):
                tl.copy(A[0, k * 64], Bs)
                acc = acc * 0.5 + tl.load(Bs).to(tl.f32)
        C[0, 0] = acc

    module = kernel.build("sm_90a")
    expected = run(module, sums()[1])
    remarks = "".join(passes.run(module, SCHEDULE))
    if stages:
        assert "tile-ws-0006" in remarks
        (line,) = re.findall(r"roles\.py:(\d+):\d+: note: needed by this loop", remarks)
        source = pathlib.Path(__file__).read_text().splitlines()
        assert "num_stages=stages" in source[int(line) - 1]
    else:
        assert "tile-ws" not in remarks
        assert str(module).count("tile.role @") == 2
    for timing in simulating.TIMINGS:
        arguments = [x.copy() for x in sums()[1]]
        sim.run(module, None, arguments, **timing)
        for got, wanted in zip(arguments, expected, strict=True):
            np.testing.assert_array_equal(got, wanted)


# --- A loop that cannot be expanded ----------------------------------------------


def test_a_loop_that_is_not_expanded_still_works():
    """The loop waits for all of its copies and keeps no attribute of its plan."""
    module, arguments = parse(ATOMIC.replace("scf.for %k", "scf.for unsigned %k"))
    expected = run(module, arguments)
    remarks = passes.run(module, f"{SCHEDULE},canonicalize")
    assert any("tile-pipe-0014" in remark for remark in remarks)
    text = str(module)
    assert "tile.stage" not in text
    assert "tile.order" not in text
    assert "pending" not in text
    for got, wanted in zip(run(module, arguments), expected, strict=True):
        np.testing.assert_array_equal(got, wanted)
    ptx = compiler.compile_module(module, "sm_90a").ptx
    groups = ptx.count("cp.async.commit_group")
    assert groups == ptx.count("cp.async.wait_group \t0;") > 0


def test_instructions_lost_on_the_way():
    """A copy without TMA or cp.async when its channel is made stays without them."""
    module, arguments = sums()
    expected = run(module, arguments)
    before, after = SCHEDULE.split("tile-multi-version")
    passes.run(module, before.strip(","))
    text = re.sub(r"tile\.inst = #tile\.inst<\w+>, ", "", str(module))
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        passes.run(module, f"tile-multi-version{after}")
        passes.run(module, "tile-verify-schedule")
        compiled = compiler.compile_module(module, "sm_90a")
        assert "inst<cp_async>" not in compiled.mlir("planned")
        assert any("the producer of its channel is" in m for m in compiled.messages)
        for got, wanted in zip(run(module, arguments), expected, strict=True):
            np.testing.assert_array_equal(got, wanted)


# --- The examples of docs/remarks.md ---------------------------------------------

PAGE = pathlib.Path(__file__).parents[3] / "docs/remarks.md"
PREAMBLE, *EXAMPLES = re.findall(
    r"```python\n(.*?)```", PAGE.read_text().split("## Examples")[1], flags=re.S
)


@pytest.mark.parametrize(
    "example", EXAMPLES, ids=lambda e: re.search(r"tile-\S+", e)[0]
)
def test_examples_of_remarks(example, tmp_path):
    body = "".join(f"    {line}\n" for line in example.splitlines())
    path = tmp_path / "example.py"
    path.write_text(f"import tilews\nimport tilews.language as tl\n\n{PREAMBLE}{body}")
    kernel = runpy.run_path(str(path))["kernel"]
    options = dict(re.findall(r"^# (target|threads) (\w+)$", example, flags=re.M))
    threads = int(options.get("threads", 128))
    compiled = kernel.compile(options.get("target", "sm_90a"), threads=threads)
    compiled.mlir("target")
    (wanted,) = re.findall(r"# (tile-\w+-\d{4})", example)
    found = [message for message in compiled.messages if f": {wanted}: " in message]
    assert found, compiled.messages
    if not wanted.startswith("tile-ws"):
        lines = path.read_text().splitlines()
        line = 1 + next(i for i, text in enumerate(lines) if wanted in text)
        assert any(f"example.py:{line}:" in message for message in found), found


def test_every_remark_has_an_example():
    text = PAGE.read_text()
    rows = set(re.findall(r"^\| `(tile-(?:ws|pipe|inst|layout)-\d{4})`", text, re.M))
    assert len(rows) >= 27
    examples = text.split("## Examples")[1]
    assert {row for row in rows if row not in examples} == set()
