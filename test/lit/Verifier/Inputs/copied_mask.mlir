// Each iteration copies a mask to shared memory. The guard of the fill and the guard of
// the read are both loaded from there.

!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!mask = memref<4xi1, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @copied_mask(%A: memref<?xf32>, %mask: memref<?x4xi1>, %C: memref<16xf32>, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %false = arith.constant false
    %as = tile.alloc_shared : !buffer
    %ms = tile.alloc_shared : !mask
    %ch = tile.channel(%as) {producer = #tile.producer<cp_async>} : !buffer -> !channel
    %start = tile.cursor : !cursor
    %r:2 = scf.for %t = %c0 to %n step %c1 iter_args(%p = %start, %q = %start) -> (!cursor, !cursor) {
      tile.copy %mask[%t, 0] to %ms : memref<?x4xi1> to !mask
      %fill = memref.load %ms[%c1] : !mask
      %p1 = scf.if %fill -> !cursor {
        tile.acquire %ch[%p] : !channel
        %a = tile.slot %as[%p] : !buffer -> !slot
        tile.copy %A[%t] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
        tile.commit %ch[%p] : !channel
        %pn = tile.advance %p : !cursor
        scf.yield %pn : !cursor
      } else {
        scf.yield %p : !cursor
      }
      %read = memref.load %ms[%c1] : !mask
      %q1 = scf.if %read -> !cursor {
        tile.wait %ch[%q] : !channel
        %b = tile.slot %as[%q] : !buffer -> !slot
        %x = tile.load %b : !slot -> !tile
        tile.release %ch[%q] : !channel
        %qn = tile.advance %q : !cursor
        tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
        scf.yield %qn : !cursor
      } else {
        scf.yield %q : !cursor
      }
      scf.yield %p1, %q1 : !cursor, !cursor
    }
    gpu.return
  }
}
