// Bytecode of bits under other types, of types below a byte, and of integers without
// sign.
//
// Inputs/bytecode-small-types-2.mlirbc and -3 hold the kernel below in versions 2 and 3.

// RUN: tilews-opt %s -o %t.text
// RUN: FileCheck %s --input-file=%t.text
// RUN: tilews-opt %S/Inputs/bytecode-small-types-2.mlirbc -o %t.old
// RUN: diff %t.text %t.old
// RUN: tilews-opt %S/Inputs/bytecode-small-types-3.mlirbc -o %t.three
// RUN: diff %t.text %t.three

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // CHECK-LABEL: gpu.func @small
  // CHECK: tile.bitcast %{{.*}} : tensor<64x32xi8> to tensor<64x64xf4E2M1FN>
  // CHECK: tile.reduce <umax> %{{.*}} {axis = 1 : i64} : tensor<64x32xi8> -> tensor<64xi8>
  // CHECK: tile.scan <umin> %{{.*}} {axis = 0 : i64} : tensor<64xi8>
  // CHECK: tile.atomic_rmw <umin> %{{.*}} to %{{.*}} : tensor<64xi8> to memref<64xi8>
  // CHECK: tile.print "most" %{{.*}} : tensor<64xi8> {tile.unsigned = array<i64: 0>}
  gpu.func @small(%a: memref<64x32xi8>, %b: memref<64x64xf4E2M1FN>, %c: memref<64xi8>, %s: memref<64xf8E8M0FNU>) kernel {
    %0 = tile.load %a : memref<64x32xi8> -> tensor<64x32xi8>
    %1 = tile.bitcast %0 : tensor<64x32xi8> to tensor<64x64xf4E2M1FN>
    tile.store %1 to %b : tensor<64x64xf4E2M1FN> to memref<64x64xf4E2M1FN>
    %2 = tile.reduce <umax> %0 {axis = 1 : i64} : tensor<64x32xi8> -> tensor<64xi8>
    %3 = tile.scan <umin> %2 {axis = 0 : i64} : tensor<64xi8>
    tile.atomic_rmw <umin> %3 to %c : tensor<64xi8> to memref<64xi8>
    tile.print "most" %3 : tensor<64xi8> {tile.unsigned = array<i64: 0>}
    gpu.return
  }
}
