// %a, %b and %c have the same bytes, one after the other: a copy by cp.async writes to %a
// and a TMA copy reads it, then threads store to %b and load, then a copy writes to %c.

!buffer = memref<64xf32, #gpu.address_space<workgroup>>
!tile = tensor<64xf32, #tile.fragment<thread = (64):(1*d0), value = ():()>>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @memory_reuse(%A: memref<64xf32>, %C: memref<64xf32>, %on: i1) kernel attributes {tile.threads = 64 : i32, tile.shared_bytes = 1024 : i64} {
    %a = tile.alloc_shared {tile.offset = 0 : i64} : !buffer
    %b = tile.alloc_shared {tile.offset = 0 : i64} : !buffer
    %c = tile.alloc_shared {tile.offset = 0 : i64} : !buffer
    tile.copy %A to %a {tile.inst = #tile.inst<cp_async>} : memref<64xf32> to !buffer
    tile.commit_group
    tile.copy_group_wait {pending = 0 : i64}
    tile.barrier {proxy_fence}
    tile.copy %a to %C {tile.inst = #tile.inst<tma>} : !buffer to memref<64xf32>
    tile.barrier {drain_copies}
    %x = tile.load %A : memref<64xf32> -> !tile
    tile.store %x to %b : !tile to !buffer
    tile.barrier
    %y = tile.load %b : !buffer -> !tile
    tile.barrier
    tile.copy %A to %c {tile.inst = #tile.inst<cp_async>} : memref<64xf32> to !buffer
    tile.commit_group
    tile.copy_group_wait {pending = 0 : i64}
    tile.barrier
    %z = tile.load %c : !buffer -> !tile
    %s = arith.addf %y, %z : !tile
    tile.store %s to %C : !tile to memref<64xf32>
    gpu.return
  }
}
