// RUN: tilews-opt %s --tile-insert-barriers | FileCheck %s

// Regions whose offset grows with a loop by at least their size are disjoint in different
// iterations, so that the loop needs no barrier for them.

#wg = #gpu.address_space<workgroup>
!buffer = memref<64x64xf16, #wg>
!row = tensor<1x64xf16>
!rows = tensor<4x64xf16>
!column = tensor<64x1xf16>

gpu.module @iterations [#nvvm.target<chip = "sm_90a">] {
  // One barrier, which also waits for the copies, comes after the loop.
  // CHECK-LABEL: gpu.func @rows
  // CHECK: scf.for
  // CHECK-NOT: tile.barrier
  // CHECK: tile.copy
  // CHECK-NEXT: {{^ +}$}}
  // CHECK-NEXT: tile.barrier {drain_copies}
  // CHECK-NEXT: tile.load
  gpu.func @rows(%A: memref<?x64xf16>, %ids: memref<64xindex>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %s = tile.alloc_shared {tile.offset = 0 : i64} : !buffer
    scf.for %r = %c0 to %c64 step %c1 {
      %i = memref.load %ids[%r] : memref<64xindex>
      tile.copy %A[%i, 0] [1, 64] to %s[%r, 0] [1, 64] {tile.inst = #tile.inst<cp_async>} : memref<?x64xf16> to !buffer
    }
    %x = tile.load %s : !buffer -> tensor<64x64xf16>
    gpu.return
  }

  // Another execution of the loop writes the same rows.
  // CHECK-LABEL: gpu.func @rows_again
  // CHECK: scf.for
  // CHECK: tile.barrier{{$}}
  // CHECK-NEXT: scf.for
  // CHECK-NEXT: tile.store
  // CHECK-NEXT: }
  // CHECK-NEXT: tile.barrier{{$}}
  // CHECK-NEXT: tile.load
  gpu.func @rows_again(%x: !row) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %s = tile.alloc_shared {tile.offset = 0 : i64} : !buffer
    scf.for %k = %c0 to %c64 step %c1 {
      %p = arith.muli %k, %c64 : index
      scf.for %r = %c0 to %c64 step %c1 {
        tile.store %x to %s[%r, 0] : !row to !buffer
      }
      %y = tile.load %s : !buffer -> tensor<64x64xf16>
    }
    gpu.return
  }

  // Four rows at four times the iteration.
  // CHECK-LABEL: gpu.func @parts
  // CHECK-NOT: tile.barrier
  // CHECK: gpu.return
  gpu.func @parts(%x: !rows) kernel {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c16 = arith.constant 16 : index
    %s = tile.alloc_shared {tile.offset = 0 : i64} : !buffer
    scf.for %r = %c0 to %c16 step %c2 {
      %m = arith.muli %r, %c2 : index
      %p = arith.addi %m, %c2 : index
      tile.store %x to %s[%p, 0] : !rows to !buffer
    }
    gpu.return
  }

  // Two iterations have rows in common.
  // CHECK-LABEL: gpu.func @overlapping_parts
  // CHECK: scf.for
  // CHECK: tile.barrier{{$}}
  // CHECK-NEXT: tile.store
  gpu.func @overlapping_parts(%x: !rows) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %s = tile.alloc_shared {tile.offset = 0 : i64} : !buffer
    scf.for %r = %c0 to %c16 step %c1 {
      tile.store %x to %s[%r, 0] : !rows to !buffer
    }
    gpu.return
  }

  // Within an iteration, other threads read the row that was written.
  // CHECK-LABEL: gpu.func @read_in_the_iteration
  // CHECK: tile.store
  // CHECK-NEXT: tile.barrier{{$}}
  // CHECK-NEXT: tile.load
  // CHECK-NEXT: }
  gpu.func @read_in_the_iteration(%x: !row) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %s = tile.alloc_shared {tile.offset = 0 : i64} : !buffer
    scf.for %r = %c0 to %c16 step %c1 {
      tile.store %x to %s[%r, 0] : !row to !buffer
      %y = tile.load %s[%r, 0] : !buffer -> !row
    }
    gpu.return
  }

  // The next iteration reads the row that this one writes.
  // CHECK-LABEL: gpu.func @read_in_the_next_iteration
  // CHECK: scf.for
  // CHECK-NEXT: arith.subi
  // CHECK-NEXT: tile.barrier{{$}}
  // CHECK-NEXT: tile.load
  // CHECK-NEXT: tile.barrier{{$}}
  // CHECK-NEXT: tile.store
  gpu.func @read_in_the_next_iteration(%x: !row) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %s = tile.alloc_shared {tile.offset = 0 : i64} : !buffer
    scf.for %r = %c0 to %c16 step %c1 {
      %last = arith.subi %r, %c1 : index
      %y = tile.load %s[%last, 0] : !buffer -> !row
      tile.store %x to %s[%r, 0] : !row to !buffer
    }
    gpu.return
  }

  // A row and a column at one offset overlap, in the same iteration and in others.
  // CHECK-LABEL: gpu.func @rows_and_columns
  // CHECK: scf.for
  // CHECK-NEXT: tile.barrier{{$}}
  // CHECK-NEXT: tile.store
  // CHECK-NEXT: tile.barrier{{$}}
  // CHECK-NEXT: tile.store
  gpu.func @rows_and_columns(%x: !row, %y: !column) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %s = tile.alloc_shared {tile.offset = 0 : i64} : !buffer
    scf.for %r = %c0 to %c16 step %c1 {
      tile.store %x to %s[%r, 0] : !row to !buffer
      tile.store %y to %s[0, %r] : !column to !buffer
    }
    gpu.return
  }

  // The rows move with the outer loop, not with the inner one.
  // CHECK-LABEL: gpu.func @rows_of_the_outer_loop
  // CHECK: scf.for
  // CHECK-NEXT: scf.for
  // CHECK-NEXT: tile.barrier{{$}}
  // CHECK-NEXT: tile.store
  gpu.func @rows_of_the_outer_loop(%x: !row) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %s = tile.alloc_shared {tile.offset = 0 : i64} : !buffer
    scf.for %r = %c0 to %c16 step %c1 {
      scf.for %k = %c0 to %c16 step %c1 {
        tile.store %x to %s[%r, 0] : !row to !buffer
      }
    }
    gpu.return
  }
}
