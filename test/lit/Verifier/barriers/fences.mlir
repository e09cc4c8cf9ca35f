// RUN: tilews-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(tile-verify-schedule{report}))' --verify-diagnostics=only-expected

// Right: a slot is filled by stores in one loop, and by TMA in the next. The
// role has fenced its stores when it tells of them.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @stores_then_copies_right is proved}}
  gpu.func @stores_then_copies_right(%A: memref<?xf32>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %i2 = arith.constant 2 : i32
    %as = tile.alloc_shared : !buffer
    %full = tile.mbarrier {count = 33 : i64} : !barriers
    %empty = tile.mbarrier {count = 4 : i64} : !barriers
    tile.mbarrier_ready
    tile.specialize {
      tile.role @math warps(4) {
        %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%qs = %i0, %qp = %i0) -> (i32, i32) {
          tile.mbarrier_wait %full[%qs], %qp : !barriers
          %a = tile.slot %as[%qs] : !buffer, i32 -> !slot
          %x = tile.load %a : !slot -> !tile
          tile.mbarrier_arrive %empty[%qs] {by = #tile.agents<warps>} : !barriers
          tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
          %qi = arith.addi %qs, %i1 : i32
          %qw = arith.cmpi eq, %qi, %i2 : i32
          %qx = arith.xori %qp, %i1 : i32
          %qsn = arith.select %qw, %i0, %qi : i32
          %qpn = arith.select %qw, %qx, %qp : i32
          scf.yield %qsn, %qpn : i32, i32
        }
        %u:2 = scf.for %k = %c0 to %m step %c1 iter_args(%qs = %r#0, %qp = %r#1) -> (i32, i32) {
          tile.mbarrier_wait %full[%qs], %qp : !barriers
          %a = tile.slot %as[%qs] : !buffer, i32 -> !slot
          %x = tile.load %a : !slot -> !tile
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
          %pe = arith.xori %pp, %i1 : i32
          tile.mbarrier_wait %empty[%ps], %pe : !barriers
          %a = tile.slot %as[%ps] : !buffer, i32 -> !slot
          %x = tile.load %A[%k] : memref<?xf32> -> !tile
          tile.store %x to %a : !tile to !slot
          tile.proxy_fence
          tile.mbarrier_arrive %full[%ps] {by = #tile.agents<thread>} : !barriers
          tile.mbarrier_arrive %full[%ps] {by = #tile.agents<threads>} : !barriers
          %pi = arith.addi %ps, %i1 : i32
          %pw = arith.cmpi eq, %pi, %i2 : i32
          %px = arith.xori %pp, %i1 : i32
          %psn = arith.select %pw, %i0, %pi : i32
          %ppn = arith.select %pw, %px, %pp : i32
          scf.yield %psn, %ppn : i32, i32
        }
        %t:2 = scf.for %k = %c0 to %m step %c1 iter_args(%ps = %s#0, %pp = %s#1) -> (i32, i32) {
          %pe = arith.xori %pp, %i1 : i32
          tile.mbarrier_wait %empty[%ps], %pe : !barriers
          %a = tile.slot %as[%ps] : !buffer, i32 -> !slot
          tile.copy %A[%k] to %a signals(%full[%ps]) {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot, !barriers
          tile.mbarrier_arrive %full[%ps] {by = #tile.agents<thread>, bytes = 64 : i64} : !barriers
          tile.mbarrier_arrive %full[%ps] {by = #tile.agents<threads>} : !barriers
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

// -----

// Wrong: stores are not fenced before a copy comes to write there.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @stores_then_copies(%A: memref<?xf32>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %i2 = arith.constant 2 : i32
    %as = tile.alloc_shared : !buffer
    %full = tile.mbarrier {count = 33 : i64} : !barriers
    %empty = tile.mbarrier {count = 4 : i64} : !barriers
    tile.mbarrier_ready
    tile.specialize {
      tile.role @math warps(4) {
        %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%qs = %i0, %qp = %i0) -> (i32, i32) {
          tile.mbarrier_wait %full[%qs], %qp : !barriers
          %a = tile.slot %as[%qs] : !buffer, i32 -> !slot
          %x = tile.load %a : !slot -> !tile
          tile.mbarrier_arrive %empty[%qs] {by = #tile.agents<warps>} : !barriers
          tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
          %qi = arith.addi %qs, %i1 : i32
          %qw = arith.cmpi eq, %qi, %i2 : i32
          %qx = arith.xori %qp, %i1 : i32
          %qsn = arith.select %qw, %i0, %qi : i32
          %qpn = arith.select %qw, %qx, %qp : i32
          scf.yield %qsn, %qpn : i32, i32
        }
        %u:2 = scf.for %k = %c0 to %m step %c1 iter_args(%qs = %r#0, %qp = %r#1) -> (i32, i32) {
          tile.mbarrier_wait %full[%qs], %qp : !barriers
          %a = tile.slot %as[%qs] : !buffer, i32 -> !slot
          %x = tile.load %a : !slot -> !tile
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
          %pe = arith.xori %pp, %i1 : i32
          tile.mbarrier_wait %empty[%ps], %pe : !barriers
          %a = tile.slot %as[%ps] : !buffer, i32 -> !slot
          %x = tile.load %A[%k] : memref<?xf32> -> !tile
          tile.store %x to %a : !tile to !slot
          tile.mbarrier_arrive %full[%ps] {by = #tile.agents<thread>} : !barriers
          tile.mbarrier_arrive %full[%ps] {by = #tile.agents<threads>} : !barriers
          %pi = arith.addi %ps, %i1 : i32
          %pw = arith.cmpi eq, %pi, %i2 : i32
          %px = arith.xori %pp, %i1 : i32
          %psn = arith.select %pw, %i0, %pi : i32
          %ppn = arith.select %pw, %px, %pp : i32
          scf.yield %psn, %ppn : i32, i32
        }
        %t:2 = scf.for %k = %c0 to %m step %c1 iter_args(%ps = %s#0, %pp = %s#1) -> (i32, i32) {
          %pe = arith.xori %pp, %i1 : i32
          tile.mbarrier_wait %empty[%ps], %pe : !barriers
          %a = tile.slot %as[%ps] : !buffer, i32 -> !slot
          // expected-error @below {{schedule of @stores_then_copies is wrong: role @load lets a copy write to slot 0 of a buffer behind ordinary writes, without a proxy fence}}
          tile.copy %A[%k] to %a signals(%full[%ps]) {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot, !barriers
          tile.mbarrier_arrive %full[%ps] {by = #tile.agents<thread>, bytes = 64 : i64} : !barriers
          tile.mbarrier_arrive %full[%ps] {by = #tile.agents<threads>} : !barriers
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

// -----

// Right: threads meet in the scratch memory of a reduction, between the reads of
// a slot and the next fill.
!buffer = memref<2x64xf32, #gpu.address_space<workgroup>>
!slot = memref<64xf32, #gpu.address_space<workgroup>>
!tile = tensor<64xf32, #tile.fragment<thread = (64):(1*d0), value = ():()>>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  // expected-remark @below {{tile-verify-0002: schedule of @meet_in_scratch_right is proved}}
  gpu.func @meet_in_scratch_right(%A: memref<?xf32>, %C: memref<f32>, %n: index) kernel attributes {tile.threads = 64 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %i0 = arith.constant 0 : i32
    %as = tile.alloc_shared {tile.offset = 0 : i64} : !buffer
    scf.for %k = %c0 to %n step %c1 {
      %a = tile.slot %as[%i0] : !buffer, i32 -> !slot
      tile.copy %A[%k] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
      tile.commit_group
      tile.copy_group_wait {pending = 0 : i64}
      tile.barrier
      %x = tile.load %a : !slot -> !tile
      %y = tile.reduce <sum> %x {axis = 0 : i64, tile.offset = 1024 : i64} : !tile -> tensor<f32>
      tile.atomic_rmw <add> %y to %C : tensor<f32> to memref<f32>
    }
    gpu.return
  }
}

// -----

// Wrong: a reduction within warps lets nobody wait.
!buffer = memref<2x64xf32, #gpu.address_space<workgroup>>
!slot = memref<64xf32, #gpu.address_space<workgroup>>
!tile = tensor<64xf32, #tile.fragment<thread = (32, 2):(1*d0, 0), value = (2):(32*d0)>>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @no_scratch(%A: memref<?xf32>, %C: memref<f32>, %n: index) kernel attributes {tile.threads = 64 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %i0 = arith.constant 0 : i32
    %as = tile.alloc_shared {tile.offset = 0 : i64} : !buffer
    scf.for %k = %c0 to %n step %c1 {
      %a = tile.slot %as[%i0] : !buffer, i32 -> !slot
      // expected-error @below {{schedule of @no_scratch is wrong: the kernel writes to slot 0 of a buffer that others of its threads may still read}}
      tile.copy %A[%k] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
      tile.commit_group
      tile.copy_group_wait {pending = 0 : i64}
      tile.barrier
      %x = tile.load %a : !slot -> !tile
      %y = tile.reduce <sum> %x {axis = 0 : i64} : !tile -> tensor<f32>
      tile.atomic_rmw <add> %y to %C : tensor<f32> to memref<f32>
    }
    gpu.return
  }
}
