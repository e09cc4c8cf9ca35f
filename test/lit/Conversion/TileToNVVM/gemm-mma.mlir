// RUN: tilews-opt %s --tile-annotate-instructions --tile-infer-layouts --tile-plan-shared-memory --tile-insert-barriers --convert-tile-to-nvvm --cse | FileCheck %s

!a = memref<64x32xf16, #gpu.address_space<workgroup>>
!at = memref<32x64xf16, #gpu.address_space<workgroup>>
!i8 = memref<64x32xi8, #gpu.address_space<workgroup>>
!i8t = memref<32x64xi8, #gpu.address_space<workgroup>>
!f64 = memref<64x32xf64, #gpu.address_space<workgroup>>

gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  // Four warps, two by two: 2x4 instructions of m16n8k16 a warp, two steps of K.
  // The operands come by ldmatrix, two right operands at a time.
  // CHECK-LABEL: llvm.func @nt
  // CHECK-COUNT-4: nvvm.ldmatrix %{{.*}} {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 4
  // CHECK-COUNT-8: llvm.inline_asm {{.*}}"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$10, $11, $12, $13};"
  // CHECK-COUNT-4: nvvm.ldmatrix
  // CHECK-COUNT-8: mma.sync
  // CHECK-NOT: mma.sync
  // CHECK: llvm.return
  gpu.func @nt(%r: memref<64x64xf32>) kernel {
    %a = tile.alloc_shared : !a
    %b = tile.alloc_shared : !a
    %c = arith.constant dense<0.0> : tensor<64x64xf32>
    %d = tile.gemm %a, %b, %c {transpose_rhs} : !a, !a -> tensor<64x64xf32>
    tile.store %d to %r[0, 0] : tensor<64x64xf32> to memref<64x64xf32>
    gpu.return
  }

  // Operands that are stored transposed are transposed by ldmatrix.
  // CHECK-LABEL: llvm.func @tn
  // CHECK: nvvm.ldmatrix %{{.*}} {{.*}}#nvvm.mma_layout<col>
  // CHECK-NOT: #nvvm.mma_layout<row>
  // CHECK: llvm.return
  gpu.func @tn(%r: memref<64x64xf32>) kernel {
    %a = tile.alloc_shared : !at
    %b = tile.alloc_shared : !at
    %c = arith.constant dense<0.0> : tensor<64x64xf32>
    %d = tile.gemm %a, %b, %c {transpose_lhs} : !at, !at -> tensor<64x64xf32>
    tile.store %d to %r[0, 0] : tensor<64x64xf32> to memref<64x64xf32>
    gpu.return
  }

  // ldmatrix cannot transpose bytes: the elements of the right operand are loaded one
  // by one.
  // CHECK-LABEL: llvm.func @bytes
  // CHECK: nvvm.ldmatrix
  // CHECK: llvm.load %{{.*}} {alignment = 1 : i64} : !llvm.ptr<3> -> i8
  // CHECK: mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32
  gpu.func @bytes(%r: memref<64x64xi32>) kernel {
    %a = tile.alloc_shared : !i8
    %b = tile.alloc_shared : !i8t
    %c = arith.constant dense<0> : tensor<64x64xi32>
    %d = tile.gemm %a, %b, %c : !i8, !i8t -> tensor<64x64xi32>
    tile.store %d to %r[0, 0] : tensor<64x64xi32> to memref<64x64xi32>
    gpu.return
  }

  // CHECK-LABEL: llvm.func @doubles
  // CHECK: mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64
  gpu.func @doubles(%r: memref<64x64xf64>) kernel {
    %a = tile.alloc_shared : !f64
    %b = tile.alloc_shared : !f64
    %c = arith.constant dense<0.0> : tensor<64x64xf64>
    %d = tile.gemm %a, %b, %c {transpose_rhs} : !f64, !f64 -> tensor<64x64xf64>
    tile.store %d to %r[0, 0] : tensor<64x64xf64> to memref<64x64xf64>
    gpu.return
  }

  // No instruction divides K: the matmul is plain arithmetic, in a loop over K.
  // CHECK-LABEL: llvm.func @plain
  // CHECK-NOT: mma.sync
  // CHECK: scf.for
  // CHECK: llvm.intr.fma
  gpu.func @plain(%r: memref<24x40xf32>) kernel {
    %a = tile.alloc_shared : memref<24x20xf16, #gpu.address_space<workgroup>>
    %b = tile.alloc_shared : memref<20x40xf16, #gpu.address_space<workgroup>>
    %c = arith.constant dense<0.0> : tensor<24x40xf32>
    %d = tile.gemm %a, %b, %c : memref<24x20xf16, #gpu.address_space<workgroup>>, memref<20x40xf16, #gpu.address_space<workgroup>> -> tensor<24x40xf32>
    tile.store %d to %r[0, 0] : tensor<24x40xf32> to memref<24x40xf32>
    gpu.return
  }
}
