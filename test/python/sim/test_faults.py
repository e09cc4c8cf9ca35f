"""Schedules that are broken on purpose, and the simulator's errors."""

import re

import numpy as np
import pytest

import tilews
import tilews.language as tl
from support import simulating
from support.interpreting import SHARED
from tilews import ir, passmanager, sim

TIMINGS = simulating.TIMINGS[:3]


@tilews.kernel(threads=128)
def gemm(
    A: tl.Tensor["64, 256", tl.f16],
    B: tl.Tensor["256, 64", tl.f32],
    C: tl.Tensor["64, 64", tl.f16],
    STAGES: tl.constexpr = 2,
):
    """TMA copies one operand, ordinary stores the other; wgmma multiplies."""
    tl.grid(1)
    As = tl.alloc_shared((64, 64), tl.f16)
    Bs = tl.alloc_shared((64, 64), tl.f16)
    Cs = tl.alloc_shared((64, 64), tl.f16)
    acc = tl.zeros((64, 64), tl.f32)
    for k in tl.range(4, num_stages=STAGES):
        tl.copy(A[0, k * 64], As)
        tl.store(tl.load(B[k * 64, 0], (64, 64)).to(tl.f16), Bs)
        acc = tl.gemm(As, Bs, acc)
    tl.store(acc.to(tl.f16), Cs)
    tl.copy(Cs, C)


def lower(target, passes, **constants):
    """The text of the kernel after `passes`, with an operation on each line."""
    module = gemm.build(target, **constants)
    with module.context:
        pipeline = f"builtin.module(gpu.module({passes}))"
        passmanager.PassManager.parse(pipeline).run(module.operation)
    return str(module)


def launch(text, **options):
    random = np.random.default_rng(0)
    a = random.integers(-3, 4, (64, 256)).astype("f2")
    b = random.integers(-3, 4, (256, 64)).astype("f4")
    c = np.zeros((64, 64), "f2")
    with ir.Context(), ir.Location.unknown():
        sim.run(ir.Module.parse(text), None, [a, b, c], **options)
    return c, (a.astype("f4") @ b).astype("f2")


def without(text, pattern, count=1):
    """`text` without the first lines that match `pattern`."""
    for _ in range(count):
        lines = text.split("\n")
        index = next(i for i, line in enumerate(lines) if re.search(pattern, line))
        text = "\n".join(lines[:index] + lines[index + 1 :])
    return text


def moved(text, pattern, before):
    """`text` with the line that matches `pattern` moved before another one."""
    lines = text.split("\n")
    index = next(i for i, line in enumerate(lines) if re.search(pattern, line))
    line = lines.pop(index)
    target = next(i for i, line in enumerate(lines) if re.search(before, line))
    return "\n".join([*lines[:target], line, *lines[target:]])


def changed(text, before, after):
    assert text.count(before) >= 1, before
    return text.replace(before, after)


#: Edits of the kernel with roles, and the simulator's errors.
SPECIALIZED = {
    "the consumer does not wait": (
        lambda text: without(text, "tile.wait "),
        "never written|copy is under way that was not waited for",
    ),
    "the producer does not wait": (
        lambda text: without(text, "tile.acquire"),
        "copy is under way|nothing orders after a read",
    ),
    "nothing is given back": (
        lambda text: without(text, "tile.release"),
        "role @load waits here for the phase of parity 0 of the 'empty' barrier",
    ),
    "nothing is completed": (
        lambda text: without(text, "tile.commit"),
        "role @math waits here for the phase of parity 0 of the 'full' barrier of "
        "slot 0, which is in phase 0",
    ),
    "completed before it is stored": (
        lambda text: moved(text, "tile.commit", "tile.store .* to %10"),
        "never written|orders after a (read|write)|was not waited for",
    ),
    "a matmul reads what was given back": (
        lambda text: changed(text, "{pending = 1 : i64}", "{pending = 2 : i64}"),
        "copy|starts a matmul here that reads it until it is waited for",
    ),
    "a matmul is not waited for": (
        lambda text: changed(
            text,
            "tile.gemm_wait %5#0 :",
            "tile.gemm_wait %5#0 {pending = 1 : i64} :",
        ),
        "lets the last 1 matmuls be in flight, of which one has yet to write",
    ),
    "the wrong slot": (
        lambda text: re.sub(r"= tile.slot %0\[%arg5\]", "= tile.slot %0[%4]", text),
        "never written|copy is under way|orders after",
    ),
    "the cursor stays": (
        lambda text: changed(
            text, "scf.yield %11 : !tile.cursor<2>", "scf.yield %arg4 : !tile.cursor<2>"
        ),
        "waits here for the phase|copy is under way|orders after",
    ),
    "threads do not synchronize": (
        lambda text: without(text, "tile.barrier"),
        "reads element .* which nothing orders after a write of it by other threads; "
        "expected a tile.barrier",
    ),
}


@pytest.fixture(scope="module")
def specialized():
    return lower("sm_90a", simulating.PHASES["laid-out"])


