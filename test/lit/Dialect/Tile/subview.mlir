// Parts of shared buffers: their types, layouts and folds.
//
// RUN: tilews-opt %s | tilews-opt | FileCheck %s
// RUN: tilews-opt %s --canonicalize | FileCheck %s --check-prefix=CANON

!S = memref<4x64x64xf16, #gpu.address_space<workgroup>>
!Part = memref<64x32xf16, #gpu.address_space<workgroup>>
!Matrix = memref<64x64xf16, #gpu.address_space<workgroup>>
!Panels = memref<64x128xf16, #tile.shared<(64, (64, 2)):(64, (1, 4096)), Sw<3,4,3>>, #gpu.address_space<workgroup>>
!Rows = memref<16x128xf16, #tile.shared<(16, (64, 2)):(64, (1, 4096)), Sw<3,4,3>>, #gpu.address_space<workgroup>>
!Panel = memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>

gpu.module @m {
  // CHECK-LABEL: gpu.func @parts
  // CANON-LABEL: gpu.func @parts
  gpu.func @parts(%i: index) kernel {
    %s = tile.alloc_shared : !S
    %p = tile.alloc_shared : !Panels
    // CHECK: tile.subview %{{.*}}[%{{.*}}, 0, 32] [1, 64, 32] : memref<4x64x64xf16, #gpu.address_space<workgroup>> to memref<64x32xf16, #gpu.address_space<workgroup>>
    %0 = tile.subview %s[%i, 0, 32] [1, 64, 32] : !S to !Part
    // CHECK: tile.subview %{{.*}}[16, 0] [16, 128]
    %1 = tile.subview %p[16, 0] [16, 128] : !Panels to !Rows
    // CHECK: tile.subview %{{.*}}[0, 64] [64, 64]
    %2 = tile.subview %p[0, 64] [64, 64] : !Panels to !Panel
    %a = tile.load %0 : !Part -> tensor<64x32xf16>
    tile.store %a to %0 : tensor<64x32xf16> to !Part
    %b = tile.load %1 : !Rows -> tensor<16x128xf16>
    tile.store %b to %1 : tensor<16x128xf16> to !Rows
    %c = tile.load %2 : !Panel -> tensor<64x64xf16>
    tile.store %c to %2 : tensor<64x64xf16> to !Panel
    gpu.return
  }

  // A constant outside of the buffer stays an operand: the operation may never be executed.
  // CANON-LABEL: gpu.func @constants
  // CANON: tile.subview %{{.*}}[3, 0, 0] [1, 64, 64]
  // CANON: tile.subview %{{.*}}[%{{.*}}, 0, 0] [1, 64, 64]
  // CANON-NOT: tile.subview
  gpu.func @constants(%o: memref<64x64xf16>) kernel {
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %s = tile.alloc_shared : !S
    %m = tile.alloc_shared : !Matrix
    %0 = tile.subview %s[%c3, 0, 0] [1, 64, 64] : !S to !Matrix
    %1 = tile.subview %s[%c4, 0, 0] [1, 64, 64] : !S to !Matrix
    %2 = tile.subview %m[0, 0] [64, 64] : !Matrix to !Matrix
    %a = tile.load %0 : !Matrix -> tensor<64x64xf16>
    tile.store %a to %o : tensor<64x64xf16> to memref<64x64xf16>
    %b = tile.load %1 : !Matrix -> tensor<64x64xf16>
    tile.store %b to %o : tensor<64x64xf16> to memref<64x64xf16>
    %c = tile.load %2 : !Matrix -> tensor<64x64xf16>
    tile.store %c to %o : tensor<64x64xf16> to memref<64x64xf16>
    gpu.return
  }
}
