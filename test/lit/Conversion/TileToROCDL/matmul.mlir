// Matmuls become the matrix instructions of the chip.
// RUN: tilews-opt %s -split-input-file --pass-pipeline='builtin.module(gpu.module(tile-annotate-instructions,tile-infer-layouts,tile-plan-shared-memory,tile-insert-barriers,convert-tile-to-rocdl,canonicalize,cse))' | FileCheck %s

#wg = #gpu.address_space<workgroup>
// CHECK-LABEL: gpu.module @gfx90a
gpu.module @gfx90a [#rocdl.target<chip = "gfx90a">] {
  // CHECK: llvm.func @bf16
  gpu.func @bf16(%C: memref<32x32xf32>) kernel attributes {tile.threads = 64 : i32} {
    %a = tile.alloc_shared : memref<32x8xbf16, #wg>
    %b = tile.alloc_shared : memref<32x8xbf16, #wg>
    %c = arith.constant dense<0.0> : tensor<32x32xf32>
    // The four registers along K are loaded at once.
    // CHECK-COUNT-2: llvm.load {{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<4xbf16>
    // CHECK: rocdl.mfma.f32.32x32x8bf16.1k {{.*}} : (vector<4xi16>, vector<4xi16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
    %d = tile.gemm %a, %b, %c {transpose_rhs} : memref<32x8xbf16, #wg>, memref<32x8xbf16, #wg> -> tensor<32x32xf32>
    tile.store %d to %C : tensor<32x32xf32> to memref<32x32xf32>
    gpu.return
  }
  // CHECK: llvm.func @i8
  gpu.func @i8(%C: memref<16x16xi32>) kernel attributes {tile.threads = 64 : i32} {
    %a = tile.alloc_shared : memref<16x32xi8, #wg>
    %b = tile.alloc_shared : memref<16x32xi8, #wg>
    %c = arith.constant dense<0> : tensor<16x16xi32>
    // CHECK-COUNT-2: rocdl.mfma.i32.16x16x16i8 {{.*}} : (i32, i32, vector<4xi32>, i32, i32, i32) -> vector<4xi32>
    %d = tile.gemm %a, %b, %c {transpose_rhs} : memref<16x32xi8, #wg>, memref<16x32xi8, #wg> -> tensor<16x16xi32>
    tile.store %d to %C : tensor<16x16xi32> to memref<16x16xi32>
    gpu.return
  }
  // The registers of the accumulator have columns four rows apart.
  // CHECK: llvm.func @f64
  gpu.func @f64(%C: memref<16x16xf64>) kernel attributes {tile.threads = 64 : i32} {
    %a = tile.alloc_shared : memref<16x4xf64, #wg>
    %b = tile.alloc_shared : memref<16x4xf64, #wg>
    %c = arith.constant dense<0.0> : tensor<16x16xf64>
    // CHECK: rocdl.mfma.f64.16x16x4f64 {{.*}} : (f64, f64, vector<4xf64>, i32, i32, i32) -> vector<4xf64>
    // CHECK: llvm.getelementptr %{{.*}}[64] :
    // CHECK: llvm.getelementptr %{{.*}}[128] :
    %d = tile.gemm %a, %b, %c {transpose_rhs} : memref<16x4xf64, #wg>, memref<16x4xf64, #wg> -> tensor<16x16xf64>
    tile.store %d to %C : tensor<16x16xf64> to memref<16x16xf64>
    gpu.return
  }
}

// -----

