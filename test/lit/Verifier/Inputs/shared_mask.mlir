// Both guards are loaded from a mask in shared memory, which a copy fills before the
// loop.

!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @shared_mask(%A: memref<?xf32>, %table: memref<?xindex>, %mask: memref<16xi32>, %C: memref<16xf32>, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %Ms = tile.alloc_shared : memref<16xi32, #gpu.address_space<workgroup>>
    %as = tile.alloc_shared : !buffer
    %ch = tile.channel(%as) {producer = #tile.producer<cp_async>} : !buffer -> !channel
    %start = tile.cursor : !cursor
    tile.copy %mask to %Ms : memref<16xi32> to memref<16xi32, #gpu.address_space<workgroup>>
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %start, %q = %start) -> (!cursor, !cursor) {
      %m = memref.load %Ms[%k] : memref<16xi32, #gpu.address_space<workgroup>>
      %fills = arith.cmpi sgt, %m, %zero : i32
      %pa = scf.if %fills -> !cursor {
        %a = tile.slot %as[%p] : !buffer -> !slot
        tile.acquire %ch[%p] : !channel
        tile.copy %A[%k] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
        tile.commit %ch[%p] : !channel
        %pn = tile.advance %p : !cursor
        scf.yield %pn : !cursor
      } else {
        scf.yield %p : !cursor
      }
      tile.commit_group
      %l = memref.load %Ms[%k] : memref<16xi32, #gpu.address_space<workgroup>>
      %reads = arith.cmpi sgt, %l, %zero : i32
      %qa = scf.if %reads -> !cursor {
        tile.wait %ch[%q] {pending = 0 : i64} : !channel
        %b = tile.slot %as[%q] : !buffer -> !slot
        %x = tile.load %b : !slot -> !tile
        tile.release %ch[%q] : !channel
        %qn = tile.advance %q : !cursor
        tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
        scf.yield %qn : !cursor
      } else {
        scf.yield %q : !cursor
      }
      scf.yield %pa, %qa : !cursor, !cursor
    }
    gpu.return
  }
}
