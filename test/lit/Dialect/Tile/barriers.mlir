// Barriers in shared memory, printed and parsed again.
// RUN: tilews-opt %s -o %t.once
// RUN: tilews-opt %t.once -o %t.twice
// RUN: diff %t.once %t.twice
// RUN: FileCheck %s --input-file=%t.once
// RUN: tilews-opt %s --mlir-print-op-generic | tilews-opt -o %t.generic
// RUN: diff %t.once %t.generic

// Only pure operations, and a barrier without uses, are dropped or merged.
// RUN: tilews-opt %s --canonicalize --cse | FileCheck %s --check-prefix=CLEAN

!As = memref<4x128x64xf16, #gpu.address_space<workgroup>>
!a = memref<128x64xf16, #gpu.address_space<workgroup>>

// CHECK-LABEL: gpu.module @kernels
// CLEAN-LABEL: gpu.module @kernels
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @roles(%A: memref<?x?xf16>, %n: index, %slot: i32, %parity: i32) kernel
      attributes {tile.threads = 288 : i32} {
    %As = tile.alloc_shared {tile.offset = 0 : i64} : !As
    // CHECK: %[[FULL:.*]] = tile.mbarrier {count = 1 : i64, tile.offset = 65536 : i64} : !tile.mbarrier<4>
    // CLEAN-COUNT-2: tile.mbarrier {
    %full = tile.mbarrier {count = 1 : i64, tile.offset = 65536 : i64} : !tile.mbarrier<4>
    // CHECK: %[[EMPTY:.*]] = tile.mbarrier {count = 264 : i64} : !tile.mbarrier<4>
    %empty = tile.mbarrier {count = 264 : i64} : !tile.mbarrier<4>
    %unused = tile.mbarrier {count = 1 : i64} : !tile.mbarrier<1>
    // CHECK: tile.mbarrier_ready
    // CLEAN-NOT: tile.mbarrier {
    // CLEAN: tile.mbarrier_ready
    tile.mbarrier_ready
    tile.specialize {
      tile.role @math warps(8) {
        // CHECK: tile.mbarrier_wait %[[FULL]][%[[SLOT:.*]]], %[[PARITY:.*]] : !tile.mbarrier<4>
        // CLEAN-COUNT-2: tile.mbarrier_wait
        tile.mbarrier_wait %full[%slot], %parity : !tile.mbarrier<4>
        tile.mbarrier_wait %full[%slot], %parity : !tile.mbarrier<4>
        // CHECK: tile.slot %{{.*}}[%[[SLOT]]] : memref<4x128x64xf16, #gpu.address_space<workgroup>>, i32 -> memref<128x64xf16, #gpu.address_space<workgroup>>
        %a = tile.slot %As[%slot] : !As, i32 -> !a
        // CHECK: tile.proxy_fence
        // CLEAN: tile.proxy_fence
        tile.proxy_fence
        // CHECK: tile.mbarrier_arrive %[[EMPTY]][%[[SLOT]]] {by = #tile.agents<warps>, converged} : !tile.mbarrier<4>
        // CLEAN-COUNT-3: tile.mbarrier_arrive
        tile.mbarrier_arrive %empty[%slot] {by = #tile.agents<warps>, converged} : !tile.mbarrier<4>
        // CHECK: tile.mbarrier_arrive %[[EMPTY]][%[[SLOT]]] {by = #tile.agents<threads>} : !tile.mbarrier<4>
        tile.mbarrier_arrive %empty[%slot] {by = #tile.agents<threads>} : !tile.mbarrier<4>
        // CHECK: tile.mbarrier_arrive %[[EMPTY]][%[[SLOT]]] {by = #tile.agents<copies>} : !tile.mbarrier<4>
        tile.mbarrier_arrive %empty[%slot] {by = #tile.agents<copies>} : !tile.mbarrier<4>
        // CHECK: tile.copy_group_wait {pending = 2 : i64}
        // CLEAN: tile.copy_group_wait
        tile.copy_group_wait {pending = 2 : i64}
      }
      // CHECK: tile.role @load warps(1) elected {
      // CLEAN: tile.role @load warps(1) elected {
      tile.role @load warps(1) elected {
        %a = tile.slot %As[%slot] : !As, i32 -> !a
        // CHECK: tile.mbarrier_expect %[[FULL]][%[[SLOT]]] {bytes = 16384 : i64} : !tile.mbarrier<4>
        // CLEAN: tile.mbarrier_expect
        tile.mbarrier_expect %full[%slot] {bytes = 16384 : i64} : !tile.mbarrier<4>
        // CHECK: tile.copy %{{.*}}[0, 0] to %{{.*}} signals(%[[FULL]][%[[SLOT]]]) {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to memref<128x64xf16, #gpu.address_space<workgroup>>, !tile.mbarrier<4>
        // CLEAN: tile.copy
        tile.copy %A[0, 0] to %a signals(%full[%slot]) {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !a, !tile.mbarrier<4>
        // CHECK: tile.mbarrier_arrive %[[FULL]][%[[SLOT]]] {by = #tile.agents<thread>, bytes = 16384 : i64} : !tile.mbarrier<4>
        // CLEAN: tile.mbarrier_arrive
        tile.mbarrier_arrive %full[%slot] {by = #tile.agents<thread>, bytes = 16384 : i64} : !tile.mbarrier<4>
      }
    }
    gpu.return
  }
}
