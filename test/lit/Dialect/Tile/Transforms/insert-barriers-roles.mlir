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

  // A barrier in a role is for its own threads: the body needs one of its own after the
  // roles, for what a role has stored to global memory (C), and for what the body stored
  // before the roles (D).
  // CHECK-LABEL: gpu.func @loads_after_roles
  // CHECK: tile.role @write
  // CHECK: tile.store {{.*}} to %arg1
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: tile.load %arg1
  // CHECK: tile.role @other
  // CHECK-NEXT: }
  // CHECK-NEXT: }
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: tile.load %arg1
  // CHECK-NEXT: tile.load %arg2
  gpu.func @loads_after_roles(%A: memref<64xf32>, %C: memref<64xf32>, %D: memref<64xf32>,
                              %E: memref<64xf32>) kernel
      attributes {tile.threads = 160 : i32} {
    %t = tile.load %A : memref<64xf32> -> tensor<64xf32>
    tile.store %t to %D : tensor<64xf32> to memref<64xf32>
    tile.specialize {
      tile.role @write warps(4) {
        %s = tile.load %A : memref<64xf32> -> tensor<64xf32>
        tile.store %s to %C : tensor<64xf32> to memref<64xf32>
        %u = tile.load %C : memref<64xf32> -> tensor<64xf32>
        tile.store %u to %E : tensor<64xf32> to memref<64xf32>
      }
      tile.role @other warps(1) {
      }
    }
    %v = tile.load %C : memref<64xf32> -> tensor<64xf32>
    %w = tile.load %D : memref<64xf32> -> tensor<64xf32>
    %z = arith.addf %v, %w : tensor<64xf32>
    tile.store %z to %A : tensor<64xf32> to memref<64xf32>
    gpu.return
  }
}
