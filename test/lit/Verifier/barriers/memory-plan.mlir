// RUN: tilews-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(tile-verify-schedule{report}))' --verify-diagnostics=only-expected

// Right: a buffer takes the bytes of one that is not used any more.
!buffer = memref<64xf32, #gpu.address_space<workgroup>>
!tile = tensor<64xf32>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @one_after_the_other is proved}}
  gpu.func @one_after_the_other(%A: memref<64xf32>, %C: memref<64xf32>) kernel attributes {tile.threads = 128 : i32, tile.shared_bytes = 1024 : i64} {
    %i0 = arith.constant 0 : i32
    %a = tile.alloc_shared {tile.offset = 0 : i64} : !buffer
    %b = tile.alloc_shared {tile.offset = 0 : i64} : !buffer
    %full = tile.mbarrier {count = 128 : i64, tile.offset = 256 : i64} : !tile.mbarrier<2>
    tile.mbarrier_ready
    %x = tile.load %A : memref<64xf32> -> !tile
    tile.store %x to %a : !tile to !buffer
    tile.barrier
    %y = tile.load %a : !buffer -> !tile
    tile.barrier
    tile.store %y to %b : !tile to !buffer
    tile.barrier
    %z = tile.load %b : !buffer -> !tile
    tile.store %z to %C : !tile to memref<64xf32>
    tile.mbarrier_arrive %full[%i0] {by = #tile.agents<threads>} : !tile.mbarrier<2>
    tile.mbarrier_wait %full[%i0], %i0 : !tile.mbarrier<2>
    gpu.return
  }
}

// -----

// Wrong: both buffers are used to the end.
!buffer = memref<64xf32, #gpu.address_space<workgroup>>
!tile = tensor<64xf32>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @at_the_same_time(%A: memref<64xf32>, %C: memref<64xf32>) kernel attributes {tile.threads = 128 : i32, tile.shared_bytes = 1024 : i64} {
    %i0 = arith.constant 0 : i32
    %a = tile.alloc_shared {tile.offset = 0 : i64} : !buffer
    // expected-error @below {{schedule of @at_the_same_time is wrong: buffer of 256 bytes at offset 128 shares bytes with buffer of 256 bytes at offset 0, which is in use meanwhile}}
    %b = tile.alloc_shared {tile.offset = 128 : i64} : !buffer
    %full = tile.mbarrier {count = 128 : i64, tile.offset = 512 : i64} : !tile.mbarrier<2>
    tile.mbarrier_ready
    %x = tile.load %A : memref<64xf32> -> !tile
    tile.store %x to %a : !tile to !buffer
    tile.barrier
    %y = tile.load %a : !buffer -> !tile
    tile.barrier
    tile.store %y to %b : !tile to !buffer
    tile.barrier
    %z = tile.load %b : !buffer -> !tile
    %w = tile.load %a : !buffer -> !tile
    tile.store %w to %C : !tile to memref<64xf32>
    tile.store %z to %C : !tile to memref<64xf32>
    tile.mbarrier_arrive %full[%i0] {by = #tile.agents<threads>} : !tile.mbarrier<2>
    tile.mbarrier_wait %full[%i0], %i0 : !tile.mbarrier<2>
    gpu.return
  }
}

// -----

// Right: both buffers are used to the end, in bytes of their own.
!buffer = memref<64xf32, #gpu.address_space<workgroup>>
!tile = tensor<64xf32>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @apart is proved}}
  gpu.func @apart(%A: memref<64xf32>, %C: memref<64xf32>) kernel attributes {tile.threads = 128 : i32, tile.shared_bytes = 1024 : i64} {
    %i0 = arith.constant 0 : i32
    %a = tile.alloc_shared {tile.offset = 0 : i64} : !buffer
    %b = tile.alloc_shared {tile.offset = 256 : i64} : !buffer
    %full = tile.mbarrier {count = 128 : i64, tile.offset = 512 : i64} : !tile.mbarrier<2>
    tile.mbarrier_ready
    %x = tile.load %A : memref<64xf32> -> !tile
    tile.store %x to %a : !tile to !buffer
    tile.barrier
    %y = tile.load %a : !buffer -> !tile
    tile.barrier
    tile.store %y to %b : !tile to !buffer
    tile.barrier
    %z = tile.load %b : !buffer -> !tile
    %w = tile.load %a : !buffer -> !tile
    tile.store %w to %C : !tile to memref<64xf32>
    tile.store %z to %C : !tile to memref<64xf32>
    tile.mbarrier_arrive %full[%i0] {by = #tile.agents<threads>} : !tile.mbarrier<2>
    tile.mbarrier_wait %full[%i0], %i0 : !tile.mbarrier<2>
    gpu.return
  }
}

// -----

