// RUN: tilews-opt %s --tile-annotate-instructions --tile-infer-layouts --tile-plan-shared-memory --tile-insert-barriers --convert-tile-to-nvvm --cse | FileCheck %s

!a = memref<128x64xf16, #gpu.address_space<workgroup>>
!b = memref<128x128xf16, #gpu.address_space<workgroup>>
!e8 = memref<128x16xi8, #gpu.address_space<workgroup>>
!e16 = memref<128x8xi16, #gpu.address_space<workgroup>>
!e32 = memref<128x4xi32, #gpu.address_space<workgroup>>
!a8 = memref<64x64xf8E4M3FN, #gpu.address_space<workgroup>>
!b8 = memref<64x128xf8E5M2, #gpu.address_space<workgroup>>
!ai = memref<64x64xi8, #gpu.address_space<workgroup>>
!bi = memref<64x128xi8, #gpu.address_space<workgroup>>
!e64 = memref<64x4xi32, #gpu.address_space<workgroup>>

gpu.module @hopper [#nvvm.target<chip = "sm_90a">] {
  // K has four steps of 32: 32 bytes of the left operand and 64 of the right one, which
  // are two and four units of the addresses in the descriptors. The lanes that one
  // selector leaves out hold the metadata of the next step. A lane therefore has two
  // words, and loads 16 bits of each of two rows for each.
  // CHECK-LABEL: llvm.func @halves
  // CHECK-COUNT-4: llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr<3> -> i16
  // CHECK-NOT: llvm.load %{{.*}} -> i16
  // CHECK: llvm.inline_asm has_side_effects {{.*}}wgmma.fence.sync.aligned;
  // CHECK-SAME: add.s64 da, $128, 0;\0Aadd.s64 db, $129, 0;\0Awgmma.mma_async.sp.sync.aligned.m64n128k32.f32.f16.f16
  // CHECK-SAME: da, db, $130, 0, p, 1, 1, 0, 0;
  // CHECK-SAME: add.s64 da, $128, 2;\0Aadd.s64 db, $129, 4;
  // CHECK-SAME: da, db, $130, 1, p, 1, 1, 0, 0;
  // CHECK-SAME: add.s64 da, $128, 4;\0Aadd.s64 db, $129, 1024;
  // CHECK-SAME: da, db, $131, 0, p, 1, 1, 0, 0;
  // CHECK-SAME: da, db, $131, 1, p, 1, 1, 0, 0;
  // CHECK-SAME: wgmma.commit_group.sync.aligned;\0Awgmma.wait_group.sync.aligned 0;
  gpu.func @halves(%x: memref<128x128xf32>) kernel attributes {tile.threads = 256 : i32} {
    %a = tile.alloc_shared : !a
    %e = tile.alloc_shared : !e16
    %b = tile.alloc_shared : !b
    %c = tile.load %x[0, 0] : memref<128x128xf32> -> tensor<128x128xf32>
    %d = tile.gemm_sp %a, %e, %b, %c {transpose_rhs} : !a, !e16, !b -> tensor<128x128xf32>
    tile.store %d to %x[0, 0] : tensor<128x128xf32> to memref<128x128xf32>
    gpu.return
  }

  // Bytes come two at a time. The right operand is read transposed.
  // CHECK-LABEL: llvm.func @bytes
  // CHECK-COUNT-4: llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr<3> -> vector<2xi8>
  // CHECK: wgmma.mma_async.sp.sync.aligned.m64n128k32.f32.f16.f16
  // CHECK-SAME: da, db, $130, 0, p, 1, 1, 0, 1;
  gpu.func @bytes(%x: memref<128x128xf32>) kernel attributes {tile.threads = 256 : i32} {
    %a = tile.alloc_shared : !a
    %e = tile.alloc_shared : !e8
    %b = tile.alloc_shared : !b
    %c = tile.load %x[0, 0] : memref<128x128xf32> -> tensor<128x128xf32>
    %d = tile.gemm_sp %a, %e, %b, %c : !a, !e8, !b -> tensor<128x128xf32>
    tile.store %d to %x[0, 0] : tensor<128x128xf32> to memref<128x128xf32>
    gpu.return
  }

  // A word of 32 bits serves two lanes. Each takes its half.
  // CHECK-LABEL: llvm.func @words
  // CHECK-COUNT-4: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> i32
  // CHECK: arith.andi %{{.*}}, %{{.*}} : i32
  // CHECK: arith.shrui %{{.*}}, %{{.*}} : i32
  // CHECK: wgmma.mma_async.sp.sync.aligned.m64n128k32.f32.f16.f16
  gpu.func @words(%x: memref<128x128xf32>) kernel attributes {tile.threads = 256 : i32} {
    %a = tile.alloc_shared : !a
    %e = tile.alloc_shared : !e32
    %b = tile.alloc_shared : !b
    %c = tile.load %x[0, 0] : memref<128x128xf32> -> tensor<128x128xf32>
    %d = tile.gemm_sp %a, %e, %b, %c : !a, !e32, !b -> tensor<128x128xf32>
    tile.store %d to %x[0, 0] : tensor<128x128xf32> to memref<128x128xf32>
    gpu.return
  }

  // The left operand and its metadata are in registers, in the layouts of the
  // instruction.
  // CHECK-LABEL: llvm.func @fragments
  // CHECK: wgmma.mma_async.sp.sync.aligned.m64n128k32.f32.f16.f16
  // CHECK-SAME: {$128, $129, $130, $131}, db, $145, 0, p, 1, 1, 0;
  // CHECK-SAME: {$132, $133, $134, $135}, db, $145, 1, p, 1, 1, 0;
  // CHECK-SAME: {$136, $137, $138, $139}, db, $146, 0, p, 1, 1, 0;
  gpu.func @fragments(%x: memref<128x128xf32>, %y: memref<128x64xf16>, %z: memref<128x8xi16>) kernel attributes {tile.threads = 256 : i32} {
    %b = tile.alloc_shared : !b
    %a = tile.load %y[0, 0] : memref<128x64xf16> -> tensor<128x64xf16>
    %e = tile.load %z[0, 0] : memref<128x8xi16> -> tensor<128x8xi16>
    %c = tile.load %x[0, 0] : memref<128x128xf32> -> tensor<128x128xf32>
    %d = tile.gemm_sp %a, %e, %b, %c {transpose_rhs} : tensor<128x64xf16>, tensor<128x8xi16>, !b -> tensor<128x128xf32>
    tile.store %d to %x[0, 0] : tensor<128x128xf32> to memref<128x128xf32>
    gpu.return
  }

  // 8-bit operands have metadata in all four lanes: a lane holds 32 bits, for one row
  // and half of a step of 64.
  // CHECK-LABEL: llvm.func @fp8
  // CHECK-COUNT-2: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> i32
  // CHECK-NOT: llvm.load %{{.*}} -> i32
  // CHECK: wgmma.mma_async.sp.sync.aligned.m64n64k64.f32.e4m3.e5m2
  // CHECK-SAME: da, db, $34, 0, q, 1, 1;
  // CHECK-SAME: da, db, $35, 0, p, 1, 1;
  gpu.func @fp8(%x: memref<64x64xf32>) kernel {
    %a = tile.alloc_shared : !a8
    %e = tile.alloc_shared : !e64
    %b = tile.alloc_shared : !b8
    %c = arith.constant dense<0.0> : tensor<64x64xf32>
    %d = tile.gemm_sp %a, %e, %b, %c {transpose_rhs, clear_accumulator} : !a8, !e64, !b8 -> tensor<64x64xf32>
    tile.store %d to %x[0, 0] : tensor<64x64xf32> to memref<64x64xf32>
    gpu.return
  }

  // The instruction is waited for at once although the operation is asynchronous: it
  // reads the metadata from registers while it runs.
  // CHECK-LABEL: llvm.func @integers
  // CHECK: wgmma.mma_async.sp.sync.aligned.m64n64k64.s32.s8.s8
  // CHECK-SAME: da, db, $34, 0, q;
  // CHECK-SAME: wgmma.commit_group.sync.aligned;\0Awgmma.wait_group.sync.aligned 0;\0A}"
  gpu.func @integers(%x: memref<64x64xi32>) kernel {
    %a = tile.alloc_shared : !ai
    %e = tile.alloc_shared : !e64
    %b = tile.alloc_shared : !bi
    %c = arith.constant dense<0> : tensor<64x64xi32>
    %d = tile.gemm_sp %a, %e, %b, %c {async, transpose_rhs, clear_accumulator} : !ai, !e64, !bi -> tensor<64x64xi32>
    %f = tile.gemm_wait %d : tensor<64x64xi32>
    tile.store %f to %x[0, 0] : tensor<64x64xi32> to memref<64x64xi32>
    gpu.return
  }
}

