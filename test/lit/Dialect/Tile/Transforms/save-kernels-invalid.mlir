// Where no copy helps, a wrong plan is an error as before.
// REQUIRES: test-passes

// A schedule by hand is not planned again.
// RUN: not tilews-opt %s --pass-pipeline='builtin.module(gpu.module(tile-save-kernels,tile-verify-schedule{retry=tilews-schedule}))' 2>&1 | FileCheck %s --check-prefix=HAND
// HAND-NOT: tile-verify-0004
// HAND: error: schedule of @by_hand is wrong: role @math releases slot 0 in phase 0, which it has not waited for
// HAND-NOT: error

// Without a copy there is nothing to plan again.
// RUN: not tilews-opt %s --pass-pipeline='builtin.module(gpu.module(tilews-schedule,test-break-schedule,tile-verify-schedule{retry=tilews-schedule}))' 2>&1 | FileCheck %s --check-prefix=BOTH
// Without passes, too.
// RUN: not tilews-opt %s --pass-pipeline='builtin.module(gpu.module(tile-save-kernels,tilews-schedule,test-break-schedule,tile-verify-schedule))' 2>&1 | FileCheck %s --check-prefix=BOTH
// All steps fail, in a pass: the first verdict is the error, with its notes.
// RUN: not tilews-opt %s --pass-pipeline='builtin.module(gpu.module(tile-save-kernels,tilews-schedule,test-break-schedule,tile-verify-schedule{retry=tile-insert-barriers}))' 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH-NOT: tile-verify-0004
// BOTH: error: schedule of @planned is wrong: role @math releases slot 0 in phase 0, which it has not waited for
// BOTH: note: {{.*}} role @math: tile.load reads slot 0
// BOTH: error: schedule of @by_hand is wrong

!S = memref<2x64xf32, #gpu.address_space<workgroup>>
!s = memref<64xf32, #gpu.address_space<workgroup>>
!c = !tile.cursor<2>

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @planned(%A: memref<?x64xf32>, %C: memref<?x64xf32>, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %as = tile.alloc_shared : !s
    scf.for %i = %c0 to %n step %c1 {
      tile.copy %A[%i, 0] [1, 64] to %as {tile.inst = #tile.inst<tma>} : memref<?x64xf32> to !s
      %a = tile.load %as : !s -> tensor<64xf32>
      tile.store %a to %C[%i, 0] [1, 64] : tensor<64xf32> to memref<?x64xf32>
    } {tile.num_stages = 2 : i32}
    gpu.return
  }

  gpu.func @by_hand(%A: memref<?x64xf32>, %C: memref<?x64xf32>) kernel attributes {tile.threads = 160 : i32} {
    %S = tile.alloc_shared : !S
    %ch = tile.channel(%S) {producer = #tile.producer<tma>} : !S -> !tile.channel<2>
    tile.specialize {
      tile.role @math warps(4) {
        %q = tile.cursor : !c
        %slot = tile.slot %S[%q] : !S -> !s
        %a = tile.load %slot : !s -> tensor<64xf32>
        tile.store %a to %C[0, 0] [1, 64] : tensor<64xf32> to memref<?x64xf32>
        tile.release %ch[%q] : !tile.channel<2>
      }
      tile.role @load warps(1) {
        %p = tile.cursor : !c
        tile.acquire %ch[%p] : !tile.channel<2>
        %slot = tile.slot %S[%p] : !S -> !s
        tile.copy %A[0, 0] [1, 64] to %slot {tile.inst = #tile.inst<tma>} : memref<?x64xf32> to !s
        tile.commit %ch[%p] : !tile.channel<2>
      }
    }
    gpu.return
  }
}
