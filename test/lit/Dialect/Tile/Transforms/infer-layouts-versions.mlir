// Versioned buffers: each version gets the layout of a buffer without versions, and the
// whole buffer gets the layout of its versions in a row.
// RUN: tilews-opt %s -split-input-file -tile-infer-layouts | FileCheck %s

#wg = #gpu.address_space<workgroup>

// The layout that wgmma needs for a slot is that of all slots: a slot has 128 rows of
// 128 bytes.
// CHECK-LABEL: gpu.func @inferred
// CHECK: tile.alloc_shared : memref<4x128x64xf16, #tile.shared<(4, 128, 64):(8192, 64, 1), Sw<3,4,3>>,
// CHECK: tile.alloc_shared : memref<4x64x96xf16, #tile.shared<(4, 64, (32, 3)):(6144, 32, (1, 2048)), Sw<2,4,3>>,
// CHECK: tile.channel(%{{.*}}, %{{.*}}) {producer = #tile.producer<tma>} : memref<4x128x64xf16, #tile.shared<(4, 128, 64):(8192, 64, 1), Sw<3,4,3>>,
// CHECK: tile.slot {{.*}} -> memref<128x64xf16, #tile.shared<(128, 64):(64, 1), Sw<3,4,3>>,
// CHECK: tile.slot {{.*}} -> memref<64x96xf16, #tile.shared<(64, (32, 3)):(32, (1, 2048)), Sw<2,4,3>>,
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @inferred(%X: memref<128x96xf32>) kernel {
    %a = tile.alloc_shared : memref<4x128x64xf16, #wg>
    %b = tile.alloc_shared : memref<4x64x96xf16, #wg>
    %ch = tile.channel(%a, %b) {producer = #tile.producer<tma>} : memref<4x128x64xf16, #wg>, memref<4x64x96xf16, #wg> -> !tile.channel<4>
    %p = tile.cursor : !tile.cursor<4>
    %a0 = tile.slot %a[%p] : memref<4x128x64xf16, #wg> -> memref<128x64xf16, #wg>
    %b0 = tile.slot %b[%p] : memref<4x64x96xf16, #wg> -> memref<64x96xf16, #wg>
    %c = tile.load %X : memref<128x96xf32> -> tensor<128x96xf32>
    %d = tile.gemm %a0, %b0, %c {tile.inst = #tile.inst<wgmma>} : memref<128x64xf16, #wg>, memref<64x96xf16, #wg> -> tensor<128x96xf32>
    tile.store %d to %X : tensor<128x96xf32> to memref<128x96xf32>
    gpu.return
  }
}

// -----

// A slot of 24 rows of 48 bytes is padded to a multiple of 128 bytes.
// CHECK-LABEL: gpu.func @rounded
// CHECK: tile.alloc_shared : memref<3x24x24xf16, #tile.shared<(3, 24, 24):(576, 24, 1)>,
// CHECK: tile.alloc_shared : memref<3x5x10xf16, #tile.shared<(3, 5, 10):(64, 10, 1)>,
#wg = #gpu.address_space<workgroup>
gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @rounded(%X: memref<24x24xf16>, %Y: memref<5x10xf16>) kernel {
    %a = tile.alloc_shared : memref<3x24x24xf16, #wg>
    %b = tile.alloc_shared : memref<3x5x10xf16, #wg>
    %p = tile.cursor : !tile.cursor<3>
    %a0 = tile.slot %a[%p] : memref<3x24x24xf16, #wg> -> memref<24x24xf16, #wg>
    %b0 = tile.slot %b[%p] : memref<3x5x10xf16, #wg> -> memref<5x10xf16, #wg>
    tile.copy %X to %a0 : memref<24x24xf16> to memref<24x24xf16, #wg>
    tile.copy %Y to %b0 : memref<5x10xf16> to memref<5x10xf16, #wg>
    gpu.return
  }
}

// -----

// A layout that is given for the whole buffer is kept, and reaches the slots and their
// views.
// CHECK-LABEL: gpu.func @given
// CHECK: tile.alloc_shared : memref<2x64x64xf16, #tile.shared<(2, 64, (32, 2)):(4096, 32, (1, 2048)), Sw<2,4,3>>,
// CHECK: tile.slot {{.*}} -> memref<64x64xf16, #tile.shared<(64, (32, 2)):(32, (1, 2048)), Sw<2,4,3>>,
// CHECK: tile.view {{.*}} to memref<64x32xf32, #tile.shared<(64, (16, 2)):(16, (1, 1024)), Sw<2,4,3>>,
#wg = #gpu.address_space<workgroup>
!As = memref<2x64x64xf16, #tile.shared<(2, 64, (32, 2)):(4096, 32, (1, 2048)), Sw<2,4,3>>, #wg>
!a = memref<64x64xf16, #tile.shared<(64, (32, 2)):(32, (1, 2048)), Sw<2,4,3>>, #wg>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @given(%X: memref<64x32xf32>) kernel {
    %a = tile.alloc_shared : !As
    %p = tile.cursor : !tile.cursor<2>
    %a0 = tile.slot %a[%p] : !As -> !a
    %v = tile.view %a0 : !a to memref<64x32xf32, #wg>
    tile.copy %X to %v : memref<64x32xf32> to memref<64x32xf32, #wg>
    gpu.return
  }
}

// -----

// wgmma reads slots of a view of all versions: the layout reaches the buffer through
// the slot and the view.
// CHECK-LABEL: gpu.func @view_of_versions
// CHECK: tile.alloc_shared : memref<2x64x64xf32, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>,
// CHECK: tile.view {{.*}} to memref<2x128x64xf16, #tile.shared<(2, 128, 64):(8192, 64, 1), Sw<3,4,3>>,
#wg = #gpu.address_space<workgroup>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @view_of_versions(%X: memref<128x128xf32>) kernel {
    %a = tile.alloc_shared : memref<2x64x64xf32, #wg>
    %v = tile.view %a : memref<2x64x64xf32, #wg> to memref<2x128x64xf16, #wg>
    %p = tile.cursor : !tile.cursor<2>
    %s = tile.slot %v[%p] : memref<2x128x64xf16, #wg> -> memref<128x64xf16, #wg>
    %c = tile.load %X : memref<128x128xf32> -> tensor<128x128xf32>
    %d = tile.gemm %s, %s, %c {transpose_rhs, tile.inst = #tile.inst<wgmma>} : memref<128x64xf16, #wg>, memref<128x64xf16, #wg> -> tensor<128x128xf32>
    tile.store %d to %X : tensor<128x128xf32> to memref<128x128xf32>
    gpu.return
  }
}
