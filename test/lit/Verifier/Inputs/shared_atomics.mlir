// Two roles update a table in shared memory atomically. A third one waits for both, and
// reads the table.

!table = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barrier = !tile.mbarrier<1>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @shared_atomics(%A: memref<?xf32>, %C: memref<16xf32>, %n: index) kernel attributes {tile.threads = 192 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %i0 = arith.constant 0 : i32
    %zero = arith.constant dense<0.0> : !tile
    %table = tile.alloc_shared : !table
    %full = tile.mbarrier {count = 2 : i64} : !barrier
    tile.store %zero to %table : !tile to !table
    tile.mbarrier_ready
    tile.specialize {
      tile.role @one warps(1) {
        scf.for %k = %c0 to %n step %c1 {
          %x = tile.load %A[%k] : memref<?xf32> -> !tile
          tile.atomic_rmw <add> %x to %table : !tile to !table
        }
        tile.mbarrier_arrive %full[%i0] {by = #tile.agents<warps>} : !barrier
      }
      tile.role @two warps(1) {
        scf.for %k = %c0 to %n step %c1 {
          %y = tile.load %A[%k] : memref<?xf32> -> !tile
          tile.atomic_rmw <add> %y to %table : !tile to !table
        }
        tile.mbarrier_arrive %full[%i0] {by = #tile.agents<warps>} : !barrier
      }
      tile.role @out warps(4) {
        tile.mbarrier_wait %full[%i0], %i0 : !barrier
        %z = tile.load %table : !table -> !tile
        tile.store %z to %C : !tile to memref<16xf32>
      }
    }
    gpu.return
  }
}
