// RUN: tilews-opt %s --tile-annotate-instructions --tile-infer-layouts --tile-plan-shared-memory --tile-insert-barriers --convert-tile-to-nvvm --cse | FileCheck %s

!a = memref<128x64xf16, #gpu.address_space<workgroup>>
!at = memref<64x128xf16, #gpu.address_space<workgroup>>
!panels = memref<64x64xf16, #tile.shared<(64, (32, 2)):(32, (1, 2048)), Sw<2,4,3>>, #gpu.address_space<workgroup>>
!columns = memref<64x128xf16, #tile.shared<(64, 128):(1, 64), Sw<3,4,3>>, #gpu.address_space<workgroup>>
!f8 = memref<64x64xf8E4M3FN, #gpu.address_space<workgroup>>

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // One piece of assembly from the fence to the wait. A step of K is 32 bytes,
  // two units of the descriptor's address.
  // CHECK-LABEL: llvm.func @nt
  // CHECK: nvvm.shfl.sync idx
  // CHECK: llvm.inline_asm has_side_effects {{.*}}wgmma.fence.sync.aligned;
  // CHECK-SAME: add.s64 da, $128, 0;\0Aadd.s64 db, $129, 0;\0Awgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16
  // CHECK-SAME: da, db, p, 1, 1, 0, 0;
  // CHECK-SAME: add.s64 da, $128, 2;
  // CHECK-SAME: add.s64 da, $128, 4;
  // CHECK-SAME: add.s64 da, $128, 6;
  // CHECK-SAME: wgmma.commit_group.sync.aligned;\0Awgmma.wait_group.sync.aligned 0;
  gpu.func @nt(%x: memref<128x128xf32>) kernel attributes {tile.threads = 256 : i32} {
    %a = tile.alloc_shared : !a
    %b = tile.alloc_shared : !a
    %c = tile.load %x[0, 0] : memref<128x128xf32> -> tensor<128x128xf32>
    %d = tile.gemm %a, %b, %c {transpose_rhs} : !a, !a -> tensor<128x128xf32>
    tile.store %d to %x[0, 0] : tensor<128x128xf32> to memref<128x128xf32>
    gpu.return
  }

  // An asynchronous matmul ends with the commit of its group. The wait takes the
  // registers as operands and returns them.
  // CHECK-LABEL: llvm.func @async
  // CHECK: llvm.inline_asm has_side_effects {{.*}}wgmma.fence.sync.aligned;{{.*}}wgmma.commit_group.sync.aligned;\0A}"
  // CHECK-NOT: wait_group.sync.aligned 0
  // CHECK: llvm.inline_asm has_side_effects asm_dialect = att "wgmma.wait_group.sync.aligned 1;", "" : () -> ()
  // CHECK: llvm.inline_asm has_side_effects asm_dialect = att "wgmma.wait_group.sync.aligned 0;", "=f,=f,{{.*}},0,1,
  gpu.func @async(%x: memref<128x128xf32>) kernel attributes {tile.threads = 256 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %a = tile.alloc_shared : !a
    %b = tile.alloc_shared : !a
    %c = tile.load %x[0, 0] : memref<128x128xf32> -> tensor<128x128xf32>
    %d = scf.for %i = %c0 to %c8 step %c1 iter_args(%e = %c) -> (tensor<128x128xf32>) {
      %f = tile.gemm %a, %b, %e {transpose_rhs, async} : !a, !a -> tensor<128x128xf32>
      tile.gemm_wait {pending = 1 : i64}
      scf.yield %f : tensor<128x128xf32>
    }
    %e = tile.gemm_wait %d : tensor<128x128xf32>
    tile.store %e to %x[0, 0] : tensor<128x128xf32> to memref<128x128xf32>
    gpu.return
  }

  // A cleared accumulator is no operand: the first step ignores the contents of the
  // registers.
  // CHECK-LABEL: llvm.func @clear
  // CHECK: add.s64 da, $64, 0;
  // CHECK-SAME: da, db, q, 1, 1, 0, 0;
  // CHECK-SAME: da, db, p, 1, 1, 0, 0;
  gpu.func @clear(%x: memref<128x128xf32>) kernel attributes {tile.threads = 256 : i32} {
    %a = tile.alloc_shared : !a
    %b = tile.alloc_shared : !a
    %c = arith.constant dense<0.0> : tensor<128x128xf32>
    %d = tile.gemm %a, %b, %c {transpose_rhs, clear_accumulator} : !a, !a -> tensor<128x128xf32>
    tile.store %d to %x[0, 0] : tensor<128x128xf32> to memref<128x128xf32>
    gpu.return
  }

  // Operands that are contiguous along M and N are read transposed; their
  // panels of 64 columns follow each other after 64 rows of 128 bytes.
  // CHECK-LABEL: llvm.func @tn
  // CHECK: da, db, p, 1, 1, 1, 1;
  // CHECK-SAME: add.s64 da, $128, 128;
  gpu.func @tn(%x: memref<128x128xf32>) kernel attributes {tile.threads = 256 : i32} {
    %a = tile.alloc_shared : !at
    %b = tile.alloc_shared : !at
    %c = tile.load %x[0, 0] : memref<128x128xf32> -> tensor<128x128xf32>
    %d = tile.gemm %a, %b, %c {transpose_lhs} : !at, !at -> tensor<128x128xf32>
    tile.store %d to %x[0, 0] : tensor<128x128xf32> to memref<128x128xf32>
    gpu.return
  }

  // A left operand in registers: four words an instruction.
  // CHECK-LABEL: llvm.func @registers
  // CHECK: wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {{{.*}}}, {$128, $129, $130, $131}, db, p, 1, 1, 0;
  gpu.func @registers(%x: memref<128x128xf32>, %y: memref<128x64xf16>) kernel attributes {tile.threads = 256 : i32} {
    %a = tile.load %y[0, 0] : memref<128x64xf16> -> tensor<128x64xf16>
    %b = tile.alloc_shared : !a
    %c = tile.load %x[0, 0] : memref<128x128xf32> -> tensor<128x128xf32>
    %d = tile.gemm %a, %b, %c {transpose_rhs} : tensor<128x64xf16>, !a -> tensor<128x128xf32>
    tile.store %d to %x[0, 0] : tensor<128x128xf32> to memref<128x128xf32>
    gpu.return
  }

  // Instructions on bytes have no operand for a transposition.
  // CHECK-LABEL: llvm.func @fp8
  // CHECK: wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3 {{{.*}}}, da, db, p, 1, 1;
  gpu.func @fp8(%x: memref<64x64xf32>) kernel {
    %a = tile.alloc_shared : !f8
    %b = tile.alloc_shared : !f8
    %c = tile.load %x[0, 0] : memref<64x64xf32> -> tensor<64x64xf32>
    %d = tile.gemm %a, %b, %c {transpose_rhs} : !f8, !f8 -> tensor<64x64xf32>
    tile.store %d to %x[0, 0] : tensor<64x64xf32> to memref<64x64xf32>
    gpu.return
  }

  // Layouts that are given: panels of 64 bytes, and a right operand whose rows run
  // along K, although K is its first dimension, so that it is not transposed. The next
  // warpgroup starts after 64 columns of 128 bytes, 8192 bytes.
  // CHECK-LABEL: llvm.func @given
  // CHECK: arith.constant -9223371899415756800 : i64
  // CHECK: arith.constant 8192 : i32
  // CHECK: arith.constant 4611686293305360384 : i64
  // CHECK: da, db, p, 1, 1, 0, 0;
  // CHECK-SAME: add.s64 da, $64, 2;
  // CHECK-SAME: add.s64 db, $65, 2;
  // CHECK-SAME: add.s64 da, $64, 256;
  // CHECK-SAME: add.s64 db, $65, 4;
  gpu.func @given(%x: memref<64x128xf32>) kernel attributes {tile.threads = 256 : i32} {
    %a = tile.alloc_shared : !panels
    %b = tile.alloc_shared : !columns
    %c = tile.load %x[0, 0] : memref<64x128xf32> -> tensor<64x128xf32>
    %d = tile.gemm %a, %b, %c : !panels, !columns -> tensor<64x128xf32>
    tile.store %d to %x[0, 0] : tensor<64x128xf32> to memref<64x128xf32>
    gpu.return
  }
}
