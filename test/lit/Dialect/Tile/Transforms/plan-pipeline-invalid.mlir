// RUN: tilews-opt %s --tile-plan-pipeline --split-input-file --verify-diagnostics

!g = memref<?x?xf16>
!s = memref<64x64xf16, #gpu.address_space<workgroup>>
!t = tensor<64x64xf16>
!acc = tensor<64x64xf32>

gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @incomplete(%A: !g, %b: !t, %zero: !acc, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%c = %zero) -> !acc {
      tile.copy %A[0, %k] to %as {tile.stage = 0 : i32, tile.order = 1 : i32} : !g to !s
      // expected-error @below {{the pipeline it is in cannot be kept: the operation lacks 'tile.stage' and 'tile.order', which others in the loop have}}
      %d = tile.gemm %as, %b, %c : !s, !t -> !acc
      scf.yield %d : !acc
    } {tile.num_stages = 3 : i32}
    gpu.return
  }
}

// -----

!g = memref<?x?xf16>
!s = memref<64x64xf16, #gpu.address_space<workgroup>>
!t = tensor<64x64xf16>
!acc = tensor<64x64xf32>

gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @same_order(%A: !g, %b: !t, %zero: !acc, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%c = %zero) -> !acc {
      tile.copy %A[0, %k] to %as {tile.stage = 0 : i32, tile.order = 1 : i32} : !g to !s
      // expected-error @below {{another operation of the loop has order 1 too}}
      %d = tile.gemm %as, %b, %c {tile.stage = 1 : i32, tile.order = 1 : i32} : !s, !t -> !acc
      scf.yield %d : !acc
    } {tile.num_stages = 3 : i32}
    gpu.return
  }
}

// -----

!g = memref<?x?xf16>
!s = memref<64x64xf16, #gpu.address_space<workgroup>>
!t = tensor<64x64xf16>
!acc = tensor<64x64xf32>

gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @stage_too_late(%A: !g, %b: !t, %zero: !acc, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%c = %zero) -> !acc {
      tile.copy %A[0, %k] to %as {tile.stage = 0 : i32, tile.order = 0 : i32} : !g to !s
      // expected-error @below {{stage 4 is too late: the loop has 3 stages}}
      %d = tile.gemm %as, %b, %c {tile.stage = 4 : i32, tile.order = 1 : i32} : !s, !t -> !acc
      scf.yield %d : !acc
    } {tile.num_stages = 3 : i32}
    gpu.return
  }
}

// -----

!g = memref<?x?xf16>
!s = memref<64x64xf16, #gpu.address_space<workgroup>>
!t = tensor<64x64xf16>
!acc = tensor<64x64xf32>

gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @versions(%A: !g, %b: !t, %zero: !acc, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%c = %zero) -> !acc {
      // expected-error @below {{the stages and orders keep 4 versions of the buffer, but the loop has 3 stages}}
      tile.copy %A[0, %k] to %as {tile.stage = 0 : i32, tile.order = 0 : i32} : !g to !s
      %d = tile.gemm %as, %b, %c {tile.stage = 3 : i32, tile.order = 1 : i32} : !s, !t -> !acc
      scf.yield %d : !acc
    } {tile.num_stages = 3 : i32}
    gpu.return
  }
}

// -----

!g = memref<?x?xf16>
!s = memref<64x64xf16, #gpu.address_space<workgroup>>
!t = tensor<64x64xf16>
!acc = tensor<64x64xf32>

gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @result_too_late(%A: !g, %b: !t, %zero: !acc, %n: index, %C: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    scf.for %k = %c0 to %n step %c64 {
      tile.copy %A[0, %k] to %as {tile.stage = 0 : i32, tile.order = 0 : i32} : !g to !s
      %d = tile.gemm %as, %b, %zero {tile.stage = 2 : i32, tile.order = 1 : i32} : !s, !t -> !acc
      // expected-error @below {{stage 1 and order 2 are too early: 'tile.gemm' (stage 2, order 1), whose result it uses, must come first}}
      tile.store %d to %C[%k, 0] {tile.stage = 1 : i32, tile.order = 2 : i32} : !acc to memref<?x?xf32>
    } {tile.num_stages = 3 : i32}
    gpu.return
  }
}

// -----

!g = memref<?x?xf16>
!s = memref<64x64xf16, #gpu.address_space<workgroup>>
!t = tensor<64x64xf16>
!acc = tensor<64x64xf32>

