// RUN: tilews-opt %s --tile-plan-shared-memory --tile-insert-barriers | FileCheck %s
// A second run changes nothing.
// RUN: tilews-opt %s --tile-plan-shared-memory --tile-insert-barriers -o %t.once
// RUN: tilews-opt %t.once --tile-insert-barriers | diff - %t.once

#wg = #gpu.address_space<workgroup>
#slots = #tile.shared<(2, 64, 64):(4096, 64, 1)>
#slot = #tile.shared<(64, 64):(64, 1)>
!S = memref<2x64x64xf16, #slots, #wg>
!a = memref<64x64xf16, #slot, #wg>

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // Threads write before the roles to bytes that TMA overwrites: the barrier before the
  // roles is a fence, too.
  // CHECK-LABEL: gpu.func @reuse
  // CHECK: tile.alloc_shared {tile.offset = 0 : i64} : memref<64x64xf16
  // CHECK: tile.alloc_shared {tile.offset = 0 : i64} : memref<2x64x64xf16
  // CHECK: tile.copy %arg0
  // CHECK-NEXT: tile.barrier {drain_copies}
  // CHECK-NEXT: tile.load
  // CHECK-NEXT: tile.store
  // CHECK-NEXT: tile.barrier {proxy_fence}
  // CHECK-NEXT: tile.specialize
  // CHECK-NOT: tile.barrier
  gpu.func @reuse(%A: memref<64x64xf16>, %C: memref<64x64xf16>) kernel
      attributes {tile.threads = 160 : i32} {
    %Before = tile.alloc_shared : !a
    %S = tile.alloc_shared : !S
    %ch = tile.channel(%S) {producer = #tile.producer<tma>} : !S -> !tile.channel<2>
    tile.copy %A to %Before {tile.inst = #tile.inst<cp_async>} : memref<64x64xf16> to !a
    %t = tile.load %Before : !a -> tensor<64x64xf16>
    tile.store %t to %C : tensor<64x64xf16> to memref<64x64xf16>
    tile.specialize {
      tile.role @math warps(4) {
        %q = tile.cursor : !tile.cursor<2>
        tile.wait %ch[%q] : !tile.channel<2>
        %s = tile.slot %S[%q] : !S -> !a
        tile.copy %s to %C {tile.inst = #tile.inst<simt>} : !a to memref<64x64xf16>
        tile.release %ch[%q] : !tile.channel<2>
      }
      tile.role @load warps(1) {
        %p = tile.cursor : !tile.cursor<2>
        tile.acquire %ch[%p] : !tile.channel<2>
        %s = tile.slot %S[%p] : !S -> !a
        tile.copy %A to %s {tile.inst = #tile.inst<tma>} : memref<64x64xf16> to !a
        tile.commit %ch[%p] : !tile.channel<2>
      }
    }
    gpu.return
  }
}
