// Buffers that TMA fills or stores, and whose layout no other operation asks for.
// RUN: tilews-opt %s -split-input-file -tile-infer-layouts | FileCheck %s

#wg = #gpu.address_space<workgroup>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // Rows of 128 bytes make one box. Rows of 1024 bytes are cut into panels.
  // CHECK-LABEL: gpu.func @rows
  // CHECK: tile.alloc_shared : memref<64x64xf16, #tile.shared<(64, 64):(64, 1)>,
  // CHECK: tile.alloc_shared : memref<128x512xf16, #tile.shared<(128, (64, 8)):(64, (1, 8192)), Sw<3,4,3>>,
  gpu.func @rows(%X: memref<64x64xf16>, %Y: memref<128x512xf16>) kernel {
    %a = tile.alloc_shared : memref<64x64xf16, #wg>
    %b = tile.alloc_shared : memref<128x512xf16, #wg>
    tile.copy %X to %a {tile.inst = #tile.inst<tma>} : memref<64x64xf16> to memref<64x64xf16, #wg>
    tile.copy %b to %Y {tile.inst = #tile.inst<tma>} : memref<128x512xf16, #wg> to memref<128x512xf16>
    gpu.return
  }
}