gpu.module @m [#nvvm.target<chip = "sm_80">] {
  // The next iteration would overwrite the row before this one has read it.
  gpu.func @over_the_back_edge(%A: !g, %b: !t, %zero: !acc, %n: index, %X: memref<64x64xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    scf.for %k = %c0 to %n step %c64 {
      tile.copy %A[0, %k] to %as {tile.stage = 0 : i32, tile.order = 0 : i32} : !g to !s
      // expected-error @below {{stage 1 and order 1 are too early: 'tile.store' of the previous iteration (stage 3, order 3), which accesses the same memory, must come first}}
      %x = tile.load %X {tile.stage = 1 : i32, tile.order = 1 : i32} : memref<64x64xf32> -> !acc
      %d = tile.gemm %as, %b, %x {tile.stage = 2 : i32, tile.order = 2 : i32} : !s, !t -> !acc
      tile.store %d to %X {tile.stage = 3 : i32, tile.order = 3 : i32} : !acc to memref<64x64xf32>
    } {tile.num_stages = 3 : i32}
    gpu.return
  }
}

// -----

!g = memref<?x?xf16>
!s = memref<64x64xf16, #gpu.address_space<workgroup>>
!t = tensor<64x64xf16>
!acc = tensor<64x64xf32>

gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @guard(%A: !g, %b: !t, %zero: !acc, %n: index, %on: i1) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    %bs = tile.alloc_shared : !s
    scf.for %k = %c0 to %n step %c64 {
      scf.if %on {
        tile.copy %A[0, %k] to %as {tile.stage = 0 : i32, tile.order = 1 : i32} : !g to !s
        %d = tile.gemm %as, %b, %zero {tile.stage = 3 : i32, tile.order = 0 : i32} : !s, !t -> !acc
        // expected-error @below {{the producers of a guard must have one stage, and orders without others in between; so must its consumers}}
        tile.copy %A[0, %k] to %bs {tile.stage = 0 : i32, tile.order = 3 : i32} : !g to !s
        // expected-error @below {{the producers of a guard}}
        %e = tile.gemm %bs, %b, %zero {tile.stage = 3 : i32, tile.order = 2 : i32} : !s, !t -> !acc
      }
    } {tile.num_stages = 3 : i32}
    gpu.return
  }
}

// -----

gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @negative(%x: memref<?xindex>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      // expected-error @below {{'tile.order' expects a non-negative i32, found -1 : i32}}
      memref.store %i, %x[%c0] {tile.order = -1 : i32} : memref<?xindex>
    }
    gpu.return
  }
}

// -----

gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @late(%x: memref<?xindex>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      // expected-error @below {{'tile.stage' expects at most 64, found 65}}
      memref.store %i, %x[%c0] {tile.stage = 65 : i32} : memref<?xindex>
    }
    gpu.return
  }
}

// -----

!g = memref<?x?xf16>
!s = memref<64x64xf16, #gpu.address_space<workgroup>>
!t = tensor<64x64xf16>

gpu.module @m [#nvvm.target<chip = "sm_80">] {
  // The load runs two stages later than the store: an iteration too late.
  gpu.func @two_iterations_ago(%A: !g, %C: !g, %zero: !t, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    %r:2 = scf.for %k = %c0 to %n step %c64 iter_args(%old = %zero, %older = %zero) -> (!t, !t) {
      tile.copy %A[0, %k] to %as {tile.stage = 0 : i32, tile.order = 0 : i32} : !g to !s
      // expected-error @below {{stage 1 and order 1 are too early: 'tile.load' of 2 iterations earlier (stage 3, order 2), whose result it uses at most one stage later, must come first}}
      tile.store %older to %C[0, %k] {tile.stage = 1 : i32, tile.order = 1 : i32} : !t to !g
      %x = tile.load %as {tile.stage = 3 : i32, tile.order = 2 : i32} : !s -> !t
      scf.yield %x, %old : !t, !t
    } {tile.num_stages = 4 : i32}
    gpu.return
  }
}

// -----

!g = memref<?x?xf16>
!s = memref<64x64xf16, #gpu.address_space<workgroup>>
!t = tensor<64x64xf16>

gpu.module @m [#nvvm.target<chip = "sm_80">] {
  // The store needs the fragments of the last two iterations: the nearer one counts.
  gpu.func @one_and_two_iterations_ago(%A: !g, %C: !g, %zero: !t, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    %r:2 = scf.for %k = %c0 to %n step %c64 iter_args(%old = %zero, %older = %zero) -> (!t, !t) {
      tile.copy %A[0, %k] to %as {tile.stage = 0 : i32, tile.order = 0 : i32} : !g to !s
      // expected-error @below {{stage 1 and order 1 are too early: 'tile.load' of the previous iteration (stage 2, order 3), whose result it uses, must come first}}
      %sum = arith.addf %older, %old {tile.stage = 1 : i32, tile.order = 1 : i32} : !t
      tile.store %sum to %C[0, %k] {tile.stage = 1 : i32, tile.order = 2 : i32} : !t to !g
      %x = tile.load %as {tile.stage = 2 : i32, tile.order = 3 : i32} : !s -> !t
      scf.yield %x, %old : !t, !t
    } {tile.num_stages = 3 : i32}
    gpu.return
  }
}
