// A pipeline that does not fit into shared memory, with barriers and scratch memory, gets
// fewer slots, and a kernel that fits without pipelines only gets none.
// RUN: tilews-opt %s --verify-diagnostics --split-input-file --pass-pipeline='builtin.module(tilews-to-nvvm{chip=sm_90a})' -o /dev/null
// RUN: tilews-opt %s --split-input-file --pass-pipeline='builtin.module(tilews-to-nvvm{chip=sm_90a})' 2>/dev/null | FileCheck %s

#smem = #gpu.address_space<workgroup>

// Tiles of 32 KiB and 64 KiB, 232448 bytes: two slots.
gpu.module @kernels {
  // CHECK: llvm.func @two
  // CHECK-SAME: tile.shared_bytes = 196
  gpu.func @two(%A: memref<?x?xf16> {tile.divisible = array<i64: 1, 8>},
                %B: memref<?x?xf16> {tile.divisible = array<i64: 1, 8>},
                %C: memref<?x?xf32>) kernel attributes {tile.threads = 256 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : tensor<128x256xf32>
    %K = memref.dim %A, %c1 : memref<?x?xf16>
    %steps = arith.ceildivsi %K, %c128 : index
    %As = tile.alloc_shared : memref<128x128xf16, #smem>
    %Bs = tile.alloc_shared : memref<256x128xf16, #smem>
    // expected-remark @below {{tile-pipe-0018: the buffers of the loop get 2 slots instead of 4: with 4 slots, the kernel needs 393}}
    %acc = scf.for %i = %c0 to %steps step %c1 iter_args(%sum = %zero)
        -> (tensor<128x256xf32>) {
      %k = arith.muli %i, %c128 : index
      tile.copy %A[%c0, %k] to %As : memref<?x?xf16> to memref<128x128xf16, #smem>
      tile.copy %B[%c0, %k] to %Bs : memref<?x?xf16> to memref<256x128xf16, #smem>
      %next = tile.gemm %As, %Bs, %sum {transpose_rhs}
        : memref<128x128xf16, #smem>, memref<256x128xf16, #smem> -> tensor<128x256xf32>
      scf.yield %next : tensor<128x256xf32>
    } {tile.num_stages = 4 : i32}
    tile.store %acc to %C[%c0, %c0] : tensor<128x256xf32> to memref<?x?xf32>
    gpu.return
  }
}

// -----

#smem = #gpu.address_space<workgroup>

// Without a pipeline the buffers, which are used one after the other, share memory.
gpu.module @kernels {
  // CHECK: llvm.func @none
  // CHECK-SAME: tile.shared_bytes = 131072
  gpu.func @none(%A: memref<?x?xf32> {tile.divisible = array<i64: 1, 4>},
                 %C: memref<?x?xf32>) kernel attributes {tile.threads = 256 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c256 = arith.constant 256 : index
    %zero = arith.constant dense<0.0> : tensor<256x128xf32>
    %M = memref.dim %A, %c0 : memref<?x?xf32>
    %steps = arith.ceildivsi %M, %c256 : index
    // expected-remark @below {{tile-pipe-0018: loop is not pipelined: with 2 slots, the kernel needs 524}}
    %acc = scf.for %i = %c0 to %steps step %c1 iter_args(%sum = %zero)
        -> (tensor<256x128xf32>) {
      %As = tile.alloc_shared : memref<256x128xf32, #smem>
      %Bs = tile.alloc_shared : memref<256x128xf32, #smem>
      %m = arith.muli %i, %c256 : index
      tile.copy %A[%m, %c0] to %As : memref<?x?xf32> to memref<256x128xf32, #smem>
      %a = tile.load %As : memref<256x128xf32, #smem> -> tensor<256x128xf32>
      tile.copy %A[%m, %c256] to %Bs : memref<?x?xf32> to memref<256x128xf32, #smem>
      %b = tile.load %Bs : memref<256x128xf32, #smem> -> tensor<256x128xf32>
      %both = arith.addf %a, %b : tensor<256x128xf32>
      %next = arith.addf %both, %sum : tensor<256x128xf32>
      scf.yield %next : tensor<256x128xf32>
    } {tile.num_stages = 2 : i32}
    tile.store %acc to %C[%c0, %c0] : tensor<256x128xf32> to memref<?x?xf32>
    gpu.return
  }
}
