// Copies run one iteration ahead of the reads. Both are guarded by a bound that each
// iteration moves by 1 or 2, as the guard says: %ahead is the bound of the copies,
// %bound that of the reads.

!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @moving_bound(%A: memref<?xf32>, %table: memref<?xindex>, %mask: memref<16xi32>, %C: memref<16xf32>, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %as = tile.alloc_shared : !buffer
    %ch = tile.channel(%as) {producer = #tile.producer<cp_async>} : !buffer -> !channel
    %start = tile.cursor : !cursor
    %any = arith.cmpi slt, %c0, %n : index
    %b0, %p0 = scf.if %any -> (index, !cursor) {
      %e = memref.load %table[%c0] : memref<?xindex>
      %near = arith.cmpi slt, %e, %c2 : index
      %b1, %p1 = scf.if %near -> (index, !cursor) {
        %a = tile.slot %as[%start] : !buffer -> !slot
        tile.acquire %ch[%start] : !channel
        tile.copy %A[%e] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
        tile.commit %ch[%start] : !channel
        %pn = tile.advance %start : !cursor
        %bn = arith.addi %c2, %c2 : index
        scf.yield %bn, %pn : index, !cursor
      } else {
        %bn = arith.addi %c2, %c1 : index
        scf.yield %bn, %start : index, !cursor
      }
      scf.yield %b1, %p1 : index, !cursor
    } else {
      scf.yield %c2, %start : index, !cursor
    }
    tile.commit_group
    %r:4 = scf.for %k = %c0 to %n step %c1 iter_args(%ahead = %b0, %bound = %c2, %p = %p0, %q = %start) -> (index, index, !cursor, !cursor) {
      %next = arith.addi %k, %c1 : index
      %more = arith.cmpi slt, %next, %n : index
      %ba, %pa = scf.if %more -> (index, !cursor) {
        %e = memref.load %table[%next] : memref<?xindex>
        %near = arith.cmpi slt, %e, %ahead : index
        %b1, %p1 = scf.if %near -> (index, !cursor) {
          %a = tile.slot %as[%p] : !buffer -> !slot
          tile.acquire %ch[%p] : !channel
          tile.copy %A[%e] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
          tile.commit %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          %bn = arith.addi %ahead, %c2 : index
          scf.yield %bn, %pn : index, !cursor
        } else {
          %bn = arith.addi %ahead, %c1 : index
          scf.yield %bn, %p : index, !cursor
        }
        scf.yield %b1, %p1 : index, !cursor
      } else {
        scf.yield %ahead, %p : index, !cursor
      }
      tile.commit_group
      %e = memref.load %table[%k] : memref<?xindex>
      %near = arith.cmpi slt, %e, %bound : index
      %bb, %qa = scf.if %near -> (index, !cursor) {
        tile.wait %ch[%q] {pending = 1 : i64} : !channel
        %b = tile.slot %as[%q] : !buffer -> !slot
        %x = tile.load %b : !slot -> !tile
        tile.release %ch[%q] : !channel
        %qn = tile.advance %q : !cursor
        tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
        %bn = arith.addi %bound, %c2 : index
        scf.yield %bn, %qn : index, !cursor
      } else {
        %bn = arith.addi %bound, %c1 : index
        scf.yield %bn, %q : index, !cursor
      }
      scf.yield %ba, %bb, %pa, %qa : index, index, !cursor, !cursor
    }
    gpu.return
  }
}
