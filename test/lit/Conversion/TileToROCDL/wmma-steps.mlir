// On RDNA chips, LLVM reads the operands of all steps of a matmul first. If the registers
// do not suffice for all, fences keep those of a step, or of two, apart. They do so in
// matmuls of one tile for each wave, and in those with a fragment as operand.
// RUN: tilews-opt %s -split-input-file --pass-pipeline='builtin.module(gpu.module(tile-annotate-instructions,tile-infer-layouts,tile-plan-shared-memory,tile-insert-barriers,convert-tile-to-rocdl,canonicalize,cse))' | FileCheck %s

#wg = #gpu.address_space<workgroup>
gpu.module @wmma [#rocdl.target<chip = "gfx1100">] {
  // Two steps with 16 registers each fit.
  // CHECK-LABEL: llvm.func @all
  // CHECK-NOT: rocdl.sched.barrier
  // CHECK-COUNT-2: rocdl.wmma
  // CHECK-NOT: rocdl.sched.barrier
  gpu.func @all(%C: memref<16x16xf32>) kernel attributes {tile.threads = 32 : i32} {
    %a = tile.alloc_shared : memref<16x32xf16, #wg>
    %b = tile.alloc_shared : memref<16x32xf16, #wg>
    %c = arith.constant dense<0.0> : tensor<16x16xf32>
    %d = tile.gemm %a, %b, %c {transpose_rhs} : memref<16x32xf16, #wg>, memref<16x32xf16, #wg> -> tensor<16x16xf32>
    tile.store %d to %C : tensor<16x16xf32> to memref<16x16xf32>
    gpu.return
  }
  // 16 steps have 256 registers. The next step is read before the fence.
  // CHECK-LABEL: llvm.func @two
  // CHECK: rocdl.wmma
  // CHECK-NOT: rocdl.sched.barrier
  // CHECK: llvm.load {{.*}} !llvm.ptr<3>
  // CHECK: rocdl.sched.barrier 0
  // CHECK-NEXT: rocdl.wmma
  // CHECK-COUNT-14: rocdl.sched.barrier 0
  // CHECK-NOT: rocdl.sched.barrier
  // CHECK-LABEL: llvm.func @one
  gpu.func @two(%C: memref<16x16xf32>) kernel attributes {tile.threads = 32 : i32} {
    %a = tile.alloc_shared : memref<16x256xf16, #wg>
    %b = tile.alloc_shared : memref<16x256xf16, #wg>
    %c = arith.constant dense<0.0> : tensor<16x16xf32>
    %d = tile.gemm %a, %b, %c {transpose_rhs} : memref<16x256xf16, #wg>, memref<16x256xf16, #wg> -> tensor<16x16xf32>
    tile.store %d to %C : tensor<16x16xf32> to memref<16x16xf32>
    gpu.return
  }
  // 128 accumulators leave no room for the 64 registers of two steps, and the left
  // operand is a fragment. Each step is read after a fence.
  // CHECK: rocdl.wmma
  // CHECK: rocdl.sched.barrier 0
  // CHECK-NOT: rocdl.wmma
  // CHECK: llvm.load {{.*}} !llvm.ptr<3>
  // CHECK: rocdl.wmma
  gpu.func @one(%A: memref<64x32xf16>, %C: memref<64x64xf32>) kernel attributes {tile.threads = 32 : i32} {
    %a = tile.load %A : memref<64x32xf16> -> tensor<64x32xf16>
    %b = tile.alloc_shared : memref<64x32xf16, #wg>
    %c = arith.constant dense<0.0> : tensor<64x64xf32>
    %d = tile.gemm %a, %b, %c {transpose_rhs} : tensor<64x32xf16>, memref<64x32xf16, #wg> -> tensor<64x64xf32>
    tile.store %d to %C : tensor<64x64xf32> to memref<64x64xf32>
    gpu.return
  }
  // With several tiles, and no fragment, there are no fences.
  // CHECK-LABEL: llvm.func @tiles
  // CHECK-NOT: rocdl.sched.barrier
  gpu.func @tiles(%C: memref<64x64xf32>) kernel attributes {tile.threads = 32 : i32} {
    %a = tile.alloc_shared : memref<64x64xf16, #wg>
    %b = tile.alloc_shared : memref<64x64xf16, #wg>
    %c = arith.constant dense<0.0> : tensor<64x64xf32>
    %d = tile.gemm %a, %b, %c {transpose_rhs} : memref<64x64xf16, #wg>, memref<64x64xf16, #wg> -> tensor<64x64xf32>
    tile.store %d to %C : tensor<64x64xf32> to memref<64x64xf32>
    gpu.return
  }
}
