// RUN: tilews-opt %s --tile-annotate-instructions --tile-specialize-warps \
// RUN:   | FileCheck %s
// A second run changes nothing.
// RUN: tilews-opt %s --tile-annotate-instructions --tile-specialize-warps -o %t.once
// RUN: tilews-opt %t.once --tile-specialize-warps | diff - %t.once

// In roles that are written by hand, TMA makes the copies that a channel waits for:
// copies to its slots, directly or through views. Threads make the others.

#wg = #gpu.address_space<workgroup>
!R = memref<2x8192xi8, #wg>
!r = memref<8192xi8, #wg>
!S = memref<2x64x64xf16, #wg>
!a = memref<64x64xf16, #wg>

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // CHECK-LABEL: gpu.func @k
  gpu.func @k(%A: memref<?x64xf16>, %C: memref<64x64xf16>) kernel
      attributes {tile.threads = 160 : i32} {
    %Raw = tile.alloc_shared : !R
    %Other = tile.alloc_shared : !S
    %Before = tile.alloc_shared : !a
    %Own = tile.alloc_shared : !a
    // CHECK: tile.channel(%{{.*}}) {producer = #tile.producer<tma>}
    %ch = tile.channel(%Raw) {producer = #tile.producer<tma>} : !R -> !tile.channel<2>
    // A copy before the roles.
    // CHECK: tile.copy %arg0 {{.*}} {tile.inst = #tile.inst<cp_async>}
    tile.copy %A to %Before : memref<?x64xf16> to !a
    tile.specialize {
      tile.role @math warps(4) {
        // A copy to a buffer of the role.
        // CHECK: tile.role @math
        // CHECK: tile.copy %arg0 {{.*}} {tile.inst = #tile.inst<cp_async>}
        tile.copy %A to %Own : memref<?x64xf16> to !a
        %q = tile.cursor : !tile.cursor<2>
        tile.wait %ch[%q] : !tile.channel<2>
        %r = tile.slot %Raw[%q] : !R -> !r
        %a = tile.view %r : !r to !a
        // A copy to global memory completes without a channel.
        // CHECK: tile.copy %{{.*}} to %arg1 {tile.inst = #tile.inst<simt>}
        tile.copy %a to %C : !a to memref<64x64xf16>
        tile.release %ch[%q] : !tile.channel<2>
      }
      tile.role @load warps(1) {
        // CHECK: tile.role @load
        %p = tile.cursor : !tile.cursor<2>
        tile.acquire %ch[%p] : !tile.channel<2>
        %r = tile.slot %Raw[%p] : !R -> !r
        %a = tile.view %r : !r to !a
        // CHECK: tile.copy %arg0 {{.*}} {tile.inst = #tile.inst<tma>}
        tile.copy %A to %a : memref<?x64xf16> to !a
        // A copy to a slot of no channel.
        %o = tile.slot %Other[%p] : !S -> !a
        // CHECK: tile.copy %arg0 {{.*}} {tile.inst = #tile.inst<cp_async>}
        tile.copy %A to %o : memref<?x64xf16> to !a
        tile.commit %ch[%p] : !tile.channel<2>
      }
    }
    gpu.return
  }
}

// A copy that signals a barrier is left alone.
gpu.module @lowered [#nvvm.target<chip = "sm_90a">] {
  // CHECK-LABEL: gpu.func @signals
  // CHECK: tile.copy %{{.*}} signals({{.*}}) {tile.inst = #tile.inst<tma>}
  gpu.func @signals(%A: memref<?x64xf16>, %slot: i32) kernel
      attributes {tile.threads = 32 : i32} {
    %S = tile.alloc_shared : !S
    %full = tile.mbarrier {count = 1 : i64} : !tile.mbarrier<2>
    tile.mbarrier_ready
    tile.specialize {
      tile.role @load warps(1) elected {
        %s = tile.slot %S[%slot] : !S, i32 -> !a
        tile.copy %A to %s signals(%full[%slot]) {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to !a, !tile.mbarrier<2>
      }
    }
    gpu.return
  }
}
