// One loop reads the whole tiles of A, and the next one the rest: what the mask of a ragged
// tile needs. Each copy runs one iteration ahead of its read, over the same two slots.

!buffer = memref<2x2xf32, #gpu.address_space<workgroup>>
!slot = memref<2xf32, #gpu.address_space<workgroup>>
!tile = tensor<2xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @whole_and_rest(%A: memref<?xf32>, %C: memref<2xf32>, %n: index, %on: i1) kernel attributes {tile.threads = 64 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %as = tile.alloc_shared : !buffer
    %ch = tile.channel(%as) {producer = #tile.producer<cp_async>} : !buffer -> !channel
    %tiles = arith.ceildivsi %n, %c2 : index
    %end = arith.select %on, %tiles, %c0 : index
    %floor = arith.floordivsi %n, %c2 : index
    %natural = arith.maxsi %floor, %c0 : index
    %whole = arith.minsi %natural, %end : index
    %start = tile.cursor : !cursor
    %in0 = arith.cmpi sgt, %whole, %c0 : index
    %p0 = scf.if %in0 -> !cursor {
      tile.acquire %ch[%start] : !channel
      %a = tile.slot %as[%start] : !buffer -> !slot
      tile.copy %A[%c0] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
      tile.commit %ch[%start] : !channel
      %pn = tile.advance %start : !cursor
      scf.yield %pn : !cursor
    } else {
      scf.yield %start : !cursor
    }
    tile.commit_group
    %r:2 = scf.for %k = %c0 to %whole step %c1 iter_args(%p = %p0, %q = %start) -> (!cursor, !cursor) {
      %k1 = arith.addi %k, %c1 : index
      %more = arith.cmpi slt, %k1, %whole : index
      %pm = scf.if %more -> !cursor {
        tile.acquire %ch[%p] : !channel
        %a = tile.slot %as[%p] : !buffer -> !slot
        tile.copy %A[%k1] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
        tile.commit %ch[%p] : !channel
        %pn = tile.advance %p : !cursor
        scf.yield %pn : !cursor
      } else {
        scf.yield %p : !cursor
      }
      tile.commit_group
      tile.wait %ch[%q] {pending = 1 : i64} : !channel
      %b = tile.slot %as[%q] : !buffer -> !slot
      %x = tile.load %b : !slot -> !tile
      tile.release %ch[%q] : !channel
      tile.atomic_rmw <add> %x to %C : !tile to memref<2xf32>
      %qn = tile.advance %q : !cursor
      scf.yield %pm, %qn : !cursor, !cursor
    }
    %in1 = arith.cmpi slt, %whole, %end : index
    %p1 = scf.if %in1 -> !cursor {
      tile.acquire %ch[%r#0] : !channel
      %a = tile.slot %as[%r#0] : !buffer -> !slot
      tile.copy %A[%whole] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
      tile.commit %ch[%r#0] : !channel
      %pn = tile.advance %r#0 : !cursor
      scf.yield %pn : !cursor
    } else {
      scf.yield %r#0 : !cursor
    }
    tile.commit_group
    %s:2 = scf.for %k = %whole to %end step %c1 iter_args(%p = %p1, %q = %r#1) -> (!cursor, !cursor) {
      %k1 = arith.addi %k, %c1 : index
      %more = arith.cmpi slt, %k1, %end : index
      %pm = scf.if %more -> !cursor {
        tile.acquire %ch[%p] : !channel
        %a = tile.slot %as[%p] : !buffer -> !slot
        tile.copy %A[%k1] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
        tile.commit %ch[%p] : !channel
        %pn = tile.advance %p : !cursor
        scf.yield %pn : !cursor
      } else {
        scf.yield %p : !cursor
      }
      tile.commit_group
      tile.wait %ch[%q] {pending = 1 : i64} : !channel
      %b = tile.slot %as[%q] : !buffer -> !slot
      %x = tile.load %b : !slot -> !tile
      tile.release %ch[%q] : !channel
      tile.atomic_rmw <add> %x to %C : !tile to memref<2xf32>
      %qn = tile.advance %q : !cursor
      scf.yield %pm, %qn : !cursor, !cursor
    }
    gpu.return
  }
}
