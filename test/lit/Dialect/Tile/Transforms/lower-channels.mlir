// RUN: tilews-opt %s --split-input-file --tile-lower-channels | FileCheck %s
// A second run changes nothing.
// RUN: tilews-opt %s --split-input-file --tile-lower-channels -o %t.once
// RUN: tilews-opt %t.once --split-input-file --tile-lower-channels | diff - %t.once
// CHECK-NOT: tile.channel
// CHECK-NOT: cursor

#wg = #gpu.address_space<workgroup>
#slot = #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>
#slots = #tile.shared<(3, 64, 64):(4096, 64, 1), Sw<3,4,3>>
!A = memref<3x64x64xf16, #slots, #wg>
!a = memref<64x64xf16, #slot, #wg>
!acc = tensor<64x64xf32>

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // A matmul whose steps along K can be skipped: both roles carry slot and phase
  // through the guard.
  // CHECK-LABEL: gpu.func @guarded
  // CHECK-DAG: %[[C0:.*]] = arith.constant 0 : i32
  // CHECK-DAG: %[[C1:.*]] = arith.constant 1 : i32
  // CHECK-DAG: %[[C3:.*]] = arith.constant 3 : i32
  // CHECK: %[[AS:.*]] = tile.alloc_shared
  // CHECK-NEXT: %[[FULL:.*]] = tile.mbarrier {count = 1 : i64, tile.offset = 24576 : i64} : !tile.mbarrier<3>
  // CHECK-NEXT: %[[EMPTY:.*]] = tile.mbarrier {count = 4 : i64, tile.offset = 24600 : i64} : !tile.mbarrier<3>
  // CHECK-NEXT: tile.mbarrier_ready
  // CHECK-NEXT: tile.specialize
  gpu.func @guarded(%A: memref<?x?xf16>, %mask: memref<?xi8>, %C: memref<64x64xf32>) kernel
      attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %z = arith.constant 0 : i8
    %trips = memref.dim %mask, %c0 : memref<?xi8>
    %As = tile.alloc_shared : !A
    %ch = tile.channel(%As) {producer = #tile.producer<tma>, tile.offset = 24576 : i64} : !A -> !tile.channel<3>
    tile.specialize {
      // CHECK: tile.role @math warps(4) {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !tile.cursor<3>
        %zero = arith.constant dense<0.0> : !acc
        // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[SLOT:.*]] = %[[C0]], %[[PHASE:.*]] = %[[C0]]) -> (tensor<64x64xf32>, i32, i32)
        %acc, %q1 = scf.for %k = %c0 to %trips step %c1 iter_args(%c = %zero, %q = %q0) -> (!acc, !tile.cursor<3>) {
          %m = memref.load %mask[%k] : memref<?xi8>
          %on = arith.cmpi ne, %m, %z : i8
          // CHECK: %[[GUARD:.*]]:3 = scf.if %{{.*}} -> (tensor<64x64xf32>, i32, i32) {
          %n:2 = scf.if %on -> (!acc, !tile.cursor<3>) {
            // CHECK-NEXT: tile.mbarrier_wait %[[FULL]][%[[SLOT]]], %[[PHASE]] : !tile.mbarrier<3>
            tile.wait %ch[%q] : !tile.channel<3>
            // CHECK-NEXT: tile.slot %[[AS]][%[[SLOT]]] : memref<3x64x64xf16, {{.*}}>, i32 -> memref<64x64xf16
            %a = tile.slot %As[%q] : !A -> !a
            // CHECK-NEXT: %[[D:.*]] = tile.gemm
            %d = tile.gemm %a, %a, %c {transpose_rhs, tile.inst = #tile.inst<wgmma>} : !a, !a -> !acc
            // Only wgmma reads the slot: no lane has loads of its own to finish.
            // CHECK-NEXT: tile.mbarrier_arrive %[[EMPTY]][%[[SLOT]]] {by = #tile.agents<warps>, converged} : !tile.mbarrier<3>
            tile.release %ch[%q] : !tile.channel<3>
            // CHECK-NEXT: %[[OTHER:.*]] = arith.xori %[[PHASE]], %[[C1]]
            // CHECK-NEXT: %[[NEXT:.*]] = arith.addi %[[SLOT]], %[[C1]]
            // CHECK-NEXT: %[[WRAPS:.*]] = arith.cmpi eq, %[[NEXT]], %[[C3]]
            // CHECK-NEXT: %[[SLOT1:.*]] = arith.select %[[WRAPS]], %[[C0]], %[[NEXT]]
            // CHECK-NEXT: %[[PHASE1:.*]] = arith.select %[[WRAPS]], %[[OTHER]], %[[PHASE]]
            %next = tile.advance %q : !tile.cursor<3>
            // CHECK-NEXT: scf.yield %[[D]], %[[SLOT1]], %[[PHASE1]]
            scf.yield %d, %next : !acc, !tile.cursor<3>
          } else {
            // CHECK: scf.yield %{{.*}}, %[[SLOT]], %[[PHASE]]
            scf.yield %c, %q : !acc, !tile.cursor<3>
          }
          // CHECK: scf.yield %[[GUARD]]#0, %[[GUARD]]#1, %[[GUARD]]#2
          scf.yield %n#0, %n#1 : !acc, !tile.cursor<3>
        }
        tile.store %acc to %C[0, 0] : !acc to memref<64x64xf32>
      }
      // One thread runs the role.
      // CHECK: tile.role @load warps(1) elected {
      tile.role @load warps(1) {
        %p0 = tile.cursor : !tile.cursor<3>
        // CHECK: scf.for {{.*}} iter_args(%[[SLOT:.*]] = %[[C0]], %[[PHASE:.*]] = %[[C0]]) -> (i32, i32)
        %p1 = scf.for %k = %c0 to %trips step %c1 iter_args(%p = %p0) -> (!tile.cursor<3>) {
          %m = memref.load %mask[%k] : memref<?xi8>
          %on = arith.cmpi ne, %m, %z : i8
          %ko = arith.muli %k, %c64 : index
          %n = scf.if %on -> (!tile.cursor<3>) {
            // The slot is free, so the phase before is complete.
            // CHECK: %[[BEFORE:.*]] = arith.xori %[[PHASE]], %[[C1]]
            // CHECK-NEXT: tile.mbarrier_wait %[[EMPTY]][%[[SLOT]]], %[[BEFORE]]
            tile.acquire %ch[%p] : !tile.channel<3>
            // CHECK-NEXT: tile.slot %[[AS]][%[[SLOT]]]
            %a = tile.slot %As[%p] : !A -> !a
            // CHECK-NEXT: tile.copy %{{.*}} signals(%[[FULL]][%[[SLOT]]]) {tile.inst = #tile.inst<tma>}
            tile.copy %A[0, %ko] to %a {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !a
            // CHECK-NEXT: tile.mbarrier_arrive %[[FULL]][%[[SLOT]]] {by = #tile.agents<thread>, bytes = 8192 : i64}
            tile.commit %ch[%p] : !tile.channel<3>
            %next = tile.advance %p : !tile.cursor<3>
            scf.yield %next : !tile.cursor<3>
          } else {
            scf.yield %p : !tile.cursor<3>
          }
          scf.yield %n : !tile.cursor<3>
        }
      }
    }
    gpu.return
  }
}

