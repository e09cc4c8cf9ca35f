// RUN: tilews-opt %s --convert-tile-to-nvvm --cse | FileCheck %s

// Several threads hold each element. The first of them stores it: here the threads of
// the first warp of four.

#each = #tile.fragment<thread = (32, 4):(1*d0, 0), value = ():()>
#one = #tile.fragment<thread = (128):(1*d0), value = ():()>
!s = memref<32xf32, #tile.shared<32:1>, #gpu.address_space<workgroup>>

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // CHECK-LABEL: llvm.func @store
  // CHECK: %[[TID:.*]] = nvvm.read.ptx.sreg.tid.x
  // CHECK: %[[WARP:.*]] = arith.divui %[[TID]], %{{.*}} : i32
  // CHECK: %[[DIGIT:.*]] = arith.remui %[[WARP]], %{{.*}} : i32
  // CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[DIGIT]], %{{.*}} : i32
  // CHECK: scf.if %[[FIRST]] {
  // CHECK:   llvm.store
  // CHECK: }
  gpu.func @store(%x: memref<32xf32>, %y: memref<32xf32>) kernel attributes {tile.threads = 128 : i32, tile.shared_bytes = 0 : i64} {
    %v = tile.load %x[0] : memref<32xf32> -> tensor<32xf32, #each>
    tile.store %v to %y[0] : tensor<32xf32, #each> to memref<32xf32>
    gpu.return
  }

  // CHECK-LABEL: llvm.func @copy
  // CHECK: %[[FIRST:.*]] = arith.cmpi eq
  // CHECK: scf.if %[[FIRST]] {
  // CHECK:   llvm.load
  // CHECK:   llvm.store
  // CHECK: }
  gpu.func @copy(%x: memref<32xf32>) kernel attributes {tile.threads = 128 : i32, tile.shared_bytes = 128 : i64} {
    %s = tile.alloc_shared {tile.offset = 0 : i64} : !s
    tile.copy %x[0] to %s {tile.inst = #tile.inst<simt>} : memref<32xf32> to !s
    gpu.return
  }

  // One thread holds each element.
  // CHECK-LABEL: llvm.func @no_replicas
  // CHECK-NOT: scf.if
  // CHECK: llvm.return
  gpu.func @no_replicas(%x: memref<128xf32>, %y: memref<128xf32>) kernel attributes {tile.threads = 128 : i32, tile.shared_bytes = 0 : i64} {
    %v = tile.load %x[0] : memref<128xf32> -> tensor<128xf32, #one>
    tile.store %v to %y[0] : tensor<128xf32, #one> to memref<128xf32>
    gpu.return
  }

  // In a role, one thread of the role holds each element, though the block has more
  // threads.
  // CHECK-LABEL: llvm.func @role
  // CHECK: %[[TID:.*]] = arith.subi %{{.*}}, %{{.*}} : i32
  // CHECK-NOT: arith.cmpi eq
  // CHECK: %[[PLACE:.*]] = arith.muli %[[TID]], %{{.*}} : i32
  // CHECK: llvm.load {{.*}} -> vector<4xf32>
  // CHECK: llvm.store {{.*}} : vector<4xf32>
  gpu.func @role(%x: memref<512xf32>) kernel attributes {tile.threads = 256 : i32, tile.shared_bytes = 2048 : i64} {
    %s = tile.alloc_shared {tile.offset = 0 : i64} : memref<512xf32, #tile.shared<512:1>, #gpu.address_space<workgroup>>
    tile.specialize {
      tile.role @math warps(4) {
      }
      tile.role @load warps(4) {
        tile.copy %x[0] to %s {tile.inst = #tile.inst<simt>} : memref<512xf32> to memref<512xf32, #tile.shared<512:1>, #gpu.address_space<workgroup>>
      }
    }
    gpu.return
  }
}
