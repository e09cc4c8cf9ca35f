// RUN: tilews-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(tile-verify-schedule{report}))' --verify-diagnostics=only-expected

// Right: the roles of the others.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @base is proved}}
  gpu.func @base(%A: memref<?xf32> {tile.name = "A"}, %C: memref<16xf32> {tile.name = "C"}, %n: index {tile.name = "n"}) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
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
      tile.role @load warps(1) elected {
        %s:2 = scf.for %k = %c0 to %n step %c1 iter_args(%ps = %i0, %pp = %i0) -> (i32, i32) {
          %pe = arith.xori %pp, %i1 : i32
          tile.mbarrier_wait %empty[%ps], %pe : !barriers
          %a = tile.slot %as[%ps] : !buffer, i32 -> !slot
          tile.copy %A[%k] to %a signals(%full[%ps]) {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot, !barriers
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

// -----

// Wrong: what it expects may be counted in the phase before.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @expected_before_the_slot_is_free(%A: memref<?xf32> {tile.name = "A"}, %C: memref<16xf32> {tile.name = "C"}, %n: index {tile.name = "n"}) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
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
          // expected-error @below {{schedule of @expected_before_the_slot_is_free is wrong: a barrier completes a phase, and those who arrive do not know that role @load has waited for the one before: it may come too late and wait for ever}}
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
      tile.role @load warps(1) elected {
        %s:2 = scf.for %k = %c0 to %n step %c1 iter_args(%ps = %i0, %pp = %i0) -> (i32, i32) {
          %pe = arith.xori %pp, %i1 : i32
          tile.mbarrier_arrive %full[%ps] {by = #tile.agents<thread>, bytes = 64 : i64} : !barriers
          tile.mbarrier_wait %empty[%ps], %pe : !barriers
          %a = tile.slot %as[%ps] : !buffer, i32 -> !slot
          tile.copy %A[%k] to %a signals(%full[%ps]) {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot, !barriers
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

// Right: bytes may be expected before or behind the copy.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @expected_before_the_copy is proved}}
  gpu.func @expected_before_the_copy(%A: memref<?xf32> {tile.name = "A"}, %C: memref<16xf32> {tile.name = "C"}, %n: index {tile.name = "n"}) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
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
      tile.role @load warps(1) elected {
        %s:2 = scf.for %k = %c0 to %n step %c1 iter_args(%ps = %i0, %pp = %i0) -> (i32, i32) {
          %pe = arith.xori %pp, %i1 : i32
          tile.mbarrier_wait %empty[%ps], %pe : !barriers
          %a = tile.slot %as[%ps] : !buffer, i32 -> !slot
          tile.mbarrier_arrive %full[%ps] {by = #tile.agents<thread>, bytes = 64 : i64} : !barriers
          tile.copy %A[%k] to %a signals(%full[%ps]) {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot, !barriers
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

// Wrong: a role that waits for nothing arrives as often as it likes.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @arrives_unboundedly(%A: memref<?xf32> {tile.name = "A"}, %C: memref<16xf32> {tile.name = "C"}, %n: index {tile.name = "n"}) kernel attributes {tile.threads = 192 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %i2 = arith.constant 2 : i32
    %as = tile.alloc_shared : !buffer
    %full = tile.mbarrier {count = 1 : i64} : !barriers
    %empty = tile.mbarrier {count = 5 : i64} : !barriers
    tile.mbarrier_ready
    tile.specialize {
      tile.role @math warps(4) {
        %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%qs = %i0, %qp = %i0) -> (i32, i32) {
          tile.mbarrier_wait %full[%qs], %qp : !barriers
          %a = tile.slot %as[%qs] : !buffer, i32 -> !slot
          %x = tile.load %a : !slot -> !tile
          // expected-error @below {{schedule of @arrives_unboundedly is wrong: arrives 6 times in a phase of a barrier that counts to 5}}
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
      tile.role @idle warps(1) {
        %s:2 = scf.for %k = %c0 to %n step %c1 iter_args(%ps = %i0, %pp = %i0) -> (i32, i32) {
          tile.mbarrier_arrive %empty[%ps] {by = #tile.agents<warps>} : !barriers
          %pi = arith.addi %ps, %i1 : i32
          %pw = arith.cmpi eq, %pi, %i2 : i32
          %px = arith.xori %pp, %i1 : i32
          %psn = arith.select %pw, %i0, %pi : i32
          %ppn = arith.select %pw, %px, %pp : i32
          scf.yield %psn, %ppn : i32, i32
        }
      }
      tile.role @load warps(1) elected {
        %s:2 = scf.for %k = %c0 to %n step %c1 iter_args(%ps = %i0, %pp = %i0) -> (i32, i32) {
          %pe = arith.xori %pp, %i1 : i32
          tile.mbarrier_wait %empty[%ps], %pe : !barriers
          %a = tile.slot %as[%ps] : !buffer, i32 -> !slot
          tile.copy %A[%k] to %a signals(%full[%ps]) {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot, !barriers
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

// -----

// Right: the same role, which waits.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @arrives_in_turn is proved}}
  gpu.func @arrives_in_turn(%A: memref<?xf32> {tile.name = "A"}, %C: memref<16xf32> {tile.name = "C"}, %n: index {tile.name = "n"}) kernel attributes {tile.threads = 192 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %i2 = arith.constant 2 : i32
    %as = tile.alloc_shared : !buffer
    %full = tile.mbarrier {count = 1 : i64} : !barriers
    %empty = tile.mbarrier {count = 5 : i64} : !barriers
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
      }
      tile.role @idle warps(1) {
        %s:2 = scf.for %k = %c0 to %n step %c1 iter_args(%ps = %i0, %pp = %i0) -> (i32, i32) {
          tile.mbarrier_wait %full[%ps], %pp : !barriers
          tile.mbarrier_arrive %empty[%ps] {by = #tile.agents<warps>} : !barriers
          %pi = arith.addi %ps, %i1 : i32
          %pw = arith.cmpi eq, %pi, %i2 : i32
          %px = arith.xori %pp, %i1 : i32
          %psn = arith.select %pw, %i0, %pi : i32
          %ppn = arith.select %pw, %px, %pp : i32
          scf.yield %psn, %ppn : i32, i32
        }
      }
      tile.role @load warps(1) elected {
        %s:2 = scf.for %k = %c0 to %n step %c1 iter_args(%ps = %i0, %pp = %i0) -> (i32, i32) {
          %pe = arith.xori %pp, %i1 : i32
          tile.mbarrier_wait %empty[%ps], %pe : !barriers
          %a = tile.slot %as[%ps] : !buffer, i32 -> !slot
          tile.copy %A[%k] to %a signals(%full[%ps]) {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot, !barriers
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

// -----

// Wrong: the producer arrives for a phase before it knows the last one to be over.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @arrives_early(%A: memref<?xf32> {tile.name = "A"}, %C: memref<16xf32> {tile.name = "C"}, %n: index {tile.name = "n"}) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %i2 = arith.constant 2 : i32
    %as = tile.alloc_shared : !buffer
    %full = tile.mbarrier {count = 1 : i64} : !barriers
    %empty = tile.mbarrier {count = 5 : i64} : !barriers
    tile.mbarrier_ready
    tile.specialize {
      tile.role @math warps(4) {
        %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%qs = %i0, %qp = %i0) -> (i32, i32) {
          tile.mbarrier_wait %full[%qs], %qp : !barriers
          %a = tile.slot %as[%qs] : !buffer, i32 -> !slot
          %x = tile.load %a : !slot -> !tile
          // expected-error @below {{schedule of @arrives_early is wrong: arrives 6 times in a phase of a barrier that counts to 5}}
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
      tile.role @load warps(1) elected {
        %s:2 = scf.for %k = %c0 to %n step %c1 iter_args(%ps = %i0, %pp = %i0) -> (i32, i32) {
          %pe = arith.xori %pp, %i1 : i32
          tile.mbarrier_arrive %empty[%ps] {by = #tile.agents<thread>} : !barriers
          tile.mbarrier_wait %empty[%ps], %pe : !barriers
          %a = tile.slot %as[%ps] : !buffer, i32 -> !slot
          tile.copy %A[%k] to %a signals(%full[%ps]) {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot, !barriers
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

// -----

// Wrong: the phase may be over before anyone waits for the one before the first.
!b1 = !tile.mbarrier<1>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!buffer = memref<1x16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
// @math releases before it waits: the release may complete phase 0 before @load has looked for the phase before it.
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @released_before_the_first_look(%A: memref<?xf32> {tile.name = "A"}, %C: memref<16xf32> {tile.name = "C"}, %n: index {tile.name = "n"}) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %as = tile.alloc_shared : !buffer
    %full = tile.mbarrier {count = 1 : i64} : !b1
    %empty = tile.mbarrier {count = 4 : i64} : !b1
    tile.mbarrier_ready
    tile.specialize {
      tile.role @math warps(4) {
        tile.mbarrier_arrive %empty[%i0] {by = #tile.agents<warps>} : !b1
        tile.mbarrier_wait %full[%i0], %i0 : !b1
        %a = tile.slot %as[%i0] : !buffer, i32 -> !slot
        %x = tile.load %a : !slot -> !tile
        tile.store %x to %C : !tile to memref<16xf32>
      }
      tile.role @load warps(1) elected {
        // expected-error @below {{schedule of @released_before_the_first_look is wrong: role @load waits for the phase of parity 1 of slot 0, and nothing tells it that the phases before are complete: it cannot tell one from the other}}
        tile.mbarrier_wait %empty[%i0], %i1 : !b1
        %a = tile.slot %as[%i0] : !buffer, i32 -> !slot
        tile.copy %A[%c0] to %a signals(%full[%i0]) {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot, !b1
        tile.mbarrier_arrive %full[%i0] {by = #tile.agents<thread>, bytes = 64 : i64} : !b1
      }
    }
    gpu.return
  }
}

// -----

// Wrong: the phase may be over, and the next one too, before the second wait for it.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @waits_again_behind_the_release(%A: memref<?xf32>, %C: memref<16xf32>, %n: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
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
          // expected-error @below {{schedule of @waits_again_behind_the_release is wrong: a barrier completes a phase, and those who arrive do not know that role @math has waited for the one before: it may come too late and wait for ever}}
          tile.mbarrier_wait %full[%qs], %qp : !barriers
          %a = tile.slot %as[%qs] : !buffer, i32 -> !slot
          %x = tile.load %a : !slot -> !tile
          tile.mbarrier_arrive %empty[%qs] {by = #tile.agents<warps>} : !barriers
          tile.mbarrier_wait %full[%qs], %qp : !barriers
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
          tile.copy %A[%k] to %a signals(%full[%ps]) {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot, !barriers
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

// -----

// Right: two roles release a slot.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @two_consumers is proved}}
  gpu.func @two_consumers(%A: memref<?xf32> {tile.name = "A"}, %C: memref<16xf32> {tile.name = "C"}, %n: index {tile.name = "n"}) kernel attributes {tile.threads = 288 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %i2 = arith.constant 2 : i32
    %as = tile.alloc_shared : !buffer
    %full = tile.mbarrier {count = 1 : i64} : !barriers
    %empty = tile.mbarrier {count = 8 : i64} : !barriers
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
      }
      tile.role @math2 warps(4) {
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
      }
      tile.role @load warps(1) elected {
        %s:2 = scf.for %k = %c0 to %n step %c1 iter_args(%ps = %i0, %pp = %i0) -> (i32, i32) {
          %pe = arith.xori %pp, %i1 : i32
          tile.mbarrier_wait %empty[%ps], %pe : !barriers
          %a = tile.slot %as[%ps] : !buffer, i32 -> !slot
          tile.copy %A[%k] to %a signals(%full[%ps]) {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot, !barriers
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

// -----

// Wrong: either of two roles alone completes the phase.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @two_consumers_of_four(%A: memref<?xf32> {tile.name = "A"}, %C: memref<16xf32> {tile.name = "C"}, %n: index {tile.name = "n"}) kernel attributes {tile.threads = 288 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
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
      tile.role @math2 warps(4) {
        %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%qs = %i0, %qp = %i0) -> (i32, i32) {
          tile.mbarrier_wait %full[%qs], %qp : !barriers
          %a = tile.slot %as[%qs] : !buffer, i32 -> !slot
          %x = tile.load %a : !slot -> !tile
          // expected-error @below {{schedule of @two_consumers_of_four is wrong: role @math2 does not know that the phase before of slot 0 of this barrier is complete, in which this would be counted: no wait tells it}}
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
      tile.role @load warps(1) elected {
        %s:2 = scf.for %k = %c0 to %n step %c1 iter_args(%ps = %i0, %pp = %i0) -> (i32, i32) {
          %pe = arith.xori %pp, %i1 : i32
          tile.mbarrier_wait %empty[%ps], %pe : !barriers
          %a = tile.slot %as[%ps] : !buffer, i32 -> !slot
          tile.copy %A[%k] to %a signals(%full[%ps]) {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot, !barriers
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

// -----

// Right: two roles fill a slot, and wait for one barrier.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @two_producers is proved}}
  gpu.func @two_producers(%A: memref<?xf32> {tile.name = "A"}, %C: memref<16xf32> {tile.name = "C"}, %n: index {tile.name = "n"}) kernel attributes {tile.threads = 192 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %i2 = arith.constant 2 : i32
    %as = tile.alloc_shared : !buffer
    %bs = tile.alloc_shared : !buffer
    %full = tile.mbarrier {count = 2 : i64} : !barriers
    %empty = tile.mbarrier {count = 4 : i64} : !barriers
    tile.mbarrier_ready
    tile.specialize {
      tile.role @math warps(4) {
        %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%qs = %i0, %qp = %i0) -> (i32, i32) {
          tile.mbarrier_wait %full[%qs], %qp : !barriers
          %a = tile.slot %as[%qs] : !buffer, i32 -> !slot
          %x0 = tile.load %a : !slot -> !tile
          %b = tile.slot %bs[%qs] : !buffer, i32 -> !slot
          %y = tile.load %b : !slot -> !tile
          %x = arith.addf %x0, %y : !tile
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
      tile.role @load warps(1) elected {
        %s:2 = scf.for %k = %c0 to %n step %c1 iter_args(%ps = %i0, %pp = %i0) -> (i32, i32) {
          %pe = arith.xori %pp, %i1 : i32
          tile.mbarrier_wait %empty[%ps], %pe : !barriers
          %a = tile.slot %as[%ps] : !buffer, i32 -> !slot
          tile.copy %A[%k] to %a signals(%full[%ps]) {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot, !barriers
          tile.mbarrier_arrive %full[%ps] {by = #tile.agents<thread>, bytes = 64 : i64} : !barriers
          %pi = arith.addi %ps, %i1 : i32
          %pw = arith.cmpi eq, %pi, %i2 : i32
          %px = arith.xori %pp, %i1 : i32
          %psn = arith.select %pw, %i0, %pi : i32
          %ppn = arith.select %pw, %px, %pp : i32
          scf.yield %psn, %ppn : i32, i32
        }
      }
      tile.role @load2 warps(1) elected {
        %s:2 = scf.for %k = %c0 to %n step %c1 iter_args(%ps = %i0, %pp = %i0) -> (i32, i32) {
          %pe = arith.xori %pp, %i1 : i32
          tile.mbarrier_wait %empty[%ps], %pe : !barriers
          %a = tile.slot %bs[%ps] : !buffer, i32 -> !slot
          tile.copy %A[%k] to %a signals(%full[%ps]) {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot, !barriers
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

// -----

// Right: two roles fill a slot, and wait for one barrier each.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @two_producers_with_barriers_of_their_own is proved}}
  gpu.func @two_producers_with_barriers_of_their_own(%A: memref<?xf32> {tile.name = "A"}, %C: memref<16xf32> {tile.name = "C"}, %n: index {tile.name = "n"}) kernel attributes {tile.threads = 192 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %i2 = arith.constant 2 : i32
    %as = tile.alloc_shared : !buffer
    %bs = tile.alloc_shared : !buffer
    %full = tile.mbarrier {count = 2 : i64} : !barriers
    %empty = tile.mbarrier {count = 4 : i64} : !barriers
    %empty2 = tile.mbarrier {count = 4 : i64} : !barriers
    tile.mbarrier_ready
    tile.specialize {
      tile.role @math warps(4) {
        %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%qs = %i0, %qp = %i0) -> (i32, i32) {
          tile.mbarrier_wait %full[%qs], %qp : !barriers
          %a = tile.slot %as[%qs] : !buffer, i32 -> !slot
          %x0 = tile.load %a : !slot -> !tile
          %b = tile.slot %bs[%qs] : !buffer, i32 -> !slot
          %y = tile.load %b : !slot -> !tile
          %x = arith.addf %x0, %y : !tile
          tile.mbarrier_arrive %empty[%qs] {by = #tile.agents<warps>} : !barriers
          tile.mbarrier_arrive %empty2[%qs] {by = #tile.agents<warps>} : !barriers
          tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
          %qi = arith.addi %qs, %i1 : i32
          %qw = arith.cmpi eq, %qi, %i2 : i32
          %qx = arith.xori %qp, %i1 : i32
          %qsn = arith.select %qw, %i0, %qi : i32
          %qpn = arith.select %qw, %qx, %qp : i32
          scf.yield %qsn, %qpn : i32, i32
        }
      }
      tile.role @load warps(1) elected {
        %s:2 = scf.for %k = %c0 to %n step %c1 iter_args(%ps = %i0, %pp = %i0) -> (i32, i32) {
          %pe = arith.xori %pp, %i1 : i32
          tile.mbarrier_wait %empty[%ps], %pe : !barriers
          %a = tile.slot %as[%ps] : !buffer, i32 -> !slot
          tile.copy %A[%k] to %a signals(%full[%ps]) {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot, !barriers
          tile.mbarrier_arrive %full[%ps] {by = #tile.agents<thread>, bytes = 64 : i64} : !barriers
          %pi = arith.addi %ps, %i1 : i32
          %pw = arith.cmpi eq, %pi, %i2 : i32
          %px = arith.xori %pp, %i1 : i32
          %psn = arith.select %pw, %i0, %pi : i32
          %ppn = arith.select %pw, %px, %pp : i32
          scf.yield %psn, %ppn : i32, i32
        }
      }
      tile.role @load2 warps(1) elected {
        %s:2 = scf.for %k = %c0 to %n step %c1 iter_args(%ps = %i0, %pp = %i0) -> (i32, i32) {
          %pe = arith.xori %pp, %i1 : i32
          tile.mbarrier_wait %empty2[%ps], %pe : !barriers
          %a = tile.slot %bs[%ps] : !buffer, i32 -> !slot
          tile.copy %A[%k] to %a signals(%full[%ps]) {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot, !barriers
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