// -----

#wg = #gpu.address_space<workgroup>
#slot = #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>
!A = memref<1x64x64xf16, #tile.shared<(1, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #wg>
!a = memref<64x64xf16, #slot, #wg>
!acc = tensor<64x64xf32>

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // TMA, cp.async and ordinary stores fill one slot: each kind has arrivals of its own,
  // and a fence comes between the ordinary writes and the reads of wgmma.
  // CHECK-LABEL: gpu.func @mixed
  // CHECK: %[[FULL:.*]] = tile.mbarrier {count = 257 : i64} : !tile.mbarrier<1>
  // CHECK: %[[EMPTY:.*]] = tile.mbarrier {count = 4 : i64} : !tile.mbarrier<1>
  gpu.func @mixed(%A: memref<?x64xf16>, %B: memref<64x64xf16>, %X: memref<64x64xf16>, %C: memref<64x64xf32>) kernel
      attributes {tile.threads = 256 : i32} {
    %As = tile.alloc_shared : !A
    %Bs = tile.alloc_shared : !A
    %Xs = tile.alloc_shared : !A
    %ch = tile.channel(%As, %Bs, %Xs) {producer = #tile.producer<mixed>} : !A, !A, !A -> !tile.channel<1>
    tile.specialize {
      // CHECK: tile.role @load warps(4) {
      tile.role @load warps(4) {
        %p = tile.cursor : !tile.cursor<1>
        %a = tile.slot %As[%p] : !A -> !a
        %b = tile.slot %Bs[%p] : !A -> !a
        %x = tile.slot %Xs[%p] : !A -> !a
        tile.acquire %ch[%p] : !tile.channel<1>
        // CHECK: tile.copy %{{.*}} signals(%[[FULL]][%{{.*}}])
        // CHECK-NOT: signals
        tile.copy %A[0, 0] to %a {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to !a
        tile.copy %B to %b {tile.inst = #tile.inst<cp_async>} : memref<64x64xf16> to !a
        tile.copy %X to %x {tile.inst = #tile.inst<simt>} : memref<64x64xf16> to !a
        // CHECK: tile.mbarrier_arrive %[[FULL]][%{{.*}}] {by = #tile.agents<thread>, bytes = 8192 : i64}
        // CHECK-NEXT: tile.mbarrier_arrive %[[FULL]][%{{.*}}] {by = #tile.agents<copies>}
        // CHECK-NEXT: tile.proxy_fence
        // CHECK-NEXT: tile.mbarrier_arrive %[[FULL]][%{{.*}}] {by = #tile.agents<threads>}
        tile.commit %ch[%p] : !tile.channel<1>
      }
      // CHECK: tile.role @math warps(4) {
      tile.role @math warps(4) {
        %q = tile.cursor : !tile.cursor<1>
        %zero = arith.constant dense<0.0> : !acc
        %a = tile.slot %As[%q] : !A -> !a
        %b = tile.slot %Bs[%q] : !A -> !a
        %x = tile.slot %Xs[%q] : !A -> !a
        // CHECK: tile.mbarrier_wait %[[FULL]]
        // CHECK-NEXT: tile.proxy_fence
        tile.wait %ch[%q] : !tile.channel<1>
        %d = tile.gemm %a, %b, %zero {transpose_rhs, tile.inst = #tile.inst<wgmma>} : !a, !a -> !acc
        %t = tile.load %x : !a -> tensor<64x64xf16>
        // CHECK: tile.mbarrier_arrive %[[EMPTY]][%{{.*}}] {by = #tile.agents<warps>} : !tile.mbarrier<1>
        tile.release %ch[%q] : !tile.channel<1>
        %u = arith.extf %t : tensor<64x64xf16> to !acc
        %s = arith.addf %d, %u : !acc
        tile.store %s to %C[0, 0] : !acc to memref<64x64xf32>
      }
    }
    gpu.return
  }

  // Stores fill a slot now, TMA fills it later: the stores are fenced, although
  // ordinary loads read the slot.
  // CHECK-LABEL: gpu.func @overwritten
  // CHECK: tile.store
  // CHECK: tile.mbarrier_arrive %{{.*}} {by = #tile.agents<thread>}
  // CHECK-NEXT: tile.proxy_fence
  // CHECK-NEXT: tile.mbarrier_arrive %{{.*}} {by = #tile.agents<threads>}
  // CHECK: tile.copy {{.*}}tma
  gpu.func @overwritten(%A: memref<?x64xf16>, %C: memref<64x64xf16>) kernel
      attributes {tile.threads = 64 : i32} {
    %As = tile.alloc_shared : !A
    %ch = tile.channel(%As) {producer = #tile.producer<mixed>} : !A -> !tile.channel<1>
    tile.specialize {
      tile.role @load warps(1) {
        %p = tile.cursor : !tile.cursor<1>
        %a = tile.slot %As[%p] : !A -> !a
        %t = tile.load %A[0, 0] : memref<?x64xf16> -> tensor<64x64xf16>
        tile.acquire %ch[%p] : !tile.channel<1>
        tile.store %t to %a : tensor<64x64xf16> to !a
        tile.commit %ch[%p] : !tile.channel<1>
        %p1 = tile.advance %p : !tile.cursor<1>
        %a1 = tile.slot %As[%p1] : !A -> !a
        tile.acquire %ch[%p1] : !tile.channel<1>
        tile.copy %A[0, 0] to %a1 {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to !a
        tile.commit %ch[%p1] : !tile.channel<1>
      }
      tile.role @math warps(1) {
        %q = tile.cursor : !tile.cursor<1>
        %a = tile.slot %As[%q] : !A -> !a
        tile.wait %ch[%q] : !tile.channel<1>
        %t = tile.load %a : !a -> tensor<64x64xf16>
        tile.release %ch[%q] : !tile.channel<1>
        %q1 = tile.advance %q : !tile.cursor<1>
        %a1 = tile.slot %As[%q1] : !A -> !a
        tile.wait %ch[%q1] : !tile.channel<1>
        %u = tile.load %a1 : !a -> tensor<64x64xf16>
        tile.release %ch[%q1] : !tile.channel<1>
        %s = arith.addf %t, %u : tensor<64x64xf16>
        tile.store %s to %C : tensor<64x64xf16> to memref<64x64xf16>
      }
    }
    gpu.return
  }

  // Ordinary loads read what stores have written, and two roles release the slot: there
  // is no fence, each warp of both roles arrives once, and one thread for the elected
  // role.
  // CHECK-LABEL: gpu.func @two_consumers
  // CHECK: %[[FULL:.*]] = tile.mbarrier {count = 32 : i64}
  // CHECK: %[[EMPTY:.*]] = tile.mbarrier {count = 3 : i64}
  // CHECK-NOT: tile.proxy_fence
  // CHECK: tile.role @load warps(1) {
  // CHECK: tile.mbarrier_arrive %[[FULL]][%{{.*}}] {by = #tile.agents<threads>}
  // CHECK: tile.role @math warps(2) {
  // CHECK: tile.mbarrier_arrive %[[EMPTY]][%{{.*}}] {by = #tile.agents<warps>} :
  // CHECK: tile.role @scalar warps(1) elected {
  // CHECK: tile.mbarrier_arrive %[[EMPTY]][%{{.*}}] {by = #tile.agents<thread>} :
  gpu.func @two_consumers(%X: memref<64x64xf16>, %C: memref<64x64xf16>) kernel
      attributes {tile.threads = 128 : i32} {
    %As = tile.alloc_shared : !A
    %ch = tile.channel(%As) {producer = #tile.producer<simt>} : !A -> !tile.channel<1>
    tile.specialize {
      tile.role @load warps(1) {
        %p = tile.cursor : !tile.cursor<1>
        %a = tile.slot %As[%p] : !A -> !a
        tile.acquire %ch[%p] : !tile.channel<1>
        tile.copy %X to %a {tile.inst = #tile.inst<simt>} : memref<64x64xf16> to !a
        tile.commit %ch[%p] : !tile.channel<1>
      }
      tile.role @math warps(2) {
        %q = tile.cursor : !tile.cursor<1>
        %a = tile.slot %As[%q] : !A -> !a
        tile.wait %ch[%q] : !tile.channel<1>
        %t = tile.load %a : !a -> tensor<64x64xf16>
        tile.release %ch[%q] : !tile.channel<1>
        tile.store %t to %C : tensor<64x64xf16> to memref<64x64xf16>
      }
      tile.role @scalar warps(1) {
        %q = tile.cursor : !tile.cursor<1>
        tile.wait %ch[%q] : !tile.channel<1>
        tile.release %ch[%q] : !tile.channel<1>
      }
    }
    gpu.return
  }

  // The consumer writes to a slot that TMA fills next: its writes are fenced first.
  // CHECK-LABEL: gpu.func @written
  // CHECK: tile.role @math
  // CHECK: tile.mbarrier_wait
  // CHECK-NOT: tile.proxy_fence
  // CHECK: tile.store
  // CHECK-NEXT: tile.proxy_fence
  // CHECK-NEXT: tile.mbarrier_arrive %{{.*}} {by = #tile.agents<warps>} :
  gpu.func @written(%X: memref<64x64xf16>, %C: memref<64x64xf16>) kernel
      attributes {tile.threads = 64 : i32} {
    %As = tile.alloc_shared : !A
    %ch = tile.channel(%As) {producer = #tile.producer<tma>} : !A -> !tile.channel<1>
    tile.specialize {
      tile.role @load warps(1) {
        %p = tile.cursor : !tile.cursor<1>
        %a = tile.slot %As[%p] : !A -> !a
        tile.acquire %ch[%p] : !tile.channel<1>
        tile.copy %X to %a {tile.inst = #tile.inst<tma>} : memref<64x64xf16> to !a
        tile.commit %ch[%p] : !tile.channel<1>
      }
      tile.role @math warps(1) {
        %q = tile.cursor : !tile.cursor<1>
        %a = tile.slot %As[%q] : !A -> !a
        tile.wait %ch[%q] : !tile.channel<1>
        %t = tile.load %a : !a -> tensor<64x64xf16>
        %u = arith.addf %t, %t : tensor<64x64xf16>
        tile.store %u to %a : tensor<64x64xf16> to !a
        tile.release %ch[%q] : !tile.channel<1>
      }
    }
    gpu.return
  }

  // The bytes of a copy under another condition than the commit are expected where the
  // copy is issued. The number of a channel's only slot is a constant. A loop without a
  // count carries its phase, and a select chooses it.
  // CHECK-LABEL: gpu.func @alone
  // CHECK-DAG: %[[C0:.*]] = arith.constant 0 : i32
  // CHECK-DAG: %[[C1:.*]] = arith.constant 1 : i32
  // CHECK: %[[FULL:.*]] = tile.mbarrier {count = 1 : i64}
  // CHECK: scf.while (%[[SLOT:.*]] = %[[C0]], %[[PHASE:.*]] = %[[C0]]) : (i32, i32) -> (i32, i32)
  // CHECK: scf.condition(%{{.*}}) %[[SLOT]], %[[PHASE]] : i32, i32
  // CHECK: ^bb0(%[[SLOT:.*]]: i32, %[[PHASE:.*]]: i32):
  // CHECK: tile.mbarrier_wait
  // CHECK: tile.copy %{{.*}} signals(%[[FULL]][%[[SLOT]]])
  // CHECK: scf.if
  // CHECK-NEXT: tile.mbarrier_expect %[[FULL]][%[[SLOT]]] {bytes = 8192 : i64}
  // CHECK-NEXT: tile.copy %{{.*}} signals(%[[FULL]][%[[SLOT]]])
  // CHECK-NOT: tile.mbarrier_expect
  // CHECK: tile.mbarrier_arrive %[[FULL]][%[[SLOT]]] {by = #tile.agents<thread>, bytes = 8192 : i64}
  // CHECK-NEXT: %[[OTHER:.*]] = arith.xori %[[PHASE]], %[[C1]]
  // CHECK-NEXT: %[[S:.*]] = arith.select %{{.*}}, %[[C0]], %[[SLOT]]
  // CHECK-NEXT: %[[P:.*]] = arith.select %{{.*}}, %[[OTHER]], %[[PHASE]]
  // CHECK-NEXT: scf.yield %[[S]], %[[P]] : i32, i32
  // CHECK: tile.role @use
  gpu.func @alone(%X: memref<64x64xf16>, %flag: memref<1xi1>, %more: i1) kernel
      attributes {tile.threads = 64 : i32} {
    %c0 = arith.constant 0 : index
    %As = tile.alloc_shared : !A
    %Bs = tile.alloc_shared : !A
    %ch = tile.channel(%As, %Bs) {producer = #tile.producer<tma>} : !A, !A -> !tile.channel<1>
    tile.specialize {
      tile.role @load warps(1) {
        %p0 = tile.cursor : !tile.cursor<1>
        %end = scf.while (%p = %p0) : (!tile.cursor<1>) -> !tile.cursor<1> {
          %on = memref.load %flag[%c0] : memref<1xi1>
          scf.condition(%on) %p : !tile.cursor<1>
        } do {
        ^bb0(%p: !tile.cursor<1>):
          tile.acquire %ch[%p] : !tile.channel<1>
          %a = tile.slot %As[%p] : !A -> !a
          %b = tile.slot %Bs[%p] : !A -> !a
          tile.copy %X to %a {tile.inst = #tile.inst<tma>} : memref<64x64xf16> to !a
          scf.if %more {
            tile.copy %X to %b {tile.inst = #tile.inst<tma>} : memref<64x64xf16> to !a
          }
          tile.commit %ch[%p] : !tile.channel<1>
          %next = tile.advance %p : !tile.cursor<1>
          %chosen = arith.select %more, %next, %p : !tile.cursor<1>
          scf.yield %chosen : !tile.cursor<1>
        }
      }
      tile.role @use warps(1) {
        %q = tile.cursor : !tile.cursor<1>
        tile.wait %ch[%q] : !tile.channel<1>
        tile.release %ch[%q] : !tile.channel<1>
      }
    }
    gpu.return
  }

  // Values that a loop carries before the cursor keep their places.
  // CHECK-LABEL: gpu.func @carried
  // CHECK: scf.while (%{{.*}} = %c0, %{{.*}} = %c0, %{{.*}} = %c0, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) : (index, index, index, i32, i32) -> (index, index, index, i32, i32)
  gpu.func @carried(%X: memref<64x64xf16>, %flag: memref<1xi1>) kernel
      attributes {tile.threads = 64 : i32} {
    %c0 = arith.constant 0 : index
    %As = tile.alloc_shared : !A
    %ch = tile.channel(%As) {producer = #tile.producer<tma>} : !A -> !tile.channel<1>
    tile.specialize {
      tile.role @load warps(1) {
        %p0 = tile.cursor : !tile.cursor<1>
        %end:4 = scf.while (%x = %c0, %y = %c0, %z = %c0, %p = %p0)
            : (index, index, index, !tile.cursor<1>) -> (index, index, index, !tile.cursor<1>) {
          %on = memref.load %flag[%c0] : memref<1xi1>
          scf.condition(%on) %x, %y, %z, %p : index, index, index, !tile.cursor<1>
        } do {
        ^bb0(%x: index, %y: index, %z: index, %p: !tile.cursor<1>):
          tile.acquire %ch[%p] : !tile.channel<1>
          %a = tile.slot %As[%p] : !A -> !a
          tile.copy %X to %a {tile.inst = #tile.inst<tma>} : memref<64x64xf16> to !a
          tile.commit %ch[%p] : !tile.channel<1>
          %next = tile.advance %p : !tile.cursor<1>
          scf.yield %y, %z, %x, %next : index, index, index, !tile.cursor<1>
        }
      }
      tile.role @use warps(1) {
        %q = tile.cursor : !tile.cursor<1>
        tile.wait %ch[%q] : !tile.channel<1>
        tile.release %ch[%q] : !tile.channel<1>
      }
    }
    gpu.return
  }

  // Barriers are initialized once, before the roles, also if these are in a loop.
  // CHECK-LABEL: gpu.func @inside
  // CHECK: tile.mbarrier {count = 32 : i64}
  // CHECK: tile.mbarrier {count = 1 : i64}
  // CHECK: memref.load
  // CHECK: tile.mbarrier_ready
  // CHECK-NEXT: scf.for
  // CHECK-NEXT: tile.specialize
  // CHECK-NOT: tile.mbarrier_ready
  gpu.func @inside(%n: memref<1xindex>, %x: memref<4xf32>) kernel attributes {tile.threads = 64 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %order = tile.channel() {producer = #tile.producer<simt>} -> !tile.channel<1>
    %trips = memref.load %n[%c0] : memref<1xindex>
    scf.for %i = %c0 to %trips step %c1 {
      tile.specialize {
        tile.role @a warps(1) {
          %p = tile.cursor : !tile.cursor<1>
          tile.barrier
          tile.commit %order[%p] : !tile.channel<1>
        }
        tile.role @b warps(1) {
          %p = tile.cursor : !tile.cursor<1>
          tile.barrier
          tile.wait %order[%p] : !tile.channel<1>
          tile.release %order[%p] : !tile.channel<1>
        }
      }
    }
    gpu.return
  }
}

// -----

#wg = #gpu.address_space<workgroup>
!A = memref<3x64x64xf16, #wg>
!a = memref<64x64xf16, #wg>

// Without roles the threads wait for their own copies, and then synchronize.
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  // CHECK-LABEL: gpu.func @groups
  // CHECK-NOT: tile.mbarrier
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %[[Q:.*]] = %{{.*}}, %{{.*}} = %{{.*}}) -> (i32, i32, i32, i32)
  // CHECK-NEXT: tile.copy_group_wait {pending = 1 : i64}
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: tile.slot
  // CHECK-NEXT: tile.copy
  // CHECK-NEXT: tile.commit_group
  // CHECK-NEXT: tile.slot %{{.*}}[%[[Q]]]
  // CHECK-NOT: tile.mbarrier
  gpu.func @groups(%A: memref<?x?xf16>, %C: memref<64x64xf16>, %n: index) kernel
      attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %As = tile.alloc_shared : !A
    %ch = tile.channel(%As) {producer = #tile.producer<cp_async>} : !A -> !tile.channel<3>
    %p0 = tile.cursor : !tile.cursor<3>
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0, %q = %p0) -> (!tile.cursor<3>, !tile.cursor<3>) {
      tile.wait %ch[%q] {pending = 1 : i64} : !tile.channel<3>
      tile.acquire %ch[%p] : !tile.channel<3>
      %a = tile.slot %As[%p] : !A -> !a
      tile.copy %A[%k, 0] to %a {tile.inst = #tile.inst<cp_async>} : memref<?x?xf16> to !a
      tile.commit %ch[%p] : !tile.channel<3>
      tile.commit_group
      %b = tile.slot %As[%q] : !A -> !a
      %t = tile.load %b : !a -> tensor<64x64xf16>
      tile.store %t to %C : tensor<64x64xf16> to memref<64x64xf16>
      tile.release %ch[%q] : !tile.channel<3>
      %p1 = tile.advance %p : !tile.cursor<3>
      %q1 = tile.advance %q : !tile.cursor<3>
      scf.yield %p1, %q1 : !tile.cursor<3>, !tile.cursor<3>
    }
    gpu.return
  }

  // A wait without `pending` waits for all groups. Stores need no wait, only the
  // barrier. Waits in a row have one barrier.
  // CHECK-LABEL: gpu.func @all
  // CHECK: tile.commit_group
  // CHECK-NEXT: tile.copy_group_wait {pending = 0 : i64}
  // CHECK-NEXT: tile.barrier {proxy_fence}
  // CHECK-NEXT: gpu.return
  gpu.func @all(%C: memref<64x64xf16>) kernel attributes {tile.threads = 128 : i32} {
    %As = tile.alloc_shared : !A
    %Bs = tile.alloc_shared : !A
    %copies = tile.channel(%As) {producer = #tile.producer<cp_async>} : !A -> !tile.channel<3>
    %stores = tile.channel(%Bs) {producer = #tile.producer<simt>} : !A -> !tile.channel<3>
    %p = tile.cursor : !tile.cursor<3>
    tile.wait %copies[%p] {proxy_fence} : !tile.channel<3>
    tile.wait %stores[%p] : !tile.channel<3>
    gpu.return
  }
  // Of waits in a row, one that leaves fewer groups in flight than those before it
  // replaces them.
  // CHECK-LABEL: gpu.func @in_a_row
  // CHECK-NOT: pending = 2
  // CHECK: tile.copy_group_wait {pending = 1 : i64}
  // CHECK-NEXT: tile.copy_group_wait {pending = 3 : i64}
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: gpu.return
  gpu.func @in_a_row() kernel attributes {tile.threads = 128 : i32} {
    %As = tile.alloc_shared : !A
    %ch = tile.channel(%As) {producer = #tile.producer<cp_async>} : !A -> !tile.channel<3>
    %p = tile.cursor : !tile.cursor<3>
    tile.wait %ch[%p] {pending = 2 : i64} : !tile.channel<3>
    %q = tile.advance %p : !tile.cursor<3>
    tile.wait %ch[%q] {pending = 1 : i64} : !tile.channel<3>
    tile.wait %ch[%q] {pending = 3 : i64} : !tile.channel<3>
    gpu.return
  }
}
