// RUN: tilews-opt --pass-pipeline='builtin.module(gpu.module(tile-set-target{chip=sm_80},tile-plan-shared-memory,tile-insert-barriers,convert-tile-to-nvvm,canonicalize,cse))' %s | FileCheck %s --check-prefixes=CHECK,NV
// RUN: tilews-opt --pass-pipeline='builtin.module(gpu.module(tile-set-target{chip=sm_90a},tile-plan-shared-memory,tile-insert-barriers,convert-tile-to-nvvm,canonicalize,cse))' %s | FileCheck %s --check-prefixes=CHECK,NV
// RUN: tilews-opt --pass-pipeline='builtin.module(gpu.module(tile-set-target{chip=gfx942},tile-plan-shared-memory,tile-insert-barriers,convert-tile-to-rocdl,canonicalize,cse))' %s | FileCheck %s --check-prefixes=CHECK,AMD
// RUN: tilews-opt --pass-pipeline='builtin.module(gpu.module(tile-set-target{chip=gfx1100},tile-plan-shared-memory,tile-insert-barriers,convert-tile-to-rocdl,canonicalize,cse))' %s | FileCheck %s --check-prefixes=CHECK,AMD

#wg = #gpu.address_space<workgroup>

// The accumulator of mma.sync, and the layouts into which the four lanes of a row
// exchange it: each lane has 16 bytes in one piece.
#acc = #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (2, 2, 4):(1*d1, 8*d0, 8*d1)>
#renamed = #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0), value = (4, 2, 2):(8*d1, 1*d1, 8*d0)>
#wide16 = #tile.fragment<thread = (4, 8, 4):(8*d1, 1*d0, 16*d0), value = (8, 2):(1*d1, 8*d0)>
#wide32 = #tile.fragment<thread = (2, 2, 8, 4):(8*d1, 4*d1, 1*d0, 16*d0), value = (4, 2, 2):(1*d1, 8*d0, 16*d1)>
// Lanes in another order.
#turned = #tile.fragment<thread = (8, 4, 4):(1*d0, 2*d1, 16*d0), value = (2, 2, 4):(1*d1, 8*d0, 8*d1)>
// Rows move to other warps.
#rows = #tile.fragment<thread = (4, 8, 4):(8*d1, 8*d0, 1*d0), value = (8, 2):(1*d1, 4*d0)>

