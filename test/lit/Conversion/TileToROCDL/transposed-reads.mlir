// Operands with rows along M or N, at first on gfx950: lanes read transposed matrices of 16 elements
// by 8 bytes. An operand of 32x32x16 with 16-bit elements takes two such reads, one of
// 32x32x64 with 8-bit elements four.
// RUN: tilews-opt %s -split-input-file --pass-pipeline='builtin.module(gpu.module(tile-annotate-instructions,tile-infer-layouts,tile-plan-shared-memory,tile-insert-barriers,convert-tile-to-rocdl,canonicalize,cse))' | FileCheck %s

#wg = #gpu.address_space<workgroup>
gpu.module @gfx950 [#rocdl.target<chip = "gfx950">] {
  // CHECK-LABEL: llvm.func @rhs
  // CHECK: llvm.load {{.*}} -> vector<8xf16>
  // CHECK-NOT: llvm.load {{.*}}ptr<3>
  // CHECK-COUNT-2: rocdl.ds.read.tr16.b64 {{.*}} -> vector<4xf16>
  // CHECK-NOT: rocdl.ds.read
  // CHECK: rocdl.mfma.f32.32x32x16.f16
  gpu.func @rhs(%C: memref<32x32xf32>) kernel attributes {tile.threads = 64 : i32} {
    %a = tile.alloc_shared : memref<32x16xf16, #wg>
    %b = tile.alloc_shared : memref<16x32xf16, #wg>
    %c = arith.constant dense<0.0> : tensor<32x32xf32>
    %d = tile.gemm %a, %b, %c : memref<32x16xf16, #wg>, memref<16x32xf16, #wg> -> tensor<32x32xf32>
    tile.store %d to %C : tensor<32x32xf32> to memref<32x32xf32>
    gpu.return
  }

  // CHECK-LABEL: llvm.func @both
  // CHECK-COUNT-4: rocdl.ds.read.tr16.b64 {{.*}} -> vector<4xbf16>
  // CHECK-NOT: rocdl.ds.read
  // CHECK: rocdl.mfma.f32.16x16x32.bf16
  gpu.func @both(%C: memref<16x16xf32>) kernel attributes {tile.threads = 64 : i32} {
    %a = tile.alloc_shared : memref<32x16xbf16, #wg>
    %b = tile.alloc_shared : memref<32x16xbf16, #wg>
    %c = arith.constant dense<0.0> : tensor<16x16xf32>
    %d = tile.gemm %a, %b, %c {transpose_lhs} : memref<32x16xbf16, #wg>, memref<32x16xbf16, #wg> -> tensor<16x16xf32>
    tile.store %d to %C : tensor<16x16xf32> to memref<16x16xf32>
    gpu.return
  }

  // CHECK-LABEL: llvm.func @bytes
  // CHECK-COUNT-4: rocdl.ds.read.tr8.b64 {{.*}} -> vector<2xi32>
  // CHECK-NOT: rocdl.ds.read
  // CHECK: rocdl.mfma.scale.f32.32x32x64.f8f6f4
  gpu.func @bytes(%C: memref<32x32xf32>) kernel attributes {tile.threads = 64 : i32} {
    %a = tile.alloc_shared : memref<32x64xf8E4M3FN, #wg>
    %b = tile.alloc_shared : memref<64x32xf8E4M3FN, #wg>
    %c = arith.constant dense<0.0> : tensor<32x32xf32>
    %d = tile.gemm %a, %b, %c : memref<32x64xf8E4M3FN, #wg>, memref<64x32xf8E4M3FN, #wg> -> tensor<32x32xf32>
    tile.store %d to %C : tensor<32x32xf32> to memref<32x32xf32>
    gpu.return
  }

  // The tile has fewer columns than the instruction: runs would reach past its rows.
  // CHECK-LABEL: llvm.func @narrow
  // CHECK-NOT: rocdl.ds.read
  // CHECK: llvm.return
  gpu.func @narrow(%C: memref<16x8xf32>) kernel attributes {tile.threads = 64 : i32} {
    %a = tile.alloc_shared : memref<16x32xf16, #wg>
    %b = tile.alloc_shared : memref<32x8xf16, #wg>
    %c = arith.constant dense<0.0> : tensor<16x8xf32>
    %d = tile.gemm %a, %b, %c : memref<16x32xf16, #wg>, memref<32x8xf16, #wg> -> tensor<16x8xf32>
    tile.store %d to %C : tensor<16x8xf32> to memref<16x8xf32>
    gpu.return
  }

  // A layout in which four columns are not side by side.
  // CHECK-LABEL: llvm.func @scattered
  // CHECK-NOT: rocdl.ds.read
  // CHECK: llvm.return
  gpu.func @scattered(%C: memref<32x32xf32>) kernel attributes {tile.threads = 64 : i32} {
    %a = tile.alloc_shared : memref<32x16xf16, #wg>
    %b = tile.alloc_shared : memref<16x32xf16, #tile.shared<(16, 32):(1, 16)>, #wg>
    %c = arith.constant dense<0.0> : tensor<32x32xf32>
    %d = tile.gemm %a, %b, %c : memref<32x16xf16, #wg>, memref<16x32xf16, #tile.shared<(16, 32):(1, 16)>, #wg> -> tensor<32x32xf32>
    tile.store %d to %C : tensor<32x32xf32> to memref<32x32xf32>
    gpu.return
  }
}

