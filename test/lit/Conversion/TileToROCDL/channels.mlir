// RUN: tilews-opt %s --tile-annotate-instructions --tile-plan-pipeline --tile-multi-version --tile-expand-pipeline --canonicalize --cse --tile-infer-layouts --tile-plan-shared-memory --tile-insert-barriers --tile-lower-channels --convert-tile-to-rocdl | FileCheck %s

// Ordinary copies fill the slots of a pipeline without roles: each iteration has one
// barrier, and no code for the other operations of transactions.
gpu.module @kernels [#rocdl.target<chip = "gfx942">] {
  // CHECK-LABEL: llvm.func @gemm
  // CHECK: scf.for
  // CHECK: rocdl.s.barrier
  // CHECK-NOT: rocdl.s.barrier
  // CHECK: rocdl.mfma
  // CHECK-NOT: rocdl.s.barrier
  // CHECK-NOT: tile.
  gpu.func @gemm(%A: memref<?x?xf16>, %B: memref<?x?xf16>, %n: index, %C: memref<64x64xf32>)
      kernel attributes {tile.threads = 256 : i32} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %as = tile.alloc_shared : memref<64x32xf16, #gpu.address_space<workgroup>>
    %bs = tile.alloc_shared : memref<32x64xf16, #gpu.address_space<workgroup>>
    %r = scf.for %k = %c0 to %n step %c32 iter_args(%c = %zero) -> tensor<64x64xf32> {
      tile.copy %A[0, %k] to %as : memref<?x?xf16> to memref<64x32xf16, #gpu.address_space<workgroup>>
      tile.copy %B[%k, 0] to %bs : memref<?x?xf16> to memref<32x64xf16, #gpu.address_space<workgroup>>
      %d = tile.gemm %as, %bs, %c
        : memref<64x32xf16, #gpu.address_space<workgroup>>,
          memref<32x64xf16, #gpu.address_space<workgroup>> -> tensor<64x64xf32>
      scf.yield %d : tensor<64x64xf32>
    } {tile.num_stages = 2 : i32}
    tile.store %r to %C : tensor<64x64xf32> to memref<64x64xf32>
    gpu.return
  }
}
