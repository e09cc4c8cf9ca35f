// RUN: tilews-opt %s --tile-multi-version --verify-diagnostics

!g = memref<?x?xf16>
!s = memref<64x64xf16, #gpu.address_space<workgroup>>
!t = tensor<64x64xf16>
!acc = tensor<64x64xf32>

gpu.module @m [#nvvm.target<chip = "sm_80">] {
  // The plan was written by hand.
  gpu.func @too_early(%A: !g, %b: !t, %zero: !acc, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%c = %zero) -> !acc {
      %d = tile.gemm %as, %b, %c {tile.stage = 1 : i32, tile.order = 1 : i32} : !s, !t -> !acc
      // expected-error @below {{the pipeline it is in cannot be kept: the buffer is read before it is written}}
      tile.copy %A[0, %k] to %as {tile.stage = 0 : i32, tile.order = 0 : i32} : !g to !s
      scf.yield %d : !acc
    } {tile.num_stages = 2 : i32}
    gpu.return
  }
}
