// RUN: tilews-opt %s --tile-annotate-instructions --tile-infer-layouts --tile-plan-shared-memory --tile-insert-barriers --convert-tile-to-nvvm --cse | FileCheck %s

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // Registers are reduced first, then lanes by shuffles. A row within a warp needs
  // nothing else.
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

  // Warps exchange partial results through scratch memory, once.
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

  // Integers of a whole warp take one instruction.
  // CHECK-LABEL: llvm.func @integers
  // CHECK-NOT: nvvm.shfl.sync
  // CHECK: nvvm.redux.sync umax
  // CHECK-NOT: nvvm.shfl.sync
  // CHECK: llvm.return
  gpu.func @integers(%x: memref<1x1024xi32>, %r: memref<1xi32>) kernel {
    %t = tile.load %x[0, 0] : memref<1x1024xi32> -> tensor<1x1024xi32>
    %s = tile.reduce <umax> %t {axis = 1 : i64} : tensor<1x1024xi32> -> tensor<1xi32>
    tile.store %s to %r[0] : tensor<1xi32> to memref<1xi32>
    gpu.return
  }

  // Narrow integers are extended by their sign where it matters. Lanes of several rows
  // in one warp exchange by shuffles.
  // CHECK-LABEL: llvm.func @narrow_integers
  // CHECK: arith.extsi %{{.*}} : i8 to i32
  // CHECK: nvvm.redux.sync min
  // CHECK: arith.trunci %{{.*}} : i32 to i8
  // CHECK: nvvm.shfl.sync bfly
  // CHECK-NOT: nvvm.redux.sync
  // CHECK: llvm.return
  gpu.func @narrow_integers(%x: memref<1x4096xi8>, %r: memref<1xi8>,
                            %y: memref<32x64xi32>, %q: memref<32xi32>) kernel {
    %t = tile.load %x[0, 0] : memref<1x4096xi8> -> tensor<1x4096xi8>
    %s = tile.reduce <min> %t {axis = 1 : i64} : tensor<1x4096xi8> -> tensor<1xi8>
    tile.store %s to %r[0] : tensor<1xi8> to memref<1xi8>
    %u = tile.load %y[0, 0] : memref<32x64xi32> -> tensor<32x64xi32>
    %v = tile.reduce <sum> %u {axis = 1 : i64} : tensor<32x64xi32> -> tensor<32xi32>
    tile.store %v to %q[0] : tensor<32xi32> to memref<32xi32>
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

  // Registers are scanned first, then lanes: each adds the sum of the lanes before it.
  // CHECK-LABEL: llvm.func @scan(
  // CHECK-SAME: tile.shared_bytes = 0
  // CHECK-COUNT-3: arith.addi
  // CHECK: arith.cmpi ne
  // CHECK: nvvm.shfl.sync bfly
  // CHECK: arith.select
  // CHECK-COUNT-3: nvvm.shfl.sync bfly
  // CHECK-NOT: nvvm.shfl
  // CHECK: llvm.return
  gpu.func @scan(%x: memref<8x64xi32>) kernel {
    %t = tile.load %x[0, 0] : memref<8x64xi32> -> tensor<8x64xi32>
    %s = tile.scan <sum> %t {axis = 1 : i64} : tensor<8x64xi32>
    tile.store %s to %x[0, 0] : tensor<8x64xi32> to memref<8x64xi32>
    gpu.return
  }

  // Warps write their totals to scratch memory and read those of the other warps.
  // CHECK-LABEL: llvm.func @scan_warps
  // CHECK-COUNT-5: nvvm.shfl.sync bfly
  // CHECK: llvm.store {{.*}} : f32, !llvm.ptr<3>
  // CHECK: nvvm.barrier0
  // CHECK-COUNT-4: llvm.load {{.*}} : !llvm.ptr<3> -> f32
  // CHECK-NOT: {{nvvm.shfl|barrier}}
  // CHECK: llvm.return
  gpu.func @scan_warps(%x: memref<512xf32>, %y: memref<512xf32>) kernel {
    %t = tile.load %x : memref<512xf32> -> tensor<512xf32>
    %s = tile.scan <max> %t {axis = 0 : i64, reverse} : tensor<512xf32>
    tile.store %s to %y : tensor<512xf32> to memref<512xf32>
    gpu.return
  }

  // Three lanes cannot be reduced in pairs: they use scratch memory.
  // CHECK-LABEL: llvm.func @three_lanes
  // CHECK-NOT: nvvm.shfl
  // CHECK: nvvm.barrier0
  // CHECK-COUNT-3: llvm.load {{.*}} : !llvm.ptr<3> -> f32
  // CHECK: llvm.return
  gpu.func @three_lanes(%x: memref<32x3xf32>, %r: memref<32xf32>) kernel attributes {tile.threads = 96 : i32} {
    %t = tile.load %x : memref<32x3xf32> -> tensor<32x3xf32, #tile.fragment<thread = (3, 32):(1*d1, 1*d0), value = ():()>>
    %s = tile.reduce <sum> %t {axis = 1 : i64} : tensor<32x3xf32, #tile.fragment<thread = (3, 32):(1*d1, 1*d0), value = ():()>> -> tensor<32xf32>
    tile.store %s to %r : tensor<32xf32> to memref<32xf32>
    gpu.return
  }
}