@pytest.mark.parametrize("timing", simulating.TIMINGS, ids=str)
def test_the_specialized_kernel_is_right(specialized, timing):
    found, expected = launch(specialized, **timing)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("timing", TIMINGS, ids=str)
@pytest.mark.parametrize("fault", SPECIALIZED)
def test_faults_of_the_specialized_kernel(specialized, fault, timing):
    change, message = SPECIALIZED[fault]
    broken = change(specialized)
    assert broken != specialized
    with pytest.raises(sim.SimulationError, match=message):
        launch(broken, barriers="explicit", **timing)


#: Edits of the kernel without roles, and the simulator's errors.
EXPANDED = {
    "groups are waited for too late": (
        lambda text: re.sub(
            r"pending = (\d+)", lambda match: f"pending = {int(match[1]) + 1}", text
        ),
        "copy is under way that was not waited for",
    ),
    "groups are not closed": (
        lambda text: without(text, "tile.commit_group", 2),
        "copy is under way that was not waited for",
    ),
    "threads do not synchronize": (
        lambda text: without(text, r"tile.wait "),
        "copy is under way that was not waited for|by other threads; expected",
    ),
}


@pytest.mark.parametrize("timing", TIMINGS, ids=str)
@pytest.mark.parametrize("fault", EXPANDED)
def test_faults_of_the_expanded_kernel(fault, timing):
    text = lower("sm_80", simulating.PHASES["laid-out"], STAGES=3)
    np.testing.assert_array_equal(*launch(text, **timing))
    change, message = EXPANDED[fault]
    with pytest.raises(sim.SimulationError, match=message):
        launch(change(text), barriers="explicit", **timing)


UNSCHEDULED = (
    "tile-annotate-instructions,tile-infer-layouts,tile-plan-shared-memory,"
    "tile-insert-barriers"
)


@pytest.mark.parametrize("timing", TIMINGS, ids=str)
def test_slots_that_are_filled_while_others_read_them(timing):
    """Without roles, barriers order accesses; releases and acquires do not."""
    case = simulating.find_case("guard-random-s2")
    text = str(simulating.lower(case, "sm_80", simulating.PHASES["laid-out"]))
    broken = without(text, r"tile\.barrier")
    with ir.Context(), ir.Location.unknown():
        simulating.simulate(case, ir.Module.parse(text), **timing)
        with pytest.raises(
            sim.SimulationError, match=r"writes element .* orders after a read"
        ):
            module = ir.Module.parse(broken)
            simulating.simulate(case, module, barriers="explicit", **timing)


def test_a_missing_fence_and_a_missing_barrier():
    """A kernel without a pipeline: stores, a barrier with a fence, wgmma."""
    text = lower("sm_90a", UNSCHEDULED)
    np.testing.assert_array_equal(*launch(text))
    assert "proxy_fence" in text
    for match in re.finditer(r"tile\.barrier(.*)", text):
        weak = text[: match.start()] + "tile.barrier" + text[match.end() :]
        gone = text[: match.start()] + text[match.end() :]
        if "proxy_fence" in match[1]:
            with pytest.raises(sim.SimulationError, match=r"no tile\.proxy_fence has"):
                launch(weak)
        with pytest.raises(
            sim.SimulationError, match=r"expected a tile\.barrier|proxy"
        ):
            launch(gone, barriers="explicit")


#: One role changes the mask that guards the work of another role.
GUARD = """
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @k(%mask: memref<4xi1>, %out: memref<4xf32>)
      kernel attributes {tile.threads = 64 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %true = arith.constant true
    %one = arith.constant 1.0 : f32
    tile.specialize {
      tile.role @first warps(1) {
        scf.for %i = %c0 to %c4 step %c1 {
          memref.store %true, %mask[%i] : memref<4xi1>
        }
      }
      tile.role @second warps(1) {
        scf.for %i = %c0 to %c4 step %c1 {
          %on = memref.load %mask[%i] : memref<4xi1>
          scf.if %on {
            memref.store %one, %out[%i] : memref<4xf32>
          }
        }
      }
    }
    gpu.return
  }
}
"""


@pytest.mark.parametrize("timing", TIMINGS, ids=str)
def test_a_guard_that_another_role_changes(timing):
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(GUARD)
        with pytest.raises(
            sim.SimulationError,
            match=r"element \(0\) of global memory, which nothing orders after a",
        ):
            sim.run(module, None, [np.zeros(4, bool), np.zeros(4, "f4")], 1, **timing)


