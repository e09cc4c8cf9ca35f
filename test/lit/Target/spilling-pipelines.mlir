// A thread of gfx1100 has 256 registers. The result takes 160 of them, the tiles of the
// pipeline 36, and operands of wmma, which take twice their size, the rest. So the kernel
// is compiled without a pipeline, and needs no scratch memory then. The other one keeps
// its pipeline. gfx942 has registers enough for both.
// RUN: tilews-translate %s --chip=gfx1100 --to=manifest --kernel=gemm 2>&1 | FileCheck %s
// RUN: tilews-translate %s --chip=gfx1100 --to=asm 2>/dev/null | FileCheck %s --check-prefix=ASM
// RUN: tilews-translate %s --chip=gfx942 --to=manifest --kernel=gemm 2>&1 | FileCheck %s --check-prefix=KEPT

// What is reported of @gemm is about the code without a pipeline.
// CHECK-NOT: tile-pipe-0018
// CHECK: spilling-pipelines.mlir:[[# @LINE + 46]]:5: remark: tile-pipe-0018
// CHECK-NOT: tile-pipe-0018
// CHECK: spilling-pipelines.mlir:[[# @LINE + 29]]:10: remark: tile-pipe-0020: @gemm is compiled without pipelines: with them, a thread needs {{[1-9][0-9]*}} bytes of scratch memory, because gfx1100 has too few registers; without them it needs 0
// CHECK-NOT: tile-pipe-0018
// CHECK: "stack_bytes": 0,
// ASM-NOT: scratch_
// ASM: v_wmma_f32_16x16x16_f16
// ASM-NOT: scratch_
// KEPT-NOT: tile-pipe-0020
// KEPT: tile-pipe-0018
// KEPT: "stack_bytes": 0,

#grid = affine_map<()[s0, s1, s2, s3, s4, s5] -> (s3 ceildiv 128, s0 ceildiv 160)>
#smem = #gpu.address_space<workgroup>

gpu.module @kernels [#rocdl.target<chip = "gfx1100">] {
  gpu.func @gemm(%A: memref<?x?xf16> {tile.divisible = array<i64: 1, 8>}, %B: memref<?x?xf16> {tile.divisible = array<i64: 1, 8>}, %C: memref<?x?xf32>) kernel attributes {tile.grid = #grid, tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %c160 = arith.constant 160 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : tensor<160x128xf32>
    %dim = memref.dim %A, %c1 : memref<?x?xf16>
    %tiles = arith.ceildivsi %dim, %c32 : index
    %bx = gpu.block_id x
    %by = gpu.block_id y
    %row = arith.muli %by, %c160 : index
    %column = arith.muli %bx, %c128 : index
    %as = tile.alloc_shared : memref<160x32xf16, #smem>
    %bs = tile.alloc_shared : memref<32x128xf16, #smem>
    %d = scf.for %i = %c0 to %tiles step %c1 iter_args(%acc = %zero) -> (tensor<160x128xf32>) {
      %k = arith.muli %i, %c32 : index
      tile.copy %A[%row, %k] to %as : memref<?x?xf16> to memref<160x32xf16, #smem>
      tile.copy %B[%k, %column] to %bs : memref<?x?xf16> to memref<32x128xf16, #smem>
      %next = tile.gemm %as, %bs, %acc : memref<160x32xf16, #smem>, memref<32x128xf16, #smem> -> tensor<160x128xf32>
      scf.yield %next : tensor<160x128xf32>
    } {tile.num_stages = 3 : i32}
    tile.store %d to %C[%row, %column] : tensor<160x128xf32> to memref<?x?xf32>
    gpu.return
  }

  gpu.func @small(%A: memref<?x?xf16>, %C: memref<?x?xf16>, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %as = tile.alloc_shared : memref<64x64xf16, #smem>
    scf.for %k = %c0 to %n step %c1 {
      tile.copy %A[0, %k] to %as : memref<?x?xf16> to memref<64x64xf16, #smem>
      %a = tile.load %as : memref<64x64xf16, #smem> -> tensor<64x64xf16>
      tile.store %a to %C : tensor<64x64xf16> to memref<?x?xf16>
    } {tile.num_stages = 3 : i32}
    gpu.return
  }
}
