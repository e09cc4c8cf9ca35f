// Bytecode of flips.
//
// Inputs/bytecode-flip-2.mlirbc holds the kernel below in version 2.

// RUN: tilews-opt %s -o %t.text
// RUN: FileCheck %s --input-file=%t.text
// RUN: tilews-opt %S/Inputs/bytecode-flip-2.mlirbc -o %t.old
// RUN: diff %t.text %t.old

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // CHECK-LABEL: gpu.func @flips
  // CHECK: tile.flip %{{.*}} {axes = array<i64: 0, 1>} : tensor<64x32xf16>
  gpu.func @flips(%a: memref<64x32xf16>, %b: memref<64x32xf16>) kernel {
    %0 = tile.load %a : memref<64x32xf16> -> tensor<64x32xf16>
    %1 = tile.flip %0 {axes = array<i64: 0, 1>} : tensor<64x32xf16>
    tile.store %1 to %b : tensor<64x32xf16> to memref<64x32xf16>
    gpu.return
  }
}