#: The condition of the loop reads the channel's buffer without a wait.
SEARCH = f"""
!Buffer = memref<2x16xi32, {SHARED}>
!slot = memref<16xi32, {SHARED}>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {{
  gpu.func @search(%a: memref<?x16xi32>, %out: memref<1xi32>)
      kernel attributes {{tile.threads = 64 : i32}} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %a, %c0 : memref<?x16xi32>
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %buffer = tile.alloc_shared : !Buffer
    %ch = tile.channel(%buffer) {{producer = #tile.producer<simt>}}
      : !Buffer -> !tile.channel<2>
    tile.specialize {{
      tile.role @load warps(1) {{
        %p0 = tile.cursor : !tile.cursor<2>
        scf.for %i = %c0 to %n step %c1 iter_args(%p = %p0) -> !tile.cursor<2> {{
          tile.acquire %ch[%p] : !tile.channel<2>
          %slot = tile.slot %buffer[%p] : !Buffer, !tile.cursor<2> -> !slot
          tile.copy %a[%i, 0] [1, 16] to %slot : memref<?x16xi32> to !slot
          tile.commit %ch[%p] : !tile.channel<2>
          %next = tile.advance %p : !tile.cursor<2>
          scf.yield %next : !tile.cursor<2>
        }}
      }}
      tile.role @math warps(1) {{
        %q0 = tile.cursor : !tile.cursor<2>
        %r:2 = scf.while (%q = %q0, %found = %i0)
            : (!tile.cursor<2>, i32) -> (!tile.cursor<2>, i32) {{
          {{wait}}
          %slot = tile.slot %buffer[%q] : !Buffer, !tile.cursor<2> -> !slot
          %value = memref.load %slot[%c0] : !slot
          %goes = arith.cmpi sgt, %value, %i0 : i32
          %sum = arith.addi %found, %value : i32
          scf.condition(%goes) %q, %sum : !tile.cursor<2>, i32
        }} do {{
        ^bb0(%q: !tile.cursor<2>, %found: i32):
          tile.wait %ch[%q] : !tile.channel<2>
          tile.release %ch[%q] : !tile.channel<2>
          %next = tile.advance %q : !tile.cursor<2>
          scf.yield %next, %found : !tile.cursor<2>, i32
        }}
        memref.store %r#1, %out[%c0] : memref<1xi32>
      }}
    }}
    gpu.return
  }}
}}
""".replace("!Buffer, !tile.cursor<2> -> !slot", "!Buffer -> !slot")


@pytest.mark.parametrize("timing", TIMINGS, ids=str)
@pytest.mark.parametrize("wait", [False, True])
def test_a_condition_that_reads_what_has_yet_to_arrive(wait, timing):
    a = np.arange(3, 0, -1)[:, None] * np.ones((1, 16), int)
    a = np.append(a, [[0] * 16], axis=0).astype("i4")
    out = np.zeros(1, "i4")
    first = "tile.wait %ch[%q] : !tile.channel<2>" if wait else ""
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(SEARCH.replace("{wait}", first))
        if wait:
            sim.run(module, None, [a, out], 1, **timing)
            assert out == 6
            return
        with pytest.raises(
            sim.SimulationError,
            match=r"reads element .*(never written|orders after a write)",
        ):
            sim.run(module, None, [a, out], 1, **timing)


PRODUCT = """
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @reuse(%A: memref<64x64xf16>, %B: memref<64x64xf16>, %C: memref<64x64xf16>)
      kernel attributes {tile.threads = 128 : i32} {
    %as = tile.alloc_shared : memref<64x64xf16, #gpu.address_space<workgroup>>
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %first = tile.load %A[0, 0] : memref<64x64xf16> -> tensor<64x64xf16>
    tile.store %first to %as : tensor<64x64xf16>
        to memref<64x64xf16, #gpu.address_space<workgroup>>
    BARRIER
    %acc = tile.gemm %as, %as, %zero {async, tile.inst = #tile.inst<wgmma>}
        : memref<64x64xf16, #gpu.address_space<workgroup>>,
          memref<64x64xf16, #gpu.address_space<workgroup>> -> tensor<64x64xf32>
    %second = tile.load %B[0, 0] : memref<64x64xf16> -> tensor<64x64xf16>
    tile.store %second to %as : tensor<64x64xf16>
        to memref<64x64xf16, #gpu.address_space<workgroup>>
    %sum = tile.gemm_wait %acc {pending = 0 : i64} : tensor<64x64xf32>
    %half = arith.truncf %sum : tensor<64x64xf32> to tensor<64x64xf16>
    tile.store %half to %C[0, 0] : tensor<64x64xf16> to memref<64x64xf16>
    gpu.return
  }
}
"""


def run_product(barrier, **options):
    a, b = np.full((64, 64), 2, "f2"), np.full((64, 64), 3, "f2")
    c = np.zeros((64, 64), "f2")
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(PRODUCT.replace("BARRIER", barrier))
        sim.run(module, None, [a, b, c], 1, **options)
    return c


@pytest.mark.parametrize("timing", TIMINGS, ids=str)
def test_a_matmul_has_read_before_its_role_overwrites_once_barriers_say_so(timing):
    """Without explicit barriers, the operations of one role are in order."""
    assert (run_product("", **timing) == 256).all()
    with pytest.raises(sim.SimulationError, match="matmul here that reads it"):
        run_product("tile.barrier {proxy_fence}", **timing)
