// RUN: tilews-opt %s --tile-annotate-instructions --tile-infer-layouts --tile-plan-shared-memory --tile-insert-barriers --convert-tile-to-nvvm --cse | FileCheck %s

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // Arithmetic on a fragment is the same arithmetic on a thread's registers.
  // CHECK-LABEL: llvm.func @arithmetic
  // CHECK: %[[C:.*]] = arith.constant dense<2.000000e+00> : vector<16xf32>
  // CHECK: %[[M:.*]] = arith.mulf %{{.*}}, %[[C]] : vector<16xf32>
  // CHECK: math.exp %[[M]] : vector<16xf32>
  // CHECK: arith.truncf %{{.*}} : vector<16xf32> to vector<16xf16>
  // CHECK-NOT: tensor<
  gpu.func @arithmetic(%x: memref<32x64xf32>, %y: memref<32x64xf16>) kernel {
    %t = tile.load %x[0, 0] : memref<32x64xf32> -> tensor<32x64xf32>
    %c = arith.constant dense<2.0> : tensor<32x64xf32>
    %m = arith.mulf %t, %c : tensor<32x64xf32>
    %e = math.exp %m : tensor<32x64xf32>
    %h = arith.truncf %e : tensor<32x64xf32> to tensor<32x64xf16>
    tile.store %h to %y[0, 0] : tensor<32x64xf16> to memref<32x64xf16>
    gpu.return
  }

  // An operation with two results.
  // CHECK-LABEL: llvm.func @two_results
  // CHECK: llvm.mlir.constant
  // CHECK: %[[LOW:.*]], %[[HIGH:.*]] = arith.mului_extended %{{.*}} : vector<16xi32>
  // CHECK: arith.xori %[[LOW]], %[[HIGH]] : vector<16xi32>
  gpu.func @two_results(%x: memref<32x64xi32>) kernel {
    %t = tile.load %x[0, 0] : memref<32x64xi32> -> tensor<32x64xi32>
    %low, %high = arith.mului_extended %t, %t : tensor<32x64xi32>
    %e = arith.xori %low, %high : tensor<32x64xi32>
    tile.store %e to %x[0, 0] : tensor<32x64xi32> to memref<32x64xi32>
    gpu.return
  }

  // The value of a row is repeated in all registers of the row.
  // CHECK-LABEL: llvm.func @broadcast
  // CHECK: %[[S:.*]] = vector.extract %{{.*}}[0] : f32 from vector<2xf32>
  // CHECK: vector.from_elements %[[S]], %[[S]]
  gpu.func @broadcast(%x: memref<16x64xf32>) kernel {
    %t = tile.load %x[0, 0] : memref<16x64xf32> -> tensor<16x64xf32>
    %s = tile.reduce <sum> %t {axis = 1 : i64} : tensor<16x64xf32> -> tensor<16xf32>
    %e = tile.expand_dims %s {axis = 1 : i64} : tensor<16xf32> -> tensor<16x1xf32>
    %b = tile.broadcast %e : tensor<16x1xf32> -> tensor<16x64xf32>
    tile.store %b to %x[0, 0] : tensor<16x64xf32> to memref<16x64xf32>
    gpu.return
  }

  // A coordinate is a part that the thread decides, plus a constant for each register.
  // CHECK-LABEL: llvm.func @iota
  // CHECK: arith.constant dense<[0, 1, 2, 3]> : vector<4xi32>
  // CHECK: vector.broadcast %{{.*}} : i32 to vector<4xi32>
  // CHECK: arith.addi %{{.*}} : vector<4xi32>
  gpu.func @iota(%x: memref<512xi32>) kernel {
    %i = tile.iota {axis = 0 : i64} : tensor<512xi32>
    tile.store %i to %x[0] : tensor<512xi32> to memref<512xi32>
    gpu.return
  }

  // Conversions to and from fp8: an instruction converts two numbers.
  // CHECK-LABEL: llvm.func @fp8
  // CHECK-COUNT-2: cvt.rn.satfinite.e4m3x2.f32 $0, $2, $1;
  // CHECK-COUNT-2: cvt.rn.f16x2.e4m3x2 $0, $1;
  gpu.func @fp8(%x: memref<512xf32>) kernel {
    %t = tile.load %x[0] : memref<512xf32> -> tensor<512xf32>
    %s = arith.truncf %t : tensor<512xf32> to tensor<512xf8E4M3FN>
    %w = arith.extf %s : tensor<512xf8E4M3FN> to tensor<512xf32>
    tile.store %w to %x[0] : tensor<512xf32> to memref<512xf32>
    gpu.return
  }

  // A conversion between layouts goes through scratch memory.
  // CHECK-LABEL: llvm.func @convert
  // CHECK: llvm.store %{{.*}} : vector<2xf32>, !llvm.ptr<3>
  // CHECK: nvvm.barrier0
  // CHECK: llvm.load %{{.*}} : !llvm.ptr<3> -> vector<4xf32>
  gpu.func @convert(%x: memref<16x32xf32>) kernel {
    %t = tile.load %x[0, 0] : memref<16x32xf32> -> tensor<16x32xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 8*d1), value = (2, 2):(1*d1, 8*d0)>>
    %c = tile.convert_layout %t
       : tensor<16x32xf32, #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 8*d1), value = (2, 2):(1*d1, 8*d0)>>
      to tensor<16x32xf32, #tile.fragment<thread = (8, 16):(4*d1, 1*d0), value = (4):(1*d1)>>
    tile.store %c to %x[0, 0] : tensor<16x32xf32, #tile.fragment<thread = (8, 16):(4*d1, 1*d0), value = (4):(1*d1)>> to memref<16x32xf32>
    gpu.return
  }
}
