// Channels, cursors and roles, printed and parsed again.
// RUN: tilews-opt %s -o %t.once
// RUN: tilews-opt %t.once -o %t.twice
// RUN: diff %t.once %t.twice
// RUN: FileCheck %s --input-file=%t.once
// RUN: tilews-opt %s --mlir-print-op-generic | tilews-opt -o %t.generic
// RUN: diff %t.once %t.generic

// Only pure operations of a schedule are dropped or merged.
// RUN: tilews-opt %s --canonicalize --cse | FileCheck %s --check-prefix=CLEAN

!As = memref<4x128x64xf16, #gpu.address_space<workgroup>>
!a = memref<128x64xf16, #gpu.address_space<workgroup>>
!Bs = memref<4x64x64xf16, #tile.shared<(4, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
!b = memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>

// CHECK-LABEL: gpu.module @kernels [#nvvm.target<chip = "sm_90a">]
// CLEAN-LABEL: gpu.module @kernels
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // CHECK-LABEL: gpu.func @roles
  // CLEAN-LABEL: gpu.func @roles
  gpu.func @roles(%A: memref<?x?xf16>, %n: index) kernel attributes {tile.threads = 384 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %As = tile.alloc_shared : !As
    %Bs = tile.alloc_shared : !Bs
    // CHECK: %[[CH:.*]] = tile.channel(%{{.*}}, %{{.*}}) {producer = #tile.producer<tma>} : memref<4x128x64xf16, #gpu.address_space<workgroup>>, memref<4x64x64xf16, #tile.shared<(4, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>> -> !tile.channel<4>
    // CLEAN-COUNT-2: tile.channel(
    %ch = tile.channel(%As, %Bs) {producer = #tile.producer<tma>} : !As, !Bs -> !tile.channel<4>
    // A channel that only orders its roles, without a buffer.
    // CHECK: tile.channel() {producer = #tile.producer<simt>} -> !tile.channel<1>
    %order = tile.channel() {producer = #tile.producer<simt>} -> !tile.channel<1>
    // CHECK: tile.specialize {
    tile.specialize {
      // CHECK: tile.role @math warps(8) registers(240) {
      tile.role @math warps(8) registers(240) {
        // CHECK: %[[Q:.*]] = tile.cursor : !tile.cursor<4>
        %q0 = tile.cursor : !tile.cursor<4>
        %one = tile.cursor : !tile.cursor<1>
        scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0) -> !tile.cursor<4> {
          // CHECK: tile.wait %[[CH]][%[[ARG:.*]]] : !tile.channel<4>
          // CLEAN: tile.wait
          tile.wait %ch[%q] : !tile.channel<4>
          // CHECK: tile.slot %{{.*}}[%[[ARG]]] : memref<4x64x64xf16, #tile.shared<(4, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>> -> memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
          %b = tile.slot %Bs[%q] : !Bs -> !b
          // CHECK: tile.release %[[CH]][%[[ARG]]] : !tile.channel<4>
          // CLEAN: tile.release
          tile.release %ch[%q] : !tile.channel<4>
          // CHECK: tile.advance %[[ARG]] : !tile.cursor<4>
          %next = tile.advance %q : !tile.cursor<4>
          scf.yield %next : !tile.cursor<4>
        }
        // CLEAN: tile.wait
        // CHECK: tile.wait %{{.*}}[%{{.*}}] {pending = 2 : i64} : !tile.channel<1>
        tile.wait %order[%one] {pending = 2 : i64} : !tile.channel<1>
      }
      // CHECK: tile.role @load warps(4) {
      tile.role @load warps(4) {
        %p0 = tile.cursor : !tile.cursor<4>
        scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !tile.cursor<4> {
          // CHECK: tile.acquire %[[CH]][%{{.*}}] : !tile.channel<4>
          tile.acquire %ch[%p] : !tile.channel<4>
          %a = tile.slot %As[%p] : !As -> !a
          tile.copy %A[%k, 0] to %a : memref<?x?xf16> to !a
          // CHECK: tile.commit %[[CH]][%{{.*}}] : !tile.channel<4>
          // CLEAN: tile.commit
          tile.commit %ch[%p] : !tile.channel<4>
          %next = tile.advance %p : !tile.cursor<4>
          scf.yield %next : !tile.cursor<4>
        }
      }
    }
    gpu.return
  }
}
