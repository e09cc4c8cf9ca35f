// Copies by cp.async run one iteration ahead of the reads, in a kernel without roles.
// tile.wait permits no group under way.

!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @copy_groups(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %true = arith.constant true
    %as = tile.alloc_shared {tile.offset = 0 : i64} : !buffer
    %ch = tile.channel(%as) {producer = #tile.producer<cp_async>} : !buffer -> !channel
    %start = tile.cursor : !cursor
    %any = arith.cmpi slt, %c0, %n : index
    %first = scf.if %any -> !cursor {
      %a = tile.slot %as[%start] : !buffer -> !slot
      tile.acquire %ch[%start] : !channel
      tile.copy %A[0] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
      tile.commit %ch[%start] : !channel
      %pn = tile.advance %start : !cursor
      scf.yield %pn : !cursor
    } else {
      scf.yield %start : !cursor
    }
    tile.commit_group
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %first, %q = %start) -> (!cursor, !cursor) {
      %next = arith.addi %k, %c1 : index
      %more = arith.cmpi slt, %next, %n : index
      tile.barrier
      %pm = scf.if %more -> !cursor {
        %a = tile.slot %as[%p] : !buffer -> !slot
        tile.acquire %ch[%p] : !channel
        tile.copy %A[%next] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
        tile.commit %ch[%p] : !channel
        %pn = tile.advance %p : !cursor
        scf.yield %pn : !cursor
      } else {
        scf.yield %p : !cursor
      }
      tile.commit_group
      tile.wait %ch[%q] {pending = 0 : i64} : !channel
      %b = tile.slot %as[%q] : !buffer -> !slot
      %x = tile.load %b : !slot -> !tile
      tile.release %ch[%q] : !channel
      %qn = tile.advance %q : !cursor
      tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
      scf.yield %pm, %qn : !cursor, !cursor
    }
    gpu.return
  }
}
