// RUN: tilews-opt %s --tile-annotate-instructions --tile-infer-layouts --tile-plan-shared-memory --tile-insert-barriers --convert-tile-to-nvvm --cse | FileCheck %s

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // Registers first, then lanes by shuffles; a row within a warp needs no more.
  // CHECK-LABEL: llvm.func @lanes
  // CHECK: arith.addf
  // CHECK-COUNT-4: nvvm.shfl.sync bfly
  // CHECK-NOT: nvvm.barrier0
  // CHECK: llvm.return
  gpu.func @lanes(%x: memref<8x64xf32>, %r: memref<8xf32>) kernel {
    %t = tile.load %x[0, 0] : memref<8x64xf32> -> tensor<8x64xf32>
    %s = tile.reduce <sum> %t {axis = 1 : i64} : tensor<8x64xf32> -> tensor<8xf32>
    tile.store %s to %r[0] : tensor<8xf32> to memref<8xf32>
    gpu.return
  }

  // Across warps the partial results meet in scratch memory, once.
  // CHECK-LABEL: llvm.func @warps
  // CHECK: arith.maxnumf
  // CHECK-COUNT-5: nvvm.shfl.sync bfly
  // CHECK: scf.if
  // CHECK: llvm.store %{{.*}}, %{{.*}} {{.*}} !llvm.ptr<3>
  // CHECK: nvvm.barrier0
  // CHECK-COUNT-4: llvm.load %{{.*}} : !llvm.ptr<3> -> f32
  // CHECK-NOT: nvvm.barrier0
  // CHECK: llvm.return
  gpu.func @warps(%x: memref<1x1024xf32>, %r: memref<1xf32>) kernel {
    %t = tile.load %x[0, 0] : memref<1x1024xf32> -> tensor<1x1024xf32>
    %s = tile.reduce <max> %t {axis = 1 : i64} : tensor<1x1024xf32> -> tensor<1xf32>
    tile.store %s to %r[0] : tensor<1xf32> to memref<1xf32>
    gpu.return
  }

  // Registers past the extent hold the value that changes nothing.
  // CHECK-LABEL: llvm.func @ragged
  // CHECK: %[[IDENTITY:.*]] = arith.constant -0.000000e+00 : f32
  // CHECK: arith.select %{{.*}}, %{{.*}}, %[[IDENTITY]] : f32
  gpu.func @ragged(%x: memref<1x1000xf32>, %r: memref<1xf32>) kernel {
    %t = tile.load %x[0, 0] : memref<1x1000xf32> -> tensor<1x1000xf32>
    %s = tile.reduce <sum> %t {axis = 1 : i64} : tensor<1x1000xf32> -> tensor<1xf32>
    tile.store %s to %r[0] : tensor<1xf32> to memref<1xf32>
    gpu.return
  }

  // A 64-bit value travels as two words.
  // CHECK-LABEL: llvm.func @wide
  // CHECK: llvm.bitcast %{{.*}} : i64 to vector<2xi32>
  // CHECK-COUNT-2: nvvm.shfl.sync bfly
  // CHECK: llvm.bitcast %{{.*}} : vector<2xi32> to i64
  gpu.func @wide(%x: memref<128x2xf64>, %r: memref<128xf64>) kernel attributes {tile.threads = 256 : i32} {
    %t = tile.load %x[0, 0] : memref<128x2xf64> -> tensor<128x2xf64, #tile.fragment<thread = (2, 128):(1*d1, 1*d0), value = (1):(1*d0)>>
    %s = tile.reduce <sum> %t {axis = 1 : i64} : tensor<128x2xf64, #tile.fragment<thread = (2, 128):(1*d1, 1*d0), value = (1):(1*d0)>> -> tensor<128xf64>
    tile.store %s to %r[0] : tensor<128xf64> to memref<128xf64>
    gpu.return
  }

  // A scan goes line by line through scratch memory.
  // CHECK-LABEL: llvm.func @scan
  // CHECK: nvvm.barrier0
  // CHECK: scf.for
  // CHECK: scf.for
  // CHECK: arith.addi
  // CHECK: nvvm.barrier0
  gpu.func @scan(%x: memref<8x64xi32>) kernel {
    %t = tile.load %x[0, 0] : memref<8x64xi32> -> tensor<8x64xi32>
    %s = tile.scan <sum> %t {axis = 1 : i64} : tensor<8x64xi32>
    tile.store %s to %x[0, 0] : tensor<8x64xi32> to memref<8x64xi32>
    gpu.return
  }
}
