// Two blocks of a cluster fetch each row together: each copy goes to both, and each
// consumer releases the slot in both.

!buffer = memref<2x16x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16x16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16x16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @shared_copies(%A: memref<?x16xf32>, %C: memref<16x16xf32>, %n: index) kernel attributes {tile.threads = 160 : i32, tile.cluster = array<i32: 2, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %i2 = arith.constant 2 : i32
    %as = tile.alloc_shared : !buffer
    %full = tile.mbarrier {count = 1 : i64} : !barriers
    %empty = tile.mbarrier {count = 8 : i64} : !barriers
    tile.mbarrier_ready {cluster}
    tile.specialize {
      tile.role @math warps(4) {
        %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%qs = %i0, %qp = %i0) -> (i32, i32) {
          tile.mbarrier_wait %full[%qs], %qp : !barriers
          %a = tile.slot %as[%qs] : !buffer, i32 -> !slot
          %x = tile.load %a : !slot -> !tile
          tile.proxy_fence
          tile.mbarrier_arrive %empty[%qs] {by = #tile.agents<warps>, peers = [#tile.cluster<x>]} : !barriers
          tile.atomic_rmw <add> %x to %C : !tile to memref<16x16xf32>
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
          %pe = arith.xori %pp, %i1 : i32
          tile.mbarrier_wait %empty[%ps], %pe {cluster} : !barriers
          %a = tile.slot %as[%ps] : !buffer, i32 -> !slot
          tile.copy %A[%k, 0] to %a signals(%full[%ps]) {multicast = #tile.cluster<x>, tile.inst = #tile.inst<tma>} : memref<?x16xf32> to !slot, !barriers
          tile.mbarrier_arrive %full[%ps] {by = #tile.agents<thread>, bytes = 1024 : i64} : !barriers
          %pi = arith.addi %ps, %i1 : i32
          %pw = arith.cmpi eq, %pi, %i2 : i32
          %px = arith.xori %pp, %i1 : i32
          %psn = arith.select %pw, %i0, %pi : i32
          %ppn = arith.select %pw, %px, %pp : i32
          scf.yield %psn, %ppn : i32, i32
        }
      }
    }
    tile.cluster_barrier
    gpu.return
  }
}
