// Flips in given layouts: registers are renamed, lanes exchange by shuffles, and warps
// through scratch memory.

// RUN: tilews-opt --pass-pipeline='builtin.module(gpu.module(tile-set-target{chip=sm_80},tile-plan-shared-memory,tile-insert-barriers,convert-tile-to-nvvm,canonicalize,cse))' %s | FileCheck %s --check-prefixes=CHECK,NV
// RUN: tilews-opt --pass-pipeline='builtin.module(gpu.module(tile-set-target{chip=sm_90a},tile-plan-shared-memory,tile-insert-barriers,convert-tile-to-nvvm,canonicalize,cse))' %s | FileCheck %s --check-prefixes=CHECK,NV
// RUN: tilews-opt --pass-pipeline='builtin.module(gpu.module(tile-set-target{chip=gfx1100},tile-plan-shared-memory,tile-insert-barriers,convert-tile-to-rocdl,canonicalize,cse))' %s | FileCheck %s --check-prefixes=CHECK,AMD
// RUN: tilews-opt --pass-pipeline='builtin.module(gpu.module(tile-set-target{chip=gfx942},tile-plan-shared-memory,tile-insert-barriers,convert-tile-to-rocdl,canonicalize,cse))' %s | FileCheck %s --check-prefix=WAVE64

// Columns in 8 lanes of 4 registers, rows in 4 lanes, 3 registers and 4 warps.
#l = #tile.fragment<thread = (8, 4, 4):(4*d1, 1*d0, 12*d0), value = (4, 3):(1*d1, 4*d0)>
// The same, with rows 20 and on past the end.
#ragged = #tile.fragment<thread = (8, 4, 4):(4*d1, 1*d0, 4*d0), value = (4, 2):(1*d1, 16*d0)>
// Three groups of warps, one after the other.
#three = #tile.fragment<thread = (64, 3):(1*d0, 64*d0), value = (4):(1*d1)>
#regs = #tile.fragment<thread = (128):(1*d0), value = (4):(1*d1)>

