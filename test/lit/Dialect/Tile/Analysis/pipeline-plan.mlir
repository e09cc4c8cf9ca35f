// REQUIRES: test-passes
// RUN: tilews-opt %s --test-tile-pipeline-plan -o /dev/null | FileCheck %s

!g = memref<?x?xf16>
!s = memref<64x64xf16, #gpu.address_space<workgroup>>
!t = tensor<64x64xf16>
!acc = tensor<64x64xf32>

gpu.module @pipelines [#nvvm.target<chip = "sm_80">] {
  // CHECK-LABEL: kernel @gemm
  // CHECK-NEXT: %2 = scf.for %c0, %arg3, %c64, %arg2: 3 stages
  // CHECK-NEXT:   replay: %3 = arith.addi %arg4, %c64
  // CHECK-NEXT:   produce, stage 0, order 0: tile.copy %arg0, %arg4, %0
  // CHECK-NEXT:   produce, stage 0, order 1: tile.copy %arg1, %3, %1
  // CHECK-NEXT:   consume, stage 2, order 2: %4 = tile.gemm %0, %1, %arg5
  // CHECK-NEXT:   %0: 3 versions, 1 writer, 1 reader, 0 guards
  // CHECK-NEXT:   %1: 3 versions, 1 writer, 1 reader, 0 guards
  // CHECK-NEXT: statements:
  // CHECK-NEXT: replay: %3 = arith.addi %arg4, %c64
  // CHECK-NEXT: produce, stage 0, order 0: tile.copy %arg0, %arg4, %0
  // CHECK-NEXT: produce, stage 0, order 1: tile.copy %arg1, %3, %1
  // CHECK-NEXT:   needs replay: %3 = arith.addi %arg4, %c64
  // CHECK-NEXT: consume, stage 2, order 2: %4 = tile.gemm %0, %1, %arg5
  // CHECK-NEXT:   needs consume, 1 iteration ago: %4 = tile.gemm %0, %1, %arg5
  gpu.func @gemm(%A: !g, %B: !g, %zero: !acc, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    %bs = tile.alloc_shared : !s
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%c = %zero) -> !acc {
      %row = arith.addi %k, %c64 : index
      tile.copy %A[0, %k] to %as : !g to !s
      tile.copy %B[%row, 0] to %bs : !g to !s
      %d = tile.gemm %as, %bs, %c : !s, !s -> !acc
      scf.yield %d : !acc
    } {tile.num_stages = 3 : i32}
    gpu.return
  }

  // The offset of the copy depends on a consumer.
  // CHECK-LABEL: kernel @depends_on_consumer
  // CHECK-NEXT: not pipelined (4): tile.copy %arg0, %1, %arg3, %0: a consumer, 'memref.load', computes a value that it needs
  // CHECK-NEXT: not pipelined (2): scf.for %c0, %arg2, %c64: no operation in the loop fills shared memory ahead of time
  gpu.func @depends_on_consumer(%A: !g, %P: memref<?xindex>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    scf.for %k = %c0 to %n step %c64 {
      %i = memref.load %P[%k] : memref<?xindex>
      tile.copy %A[%i, %k] to %as : !g to !s
      %x = tile.load %as : !s -> !t
      memref.store %k, %P[%c0] : memref<?xindex>
    } {tile.num_stages = 2 : i32}
    gpu.return
  }

  // A guard around a copy, and its reader under the same guard.
  // CHECK-LABEL: kernel @guard
  // CHECK-NEXT: scf.for %c0, %arg3, %c64: 2 stages
  // CHECK-NEXT:   replay: %1 = memref.load %arg2, %arg4
  // CHECK-NEXT:   produce, stage 0, order 0: tile.copy %arg0, %c0, %arg4, %0
  // CHECK-NEXT:   consume, stage 1, order 1: %2 = tile.load %0
  // CHECK-NEXT:   consume, stage 1, order 2: tile.store %2, %arg1, %c0, %arg4
  // CHECK-NEXT:   %0: 2 versions, 1 writer, 1 reader, 1 guard
  // CHECK-NEXT: statements:
  // CHECK-NEXT: replay: %1 = memref.load %arg2, %arg4
  // CHECK-NEXT: produce, stage 0, order 0: tile.copy %arg0, %c0, %arg4, %0
  // CHECK-NEXT:   needs replay: %1 = memref.load %arg2, %arg4
  // CHECK-NEXT: consume, stage 1, order 1: %2 = tile.load %0
  // CHECK-NEXT:   needs replay: %1 = memref.load %arg2, %arg4
  // CHECK-NEXT: consume, stage 1, order 2: tile.store %2, %arg1, %c0, %arg4
  // CHECK-NEXT:   needs replay: %1 = memref.load %arg2, %arg4
  // CHECK-NEXT:   needs consume: %2 = tile.load %0
  gpu.func @guard(%A: !g, %C: !g, %on: memref<?xi1>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    scf.for %k = %c0 to %n step %c64 {
      %p = memref.load %on[%k] : memref<?xi1>
      scf.if %p {
        tile.copy %A[%c0, %k] to %as : !g to !s
        %x = tile.load %as : !s -> !t
        tile.store %x to %C[%c0, %k] : !t to !g
      }
    } {tile.num_stages = 2 : i32}
    gpu.return
  }

  // %older is the fragment of two iterations ago.
  // CHECK-LABEL: kernel @distances
  // CHECK-NEXT: %1#0, %1#1 = scf.for %c0, %arg3, %c64, %arg2, %arg2: 2 stages
  // CHECK-NEXT:   produce, stage 0, order 1: tile.copy %arg0, %c0, %arg4, %0
  // CHECK-NEXT:   consume, stage 2, order 0: %2 = tile.load %0
  // CHECK-NEXT:   consume, stage 2, order 2: %3 = arith.addf %2, %arg5
  // CHECK-NEXT:   consume, stage 2, order 3: %4 = arith.addf %3, %arg6
  // CHECK-NEXT:   consume, stage 2, order 4: tile.store %4, %arg1, %c0, %arg4
  // CHECK-NEXT:   %0: 2 versions, 1 writer, 1 reader, 0 guards
  // CHECK-NEXT: statements:
  // CHECK-NEXT: produce, stage 0, order 1: tile.copy %arg0, %c0, %arg4, %0
  // CHECK-NEXT: consume, stage 2, order 0: %2 = tile.load %0
  // CHECK-NEXT: consume, stage 2, order 2: %3 = arith.addf %2, %arg5
  // CHECK-NEXT:   needs consume, 1 iteration ago: %2 = tile.load %0
  // CHECK-NEXT:   needs consume: %2 = tile.load %0
  // CHECK-NEXT: consume, stage 2, order 3: %4 = arith.addf %3, %arg6
  // CHECK-NEXT:   needs consume, 2 iterations ago: %2 = tile.load %0
  // CHECK-NEXT:   needs consume: %3 = arith.addf %2, %arg5
  // CHECK-NEXT: consume, stage 2, order 4: tile.store %4, %arg1, %c0, %arg4
  // CHECK-NEXT:   needs consume: %4 = arith.addf %3, %arg6
  gpu.func @distances(%A: !g, %C: !g, %zero: !t, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    %r:2 = scf.for %k = %c0 to %n step %c64 iter_args(%old = %zero, %older = %zero) -> (!t, !t) {
      tile.copy %A[%c0, %k] to %as : !g to !s
      %x = tile.load %as : !s -> !t
      %y = arith.addf %x, %old : !t
      %z = arith.addf %y, %older : !t
      tile.store %z to %C[%c0, %k] : !t to !g
      scf.yield %x, %old : !t, !t
    } {tile.num_stages = 2 : i32}
    gpu.return
  }

  // One of two sums is old, the other one older: the store needs it two iterations later.
  // CHECK-LABEL: kernel @swap
  // CHECK-NEXT: %1#0, %1#1 = scf.for %c0, %arg3, %c64, %arg2, %arg2: 2 stages
  // CHECK-NEXT:   produce, stage 0, order 1: tile.copy %arg0, %c0, %arg4, %0
  // CHECK-NEXT:   consume, stage 2, order 0: %2 = tile.load %0
  // CHECK-NEXT:   consume, stage 2, order 2: %3 = arith.addf %2, %arg6
  // CHECK-NEXT:   consume, stage 2, order 3: tile.store %arg5, %arg1, %c0, %arg4
  // CHECK-NEXT:   %0: 2 versions, 1 writer, 1 reader, 0 guards
  // CHECK-NEXT: statements:
  // CHECK-NEXT: produce, stage 0, order 1: tile.copy %arg0, %c0, %arg4, %0
  // CHECK-NEXT: consume, stage 2, order 0: %2 = tile.load %0
  // CHECK-NEXT: consume, stage 2, order 2: %3 = arith.addf %2, %arg6
  // CHECK-NEXT:   needs consume, 1 iteration ago: %3 = arith.addf %2, %arg6
  // CHECK-NEXT:   needs consume: %2 = tile.load %0
  // CHECK-NEXT: consume, stage 2, order 3: tile.store %arg5, %arg1, %c0, %arg4
  // CHECK-NEXT:   needs consume, 2 iterations ago: %3 = arith.addf %2, %arg6
  gpu.func @swap(%A: !g, %C: !g, %zero: !t, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    %r:2 = scf.for %k = %c0 to %n step %c64 iter_args(%a = %zero, %b = %zero) -> (!t, !t) {
      tile.copy %A[%c0, %k] to %as : !g to !s
      %x = tile.load %as : !s -> !t
      %y = arith.addf %x, %b : !t
      tile.store %a to %C[%c0, %k] : !t to !g
      scf.yield %b, %y : !t, !t
    } {tile.num_stages = 2 : i32}
    gpu.return
  }
}
