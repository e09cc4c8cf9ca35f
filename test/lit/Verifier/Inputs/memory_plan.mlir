// Buffers with their places in shared memory. %b takes the bytes of %a, which nothing
// uses any more.

!buffer = memref<64xf32, #gpu.address_space<workgroup>>
!tile = tensor<64xf32>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @memory_plan(%A: memref<64xf32>, %C: memref<64xf32>) kernel attributes {tile.threads = 128 : i32, tile.shared_bytes = 1024 : i64} {
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
