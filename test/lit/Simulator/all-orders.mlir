// RUN: %python -m tilews.sim %s --grid 1 | FileCheck %s --check-prefix=EARLIEST
// RUN: not %python -m tilews.sim %s --grid 1 --policy exhaustive --save-replay %t.json 2>&1 | FileCheck %s
// RUN: not %python -m tilews.sim %s --replay %t.json 2>&1 | FileCheck %s --check-prefix=REPLAY
// RUN: not %python -m tilews.sim %s --grid 1 --policy exhaustive --runs 1 2>&1 | FileCheck %s --check-prefix=LIMIT

// Role @late waits for the phase before the first, which is over until @arrive completes
// phase 0. Nothing orders the two.

!b = !tile.mbarrier<1>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @k() kernel attributes {tile.threads = 64 : i32} {
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %p = tile.mbarrier {count = 1 : i64} : !b
    tile.mbarrier_ready
    tile.specialize {
      tile.role @late warps(1) {
        tile.mbarrier_wait %p[%i0], %i1 : !b
      }
      tile.role @arrive warps(1) {
        tile.mbarrier_arrive %p[%i0] {by = #tile.agents<thread>} : !b
      }
    }
    gpu.return
  }
}

// EARLIEST: earliest: ran

// CHECK: error: 'tile.mbarrier_wait' op never returns
// CHECK: role @late waits here for the phase of parity 1
// CHECK: seen in run 2 of the search; its schedule is exhaustive:0,0,0:{{[0-9.]+}}

// REPLAY: @k: {{.*}}error: 'tile.mbarrier_wait' op never returns
// REPLAY: role @late waits here for the phase of parity 1

// LIMIT: block (0, 0, 0): 1 runs, not exhausted: more orders are possible
