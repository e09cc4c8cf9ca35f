// Bounds and steps near the largest number. Sums of them do not overflow in the
// verifier, and its search ends.

!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @large_steps(%A: memref<?xf32>, %C: memref<16xf32>, %n: index) kernel attributes {tile.threads = 160 : i32} {
    %first = arith.constant -9223372036854775808 : index
    %c16 = arith.constant 16 : index
    %step = arith.constant 9223372036854775807 : index
    %as = tile.alloc_shared : !buffer
    %ch = tile.channel(%as) {producer = #tile.producer<tma>} : !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %k = %first to %n step %step iter_args(%q = %q0) -> !cursor {
          tile.wait %ch[%q] : !channel
          %a = tile.slot %as[%q] : !buffer -> !slot
          %x = tile.load %a : !slot -> !tile
          tile.release %ch[%q] : !channel
          tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
          %qn = tile.advance %q : !cursor
          scf.yield %qn : !cursor
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %r = scf.for %k = %first to %n step %step iter_args(%p = %p0) -> !cursor {
          %at = arith.muli %k, %c16 : index
          tile.acquire %ch[%p] : !channel
          %a = tile.slot %as[%p] : !buffer -> !slot
          tile.copy %A[%at] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}
