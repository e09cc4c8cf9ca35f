"""Kernels whose arguments overlap: the compiled forms compute what is written.

Each kernel reads ``A`` and writes ``C``, which is the same memory or a part of it.
"""

import re

import numpy as np
import pytest

import tilews
import tilews.language as tl
from support.simulating import TIMINGS
from tilews import ir, passes, sim


@tilews.kernel
def shift(A: tl.Tensor["64, K:64", tl.f16], C: tl.Tensor["64, K:64", tl.f16]):
    tl.may_alias(A, C)
    tl.grid(1)
    As = tl.alloc_shared((64, 64), tl.f16)
    for k in tl.range(tl.cdiv(A.shape[1], 64), num_stages=3):
        tl.copy(A[0, k * 64], As)
        C[0, k * 64 + 64] = tl.load(As) + 1.0


@tilews.kernel
def rows(A: tl.Tensor["M, K:64", tl.f16], C: tl.Tensor["M, K:64", tl.f16]):
    """Each row of tiles is the sum of the row before; its store is after the loop."""
    tl.may_alias(C, A)
    tl.grid(1)
    As = tl.alloc_shared((64, 64), tl.f16)
    for m in tl.range(tl.cdiv(A.shape[0], 64)):
        acc = tl.zeros((64, 64), tl.f16)
        for k in tl.range(tl.cdiv(A.shape[1], 64), num_stages=3):
            tl.copy(A[m * 64, k * 64], As)
            acc = acc + tl.load(As)
        C[m * 64 + 64, 0] = acc


@tilews.kernel
def indices(
    A: tl.Tensor["K", tl.i32],
    C: tl.Tensor["K", tl.i32],
    X: tl.Tensor["R, 64", tl.f32],
    Y: tl.Tensor["R, 64", tl.f32],
):
    tl.may_alias(A, C)
    tl.grid(1)
    Xs = tl.alloc_shared((16, 64), tl.f32)
    for k in tl.range(tl.cdiv(A.shape[0], 16), num_stages=2):
        row = tl.load(A[k])
        tl.copy(X[row, 0], Xs)
        tl.store(k + 1, C[k + 1])
        Y[k * 16, 0] = tl.load(Xs)


@tilews.kernel
def transposed(A: tl.Tensor["64, 64", tl.f32], C: tl.Tensor["64, 64", tl.f32]):
    tl.may_alias(A, C)
    tl.grid(1)
    C[0, 0] = tl.load(A) + 1.0
    C[0, 0] = tl.load(A).T


@tilews.kernel
def staged(A: tl.Tensor["M, 64", tl.f32], C: tl.Tensor["M, 64", tl.f32]):
    tl.may_alias(A, C)
    for m in tl.persistent(tl.cdiv(A.shape[0], 64)):
        C[m * 64, 0] = tl.load(A[(m + 1) * 64, 0], (64, 64)) + 1.0


def shared(*shape, dtype):
    """Two arrays that are the same memory."""
    array = (np.arange(np.prod(shape)).reshape(shape) * 5 + 3) % 7
    array = array.astype(dtype)
    return [array, array]


def tables():
    x = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
    return [*shared(64, dtype=np.int32), x, np.zeros_like(x)]


CASES = {
    "shift": (shift, lambda: shared(64, 256, dtype=np.float16)),
    "rows": (rows, lambda: shared(256, 128, dtype=np.float16)),
    "indices": (indices, tables),
    "transposed": (transposed, lambda: shared(64, 64, dtype=np.float32)),
    "staged": (staged, lambda: shared(256, 64, dtype=np.float32)),
}
#: What the compiler declines because of the declaration, and for which argument.
REMARKS = {
    ("shift", "sm_80"): "tile-pipe-0003.*: 'C' may overlap 'A'",
    ("shift", "sm_90a"): "tile-pipe-0003.*: 'C' may overlap 'A'",
    ("rows", "sm_90a"): "tile-ws-0003.*: 'C' may overlap 'A'",
    ("indices", "sm_80"): "tile-pipe-0004.*: 'C' may overlap 'A'",
}
FORMS = ("tile", "planned", "laid_out", "barriers")


