// Copies that blocks of a cluster share, and arrivals in other blocks.
// RUN: tilews-opt %s --convert-tile-to-nvvm --cse | FileCheck %s

#wg = #gpu.address_space<workgroup>
#slot = #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>
#slots = #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>
!A = memref<2x64x64xf16, #slots, #wg>
!a = memref<64x64xf16, #slot, #wg>
// Two panels of 64 columns: each block fetches one.
!W = memref<2x64x128xf16, #tile.shared<(2, 64, (64, 2)):(8192, 64, (1, 4096)), Sw<3,4,3>>, #wg>
!w = memref<64x128xf16, #tile.shared<(64, (64, 2)):(64, (1, 4096)), Sw<3,4,3>>, #wg>

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // CHECK-LABEL: llvm.func @pair
  // A box has half of the 64 rows, or one of the panels.
  // CHECK-SAME: box = array<i64: 64, 32>
  // CHECK-SAME: box = array<i64: 64, 64>
  // CHECK: nvvm.fence.mbarrier.init
  // CHECK-NEXT: nvvm.cluster.arrive {aligned}
  // CHECK-NEXT: nvvm.cluster.wait {aligned}
  gpu.func @pair(%A: memref<?x?xf16>, %B: memref<?x?xf16>, %slot: i32, %parity: i32, %m: index) kernel
      attributes {tile.threads = 160 : i32, tile.cluster = array<i32: 2, 1, 1>} {
    %As = tile.alloc_shared {tile.offset = 0 : i64} : !A
    %Ws = tile.alloc_shared {tile.offset = 16384 : i64} : !W
    %full = tile.mbarrier {count = 1 : i64, tile.offset = 49152 : i64} : !tile.mbarrier<2>
    %empty = tile.mbarrier {count = 8 : i64, tile.offset = 49168 : i64} : !tile.mbarrier<2>
    tile.mbarrier_ready {cluster}
    tile.specialize {
      tile.role @math warps(4) {
        // CHECK: %[[LANE:.*]] = nvvm.read.ptx.sreg.laneid
        // CHECK: %[[IS:.*]] = arith.cmpi ult, %[[LANE]], %{{c2.*}}
        // CHECK: scf.if %[[IS]] {
        // CHECK:   %[[THERE:.*]] = nvvm.mapa %{{.*}}, %[[LANE]] : !llvm.ptr<3> -> !llvm.ptr<7>
        // CHECK:   nvvm.mbarrier.arrive %[[THERE]] {relaxed = true, scope = #nvvm.mem_scope<cluster>}
        tile.mbarrier_arrive %empty[%slot] {by = #tile.agents<warps>, converged, peers = [#tile.cluster<x>]} : !tile.mbarrier<2>
        // The threads are not converged: the accesses of all threads of the warp have
        // to be visible before one of them arrives.
        // CHECK: nvvm.bar.warp.sync
        // CHECK:   nvvm.mbarrier.arrive %{{.*}} {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>
        tile.mbarrier_arrive %empty[%slot] {by = #tile.agents<warps>, peers = [#tile.cluster<x>]} : !tile.mbarrier<2>
        // CHECK: nvvm.mbarrier.try_wait %{{.*}} {scope = #nvvm.mem_scope<cluster>}
        tile.mbarrier_wait %empty[%slot], %parity {cluster} : !tile.mbarrier<2>
        // One thread arrives in the blocks one after the other.
        // CHECK: scf.if
        // CHECK-COUNT-2: nvvm.mapa
        tile.mbarrier_arrive %empty[%slot] {by = #tile.agents<thread>, peers = [#tile.cluster<x>]} : !tile.mbarrier<2>
      }
      tile.role @load warps(1) elected {
        // CHECK: nvvm.mbarrier.try_wait %{{[^{]*}} :
        tile.mbarrier_wait %empty[%slot], %parity {cluster} : !tile.mbarrier<2>
        %a = tile.slot %As[%slot] : !A, i32 -> !a
        %w = tile.slot %Ws[%slot] : !W, i32 -> !w
        // CHECK: %[[PLACE:.*]] = nvvm.read.ptx.sreg.cluster.ctaid.x
        // CHECK: %[[PEERS:.*]] = arith.trunci %{{c3.*}} : i32 to i16
        // CHECK: %[[BYTES:.*]] = arith.muli %[[PLACE]], %{{c4096.*}}
        // CHECK: llvm.getelementptr %{{.*}}[%[[BYTES]]]
        // CHECK: %[[ROWS:.*]] = arith.muli %[[PLACE]], %{{c32.*}}
        // CHECK: %[[ROW:.*]] = arith.addi %{{.*}}, %[[ROWS]]
        // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, box[%{{c0.*}}, %[[ROW]]] multicast_mask = %[[PEERS]]
        tile.copy %A[%m, 0] to %a signals(%full[%slot]) {multicast = #tile.cluster<x>, tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !a, !tile.mbarrier<2>
        // CHECK: %[[COLUMN:.*]] = arith.muli %[[PLACE]], %{{c64.*}}
        // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, box[%[[COLUMN]], %{{.*}}] multicast_mask = %[[PEERS]]
        // CHECK-NOT: nvvm.cp.async.bulk.tensor
        tile.copy %B[%m, 0] to %w signals(%full[%slot]) {multicast = #tile.cluster<x>, tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !w, !tile.mbarrier<2>
        tile.mbarrier_arrive %full[%slot] {by = #tile.agents<thread>, bytes = 24576 : i64} : !tile.mbarrier<2>
      }
    }
    // CHECK: nvvm.cluster.arrive
    // CHECK-NEXT: nvvm.cluster.wait
    tile.cluster_barrier
    gpu.return
  }

  // The ranks of peers along x differ by one, those of peers along y by two.
  // CHECK-LABEL: llvm.func @square
  gpu.func @square(%slot: i32) kernel
      attributes {tile.threads = 32 : i32, tile.cluster = array<i32: 2, 2, 1>} {
    %empty = tile.mbarrier {count = 3 : i64, tile.offset = 0 : i64} : !tile.mbarrier<2>
    tile.mbarrier_ready {cluster}
    // CHECK: %[[Y:.*]] = nvvm.read.ptx.sreg.cluster.ctaid.y
    // CHECK: %[[FIRST:.*]] = arith.muli %[[Y]], %{{c2.*}}
    // CHECK: %[[ROW:.*]] = arith.shli %{{c3.*}}, %[[FIRST]]
    // CHECK: %[[X:.*]] = nvvm.read.ptx.sreg.cluster.ctaid.x
    // CHECK: %[[COLUMN:.*]] = arith.shli %{{c5.*}}, %[[X]]
    // CHECK: %[[PEERS:.*]] = arith.ori %[[ROW]], %[[COLUMN]]
    // CHECK: %[[BIT:.*]] = arith.shrui %[[PEERS]], %[[LANE:.*]] : i32
    // CHECK: %[[IS:.*]] = arith.trunci %[[BIT]] : i32 to i1
    // CHECK: arith.andi %{{.*}}, %[[IS]]
    tile.mbarrier_arrive %empty[%slot] {by = #tile.agents<warps>, converged, peers = [#tile.cluster<x>, #tile.cluster<y>]} : !tile.mbarrier<2>
    tile.cluster_barrier
    gpu.return
  }
}
