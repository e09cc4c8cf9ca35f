// The stages of loops on AMD GPUs: as many as there should be slots.
// RUN: tilews-opt %s --split-input-file --tile-plan-pipeline --verify-diagnostics | FileCheck %s

#smem = #gpu.address_space<workgroup>

// A tile of 32 KiB for 4 waves: two slots would leave room for one block only.
// CHECK-LABEL: gpu.func @one_slot
// CHECK: tile.copy {{.*}} {tile.order = 1 : i32, tile.stage = 0 : i32}
// CHECK: tile.load {{.*}} {tile.order = 0 : i32, tile.stage = 1 : i32}
// CHECK: tile.num_stages = 1 : i32
gpu.module @gfx942 [#rocdl.target<chip = "gfx942">] {
  gpu.func @one_slot(%A: memref<?x?xf16>, %C: memref<?x?xf16>, %n: index) kernel attributes {tile.threads = 256 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %as = tile.alloc_shared : memref<256x64xf16, #smem>
    // expected-remark @below {{tile-pipe-0018: the buffers of the loop get 1 slot instead of 3: with 2 slots, the kernel needs 65536 bytes of shared memory, and gfx942 runs 1 of its blocks at a time; with 1 slot it needs 32768 bytes, and gfx942 runs 2}}
    scf.for %k = %c0 to %n step %c1 {
      tile.copy %A[0, %k] to %as : memref<?x?xf16> to memref<256x64xf16, #smem>
      %a = tile.load %as : memref<256x64xf16, #smem> -> tensor<256x64xf16>
      tile.store %a to %C[0, 0] : tensor<256x64xf16> to memref<?x?xf16>
    } {tile.num_stages = 3 : i32}
    gpu.return
  }
}

// -----

#smem = #gpu.address_space<workgroup>

// The same kernel with more shared memory.
// CHECK-LABEL: gpu.func @two_slots
// CHECK: tile.copy {{.*}} {tile.order = 1 : i32, tile.stage = 0 : i32}
// CHECK: tile.load {{.*}} {tile.order = 0 : i32, tile.stage = 2 : i32}
// CHECK: tile.num_stages = 2 : i32
gpu.module @gfx950 [#rocdl.target<chip = "gfx950">] {
  gpu.func @two_slots(%A: memref<?x?xf16>, %C: memref<?x?xf16>, %n: index) kernel attributes {tile.threads = 256 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %as = tile.alloc_shared : memref<256x64xf16, #smem>
    // expected-remark @below {{tile-pipe-0018: the buffers of the loop get 2 slots instead of 3: on gfx950, registers hold the tiles after those; the kernel needs 65536 bytes of shared memory}}
    scf.for %k = %c0 to %n step %c1 {
      tile.copy %A[0, %k] to %as : memref<?x?xf16> to memref<256x64xf16, #smem>
      %a = tile.load %as : memref<256x64xf16, #smem> -> tensor<256x64xf16>
      tile.store %a to %C[0, 0] : tensor<256x64xf16> to memref<?x?xf16>
    } {tile.num_stages = 3 : i32}
    gpu.return
  }
}

// -----

#smem = #gpu.address_space<workgroup>

// Two slots do not fit. Another buffer lives after the loop and shares its bytes.
// CHECK-LABEL: gpu.func @does_not_fit
// CHECK: tile.num_stages = 1 : i32
gpu.module @gfx1100 [#rocdl.target<chip = "gfx1100">] {
  gpu.func @does_not_fit(%A: memref<?x?xf16>, %C: memref<?x?xf16>, %n: index) kernel attributes {tile.threads = 256 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %as = tile.alloc_shared : memref<512x64xf16, #smem>
    // expected-remark @below {{instead of 2: with 2 slots, the kernel needs 131072 bytes of shared memory, and gfx1100 has 65536 for a block}}
    scf.for %k = %c0 to %n step %c1 {
      tile.copy %A[0, %k] to %as : memref<?x?xf16> to memref<512x64xf16, #smem>
      %a = tile.load %as : memref<512x64xf16, #smem> -> tensor<512x64xf16>
      tile.store %a to %C[0, 0] : tensor<512x64xf16> to memref<?x?xf16>
    } {tile.num_stages = 2 : i32}
    %bs = tile.alloc_shared : memref<512x64xf16, #smem>
    tile.copy %A[0, 0] to %bs : memref<?x?xf16> to memref<512x64xf16, #smem>
    %b = tile.load %bs : memref<512x64xf16, #smem> -> tensor<512x64xf16>
    tile.store %b to %C[0, 0] : tensor<512x64xf16> to memref<?x?xf16>
    gpu.return
  }
}

