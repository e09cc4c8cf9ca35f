// All threads start a copy, wait for it and read it, in a kernel without roles. The
// tile.barrier after the read separates it from the next iteration's copy.

!buffer = memref<1x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<1>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @one_role(%A: memref<?xf32>, %C: memref<16xf32>, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %as = tile.alloc_shared : !buffer
    %full = tile.mbarrier {count = 1 : i64} : !barriers
    tile.mbarrier_ready
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%f = %i0) -> i32 {
      %at = arith.muli %k, %c16 : index
      %a = tile.slot %as[%i0] : !buffer, i32 -> !slot
      tile.copy %A[%at] to %a signals(%full[%i0]) {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot, !barriers
      tile.mbarrier_arrive %full[%i0] {by = #tile.agents<thread>, bytes = 64 : i64} : !barriers
      tile.mbarrier_wait %full[%i0], %f : !barriers
      %x = tile.load %a : !slot -> !tile
      tile.barrier {proxy_fence}
      %fn = arith.xori %f, %i1 : i32
      tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
      scf.yield %fn : i32
    }
    gpu.return
  }
}
