// RUN: tilews-opt %s --tile-infer-layouts --convert-tile-to-nvvm --split-input-file --verify-diagnostics

// Atomic operations of other dialects: each thread would execute them.

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @memref_atomic(%C: memref<?xi32>) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %one = arith.constant 1 : i32
    // expected-error @below {{'memref.atomic_rmw' op in a kernel would be executed by each thread; use tile.atomic_rmw or tile.atomic_cas (in Python: tl.atomic_add and the like), which the block executes once}}
    %old = memref.atomic_rmw addi %one, %C[%c0] : (i32, memref<?xi32>) -> i32
    gpu.return
  }
}

// -----

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @generic_atomic(%C: memref<?xi32>) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    // expected-error @below {{'memref.generic_atomic_rmw' op in a kernel would be executed by each thread}}
    %old = memref.generic_atomic_rmw %C[%c0] : memref<?xi32> {
    ^bb0(%now: i32):
      memref.atomic_yield %now : i32
    }
    gpu.return
  }
}
