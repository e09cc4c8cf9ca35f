// Bytecode of flips.
//
// Inputs/bytecode-flip-2.mlirbc and -3 hold the kernel below in versions 2 and 3.

// RUN: tilews-opt %s -o %t.text
// RUN: FileCheck %s --input-file=%t.text
// RUN: tilews-opt %S/Inputs/bytecode-flip-2.mlirbc -o %t.old
// RUN: diff %t.text %t.old
// RUN: tilews-opt %S/Inputs/bytecode-flip-3.mlirbc -o %t.three
// RUN: diff %t.text %t.three

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
