// The layout of a buffer follows from what wgmma needs of its parts. Panels are as wide as a
// part, and matrices of a buffer of three dimensions lie one after the other.
//
// RUN: tilews-opt %s --tile-set-target=chip=sm_90a --tile-annotate-instructions --tile-infer-layouts | FileCheck %s

!S = memref<4x64x64xf16, #gpu.address_space<workgroup>>
!A = memref<64x64xf16, #gpu.address_space<workgroup>>
!B64 = memref<64x32xf8E5M2, #gpu.address_space<workgroup>>
!B = memref<8x32xf8E5M2, #gpu.address_space<workgroup>>
!Part = memref<8x16xf8E5M2, #gpu.address_space<workgroup>>
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
  // wgmma prefers panels of 32 bytes for the whole buffer, and takes 16 bytes, in which
  // the columns 16 to 31 have a layout, too.
  // CHECK-LABEL: gpu.func @narrow_parts
  // CHECK: tile.alloc_shared : memref<8x32xf8E5M2, #tile.shared<(8, (16, 2)):(16, (1, 128))>, #gpu.address_space<workgroup>>
  // CHECK: tile.gemm {{.*}}tile.inst = #tile.inst<wgmma>
  // CHECK: tile.subview %{{.*}}[0, 16] [8, 16] : {{.*}} to memref<8x16xf8E5M2, #tile.shared<(8, 16):(16, 1)>, #gpu.address_space<workgroup>>
  gpu.func @narrow_parts(%x: memref<?x?xf8E5M2>, %c: memref<64x8xf32>) kernel {
    %zero = arith.constant dense<0.0> : tensor<64x8xf32>
    %a = tile.alloc_shared : !B64
    %b = tile.alloc_shared : !B
    tile.copy %x[0, 0] to %a : memref<?x?xf8E5M2> to !B64
    tile.copy %x[0, 0] to %b : memref<?x?xf8E5M2> to !B
    %0 = tile.gemm %a, %b, %zero {transpose_rhs} : !B64, !B -> tensor<64x8xf32>
    %l = tile.load %x[0, 0] : memref<?x?xf8E5M2> -> tensor<64x16xf8E5M2>
    %p = tile.subview %b[0, 16] [8, 16] : !B to !Part
    %1 = tile.gemm %l, %p, %0 {transpose_rhs} : tensor<64x16xf8E5M2>, !Part -> tensor<64x8xf32>
    tile.store %1 to %c : tensor<64x8xf32> to memref<64x8xf32>
    gpu.return
  }
}
