# ruff: noqa: E501 - operations are on one line each
"""Barriers in the form of ``--tile-lower-channels``, right and broken ones."""

import numpy as np
import pytest

from support.interpreting import SHARED
from tilews import ir, sim

#: One role loads rows of %a into slots by TMA; another role adds them up.
KERNEL = f"""
!Buffer = memref<2x64xf32, {SHARED}>
!slot = memref<64xf32, {SHARED}>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {{
  gpu.func @sum(%a: memref<?x64xf32>, %out: memref<64xf32>, %n: index)
      kernel attributes {{tile.threads = 160 : i32,
                          tile.grid = affine_map<()[n, m] -> (1)>}} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %i2 = arith.constant 2 : i32
    %buffer = tile.alloc_shared : !Buffer
    %full = tile.mbarrier {{count = 1 : i64}} : !tile.mbarrier<2>
    %empty = tile.mbarrier {{count = 4 : i64}} : !tile.mbarrier<2>
    tile.mbarrier_ready
    tile.specialize {{
      tile.role @math warps(4) {{
        %zero = arith.constant dense<0.0> : tensor<64xf32>
        %r:3 = scf.for %i = %c0 to %n step %c1
            iter_args(%s = %zero, %q = %i0, %f = %i0) -> (tensor<64xf32>, i32, i32) {{
          tile.mbarrier_wait %full[%q], %f : !tile.mbarrier<2>
          %slot = tile.slot %buffer[%q] : !Buffer, i32 -> !slot
          %row = tile.load %slot : !slot -> tensor<64xf32>
          tile.proxy_fence
          tile.mbarrier_arrive %empty[%q] {{by = #tile.agents<warps>}}
            : !tile.mbarrier<2>
          %t = arith.addf %s, %row : tensor<64xf32>
          %q1 = arith.addi %q, %i1 : i32
          %wraps = arith.cmpi eq, %q1, %i2 : i32
          %f1 = arith.xori %f, %i1 : i32
          %q2 = arith.select %wraps, %i0, %q1 : i32
          %f2 = arith.select %wraps, %f1, %f : i32
          scf.yield %t, %q2, %f2 : tensor<64xf32>, i32, i32
        }}
        tile.store %r#0 to %out : tensor<64xf32> to memref<64xf32>
      }}
      tile.role @load warps(1) {{
        %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%p = %i0, %f = %i1)
            -> (i32, i32) {{
          tile.mbarrier_wait %empty[%p], %f : !tile.mbarrier<2>
          %slot = tile.slot %buffer[%p] : !Buffer, i32 -> !slot
          tile.copy %a[%i, 0] [1, 64] to %slot signals(%full[%p])
            {{tile.inst = #tile.inst<tma>}}
            : memref<?x64xf32> to !slot, !tile.mbarrier<2>
          tile.mbarrier_arrive %full[%p] {{by = #tile.agents<thread>, bytes = 256 : i64}}
            : !tile.mbarrier<2>
          %p1 = arith.addi %p, %i1 : i32
          %wraps = arith.cmpi eq, %p1, %i2 : i32
          %f1 = arith.xori %f, %i1 : i32
          %p2 = arith.select %wraps, %i0, %p1 : i32
          %f2 = arith.select %wraps, %f1, %f : i32
          scf.yield %p2, %f2 : i32, i32
        }}
      }}
    }}
    gpu.return
  }}
}}
"""
TIMINGS = [
    {"policy": "earliest"},
    {"policy": "latest"},
    *({"policy": "random", "seed": seed} for seed in range(5)),
]


def launch(text, rows=5, **timing):
    """Runs the kernel; returns the sum and the expected sum."""
    a = np.random.default_rng(rows).integers(-9, 9, (rows + 1, 64)).astype("f4")
    out = np.full(64, np.nan, "f4")
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        sim.run(module, "sum", [a, out, rows], 1, **timing)
    return out, a[:rows].sum(axis=0)


def replace(*changes):
    text = KERNEL
    for before, after in changes:
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    return text


@pytest.mark.parametrize("timing", TIMINGS, ids=str)
@pytest.mark.parametrize("rows", [0, 1, 2, 5, 9])
def test_slots_change_hands(rows, timing):
    out, expected = launch(KERNEL, rows, **timing)
    np.testing.assert_array_equal(out, expected)


