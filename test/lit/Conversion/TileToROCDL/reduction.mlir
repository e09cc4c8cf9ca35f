// Lanes exchange values by data parallel primitives (DPP) where these reach.
// RUN: tilews-opt %s -split-input-file --pass-pipeline='builtin.module(gpu.module(tile-infer-layouts,tile-plan-shared-memory,tile-insert-barriers,convert-tile-to-rocdl,canonicalize,cse))' | FileCheck %s

// CHECK-LABEL: gpu.module @gfx942
gpu.module @gfx942 [#rocdl.target<chip = "gfx942">] {
  // CHECK: llvm.func @sum
  gpu.func @sum(%A: memref<1x256xf32>, %C: memref<1xf32>) kernel attributes {tile.threads = 64 : i32} {
    %x = tile.load %A : memref<1x256xf32> -> tensor<1x256xf32>
    // Lanes that differ in bits 0 and 1 are permuted within groups of four.
    // CHECK: rocdl.update.dpp {{.*}} with 177, 15, 15, true : i32
    // CHECK: rocdl.update.dpp {{.*}} with 78, 15, 15, true : i32
    // Bit 2: half a row is mirrored, and each group of four in it is mirrored back.
    // CHECK: rocdl.update.dpp {{.*}} with 321, 15, 15, true : i32
    // CHECK: rocdl.update.dpp {{.*}} with 27, 15, 15, true : i32
    // Bit 3: a row rotated by half.
    // CHECK: rocdl.update.dpp {{.*}} with 296, 15, 15, true : i32
    // Bits 4 and 5 cross rows.
    // CHECK: rocdl.ds_swizzle
    // CHECK: rocdl.ds_bpermute
    %s = tile.reduce <sum> %x {axis = 1 : i64} : tensor<1x256xf32> -> tensor<1xf32>
    tile.store %s to %C : tensor<1xf32> to memref<1xf32>
    gpu.return
  }
}

// -----

#waves = #tile.fragment<thread = (64):(4*d1), value = (4):(1*d1)>
// CHECK-LABEL: gpu.module @gfx1100
gpu.module @gfx1100 [#rocdl.target<chip = "gfx1100">] {
  // CHECK: llvm.func @sum
  gpu.func @sum(%A: memref<1x256xf32>, %C: memref<1xf32>) kernel attributes {tile.threads = 64 : i32} {
    %x = tile.load %A : memref<1x256xf32> -> tensor<1x256xf32, #waves>
    // CHECK: rocdl.update.dpp {{.*}} with 177, 15, 15, true : i32
    // CHECK: rocdl.update.dpp {{.*}} with 78, 15, 15, true : i32
    // Bits 2 and 3: a row can be permuted by any exclusive or.
    // CHECK: rocdl.update.dpp {{.*}} with 356, 15, 15, true : i32
    // CHECK: rocdl.update.dpp {{.*}} with 360, 15, 15, true : i32
    // CHECK: rocdl.ds_swizzle
    // Two waves synchronize and exchange values through shared memory, with both
    // fences.
    // CHECK: llvm.fence syncscope("workgroup") release
    // CHECK-NEXT: rocdl.s.waitcnt 64519
    // CHECK-NEXT: rocdl.s.barrier
    // CHECK-NEXT: llvm.fence syncscope("workgroup") acquire
    %s = tile.reduce <sum> %x {axis = 1 : i64} : tensor<1x256xf32, #waves> -> tensor<1xf32>
    tile.store %s to %C : tensor<1xf32> to memref<1xf32>
    gpu.return
  }
}