// Wrong: barriers are in use as long as the kernel runs.
!buffer = memref<64xf32, #gpu.address_space<workgroup>>
!tile = tensor<64xf32>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @barriers_in_a_buffer(%A: memref<64xf32>, %C: memref<64xf32>) kernel attributes {tile.threads = 128 : i32, tile.shared_bytes = 1024 : i64} {
    %i0 = arith.constant 0 : i32
    %a = tile.alloc_shared {tile.offset = 0 : i64} : !buffer
    %b = tile.alloc_shared {tile.offset = 256 : i64} : !buffer
    // expected-error @below {{schedule of @barriers_in_a_buffer is wrong: barriers of 16 bytes at offset 504 shares bytes with buffer of 256 bytes at offset 256, which is in use meanwhile}}
    %full = tile.mbarrier {count = 128 : i64, tile.offset = 504 : i64} : !tile.mbarrier<2>
    tile.mbarrier_ready
    %x = tile.load %A : memref<64xf32> -> !tile
    tile.store %x to %a : !tile to !buffer
    tile.barrier
    %y = tile.load %a : !buffer -> !tile
    tile.barrier
    tile.store %y to %b : !tile to !buffer
    tile.barrier
    %z = tile.load %b : !buffer -> !tile
    tile.store %z to %C : !tile to memref<64xf32>
    tile.mbarrier_arrive %full[%i0] {by = #tile.agents<threads>} : !tile.mbarrier<2>
    tile.mbarrier_wait %full[%i0], %i0 : !tile.mbarrier<2>
    gpu.return
  }
}

// -----

// Wrong: barriers are at multiples of 8 bytes.
!buffer = memref<64xf32, #gpu.address_space<workgroup>>
!tile = tensor<64xf32>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @barriers_at_odd_bytes(%A: memref<64xf32>, %C: memref<64xf32>) kernel attributes {tile.threads = 128 : i32, tile.shared_bytes = 1024 : i64} {
    %i0 = arith.constant 0 : i32
    %a = tile.alloc_shared {tile.offset = 0 : i64} : !buffer
    %b = tile.alloc_shared {tile.offset = 256 : i64} : !buffer
    // expected-error @below {{schedule of @barriers_at_odd_bytes is wrong: barriers of 16 bytes at offset 516 is no multiple of 8 bytes}}
    %full = tile.mbarrier {count = 128 : i64, tile.offset = 516 : i64} : !tile.mbarrier<2>
    tile.mbarrier_ready
    %x = tile.load %A : memref<64xf32> -> !tile
    tile.store %x to %a : !tile to !buffer
    tile.barrier
    %y = tile.load %a : !buffer -> !tile
    tile.barrier
    tile.store %y to %b : !tile to !buffer
    tile.barrier
    %z = tile.load %b : !buffer -> !tile
    tile.store %z to %C : !tile to memref<64xf32>
    tile.mbarrier_arrive %full[%i0] {by = #tile.agents<threads>} : !tile.mbarrier<2>
    tile.mbarrier_wait %full[%i0], %i0 : !tile.mbarrier<2>
    gpu.return
  }
}

// -----

// Wrong: the kernel has 1024 bytes.
!buffer = memref<64xf32, #gpu.address_space<workgroup>>
!tile = tensor<64xf32>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @buffer_behind_the_end(%A: memref<64xf32>, %C: memref<64xf32>) kernel attributes {tile.threads = 128 : i32, tile.shared_bytes = 1024 : i64} {
    %i0 = arith.constant 0 : i32
    %a = tile.alloc_shared {tile.offset = 0 : i64} : !buffer
    // expected-error @below {{schedule of @buffer_behind_the_end is wrong: buffer of 256 bytes at offset 896 is not within the 1024 bytes of the kernel}}
    %b = tile.alloc_shared {tile.offset = 896 : i64} : !buffer
    %full = tile.mbarrier {count = 128 : i64, tile.offset = 512 : i64} : !tile.mbarrier<2>
    tile.mbarrier_ready
    %x = tile.load %A : memref<64xf32> -> !tile
    tile.store %x to %a : !tile to !buffer
    tile.barrier
    %y = tile.load %a : !buffer -> !tile
    tile.barrier
    tile.store %y to %b : !tile to !buffer
    tile.barrier
    %z = tile.load %b : !buffer -> !tile
    tile.store %z to %C : !tile to memref<64xf32>
    tile.mbarrier_arrive %full[%i0] {by = #tile.agents<threads>} : !tile.mbarrier<2>
    tile.mbarrier_wait %full[%i0], %i0 : !tile.mbarrier<2>
    gpu.return
  }
}

// -----

// Wrong: every buffer is at a multiple of 16 bytes.
!buffer = memref<64xf32, #gpu.address_space<workgroup>>
!tile = tensor<64xf32>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @buffer_at_odd_bytes(%A: memref<64xf32>, %C: memref<64xf32>) kernel attributes {tile.threads = 128 : i32, tile.shared_bytes = 1024 : i64} {
    %i0 = arith.constant 0 : i32
    // expected-error @below {{schedule of @buffer_at_odd_bytes is wrong: buffer of 256 bytes at offset 8 is no multiple of 16 bytes}}
    %a = tile.alloc_shared {tile.offset = 8 : i64} : !buffer
    %b = tile.alloc_shared {tile.offset = 512 : i64} : !buffer
    %full = tile.mbarrier {count = 128 : i64, tile.offset = 1000 : i64} : !tile.mbarrier<2>
    tile.mbarrier_ready
    %x = tile.load %A : memref<64xf32> -> !tile
    tile.store %x to %a : !tile to !buffer
    tile.barrier
    %y = tile.load %a : !buffer -> !tile
    tile.barrier
    tile.store %y to %b : !tile to !buffer
    tile.barrier
    %z = tile.load %b : !buffer -> !tile
    tile.store %z to %C : !tile to memref<64xf32>
    tile.mbarrier_arrive %full[%i0] {by = #tile.agents<threads>} : !tile.mbarrier<2>
    tile.mbarrier_wait %full[%i0], %i0 : !tile.mbarrier<2>
    gpu.return
  }
}
