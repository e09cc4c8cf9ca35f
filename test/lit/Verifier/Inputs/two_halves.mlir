// One half of a buffer is filled by a copy and read, the other half is stored to.

!buffer = memref<16x16xf32, #gpu.address_space<workgroup>>
!tile = tensor<8x16xf32>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @two_halves(%A: memref<8x16xf32>, %C: memref<8x16xf32>, %n: index, %x: f32) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = tile.alloc_shared : !buffer
    %t = tensor.splat %x : !tile
    scf.for %i = %c0 to %n step %c1 {
      tile.barrier
      tile.copy %A[0, 0] [8, 16] to %s[8, 0] [8, 16] {tile.inst = #tile.inst<cp_async>} : memref<8x16xf32> to !buffer
      tile.commit_group
      tile.copy_group_wait {pending = 0 : i64}
      tile.barrier
      %l = tile.load %s[8, 0] [8, 16] : !buffer -> !tile
      tile.store %t to %s[0, 0] : !tile to !buffer
      %m = arith.addf %l, %l : !tile
      tile.store %m to %C : !tile to memref<8x16xf32>
    }
    gpu.return
  }
}