!as = memref<64x32xf16, #gpu.address_space<workgroup>>
!es = memref<64x4xi16, #gpu.address_space<workgroup>>
!bs = memref<64x64xf16, #gpu.address_space<workgroup>>
!ss = memref<64x64xi8, #gpu.address_space<workgroup>>
!sb = memref<64x128xi8, #gpu.address_space<workgroup>>
!se = memref<64x16xi8, #gpu.address_space<workgroup>>
!odd = memref<24x32xf16, #gpu.address_space<workgroup>>
!eodd = memref<24x4xi16, #gpu.address_space<workgroup>>

gpu.module @ampere [#nvvm.target<chip = "sm_80">] {
  // Four warps, two by two: 2x4 instructions of m16n8k32 a warp, two steps of
  // K. The four matrices of one ldmatrix are one right operand.
  // CHECK-LABEL: llvm.func @halves
  // CHECK-COUNT-6: nvvm.ldmatrix %{{.*}} {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 4
  // CHECK-COUNT-8: llvm.inline_asm {{.*}}"mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9, $10, $11}, {$12, $13, $14, $15}, $16, 0;"
  // CHECK-COUNT-6: nvvm.ldmatrix
  // CHECK-COUNT-8: {$12, $13, $14, $15}, $16, 1;"
  // CHECK-NOT: mma.sp
  // CHECK: llvm.return
  gpu.func @halves(%r: memref<64x64xf32>) kernel {
    %a = tile.alloc_shared : !as
    %e = tile.alloc_shared : !es
    %b = tile.alloc_shared : !bs
    %c = arith.constant dense<0.0> : tensor<64x64xf32>
    %d = tile.gemm_sp %a, %e, %b, %c {transpose_rhs} : !as, !es, !bs -> tensor<64x64xf32>
    tile.store %d to %r[0, 0] : tensor<64x64xf32> to memref<64x64xf32>
    gpu.return
  }

  // CHECK-LABEL: llvm.func @transposed
  // CHECK: nvvm.ldmatrix %{{.*}} {{.*}}#nvvm.mma_layout<col>
  // CHECK: mma.sp::ordered_metadata
  gpu.func @transposed(%r: memref<64x64xf32>) kernel {
    %a = tile.alloc_shared : !as
    %e = tile.alloc_shared : !es
    %b = tile.alloc_shared : !bs
    %c = arith.constant dense<0.0> : tensor<64x64xf32>
    %d = tile.gemm_sp %a, %e, %b, %c : !as, !es, !bs -> tensor<64x64xf32>
    tile.store %d to %r[0, 0] : tensor<64x64xf32> to memref<64x64xf32>
    gpu.return
  }

  // CHECK-LABEL: llvm.func @integers
  // CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> vector<4xi8>
  // CHECK: mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32
  gpu.func @integers(%r: memref<64x64xi32>) kernel {
    %a = tile.alloc_shared : !ss
    %e = tile.alloc_shared : !se
    %b = tile.alloc_shared : !sb
    %c = arith.constant dense<0> : tensor<64x64xi32>
    %d = tile.gemm_sp %a, %e, %b, %c {transpose_rhs} : !ss, !se, !sb -> tensor<64x64xi32>
    tile.store %d to %r[0, 0] : tensor<64x64xi32> to memref<64x64xi32>
    gpu.return
  }

  // Rows past the end have metadata that the instruction accepts: 0x4444.
  // CHECK-LABEL: llvm.func @ragged
  // CHECK: arith.constant 17476 : i16
  // CHECK: mma.sp::ordered_metadata
  gpu.func @ragged(%r: memref<24x64xf32>) kernel attributes {tile.threads = 32 : i32} {
    %a = tile.alloc_shared : !odd
    %e = tile.alloc_shared : !eodd
    %b = tile.alloc_shared : !bs
    %c = arith.constant dense<0.0> : tensor<24x64xf32>
    %d = tile.gemm_sp %a, %e, %b, %c {transpose_rhs} : !odd, !eodd, !bs -> tensor<24x64xf32>
    tile.store %d to %r[0, 0] : tensor<24x64xf32> to memref<24x64xf32>
    gpu.return
  }
}