#wg = #gpu.address_space<workgroup>
// CHECK-LABEL: gpu.module @gfx942
gpu.module @gfx942 [#rocdl.target<chip = "gfx942">] {
  // CHECK: llvm.func @fp8
  gpu.func @fp8(%C: memref<32x32xf32>) kernel attributes {tile.threads = 64 : i32} {
    %a = tile.alloc_shared : memref<32x16xf8E4M3FNUZ, #wg>
    %b = tile.alloc_shared : memref<32x16xf8E5M2FNUZ, #wg>
    %c = arith.constant dense<0.0> : tensor<32x32xf32>
    // CHECK: rocdl.mfma.f32.32x32x16.fp8.bf8 {{.*}} : (i64, i64, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
    %d = tile.gemm %a, %b, %c {transpose_rhs} : memref<32x16xf8E4M3FNUZ, #wg>, memref<32x16xf8E5M2FNUZ, #wg> -> tensor<32x32xf32>
    tile.store %d to %C : tensor<32x32xf32> to memref<32x32xf32>
    gpu.return
  }
}

// -----

#wg = #gpu.address_space<workgroup>
// CHECK-LABEL: gpu.module @gfx950
gpu.module @gfx950 [#rocdl.target<chip = "gfx950">] {
  // The numbers of the types are 0 and 1. Without scales both are zero.
  // CHECK: llvm.func @fp8
  gpu.func @fp8(%C: memref<32x32xf32>) kernel attributes {tile.threads = 64 : i32} {
    %a = tile.alloc_shared : memref<32x64xf8E4M3FN, #wg>
    %b = tile.alloc_shared : memref<32x64xf8E5M2, #wg>
    %c = arith.constant dense<0.0> : tensor<32x32xf32>
    // A lane holds two runs of 16 elements of an operand.
    // CHECK-COUNT-4: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<16xi8>
    // CHECK: rocdl.mfma.scale.f32.32x32x64.f8f6f4 %{{.*}}, %{{.*}}, %{{.*}}, %c0_i32, %c1_i32, %c0_i32, %c0_i32, %c0_i32, %c0_i32 : (vector<8xi32>, vector<8xi32>, vector<16xf32>, i32, i32, i32, i32, i32, i32) -> vector<16xf32>
    %d = tile.gemm %a, %b, %c {transpose_rhs} : memref<32x64xf8E4M3FN, #wg>, memref<32x64xf8E5M2, #wg> -> tensor<32x32xf32>
    tile.store %d to %C : tensor<32x32xf32> to memref<32x32xf32>
    gpu.return
  }
  // Bytes with packed elements of 4 bits are 4 words, of 6 bits 6 words. The lowest byte of
  // a word has a scale; the bit above keeps it from being the constant 0.
  // CHECK: llvm.func @scaled
  gpu.func @scaled(%C: memref<32x32xf32>) kernel attributes {tile.threads = 64 : i32} {
    %a = tile.alloc_shared : memref<32x128xi8, #wg>
    %b = tile.alloc_shared : memref<32x192xi8, #wg>
    %s = tile.alloc_shared : memref<32x8xf8E8M0FNU, #wg>
    %t = tile.alloc_shared : memref<32x8xf8E8M0FNU, #wg>
    %c = arith.constant dense<0.0> : tensor<32x32xf32>
    // CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<16xi8>
    // CHECK-COUNT-3: llvm.load {{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<8xi8>
    // CHECK: %[[BYTE:.*]] = llvm.load {{.*}} {alignment = 1 : i64} : !llvm.ptr<3> -> i8
    // CHECK: %[[WORD:.*]] = arith.extui %[[BYTE]] : i8 to i32
    // CHECK: %[[SCALE:.*]] = arith.ori %[[WORD]], %c256_i32 : i32
    // CHECK: rocdl.mfma.scale.f32.32x32x64.f8f6f4 %{{.*}}, %{{.*}}, %{{.*}}, %c4_i32, %c3_i32, %c0_i32, %[[SCALE]], %c0_i32, %{{.*}} : (vector<4xi32>, vector<6xi32>, vector<16xf32>, i32, i32, i32, i32, i32, i32) -> vector<16xf32>
    // CHECK-COUNT-3: rocdl.mfma.scale.f32.32x32x64.f8f6f4
    %d = tile.gemm %a, %b, %c scaled (%s, %t : memref<32x8xf8E8M0FNU, #wg>, memref<32x8xf8E8M0FNU, #wg>) {transpose_rhs, lhs_type = f4E2M1FN, rhs_type = f6E3M2FN} : memref<32x128xi8, #wg>, memref<32x192xi8, #wg> -> tensor<32x32xf32>
    tile.store %d to %C : tensor<32x32xf32> to memref<32x32xf32>
    gpu.return
  }
  // K is too small for the instruction of small types.
  // CHECK: llvm.func @shallow
  gpu.func @shallow(%C: memref<16x16xf32>) kernel attributes {tile.threads = 64 : i32} {
    %a = tile.alloc_shared : memref<16x64xf8E4M3FN, #wg>
    %b = tile.alloc_shared : memref<16x64xf8E4M3FN, #wg>
    %c = arith.constant dense<0.0> : tensor<16x16xf32>
    // CHECK-COUNT-2: rocdl.mfma.f32.16x16x32.fp8.fp8
    %d = tile.gemm %a, %b, %c {transpose_rhs} : memref<16x64xf8E4M3FN, #wg>, memref<16x64xf8E4M3FN, #wg> -> tensor<16x16xf32>
    tile.store %d to %C : tensor<16x16xf32> to memref<16x16xf32>
    gpu.return
  }
  // CHECK: llvm.func @f16
  gpu.func @f16(%C: memref<32x32xf32>) kernel attributes {tile.threads = 64 : i32} {
    %a = tile.alloc_shared : memref<32x16xf16, #wg>
    %b = tile.alloc_shared : memref<32x16xf16, #wg>
    %c = arith.constant dense<0.0> : tensor<32x32xf32>
    // CHECK-COUNT-2: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<8xf16>
    // CHECK: rocdl.mfma.f32.32x32x16.f16 {{.*}} : (vector<8xf16>, vector<8xf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
    %d = tile.gemm %a, %b, %c {transpose_rhs} : memref<32x16xf16, #wg>, memref<32x16xf16, #wg> -> tensor<32x32xf32>
    tile.store %d to %C : tensor<32x32xf32> to memref<32x32xf32>
    gpu.return
  }
  // CHECK: llvm.func @i8
  gpu.func @i8(%C: memref<16x16xi32>) kernel attributes {tile.threads = 64 : i32} {
    %a = tile.alloc_shared : memref<16x64xi8, #wg>
    %b = tile.alloc_shared : memref<16x64xi8, #wg>
    %c = arith.constant dense<0> : tensor<16x16xi32>
    // CHECK: rocdl.mfma.i32.16x16x64.i8 {{.*}} : (vector<4xi32>, vector<4xi32>, vector<4xi32>, i32, i32, i32) -> vector<4xi32>
    %d = tile.gemm %a, %b, %c {transpose_rhs} : memref<16x64xi8, #wg>, memref<16x64xi8, #wg> -> tensor<16x16xi32>
    tile.store %d to %C : tensor<16x16xi32> to memref<16x16xi32>
    gpu.return
  }
}

// -----

#wg = #gpu.address_space<workgroup>
// CHECK-LABEL: gpu.module @gfx1100
gpu.module @gfx1100 [#rocdl.target<chip = "gfx1100">] {
  // Both halves of a wave hold all elements along K.
  // CHECK: llvm.func @f16
  gpu.func @f16(%C: memref<16x16xf32>) kernel attributes {tile.threads = 32 : i32} {
    %a = tile.alloc_shared : memref<16x16xf16, #wg>
    %b = tile.alloc_shared : memref<16x16xf16, #wg>
    %c = arith.constant dense<0.0> : tensor<16x16xf32>
    // CHECK-COUNT-4: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<8xf16>
    // CHECK: rocdl.wmma.f32.16x16x16.f16 {{.*}} : (vector<16xf16>, vector<16xf16>, vector<8xf32>) -> vector<8xf32>
    %d = tile.gemm %a, %b, %c {transpose_rhs} : memref<16x16xf16, #wg>, memref<16x16xf16, #wg> -> tensor<16x16xf32>
    tile.store %d to %C : tensor<16x16xf32> to memref<16x16xf32>
    gpu.return
  }
  // CHECK: llvm.func @i8
  gpu.func @i8(%C: memref<16x16xi32>) kernel attributes {tile.threads = 32 : i32} {
    %a = tile.alloc_shared : memref<16x16xi8, #wg>
    %b = tile.alloc_shared : memref<16x16xi8, #wg>
    %c = arith.constant dense<0> : tensor<16x16xi32>
    // CHECK: rocdl.wmma.i32.16x16x16.iu8 {{.*}} {signA = true, signB = true} : (vector<4xi32>, vector<4xi32>, vector<8xi32>) -> vector<8xi32>
    %d = tile.gemm %a, %b, %c {transpose_rhs} : memref<16x16xi8, #wg>, memref<16x16xi8, #wg> -> tensor<16x16xi32>
    tile.store %d to %C : tensor<16x16xi32> to memref<16x16xi32>
    gpu.return
  }
  // RDNA3 has no matrix instruction for f32.
  // CHECK: llvm.func @f32
  gpu.func @f32(%C: memref<16x16xf32>) kernel attributes {tile.threads = 32 : i32} {
    %a = tile.alloc_shared : memref<16x16xf32, #wg>
    %b = tile.alloc_shared : memref<16x16xf32, #wg>
    %c = arith.constant dense<0.0> : tensor<16x16xf32>
    // CHECK-NOT: rocdl.wmma
    // CHECK: llvm.intr.fma
    %d = tile.gemm %a, %b, %c {transpose_rhs} : memref<16x16xf32, #wg>, memref<16x16xf32, #wg> -> tensor<16x16xf32>
    tile.store %d to %C : tensor<16x16xf32> to memref<16x16xf32>
    gpu.return
  }
}

// -----

#wg = #gpu.address_space<workgroup>
// CHECK-LABEL: gpu.module @gfx1201
gpu.module @gfx1201 [#rocdl.target<chip = "gfx1201">] {
  // CHECK: llvm.func @bf16
  gpu.func @bf16(%C: memref<16x16xf32>) kernel attributes {tile.threads = 32 : i32} {
    %a = tile.alloc_shared : memref<16x16xbf16, #wg>
    %b = tile.alloc_shared : memref<16x16xbf16, #wg>
    %c = arith.constant dense<0.0> : tensor<16x16xf32>
    // CHECK: rocdl.wmma.f32.16x16x16.bf16 {{.*}} : (vector<8xi16>, vector<8xi16>, vector<8xf32>) -> vector<8xf32>
    %d = tile.gemm %a, %b, %c {transpose_rhs} : memref<16x16xbf16, #wg>, memref<16x16xbf16, #wg> -> tensor<16x16xf32>
    tile.store %d to %C : tensor<16x16xf32> to memref<16x16xf32>
    gpu.return
  }
  // CHECK: llvm.func @fp8
  gpu.func @fp8(%C: memref<16x16xf32>) kernel attributes {tile.threads = 32 : i32} {
    %a = tile.alloc_shared : memref<16x16xf8E5M2, #wg>
    %b = tile.alloc_shared : memref<16x16xf8E4M3FN, #wg>
    %c = arith.constant dense<0.0> : tensor<16x16xf32>
    // CHECK: rocdl.wmma.f32.16x16x16.bf8_fp8 {{.*}} : (vector<2xi32>, vector<2xi32>, vector<8xf32>) -> vector<8xf32>
    %d = tile.gemm %a, %b, %c {transpose_rhs} : memref<16x16xf8E5M2, #wg>, memref<16x16xf8E4M3FN, #wg> -> tensor<16x16xf32>
    tile.store %d to %C : tensor<16x16xf32> to memref<16x16xf32>
    gpu.return
  }
}
