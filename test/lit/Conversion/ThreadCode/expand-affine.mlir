// RUN: tilews-opt %s --tile-expand-affine | FileCheck %s
// RUN: tilews-opt %s --tile-set-target=chip=sm_80 --tilews-to-nvvm | FileCheck %s --check-prefix=NV
// RUN: tilews-opt %s --tile-set-target=chip=gfx942 --tilews-to-rocdl | FileCheck %s --check-prefix=AMD

gpu.module @kernels {
  // Nobody has promised that the multiplication of the map does not overflow.
  // CHECK-LABEL: @store
  // CHECK: arith.muli %{{.*}}, %{{.*}} : index
  // CHECK: arith.muli %{{.*}}, %{{.*}} overflow<nsw> : index
  // CHECK-NOT: affine
  // NV-LABEL: @store
  // NV: llvm.mul %{{.*}}, %{{.*}} : i32
  // NV: llvm.mul %{{.*}}, %{{.*}} overflow<nsw> : i32
  // AMD-LABEL: @store
  // AMD: llvm.mul %{{.*}}, %{{.*}} : i32
  // AMD: llvm.mul %{{.*}}, %{{.*}} overflow<nsw> : i32
  gpu.func @store(%A: memref<64xi32>, %i: index) kernel
      attributes {tile.threads = 64 : i32, tile.grid = affine_map<()[s0] -> (1)>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %x = affine.apply affine_map<(d0) -> (d0 * 1000000 + 7)>(%i)
    %stored = arith.index_cast %x : index to i32
    memref.store %stored, %A[%c0] : memref<64xi32>
    %y = arith.muli %i, %x overflow<nsw> : index
    %promised = arith.index_cast %y : index to i32
    memref.store %promised, %A[%c1] : memref<64xi32>
    gpu.return
  }
}
