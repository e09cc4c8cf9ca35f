// The threads synchronize inside of a reduction that has scratch memory, between the
// read of the slot and the copy of the next iteration. There is no other barrier
// between them.

!buffer = memref<2x64xf32, #gpu.address_space<workgroup>>
!slot = memref<64xf32, #gpu.address_space<workgroup>>
!tile = tensor<64xf32, #tile.fragment<thread = (64):(1*d0), value = ():()>>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @scratch(%A: memref<?xf32>, %C: memref<f32>, %n: index) kernel attributes {tile.threads = 64 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %i0 = arith.constant 0 : i32
    %as = tile.alloc_shared {tile.offset = 0 : i64} : !buffer
    scf.for %k = %c0 to %n step %c1 {
      %a = tile.slot %as[%i0] : !buffer, i32 -> !slot
      tile.copy %A[%k] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
      tile.commit_group
      tile.copy_group_wait {pending = 0 : i64}
      tile.barrier
      %x = tile.load %a : !slot -> !tile
      %y = tile.reduce <sum> %x {axis = 0 : i64, tile.offset = 1024 : i64} : !tile -> tensor<f32>
      tile.atomic_rmw <add> %y to %C : tensor<f32> to memref<f32>
    }
    gpu.return
  }
}
