// The steady loop of matmuls of 256x256x64 tiles with dynamic shapes, on eight waves, with
// the right operand stored N x K (@nt) and K x N (@nn). No element is read on its own, no
// register is copied to or from an accumulation register, and scratch memory is not used.
// The loads of the next tile start with the first mfma. On gfx942 the waves wait for them
// in the last step along K at the earliest: after 56 of 64 mfma. On gfx950 the loads write
// shared memory, in three slots for A and two for B. The only wait of an iteration is for
// the next tile, in the last step. It leaves the loads of A after that tile in flight, four
// of them. With two steps (@deep) the wait is before the loads. With four slots it leaves
// those of two iterations in flight, each with three loads.
// RUN: tilews-translate %s --chip=gfx942 --to=asm | %python %S/Inputs/steady_loop.py | FileCheck %s --check-prefixes=CHECK,GFX942
// RUN: tilews-translate %s --chip=gfx950 --to=asm | %python %S/Inputs/steady_loop.py | FileCheck %s --check-prefixes=CHECK,GFX950

// GFX942: nt: matrix instructions 64, before loads {{[0-7]}}, before waits {{5[6-9]|6[0-4]}}
// GFX950: nt: matrix instructions 32, before loads {{[0-7]}}, before waits {{2[4-9]}}
// GFX950-NEXT: pending: 4; loads before waits: 8
// CHECK: narrow reads: 0
// CHECK-NEXT: reads: 24
// GFX942-NEXT: writes: 16
// GFX950-NEXT: writes: 0
// CHECK-NEXT: copies: 0
// CHECK-NEXT: scratch: 0
// GFX942: nn: matrix instructions 64, before loads {{[0-7]}}, before waits {{5[6-9]|6[0-4]}}
// GFX950: nn: matrix instructions 32, before loads {{[0-7]}}, before waits {{2[4-9]}}
// GFX950-NEXT: pending: 4; loads before waits: 8
// CHECK: narrow reads: 0
// GFX942-NEXT: reads: {{2[4-9]|3[0-2]}}
// GFX950-NEXT: reads: 32
// GFX950-NEXT: writes: 0
// CHECK: copies: 0
// CHECK-NEXT: scratch: 0
// GFX950: deep: matrix instructions 8, before loads 0, before waits 0
// GFX950-NEXT: pending: 6; loads before waits: 0
// GFX950: writes: 0

#grid = affine_map<()[s0, s1, s2, s3, s4, s5] -> (s3 ceildiv 256, s0 ceildiv 256)>
#gridT = affine_map<()[s0, s1, s2, s3, s4, s5] -> (s2 ceildiv 256, s0 ceildiv 256)>
#smem = #gpu.address_space<workgroup>

