// One slot, filled and read once. The first wait for %empty is for the phase before the
// first, and returns at once.

!b1 = !tile.mbarrier<1>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!buffer = memref<1x16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @single_use(%A: memref<?xf32> {tile.name = "A"}, %C: memref<16xf32> {tile.name = "C"}, %n: index {tile.name = "n"}) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %as = tile.alloc_shared : !buffer
    %full = tile.mbarrier {count = 1 : i64} : !b1
    %empty = tile.mbarrier {count = 4 : i64} : !b1
    tile.mbarrier_ready
    tile.specialize {
      tile.role @math warps(4) {
        tile.mbarrier_wait %full[%i0], %i0 : !b1
        %a = tile.slot %as[%i0] : !buffer, i32 -> !slot
        %x = tile.load %a : !slot -> !tile
        tile.mbarrier_arrive %empty[%i0] {by = #tile.agents<warps>} : !b1
        tile.store %x to %C : !tile to memref<16xf32>
      }
      tile.role @load warps(1) elected {
        tile.mbarrier_wait %empty[%i0], %i1 : !b1
        %a = tile.slot %as[%i0] : !buffer, i32 -> !slot
        tile.copy %A[%c0] to %a signals(%full[%i0]) {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot, !b1
        tile.mbarrier_arrive %full[%i0] {by = #tile.agents<thread>, bytes = 64 : i64} : !b1
      }
    }
    gpu.return
  }
}
