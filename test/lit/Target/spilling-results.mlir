// A thread of gfx1100 has 256 registers, and the result takes 384. So the kernel needs
// scratch memory with a pipeline, and not less without: it keeps the pipeline.
// RUN: tilews-translate %s --chip=gfx1100 --to=manifest 2>&1 | FileCheck %s

// CHECK-NOT: tile-pipe-0020
// CHECK: "stack_bytes": {{[1-9][0-9][0-9]}}

#grid = affine_map<()[s0, s1, s2, s3, s4, s5] -> (s3 ceildiv 256, s0 ceildiv 192)>
#smem = #gpu.address_space<workgroup>

gpu.module @kernels [#rocdl.target<chip = "gfx1100">] {
  gpu.func @gemm(%A: memref<?x?xf16> {tile.divisible = array<i64: 1, 8>}, %B: memref<?x?xf16> {tile.divisible = array<i64: 1, 8>}, %C: memref<?x?xf32>) kernel attributes {tile.grid = #grid, tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %c192 = arith.constant 192 : index
    %c256 = arith.constant 256 : index
    %zero = arith.constant dense<0.0> : tensor<192x256xf32>
    %dim = memref.dim %A, %c1 : memref<?x?xf16>
    %tiles = arith.ceildivsi %dim, %c16 : index
    %bx = gpu.block_id x
    %by = gpu.block_id y
    %row = arith.muli %by, %c192 : index
    %column = arith.muli %bx, %c256 : index
    %as = tile.alloc_shared : memref<192x16xf16, #smem>
    %bs = tile.alloc_shared : memref<16x256xf16, #smem>
    %d = scf.for %i = %c0 to %tiles step %c1 iter_args(%acc = %zero) -> (tensor<192x256xf32>) {
      %k = arith.muli %i, %c16 : index
      tile.copy %A[%row, %k] to %as : memref<?x?xf16> to memref<192x16xf16, #smem>
      tile.copy %B[%k, %column] to %bs : memref<?x?xf16> to memref<16x256xf16, #smem>
      %next = tile.gemm %as, %bs, %acc : memref<192x16xf16, #smem>, memref<16x256xf16, #smem> -> tensor<192x256xf32>
      scf.yield %next : tensor<192x256xf32>
    } {tile.num_stages = 3 : i32}
    tile.store %d to %C[%row, %column] : tensor<192x256xf32> to memref<?x?xf32>
    gpu.return
  }
}