// -----

// Chips without such an instruction read 4x4 matrices, a row by each of four lanes, which
// then exchange words: by quad permutations of 1 0 3 2 (177) and 2 3 0 1 (78).
#wg = #gpu.address_space<workgroup>
gpu.module @gfx942 [#rocdl.target<chip = "gfx942">] {
  // CHECK-LABEL: llvm.func @halves
  // CHECK: llvm.load {{.*}} -> vector<4xf16>
  // CHECK: %[[ROW:.*]] = llvm.load {{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<4xf16>
  // CHECK: rocdl.update.dpp {{.*}} with 177, 15, 15, true
  // CHECK: llvm.call_intrinsic "llvm.amdgcn.perm"
  // CHECK: rocdl.update.dpp {{.*}} with 177, 15, 15, true
  // CHECK: llvm.call_intrinsic "llvm.amdgcn.perm"
  // CHECK-COUNT-2: rocdl.update.dpp {{.*}} with 78, 15, 15, true
  // CHECK-NOT: llvm.load
  // CHECK: rocdl.mfma.f32.32x32x8f16
  gpu.func @halves(%C: memref<32x32xf32>) kernel attributes {tile.threads = 64 : i32} {
    %a = tile.alloc_shared : memref<32x8xf16, #wg>
    %b = tile.alloc_shared : memref<8x32xf16, #wg>
    %c = arith.constant dense<0.0> : tensor<32x32xf32>
    %d = tile.gemm %a, %b, %c : memref<32x8xf16, #wg>, memref<8x32xf16, #wg> -> tensor<32x32xf32>
    tile.store %d to %C : tensor<32x32xf32> to memref<32x32xf32>
    gpu.return
  }

  // Four bytes are a word, in which each exchange takes one v_perm_b32.
  // CHECK-LABEL: llvm.func @bytes
  // CHECK: llvm.load {{.*}} -> vector<8xi8>
  // CHECK: llvm.load {{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> vector<4xi8>
  // CHECK: rocdl.update.dpp {{.*}} with 177, 15, 15, true
  // CHECK: llvm.call_intrinsic "llvm.amdgcn.perm"
  // CHECK: rocdl.update.dpp {{.*}} with 78, 15, 15, true
  // CHECK: llvm.call_intrinsic "llvm.amdgcn.perm"
  // CHECK: llvm.load {{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> vector<4xi8>
  // CHECK-NOT: llvm.load
  // CHECK: rocdl.mfma.i32.32x32x16.i8
  gpu.func @bytes(%C: memref<32x32xi32>) kernel attributes {tile.threads = 64 : i32} {
    %a = tile.alloc_shared : memref<32x16xi8, #wg>
    %b = tile.alloc_shared : memref<16x32xi8, #wg>
    %c = arith.constant dense<0> : tensor<32x32xi32>
    %d = tile.gemm %a, %b, %c : memref<32x16xi8, #wg>, memref<16x32xi8, #wg> -> tensor<32x32xi32>
    tile.store %d to %C : tensor<32x32xi32> to memref<32x32xi32>
    gpu.return
  }
}