gpu.module @kernels [#rocdl.target<chip = "gfx942">] {
  gpu.func @nt(%A: memref<?x?xf16> {tile.divisible = array<i64: 1, 8>}, %B: memref<?x?xf16> {tile.divisible = array<i64: 1, 8>}, %C: memref<?x?xf16> {tile.divisible = array<i64: 1, 8>}) kernel attributes {tile.grid = #gridT, tile.threads = 512 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %c256 = arith.constant 256 : index
    %zero = arith.constant dense<0.0> : tensor<256x256xf32>
    %dim = memref.dim %A, %c1 : memref<?x?xf16>
    %tiles = arith.ceildivsi %dim, %c64 : index
    %bx = gpu.block_id x
    %by = gpu.block_id y
    %row = arith.muli %by, %c256 : index
    %column = arith.muli %bx, %c256 : index
    %as = tile.alloc_shared : memref<256x64xf16, #smem>
    %bs = tile.alloc_shared : memref<256x64xf16, #smem>
    %d = scf.for %i = %c0 to %tiles step %c1 iter_args(%acc = %zero) -> (tensor<256x256xf32>) {
      %k = arith.muli %i, %c64 : index
      tile.copy %A[%row, %k] to %as : memref<?x?xf16> to memref<256x64xf16, #smem>
      tile.copy %B[%column, %k] to %bs : memref<?x?xf16> to memref<256x64xf16, #smem>
      %next = tile.gemm %as, %bs, %acc {transpose_rhs} : memref<256x64xf16, #smem>, memref<256x64xf16, #smem> -> tensor<256x256xf32>
      scf.yield %next : tensor<256x256xf32>
    } {tile.num_stages = 3 : i32}
    %half = arith.truncf %d : tensor<256x256xf32> to tensor<256x256xf16>
    tile.store %half to %C[%row, %column] : tensor<256x256xf16> to memref<?x?xf16>
    gpu.return
  }

  gpu.func @nn(%A: memref<?x?xf16> {tile.divisible = array<i64: 1, 8>}, %B: memref<?x?xf16> {tile.divisible = array<i64: 1, 8>}, %C: memref<?x?xf16> {tile.divisible = array<i64: 1, 8>}) kernel attributes {tile.grid = #grid, tile.threads = 512 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %c256 = arith.constant 256 : index
    %zero = arith.constant dense<0.0> : tensor<256x256xf32>
    %dim = memref.dim %A, %c1 : memref<?x?xf16>
    %tiles = arith.ceildivsi %dim, %c64 : index
    %bx = gpu.block_id x
    %by = gpu.block_id y
    %row = arith.muli %by, %c256 : index
    %column = arith.muli %bx, %c256 : index
    %as = tile.alloc_shared : memref<256x64xf16, #smem>
    %bs = tile.alloc_shared : memref<64x256xf16, #smem>
    %d = scf.for %i = %c0 to %tiles step %c1 iter_args(%acc = %zero) -> (tensor<256x256xf32>) {
      %k = arith.muli %i, %c64 : index
      tile.copy %A[%row, %k] to %as : memref<?x?xf16> to memref<256x64xf16, #smem>
      tile.copy %B[%k, %column] to %bs : memref<?x?xf16> to memref<64x256xf16, #smem>
      %next = tile.gemm %as, %bs, %acc : memref<256x64xf16, #smem>, memref<64x256xf16, #smem> -> tensor<256x256xf32>
      scf.yield %next : tensor<256x256xf32>
    } {tile.num_stages = 3 : i32}
    %half = arith.truncf %d : tensor<256x256xf32> to tensor<256x256xf16>
    tile.store %half to %C[%row, %column] : tensor<256x256xf16> to memref<?x?xf16>
    gpu.return
  }

  gpu.func @deep(%A: memref<?x?xf16> {tile.divisible = array<i64: 1, 8>}, %B: memref<?x?xf16> {tile.divisible = array<i64: 1, 8>}, %C: memref<256x128xf32>) kernel attributes {tile.threads = 512 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant dense<0.0> : tensor<256x128xf32>
    %dim = memref.dim %A, %c1 : memref<?x?xf16>
    %tiles = arith.ceildivsi %dim, %c32 : index
    %as = tile.alloc_shared : memref<256x32xf16, #smem>
    %bs = tile.alloc_shared : memref<128x32xf16, #smem>
    %d = scf.for %i = %c0 to %tiles step %c1 iter_args(%acc = %zero) -> (tensor<256x128xf32>) {
      %k = arith.muli %i, %c32 : index
      tile.copy %A[0, %k] to %as : memref<?x?xf16> to memref<256x32xf16, #smem>
      tile.copy %B[0, %k] to %bs : memref<?x?xf16> to memref<128x32xf16, #smem>
      %next = tile.gemm %as, %bs, %acc {transpose_rhs} : memref<256x32xf16, #smem>, memref<128x32xf16, #smem> -> tensor<256x128xf32>
      scf.yield %next : tensor<256x128xf32>
    } {tile.num_stages = 4 : i32}
    tile.store %d to %C[0, 0] : tensor<256x128xf32> to memref<256x128xf32>
    gpu.return
  }
}