// -----

#smem = #gpu.address_space<workgroup>

// Two buffers of an iteration share their bytes. In a pipeline both live throughout
// the loop, which does not fit even with one slot.
// CHECK-LABEL: gpu.func @no_slot
// CHECK-NOT: tile.stage
// CHECK: gpu.return
gpu.module @gfx942 [#rocdl.target<chip = "gfx942">] {
  gpu.func @no_slot(%A: memref<?x?xf16>, %C: memref<?x?xf16>, %n: index) kernel attributes {tile.threads = 256 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-remark @below {{tile-pipe-0018: loop is not pipelined: with 1 slot for each of its buffers, the kernel needs 98304 bytes of shared memory, and gfx942 has 65536 for a block}}
    scf.for %k = %c0 to %n step %c1 {
      %as = tile.alloc_shared : memref<384x64xf16, #smem>
      tile.copy %A[0, %k] to %as : memref<?x?xf16> to memref<384x64xf16, #smem>
      %a = tile.load %as : memref<384x64xf16, #smem> -> tensor<384x64xf16>
      tile.store %a to %C[0, 0] : tensor<384x64xf16> to memref<?x?xf16>
      %bs = tile.alloc_shared : memref<384x64xf16, #smem>
      tile.copy %A[1, %k] to %bs : memref<?x?xf16> to memref<384x64xf16, #smem>
      %b = tile.load %bs : memref<384x64xf16, #smem> -> tensor<384x64xf16>
      tile.store %b to %C[0, 0] : tensor<384x64xf16> to memref<?x?xf16>
    } {tile.num_stages = 2 : i32}
    gpu.return
  }
}

// -----

#smem = #gpu.address_space<workgroup>

// A plan by hand keeps its three slots where they fit.
// CHECK-LABEL: gpu.func @by_hand
// CHECK: tile.copy {{.*}} {tile.order = 0 : i32, tile.stage = 0 : i32}
// CHECK: tile.load {{.*}} {tile.order = 1 : i32, tile.stage = 2 : i32}
// CHECK: tile.num_stages = 3 : i32
// CHECK-LABEL: gpu.func @by_hand_too_deep
// CHECK: tile.load {{.*}} {tile.order = 0 : i32, tile.stage = 1 : i32}
// CHECK: tile.num_stages = 1 : i32
gpu.module @gfx942 [#rocdl.target<chip = "gfx942">] {
  gpu.func @by_hand(%A: memref<?x?xf16>, %C: memref<?x?xf16>, %n: index) kernel attributes {tile.threads = 256 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %as = tile.alloc_shared : memref<64x64xf16, #smem>
    scf.for %k = %c0 to %n step %c1 {
      tile.copy %A[0, %k] to %as {tile.stage = 0 : i32, tile.order = 0 : i32} : memref<?x?xf16> to memref<64x64xf16, #smem>
      %a = tile.load %as {tile.stage = 2 : i32, tile.order = 1 : i32} : memref<64x64xf16, #smem> -> tensor<64x64xf16>
      tile.store %a to %C[0, 0] {tile.stage = 2 : i32, tile.order = 2 : i32} : tensor<64x64xf16> to memref<?x?xf16>
    } {tile.num_stages = 3 : i32}
    gpu.return
  }
  gpu.func @by_hand_too_deep(%A: memref<?x?xf16>, %C: memref<?x?xf16>, %n: index) kernel attributes {tile.threads = 256 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %as = tile.alloc_shared : memref<256x64xf16, #smem>
    // expected-remark @below {{the buffers of the loop get 1 slot instead of 3}}
    scf.for %k = %c0 to %n step %c1 {
      tile.copy %A[0, %k] to %as {tile.stage = 0 : i32, tile.order = 0 : i32} : memref<?x?xf16> to memref<256x64xf16, #smem>
      %a = tile.load %as {tile.stage = 2 : i32, tile.order = 1 : i32} : memref<256x64xf16, #smem> -> tensor<256x64xf16>
      tile.store %a to %C[0, 0] {tile.stage = 2 : i32, tile.order = 2 : i32} : tensor<256x64xf16> to memref<?x?xf16>
    } {tile.num_stages = 3 : i32}
    gpu.return
  }
}

