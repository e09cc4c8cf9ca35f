// Which copies of gfx950 write shared memory directly, and the slots of their pipelines.
// RUN: tilews-opt %s --tile-annotate-instructions --tile-plan-pipeline -verify-diagnostics | FileCheck %s

#smem = #gpu.address_space<workgroup>

gpu.module @kernels [#rocdl.target<chip = "gfx950">] {
  // CHECK-LABEL: gpu.func @kinds
  gpu.func @kinds(%A: memref<?x?xf16> {tile.divisible = array<i64: 1, 8>}, %B: memref<?x?xf16>, %i: index, %n: index)
      kernel attributes {tile.threads = 128 : i32} {
    %whole = tile.alloc_shared : memref<64x64xf16, #smem>
    %small = tile.alloc_shared : memref<4x16xf16, #smem>
    // CHECK: tile.copy %{{.*}} to %{{.*}} {tile.inst = #tile.inst<cp_async>}
    tile.copy %A[0, 0] to %whole : memref<?x?xf16> to memref<64x64xf16, #smem>
    // CHECK: tile.copy %{{.*}} {tile.inst = #tile.inst<simt>}
    // expected-remark @below {{copy uses simt, not cp_async: only 2 adjacent bytes are known to be aligned, and 4 are needed}}
    tile.copy %B[0, 0] to %whole : memref<?x?xf16> to memref<64x64xf16, #smem>
    // CHECK: tile.copy %{{.*}} {tile.inst = #tile.inst<simt>}
    // expected-remark @below {{copy uses simt, not cp_async: it fills a part of a buffer}}
    tile.copy %A[0, 0] to %whole[32, 0] [32, 64] : memref<?x?xf16> to memref<64x64xf16, #smem>
    // CHECK: tile.copy %{{.*}} {tile.inst = #tile.inst<simt>}
    // expected-remark @below {{copy uses simt, not cp_async: its 128 bytes are no multiple of 512, which the 128 threads write at a time}}
    tile.copy %A[0, 0] to %small : memref<?x?xf16> to memref<4x16xf16, #smem>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @one_wave
  // CHECK: tile.inst<simt>
  gpu.func @one_wave(%A: memref<?x?xf16> {tile.divisible = array<i64: 1, 8>}) kernel attributes {tile.threads = 64 : i32} {
    %as = tile.alloc_shared : memref<64x64xf16, #smem>
    // expected-remark @below {{its layout may permute 2048 bytes, and 1024 are written at a time}}
    tile.copy %A[0, 0] to %as : memref<?x?xf16> to memref<64x64xf16, #smem>
    gpu.return
  }

  // Four slots of 40 KiB fit, and leave the compute unit as busy as two.
  // CHECK-LABEL: gpu.func @deep
  // CHECK: tile.copy %{{.*}} {tile.inst = #tile.inst<cp_async>, tile.order = {{[0-9]+}} : i32, tile.stage = 0 : i32}
  // CHECK: tile.load %{{.*}} {tile.order = {{[0-9]+}} : i32, tile.stage = 4 : i32}
  gpu.func @deep(%A: memref<?x?xf16> {tile.divisible = array<i64: 1, 8>}, %n: index, %C: memref<320x64xf16>)
      kernel attributes {tile.threads = 512 : i32} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : memref<320x64xf16, #smem>
    scf.for %k = %c0 to %n step %c64 {
      tile.copy %A[0, %k] to %as : memref<?x?xf16> to memref<320x64xf16, #smem>
      %a = tile.load %as[0, 0] : memref<320x64xf16, #smem> -> tensor<320x64xf16>
      tile.store %a to %C : tensor<320x64xf16> to memref<320x64xf16>
    } {tile.num_stages = 4 : i32}
    gpu.return
  }

  // There is room for one slot: registers hold the next tile.
  // CHECK-LABEL: gpu.func @single
  // CHECK: tile.copy %{{.*}} {tile.inst = #tile.inst<simt>, tile.order
  gpu.func @single(%A: memref<?x?xf16> {tile.divisible = array<i64: 1, 8>}, %n: index, %C: memref<768x64xf16>)
      kernel attributes {tile.threads = 512 : i32} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : memref<768x64xf16, #smem>
    // expected-remark @below {{the buffers of the loop get 1 slot instead of 2: with 2 slots, the kernel needs 196608 bytes}}
    scf.for %k = %c0 to %n step %c64 {
      tile.copy %A[0, %k] to %as : memref<?x?xf16> to memref<768x64xf16, #smem>
      %a = tile.load %as[0, 0] : memref<768x64xf16, #smem> -> tensor<768x64xf16>
      tile.store %a to %C : tensor<768x64xf16> to memref<768x64xf16>
    } {tile.num_stages = 2 : i32}
    gpu.return
  }
}
