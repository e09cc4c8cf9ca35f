// RUN: tilews-opt %s --tile-lower-channels | FileCheck %s

// One proxy fence covers all accesses before it, so that the releases of several
// channels need no second one.

#wg = #gpu.address_space<workgroup>
#slot = #tile.shared<(64, 64):(64, 1)>
#slots = #tile.shared<(2, 64, 64):(4096, 64, 1)>
!A = memref<2x64x64xf16, #slots, #wg>
!a = memref<64x64xf16, #slot, #wg>
!acc = tensor<64x64xf32>
!half = tensor<64x64xf16>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @releases(%X: memref<64x64xf16>, %C: memref<64x64xf32>) kernel
      attributes {tile.threads = 160 : i32} {
    %zero = arith.constant dense<0.0> : !acc
    %as = tile.alloc_shared : !A
    %bs = tile.alloc_shared : !A
    %ds = tile.alloc_shared : !A
    %ach = tile.channel(%as) {producer = #tile.producer<tma>, tile.offset = 65536 : i64} : !A -> !channel
    %bch = tile.channel(%bs) {producer = #tile.producer<tma>, tile.offset = 65568 : i64} : !A -> !channel
    %dch = tile.channel(%ds) {producer = #tile.producer<tma>, tile.offset = 65600 : i64} : !A -> !channel
    tile.specialize {
      // CHECK: tile.role @math
      tile.role @math warps(4) {
        %p = tile.cursor : !cursor
        tile.wait %ach[%p] : !channel
        tile.wait %bch[%p] : !channel
        tile.wait %dch[%p] : !channel
        %a = tile.slot %as[%p] : !A -> !a
        %b = tile.slot %bs[%p] : !A -> !a
        %d = tile.slot %ds[%p] : !A -> !a
        // CHECK: tile.gemm
        // CHECK-NEXT: tile.proxy_fence
        // CHECK-NEXT: tile.mbarrier_arrive
        // CHECK-NOT: tile.proxy_fence
        // CHECK: tile.mbarrier_arrive
        %f = tile.gemm %a, %b, %zero {tile.inst = #tile.inst<mma>} : !a, !a -> !acc
        tile.release %ach[%p] : !channel
        %next = tile.advance %p : !cursor
        tile.release %bch[%p] : !channel

        // A load in between needs a fence of its own.
        // CHECK-NEXT: tile.load
        // CHECK-NEXT: tile.proxy_fence
        // CHECK-NEXT: tile.mbarrier_arrive
        %t = tile.load %d : !a -> !half
        tile.release %dch[%p] : !channel

        // After another wait, and before a load from scratch memory, the fence is too
        // early.
        // CHECK: tile.mbarrier_wait
        // CHECK: tile.load
        // CHECK-NEXT: tile.proxy_fence
        // CHECK-NEXT: tile.mbarrier_arrive
        // CHECK-NEXT: tile.scan
        // CHECK-NEXT: tile.proxy_fence
        // CHECK-NEXT: tile.mbarrier_arrive
        tile.wait %ach[%next] : !channel
        %e = tile.slot %as[%next] : !A -> !a
        %u = tile.load %e : !a -> !half
        tile.release %ach[%next] : !channel
        %v = tile.scan <sum> %u {axis = 0 : i64, tile.offset = 65632 : i64} : !half
        tile.release %bch[%next] : !channel
        %w = arith.addf %t, %v : !half
        %x = arith.extf %w : !half to !acc
        %y = arith.addf %x, %f : !acc
        tile.store %y to %C : !acc to memref<64x64xf32>
      }
      tile.role @load warps(1) {
        %p = tile.cursor : !cursor
        %a = tile.slot %as[%p] : !A -> !a
        %b = tile.slot %bs[%p] : !A -> !a
        %d = tile.slot %ds[%p] : !A -> !a
        tile.acquire %ach[%p] : !channel
        tile.copy %X to %a {tile.inst = #tile.inst<tma>} : memref<64x64xf16> to !a
        tile.commit %ach[%p] : !channel
        tile.acquire %bch[%p] : !channel
        tile.copy %X to %b {tile.inst = #tile.inst<tma>} : memref<64x64xf16> to !a
        tile.commit %bch[%p] : !channel
        tile.acquire %dch[%p] : !channel
        tile.copy %X to %d {tile.inst = #tile.inst<tma>} : memref<64x64xf16> to !a
        tile.commit %dch[%p] : !channel
      }
    }
    gpu.return
  }
}