gpu.module @kernels {
  // The same registers in another order need no instruction.
  // CHECK-LABEL: llvm.func @rename
  // CHECK-SAME: tile.shared_bytes = 0 : i64
  // CHECK-NOT: arith.select
  // CHECK-NOT: {{shfl|dpp|bpermute|barrier}}
  // CHECK: llvm.return
  gpu.func @rename(%x: memref<64x32xf16>, %y: memref<64x32xf16>) kernel attributes {tile.threads = 128 : i32} {
    %0 = tile.load %x : memref<64x32xf16> -> tensor<64x32xf16, #acc>
    %1 = tile.convert_layout %0 : tensor<64x32xf16, #acc> to tensor<64x32xf16, #renamed>
    tile.store %1 to %y : tensor<64x32xf16, #renamed> to memref<64x32xf16>
    gpu.return
  }

  // The sixteen elements of a lane are eight words. The lane keeps a quarter of them
  // and receives two words in each of three rounds.
  // CHECK-LABEL: llvm.func @quad_f16
  // CHECK-SAME: tile.shared_bytes = 0 : i64
  // NV-COUNT-6: nvvm.shfl.sync bfly
  // AMD-COUNT-6: rocdl.update.dpp
  // CHECK-NOT: {{shfl|dpp|bpermute|barrier}}
  // CHECK-COUNT-2: llvm.store {{.*}} : vector<8xf16>
  // CHECK-NOT: llvm.store
  gpu.func @quad_f16(%x: memref<64x32xf16>, %y: memref<64x32xf16>) kernel attributes {tile.threads = 128 : i32} {
    %0 = tile.load %x : memref<64x32xf16> -> tensor<64x32xf16, #acc>
    %1 = tile.convert_layout %0 : tensor<64x32xf16, #acc> to tensor<64x32xf16, #wide16>
    tile.store %1 to %y : tensor<64x32xf16, #wide16> to memref<64x32xf16>
    gpu.return
  }

  // One bit of the place is exchanged: half of the words move.
  // CHECK-LABEL: llvm.func @pair_f32
  // CHECK-SAME: tile.shared_bytes = 0 : i64
  // NV-COUNT-8: nvvm.shfl.sync bfly
  // AMD-COUNT-8: rocdl.update.dpp
  // CHECK-NOT: {{shfl|dpp|bpermute|barrier}}
  // CHECK-COUNT-4: llvm.store {{.*}} : vector<4xf32>
  // CHECK-NOT: llvm.store
  gpu.func @pair_f32(%x: memref<64x32xf32>, %y: memref<64x32xf32>) kernel attributes {tile.threads = 128 : i32} {
    %0 = tile.load %x : memref<64x32xf32> -> tensor<64x32xf32, #acc>
    %1 = tile.convert_layout %0 : tensor<64x32xf32, #acc> to tensor<64x32xf32, #wide32>
    tile.store %1 to %y : tensor<64x32xf32, #wide32> to memref<64x32xf32>
    gpu.return
  }

  // Lanes exchange all of their words: eight of them, from a lane that is computed
  // once.
  // CHECK-LABEL: llvm.func @lanes
  // CHECK-SAME: tile.shared_bytes = 0 : i64
  // NV-COUNT-8: nvvm.shfl.sync idx
  // AMD-COUNT-8: rocdl.ds_bpermute
  // CHECK-NOT: {{shfl|dpp|bpermute|barrier}}
  // CHECK: llvm.return
  gpu.func @lanes(%x: memref<64x32xf16>, %y: memref<64x32xf16>) kernel attributes {tile.threads = 128 : i32} {
    %0 = tile.load %x : memref<64x32xf16> -> tensor<64x32xf16, #acc>
    %1 = tile.convert_layout %0 : tensor<64x32xf16, #acc> to tensor<64x32xf16, #turned>
    tile.store %1 to %y : tensor<64x32xf16, #turned> to memref<64x32xf16>
    gpu.return
  }

  // An exchange between warps goes through scratch memory with padded rows, which are
  // read in vectors of 16 bytes.
  // CHECK-LABEL: llvm.func @shared
  // CHECK-SAME: tile.shared_bytes = 5104 : i64
  // CHECK-COUNT-8: llvm.store {{.*}} : vector<2xf16>, !llvm.ptr<3>
  // NV: nvvm.barrier0
  // AMD: rocdl.s.barrier
  // CHECK-COUNT-2: llvm.load {{.*}} : !llvm.ptr<3> -> vector<8xf16>
  // CHECK-NOT: barrier
  // CHECK: llvm.return
  gpu.func @shared(%x: memref<64x32xf16>, %y: memref<64x32xf16>) kernel attributes {tile.threads = 128 : i32} {
    %0 = tile.load %x : memref<64x32xf16> -> tensor<64x32xf16, #acc>
    %1 = tile.convert_layout %0 : tensor<64x32xf16, #acc> to tensor<64x32xf16, #rows>
    tile.store %1 to %y : tensor<64x32xf16, #rows> to memref<64x32xf16>
    gpu.return
  }

  // The first conversion needs scratch memory, the second does not. They are not merged
  // into one, which would need scratch memory that no pass has planned.
  // CHECK-LABEL: llvm.func @two_steps
  // CHECK: llvm.store
  // CHECK: {{nvvm.barrier|rocdl.*barrier}}
  // CHECK: llvm.load
  // CHECK: llvm.return
  gpu.func @two_steps(%x: memref<16xf32>, %y: memref<16xf32>) kernel attributes {tile.threads = 256 : i32} {
    %v = tile.load %x[0] : memref<16xf32> -> tensor<16xf32, #tile.fragment<thread = (8, 16, 2):(0, 1*d0, 0), value = ():()>>
    %w = tile.convert_layout %v : tensor<16xf32, #tile.fragment<thread = (8, 16, 2):(0, 1*d0, 0), value = ():()>> to tensor<16xf32, #tile.fragment<thread = (4, 8, 8):(0, 1*d0, 0), value = (2):(8*d0)>>
    %z = tile.convert_layout %w : tensor<16xf32, #tile.fragment<thread = (4, 8, 8):(0, 1*d0, 0), value = (2):(8*d0)>> to tensor<16xf32, #tile.fragment<thread = (4, 16, 4):(0, 1*d0, 0), value = ():()>>
    tile.store %z to %y[0] : tensor<16xf32, #tile.fragment<thread = (4, 16, 4):(0, 1*d0, 0), value = ():()>> to memref<16xf32>
    gpu.return
  }
}
