// RUN: not tilews-opt %s --tilews-to-nvvm 2>&1 | FileCheck %s
// RUN: not tilews-opt %s --tilews-to-rocdl=chip=gfx942 2>&1 | FileCheck %s

// Upstream's canonicalization of memref.dim, in LLVM 22, does not survive a
// negative dimension (https://github.com/llvm/llvm-project/issues/205073).
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @negative(%a: memref<?x?xi32>, %r: memref<4xindex>) kernel {
    %zero = arith.constant 0 : index
    %minus_one = arith.constant -1 : index
    // CHECK: dimensions.mlir:[[#@LINE+1]]:12: error: expected a constant dimension of a ranked memref, from 0 to its rank less 1
    %dim = memref.dim %a, %minus_one : memref<?x?xi32>
    memref.store %dim, %r[%zero] : memref<4xindex>
    gpu.return
  }
}
