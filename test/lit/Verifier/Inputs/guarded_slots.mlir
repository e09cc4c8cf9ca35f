// Copies to the next of three slots where a mask says so, one iteration ahead of the
// reads, after --tile-lower-channels: slots are integers.

!buffer = memref<3x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @guarded_slots(%A: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s0 = arith.constant 0 : i32
    %s1 = arith.constant 1 : i32
    %s2 = arith.constant 2 : i32
    %slots = arith.constant 3 : i32
    %as = tile.alloc_shared {tile.offset = 0 : i64} : !buffer
    %any = arith.cmpi slt, %c0, %n : index
    %first = scf.if %any -> i32 {
      %on = memref.load %mask[%c0] : memref<?xi1>
      %p = scf.if %on -> i32 {
        %a = tile.slot %as[%s0] : !buffer, i32 -> !slot
        tile.copy %A[0] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
        scf.yield %s1 : i32
      } else {
        scf.yield %s0 : i32
      }
      scf.yield %p : i32
    } else {
      scf.yield %s0 : i32
    }
    tile.commit_group
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %first, %q = %s0) -> (i32, i32) {
      %next = arith.addi %k, %c1 : index
      %more = arith.cmpi slt, %next, %n : index
      %pn = scf.if %more -> i32 {
        %fill = memref.load %mask[%next] : memref<?xi1>
        %pf = scf.if %fill -> i32 {
          tile.barrier
          %a = tile.slot %as[%p] : !buffer, i32 -> !slot
          tile.copy %A[%next] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
          %pa = arith.addi %p, %s1 : i32
          %pw = arith.cmpi eq, %pa, %slots : i32
          %ps = arith.select %pw, %s0, %pa : i32
          scf.yield %ps : i32
        } else {
          scf.yield %p : i32
        }
        scf.yield %pf : i32
      } else {
        scf.yield %p : i32
      }
      tile.commit_group
      %read = memref.load %mask[%k] : memref<?xi1>
      %qn = scf.if %read -> i32 {
        tile.copy_group_wait {pending = 1 : i64}
        tile.barrier
        %b = tile.slot %as[%q] : !buffer, i32 -> !slot
        %x = tile.load %b : !slot -> !tile
        %qa = arith.addi %q, %s1 : i32
        %qw = arith.cmpi eq, %qa, %slots : i32
        %qs = arith.select %qw, %s0, %qa : i32
        tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
        scf.yield %qs : i32
      } else {
        scf.yield %q : i32
      }
      scf.yield %pn, %qn : i32, i32
    }
    gpu.return
  }
}
