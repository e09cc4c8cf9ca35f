// RUN: tilews-opt %s --pass-pipeline="builtin.module(gpu.module(tile-infer-layouts,tile-plan-shared-memory,convert-tile-to-nvvm))" | FileCheck %s
// RUN: tilews-opt %s --tilews-to-nvvm -o %t

// Fragments that structured control flow returns become registers of a thread.

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // CHECK-LABEL: llvm.func @execute_region
  gpu.func @execute_region(%x: memref<128xf32>, %y: memref<128xf32>) kernel
      attributes {tile.threads = 32 : i32} {
    // CHECK: %[[R:.*]] = scf.execute_region -> vector<4xf32> no_inline {
    %r = scf.execute_region -> tensor<128xf32> no_inline {
      %t = tile.load %x : memref<128xf32> -> tensor<128xf32>
      // CHECK: scf.yield %{{.*}} : vector<4xf32>
      scf.yield %t : tensor<128xf32>
    }
    // CHECK-NOT: unrealized_conversion_cast
    tile.store %r to %y : tensor<128xf32> to memref<128xf32>
    gpu.return
  }

  // CHECK-LABEL: llvm.func @index_switch
  gpu.func @index_switch(%x: memref<128xf32>, %y: memref<128xf32>, %i: index) kernel
      attributes {tile.threads = 32 : i32} {
    %t = tile.load %x : memref<128xf32> -> tensor<128xf32>
    // CHECK: scf.index_switch %{{.*}} -> vector<4xf32>
    // CHECK-NEXT: case 2 {
    %r = scf.index_switch %i -> tensor<128xf32>
    case 2 {
      // CHECK: arith.addf
      %d = arith.addf %t, %t : tensor<128xf32>
      // CHECK: scf.yield %{{.*}} : vector<4xf32>
      scf.yield %d : tensor<128xf32>
    }
    // CHECK: default {
    default {
      // CHECK-NEXT: scf.yield %{{.*}} : vector<4xf32>
      scf.yield %t : tensor<128xf32>
    }
    tile.store %r to %y : tensor<128xf32> to memref<128xf32>
    gpu.return
  }

  // One of two buffers is a pointer to shared memory, or a descriptor of global memory.
  // CHECK-LABEL: llvm.func @chosen_buffer
  gpu.func @chosen_buffer(%x: memref<64xf16>, %y: memref<64xf16>, %z: memref<64xf16>, %on: i1) kernel
      attributes {tile.threads = 128 : i32} {
    %a = tile.alloc_shared : memref<64xf16, #gpu.address_space<workgroup>>
    %b = tile.alloc_shared : memref<64xf16, #gpu.address_space<workgroup>>
    tile.copy %x to %a : memref<64xf16> to memref<64xf16, #gpu.address_space<workgroup>>
    tile.copy %y to %b : memref<64xf16> to memref<64xf16, #gpu.address_space<workgroup>>
    // CHECK: arith.select %{{.*}} : !llvm.ptr<3>
    %c = arith.select %on, %a, %b : memref<64xf16, #gpu.address_space<workgroup>>
    // CHECK: arith.select %{{.*}} : !llvm.struct<
    %w = arith.select %on, %z, %y : memref<64xf16>
    %t = tile.load %c : memref<64xf16, #gpu.address_space<workgroup>> -> tensor<64xf16>
    // CHECK-NOT: unrealized_conversion_cast
    tile.store %t to %w : tensor<64xf16> to memref<64xf16>
    gpu.return
  }
}
