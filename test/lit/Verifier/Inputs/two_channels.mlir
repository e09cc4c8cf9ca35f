// Each role has two channels, and one transaction of each in an iteration.

!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @two_channels(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    %bs = tile.alloc_shared : !buffer
    %cha = tile.channel(%as) {producer = #tile.producer<tma>} : !buffer -> !channel
    %chb = tile.channel(%bs) {producer = #tile.producer<tma>} : !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0) -> !cursor {
          tile.wait %cha[%q] : !channel
          %a = tile.slot %as[%q] : !buffer -> !slot
          %x = tile.load %a : !slot -> !tile
          tile.release %cha[%q] : !channel
          tile.wait %chb[%q] : !channel
          %b = tile.slot %bs[%q] : !buffer -> !slot
          %y = tile.load %b : !slot -> !tile
          tile.release %chb[%q] : !channel
          %qn = tile.advance %q : !cursor
          %z = arith.addf %x, %y : !tile
          tile.atomic_rmw <add> %z to %C : !tile to memref<16xf32>
          scf.yield %qn : !cursor
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          %at = arith.muli %k, %c16 : index
          tile.acquire %cha[%p] : !channel
          %a = tile.slot %as[%p] : !buffer -> !slot
          tile.copy %A[%at] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %cha[%p] : !channel
          tile.acquire %chb[%p] : !channel
          %b = tile.slot %bs[%p] : !buffer -> !slot
          tile.copy %B[%at] to %b {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %chb[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}
