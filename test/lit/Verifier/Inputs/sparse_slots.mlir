// Asynchronous matmuls with a 2:4 sparse left operand, which TMA loads into two slots.
// Threads read the metadata when a matmul starts: a proxy fence comes before the release.

!as = memref<2x64x64xf16, #gpu.address_space<workgroup>>
!es = memref<2x64x8xi16, #gpu.address_space<workgroup>>
!bs = memref<2x128x64xf16, #gpu.address_space<workgroup>>
!a = memref<64x64xf16, #gpu.address_space<workgroup>>
!e = memref<64x8xi16, #gpu.address_space<workgroup>>
!b = memref<128x64xf16, #gpu.address_space<workgroup>>
!acc = tensor<64x64xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @sparse_slots(%A: memref<64x?xf16>, %E: memref<64x?xi16>, %B: memref<?x64xf16>, %C: memref<64x64xf32>, %n: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %i2 = arith.constant 2 : i32
    %zero = arith.constant dense<0.0> : !acc
    %as = tile.alloc_shared : !as
    %es = tile.alloc_shared : !es
    %bs = tile.alloc_shared : !bs
    %full = tile.mbarrier {count = 1 : i64} : !barriers
    %empty = tile.mbarrier {count = 4 : i64} : !barriers
    tile.mbarrier_ready
    tile.specialize {
      tile.role @math warps(4) {
        %r:3 = scf.for %k = %c0 to %n step %c1 iter_args(%c = %zero, %qs = %i0, %qp = %i0) -> (!acc, i32, i32) {
          tile.mbarrier_wait %full[%qs], %qp : !barriers
          %a = tile.slot %as[%qs] : !as, i32 -> !a
          %e = tile.slot %es[%qs] : !es, i32 -> !e
          %b = tile.slot %bs[%qs] : !bs, i32 -> !b
          %d = tile.gemm_sp %a, %e, %b, %c {async, tile.inst = #tile.inst<wgmma>} : !a, !e, !b -> !acc
          %f = tile.gemm_wait %d : !acc
          tile.proxy_fence
          tile.mbarrier_arrive %empty[%qs] {by = #tile.agents<warps>} : !barriers
          %qi = arith.addi %qs, %i1 : i32
          %qw = arith.cmpi eq, %qi, %i2 : i32
          %qx = arith.xori %qp, %i1 : i32
          %qsn = arith.select %qw, %i0, %qi : i32
          %qpn = arith.select %qw, %qx, %qp : i32
          scf.yield %f, %qsn, %qpn : !acc, i32, i32
        }
        tile.store %r#0 to %C : !acc to memref<64x64xf32>
      }
      tile.role @load warps(1) {
        %s:2 = scf.for %k = %c0 to %n step %c1 iter_args(%ps = %i0, %pp = %i0) -> (i32, i32) {
          %along = arith.muli %k, %c64 : index
          %words = arith.muli %k, %c8 : index
          %down = arith.muli %k, %c128 : index
          %pe = arith.xori %pp, %i1 : i32
          tile.mbarrier_wait %empty[%ps], %pe : !barriers
          %a = tile.slot %as[%ps] : !as, i32 -> !a
          %e = tile.slot %es[%ps] : !es, i32 -> !e
          %b = tile.slot %bs[%ps] : !bs, i32 -> !b
          tile.copy %A[0, %along] to %a signals(%full[%ps]) {tile.inst = #tile.inst<tma>} : memref<64x?xf16> to !a, !barriers
          tile.copy %E[0, %words] to %e signals(%full[%ps]) {tile.inst = #tile.inst<tma>} : memref<64x?xi16> to !e, !barriers
          tile.copy %B[%down, 0] to %b signals(%full[%ps]) {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to !b, !barriers
          tile.mbarrier_arrive %full[%ps] {by = #tile.agents<thread>, bytes = 25600 : i64} : !barriers
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
