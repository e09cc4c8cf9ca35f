// Two consumer roles read the slots of one buffer alternately, each for %n iterations
// at a time.
// While one of them reads, the other counts its own slot and parity on. They hand over
// to each other through the barriers %turn0 and %turn1.

!buffer = memref<3x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barriers = !tile.mbarrier<3>
!barrier = !tile.mbarrier<1>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @alternating_roles(%A: memref<?xf32>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 288 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %i2 = arith.constant 2 : i32
    %i3 = arith.constant 3 : i32
    %false = arith.constant false
    %true = arith.constant true
    %as = tile.alloc_shared : !buffer
    %full = tile.mbarrier {count = 1 : i64} : !barriers
    %empty = tile.mbarrier {count = 4 : i64} : !barriers
    %turn0 = tile.mbarrier {count = 4 : i64} : !barrier
    %turn1 = tile.mbarrier {count = 4 : i64} : !barrier
    tile.mbarrier_ready
    tile.specialize {
      tile.role @math0 warps(4) {
        %r:4 = scf.for %t = %c0 to %m step %c1 iter_args(%s = %i0, %p = %i0, %turn = %i0, %own = %true) -> (i32, i32, i32, i1) {
          %next:3 = scf.if %own -> (i32, i32, i32) {
            %before = arith.xori %turn, %i1 : i32
            tile.mbarrier_wait %turn0[%i0], %before : !barrier
            %q:2 = scf.for %k = %c0 to %n step %c1 iter_args(%qs = %s, %qp = %p) -> (i32, i32) {
              tile.mbarrier_wait %full[%qs], %qp : !barriers
              %a = tile.slot %as[%qs] : !buffer, i32 -> !slot
              %x = tile.load %a : !slot -> !tile
              tile.proxy_fence
              tile.mbarrier_arrive %empty[%qs] {by = #tile.agents<warps>} : !barriers
              tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
              %qi = arith.addi %qs, %i1 : i32
              %qw = arith.cmpi eq, %qi, %i3 : i32
              %qx = arith.xori %qp, %i1 : i32
              %qs1 = arith.select %qw, %i0, %qi : i32
              %qp1 = arith.select %qw, %qx, %qp : i32
              scf.yield %qs1, %qp1 : i32, i32
            }
            tile.mbarrier_arrive %turn1[%i0] {by = #tile.agents<warps>} : !barrier
            %flip = arith.xori %turn, %i1 : i32
            scf.yield %q#0, %q#1, %flip : i32, i32, i32
          } else {
            %o:2 = scf.for %k = %c0 to %n step %c1 iter_args(%os = %s, %op = %p) -> (i32, i32) {
              %oi = arith.addi %os, %i1 : i32
              %ow = arith.cmpi eq, %oi, %i3 : i32
              %ox = arith.xori %op, %i1 : i32
              %os1 = arith.select %ow, %i0, %oi : i32
              %op1 = arith.select %ow, %ox, %op : i32
              scf.yield %os1, %op1 : i32, i32
            }
            scf.yield %o#0, %o#1, %turn : i32, i32, i32
          }
          %not = arith.xori %own, %true : i1
          scf.yield %next#0, %next#1, %next#2, %not : i32, i32, i32, i1
        }
      }
      tile.role @math1 warps(4) {
        %r:4 = scf.for %t = %c0 to %m step %c1 iter_args(%s = %i0, %p = %i0, %turn = %i0, %own = %false) -> (i32, i32, i32, i1) {
          %next:3 = scf.if %own -> (i32, i32, i32) {
            tile.mbarrier_wait %turn1[%i0], %turn : !barrier
            %q:2 = scf.for %k = %c0 to %n step %c1 iter_args(%qs = %s, %qp = %p) -> (i32, i32) {
              tile.mbarrier_wait %full[%qs], %qp : !barriers
              %a = tile.slot %as[%qs] : !buffer, i32 -> !slot
              %x = tile.load %a : !slot -> !tile
              tile.proxy_fence
              tile.mbarrier_arrive %empty[%qs] {by = #tile.agents<warps>} : !barriers
              tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
              %qi = arith.addi %qs, %i1 : i32
              %qw = arith.cmpi eq, %qi, %i3 : i32
              %qx = arith.xori %qp, %i1 : i32
              %qs1 = arith.select %qw, %i0, %qi : i32
              %qp1 = arith.select %qw, %qx, %qp : i32
              scf.yield %qs1, %qp1 : i32, i32
            }
            tile.mbarrier_arrive %turn0[%i0] {by = #tile.agents<warps>} : !barrier
            %flip = arith.xori %turn, %i1 : i32
            scf.yield %q#0, %q#1, %flip : i32, i32, i32
          } else {
            %o:2 = scf.for %k = %c0 to %n step %c1 iter_args(%os = %s, %op = %p) -> (i32, i32) {
              %oi = arith.addi %os, %i1 : i32
              %ow = arith.cmpi eq, %oi, %i3 : i32
              %ox = arith.xori %op, %i1 : i32
              %os1 = arith.select %ow, %i0, %oi : i32
              %op1 = arith.select %ow, %ox, %op : i32
              scf.yield %os1, %op1 : i32, i32
            }
            scf.yield %o#0, %o#1, %turn : i32, i32, i32
          }
          %not = arith.xori %own, %true : i1
          scf.yield %next#0, %next#1, %next#2, %not : i32, i32, i32, i1
        }
        scf.if %r#3 {
          tile.mbarrier_wait %turn1[%i0], %r#2 : !barrier
          tile.mbarrier_arrive %turn0[%i0] {by = #tile.agents<warps>} : !barrier
        }
      }
      tile.role @load warps(1) {
        %r:2 = scf.for %t = %c0 to %m step %c1 iter_args(%s = %i0, %p = %i0) -> (i32, i32) {
          %q:2 = scf.for %k = %c0 to %n step %c1 iter_args(%qs = %s, %qp = %p) -> (i32, i32) {
            %at = arith.muli %k, %c16 : index
            %before = arith.xori %qp, %i1 : i32
            tile.mbarrier_wait %empty[%qs], %before : !barriers
            %a = tile.slot %as[%qs] : !buffer, i32 -> !slot
            tile.copy %A[%at] to %a signals(%full[%qs]) {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot, !barriers
            tile.mbarrier_arrive %full[%qs] {by = #tile.agents<thread>, bytes = 64 : i64} : !barriers
            %qi = arith.addi %qs, %i1 : i32
            %qw = arith.cmpi eq, %qi, %i3 : i32
            %qx = arith.xori %qp, %i1 : i32
            %qs1 = arith.select %qw, %i0, %qi : i32
            %qp1 = arith.select %qw, %qx, %qp : i32
            scf.yield %qs1, %qp1 : i32, i32
          }
          scf.yield %q#0, %q#1 : i32, i32
        }
      }
    }
    gpu.return
  }
}