EXPECT = "tile.mbarrier_arrive %full[%p] {by = #tile.agents<thread>, bytes = 256 : i64}"
BROKEN = {
    "the consumer does not wait": (
        [("tile.mbarrier_wait %full[%q], %f : !tile.mbarrier<2>", "")],
        "reads element .* was never written|to which a copy is under way",
    ),
    "the producer does not wait": (
        [("tile.mbarrier_wait %empty[%p], %f : !tile.mbarrier<2>", "")],
        "copy is under way|orders after a read|expected fewer bytes|arrives 1 times",
    ),
    "the consumer waits for the wrong phase": (
        [
            (
                "iter_args(%s = %zero, %q = %i0, %f = %i0)",
                "iter_args(%s = %zero, %q = %i0, %f = %i1)",
            )
        ],
        "was never written|to which a copy is under way",
    ),
    "the producer waits for the wrong phase": (
        [("iter_args(%p = %i0, %f = %i1)", "iter_args(%p = %i0, %f = %i0)")],
        r"role @load waits here for the phase of parity 0 of the barrier of slot 0, "
        r"which is in phase 0 \(parity 0\): 4 of 4 arrivals missing",
    ),
    "the phase does not change": (
        [("scf.yield %p2, %f2 : i32, i32", "scf.yield %p2, %f : i32, i32")],
        "copy is under way|orders after a read|arrives 1 times|never returns",
    ),
    "a slot too far": (
        [
            (
                "%p2 = arith.select %wraps, %i0, %p1 : i32",
                "%p2 = arith.addi %p, %i1 : i32",
            )
        ],
        "uses the barrier of slot 2, but there are 2",
    ),
    "the wrong slot is read": (
        [("%slot = tile.slot %buffer[%q]", "%slot = tile.slot %buffer[%i0]")],
        "was not waited for|was never written|orders after",
    ),
    "too few bytes are expected": (
        [("bytes = 256", "bytes = 252")],
        "0 of 1 arrivals missing, 4 bytes more landed than expected",
    ),
    "too many bytes are expected": (
        [("bytes = 256", "bytes = 260")],
        "0 of 1 arrivals missing, 4 bytes missing",
    ),
    "no bytes are expected": (
        [(", bytes = 256 : i64", "")],
        "was not waited for|never written|expected fewer bytes|256 bytes more",
    ),
    "too many arrivals": (
        [("tile.mbarrier {count = 4 : i64}", "tile.mbarrier {count = 3 : i64}")],
        "arrives [1-4] times at the barrier of slot [01]",
    ),
    "one thread arrives twice": (
        [(EXPECT, f"{EXPECT} : !tile.mbarrier<2>\n{EXPECT}")],
        "arrives 1 times at the barrier of slot 0|arrivals missing, .* bytes",
    ),
    "too few arrivals": (
        [("{by = #tile.agents<warps>}", "{by = #tile.agents<thread>}")],
        "3 of 4 arrivals missing",
    ),
    "one thread gives back what all have read": (
        [
            ("{by = #tile.agents<warps>}", "{by = #tile.agents<thread>}"),
            ("tile.mbarrier {count = 4 : i64}", "tile.mbarrier {count = 1 : i64}"),
        ],
        "nothing orders after a read of it",
    ),
    "the slot is given back before it is read": (
        [
            (
                "tile.mbarrier_wait %full[%q], %f : !tile.mbarrier<2>",
                "tile.mbarrier_wait %full[%q], %f : !tile.mbarrier<2>\n"
                "tile.mbarrier_arrive %empty[%q] {by = #tile.agents<warps>} "
                ": !tile.mbarrier<2>",
            ),
            (
                "tile.mbarrier_arrive %empty[%q] {by = #tile.agents<warps>}\n"
                "            : !tile.mbarrier<2>",
                "",
            ),
        ],
        "orders after a read of it|copy is under way",
    ),
    "barriers are not ready": (
        [("tile.mbarrier_ready\n", "\n")],
        "uses a barrier whose initialization no tile.mbarrier_ready has made visible",
    ),
    "a copy that nobody waits for": (
        [
            ("tile.mbarrier_wait %full[%q], %f : !tile.mbarrier<2>", ""),
            (
                "%row = tile.load %slot : !slot -> tensor<64xf32>",
                "%row = arith.constant dense<0.0> : tensor<64xf32>",
            ),
        ],
        "was never waited for|copy is under way|role @load waits here",
    ),
    "a parity that is none": (
        [
            (
                "%f1 = arith.xori %f, %i1 : i32\n          %q2",
                "%f1 = arith.addi %f, %i2 : i32\n          %q2",
            )
        ],
        "waits for a phase of parity 2, expected 0 or 1",
    ),
}


@pytest.mark.parametrize("fault", BROKEN)
@pytest.mark.parametrize("timing", TIMINGS[:3], ids=str)
def test_broken_kernels_are_caught(fault, timing):
    changes, message = BROKEN[fault]
    with pytest.raises(sim.SimulationError, match=message):
        launch(replace(*changes), **timing)
