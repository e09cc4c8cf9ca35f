// Bytecode of the operations that version 2 of the dialect added.
//
// Inputs/bytecode-atomics-2.mlirbc and -3 hold the kernel below in versions 2 and 3.

// RUN: tilews-opt %s -o %t.text
// RUN: FileCheck %s --input-file=%t.text
// RUN: tilews-opt %S/Inputs/bytecode-atomics-2.mlirbc -o %t.old
// RUN: diff %t.text %t.old
// RUN: tilews-opt %S/Inputs/bytecode-atomics-3.mlirbc -o %t.three
// RUN: diff %t.text %t.three

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // CHECK-LABEL: gpu.func @atomics
  // CHECK: tile.atomic_load %{{.*}}[0] {order = #tile.order<acquire>} : memref<1xi32> -> tensor<i32>
  // CHECK: tile.atomic_cas %{{.*}}, %{{.*}} to %{{.*}}[0] {scope = #tile.scope<cluster>} : tensor<i32> to memref<1xi32>
  // CHECK: tile.atomic_rmw <max> %{{.*}} to %{{.*}}[0] {order = #tile.order<acq_rel>, scope = #tile.scope<system>} : tensor<i32> to memref<1xi32> -> tensor<i32>
  // CHECK: tile.atomic_rmw <add> %{{.*}} to %{{.*}}[0] : tensor<i32> to memref<1xi32>{{$}}
  // CHECK: tile.fence {order = #tile.order<release>}
  gpu.func @atomics(%n: memref<1xi32>) kernel {
    %0 = tile.atomic_load %n[0] {order = #tile.order<acquire>} : memref<1xi32> -> tensor<i32>
    %1 = tile.atomic_cas %0, %0 to %n[0] {scope = #tile.scope<cluster>} : tensor<i32> to memref<1xi32>
    %2 = tile.atomic_rmw <max> %1 to %n[0] {order = #tile.order<acq_rel>, scope = #tile.scope<system>} : tensor<i32> to memref<1xi32> -> tensor<i32>
    tile.atomic_rmw <add> %2 to %n[0] : tensor<i32> to memref<1xi32>
    tile.fence {order = #tile.order<release>}
    gpu.return
  }
}
