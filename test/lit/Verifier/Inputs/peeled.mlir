// The first transaction of one channel comes before the loop of @math, the last one of
// the other channel after it, as when matmuls of two iterations overlap. @load makes
// all of them in its loop.

!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @peeled(%A: memref<?xf32>, %B: memref<?xf32>, %C: memref<16xf32>, %n: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %c2 = arith.constant 2 : index
    %as = tile.alloc_shared : !buffer
    %bs = tile.alloc_shared : !buffer
    %cha = tile.channel(%as) {producer = #tile.producer<tma>} : !buffer -> !channel
    %chb = tile.channel(%bs) {producer = #tile.producer<tma>} : !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %runs = arith.cmpi sgt, %n, %c0 : index
        scf.if %runs {
          tile.wait %cha[%q0] : !channel
          %a0 = tile.slot %as[%q0] : !buffer -> !slot
          %x0 = tile.load %a0 : !slot -> !tile
          tile.release %cha[%q0] : !channel
          %q1 = tile.advance %q0 : !cursor
          %r:3 = scf.for %k = %c1 to %n step %c1 iter_args(%q = %q1, %p = %q0, %x = %x0) -> (!cursor, !cursor, !tile) {
            tile.wait %cha[%q] : !channel
            %a = tile.slot %as[%q] : !buffer -> !slot
            %y = tile.load %a : !slot -> !tile
            tile.release %cha[%q] : !channel
            %qn = tile.advance %q : !cursor
            tile.wait %chb[%p] : !channel
            %b = tile.slot %bs[%p] : !buffer -> !slot
            %z = tile.load %b : !slot -> !tile
            tile.release %chb[%p] : !channel
            %pn = tile.advance %p : !cursor
            %w = arith.addf %x, %z : !tile
            tile.atomic_rmw <add> %w to %C : !tile to memref<16xf32>
            scf.yield %qn, %pn, %y : !cursor, !cursor, !tile
          }
          tile.wait %chb[%r#1] : !channel
          %b1 = tile.slot %bs[%r#1] : !buffer -> !slot
          %z1 = tile.load %b1 : !slot -> !tile
          tile.release %chb[%r#1] : !channel
          %w1 = arith.addf %r#2, %z1 : !tile
          tile.atomic_rmw <add> %w1 to %C : !tile to memref<16xf32>
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0, %q = %p0) -> (!cursor, !cursor) {
          %at = arith.muli %k, %c16 : index
          tile.acquire %cha[%p] : !channel
          %a = tile.slot %as[%p] : !buffer -> !slot
          tile.copy %A[%at] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %cha[%p] : !channel
          %pn = tile.advance %p : !cursor
          tile.acquire %chb[%q] : !channel
          %b = tile.slot %bs[%q] : !buffer -> !slot
          tile.copy %B[%at] to %b {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %chb[%q] : !channel
          %qn = tile.advance %q : !cursor
          scf.yield %pn, %qn : !cursor, !cursor
        }
      }
    }
    gpu.return
  }
}