def run(text, arguments, **options):
    with ir.Context():
        module = ir.Module.parse(text)
        sim.run(module, None, arguments, grid=(1,), **options)
    return arguments


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "gfx942"])
@pytest.mark.parametrize("name", CASES)
def test_overlapping_arguments_compute_the_same(name, target):
    kernel, make = CASES[name]
    expected = run(kernel.mlir(target), make())
    compiled = kernel.compile(target)
    for form in FORMS:
        text = compiled.mlir(form)
        for timing in TIMINGS[:3]:
            arguments = run(text, make(), **timing)
            for found, wanted in zip(arguments, expected, strict=True):
                np.testing.assert_array_equal(found, wanted, err_msg=form)


@pytest.mark.parametrize("name", ["shift", "rows"])
def test_no_pass_changes_what_overlapping_arguments_hold(name):
    kernel, make = CASES[name]
    module = kernel.build("sm_90a")
    pipeline = "tilews-to-nvvm{chip=sm_90a}"
    assert sim.differential(module, None, make(), pipeline, grid=(1,)) is None


def test_copies_of_arguments_overlap_likewise():
    memory = np.arange(40, dtype="i4")
    arrays = [memory[:10], memory[20:30], 3, memory[4:24:2], memory[:0], memory[30:]]
    copies = sim._run.copy_arrays(arrays)
    for copy, array in zip(copies, arrays, strict=True):
        np.testing.assert_array_equal(copy, array)
        assert not np.shares_memory(copy, memory)
    copies[0][4], copies[1][2] = 77, 88
    assert copies[3][0] == 77
    assert copies[3][9] == 88
    assert not any(np.shares_memory(copies[5], copy) for copy in copies[:5])


@pytest.mark.parametrize(("name", "target"), REMARKS)
def test_the_remark_names_the_overlap(name, target):
    messages = "\n".join(CASES[name][0].compile(target).messages)
    assert re.search(REMARKS[name, target] + r" \(tile.may_alias\)", messages)


@pytest.mark.parametrize(("name", "target"), REMARKS)
def test_without_the_declaration_copies_run_ahead(name, target):
    """Then overlapping arguments are a fault: the test above can fail."""
    kernel, make = CASES[name]
    expected = run(kernel.mlir(target), make())
    text = re.sub(r"tile.may_alias = \[.*?\], ", "", kernel.mlir(target))
    assert "may_alias" not in text
    arguments = make()
    with pytest.raises(sim.SimulationError, match="'C' and 'A': expected arrays that"):
        run(text, arguments)
    with ir.Context():
        module = ir.Module.parse(text)
        remarks = passes.run(module, ",".join(_schedule(target)))
        assert not [line for line in remarks if "tile-pipe-000" in line]
        lowered = str(module)
    # The declaration after the fact only lets the simulator accept the arguments.
    allowed = "tile.may_alias = [array<i32: 0, 1>]"
    lowered = lowered.replace("kernel attributes {", f"kernel attributes {{{allowed}, ")
    try:
        found = run(lowered, arguments, policy="earliest")
    except sim.SimulationError as error:
        assert "of global memory, which nothing orders after a" in str(error)
    else:
        assert not all(map(np.array_equal, found, expected))


def _schedule(target):
    steps = passes.expand("tilews-to-nvvm")
    last = next(i for i, step in enumerate(steps) if step.startswith("tile-expand"))
    return [f"tile-set-target{{chip={target}}}", *steps[1 : last + 1]]


def test_barriers_order_the_overlapping_accesses():
    declared = transposed.compile("sm_80").mlir("barriers")
    assert declared.count("tile.barrier") == 2


def test_the_simulator_finds_a_missing_barrier():
    _, make = CASES["transposed"]
    text = transposed.compile("sm_80").mlir("barriers")
    text = re.sub(r"tile.barrier( {.*})?", "", text, count=1)
    with pytest.raises(sim.SimulationError, match="of global memory, which nothing"):
        run(text, make(), barriers="explicit")


def test_a_store_is_not_staged_where_its_memory_is_read():
    compiled = staged.compile("sm_90a").mlir("barriers")
    assert "inst<tma>" not in compiled
