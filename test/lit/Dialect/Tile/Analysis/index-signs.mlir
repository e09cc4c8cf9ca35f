// REQUIRES: test-passes
// RUN: tilews-opt %s --test-tile-index-signs -o /dev/null | FileCheck %s

#sum = affine_map<(d0)[s0] -> (d0 * 8 + s0)>
#less = affine_map<(d0) -> (d0 - 1)>
#rest = affine_map<(d0) -> (d0 mod 4)>
#both = affine_map<(d0)[s0] -> (d0, s0)>

gpu.module @signs {
  // CHECK-LABEL: kernel @arithmetic
  // CHECK: %block_id_x: 0 or more
  // CHECK-NEXT: %dim: 0 or more
  // CHECK-NEXT: %0: 0 or more
  // CHECK-NEXT: %1: any
  // CHECK-NEXT: %2: any
  // CHECK-NEXT: %3: 0 or more
  // CHECK-NEXT: %4: any
  // CHECK-NEXT: %5: 0 or more
  // CHECK-NEXT: %6: 0 or more
  // CHECK-NEXT: %7: any
  // CHECK-NEXT: %8: 0 or more
  // CHECK-NEXT: %9: 0 or more
  // CHECK-NEXT: %10: any
  // CHECK-NEXT: %11: any
  // CHECK-NEXT: %12: 0 or more
  gpu.func @arithmetic(%m: memref<?xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %block_id_x = gpu.block_id x
    %dim = memref.dim %m, %c0 : memref<?xf32>
    %0 = arith.muli %block_id_x, %c8 : index
    %1 = arith.muli %n, %c8 : index
    %2 = arith.subi %0, %c8 : index
    %3 = arith.maxsi %n, %c0 : index
    %4 = arith.minsi %n, %c8 : index
    %5 = arith.remui %0, %c8 : index
    %6 = affine.apply #sum(%0)[%dim]
    %7 = affine.apply #less(%0)
    %8 = affine.apply #rest(%n)
    %9 = affine.max #both(%n)[%c8]
    %10 = affine.min #both(%n)[%c8]
    %11 = arith.addi %n, %0 : index
    %12 = arith.addi %6, %0 : index
    gpu.return
  }

  // A carried value is never negative only if iterations preserve that.
  // CHECK-LABEL: kernel @carried
  // CHECK: %0#0: 0 or more
  // CHECK-NEXT: %1: 0 or more
  // CHECK-NEXT: %arg2: 0 or more
  // CHECK-NEXT: %0#1: any
  // CHECK-NEXT: %2: any
  // CHECK-NEXT: %arg1: 0 or more
  // CHECK-NEXT: %arg3: any
  gpu.func @carried(%n: index) kernel {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %0:2 = scf.for %i = %c0 to %n step %c8 iter_args(%up = %c0, %down = %c8)
        -> (index, index) {
      %1 = arith.addi %up, %c8 : index
      %2 = arith.subi %down, %c8 : index
      scf.yield %1, %2 : index, index
    }
    gpu.return
  }
}
