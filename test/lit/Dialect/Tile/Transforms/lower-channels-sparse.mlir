// RUN: tilews-opt %s --tile-lower-channels | FileCheck %s

// Threads read the metadata of a sparse matmul: their loads end at the matmul, and a proxy fence
// comes before the arrival that lets TMA fill the slot again. Lanes of a warp load each for
// itself, so the arrival is not `converged`. Operands need no fence, only the wait.

!as = memref<2x64x64xf16, #gpu.address_space<workgroup>>
!es = memref<2x64x8xi16, #gpu.address_space<workgroup>>
!bs = memref<2x128x64xf16, #gpu.address_space<workgroup>>
!a = memref<64x64xf16, #gpu.address_space<workgroup>>
!e = memref<64x8xi16, #gpu.address_space<workgroup>>
!b = memref<128x64xf16, #gpu.address_space<workgroup>>
!acc = tensor<64x64xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @one_channel(%E: memref<64x?xi16>, %A: memref<64x?xf16>, %B: memref<?x64xf16>, %C: memref<64x64xf32>) kernel
      attributes {tile.threads = 160 : i32} {
    %zero = arith.constant dense<0.0> : !acc
    %as = tile.alloc_shared : !as
    %es = tile.alloc_shared : !es
    %bs = tile.alloc_shared : !bs
    %ch = tile.channel(%as, %es, %bs) {producer = #tile.producer<tma>, tile.offset = 65536 : i64} : !as, !es, !bs -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q = tile.cursor : !cursor
        tile.wait %ch[%q] : !channel
        %a = tile.slot %as[%q] : !as -> !a
        %e = tile.slot %es[%q] : !es -> !e
        %b = tile.slot %bs[%q] : !bs -> !b
        %d = tile.gemm_sp %a, %e, %b, %zero {async, tile.inst = #tile.inst<wgmma>} : !a, !e, !b -> !acc
        // CHECK: tile.role @math
        // CHECK: %[[D:.*]] = tile.gemm_sp
        // CHECK-NEXT: tile.gemm_wait %[[D]]
        // CHECK-NEXT: tile.proxy_fence
        // CHECK-NEXT: tile.mbarrier_arrive %{{.*}} {by = #tile.agents<warps>} : !tile.mbarrier<2>
        %f = tile.gemm_wait %d : !acc
        tile.release %ch[%q] : !channel
        tile.store %f to %C : !acc to memref<64x64xf32>
      }
      tile.role @load warps(1) {
        %c0 = arith.constant 0 : index
        %p = tile.cursor : !cursor
        tile.acquire %ch[%p] : !channel
        %a = tile.slot %as[%p] : !as -> !a
        %e = tile.slot %es[%p] : !es -> !e
        %b = tile.slot %bs[%p] : !bs -> !b
        tile.copy %A[0, %c0] to %a {tile.inst = #tile.inst<tma>} : memref<64x?xf16> to !a
        tile.copy %E[0, %c0] to %e {tile.inst = #tile.inst<tma>} : memref<64x?xi16> to !e
        tile.copy %B[%c0, 0] to %b {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to !b
        tile.commit %ch[%p] : !channel
      }
    }
    gpu.return
  }

  // The metadata alone has a channel: it is free once the matmul has started. No thread reads
  // the operands, so their arrival needs no fence.
  // CHECK-LABEL: gpu.func @two_channels
  gpu.func @two_channels(%E: memref<64x?xi16>, %A: memref<64x?xf16>, %B: memref<?x64xf16>, %C: memref<64x64xf32>) kernel
      attributes {tile.threads = 160 : i32} {
    %zero = arith.constant dense<0.0> : !acc
    %as = tile.alloc_shared : !as
    %es = tile.alloc_shared : !es
    %bs = tile.alloc_shared : !bs
    %ch = tile.channel(%as, %bs) {producer = #tile.producer<tma>, tile.offset = 65536 : i64} : !as, !bs -> !channel
    %eh = tile.channel(%es) {producer = #tile.producer<tma>, tile.offset = 65568 : i64} : !es -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q = tile.cursor : !cursor
        tile.wait %ch[%q] : !channel
        tile.wait %eh[%q] : !channel
        %a = tile.slot %as[%q] : !as -> !a
        %e = tile.slot %es[%q] : !es -> !e
        %b = tile.slot %bs[%q] : !bs -> !b
        // CHECK: %[[D:.*]] = tile.gemm_sp
        // CHECK-NEXT: tile.proxy_fence
        // CHECK-NEXT: tile.mbarrier_arrive %{{.*}} {by = #tile.agents<warps>} : !tile.mbarrier<2>
        // CHECK-NEXT: tile.gemm_wait %[[D]]
        // CHECK-NEXT: tile.mbarrier_arrive %{{.*}} {by = #tile.agents<warps>, converged} : !tile.mbarrier<2>
        %d = tile.gemm_sp %a, %e, %b, %zero {async, tile.inst = #tile.inst<wgmma>} : !a, !e, !b -> !acc
        tile.release %eh[%q] : !channel
        %f = tile.gemm_wait %d : !acc
        tile.release %ch[%q] : !channel
        tile.store %f to %C : !acc to memref<64x64xf32>
      }
      tile.role @load warps(1) {
        %c0 = arith.constant 0 : index
        %p = tile.cursor : !cursor
        tile.acquire %eh[%p] : !channel
        %e = tile.slot %es[%p] : !es -> !e
        tile.copy %E[0, %c0] to %e {tile.inst = #tile.inst<tma>} : memref<64x?xi16> to !e
        tile.commit %eh[%p] : !channel
        tile.acquire %ch[%p] : !channel
        %a = tile.slot %as[%p] : !as -> !a
        %b = tile.slot %bs[%p] : !bs -> !b
        tile.copy %A[0, %c0] to %a {tile.inst = #tile.inst<tma>} : memref<64x?xf16> to !a
        tile.copy %B[%c0, 0] to %b {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to !b
        tile.commit %ch[%p] : !channel
      }
    }
    gpu.return
  }
}
