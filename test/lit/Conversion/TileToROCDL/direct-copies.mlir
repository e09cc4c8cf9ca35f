// RUN: tilews-opt %s --convert-tile-to-rocdl -split-input-file -verify-diagnostics | FileCheck %s

#smem = #gpu.address_space<workgroup>

gpu.module @kernels [#rocdl.target<chip = "gfx950">] {
  // 64x64 f16 by 128 threads: four instructions, each of which writes 2 KiB from one
  // address of a wave. The swizzle of the buffer permutes the threads' sources.
  // CHECK-LABEL: llvm.func @swizzled
  // CHECK: %[[ID:.*]] = rocdl.workitem.id.x
  // CHECK: %[[ROW:.*]] = arith.shrui %[[ID]], %[[C4:.*]] : i32
  // CHECK: %[[BITS:.*]] = arith.andi %[[ROW]], %[[C7:.*]] : i32
  // CHECK: arith.xori %[[ID]], %[[BITS]] : i32
  // CHECK: %[[WAVE:.*]] = arith.divui %[[ID]]
  // CHECK: %[[UNIFORM:.*]] = rocdl.readfirstlane %[[WAVE]]
  // CHECK: %[[PLACE:.*]] = llvm.getelementptr %{{.*}}[%[[UNIFORM]]]
  // CHECK-SAME: !llvm.array<1024 x i8>
  // CHECK-COUNT-4: rocdl.load.to.lds %{{.*}}, %{{.*}}, 16, 0, 0 : <7>
  // CHECK-NOT: rocdl.load.to.lds
  // CHECK-NOT: llvm.store
  gpu.func @swizzled(%A: memref<?x?xf16> {tile.divisible = array<i64: 1, 8>}) kernel attributes {tile.threads = 128 : i32} {
    %as = tile.alloc_shared {tile.offset = 0 : i64} : memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,4>>, #smem>
    tile.copy %A[0, 0] to %as {tile.inst = #tile.inst<cp_async>} : memref<?x?xf16> to memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,4>>, #smem>
    gpu.return
  }

  // Rows of words: 4 bytes of a lane. A wait for a group leaves the copies in flight that
  // were started after it: the eight of the last one, but not those under a condition.
  // vmcnt(8) is 0x0f78, and vmcnt(0) 0x0f70.
  // CHECK-LABEL: llvm.func @words
  // CHECK-COUNT-8: rocdl.load.to.lds %{{.*}}, %{{.*}}, 4, 0, 0 : <7>
  // CHECK: rocdl.s.waitcnt 3960
  // CHECK: rocdl.s.waitcnt 3952
  gpu.func @words(%A: memref<?x?xf16> {tile.divisible = array<i64: 1, 2>}, %c: i1) kernel attributes {tile.threads = 128 : i32} {
    %as = tile.alloc_shared {tile.offset = 0 : i64} : memref<32x64xf16, #smem>
    %bs = tile.alloc_shared {tile.offset = 4096 : i64} : memref<32x64xf16, #smem>
    tile.copy %A[0, 0] to %as {tile.inst = #tile.inst<cp_async>} : memref<?x?xf16> to memref<32x64xf16, #smem>
    tile.commit_group
    tile.copy %A[32, 0] to %bs {tile.inst = #tile.inst<cp_async>} : memref<?x?xf16> to memref<32x64xf16, #smem>
    tile.commit_group
    tile.copy_group_wait {pending = 1 : i64}
    tile.barrier
    scf.if %c {
      tile.copy %A[64, 0] to %as {tile.inst = #tile.inst<cp_async>} : memref<?x?xf16> to memref<32x64xf16, #smem>
    }
    tile.commit_group
    tile.copy_group_wait {pending = 1 : i64}
    gpu.return
  }

  // In a loop, a path from its end has the copies of the last iteration, and one from its
  // start those of the prologue, which are there if the loop has an iteration.
  // CHECK-LABEL: llvm.func @loop
  // CHECK: scf.for
  // CHECK: rocdl.s.waitcnt 3953
  // CHECK: rocdl.load.to.lds
  // CHECK: rocdl.s.waitcnt 3952
  gpu.func @loop(%A: memref<?x?xf16> {tile.divisible = array<i64: 1, 8>}, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %as = tile.alloc_shared {tile.offset = 0 : i64} : memref<16x64xf16, #smem>
    %bs = tile.alloc_shared {tile.offset = 2048 : i64} : memref<16x64xf16, #smem>
    %any = arith.cmpi sgt, %n, %c0 : index
    scf.if %any {
      tile.copy %A[0, 0] to %as {tile.inst = #tile.inst<cp_async>} : memref<?x?xf16> to memref<16x64xf16, #smem>
    }
    tile.commit_group
    %more = arith.cmpi sgt, %n, %c1 : index
    scf.if %more {
      tile.copy %A[16, 0] to %bs {tile.inst = #tile.inst<cp_async>} : memref<?x?xf16> to memref<16x64xf16, #smem>
    }
    tile.commit_group
    %end = arith.subi %n, %c2 : index
    scf.for %i = %c0 to %end step %c1 {
      tile.copy_group_wait {pending = 1 : i64}
      tile.barrier
      tile.copy %A[%i, 0] to %as {tile.inst = #tile.inst<cp_async>} : memref<?x?xf16> to memref<16x64xf16, #smem>
      tile.commit_group
    }
    scf.for %i = %c0 to %n step %c1 {
      tile.copy_group_wait {pending = 1 : i64}
      tile.commit_group
    }
    gpu.return
  }
}

// -----

#smem = #gpu.address_space<workgroup>

gpu.module @kernels [#rocdl.target<chip = "gfx950">] {
  // Rows with gaps between them: registers hold the tile.
  // CHECK-LABEL: llvm.func @padded
  // CHECK-NOT: rocdl.load.to.lds
  gpu.func @padded(%A: memref<?x?xf16> {tile.divisible = array<i64: 1, 8>}) kernel attributes {tile.threads = 128 : i32} {
    %as = tile.alloc_shared {tile.offset = 0 : i64} : memref<64x64xf16, #tile.shared<(64, 64):(72, 1)>, #smem>
    // expected-remark @below {{tile-inst-0006: copy waits for global memory: its rows have gaps or overlap in shared memory}}
    tile.copy %A[0, 0] to %as {tile.inst = #tile.inst<cp_async>} : memref<?x?xf16> to memref<64x64xf16, #tile.shared<(64, 64):(72, 1)>, #smem>
    gpu.return
  }

  // A guard may skip the copies of an iteration.
  // CHECK-LABEL: llvm.func @guarded
  // CHECK: rocdl.s.waitcnt 3952
  gpu.func @guarded(%A: memref<?x?xf16> {tile.divisible = array<i64: 1, 8>}, %n: index, %c: i1) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %as = tile.alloc_shared {tile.offset = 0 : i64} : memref<16x64xf16, #smem>
    scf.for %i = %c0 to %n step %c1 {
      // expected-remark @below {{tile-inst-0007: wait for copies is for all of them: on a path to it, none is started after those that it is for}}
      tile.copy_group_wait {pending = 1 : i64}
      tile.barrier
      scf.if %c {
        tile.copy %A[%i, 0] to %as {tile.inst = #tile.inst<cp_async>} : memref<?x?xf16> to memref<16x64xf16, #smem>
      }
      tile.commit_group
    }
    gpu.return
  }
}
