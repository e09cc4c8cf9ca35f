// RUN: tilews-opt %s -tile-annotate-instructions -verify-diagnostics

// Loops that copy one part of a shared buffer in each iteration, with few of the threads.

#wg = #gpu.address_space<workgroup>
!buffer = memref<64x64xf16, #wg>

gpu.module @rows [#nvvm.target<chip = "sm_90a">] {
  gpu.func @at_indices(%A: memref<?x64xf16>, %ids: memref<?xi32>, %first: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %s = tile.alloc_shared : !buffer
    // expected-remark @below {{tile-inst-0004: each iteration copies 64 elements with 8 of 128 threads; copy all rows at once, with a fragment of their indices along dimension 0 of the source: tl.copy(A[ids, 0:64], S)}}
    scf.for %r = %c0 to %c64 step %c1 {
      %p = arith.addi %first, %r : index
      %i = memref.load %ids[%p] : memref<?xi32>
      %row = arith.index_cast %i : i32 to index
      // expected-note @below {{the copy}}
      tile.copy %A[%row, 0] [1, 64] to %s[%r, 0] [1, 64] : memref<?x64xf16> to !buffer
    }
    gpu.return
  }

  // One remark for the loop, whose copies fill two buffers.
  gpu.func @regions(%A: memref<?x64xf16>, %B: memref<?x64xf16>) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c32 = arith.constant 32 : index
    %s = tile.alloc_shared : !buffer
    %t = tile.alloc_shared : !buffer
    // expected-remark @below {{tile-inst-0004: each iteration copies 128 elements with 16 of 128 threads; copy the region of all iterations at once: tl.copy(A[i:i + 64, :], S)}}
    scf.for %r = %c0 to %c32 step %c1 {
      %p = arith.muli %r, %c2 : index
      // expected-note @below {{the copy}}
      tile.copy %A[%p, 0] [2, 64] to %s[%p, 0] [2, 64] : memref<?x64xf16> to !buffer
      tile.copy %B[%p, 0] [2, 64] to %t[%p, 0] [2, 64] : memref<?x64xf16> to !buffer
    }
    gpu.return
  }

  // The threads have enough to copy.
  gpu.func @large_parts(%A: memref<?x64xf16>, %ids: memref<?xindex>) kernel attributes {tile.threads = 64 : i32} {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %s = tile.alloc_shared : !buffer
    scf.for %r = %c0 to %c64 step %c8 {
      %i = memref.load %ids[%r] : memref<?xindex>
      tile.copy %A[%i, 0] [8, 64] to %s[%r, 0] [8, 64] : memref<?x64xf16> to !buffer
    }
    gpu.return
  }

  // Each iteration uses its row: the loop is no copy of rows.
  gpu.func @used(%A: memref<?x64xf16>, %ids: memref<?xindex>, %C: memref<64x64xf16>) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %s = tile.alloc_shared : !buffer
    scf.for %r = %c0 to %c64 step %c1 {
      %i = memref.load %ids[%r] : memref<?xindex>
      tile.copy %A[%i, 0] [1, 64] to %s[%r, 0] [1, 64] : memref<?x64xf16> to !buffer
      %x = tile.load %s[%r, 0] : !buffer -> tensor<1x64xf16>
      tile.store %x to %C[%r, 0] : tensor<1x64xf16> to memref<64x64xf16>
    }
    gpu.return
  }

  // The loop writes the indices.
  gpu.func @written_indices(%A: memref<?x64xf16>, %ids: memref<64xindex>) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %s = tile.alloc_shared : !buffer
    scf.for %r = %c0 to %c64 step %c1 {
      %i = memref.load %ids[%r] : memref<64xindex>
      tile.copy %A[%i, 0] [1, 64] to %s[%r, 0] [1, 64] : memref<?x64xf16> to !buffer
      memref.store %r, %ids[%i] : memref<64xindex>
    }
    gpu.return
  }

  // The next row is known only after the last one.
  gpu.func @chained(%A: memref<?x64xf16>, %next: memref<?xindex>) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %s = tile.alloc_shared : !buffer
    %last = scf.for %r = %c0 to %c64 step %c1 iter_args(%i = %c0) -> index {
      tile.copy %A[%i, 0] [1, 64] to %s[%r, 0] [1, 64] : memref<?x64xf16> to !buffer
      %n = memref.load %next[%i] : memref<?xindex>
      scf.yield %n : index
    }
    gpu.return
  }

  // Every iteration fills the same row.
  gpu.func @one_row(%A: memref<?x64xf16>) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %s = tile.alloc_shared : !buffer
    scf.for %r = %c0 to %c64 step %c1 {
      tile.copy %A[%r, 0] [1, 64] to %s[0, 0] [1, 64] : memref<?x64xf16> to !buffer
    }
    gpu.return
  }
}
