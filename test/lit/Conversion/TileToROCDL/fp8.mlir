// Conversions of fp8 by instructions of the chip, in its family of formats.
// RUN: tilews-opt %s -split-input-file --pass-pipeline='builtin.module(gpu.module(tile-infer-layouts,convert-tile-to-rocdl,canonicalize,cse))' | FileCheck %s

// CHECK-LABEL: gpu.module @gfx942
gpu.module @gfx942 [#rocdl.target<chip = "gfx942">] {
  // CHECK: llvm.func @cast
  gpu.func @cast(%A: memref<256xf32>, %B: memref<256xf8E4M3FNUZ>, %C: memref<256xf32>) kernel attributes {tile.threads = 64 : i32} {
    %x = tile.load %A : memref<256xf32> -> tensor<256xf32>
    // Saturation keeps NaN.
    // CHECK: arith.constant dense<-2.400000e+02> : vector<4xf32>
    // CHECK: arith.constant dense<2.400000e+02> : vector<4xf32>
    // CHECK: arith.minnumf
    // CHECK: arith.maxnumf
    // CHECK: arith.cmpf uno
    // CHECK: %[[LOW:.*]] = rocdl.cvt.pk.fp8.f32 {{.*}} -> %{{.*}}[false] : i32
    // CHECK: rocdl.cvt.pk.fp8.f32 {{.*}} -> %[[LOW]][true] : i32
    %f = arith.truncf %x : tensor<256xf32> to tensor<256xf8E4M3FNUZ>
    tile.store %f to %B : tensor<256xf8E4M3FNUZ> to memref<256xf8E4M3FNUZ>
    // CHECK: rocdl.cvt.pk.f32.fp8 {{.*}}[false] : vector<2xf32>
    // CHECK: rocdl.cvt.pk.f32.fp8 {{.*}}[true] : vector<2xf32>
    %y = arith.extf %f : tensor<256xf8E4M3FNUZ> to tensor<256xf32>
    tile.store %y to %C : tensor<256xf32> to memref<256xf32>
    gpu.return
  }
}

// -----

// CHECK-LABEL: gpu.module @gfx950
gpu.module @gfx950 [#rocdl.target<chip = "gfx950">] {
  // CHECK: llvm.func @cast
  gpu.func @cast(%A: memref<64xf32>, %B: memref<64xf8E5M2>) kernel attributes {tile.threads = 64 : i32} {
    %x = tile.load %A : memref<64xf32> -> tensor<64xf32>
    // CHECK: rocdl.cvt.pk.bf8.f32
    %f = arith.truncf %x : tensor<64xf32> to tensor<64xf8E5M2>
    tile.store %f to %B : tensor<64xf8E5M2> to memref<64xf8E5M2>
    gpu.return
  }
}
