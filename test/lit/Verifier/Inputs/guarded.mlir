// Both roles make a transaction only where a mask says so, and advance their cursors
// only then.

!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @guarded(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    %ch = tile.channel(%as) {producer = #tile.producer<tma>} : !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0) -> !cursor {
          %on = memref.load %mask[%k] : memref<?xi1>
          %qn = scf.if %on -> !cursor {
            tile.wait %ch[%q] : !channel
            %a = tile.slot %as[%q] : !buffer -> !slot
            %x = tile.load %a : !slot -> !tile
            tile.release %ch[%q] : !channel
            %qa = tile.advance %q : !cursor
            tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
            scf.yield %qa : !cursor
          } else {
            scf.yield %q : !cursor
          }
          scf.yield %qn : !cursor
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          %at = arith.muli %k, %c16 : index
          %on = memref.load %mask[%k] : memref<?xi1>
          %pn = scf.if %on -> !cursor {
            tile.acquire %ch[%p] : !channel
            %a = tile.slot %as[%p] : !buffer -> !slot
            tile.copy %A[%at] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
            tile.commit %ch[%p] : !channel
            %pa = tile.advance %p : !cursor
            scf.yield %pa : !cursor
          } else {
            scf.yield %p : !cursor
          }
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}
