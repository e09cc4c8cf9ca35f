// RUN: tilews-opt %s --tile-plan-pipeline --tile-multi-version --tile-stage-copies --verify-diagnostics | FileCheck %s

#smem = #gpu.address_space<workgroup>

gpu.module @kernels [#rocdl.target<chip = "gfx942">] {
  // The load is first, the store comes after the reader, with one slot.
  // CHECK-LABEL: gpu.func @plain
  // CHECK: tile.acquire {{.*}}tile.order = 5 : i32, tile.stage = 0 : i32
  // CHECK: %[[F:.*]] = tile.load %{{.*}}[0, %{{.*}}] {{.*}}tile.order = 1 : i32, tile.stage = 0 : i32
  // CHECK: tile.store %[[F]] to {{.*}}tile.stage = 0 : i32
  // CHECK: tile.commit
  // CHECK: tile.wait {{.*}}tile.order = 0 : i32
  // CHECK: tile.load {{.*}}tile.order = 2 : i32
  gpu.func @plain(%A: memref<?x?xf16>, %C: memref<?x?xf16>, %n: index) kernel attributes {tile.threads = 256 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %as = tile.alloc_shared : memref<64x64xf16, #smem>
    scf.for %k = %c0 to %n step %c1 {
      tile.copy %A[0, %k] to %as : memref<?x?xf16> to memref<64x64xf16, #smem>
      %a = tile.load %as : memref<64x64xf16, #smem> -> tensor<64x64xf16>
      tile.store %a to %C : tensor<64x64xf16> to memref<?x?xf16>
    } {tile.num_stages = 1 : i32}
    gpu.return
  }

  // The guard is read once and serves both parts.
  // CHECK-LABEL: gpu.func @guarded
  // CHECK: %[[G:.*]] = memref.load
  // CHECK: %[[F:.*]] = scf.if %[[G]] -> (tensor<64x64xf16>)
  // CHECK: tile.load {{.*}}tile.order = 0 : i32, tile.stage = 0 : i32
  // CHECK: else
  // CHECK: scf.if %[[G]] -> (!tile.cursor<1>)
  // CHECK: tile.acquire
  // CHECK: tile.store %[[F]]
  // CHECK: tile.commit
  gpu.func @guarded(%A: memref<?x?xf16>, %C: memref<?x?xf16>, %T: memref<?xi1>, %n: index) kernel attributes {tile.threads = 256 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %as = tile.alloc_shared : memref<64x64xf16, #smem>
    scf.for %k = %c0 to %n step %c1 {
      %g = memref.load %T[%k] : memref<?xi1>
      scf.if %g {
        tile.copy %A[0, %k] to %as : memref<?x?xf16> to memref<64x64xf16, #smem>
        %a = tile.load %as : memref<64x64xf16, #smem> -> tensor<64x64xf16>
        tile.store %a to %C : tensor<64x64xf16> to memref<?x?xf16>
      }
    } {tile.num_stages = 1 : i32}
    gpu.return
  }

  // A thread has no registers for its share of the tile.
  // CHECK-LABEL: gpu.func @large
  // CHECK: tile.acquire
  // CHECK: tile.copy
  gpu.func @large(%A: memref<?x?xf32>, %C: memref<?x?xf32>, %n: index) kernel attributes {tile.threads = 64 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %as = tile.alloc_shared : memref<256x64xf32, #smem>
    scf.for %k = %c0 to %n step %c1 {
      // expected-remark @below {{tile-pipe-0019: 'tile.copy' waits for global memory: its tile takes 256 registers of each thread, and}}
      tile.copy %A[0, %k] to %as : memref<?x?xf32> to memref<256x64xf32, #smem>
      %a = tile.load %as : memref<256x64xf32, #smem> -> tensor<256x64xf32>
      tile.store %a to %C : tensor<256x64xf32> to memref<?x?xf32>
    } {tile.num_stages = 1 : i32}
    gpu.return
  }
}
