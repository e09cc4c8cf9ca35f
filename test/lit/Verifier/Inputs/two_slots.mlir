// A producer role fills the two slots of a buffer by TMA, a consumer role reads them.
// Each slot has a barrier %full, which the copy and the producer's arrival complete,
// and a barrier %empty, at which the four warps of the consumer arrive. %qs and %ps are
// the slots, %qp and %pp the parities of their phases: the slot goes 0, 1, 0, 1, ...
// and the parity flips each time that the slot is 0 again.

!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @two_slots(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %i2 = arith.constant 2 : i32
    %as = tile.alloc_shared : !buffer
    %full = tile.mbarrier {count = 1 : i64} : !barriers
    %empty = tile.mbarrier {count = 4 : i64} : !barriers
    tile.mbarrier_ready
    tile.specialize {
      tile.role @math warps(4) {
        %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%qs = %i0, %qp = %i0) -> (i32, i32) {
          tile.mbarrier_wait %full[%qs], %qp : !barriers
          %a = tile.slot %as[%qs] : !buffer, i32 -> !slot
          %x = tile.load %a : !slot -> !tile
          tile.proxy_fence
          tile.mbarrier_arrive %empty[%qs] {by = #tile.agents<warps>} : !barriers
          tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
          %qi = arith.addi %qs, %i1 : i32
          %qw = arith.cmpi eq, %qi, %i2 : i32
          %qx = arith.xori %qp, %i1 : i32
          %qsn = arith.select %qw, %i0, %qi : i32
          %qpn = arith.select %qw, %qx, %qp : i32
          scf.yield %qsn, %qpn : i32, i32
        }
      }
      tile.role @load warps(1) {
        %s:2 = scf.for %k = %c0 to %n step %c1 iter_args(%ps = %i0, %pp = %i0) -> (i32, i32) {
          %at = arith.muli %k, %c16 : index
          %pe = arith.xori %pp, %i1 : i32
          tile.mbarrier_wait %empty[%ps], %pe : !barriers
          %a = tile.slot %as[%ps] : !buffer, i32 -> !slot
          tile.copy %A[%at] to %a signals(%full[%ps]) {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot, !barriers
          tile.mbarrier_arrive %full[%ps] {by = #tile.agents<thread>, bytes = 64 : i64} : !barriers
          %pi = arith.addi %ps, %i1 : i32
          %pw = arith.cmpi eq, %pi, %i2 : i32
          %px = arith.xori %pp, %i1 : i32
          %psn = arith.select %pw, %i0, %pi : i32
          %ppn = arith.select %pw, %px, %pp : i32
          scf.yield %psn, %ppn : i32, i32
        }
      }
    }
    gpu.return
  }
}
