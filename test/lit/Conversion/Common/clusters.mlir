// RUN: tilews-opt %s --split-input-file --tilews-to-nvvm="chip=sm_80" -o - 2>&1 | FileCheck %s --check-prefix=SM80
// RUN: tilews-opt %s --split-input-file --tilews-to-nvvm="chip=sm_90a" -o - 2>&1 | FileCheck %s --check-prefix=SM90

// SM80: remark: tile-cluster-0001: blocks are not launched in clusters: sm_80 has none
// SM80: llvm.func @pair
// SM80-NOT: cluster
// SM90-NOT: remark: tile-cluster
// SM90: llvm.func @pair
// SM90-SAME: nvvm.cluster_dim = array<i32: 2, 1, 1>
// SM90-SAME: tile.cluster = array<i32: 2, 1, 1>
// SM90: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}} multicast_mask
gpu.module @kernels {
  gpu.func @pair(%A: memref<128x64xf16>, %C: memref<64x64xf32>) kernel
      attributes {tile.cluster = array<i32: 2, 1, 1>, tile.grid = affine_map<() -> (2)>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %s = tile.alloc_shared : memref<64x64xf16, #gpu.address_space<workgroup>>
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %r = scf.for %k = %c0 to %c128 step %c64 iter_args(%c = %zero) -> (tensor<64x64xf32>) {
      tile.copy %A[%k, %c0] to %s : memref<128x64xf16> to memref<64x64xf16, #gpu.address_space<workgroup>>
      %d = tile.gemm %s, %s, %c {transpose_rhs} : memref<64x64xf16, #gpu.address_space<workgroup>>, memref<64x64xf16, #gpu.address_space<workgroup>> -> tensor<64x64xf32>
      scf.yield %d : tensor<64x64xf32>
    } {tile.num_stages = 2 : i32}
    tile.store %r to %C[%c0, %c0] : tensor<64x64xf32> to memref<64x64xf32>
    gpu.return
  }
}

// -----

// A cluster of one block is dropped.
// SM80: llvm.func @single
// SM80-SAME: tile.cluster = array<i32: 1, 1, 1>
gpu.module @kernels {
  gpu.func @single() kernel attributes {tile.cluster = array<i32: 1, 1, 1>} {
    gpu.return
  }
}