// -----

#smem = #gpu.address_space<workgroup>

// Direct copies: three slots of both buffers do not fit, but three of one and two of the
// other. Copies to the latter run one iteration later, and first.
// CHECK-LABEL: gpu.func @some_slots
// CHECK: tile.copy {{.*}} {tile.inst = #tile.inst<cp_async>, tile.order = 1 : i32, tile.stage = 0 : i32}
// CHECK: tile.copy {{.*}} {tile.inst = #tile.inst<cp_async>, tile.order = 0 : i32, tile.stage = 1 : i32}
// CHECK: tile.gemm {{.*}} {tile.order = 2 : i32, tile.stage = 2 : i32
// CHECK: tile.num_stages = 3 : i32

// Here not even one of them has room for a third slot.
// CHECK-LABEL: gpu.func @two_slots_only
// CHECK: tile.copy {{.*}} {tile.inst = #tile.inst<cp_async>, tile.order = 0 : i32, tile.stage = 0 : i32}
// CHECK: tile.copy {{.*}} {tile.inst = #tile.inst<cp_async>, tile.order = 1 : i32, tile.stage = 0 : i32}
// CHECK: tile.gemm {{.*}} {tile.order = 2 : i32, tile.stage = 1 : i32
// CHECK: tile.num_stages = 2 : i32
gpu.module @gfx950 [#rocdl.target<chip = "gfx950">] {
  gpu.func @some_slots(%A: memref<?x?xf16>, %C: memref<?x?xf32>, %n: index) kernel attributes {tile.threads = 512 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : tensor<256x256xf32>
    %as = tile.alloc_shared : memref<256x64xf16, #smem>
    %bs = tile.alloc_shared : memref<256x64xf16, #smem>
    // expected-remark @below {{tile-pipe-0018: the buffers of the loop get 2 slots instead of 3, but 1 of them 3: with 3 slots, the kernel needs 196608 bytes of shared memory, and gfx950 has 163840 for a block}}
    %d = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<256x256xf32>) {
      tile.copy %A[0, %k] to %as {tile.inst = #tile.inst<cp_async>} : memref<?x?xf16> to memref<256x64xf16, #smem>
      tile.copy %A[512, %k] to %bs {tile.inst = #tile.inst<cp_async>} : memref<?x?xf16> to memref<256x64xf16, #smem>
      %next = tile.gemm %as, %bs, %acc {transpose_rhs} : memref<256x64xf16, #smem>, memref<256x64xf16, #smem> -> tensor<256x256xf32>
      scf.yield %next : tensor<256x256xf32>
    } {tile.num_stages = 3 : i32}
    tile.store %d to %C[0, 0] : tensor<256x256xf32> to memref<?x?xf32>
    gpu.return
  }
  gpu.func @two_slots_only(%A: memref<?x?xf16>, %C: memref<?x?xf32>, %n: index) kernel attributes {tile.threads = 512 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : tensor<320x320xf32>
    %as = tile.alloc_shared : memref<320x64xf16, #smem>
    %bs = tile.alloc_shared : memref<320x64xf16, #smem>
    // expected-remark @below {{tile-pipe-0018: the buffers of the loop get 2 slots instead of 3: with 3 slots, the kernel needs 245760 bytes of shared memory, and gfx950 has 163840 for a block}}
    %d = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<320x320xf32>) {
      tile.copy %A[0, %k] to %as {tile.inst = #tile.inst<cp_async>} : memref<?x?xf16> to memref<320x64xf16, #smem>
      tile.copy %A[512, %k] to %bs {tile.inst = #tile.inst<cp_async>} : memref<?x?xf16> to memref<320x64xf16, #smem>
      %next = tile.gemm %as, %bs, %acc {transpose_rhs} : memref<320x64xf16, #smem>, memref<320x64xf16, #smem> -> tensor<320x320xf32>
      scf.yield %next : tensor<320x320xf32>
    } {tile.num_stages = 3 : i32}
    tile.store %d to %C[0, 0] : tensor<320x320xf32> to memref<?x?xf32>
    gpu.return
  }
}
