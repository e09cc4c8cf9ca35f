// Bytecode of matmuls of packed and scaled operands.
//
// Inputs/bytecode-matmuls-3.mlirbc holds the kernel below in version 3.

// RUN: tilews-opt %s -o %t.text
// RUN: FileCheck %s --input-file=%t.text
// RUN: tilews-opt %S/Inputs/bytecode-matmuls-3.mlirbc -o %t.three
// RUN: diff %t.text %t.three
// RUN: tilews-opt %s --emit-bytecode --emit-bytecode-version=5 | tilews-opt -o %t.five
// RUN: diff %t.text %t.five

gpu.module @kernels [#rocdl.target<chip = "gfx950">] {
  // CHECK-LABEL: gpu.func @small
  gpu.func @small(%a: tensor<32x64xi8>, %c: tensor<32x96xi8>, %b: tensor<128x32xf8E4M3FN>,
                  %s: tensor<32x4xf8E8M0FNU>, %t: tensor<4x32xf8E8M0FNU>,
                  %acc: tensor<32x32xf32>) kernel {
    // CHECK: tile.gemm {{.*}} scaled(%{{.*}}, %{{.*}} : tensor<32x4xf8E8M0FNU>, tensor<4x32xf8E8M0FNU>) {lhs_type = f4E2M1FN}
    %0 = tile.gemm %a, %b, %acc scaled (%s, %t : tensor<32x4xf8E8M0FNU>, tensor<4x32xf8E8M0FNU>) {lhs_type = f4E2M1FN} : tensor<32x64xi8>, tensor<128x32xf8E4M3FN> -> tensor<32x32xf32>
    // CHECK: tile.gemm {{.*}} {lhs_type = f4E2M1FN, policy = #tile.warps<full_col>, rhs_type = f6E3M2FN, transpose_rhs}
    %1 = tile.gemm %a, %c, %0 {transpose_rhs, policy = #tile.warps<full_col>, lhs_type = f4E2M1FN, rhs_type = f6E3M2FN} : tensor<32x64xi8>, tensor<32x96xi8> -> tensor<32x32xf32>
    gpu.return
  }
}