gpu.module @kernels {
  // CHECK-LABEL: llvm.func @registers
  // CHECK-SAME: tile.shared_bytes = 0 : i64
  // CHECK-NOT: {{shfl|dpp|bpermute|barrier|arith.select}}
  // CHECK: llvm.return
  gpu.func @registers(%x: memref<128x4xf32>, %y: memref<128x4xf32>) kernel attributes {tile.threads = 128 : i32} {
    %0 = tile.load %x : memref<128x4xf32> -> tensor<128x4xf32, #regs>
    %1 = tile.flip %0 {axes = array<i64: 1>} : tensor<128x4xf32, #regs>
    tile.store %1 to %y : tensor<128x4xf32, #regs> to memref<128x4xf32>
    gpu.return
  }

  // Each of the 12 words takes one shuffle, with the lane whose number differs in the bits
  // of the column.
  // CHECK-LABEL: llvm.func @lanes
  // CHECK-SAME: tile.shared_bytes = 0 : i64
  // NV-COUNT-12: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %c7_i32, %{{.*}}
  // AMD-COUNT-12: rocdl.update.dpp {{.*}} with 359, 15, 15, true
  // CHECK-NOT: {{shfl|dpp|bpermute|barrier|arith.select}}
  // CHECK-COUNT-3: llvm.store {{.*}} : vector<4xf32>
  // CHECK-NOT: llvm.store
  // CHECK: llvm.return
  // WAVE64-LABEL: llvm.func @lanes
  // WAVE64-SAME: tile.shared_bytes = 0 : i64
  // WAVE64-COUNT-12: rocdl.ds_swizzle
  // WAVE64-NOT: {{dpp|swizzle|bpermute|barrier}}
  // WAVE64: llvm.return
  gpu.func @lanes(%x: memref<48x32xf32>, %y: memref<48x32xf32>) kernel attributes {tile.threads = 128 : i32} {
    %0 = tile.load %x : memref<48x32xf32> -> tensor<48x32xf32, #l>
    %1 = tile.flip %0 {axes = array<i64: 1>} : tensor<48x32xf32, #l>
    tile.store %1 to %y : tensor<48x32xf32, #l> to memref<48x32xf32>
    gpu.return
  }

  // Two elements of 16 bits share a word.
  // CHECK-LABEL: llvm.func @packed
  // CHECK-SAME: tile.shared_bytes = 0 : i64
  // NV-COUNT-6: nvvm.shfl.sync bfly
  // AMD-COUNT-6: rocdl.update.dpp
  // CHECK-NOT: {{shfl|dpp|bpermute|barrier|arith.select}}
  // CHECK: llvm.return
  gpu.func @packed(%x: memref<48x32xf16>, %y: memref<48x32xf16>) kernel attributes {tile.threads = 128 : i32} {
    %0 = tile.load %x : memref<48x32xf16> -> tensor<48x32xf16, #l>
    %1 = tile.flip %0 {axes = array<i64: 1>} : tensor<48x32xf16, #l>
    tile.store %1 to %y : tensor<48x32xf16, #l> to memref<48x32xf16>
    gpu.return
  }

  // Warps share the rows. All threads write, and read what the mirrored thread wrote, in
  // vectors of 16 bytes.
  // CHECK-LABEL: llvm.func @warps
  // CHECK-NOT: {{shfl|dpp|bpermute|barrier}}
  // CHECK-COUNT-3: llvm.store {{.*}} : vector<4xf32>, !llvm.ptr<3>
  // NV: nvvm.barrier0
  // AMD: rocdl.s.barrier
  // CHECK: arith.xori %{{.*}}, %{{.*}} : i32
  // CHECK-COUNT-3: llvm.load {{.*}} : !llvm.ptr<3> -> vector<4xf32>
  // CHECK-NOT: llvm.load {{.*}}ptr<3>
  // CHECK: llvm.return
  gpu.func @warps(%x: memref<48x32xf32>, %y: memref<48x32xf32>) kernel attributes {tile.threads = 128 : i32} {
    %0 = tile.load %x : memref<48x32xf32> -> tensor<48x32xf32, #l>
    %1 = tile.flip %0 {axes = array<i64: 0, 1>} : tensor<48x32xf32, #l>
    tile.store %1 to %y : tensor<48x32xf32, #l> to memref<48x32xf32>
    gpu.return
  }

  // The number of the mirrored thread differs by more than some bits.
  // CHECK-LABEL: llvm.func @three_warps
  // CHECK: llvm.store {{.*}} : vector<4xf32>, !llvm.ptr<3>
  // NV: nvvm.barrier0
  // AMD: rocdl.s.barrier
  // CHECK: arith.subi
  // CHECK: llvm.load {{.*}} : !llvm.ptr<3> -> vector<4xf32>
  // CHECK: llvm.return
  gpu.func @three_warps(%x: memref<192x4xf32>, %y: memref<192x4xf32>) kernel attributes {tile.threads = 192 : i32} {
    %0 = tile.load %x : memref<192x4xf32> -> tensor<192x4xf32, #three>
    %1 = tile.flip %0 {axes = array<i64: 0, 1>} : tensor<192x4xf32, #three>
    tile.store %1 to %y : tensor<192x4xf32, #three> to memref<192x4xf32>
    gpu.return
  }

  // Some threads have no row 16 to 31. Those that do compute where its mirror is; the rest
  // do not read.
  // CHECK-LABEL: llvm.func @past_the_end
  // CHECK: llvm.store {{.*}} !llvm.ptr<3>
  // NV: nvvm.barrier0
  // AMD: rocdl.s.barrier
  // CHECK: arith.subi
  // CHECK: arith.cmpi ult, %{{.*}}, %{{.*}} : i32
  // CHECK: scf.if
  // CHECK: llvm.load {{.*}} : !llvm.ptr<3> -> vector<4xf32>
  // CHECK: llvm.return
  gpu.func @past_the_end(%x: memref<20x32xf32>, %y: memref<20x32xf32>) kernel attributes {tile.threads = 128 : i32} {
    %0 = tile.load %x : memref<20x32xf32> -> tensor<20x32xf32, #ragged>
    %1 = tile.flip %0 {axes = array<i64: 0>} : tensor<20x32xf32, #ragged>
    tile.store %1 to %y : tensor<20x32xf32, #ragged> to memref<20x32xf32>
    gpu.return
  }
}
