// RUN: tilews-opt --pass-pipeline='builtin.module(gpu.module(tile-plan-shared-memory,tile-insert-barriers,convert-tile-to-nvvm,canonicalize,cse))' %s | FileCheck %s

// Fragments of a role are exchanged among its own threads. They are numbered from the
// first thread of the role, and synchronize at a barrier of the role.
#math = #tile.fragment<thread = (32, 4):(1*d0, 32*d0), value = (4):(128*d0)>
#load = #tile.fragment<thread = (32):(1*d0), value = (4):(32*d0)>

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // CHECK-LABEL: llvm.func @roles
  // CHECK-DAG: %[[FOUR_WARPS:.*]] = arith.constant 128 : i32
  // CHECK-DAG: %[[SECOND:.*]] = arith.constant 2 : i32
  // CHECK-DAG: %[[FIRST_WARP:.*]] = arith.constant 32 : i32
  // CHECK: arith.subi %{{.*}}, %[[FIRST_WARP]] : i32
  // CHECK-COUNT-5: nvvm.shfl.sync bfly
  // CHECK: llvm.store {{.*}} !llvm.ptr<3>
  // CHECK: nvvm.barrier id = %[[SECOND]] number_of_threads = %[[FOUR_WARPS]]
  // CHECK-COUNT-4: llvm.load {{.*}} : !llvm.ptr<3> -> f32
  gpu.func @roles(%x: memref<128xf32>, %y: memref<512xf32>, %r: memref<1xf32>) kernel attributes {tile.threads = 160 : i32} {
    tile.specialize {
      tile.role @load warps(1) {
        %0 = tile.load %x : memref<128xf32> -> tensor<128xf32, #load>
        tile.store %0 to %x : tensor<128xf32, #load> to memref<128xf32>
      }
      tile.role @math warps(4) {
        %0 = tile.load %y : memref<512xf32> -> tensor<512xf32, #math>
        %1 = tile.reduce <sum> %0 {axis = 0 : i64} : tensor<512xf32, #math> -> tensor<f32, #tile.fragment<thread = (32, 4):(0, 0), value = ():()>>
        tile.store %1 to %r[0] [1] : tensor<f32, #tile.fragment<thread = (32, 4):(0, 0), value = ():()>> to memref<1xf32>
      }
    }
    gpu.return
  }
}
