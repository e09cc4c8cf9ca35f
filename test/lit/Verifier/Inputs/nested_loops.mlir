// Transactions in the inner of two loops. The outer loops carry the cursors on.

!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @nested_loops(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    %ch = tile.channel(%as) {producer = #tile.producer<tma>} : !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %t = %c0 to %m step %c1 iter_args(%qt = %q0) -> !cursor {
          %u = scf.for %k = %c0 to %n step %c1 iter_args(%q = %qt) -> !cursor {
            tile.wait %ch[%q] : !channel
            %a = tile.slot %as[%q] : !buffer -> !slot
            %x = tile.load %a : !slot -> !tile
            tile.release %ch[%q] : !channel
            tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
            %qn = tile.advance %q : !cursor
            scf.yield %qn : !cursor
          }
          scf.yield %u : !cursor
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %t = %c0 to %m step %c1 iter_args(%pt = %p0) -> !cursor {
          %v = scf.for %k = %c0 to %n step %c1 iter_args(%p = %pt) -> !cursor {
            %at = arith.muli %k, %c16 : index
            tile.acquire %ch[%p] : !channel
            %a = tile.slot %as[%p] : !buffer -> !slot
            tile.copy %A[%at] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
            tile.commit %ch[%p] : !channel
            %pn = tile.advance %p : !cursor
            scf.yield %pn : !cursor
          }
          scf.yield %v : !cursor
        }
      }
    }
    gpu.return
  }
}
