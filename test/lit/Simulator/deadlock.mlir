// RUN: not %python -m tilews.sim %s --arg n=3 --grid 1 2>&1 | FileCheck %s

// The report of a deadlock lists the barrier that each role waits for, the arrivals
// that are missing there, and the roles that should have made them.

!slot = memref<64xf32, #gpu.address_space<workgroup>>
!buffer = memref<2x64xf32, #gpu.address_space<workgroup>>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @k(%a: memref<4x64xf32>, %n: index {tile.name = "n"})
      kernel attributes {tile.threads = 64 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %b = tile.alloc_shared : !buffer
    %ch = tile.channel(%b) {producer = #tile.producer<simt>} : !buffer -> !tile.channel<2>
    tile.specialize {
      tile.role @math warps(1) {
        %q0 = tile.cursor : !tile.cursor<2>
        scf.for %i = %c0 to %n step %c1 iter_args(%q = %q0) -> !tile.cursor<2> {
          tile.wait %ch[%q] : !tile.channel<2>
          %next = tile.advance %q : !tile.cursor<2>
          scf.yield %next : !tile.cursor<2>
        }
        tile.release %ch[%q0] : !tile.channel<2>
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !tile.cursor<2>
        scf.for %i = %c0 to %n step %c1 iter_args(%p = %p0) -> !tile.cursor<2> {
          tile.acquire %ch[%p] : !tile.channel<2>
          %slot = tile.slot %b[%p] : !buffer -> !slot
          tile.copy %a[%i, 0] [1, 64] to %slot : memref<4x64xf32> to !slot
          tile.commit %ch[%p] : !tile.channel<2>
          %next = tile.advance %p : !tile.cursor<2>
          scf.yield %next : !tile.cursor<2>
        }
      }
    }
    gpu.return
  }
}

// CHECK: deadlock.mlir:19:{{.*}}'tile.wait' op never returns
// CHECK: deadlock.mlir:19:{{.*}} role @math waits here for the phase of parity 1 of the 'full' barrier of slot 0, which is in phase 1 (parity 1): 1 of 1 arrivals missing
// CHECK: deadlock.mlir:31:{{.*}} role @load arrives at that barrier here
// CHECK: deadlock.mlir:28:{{.*}} role @load waits here for the phase of parity 0 of the 'empty' barrier of slot 0, which is in phase 0 (parity 0): 1 of 1 arrivals missing
// CHECK: deadlock.mlir:23:{{.*}} role @math arrives at that barrier here
