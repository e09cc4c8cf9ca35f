// RUN: tilews-opt %s --tile-peel-pipelines | FileCheck %s

#smem = #gpu.address_space<workgroup>

gpu.module @kernels [#rocdl.target<chip = "gfx942">] {
  // The last iteration uses the values that the others carried to it, and does not
  // load. Its place is counted in steps.
  // CHECK-LABEL: gpu.func @carried
  // CHECK-SAME: %[[A:[^:]*]]: memref<?x?xf16>, %[[N:[^:]*]]: index, %[[START:[^:]*]]: f32
  // CHECK: %[[LAST:.*]] = arith.subi %[[N]], %[[C3:.*]] : index
  // CHECK: %[[ANY:.*]] = arith.cmpi slt, %[[C2:.*]], %[[N]]
  // CHECK: %[[SUM:.*]] = scf.for %[[I:.*]] = %[[C2]] to %[[LAST]] step %[[C3]] iter_args(%[[ACC:.*]] = %[[START]])
  // CHECK-NOT: scf.if
  // CHECK: %[[F:.*]] = tile.load %[[A]][0, %[[I]]]
  // CHECK-NOT: scf.if
  // CHECK: %[[NEXT:.*]] = arith.addf %[[ACC]], %[[ACC]]
  // CHECK-NOT: scf.if
  // CHECK: tile.store %[[F]]
  // CHECK: scf.yield %[[NEXT]]
  // CHECK: %[[ALL:.*]] = scf.if %[[ANY]] -> (f32)
  // CHECK-DAG: %[[LENGTH:.*]] = arith.subi %[[N]], %[[C2]]
  // CHECK: %[[LESS:.*]] = arith.subi %[[LENGTH]], %{{.*}}
  // CHECK: %[[STEPS:.*]] = arith.divsi %[[LESS]], %[[C3]]
  // CHECK: arith.muli %[[STEPS]], %[[C3]]
  // CHECK-NOT: tile.load
  // CHECK: %[[END:.*]] = arith.addf %[[SUM]], %[[SUM]]
  // CHECK-NOT: tile.store
  // CHECK: scf.yield %[[END]]
  // CHECK: else
  // CHECK: scf.yield %[[SUM]]
  // CHECK: memref.store %[[ALL]]
  gpu.func @carried(%A: memref<?x?xf16>, %n: index, %start: f32, %R: memref<f32>) kernel attributes {tile.threads = 64 : i32} {
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %zeros = arith.constant dense<0.0> : tensor<16x16xf16>
    %as = tile.alloc_shared : memref<16x16xf16, #smem>
    %sum = scf.for %i = %c2 to %n step %c3 iter_args(%acc = %start) -> (f32) {
      %end = arith.subi %n, %c3 : index
      %exists = arith.cmpi slt, %i, %end : index
      %f = scf.if %exists -> (tensor<16x16xf16>) {
        %t = tile.load %A[0, %i] : memref<?x?xf16> -> tensor<16x16xf16>
        scf.yield %t : tensor<16x16xf16>
      } else {
        scf.yield %zeros : tensor<16x16xf16>
      }
      %next = arith.addf %acc, %acc : f32
      scf.if %exists {
        tile.store %f to %as : tensor<16x16xf16> to memref<16x16xf16, #smem>
      }
      scf.yield %next : f32
    }
    memref.store %sum, %R[] : memref<f32>
    gpu.return
  }

  // The inner loop, of three iterations, becomes one of two and a rest. The loop
  // around it stays as it is.
  // CHECK-LABEL: gpu.func @nested
  // CHECK: scf.for %{{.*}} = %{{.*}} to %[[N:.*]] step
  // CHECK: %[[OUTER:.*]] = arith.cmpi slt
  // CHECK: scf.if %[[OUTER]]
  // CHECK: %[[C2:.*]] = arith.subi %c3, %c1
  // CHECK: scf.for %{{.*}} = %c0 to %[[C2]] step %c1
  // CHECK-NOT: scf.if
  // CHECK: tile.load
  // CHECK: tile.store
  // CHECK: scf.if
  // CHECK: gpu.barrier
  // CHECK: gpu.return
  gpu.func @nested(%A: memref<?x?xf16>, %n: index) kernel attributes {tile.threads = 64 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %zeros = arith.constant dense<0.0> : tensor<16x16xf16>
    %as = tile.alloc_shared : memref<16x16xf16, #smem>
    %bs = tile.alloc_shared : memref<16x16xf16, #smem>
    scf.for %j = %c0 to %n step %c1 {
      %end = arith.subi %n, %c1 : index
      %more = arith.cmpi slt, %j, %end : index
      scf.if %more {
        %t = tile.load %A[0, %j] : memref<?x?xf16> -> tensor<16x16xf16>
        tile.store %t to %bs : tensor<16x16xf16> to memref<16x16xf16, #smem>
      }
      scf.for %i = %c0 to %c3 step %c1 {
        %exists = arith.cmpi slt, %i, %c2 : index
        scf.if %exists {
          %t = tile.load %A[0, %i] : memref<?x?xf16> -> tensor<16x16xf16>
          tile.store %t to %as : tensor<16x16xf16> to memref<16x16xf16, #smem>
        }
        gpu.barrier
      }
    }
    gpu.return
  }

  // Copies that are two iterations ahead: the last two iterations are a loop. Its first
  // one follows the last one of the loop with copies, if that has any.
  // CHECK-LABEL: gpu.func @farther
  // CHECK-SAME: %[[A:[^:]*]]: memref<?x?xf16>, %[[N:[^:]*]]: index
  // CHECK: %[[SHORTER:.*]] = arith.subi %[[N]], %{{.*}} : index
  // CHECK: scf.for %[[I:.*]] = %[[FIRST:.*]] to %[[SHORTER]] step %[[STEP:.*]] {
  // CHECK-NOT: scf.if
  // CHECK: tile.copy %[[A]]
  // CHECK: gpu.barrier
  // CHECK: }
  // CHECK: arith.subi %[[SHORTER]], %[[FIRST]]
  // CHECK: %[[NEXT:.*]] = arith.addi %{{.*}}, %[[STEP]]
  // CHECK: %[[ANY:.*]] = arith.cmpi slt, %[[FIRST]], %[[SHORTER]]
  // CHECK: %[[START:.*]] = arith.select %[[ANY]], %[[NEXT]], %[[FIRST]]
  // CHECK: scf.for %{{.*}} = %[[START]] to %[[N]] step %[[STEP]] {
  // CHECK-NOT: tile.copy
  // CHECK: gpu.barrier
  gpu.func @farther(%A: memref<?x?xf16>, %n: index) kernel attributes {tile.threads = 64 : i32} {
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c6 = arith.constant 6 : index
    %as = tile.alloc_shared : memref<16x16xf16, #smem>
    scf.for %i = %c1 to %n step %c3 {
      %end = arith.subi %n, %c6 : index
      %exists = arith.cmpi slt, %i, %end : index
      scf.if %exists {
        tile.copy %A[0, %i] to %as {tile.inst = #tile.inst<cp_async>} : memref<?x?xf16> to memref<16x16xf16, #smem>
      }
      gpu.barrier
    }
    gpu.return
  }

  // Guards by other comparisons, and without a load.
  // CHECK-LABEL: gpu.func @others
  // CHECK-COUNT-2: scf.for
  // CHECK-NOT: scf.for
  // CHECK: gpu.return
  gpu.func @others(%A: memref<?x?xf16>, %n: index) kernel attributes {tile.threads = 64 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %zeros = arith.constant dense<0.0> : tensor<16x16xf16>
    %as = tile.alloc_shared : memref<16x16xf16, #smem>
    scf.for %i = %c0 to %n step %c1 {
      %end = arith.subi %n, %c1 : index
      %exists = arith.cmpi sle, %i, %end : index
      scf.if %exists {
        %t = tile.load %A[0, %i] : memref<?x?xf16> -> tensor<16x16xf16>
        tile.store %t to %as : tensor<16x16xf16> to memref<16x16xf16, #smem>
      }
    }
    scf.for %i = %c0 to %n step %c1 {
      %end = arith.subi %n, %c1 : index
      %exists = arith.cmpi slt, %i, %end : index
      scf.if %exists {
        tile.store %zeros to %as : tensor<16x16xf16> to memref<16x16xf16, #smem>
      }
    }
    gpu.return
  }
}
