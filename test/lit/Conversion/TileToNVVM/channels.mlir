// Channels become barriers in shared memory, roles branches of the block.
// RUN: tilews-opt %s --tile-plan-shared-memory --tile-insert-barriers --convert-tile-to-nvvm --cse | FileCheck %s

#wg = #gpu.address_space<workgroup>
#slot = #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>
#slots = #tile.shared<(3, 64, 64):(4096, 64, 1), Sw<3,4,3>>
#acc = #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 8):(1*d1, 8*d0, 8*d1)>

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // A product whose k-steps can be skipped: both roles advance in the guard.
  // CHECK-LABEL: llvm.func @guarded
  // CHECK-SAME: %[[MAP:[a-z0-9]+]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<16 x i64>, nvvm.grid_constant}
  // CHECK-SAME: nvvm.reqntid = array<i32: 160, 1, 1>
  // CHECK-SAME: tile.tensor_maps = [{argument = 0 : i64, box = array<i64: 64, 64>, dims = array<i64: 1, 0>, swizzle = #tile.swizzle<span128>}]
  // CHECK: %[[FIRST:.*]] = arith.cmpi eq
  // CHECK: nvvm.prefetch tensormap, %[[MAP]], predicate = %[[FIRST]]
  // The buffer has 24576 bytes, its barriers follow.
  // CHECK: %[[BUFFER:.*]] = llvm.mlir.addressof @tile_shared
  // CHECK: scf.if
  // CHECK:   %[[FULL:.*]] = llvm.getelementptr %{{.*}}[24576]
  // CHECK:   %[[ONE:.*]] = arith.constant 1 : i32
  // CHECK:   nvvm.mbarrier.init %[[FULL]], %[[ONE]]
  // CHECK:   %[[EMPTY:.*]] = llvm.getelementptr %{{.*}}[24600]
  // CHECK:   %[[WARPS:.*]] = arith.constant 4 : i32
  // CHECK:   nvvm.mbarrier.init %[[EMPTY]], %[[WARPS]]
  // CHECK-COUNT-2: nvvm.mbarrier.init
  // CHECK: %[[CHANNEL:.*]] = llvm.getelementptr %{{.*}}[24576]
  // CHECK: nvvm.fence.mbarrier.init
  // CHECK: nvvm.barrier0
  // CHECK: %[[WARP:.*]] = nvvm.shfl.sync idx
  gpu.func @guarded(%A: memref<?x?xf16>, %mask: memref<?xi8>, %C: memref<64x64xf32>) kernel
      attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %z = arith.constant 0 : i8
    %trips = memref.dim %mask, %c0 : memref<?xi8>
    %As = tile.alloc_shared : memref<3x64x64xf16, #slots, #wg>
    %ch = tile.channel(%As) {producer = #tile.producer<tma>} : memref<3x64x64xf16, #slots, #wg> -> !tile.channel<3>
    tile.specialize {
      // CHECK: %[[MATH:.*]] = arith.cmpi ult, %[[WARP]], %{{.*}}
      // CHECK: scf.if %[[MATH]] {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !tile.cursor<3>
        %zero = arith.constant dense<0.0> : tensor<64x64xf32, #acc>
        // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[CURSOR:.*]] = %{{.*}}) -> (vector<32xf32>, !llvm.struct<(i32, i32)>)
        %acc, %q1 = scf.for %k = %c0 to %trips step %c1 iter_args(%c = %zero, %q = %q0) -> (tensor<64x64xf32, #acc>, !tile.cursor<3>) {
          %m = memref.load %mask[%k] : memref<?xi8>
          %on = arith.cmpi ne, %m, %z : i8
          // CHECK: scf.if %{{.*}} -> (vector<32xf32>, !llvm.struct<(i32, i32)>) {
          %n:2 = scf.if %on -> (tensor<64x64xf32, #acc>, !tile.cursor<3>) {
            // CHECK: %[[SLOT:.*]] = llvm.extractvalue %[[CURSOR]][0]
            // CHECK: %[[BARRIER:.*]] = llvm.getelementptr %[[CHANNEL]][%[[SLOT]]] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<8 x i8>
            // CHECK: %[[PHASE:.*]] = llvm.extractvalue %[[CURSOR]][1]
            // CHECK: scf.while
            // CHECK:   %[[DONE:.*]] = nvvm.mbarrier.try_wait %[[BARRIER]], %[[PHASE]], %{{.*}} : !llvm.ptr<3>, i32, i32 -> i1
            // CHECK:   %[[AGAIN:.*]] = arith.xori %[[DONE]]
            // CHECK:   scf.condition(%[[AGAIN]])
            // CHECK-NOT: nvvm.barrier
            tile.wait %ch[%q] : !tile.channel<3>
            // CHECK: llvm.getelementptr %[[BUFFER]][%[[SLOT]]] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<8192 x i8>
            %a = tile.slot %As[%q] : memref<3x64x64xf16, #slots, #wg> -> memref<64x64xf16, #slot, #wg>
            // CHECK: wgmma.mma_async
            %d = tile.gemm %a, %a, %c {transpose_rhs, tile.inst = #tile.inst<wgmma>} : memref<64x64xf16, #slot, #wg>, memref<64x64xf16, #slot, #wg> -> tensor<64x64xf32, #acc>
            // Only wgmma reads: no lane has loads of its own to finish.
            // CHECK-NOT: nvvm.bar.warp.sync
            // CHECK: %[[ELECTED:.*]] = nvvm.elect.sync
            // CHECK: scf.if %[[ELECTED]] {
            // CHECK:   nvvm.mbarrier.arrive
            tile.release %ch[%q] : !tile.channel<3>
            // CHECK: %[[NEXT:.*]] = arith.addi %[[SLOT]]
            // CHECK: %[[WRAPS:.*]] = arith.cmpi eq, %[[NEXT]]
            // CHECK: arith.select %[[WRAPS]], %{{.*}}, %[[NEXT]]
            // CHECK: arith.select %[[WRAPS]], %{{.*}}, %[[PHASE]]
            %next = tile.advance %q : !tile.cursor<3>
            scf.yield %d, %next : tensor<64x64xf32, #acc>, !tile.cursor<3>
          } else {
            scf.yield %c, %q : tensor<64x64xf32, #acc>, !tile.cursor<3>
          }
          scf.yield %n#0, %n#1 : tensor<64x64xf32, #acc>, !tile.cursor<3>
        }
        tile.store %acc to %C[0, 0] : tensor<64x64xf32, #acc> to memref<64x64xf32>
      }
      // One thread runs the role.
      // CHECK: %[[LOAD:.*]] = arith.cmpi uge, %[[WARP]]
      // CHECK: scf.if %[[LOAD]] {
      // CHECK:   arith.cmpi eq, %[[WARP]]
      // CHECK:   scf.if
      // CHECK:     nvvm.elect.sync
      // CHECK:     scf.if
      // CHECK:       scf.for
      tile.role @load warps(1) {
        %p0 = tile.cursor : !tile.cursor<3>
        %p1 = scf.for %k = %c0 to %trips step %c1 iter_args(%p = %p0) -> (!tile.cursor<3>) {
          %m = memref.load %mask[%k] : memref<?xi8>
          %on = arith.cmpi ne, %m, %z : i8
          %ko = arith.muli %k, %c64 : index
          %n = scf.if %on -> (!tile.cursor<3>) {
            // The phase before is over when the slot is free.
            // CHECK: %[[PARITY:.*]] = arith.xori
            // CHECK: nvvm.mbarrier.try_wait %{{.*}}, %[[PARITY]]
            // CHECK-NOT: scf.if
            // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %[[MAP]], %[[TO:[0-9]+]], box[%{{.*}}, %{{.*}}]
            // CHECK: %[[BYTES:.*]] = arith.constant 8192 : i32
            // CHECK: nvvm.mbarrier.arrive.expect_tx %[[TO]], %[[BYTES]]
            tile.acquire %ch[%p] : !tile.channel<3>
            %a = tile.slot %As[%p] : memref<3x64x64xf16, #slots, #wg> -> memref<64x64xf16, #slot, #wg>
            tile.copy %A[0, %ko] to %a {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to memref<64x64xf16, #slot, #wg>
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

  // TMA, cp.async and ordinary stores fill one slot: each kind arrives for
  // itself, and wgmma reads what was written in the ordinary way behind fences.
  // CHECK-LABEL: llvm.func @mixed
  // CHECK: arith.constant 257 : i32
  // CHECK: nvvm.mbarrier.init
  gpu.func @mixed(%A: memref<?x64xf16>, %B: memref<64x64xf16>, %X: memref<64x64xf16>, %C: memref<64x64xf32>) kernel
      attributes {tile.threads = 256 : i32} {
    %As = tile.alloc_shared : memref<1x64x64xf16, #tile.shared<(1, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #wg>
    %Bs = tile.alloc_shared : memref<1x64x64xf16, #tile.shared<(1, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #wg>
    %Xs = tile.alloc_shared : memref<1x64x64xf16, #tile.shared<(1, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #wg>
    %ch = tile.channel(%As, %Bs, %Xs) {producer = #tile.producer<mixed>} : memref<1x64x64xf16, #tile.shared<(1, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #wg>, memref<1x64x64xf16, #tile.shared<(1, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #wg>, memref<1x64x64xf16, #tile.shared<(1, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #wg> -> !tile.channel<1>
    tile.specialize {
      tile.role @load warps(4) registers(40) {
        // CHECK: nvvm.setmaxregister  decrease 40
        %p = tile.cursor : !tile.cursor<1>
        %a = tile.slot %As[%p] : memref<1x64x64xf16, #tile.shared<(1, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #wg> -> memref<64x64xf16, #slot, #wg>
        %b = tile.slot %Bs[%p] : memref<1x64x64xf16, #tile.shared<(1, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #wg> -> memref<64x64xf16, #slot, #wg>
        %x = tile.slot %Xs[%p] : memref<1x64x64xf16, #tile.shared<(1, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #wg> -> memref<64x64xf16, #slot, #wg>
        tile.acquire %ch[%p] : !tile.channel<1>
        // CHECK: scf.if
        // CHECK:   nvvm.cp.async.bulk.tensor.shared.cluster.global
        // CHECK: nvvm.cp.async.shared.global
        // CHECK: llvm.store
        tile.copy %A[0, 0] to %a {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to memref<64x64xf16, #slot, #wg>
        tile.copy %B to %b {tile.inst = #tile.inst<cp_async>} : memref<64x64xf16> to memref<64x64xf16, #slot, #wg>
        tile.copy %X to %x {tile.inst = #tile.inst<simt>} : memref<64x64xf16> to memref<64x64xf16, #slot, #wg>
        // CHECK: scf.if
        // CHECK:   nvvm.mbarrier.arrive.expect_tx
        // CHECK: nvvm.cp.async.mbarrier.arrive %{{.*}} {noinc = true}
        // CHECK: nvvm.fence.proxy
        // CHECK: nvvm.mbarrier.arrive
        tile.commit %ch[%p] : !tile.channel<1>
      }
      tile.role @math warps(4) registers(232) {
        // CHECK: nvvm.setmaxregister  decrease 232
        %q = tile.cursor : !tile.cursor<1>
        %zero = arith.constant dense<0.0> : tensor<64x64xf32, #acc>
        %a = tile.slot %As[%q] : memref<1x64x64xf16, #tile.shared<(1, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #wg> -> memref<64x64xf16, #slot, #wg>
        %b = tile.slot %Bs[%q] : memref<1x64x64xf16, #tile.shared<(1, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #wg> -> memref<64x64xf16, #slot, #wg>
        %x = tile.slot %Xs[%q] : memref<1x64x64xf16, #tile.shared<(1, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #wg> -> memref<64x64xf16, #slot, #wg>
        // CHECK: nvvm.mbarrier.try_wait
        // CHECK: nvvm.fence.proxy
        // CHECK: arith.subi
        // CHECK: wgmma.mma_async
        tile.wait %ch[%q] : !tile.channel<1>
        %d = tile.gemm %a, %b, %zero {transpose_rhs, tile.inst = #tile.inst<wgmma>} : memref<64x64xf16, #slot, #wg>, memref<64x64xf16, #slot, #wg> -> tensor<64x64xf32, #acc>
        %t = tile.load %x : memref<64x64xf16, #slot, #wg> -> tensor<64x64xf16, #acc>
        // CHECK: nvvm.bar.warp.sync
        // CHECK: nvvm.elect.sync
        tile.release %ch[%q] : !tile.channel<1>
        %u = arith.extf %t : tensor<64x64xf16, #acc> to tensor<64x64xf32, #acc>
        %s = arith.addf %d, %u : tensor<64x64xf32, #acc>
        tile.store %s to %C[0, 0] : tensor<64x64xf32, #acc> to memref<64x64xf32>
      }
    }
    gpu.return
  }
}
