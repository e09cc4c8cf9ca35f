// REQUIRES: test-passes
// RUN: tilews-opt %s --test-tile-divisibility -o /dev/null | FileCheck %s

!wg = memref<64x64xf16, #gpu.address_space<workgroup>>
#sum = affine_map<(d0)[s0] -> (d0 * 8 + s0 * 12)>

gpu.module @divisibility [#nvvm.target<chip = "sm_80">] {
  // CHECK-LABEL: kernel @arithmetic
  // CHECK-NEXT: 18 values in 18 evaluations
  // CHECK-NEXT: %arg0: 1
  // CHECK-NEXT: %c0: 0
  // CHECK-NEXT: %c3: 3
  // CHECK-NEXT: %c16: 16
  // CHECK-NEXT: %c24: 24
  // CHECK-NEXT: %c64: 64
  // CHECK-NEXT: %0: 24
  // CHECK-NEXT: %1: 8
  // CHECK-NEXT: %2: 8
  // CHECK-NEXT: %3: 64
  // CHECK-NEXT: %4: 1
  // CHECK-NEXT: %5: 192
  // CHECK-NEXT: %6: 16
  // CHECK-NEXT: %7: 8
  // CHECK-NEXT: %8: 8
  // CHECK-NEXT: %9: 24
  // CHECK-NEXT: %10: 8
  // CHECK-NEXT: %11: 0
  gpu.func @arithmetic(%arg0: index) kernel {
    %c0 = arith.constant 0 : index
    %c3 = arith.constant 3 : index
    %c16 = arith.constant 16 : index
    %c24 = arith.constant 24 : index
    %c64 = arith.constant 64 : index
    %0 = arith.muli %arg0, %c24 : index
    %1 = arith.addi %0, %c16 : index
    %2 = arith.divui %0, %c3 : index
    // 64 * i / 24 is rounded.
    %3 = arith.muli %arg0, %c64 : index
    %4 = arith.divui %3, %c24 : index
    %5 = arith.shli %0, %c3 : index
    %6 = arith.andi %arg0, %c16 : index
    %7 = arith.remui %3, %c24 : index
    %8 = affine.apply #sum(%arg0)[%c16]
    %9 = arith.index_cast %0 : index to i64
    // Bits above the 8th are lost, and with them the factor 3.
    %10 = arith.trunci %9 : i64 to i8
    %11 = arith.muli %arg0, %c0 : index
    gpu.return
  }

  // A carried value has the divisor of its initial value only if iterations preserve it.
  // CHECK-LABEL: kernel @carried
  // CHECK-NEXT: 22 values in 37 evaluations
  // CHECK-NEXT: %arg0: 1
  // CHECK-NEXT: %c0: 0
  // CHECK-NEXT: %c1: 1
  // CHECK-NEXT: %c48: 48
  // CHECK-NEXT: %c64: 64
  // CHECK-NEXT: %0: 64
  // CHECK-NEXT: %4: 64
  // CHECK-NEXT: %arg2: 64
  // CHECK-NEXT: %arg1: 64
  // CHECK-NEXT: %1: 16
  // CHECK-NEXT: %4: 16
  // CHECK-NEXT: %arg2: 16
  // CHECK-NEXT: %arg1: 64
  // CHECK-NEXT: %2: 1
  // CHECK-NEXT: %4: 1
  // CHECK-NEXT: %arg2: 1
  // CHECK-NEXT: %arg1: 64
  // CHECK-NEXT: %3#0: 16
  // CHECK-NEXT: %arg3: 16
  // CHECK-NEXT: %arg2: 16
  // CHECK-NEXT: %3#1: 16
  // CHECK-NEXT: %arg1: 64
  gpu.func @carried(%arg0: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c48 = arith.constant 48 : index
    %c64 = arith.constant 64 : index
    %0 = scf.for %arg1 = %c0 to %arg0 step %c64 iter_args(%arg2 = %c64) -> (index) {
      %4 = arith.addi %arg2, %arg2 : index
      scf.yield %4 : index
    }
    %1 = scf.for %arg1 = %c0 to %arg0 step %c64 iter_args(%arg2 = %c64) -> (index) {
      %4 = arith.addi %arg2, %c48 : index
      scf.yield %4 : index
    }
    %2 = scf.for %arg1 = %c0 to %arg0 step %c64 iter_args(%arg2 = %c64) -> (index) {
      %4 = arith.addi %arg2, %c1 : index
      scf.yield %4 : index
    }
    // The two values are exchanged.
    %3:2 = scf.for %arg1 = %c0 to %arg0 step %c64 iter_args(%arg2 = %c64, %arg3 = %c48) -> (index, index) {
      scf.yield %arg3, %arg2 : index, index
    }
    gpu.return
  }

  // An induction variable is the lower bound plus multiples of the step.
  // CHECK-LABEL: kernel @bounds
  // CHECK-NEXT: 8 values in 8 evaluations
  // CHECK-NEXT: %arg0: 1
  // CHECK-NEXT: %c0: 0
  // CHECK-NEXT: %c8: 8
  // CHECK-NEXT: %c12: 12
  // CHECK-NEXT: %c64: 64
  // CHECK-NEXT: %arg1: 8
  // CHECK-NEXT: %arg1: 4
  // CHECK-NEXT: %arg1: 1
  gpu.func @bounds(%arg0: index) kernel {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c12 = arith.constant 12 : index
    %c64 = arith.constant 64 : index
    scf.for %arg1 = %c8 to %arg0 step %c64 {
    }
    scf.for %arg1 = %c12 to %arg0 step %c64 {
    }
    scf.for %arg1 = %arg0 to %c64 step %c64 {
    }
    gpu.return
  }

  // CHECK-LABEL: kernel @branches
  // CHECK-NEXT: 12 values in 19 evaluations
  // CHECK-NEXT: %arg0: 1
  // CHECK-NEXT: %arg1: 1
  // CHECK-NEXT: %c16: 16
  // CHECK-NEXT: %c24: 24
  // CHECK-NEXT: %0: 8
  // CHECK-NEXT: %1: 8
  // CHECK-NEXT: %3: 16
  // CHECK-NEXT: %2: 8
  // CHECK-NEXT: %arg2: 8
  // CHECK-NEXT: %3: 8
  // CHECK-NEXT: %arg2: 8
  // CHECK-NEXT: %3: 1
  gpu.func @branches(%arg0: i1, %arg1: index) kernel {
    %c16 = arith.constant 16 : index
    %c24 = arith.constant 24 : index
    %0 = arith.select %arg0, %c16, %c24 : index
    %1 = scf.if %arg0 -> (index) {
      scf.yield %c24 : index
    } else {
      %3 = arith.muli %arg1, %c16 : index
      scf.yield %3 : index
    }
    %2 = scf.while (%arg2 = %c16) : (index) -> index {
      %3 = arith.cmpi slt, %arg2, %arg1 : index
      scf.condition(%3) %arg2 : index
    } do {
    ^bb0(%arg2: index):
      %3 = arith.addi %arg2, %c24 : index
      scf.yield %3 : index
    }
    gpu.return
  }

  // Extents and offsets of copies. A row of %B may have any length.
  // CHECK-LABEL: kernel @copies
  // CHECK-NEXT: 7 values in 7 evaluations
  // CHECK-NEXT: %c0: 0
  // CHECK-NEXT: %c1: 1
  // CHECK-NEXT: %c40: 40
  // CHECK-NEXT: %c64: 64
  // CHECK-NEXT: %dim: 8
  // CHECK-NEXT: %dim_0: 1
  // CHECK-NEXT: %arg3: 64
  // CHECK-NEXT: tile.copy %arg0, %c0, %arg3, %0 moves 8 elements at a time
  // CHECK-NEXT: tile.copy %arg1, %c0, %arg3, %0 moves 1 elements at a time
  // CHECK-NEXT: tile.copy %arg0, %c0, %c1, %0 moves 1 elements at a time
  // CHECK-NEXT: tile.copy %arg2, %c0, %c40, %0 moves 8 elements at a time
  gpu.func @copies(%arg0: memref<?x?xf16> {tile.divisible = array<i64: 1, 8>},
                   %arg1: memref<?x?xf16>, %arg2: memref<96x80xf16>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c40 = arith.constant 40 : index
    %c64 = arith.constant 64 : index
    %0 = tile.alloc_shared : !wg
    %dim = memref.dim %arg0, %c1 : memref<?x?xf16>
    %dim_0 = memref.dim %arg1, %c1 : memref<?x?xf16>
    scf.for %arg3 = %c0 to %dim step %c64 {
      tile.copy %arg0[%c0, %arg3] to %0 : memref<?x?xf16> to !wg
      tile.copy %arg1[%c0, %arg3] to %0 : memref<?x?xf16> to !wg
    }
    tile.copy %arg0[%c0, %c1] to %0 : memref<?x?xf16> to !wg
    tile.copy %arg2[%c0, %c40] to %0 : memref<96x80xf16> to !wg
    gpu.return
  }
}
