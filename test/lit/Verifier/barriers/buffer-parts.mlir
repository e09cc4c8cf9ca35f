// RUN: tilews-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(tile-verify-schedule{report}))' --verify-diagnostics=only-expected

// Parts of a buffer that do not overlap are told apart.

!buffer = memref<16x16xf32, #gpu.address_space<workgroup>>
!tile = tensor<8x16xf32>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  // Right: what is stored lies beside what others may still read.
  // expected-remark @below {{tile-verify-0002: schedule of @another_part is proved}}
  gpu.func @another_part(%A: memref<8x16xf32>, %C: memref<8x16xf32>, %n: index, %x: f32) kernel attributes {tile.threads = 128 : i32} {
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

// -----

!buffer = memref<16x16xf32, #gpu.address_space<workgroup>>
!tile = tensor<8x16xf32>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  // Wrong: it lies in the same place.
  gpu.func @the_same_part(%A: memref<8x16xf32>, %C: memref<8x16xf32>, %n: index, %x: f32) kernel attributes {tile.threads = 128 : i32} {
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
      // expected-error @below {{the kernel writes to a buffer that others of its threads may still read}}
      tile.store %t to %s[8, 0] : !tile to !buffer
      %m = arith.addf %l, %l : !tile
      tile.store %m to %C : !tile to memref<8x16xf32>
    }
    gpu.return
  }
}

// -----

!buffer = memref<16x16xf32, #gpu.address_space<workgroup>>
!tile = tensor<8x16xf32>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  // Wrong: all of the buffer is read while a part of it is under way.
  gpu.func @all_parts(%A: memref<8x16xf32>, %C: memref<16x16xf32>, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = tile.alloc_shared : !buffer
    scf.for %i = %c0 to %n step %c1 {
      tile.barrier
      tile.copy %A[0, 0] [8, 16] to %s[8, 0] [8, 16] {tile.inst = #tile.inst<cp_async>} : memref<8x16xf32> to !buffer
      tile.commit_group
      // expected-error @below {{the kernel reads a buffer without waiting for what was written there}}
      %l = tile.load %s : !buffer -> tensor<16x16xf32>
      tile.copy_group_wait {pending = 0 : i64}
      tile.store %l to %C : tensor<16x16xf32> to memref<16x16xf32>
    }
    gpu.return
  }
}
