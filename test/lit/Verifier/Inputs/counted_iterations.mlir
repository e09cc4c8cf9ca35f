// Each role counts by a loop of its own how often something happens, and compares the
// number with %n.

!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @counted_iterations(%A: memref<?xf32>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %as = tile.alloc_shared : !buffer
    %own = tile.alloc_shared : !slot
    %ch = tile.channel(%as) {producer = #tile.producer<tma>} : !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %count = scf.for %i = %c0 to %m step %c1 iter_args(%t = %c0) -> (index) {
          tile.barrier
          %next = arith.addi %t, %c2 : index
          scf.yield %next : index
        }
        %few = arith.cmpi slt, %count, %n : index
        scf.if %few {
          tile.wait %ch[%q0] : !channel
          %a = tile.slot %as[%q0] : !buffer, !cursor -> !slot
          %x = tile.load %a : !slot -> !tile
          tile.release %ch[%q0] : !channel
          tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %count = scf.for %i = %c0 to %m step %c1 iter_args(%t = %c0) -> (index) {
          %next = arith.addi %t, %c2 : index
          scf.yield %next : index
        }
        %few = arith.cmpi slt, %count, %n : index
        scf.if %few {
          tile.acquire %ch[%p0] : !channel
          %a = tile.slot %as[%p0] : !buffer, !cursor -> !slot
          tile.copy %A[%c0] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %ch[%p0] : !channel
        }
      }
    }
    gpu.return
  }
}
