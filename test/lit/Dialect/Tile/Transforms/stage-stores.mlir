// RUN: tilews-opt %s --tile-stage-stores --split-input-file --verify-diagnostics | FileCheck %s

!slots = memref<4x128x192xf16, #gpu.address_space<workgroup>>

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // 192 KiB of slots leave 35 KiB: the tile of 64 columns is stored in two parts.
  // CHECK-LABEL: gpu.func @halves
  // CHECK: %[[STAGED:.*]] = tile.alloc_shared : memref<128x128xf16, #gpu.address_space<workgroup>>
  // CHECK: tile.role @math
  // CHECK: scf.for %[[T:.*]] =
  // CHECK: tile.wait
  // CHECK: %[[N:.*]] = arith.muli %[[T]]
  // CHECK: %[[LEFT:.*]] = tile.slice %[[X:.*]] {axis = 1 : i64, index = 0 : i64} : tensor<128x256xf16> -> tensor<128x128xf16>
  // CHECK-NEXT: tile.store %[[LEFT]] to %[[STAGED]]
  // CHECK-NEXT: tile.copy %[[STAGED]] to %{{.*}}[0, %[[N]]] [128, 128] {tile.inst = #tile.inst<tma>}
  // CHECK-NEXT: %[[RIGHT:.*]] = tile.slice %[[X]] {axis = 1 : i64, index = 1 : i64}
  // CHECK-NEXT: tile.store %[[RIGHT]] to %[[STAGED]]
  // CHECK-NEXT: %[[C128:.*]] = arith.constant 128 : index
  // CHECK-NEXT: %[[NEXT:.*]] = arith.addi %[[N]], %[[C128]] : index
  // CHECK-NEXT: tile.copy %[[STAGED]] to %{{.*}}[0, %[[NEXT]]] [128, 128] {tile.inst = #tile.inst<tma>}
  gpu.func @halves(%tiles: index, %x: f16, %C: memref<128x?xf16> {tile.divisible = array<i64: 1, 8>}) kernel attributes {tile.threads = 288 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c256 = arith.constant 256 : index
    %As = tile.alloc_shared : !slots
    %ch = tile.channel(%As) {producer = #tile.producer<tma>} : !slots -> !tile.channel<4>
    tile.specialize {
      tile.role @math warps(8) {
        %p0 = tile.cursor : !tile.cursor<4>
        scf.for %t = %c0 to %tiles step %c1 {
          tile.wait %ch[%p0] : !tile.channel<4>
          tile.release %ch[%p0] : !tile.channel<4>
          %n = arith.muli %t, %c256 : index
          %tile = tensor.splat %x : tensor<128x256xf16>
          tile.store %tile to %C[0, %n] : tensor<128x256xf16> to memref<128x?xf16>
        }
      }
      tile.role @load warps(1) {
      }
    }
    gpu.return
  }

  // After the last loop there is no work to overlap the store with.
  // CHECK-LABEL: gpu.func @last
  // CHECK-NOT: tile.inst<tma>
  gpu.func @last(%tiles: index, %x: f16, %C: memref<128x256xf16>) kernel attributes {tile.threads = 288 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %As = tile.alloc_shared : !slots
    %ch = tile.channel(%As) {producer = #tile.producer<tma>} : !slots -> !tile.channel<4>
    tile.specialize {
      tile.role @math warps(8) {
        %p0 = tile.cursor : !tile.cursor<4>
        scf.for %t = %c0 to %tiles step %c1 {
          tile.wait %ch[%p0] : !tile.channel<4>
          tile.release %ch[%p0] : !tile.channel<4>
        }
        %tile = tensor.splat %x : tensor<128x256xf16>
        tile.store %tile to %C : tensor<128x256xf16> to memref<128x256xf16>
      }
      tile.role @load warps(1) {
      }
    }
    gpu.return
  }

  // The next iteration reads what this one stores.
  // CHECK-LABEL: gpu.func @read
  // CHECK-NOT: tile.inst<tma>
  gpu.func @read(%tiles: index, %C: memref<128x256xf16>) kernel attributes {tile.threads = 288 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %As = tile.alloc_shared : !slots
    %ch = tile.channel(%As) {producer = #tile.producer<tma>} : !slots -> !tile.channel<4>
    tile.specialize {
      tile.role @math warps(8) {
        %p0 = tile.cursor : !tile.cursor<4>
        scf.for %t = %c0 to %tiles step %c1 {
          tile.wait %ch[%p0] : !tile.channel<4>
          tile.release %ch[%p0] : !tile.channel<4>
          %before = tile.load %C : memref<128x256xf16> -> tensor<128x256xf16>
          %twice = arith.addf %before, %before : tensor<128x256xf16>
          tile.store %twice to %C : tensor<128x256xf16> to memref<128x256xf16>
        }
      }
      tile.role @load warps(1) {
      }
    }
    gpu.return
  }
}

// -----

!slots = memref<4x128x192xf16, #gpu.address_space<workgroup>>

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // CHECK-LABEL: gpu.func @ragged
  // CHECK-NOT: tile.alloc_shared : memref<128x128
  // CHECK-NOT: tile.slice
  // CHECK-NOT: tile.inst<tma>
  gpu.func @ragged(%tiles: index, %x: f16, %C: memref<128x1001xf16>) kernel attributes {tile.threads = 288 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c256 = arith.constant 256 : index
    %As = tile.alloc_shared : !slots
    %ch = tile.channel(%As) {producer = #tile.producer<tma>} : !slots -> !tile.channel<4>
    tile.specialize {
      tile.role @math warps(8) {
        %p0 = tile.cursor : !tile.cursor<4>
        scf.for %t = %c0 to %tiles step %c1 {
          tile.wait %ch[%p0] : !tile.channel<4>
          tile.release %ch[%p0] : !tile.channel<4>
          %n = arith.muli %t, %c256 : index
          %tile = tensor.splat %x : tensor<128x256xf16>
          // expected-remark @below {{tile-inst-0003: store uses threads, not TMA: }}
          tile.store %tile to %C[0, %n] : tensor<128x256xf16> to memref<128x1001xf16>
        }
      }
      tile.role @load warps(1) {
      }
    }
    gpu.return
  }
}
