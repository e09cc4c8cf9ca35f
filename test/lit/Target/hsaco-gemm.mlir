// Machine code of a matmul for AMD's GPUs: matrix instructions, wide accesses, and no
// use of scratch memory.
// RUN: tilews-translate %s --chip=gfx942 --to=hsaco -o %t.942 && llvm-objdump -d %t.942 | FileCheck %s --check-prefixes=CODE,GFX942
// RUN: tilews-translate %s --chip=gfx950 --to=hsaco -o %t.950 && llvm-objdump -d %t.950 | FileCheck %s --check-prefixes=CODE,GFX950
// RUN: tilews-translate %s --chip=gfx1100 --to=hsaco -o %t.1100 && llvm-objdump -d %t.1100 | FileCheck %s --check-prefixes=CODE,GFX1100
// RUN: llvm-readobj --notes %t.942 | FileCheck %s --check-prefixes=NOTES,WAVE64
// RUN: llvm-readobj --notes %t.950 | FileCheck %s --check-prefixes=NOTES,WAVE64
// RUN: llvm-readobj --notes %t.1100 | FileCheck %s --check-prefixes=NOTES,WAVE32

// CODE-LABEL: <gemm>
// CODE-NOT: flat_
// CODE-NOT: scratch_
// GFX942: buffer_load_dwordx4
// GFX942: ds_write_b64
// GFX942: s_barrier
// GFX942: ds_read2st64_b64
// GFX942: v_mfma_f32_32x32x8_f16
// GFX950: buffer_load_dwordx4 {{.*}} lds
// GFX950-NOT: ds_write
// GFX950: s_barrier
// GFX950: ds_read_b128
// GFX950: v_mfma_f32_32x32x16_f16
// GFX1100: buffer_load_b128
// GFX1100: ds_store_b128
// GFX1100: s_barrier
// GFX1100: ds_load_b128
// GFX1100: v_wmma_f32_16x16x16_f16
// CODE-NOT: flat_
// CODE-NOT: scratch_
// CODE: s_endpgm

// The launch sets the size of shared memory, so the code object asks for none.
// NOTES: .group_segment_fixed_size: 0
// NOTES: .max_flat_workgroup_size: 256
// NOTES: .private_segment_fixed_size: 0
// NOTES: .sgpr_spill_count: 0
// NOTES: .vgpr_spill_count: 0
// WAVE64: .wavefront_size: 64
// WAVE32: .wavefront_size: 32

#wg = #gpu.address_space<workgroup>
gpu.module @kernels [#rocdl.target<chip = "gfx942">] {
  gpu.func @gemm(%A: memref<?x?xf16> {tile.divisible = array<i64: 1, 8>}, %B: memref<?x?xf16> {tile.divisible = array<i64: 1, 8>}, %C: memref<?x?xf32>)
      kernel attributes {tile.threads = 256 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bk = arith.constant 32 : index
    %bm = arith.constant 128 : index
    %bn = arith.constant 128 : index
    %K = memref.dim %A, %c1 : memref<?x?xf16>
    %bx = gpu.block_id x
    %by = gpu.block_id y
    %m = arith.muli %by, %bm : index
    %n = arith.muli %bx, %bn : index
    %zero = arith.constant dense<0.0> : tensor<128x128xf32>
    %as = tile.alloc_shared : memref<128x32xf16, #wg>
    %bs = tile.alloc_shared : memref<128x32xf16, #wg>
    %acc = scf.for %k = %c0 to %K step %bk iter_args(%c = %zero)
        -> tensor<128x128xf32> {
      tile.copy %A[%m, %k] to %as
        : memref<?x?xf16> to memref<128x32xf16, #wg>
      tile.copy %B[%n, %k] to %bs
        : memref<?x?xf16> to memref<128x32xf16, #wg>
      %d = tile.gemm %as, %bs, %c {transpose_rhs}
        : memref<128x32xf16, #wg>, memref<128x32xf16, #wg>
          -> tensor<128x128xf32>
      scf.yield %d : tensor<128x128xf32>
    }
    tile.store %acc to %C[%m, %n] : tensor<128x128xf32> to memref<?x?xf32>
    gpu.return
  }
}
