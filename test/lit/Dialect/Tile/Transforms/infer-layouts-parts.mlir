// The layout of a buffer follows from what wgmma needs of its parts. Panels are as wide as a
// part, and matrices of a buffer of three dimensions lie one after the other.
//
// RUN: tilews-opt %s --tile-set-target=chip=sm_90a --tile-annotate-instructions --tile-infer-layouts | FileCheck %s

!S = memref<4x64x64xf16, #gpu.address_space<workgroup>>
!A = memref<64x64xf16, #gpu.address_space<workgroup>>
!P = memref<64x32xf16, #gpu.address_space<workgroup>>

gpu.module @m {
  // CHECK-LABEL: gpu.func @parts
  // CHECK: tile.alloc_shared : memref<4x64x64xf16, #tile.shared<(4, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
  // CHECK: tile.alloc_shared : memref<64x64xf16, #tile.shared<(64, (32, 2)):(32, (1, 2048)), Sw<2,4,3>>, #gpu.address_space<workgroup>>
  gpu.func @parts(%x: memref<?x?xf16>, %c: memref<64x64xf32>, %i: index) kernel {
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %s = tile.alloc_shared : !S
    %a = tile.alloc_shared : !A
    tile.copy %x[0, 0] to %a : memref<?x?xf16> to !A
    tile.copy %x[0, 0] to %s[%i, 0, 0] [1, 64, 64] : memref<?x?xf16> to !S
    // CHECK: tile.subview %{{.*}}[%{{.*}}, 0, 0] [1, 64, 64] : {{.*}} to memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
    %t = tile.subview %s[%i, 0, 0] [1, 64, 64] : !S to !A
    %0 = tile.gemm %t, %t, %zero : !A, !A -> tensor<64x64xf32>
    // CHECK: tile.subview %{{.*}}[0, 32] [64, 32] : {{.*}} to memref<64x32xf16, #tile.shared<(64, 32):(32, 1), Sw<2,4,3>>, #gpu.address_space<workgroup>>
    %p = tile.subview %a[0, 32] [64, 32] : !A to !P
    %1 = tile.gemm %p, %p, %0 {transpose_rhs} : !P, !P -> tensor<64x64xf32>
    tile.store %1 to %c : tensor<64x64xf32> to memref<64x64xf32>
    gpu.return
  }
}
