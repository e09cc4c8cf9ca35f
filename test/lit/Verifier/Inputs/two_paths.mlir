// In each iteration either @reader or @other waits for the writer, depending on a mask.
// @reader reads in the next iteration, after @other has arrived at %told, and so it is
// ordered after the write on both paths. Neither fact holds on all paths.

!buffer = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!barrier = !tile.mbarrier<1>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @two_paths(%mask: memref<?xi1>, %C: memref<16xf32>, %n: index) kernel attributes {tile.threads = 96 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %true = arith.constant true
    %value = arith.constant dense<1.0> : !tile
    %a = tile.alloc_shared : !buffer
    %written = tile.mbarrier {count = 1 : i64} : !barrier
    %told = tile.mbarrier {count = 1 : i64} : !barrier
    %read = tile.mbarrier {count = 1 : i64} : !barrier
    %heard = tile.mbarrier {count = 1 : i64} : !barrier
    tile.mbarrier_ready
    tile.specialize {
      tile.role @writer warps(1) {
        %r = scf.for %k = %c0 to %n step %c1 iter_args(%p = %i0) -> (i32) {
          tile.mbarrier_wait %read[%i0], %p : !barrier
          tile.store %value to %a : !tile to !buffer
          tile.mbarrier_arrive %written[%i0] {by = #tile.agents<warps>} : !barrier
          %next = arith.xori %p, %i1 : i32
          scf.yield %next : i32
        }
      }
      tile.role @reader warps(1) {
        %r = scf.for %k = %c0 to %n step %c1 iter_args(%p = %i0) -> (i32) {
          %before = arith.xori %p, %i1 : i32
          tile.mbarrier_wait %told[%i0], %before : !barrier
          %x = tile.load %a : !buffer -> !tile
          tile.mbarrier_arrive %read[%i0] {by = #tile.agents<warps>} : !barrier
          tile.mbarrier_arrive %heard[%i0] {by = #tile.agents<warps>} : !barrier
          tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
          %own = memref.load %mask[%k] : memref<?xi1>
          scf.if %own {
            tile.mbarrier_wait %written[%i0], %p : !barrier
          }
          %next = arith.xori %p, %i1 : i32
          scf.yield %next : i32
        }
      }
      tile.role @other warps(1) {
        %r = scf.for %k = %c0 to %n step %c1 iter_args(%p = %i0) -> (i32) {
          tile.mbarrier_wait %heard[%i0], %p : !barrier
          %own = memref.load %mask[%k] : memref<?xi1>
          %not = arith.xori %own, %true : i1
          scf.if %not {
            tile.mbarrier_wait %written[%i0], %p : !barrier
          }
          tile.mbarrier_arrive %told[%i0] {by = #tile.agents<warps>} : !barrier
          %next = arith.xori %p, %i1 : i32
          scf.yield %next : i32
        }
      }
    }
    gpu.return
  }
}
