// A loop whose end depends on the sum of the tiles, around a pipelined loop without roles.
// All slots are in use across the rounds.

!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @rounds(%A: memref<?xf32>, %limit: f32 {tile.name = "limit"}, %C: memref<16xf32>, %n: index {tile.name = "n"}) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zeros = arith.constant dense<0.0> : !tile
    %as = tile.alloc_shared {tile.offset = 0 : i64} : !buffer
    %ch = tile.channel(%as) {producer = #tile.producer<cp_async>} : !buffer -> !channel
    %start = tile.cursor : !cursor
    %done:3 = scf.while (%sum = %zeros, %p = %start, %q = %start) : (!tile, !cursor, !cursor) -> (!tile, !cursor, !cursor) {
      %largest = tile.reduce <max> %sum {axis = 0 : i64} : !tile -> tensor<f32>
      %reached = tensor.extract %largest[] : tensor<f32>
      %more = arith.cmpf olt, %reached, %limit : f32
      scf.condition(%more) %sum, %p, %q : !tile, !cursor, !cursor
    } do {
    ^bb0(%sum: !tile, %p: !cursor, %q: !cursor):
      %any = arith.cmpi slt, %c0, %n : index
      %first = scf.if %any -> !cursor {
        %a = tile.slot %as[%p] : !buffer -> !slot
        tile.barrier
        tile.acquire %ch[%p] : !channel
        tile.copy %A[%c0] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
        tile.commit %ch[%p] : !channel
        %pf = tile.advance %p : !cursor
        scf.yield %pf : !cursor
      } else {
        scf.yield %p : !cursor
      }
      tile.commit_group
      %r:3 = scf.for %k = %c0 to %n step %c1 iter_args(%part = %sum, %pk = %first, %qk = %q) -> (!tile, !cursor, !cursor) {
        %next = arith.addi %k, %c1 : index
        %rest = arith.cmpi slt, %next, %n : index
        tile.barrier
        %pn = scf.if %rest -> !cursor {
          %a = tile.slot %as[%pk] : !buffer -> !slot
          tile.acquire %ch[%pk] : !channel
          tile.copy %A[%next] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
          tile.commit %ch[%pk] : !channel
          %pa = tile.advance %pk : !cursor
          scf.yield %pa : !cursor
        } else {
          scf.yield %pk : !cursor
        }
        tile.commit_group
        tile.wait %ch[%qk] {pending = 1 : i64} : !channel
        %b = tile.slot %as[%qk] : !buffer -> !slot
        %x = tile.load %b : !slot -> !tile
        tile.release %ch[%qk] : !channel
        %qn = tile.advance %qk : !cursor
        %new = arith.addf %part, %x : !tile
        scf.yield %new, %pn, %qn : !tile, !cursor, !cursor
      }
      scf.yield %r#0, %r#1, %r#2 : !tile, !cursor, !cursor
    }
    tile.store %done#0 to %C : !tile to memref<16xf32>
    gpu.return
  }
}
