// The consumer of a slot passes each tile on among its threads: through the scratch memory
// of a reduction, in which they synchronize, and through a buffer of its own. The barrier
// also orders the scratch memory's use in one iteration before that in the next one.

!buffer = memref<1x64xf32, #gpu.address_space<workgroup>>
!slot = memref<64xf32, #gpu.address_space<workgroup>>
!tile = tensor<64xf32, #tile.fragment<thread = (64):(1*d0), value = ():()>>
!barrier = !tile.mbarrier<1>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @thread_order(%A: memref<?xf32>, %C: memref<64xf32>, %s: memref<f32>, %on: i1, %n: index) kernel attributes {tile.threads = 96 : i32, tile.shared_bytes = 1024 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %as = tile.alloc_shared {tile.offset = 0 : i64} : !buffer
    %t = tile.alloc_shared {tile.offset = 256 : i64} : !slot
    %full = tile.mbarrier {count = 1 : i64, tile.offset = 512 : i64} : !barrier
    %empty = tile.mbarrier {count = 2 : i64, tile.offset = 528 : i64} : !barrier
    tile.mbarrier_ready
    tile.specialize {
      tile.role @math warps(2) {
        %r = scf.for %k = %c0 to %n step %c1 iter_args(%f = %i0) -> i32 {
          tile.mbarrier_wait %full[%i0], %f : !barrier
          %a = tile.slot %as[%i0] : !buffer, i32 -> !slot
          %x = tile.load %a : !slot -> !tile
          tile.proxy_fence
          tile.mbarrier_arrive %empty[%i0] {by = #tile.agents<warps>} : !barrier
          %z = tile.reduce <sum> %x {axis = 0 : i64, tile.offset = 768 : i64} : !tile -> tensor<f32>
          tile.store %x to %t : !tile to !slot
          tile.barrier
          %y = tile.load %t : !slot -> !tile
          tile.atomic_rmw <add> %z to %s : tensor<f32> to memref<f32>
          %fn = arith.xori %f, %i1 : i32
          scf.yield %fn : i32
        }
      }
      tile.role @load warps(1) {
        %q = scf.for %k = %c0 to %n step %c1 iter_args(%f = %i1) -> i32 {
          %at = arith.muli %k, %c16 : index
          tile.mbarrier_wait %empty[%i0], %f : !barrier
          %a = tile.slot %as[%i0] : !buffer, i32 -> !slot
          tile.copy %A[%at] to %a signals(%full[%i0]) {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot, !barrier
          tile.mbarrier_arrive %full[%i0] {by = #tile.agents<thread>, bytes = 256 : i64} : !barrier
          %fn = arith.xori %f, %i1 : i32
          scf.yield %fn : i32
        }
      }
    }
    gpu.return
  }
}
