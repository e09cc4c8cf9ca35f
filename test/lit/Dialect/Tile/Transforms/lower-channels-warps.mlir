// RUN: tilews-opt %s --tile-lower-channels | FileCheck %s
// RUN: tilews-opt %s --tile-lower-channels --tile-verify-schedule

// Producers of several warps.

#wg = #gpu.address_space<workgroup>
!A = memref<1x64x64xf16, #wg>
!a = memref<64x64xf16, #wg>

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // The role copies and stores. One of its threads commits, so all of its warps have to
  // wait first.
  // CHECK-LABEL: gpu.func @warps_wait
  // CHECK: tile.role @load warps(2) {
  // CHECK: tile.mbarrier_wait
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: tile.copy
  // CHECK-NEXT: tile.mbarrier_arrive %{{.*}} {by = #tile.agents<thread>, bytes = 8192 : i64}
  // CHECK: tile.role @math
  // CHECK: tile.mbarrier_wait
  // CHECK-NOT: tile.barrier
  gpu.func @warps_wait(%X: memref<64x64xf16>, %C: memref<64x64xf16>) kernel
      attributes {tile.threads = 96 : i32} {
    %As = tile.alloc_shared : !A
    %ch = tile.channel(%As) {producer = #tile.producer<tma>} : !A -> !tile.channel<1>
    tile.specialize {
      tile.role @load warps(2) {
        %p = tile.cursor : !tile.cursor<1>
        %a = tile.slot %As[%p] : !A -> !a
        tile.acquire %ch[%p] : !tile.channel<1>
        tile.copy %X to %a {tile.inst = #tile.inst<tma>} : memref<64x64xf16> to !a
        tile.commit %ch[%p] : !tile.channel<1>
        %t = arith.constant dense<1.0> : tensor<64x64xf16>
        tile.store %t to %C : tensor<64x64xf16> to memref<64x64xf16>
      }
      tile.role @math warps(1) {
        %q = tile.cursor : !tile.cursor<1>
        %a = tile.slot %As[%q] : !A -> !a
        tile.wait %ch[%q] : !tile.channel<1>
        %t = tile.load %a : !a -> tensor<64x64xf16>
        tile.release %ch[%q] : !tile.channel<1>
      }
    }
    gpu.return
  }
}
