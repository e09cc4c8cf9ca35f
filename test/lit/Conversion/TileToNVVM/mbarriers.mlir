// Barriers in shared memory, and roles, which become branches of the block.
// RUN: tilews-opt %s --convert-tile-to-nvvm --cse | FileCheck %s

#wg = #gpu.address_space<workgroup>
#slot = #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>
#slots = #tile.shared<(3, 64, 64):(4096, 64, 1), Sw<3,4,3>>
!A = memref<3x64x64xf16, #slots, #wg>
!a = memref<64x64xf16, #slot, #wg>

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // CHECK-LABEL: llvm.func @roles
  // CHECK-SAME: %[[MAP:[a-z0-9]+]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<16 x i64>, nvvm.grid_constant}
  // CHECK-SAME: nvvm.reqntid = array<i32: 160, 1, 1>
  // CHECK-SAME: tile.tensor_maps = [{argument = 0 : i64, box = array<i64: 64, 64>, dims = array<i64: 1, 0>, swizzle = #tile.swizzle<span128>}]
  // CHECK: %[[FIRST:.*]] = arith.cmpi eq
  // CHECK: nvvm.prefetch tensormap, %[[MAP]], predicate = %[[FIRST]]
  // CHECK: %[[BUFFER:.*]] = llvm.mlir.addressof @tile_shared
  // One thread initializes the barriers that all threads use.
  // CHECK: scf.if %[[FIRST]] {
  // CHECK-NEXT:   %[[BARRIER:.*]] = llvm.getelementptr %[[BUFFER]][24576]
  // CHECK-NEXT:   %[[ONE:.*]] = arith.constant 1 : i32
  // CHECK-NEXT:   nvvm.mbarrier.init %[[BARRIER]], %[[ONE]]
  // CHECK-NEXT:   llvm.getelementptr %[[BUFFER]][24584]
  // CHECK-COUNT-2: nvvm.mbarrier.init
  // CHECK: %[[FULL:.*]] = llvm.getelementptr %[[BUFFER]][24576]
  // CHECK: scf.if %[[FIRST]] {
  // CHECK-NEXT:   llvm.getelementptr %[[BUFFER]][24600]
  // CHECK-NEXT:   arith.constant 4 : i32
  // CHECK-COUNT-3: nvvm.mbarrier.init
  // CHECK: %[[EMPTY:.*]] = llvm.getelementptr %[[BUFFER]][24600]
  // CHECK-NEXT: nvvm.fence.mbarrier.init
  // CHECK-NEXT: nvvm.barrier0
  // CHECK: %[[WARP:.*]] = nvvm.shfl.sync idx
  gpu.func @roles(%A: memref<?x?xf16>, %slot: i32, %parity: i32) kernel
      attributes {tile.threads = 160 : i32} {
    %As = tile.alloc_shared {tile.offset = 0 : i64} : !A
    %full = tile.mbarrier {count = 1 : i64, tile.offset = 24576 : i64} : !tile.mbarrier<3>
    %empty = tile.mbarrier {count = 4 : i64, tile.offset = 24600 : i64} : !tile.mbarrier<3>
    tile.mbarrier_ready
    tile.specialize {
      // CHECK: %[[MATH:.*]] = arith.cmpi ult, %[[WARP]], %{{.*}}
      // CHECK: scf.if %[[MATH]] {
      tile.role @math warps(4) {
        // CHECK: %[[FULLSLOT:.*]] = llvm.getelementptr %[[FULL]][%[[SLOT:.*]]] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<8 x i8>
        // CHECK: scf.while
        // CHECK-NEXT:   %[[DONE:.*]] = nvvm.mbarrier.try_wait %[[FULLSLOT]], %[[PARITY:.*]], %{{.*}} : !llvm.ptr<3>, i32, i32 -> i1
        // CHECK:   %[[AGAIN:.*]] = arith.xori %[[DONE]]
        // CHECK:   scf.condition(%[[AGAIN]])
        // CHECK-NOT: nvvm.barrier
        tile.mbarrier_wait %full[%slot], %parity : !tile.mbarrier<3>
        // CHECK: nvvm.fence.proxy
        tile.proxy_fence
        // CHECK-NOT: nvvm.bar.warp.sync
        // CHECK: %[[EMPTYSLOT:.*]] = llvm.getelementptr %[[EMPTY]][%[[SLOT]]]
        // CHECK-NEXT: %[[ELECTED:.*]] = nvvm.elect.sync
        // CHECK-NEXT: scf.if %[[ELECTED]] {
        // CHECK-NEXT:   nvvm.mbarrier.arrive %[[EMPTYSLOT]]
        tile.mbarrier_arrive %empty[%slot] {by = #tile.agents<warps>, converged} : !tile.mbarrier<3>
        // CHECK: nvvm.bar.warp.sync
        // CHECK-NEXT: %[[ELECTED:.*]] = nvvm.elect.sync
        // CHECK-NEXT: scf.if %[[ELECTED]] {
        // CHECK-NEXT:   nvvm.mbarrier.arrive %[[EMPTYSLOT]]
        tile.mbarrier_arrive %empty[%slot] {by = #tile.agents<warps>} : !tile.mbarrier<3>
        // CHECK-NEXT: }
        // CHECK-NEXT: nvvm.mbarrier.arrive %[[EMPTYSLOT]]
        tile.mbarrier_arrive %empty[%slot] {by = #tile.agents<threads>} : !tile.mbarrier<3>
        // CHECK-NEXT: nvvm.cp.async.mbarrier.arrive %[[EMPTYSLOT]] {noinc = true}
        tile.mbarrier_arrive %empty[%slot] {by = #tile.agents<copies>} : !tile.mbarrier<3>
        // The first thread of this role is the first thread of the block.
        // CHECK-NEXT: scf.if %[[FIRST]] {
        // CHECK-NEXT:   nvvm.mbarrier.arrive %[[EMPTYSLOT]]
        // CHECK-NEXT: }
        tile.mbarrier_arrive %empty[%slot] {by = #tile.agents<thread>} : !tile.mbarrier<3>
        // CHECK-NEXT: nvvm.cp.async.wait.group 2
        tile.copy_group_wait {pending = 2 : i64}
      }
      // One thread runs the role.
      // CHECK: %[[LOAD:.*]] = arith.cmpi uge, %[[WARP]]
      // CHECK: scf.if %[[LOAD]] {
      // CHECK:   arith.cmpi eq, %[[WARP]]
      // CHECK:   scf.if
      // CHECK:     nvvm.elect.sync
      // CHECK:     scf.if
      tile.role @load warps(1) elected {
        %a = tile.slot %As[%slot] : !A, i32 -> !a
        // CHECK: %[[TO:.*]] = llvm.getelementptr %[[BUFFER]][%[[SLOT]]] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<8192 x i8>
        // CHECK: %[[FULLSLOT:.*]] = llvm.getelementptr %[[FULL]][%[[SLOT]]]
        // CHECK-NOT: scf.if
        // CHECK: %[[BYTES:.*]] = arith.constant 128 : i32
        // CHECK: nvvm.mbarrier.expect_tx %[[FULLSLOT]], %[[BYTES]]
        tile.mbarrier_expect %full[%slot] {bytes = 128 : i64} : !tile.mbarrier<3>
        // CHECK: %[[DEST:.*]] = llvm.addrspacecast %[[TO]]
        // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %[[DEST]], %[[MAP]], %[[FULLSLOT]], box[%{{.*}}, %{{.*}}]
        tile.copy %A[0, 0] to %a signals(%full[%slot]) {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !a, !tile.mbarrier<3>
        // CHECK: %[[BYTES:.*]] = arith.constant 8192 : i32
        // CHECK: nvvm.mbarrier.arrive.expect_tx %[[FULLSLOT]], %[[BYTES]]
        tile.mbarrier_arrive %full[%slot] {by = #tile.agents<thread>, bytes = 8192 : i64} : !tile.mbarrier<3>
      }
    }
    gpu.return
  }

  // Roles set their numbers of registers. One thread is chosen from a role in the
  // middle.
  // CHECK-LABEL: llvm.func @registers
  gpu.func @registers(%slot: i32) kernel attributes {tile.threads = 256 : i32} {
    %full = tile.mbarrier {count = 1 : i64, tile.offset = 0 : i64} : !tile.mbarrier<1>
    tile.mbarrier_ready
    tile.specialize {
      // CHECK: nvvm.setmaxregister  decrease 232
      tile.role @math warps(4) registers(232) {
        tile.barrier
      }
      // CHECK: nvvm.setmaxregister  decrease 40
      // CHECK: %[[THREAD:.*]] = arith.constant 128 : i32
      // CHECK: arith.cmpi eq, %{{.*}}, %[[THREAD]]
      // CHECK-NEXT: scf.if
      // CHECK: nvvm.mbarrier.arrive.expect_tx
      tile.role @load warps(4) registers(40) {
        tile.barrier
        tile.mbarrier_arrive %full[%slot] {by = #tile.agents<thread>, bytes = 64 : i64} : !tile.mbarrier<1>
      }
    }
    gpu.return
  }
}
