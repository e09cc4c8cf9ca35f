// RUN: tilews-opt %s --tile-lower-channels | FileCheck %s
// RUN: tilews-opt %s --tile-lower-channels \
// RUN:   --tile-verify-schedule="report" 2>&1 | FileCheck %s --check-prefix=PROVED

// TMA fills a slot of bytes through a view with the shape of a tile. The copy is a part
// of the slot's fill like others, and one thread runs its role.

#wg = #gpu.address_space<workgroup>
!R = memref<2x8192xi8, #wg>
!r = memref<8192xi8, #wg>
!a = memref<64x64xf16, #wg>

// PROVED: tile-verify-0002: schedule of @view is proved
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // CHECK-LABEL: gpu.func @view
  // CHECK: %[[R:.*]] = tile.alloc_shared
  // CHECK: %[[FULL:.*]] = tile.mbarrier {count = 1 : i64
  // CHECK: %[[EMPTY:.*]] = tile.mbarrier {count = 4 : i64
  gpu.func @view(%A: memref<?x64xf16>, %C: memref<64x64xf16>, %n: index) kernel
      attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %Raw = tile.alloc_shared : !R
    %ch = tile.channel(%Raw) {producer = #tile.producer<tma>} : !R -> !tile.channel<2>
    tile.specialize {
      // CHECK: tile.role @math warps(4) {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !tile.cursor<2>
        %e = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0) -> (!tile.cursor<2>) {
          // CHECK: tile.mbarrier_wait %[[FULL]]
          tile.wait %ch[%q] : !tile.channel<2>
          %r = tile.slot %Raw[%q] : !R -> !r
          %a = tile.view %r : !r to !a
          %t = tile.load %a : !a -> tensor<64x64xf16>
          // CHECK: tile.mbarrier_arrive %[[EMPTY]][%{{.*}}] {by = #tile.agents<warps>} :
          tile.release %ch[%q] : !tile.channel<2>
          tile.store %t to %C : tensor<64x64xf16> to memref<64x64xf16>
          %q1 = tile.advance %q : !tile.cursor<2>
          scf.yield %q1 : !tile.cursor<2>
        }
      }
      // CHECK: tile.role @load warps(1) elected {
      tile.role @load warps(1) {
        %p0 = tile.cursor : !tile.cursor<2>
        %e = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> (!tile.cursor<2>) {
          %row = arith.muli %k, %c64 : index
          tile.acquire %ch[%p] : !tile.channel<2>
          // CHECK: %[[SLOT:.*]] = tile.slot %[[R]][%[[NUMBER:.*]]] :
          // CHECK-NEXT: %[[VIEW:.*]] = tile.view %[[SLOT]]
          // CHECK-NEXT: tile.copy %{{.*}} to %[[VIEW]] signals(%[[FULL]][%[[NUMBER]]]) {tile.inst = #tile.inst<tma>}
          // CHECK-NEXT: tile.mbarrier_arrive %[[FULL]][%[[NUMBER]]] {by = #tile.agents<thread>, bytes = 8192 : i64}
          %r = tile.slot %Raw[%p] : !R -> !r
          %a = tile.view %r : !r to !a
          tile.copy %A[%row, 0] to %a {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to !a
          tile.commit %ch[%p] : !tile.channel<2>
          %p1 = tile.advance %p : !tile.cursor<2>
          scf.yield %p1 : !tile.cursor<2>
        }
      }
    }
    gpu.return
  }
}

// wgmma reads a part of a slot that threads have filled: the producer fences.

!P = memref<2x2x64x64xf16, #wg>
!p = memref<2x64x64xf16, #wg>
!h = memref<64x64xf16, #wg>

// PROVED: tile-verify-0002: schedule of @part is proved
gpu.module @parts [#nvvm.target<chip = "sm_90a">] {
  // CHECK-LABEL: gpu.func @part
  gpu.func @part(%A: memref<2x64x64xf16>, %C: memref<64x64xf32>, %n: index) kernel
      attributes {tile.threads = 256 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %S = tile.alloc_shared : !P
    %ch = tile.channel(%S) {producer = #tile.producer<simt>} : !P -> !tile.channel<2>
    tile.specialize {
      tile.role @math warps(4) {
        %zero = arith.constant dense<0.0> : tensor<64x64xf32>
        %q0 = tile.cursor : !tile.cursor<2>
        %e:2 = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0, %acc = %zero) -> (!tile.cursor<2>, tensor<64x64xf32>) {
          tile.wait %ch[%q] : !tile.channel<2>
          %s = tile.slot %S[%q] : !P -> !p
          %a = tile.subview %s[0, 0, 0] [1, 64, 64] : !p to !h
          %b = tile.subview %s[1, 0, 0] [1, 64, 64] : !p to !h
          %r = tile.gemm %a, %b, %acc {tile.inst = #tile.inst<wgmma>} : !h, !h -> tensor<64x64xf32>
          tile.release %ch[%q] : !tile.channel<2>
          %q1 = tile.advance %q : !tile.cursor<2>
          scf.yield %q1, %r : !tile.cursor<2>, tensor<64x64xf32>
        }
        tile.store %e#1 to %C : tensor<64x64xf32> to memref<64x64xf32>
      }
      // CHECK: tile.role @load warps(4)
      tile.role @load warps(4) {
        %p0 = tile.cursor : !tile.cursor<2>
        %e = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> (!tile.cursor<2>) {
          tile.acquire %ch[%p] : !tile.channel<2>
          %s = tile.slot %S[%p] : !P -> !p
          // CHECK: tile.copy
          // CHECK-NEXT: tile.proxy_fence
          // CHECK-NEXT: tile.mbarrier_arrive
          tile.copy %A to %s {tile.inst = #tile.inst<simt>} : memref<2x64x64xf16> to !p
          tile.commit %ch[%p] : !tile.channel<2>
          %p1 = tile.advance %p : !tile.cursor<2>
          scf.yield %p1 : !tile.cursor<2>
        }
      }
    }
    gpu.return
  }
}
