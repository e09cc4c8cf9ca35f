// Bytecode of gathers, scatters, and copies with rows or limits, which version 2 of the
// dialect added.
//
// Inputs/bytecode-gathers-2.mlirbc and -3 hold the kernel below in versions 2 and 3.

// RUN: tilews-opt %s -o %t.text
// RUN: FileCheck %s --input-file=%t.text
// RUN: tilews-opt %S/Inputs/bytecode-gathers-2.mlirbc -o %t.old
// RUN: diff %t.text %t.old
// RUN: tilews-opt %S/Inputs/bytecode-gathers-3.mlirbc -o %t.three
// RUN: diff %t.text %t.three
// Older versions of MLIR's own format, which hold the groups of operands as an attribute.
// RUN: tilews-opt %s --emit-bytecode --emit-bytecode-version=5 | tilews-opt -o %t.five
// RUN: diff %t.text %t.five

!rows = memref<64xi32, #gpu.address_space<workgroup>>
!tile = memref<64x32xf16, #gpu.address_space<workgroup>>

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // CHECK-LABEL: gpu.func @gathers
  // CHECK: tile.gather %{{.*}}[0, %{{.*}}] [64, 32] at(0 = %{{.*}} : tensor<64x1xi32>) mask(%{{.*}} : tensor<64x32xi1>) pad %{{.*}} : memref<?x?xf16> -> tensor<64x32xf16>
  // CHECK: tile.scatter %{{.*}} to %{{.*}}[0, %{{.*}}] [64, 32] at(0 = %{{.*}} : tensor<64x1xi32>) : tensor<64x32xf16> to memref<?x?xf16>
  // CHECK: tile.atomic_scatter <add> %{{.*}} to %{{.*}}[0, 0] [64, 32] at(0 = %{{.*}} : tensor<64x1xi32>) mask(%{{.*}} : tensor<64x32xi1>) {order = #tile.order<release>} : tensor<64x32xf16> to memref<?x?xf16> -> tensor<64x32xf16>
  // CHECK: tile.copy %{{.*}}[0, %{{.*}}] [64, 32] at(0 = %{{.*}} : memref<64xi32, #gpu.address_space<workgroup>>) to %{{.*}} : memref<?x?xf16> to memref<64x32xf16, #gpu.address_space<workgroup>>
  // CHECK: tile.copy %{{.*}}[%{{.*}}, 0] [64, 32] to %{{.*}} limit(0 = %{{.*}}) :
  gpu.func @gathers(%a: memref<?x?xf16>, %i: tensor<64x1xi32>, %m: tensor<64x32xi1>, %p: f16, %k: index) kernel {
    %r = tile.alloc_shared : !rows
    %s = tile.alloc_shared : !tile
    %0 = tile.gather %a[0, %k] [64, 32] at(0 = %i : tensor<64x1xi32>) mask(%m : tensor<64x32xi1>) pad %p : memref<?x?xf16> -> tensor<64x32xf16>
    tile.scatter %0 to %a[0, %k] [64, 32] at(0 = %i : tensor<64x1xi32>) : tensor<64x32xf16> to memref<?x?xf16>
    %1 = tile.atomic_scatter <add> %0 to %a[0, 0] [64, 32] at(0 = %i : tensor<64x1xi32>) mask(%m : tensor<64x32xi1>) {order = #tile.order<release>} : tensor<64x32xf16> to memref<?x?xf16> -> tensor<64x32xf16>
    tile.copy %a[0, %k] [64, 32] at(0 = %r : !rows) to %s : memref<?x?xf16> to !tile
    tile.copy %a[%k, 0] [64, 32] to %s limit(0 = %k) : memref<?x?xf16> to !tile
    gpu.return
  }
}
