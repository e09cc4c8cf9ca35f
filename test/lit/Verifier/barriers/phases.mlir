// RUN: tilews-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(tile-verify-schedule{report}))' --verify-diagnostics=only-expected

// Right, for 'missing barrier' and those that follow.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @missing_barrier_right is proved}}
  gpu.func @missing_barrier_right(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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

// Wrong: missing barrier.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @missing_barrier(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          // expected-error @below {{schedule of @missing_barrier is wrong: role @load waits for the phase of parity 1 of slot 0, and nothing tells it that the phases before are complete: it cannot tell one from the other}}
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

// Wrong: missing wait for empty.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @missing_wait_for_empty(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          %a = tile.slot %as[%ps] : !buffer, i32 -> !slot
          tile.copy %A[%k] to %a signals(%full[%ps]) {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot, !barriers
          // expected-error @below {{schedule of @missing_wait_for_empty is wrong: arrives 2 times in a phase of a barrier that counts to 1}}
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

// Wrong: two bytes too few.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @two_bytes_too_few(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          // expected-error @below {{schedule of @two_bytes_too_few is wrong: role @math waits for the phase of parity 0 of slot 0: 1 of 1 arrivals are made, 2 bytes more land than are expected, for ever}}
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
          tile.copy %A[%k] to %a signals(%full[%ps]) {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot, !barriers
          tile.mbarrier_arrive %full[%ps] {by = #tile.agents<thread>, bytes = 62 : i64} : !barriers
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

// Wrong: two bytes too many.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @two_bytes_too_many(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          // expected-error @below {{schedule of @two_bytes_too_many is wrong: role @math waits for the phase of parity 0 of slot 0: 1 of 1 arrivals are made, 2 bytes more are expected than land, for ever}}
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
          tile.copy %A[%k] to %a signals(%full[%ps]) {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot, !barriers
          tile.mbarrier_arrive %full[%ps] {by = #tile.agents<thread>, bytes = 66 : i64} : !barriers
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

// Right, for 'bytes not expected' and those that follow.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @bytes_not_expected_right is proved}}
  gpu.func @bytes_not_expected_right(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          tile.copy %A[%k] to %a signals(%full[%ps]) {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot, !barriers
          tile.mbarrier_expect %full[%ps] {bytes = 64 : i64} : !barriers
          tile.mbarrier_arrive %full[%ps] {by = #tile.agents<thread>} : !barriers
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

// Wrong: bytes not expected.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @bytes_not_expected(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          // expected-error @below {{schedule of @bytes_not_expected is wrong: role @math reads slot 0 of a buffer without waiting for what was written there}}
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
          tile.copy %A[%k] to %a signals(%full[%ps]) {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot, !barriers
          tile.mbarrier_arrive %full[%ps] {by = #tile.agents<thread>} : !barriers
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

// Wrong: over arrival.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @over_arrival(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %i2 = arith.constant 2 : i32
    %as = tile.alloc_shared : !buffer
    %full = tile.mbarrier {count = 1 : i64} : !barriers
    %empty = tile.mbarrier {count = 3 : i64} : !barriers
    tile.mbarrier_ready
    tile.specialize {
      tile.role @math warps(4) {
        %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%qs = %i0, %qp = %i0) -> (i32, i32) {
          tile.mbarrier_wait %full[%qs], %qp : !barriers
          %a = tile.slot %as[%qs] : !buffer, i32 -> !slot
          %x = tile.load %a : !slot -> !tile
          // expected-error @below {{schedule of @over_arrival is wrong: arrives 4 times in a phase of a barrier that counts to 3}}
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

// Wrong: under arrival.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @under_arrival(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %i2 = arith.constant 2 : i32
    %as = tile.alloc_shared : !buffer
    %full = tile.mbarrier {count = 1 : i64} : !barriers
    // expected-error @below {{schedule of @under_arrival is wrong: a phase of slot 0 of this barrier is left incomplete: 4 arrivals and 0 bytes expected}}
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

// Right, for 'one thread releases for all' and those that follow.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @one_thread_releases_for_all_right is proved}}
  gpu.func @one_thread_releases_for_all_right(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %i2 = arith.constant 2 : i32
    %as = tile.alloc_shared : !buffer
    %full = tile.mbarrier {count = 1 : i64} : !barriers
    %empty = tile.mbarrier {count = 128 : i64} : !barriers
    tile.mbarrier_ready
    tile.specialize {
      tile.role @math warps(4) {
        %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%qs = %i0, %qp = %i0) -> (i32, i32) {
          tile.mbarrier_wait %full[%qs], %qp : !barriers
          %a = tile.slot %as[%qs] : !buffer, i32 -> !slot
          %x = tile.load %a : !slot -> !tile
          tile.mbarrier_arrive %empty[%qs] {by = #tile.agents<threads>} : !barriers
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

// Wrong: one thread releases for all.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @one_thread_releases_for_all(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %i2 = arith.constant 2 : i32
    %as = tile.alloc_shared : !buffer
    %full = tile.mbarrier {count = 1 : i64} : !barriers
    %empty = tile.mbarrier {count = 1 : i64} : !barriers
    tile.mbarrier_ready
    tile.specialize {
      tile.role @math warps(4) {
        %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%qs = %i0, %qp = %i0) -> (i32, i32) {
          tile.mbarrier_wait %full[%qs], %qp : !barriers
          %a = tile.slot %as[%qs] : !buffer, i32 -> !slot
          %x = tile.load %a : !slot -> !tile
          tile.mbarrier_arrive %empty[%qs] {by = #tile.agents<thread>} : !barriers
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
          // expected-error @below {{schedule of @one_thread_releases_for_all is wrong: role @load lets a copy write to slot 0 of a buffer while others may still access it}}
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

// Wrong: arrives twice.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @arrives_twice(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          tile.mbarrier_arrive %empty[%qs] {by = #tile.agents<warps>} : !barriers
          // expected-error @below {{schedule of @arrives_twice is wrong: role @math does not know that the phase before of slot 0 of this barrier is complete, in which this would be counted: no wait tells it}}
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

// Wrong: wait before init.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @wait_before_init(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %i2 = arith.constant 2 : i32
    %as = tile.alloc_shared : !buffer
    %full = tile.mbarrier {count = 1 : i64} : !barriers
    %empty = tile.mbarrier {count = 4 : i64} : !barriers
    tile.specialize {
      tile.role @math warps(4) {
        %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%qs = %i0, %qp = %i0) -> (i32, i32) {
          // expected-error @below {{schedule of @wait_before_init is wrong: uses a barrier before a tile.mbarrier_ready has made its initialization visible}}
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

// Wrong: init after ready.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @init_after_ready(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %i2 = arith.constant 2 : i32
    %as = tile.alloc_shared : !buffer
    %full = tile.mbarrier {count = 1 : i64} : !barriers
    tile.mbarrier_ready
    %empty = tile.mbarrier {count = 4 : i64} : !barriers
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
      tile.role @load warps(1) {
        %s:2 = scf.for %k = %c0 to %n step %c1 iter_args(%ps = %i0, %pp = %i0) -> (i32, i32) {
          %pe = arith.xori %pp, %i1 : i32
          // expected-error @below {{schedule of @init_after_ready is wrong: uses a barrier before a tile.mbarrier_ready has made its initialization visible}}
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

// Wrong: constant phase.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @constant_phase(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          tile.mbarrier_wait %full[%qs], %i0 : !barriers
          %a = tile.slot %as[%qs] : !buffer, i32 -> !slot
          %x = tile.load %a : !slot -> !tile
          // expected-error @below {{schedule of @constant_phase is wrong: role @math does not know that the phase before of slot 0 of this barrier is complete, in which this would be counted: no wait tells it}}
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

// Wrong: flipped phase.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @flipped_phase(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          // expected-error @below {{schedule of @flipped_phase is wrong: role @math waits for the phase of parity 0 of slot 0: 0 of 1 arrivals are made, for ever}}
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
          tile.mbarrier_wait %empty[%ps], %pp : !barriers
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

// Wrong: flipped phase of the consumer.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @flipped_phase_of_the_consumer(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
        %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%qs = %i0, %qp = %i1) -> (i32, i32) {
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
          // expected-error @below {{schedule of @flipped_phase_of_the_consumer is wrong: role @load waits for the phase of parity 1 of slot 0, and nothing tells it that the phases before are complete: it cannot tell one from the other}}
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

// Wrong: phase never flips.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @phase_never_flips(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          // expected-error @below {{schedule of @phase_never_flips is wrong: role @math does not know that the phase before of slot 0 of this barrier is complete, in which this would be counted: no wait tells it}}
          tile.mbarrier_arrive %empty[%qs] {by = #tile.agents<warps>} : !barriers
          tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
          %qi = arith.addi %qs, %i1 : i32
          %qw = arith.cmpi eq, %qi, %i2 : i32
          %qx = arith.xori %qp, %i1 : i32
          %qsn = arith.select %qw, %i0, %qi : i32
          %qpn = arith.select %qw, %qp, %qp : i32
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

// Wrong: phase flips each turn.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @phase_flips_each_turn(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          // expected-error @below {{schedule of @phase_flips_each_turn is wrong: role @math reads slot 1 of a buffer without waiting for what was written there}}
          %x = tile.load %a : !slot -> !tile
          tile.mbarrier_arrive %empty[%qs] {by = #tile.agents<warps>} : !barriers
          tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
          %qi = arith.addi %qs, %i1 : i32
          %qw = arith.cmpi eq, %qi, %i2 : i32
          %qx = arith.xori %qp, %i1 : i32
          %qsn = arith.select %qw, %i0, %qi : i32
          %qpn = arith.select %qw, %qx, %qp : i32
          scf.yield %qsn, %qx : i32, i32
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

// Wrong: phase from a loop variable.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @phase_from_a_loop_variable(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
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
          %kp = arith.remui %k, %c2 : index
          %ki = arith.index_cast %kp : index to i32
          tile.mbarrier_wait %full[%qs], %ki : !barriers
          %a = tile.slot %as[%qs] : !buffer, i32 -> !slot
          // expected-error @below {{schedule of @phase_from_a_loop_variable is wrong: role @math reads slot 1 of a buffer without waiting for what was written there}}
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

// Wrong: slot is not wrapped.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @slot_is_not_wrapped(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          // expected-error @below {{schedule of @slot_is_not_wrapped is wrong: uses slot 2 of 2 barriers}}
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
          scf.yield %qi, %qpn : i32, i32
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

// Wrong: wrong slot is read.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @wrong_slot_is_read(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          %other = arith.xori %qs, %i1 : i32
          %a = tile.slot %as[%other] : !buffer, i32 -> !slot
          // expected-error @below {{schedule of @wrong_slot_is_read is wrong: role @math reads slot 1 of a buffer that nothing has been written to}}
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

// Wrong: copy signals another slot.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @copy_signals_another_slot(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          // expected-error @below {{schedule of @copy_signals_another_slot is wrong: role @math waits for the phase of parity 0 of slot 0: 1 of 1 arrivals are made, 64 bytes more land than are expected, for ever}}
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
          tile.copy %A[%k] to %a signals(%full[%i0]) {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot, !barriers
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

// Wrong: release before the read.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @release_before_the_read(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          tile.mbarrier_arrive %empty[%qs] {by = #tile.agents<warps>} : !barriers
          %x = tile.load %a : !slot -> !tile
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
          // expected-error @below {{schedule of @release_before_the_read is wrong: role @load lets a copy write to slot 0 of a buffer while others may still access it}}
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

// Right, for 'two loads on one barrier' and those that follow.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @two_loads_on_one_barrier_right is proved}}
  gpu.func @two_loads_on_one_barrier_right(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          tile.copy %A[%k] to %a signals(%full[%ps]) {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot, !barriers
          %i = arith.addi %k, %c1 : index
          tile.copy %A[%i] to %a signals(%full[%ps]) {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot, !barriers
          tile.mbarrier_arrive %full[%ps] {by = #tile.agents<thread>, bytes = 128 : i64} : !barriers
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

// Wrong: two loads on one barrier.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @two_loads_on_one_barrier(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          // expected-error @below {{schedule of @two_loads_on_one_barrier is wrong: role @math waits for the phase of parity 0 of slot 0: 1 of 1 arrivals are made, 64 bytes more land than are expected, for ever}}
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
          tile.copy %A[%k] to %a signals(%full[%ps]) {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot, !barriers
          %i = arith.addi %k, %c1 : index
          tile.copy %A[%i] to %a signals(%full[%ps]) {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot, !barriers
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

// Right, for 'stores are told by one thread' and those that follow.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @stores_are_told_by_one_thread_right is proved}}
  gpu.func @stores_are_told_by_one_thread_right(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %i2 = arith.constant 2 : i32
    %as = tile.alloc_shared : !buffer
    %full = tile.mbarrier {count = 32 : i64} : !barriers
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
      tile.role @load warps(1) {
        %s:2 = scf.for %k = %c0 to %n step %c1 iter_args(%ps = %i0, %pp = %i0) -> (i32, i32) {
          %pe = arith.xori %pp, %i1 : i32
          tile.mbarrier_wait %empty[%ps], %pe : !barriers
          %a = tile.slot %as[%ps] : !buffer, i32 -> !slot
          %v = tile.load %A[%k] : memref<?xf32> -> !tile
          tile.store %v to %a : !tile to !slot
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

// Wrong: stores are told by one thread.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @stores_are_told_by_one_thread(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          // expected-error @below {{schedule of @stores_are_told_by_one_thread is wrong: role @math reads slot 0 of a buffer without waiting for what was written there}}
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
          %v = tile.load %A[%k] : memref<?xf32> -> !tile
          tile.store %v to %a : !tile to !slot
          tile.mbarrier_arrive %full[%ps] {by = #tile.agents<thread>} : !barriers
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

// Wrong: reuse after the last wait.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @reuse_after_the_last_wait(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          tile.copy %A[%k] to %a signals(%full[%ps]) {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot, !barriers
          tile.mbarrier_arrive %full[%ps] {by = #tile.agents<thread>, bytes = 64 : i64} : !barriers
          %pi = arith.addi %ps, %i1 : i32
          %pw = arith.cmpi eq, %pi, %i2 : i32
          %px = arith.xori %pp, %i1 : i32
          %psn = arith.select %pw, %i0, %pi : i32
          %ppn = arith.select %pw, %px, %pp : i32
          scf.yield %psn, %ppn : i32, i32
        }
        %z = tile.slot %as[%i0] : !buffer, i32 -> !slot
        tile.copy %A[%c0] to %z signals(%full[%i0]) {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot, !barriers
        // expected-error @below {{schedule of @reuse_after_the_last_wait is wrong: arrives 2 times in a phase of a barrier that counts to 1}}
        tile.mbarrier_arrive %full[%i0] {by = #tile.agents<thread>, bytes = 64 : i64} : !barriers
      }
    }
    gpu.return
  }
}

// -----

// Right, for 'missing fence' and those that follow.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @missing_fence_right is proved}}
  gpu.func @missing_fence_right(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          tile.barrier {proxy_fence}
          tile.store %x to %a : !tile to !slot
          tile.barrier {proxy_fence}
          tile.copy %a to %A[%k] {tile.inst = #tile.inst<tma>} : !slot to memref<?xf32>
          tile.barrier {drain_copies}
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

// Wrong: missing fence.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @missing_fence(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          tile.barrier
          tile.store %x to %a : !tile to !slot
          tile.barrier
          // expected-error @below {{schedule of @missing_fence is wrong: role @math reads slot 0 of a buffer by the asynchronous proxy, which may not see what threads wrote: no proxy fence lies between}}
          tile.copy %a to %A[%k] {tile.inst = #tile.inst<tma>} : !slot to memref<?xf32>
          tile.barrier {drain_copies}
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

// Right, for 'fence in a loop without turns' and those that follow.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @fence_in_a_loop_without_turns_right is proved}}
  gpu.func @fence_in_a_loop_without_turns_right(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          tile.barrier
          tile.store %x to %a : !tile to !slot
          tile.barrier
          tile.proxy_fence
          tile.barrier
          tile.copy %a to %A[%k] {tile.inst = #tile.inst<tma>} : !slot to memref<?xf32>
          tile.barrier {drain_copies}
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

// Wrong: fence in a loop without turns.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @fence_in_a_loop_without_turns(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          tile.barrier
          tile.store %x to %a : !tile to !slot
          tile.barrier
          scf.for %z = %c0 to %m step %c1 {
            tile.proxy_fence
            tile.barrier
          }
          // expected-error @below {{schedule of @fence_in_a_loop_without_turns is wrong: role @math reads slot 0 of a buffer by the asynchronous proxy, which may not see what threads wrote: no proxy fence lies between}}
          tile.copy %a to %A[%k] {tile.inst = #tile.inst<tma>} : !slot to memref<?xf32>
          tile.barrier {drain_copies}
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

// Right, for 'copy behind ordinary writes' and those that follow.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @copy_behind_ordinary_writes_right is proved}}
  gpu.func @copy_behind_ordinary_writes_right(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          tile.barrier
          tile.store %x to %a : !tile to !slot
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

// Wrong: copy behind ordinary writes.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @copy_behind_ordinary_writes(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          tile.barrier
          tile.store %x to %a : !tile to !slot
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
          // expected-error @below {{schedule of @copy_behind_ordinary_writes is wrong: role @load lets a copy write to slot 0 of a buffer behind ordinary writes, without a proxy fence}}
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

// Threads that read a slot meet before one of them lets it be filled again.
!buffer = memref<1x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<1>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @threads_meet_before_a_refill is proved}}
  gpu.func @threads_meet_before_a_refill(%A: memref<?xf32>, %C: memref<16xf32>, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %as = tile.alloc_shared : !buffer
    %full = tile.mbarrier {count = 1 : i64} : !barriers
    tile.mbarrier_ready
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%f = %i0) -> i32 {
      %a = tile.slot %as[%i0] : !buffer, i32 -> !slot
      tile.copy %A[%k] to %a signals(%full[%i0]) {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot, !barriers
      tile.mbarrier_arrive %full[%i0] {by = #tile.agents<thread>, bytes = 64 : i64} : !barriers
      tile.mbarrier_wait %full[%i0], %f : !barriers
      %x = tile.load %a : !slot -> !tile
      tile.barrier
      %fn = arith.xori %f, %i1 : i32
      tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
      scf.yield %fn : i32
    }
    gpu.return
  }
}

// -----

// Wrong: no meeting before a slot is filled again.
!buffer = memref<1x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<1>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @no_meeting_before_a_refill(%A: memref<?xf32>, %C: memref<16xf32>, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %as = tile.alloc_shared : !buffer
    %full = tile.mbarrier {count = 1 : i64} : !barriers
    tile.mbarrier_ready
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%f = %i0) -> i32 {
      %a = tile.slot %as[%i0] : !buffer, i32 -> !slot
      // expected-error @below {{schedule of @no_meeting_before_a_refill is wrong: the kernel lets a copy write to a buffer that its threads may still read: they have not met since at a tile.barrier}}
      tile.copy %A[%k] to %a signals(%full[%i0]) {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot, !barriers
      tile.mbarrier_arrive %full[%i0] {by = #tile.agents<thread>, bytes = 64 : i64} : !barriers
      tile.mbarrier_wait %full[%i0], %f : !barriers
      %x = tile.load %a : !slot -> !tile
      %fn = arith.xori %f, %i1 : i32
      tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
      scf.yield %fn : i32
    }
    gpu.return
  }
}
