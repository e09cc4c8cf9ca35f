// RUN: tilews-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(tile-verify-schedule{report}))' --verify-diagnostics=only-expected

// Right, for 'missing wait' and those that follow.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @missing_wait_right is proved}}
  gpu.func @missing_wait_right(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    %bs = tile.alloc_shared : !buffer
    %ch = tile.channel(%as, %bs) {producer = #tile.producer<tma>} : !buffer, !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0) -> !cursor {
          tile.wait %ch[%q] : !channel
          %a = tile.slot %as[%q] : !buffer -> !slot
          %b = tile.slot %bs[%q] : !buffer -> !slot
          %x = tile.load %a : !slot -> !tile
          %y = tile.load %b : !slot -> !tile
          tile.release %ch[%q] : !channel
          %qn = tile.advance %q : !cursor
          %z = arith.addf %x, %y : !tile
          tile.atomic_rmw <add> %z to %C : !tile to memref<16xf32>
          scf.yield %qn : !cursor
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          %i = arith.muli %k, %c16 : index
          tile.acquire %ch[%p] : !channel
          %a = tile.slot %as[%p] : !buffer -> !slot
          %b = tile.slot %bs[%p] : !buffer -> !slot
          tile.copy %A[%i] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.copy %B[%i] to %b {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: missing wait.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @missing_wait(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    %bs = tile.alloc_shared : !buffer
    %ch = tile.channel(%as, %bs) {producer = #tile.producer<tma>} : !buffer, !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0) -> !cursor {
          %a = tile.slot %as[%q] : !buffer -> !slot
          %b = tile.slot %bs[%q] : !buffer -> !slot
          %x = tile.load %a : !slot -> !tile
          %y = tile.load %b : !slot -> !tile
          // expected-error @below {{schedule of @missing_wait is wrong: role @math releases slot 0 in phase 0, which it has not waited for or has released already}}
          tile.release %ch[%q] : !channel
          %qn = tile.advance %q : !cursor
          %z = arith.addf %x, %y : !tile
          tile.atomic_rmw <add> %z to %C : !tile to memref<16xf32>
          scf.yield %qn : !cursor
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          %i = arith.muli %k, %c16 : index
          tile.acquire %ch[%p] : !channel
          %a = tile.slot %as[%p] : !buffer -> !slot
          %b = tile.slot %bs[%p] : !buffer -> !slot
          tile.copy %A[%i] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.copy %B[%i] to %b {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: missing release.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @missing_release(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    %bs = tile.alloc_shared : !buffer
    %ch = tile.channel(%as, %bs) {producer = #tile.producer<tma>} : !buffer, !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0) -> !cursor {
          // expected-error @below {{schedule of @missing_release is wrong: slot 0 is waited for and never released}}
          tile.wait %ch[%q] : !channel
          %a = tile.slot %as[%q] : !buffer -> !slot
          %b = tile.slot %bs[%q] : !buffer -> !slot
          %x = tile.load %a : !slot -> !tile
          %y = tile.load %b : !slot -> !tile
          %qn = tile.advance %q : !cursor
          %z = arith.addf %x, %y : !tile
          tile.atomic_rmw <add> %z to %C : !tile to memref<16xf32>
          scf.yield %qn : !cursor
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          %i = arith.muli %k, %c16 : index
          tile.acquire %ch[%p] : !channel
          %a = tile.slot %as[%p] : !buffer -> !slot
          %b = tile.slot %bs[%p] : !buffer -> !slot
          tile.copy %A[%i] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.copy %B[%i] to %b {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: missing acquire.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @missing_acquire(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    %bs = tile.alloc_shared : !buffer
    %ch = tile.channel(%as, %bs) {producer = #tile.producer<tma>} : !buffer, !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0) -> !cursor {
          tile.wait %ch[%q] : !channel
          %a = tile.slot %as[%q] : !buffer -> !slot
          %b = tile.slot %bs[%q] : !buffer -> !slot
          %x = tile.load %a : !slot -> !tile
          %y = tile.load %b : !slot -> !tile
          tile.release %ch[%q] : !channel
          %qn = tile.advance %q : !cursor
          %z = arith.addf %x, %y : !tile
          tile.atomic_rmw <add> %z to %C : !tile to memref<16xf32>
          scf.yield %qn : !cursor
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          %i = arith.muli %k, %c16 : index
          %a = tile.slot %as[%p] : !buffer -> !slot
          %b = tile.slot %bs[%p] : !buffer -> !slot
          // expected-error @below {{schedule of @missing_acquire is wrong: role @load writes to slot 0 of a channel outside of a transaction: it has neither acquired the slot nor waited for it}}
          tile.copy %A[%i] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.copy %B[%i] to %b {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: missing commit.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @missing_commit(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    %bs = tile.alloc_shared : !buffer
    %ch = tile.channel(%as, %bs) {producer = #tile.producer<tma>} : !buffer, !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0) -> !cursor {
          // expected-error @below {{schedule of @missing_commit is wrong: role @math waits for slot 0 in phase 0 to be filled, for ever}}
          tile.wait %ch[%q] : !channel
          %a = tile.slot %as[%q] : !buffer -> !slot
          %b = tile.slot %bs[%q] : !buffer -> !slot
          %x = tile.load %a : !slot -> !tile
          %y = tile.load %b : !slot -> !tile
          tile.release %ch[%q] : !channel
          %qn = tile.advance %q : !cursor
          %z = arith.addf %x, %y : !tile
          tile.atomic_rmw <add> %z to %C : !tile to memref<16xf32>
          scf.yield %qn : !cursor
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          %i = arith.muli %k, %c16 : index
          tile.acquire %ch[%p] : !channel
          %a = tile.slot %as[%p] : !buffer -> !slot
          %b = tile.slot %bs[%p] : !buffer -> !slot
          tile.copy %A[%i] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.copy %B[%i] to %b {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: missing copy.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @missing_copy(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    %bs = tile.alloc_shared : !buffer
    %ch = tile.channel(%as, %bs) {producer = #tile.producer<tma>} : !buffer, !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0) -> !cursor {
          tile.wait %ch[%q] : !channel
          %a = tile.slot %as[%q] : !buffer -> !slot
          %b = tile.slot %bs[%q] : !buffer -> !slot
          %x = tile.load %a : !slot -> !tile
          // expected-error @below {{schedule of @missing_copy is wrong: role @math reads slot 0 of a buffer that the transaction has not filled}}
          %y = tile.load %b : !slot -> !tile
          tile.release %ch[%q] : !channel
          %qn = tile.advance %q : !cursor
          %z = arith.addf %x, %y : !tile
          tile.atomic_rmw <add> %z to %C : !tile to memref<16xf32>
          scf.yield %qn : !cursor
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          %i = arith.muli %k, %c16 : index
          tile.acquire %ch[%p] : !channel
          %a = tile.slot %as[%p] : !buffer -> !slot
          %b = tile.slot %bs[%p] : !buffer -> !slot
          tile.copy %A[%i] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Right, for 'missing store of a buffer' and those that follow.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @missing_store_of_a_buffer_right is proved}}
  gpu.func @missing_store_of_a_buffer_right(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    %bs = tile.alloc_shared : !buffer
    %ch = tile.channel(%as, %bs) {producer = #tile.producer<tma>} : !buffer, !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0) -> !cursor {
          tile.wait %ch[%q] : !channel
          %a = tile.slot %as[%q] : !buffer -> !slot
          %b = tile.slot %bs[%q] : !buffer -> !slot
          %x = tile.load %a : !slot -> !tile
          %y = tile.load %b : !slot -> !tile
          tile.release %ch[%q] : !channel
          %qn = tile.advance %q : !cursor
          %z = arith.addf %x, %y : !tile
          tile.atomic_rmw <add> %z to %C : !tile to memref<16xf32>
          scf.yield %qn : !cursor
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          %i = arith.muli %k, %c16 : index
          tile.acquire %ch[%p] : !channel
          %a = tile.slot %as[%p] : !buffer -> !slot
          %b = tile.slot %bs[%p] : !buffer -> !slot
          tile.copy %B[%i] to %b {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.copy %A[%i] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: missing store of a buffer.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @missing_store_of_a_buffer(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    %bs = tile.alloc_shared : !buffer
    %ch = tile.channel(%as, %bs) {producer = #tile.producer<tma>} : !buffer, !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0) -> !cursor {
          tile.wait %ch[%q] : !channel
          %a = tile.slot %as[%q] : !buffer -> !slot
          %b = tile.slot %bs[%q] : !buffer -> !slot
          // expected-error @below {{schedule of @missing_store_of_a_buffer is wrong: role @math reads slot 0 of a buffer that the transaction has not filled}}
          %x = tile.load %a : !slot -> !tile
          %y = tile.load %b : !slot -> !tile
          tile.release %ch[%q] : !channel
          %qn = tile.advance %q : !cursor
          %z = arith.addf %x, %y : !tile
          tile.atomic_rmw <add> %z to %C : !tile to memref<16xf32>
          scf.yield %qn : !cursor
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          %i = arith.muli %k, %c16 : index
          tile.acquire %ch[%p] : !channel
          %a = tile.slot %as[%p] : !buffer -> !slot
          %b = tile.slot %bs[%p] : !buffer -> !slot
          tile.copy %B[%i] to %b {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: commit twice.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @commit_twice(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    %bs = tile.alloc_shared : !buffer
    %ch = tile.channel(%as, %bs) {producer = #tile.producer<tma>} : !buffer, !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0) -> !cursor {
          tile.wait %ch[%q] : !channel
          %a = tile.slot %as[%q] : !buffer -> !slot
          %b = tile.slot %bs[%q] : !buffer -> !slot
          %x = tile.load %a : !slot -> !tile
          %y = tile.load %b : !slot -> !tile
          tile.release %ch[%q] : !channel
          %qn = tile.advance %q : !cursor
          %z = arith.addf %x, %y : !tile
          tile.atomic_rmw <add> %z to %C : !tile to memref<16xf32>
          scf.yield %qn : !cursor
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          %i = arith.muli %k, %c16 : index
          tile.acquire %ch[%p] : !channel
          %a = tile.slot %as[%p] : !buffer -> !slot
          %b = tile.slot %bs[%p] : !buffer -> !slot
          tile.copy %A[%i] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.copy %B[%i] to %b {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %ch[%p] : !channel
          // expected-error @below {{schedule of @commit_twice is wrong: role @load commits slot 0 in phase 0, which it has not acquired or has committed already}}
          tile.commit %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: release twice.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @release_twice(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    %bs = tile.alloc_shared : !buffer
    %ch = tile.channel(%as, %bs) {producer = #tile.producer<tma>} : !buffer, !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0) -> !cursor {
          tile.wait %ch[%q] : !channel
          %a = tile.slot %as[%q] : !buffer -> !slot
          %b = tile.slot %bs[%q] : !buffer -> !slot
          %x = tile.load %a : !slot -> !tile
          %y = tile.load %b : !slot -> !tile
          tile.release %ch[%q] : !channel
          // expected-error @below {{schedule of @release_twice is wrong: role @math releases slot 0 in phase 0, which it has not waited for or has released already}}
          tile.release %ch[%q] : !channel
          %qn = tile.advance %q : !cursor
          %z = arith.addf %x, %y : !tile
          tile.atomic_rmw <add> %z to %C : !tile to memref<16xf32>
          scf.yield %qn : !cursor
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          %i = arith.muli %k, %c16 : index
          tile.acquire %ch[%p] : !channel
          %a = tile.slot %as[%p] : !buffer -> !slot
          %b = tile.slot %bs[%p] : !buffer -> !slot
          tile.copy %A[%i] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.copy %B[%i] to %b {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Right, for 'release before last read' and those that follow.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @release_before_last_read_right is proved}}
  gpu.func @release_before_last_read_right(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    %bs = tile.alloc_shared : !buffer
    %ch = tile.channel(%as, %bs) {producer = #tile.producer<tma>} : !buffer, !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0) -> !cursor {
          tile.wait %ch[%q] : !channel
          %a = tile.slot %as[%q] : !buffer -> !slot
          %b = tile.slot %bs[%q] : !buffer -> !slot
          %y = tile.load %b : !slot -> !tile
          %x = tile.load %a : !slot -> !tile
          tile.release %ch[%q] : !channel
          %qn = tile.advance %q : !cursor
          %z = arith.addf %x, %y : !tile
          tile.atomic_rmw <add> %z to %C : !tile to memref<16xf32>
          scf.yield %qn : !cursor
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          %i = arith.muli %k, %c16 : index
          tile.acquire %ch[%p] : !channel
          %a = tile.slot %as[%p] : !buffer -> !slot
          %b = tile.slot %bs[%p] : !buffer -> !slot
          tile.copy %A[%i] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.copy %B[%i] to %b {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: release before last read.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @release_before_last_read(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    %bs = tile.alloc_shared : !buffer
    %ch = tile.channel(%as, %bs) {producer = #tile.producer<tma>} : !buffer, !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0) -> !cursor {
          tile.wait %ch[%q] : !channel
          %a = tile.slot %as[%q] : !buffer -> !slot
          %b = tile.slot %bs[%q] : !buffer -> !slot
          %x = tile.load %a : !slot -> !tile
          tile.release %ch[%q] : !channel
          // expected-error @below {{schedule of @release_before_last_read is wrong: reads slot 0 of a channel outside of a transaction, between no tile.wait and tile.release of it, and the slot is filled again}}
          %y = tile.load %b : !slot -> !tile
          %qn = tile.advance %q : !cursor
          %z = arith.addf %x, %y : !tile
          tile.atomic_rmw <add> %z to %C : !tile to memref<16xf32>
          scf.yield %qn : !cursor
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          %i = arith.muli %k, %c16 : index
          tile.acquire %ch[%p] : !channel
          %a = tile.slot %as[%p] : !buffer -> !slot
          %b = tile.slot %bs[%p] : !buffer -> !slot
          tile.copy %A[%i] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.copy %B[%i] to %b {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: commit before last copy.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @commit_before_last_copy(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    %bs = tile.alloc_shared : !buffer
    %ch = tile.channel(%as, %bs) {producer = #tile.producer<tma>} : !buffer, !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0) -> !cursor {
          tile.wait %ch[%q] : !channel
          %a = tile.slot %as[%q] : !buffer -> !slot
          %b = tile.slot %bs[%q] : !buffer -> !slot
          %x = tile.load %a : !slot -> !tile
          %y = tile.load %b : !slot -> !tile
          tile.release %ch[%q] : !channel
          %qn = tile.advance %q : !cursor
          %z = arith.addf %x, %y : !tile
          tile.atomic_rmw <add> %z to %C : !tile to memref<16xf32>
          scf.yield %qn : !cursor
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          %i = arith.muli %k, %c16 : index
          tile.acquire %ch[%p] : !channel
          %a = tile.slot %as[%p] : !buffer -> !slot
          %b = tile.slot %bs[%p] : !buffer -> !slot
          tile.copy %A[%i] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %ch[%p] : !channel
          // expected-error @below {{schedule of @commit_before_last_copy is wrong: role @load writes to slot 0 of a channel outside of a transaction: it has neither acquired the slot nor waited for it}}
          tile.copy %B[%i] to %b {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: copy before acquire.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @copy_before_acquire(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    %bs = tile.alloc_shared : !buffer
    %ch = tile.channel(%as, %bs) {producer = #tile.producer<tma>} : !buffer, !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0) -> !cursor {
          tile.wait %ch[%q] : !channel
          %a = tile.slot %as[%q] : !buffer -> !slot
          %b = tile.slot %bs[%q] : !buffer -> !slot
          %x = tile.load %a : !slot -> !tile
          %y = tile.load %b : !slot -> !tile
          tile.release %ch[%q] : !channel
          %qn = tile.advance %q : !cursor
          %z = arith.addf %x, %y : !tile
          tile.atomic_rmw <add> %z to %C : !tile to memref<16xf32>
          scf.yield %qn : !cursor
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          %i = arith.muli %k, %c16 : index
          %a = tile.slot %as[%p] : !buffer -> !slot
          %b = tile.slot %bs[%p] : !buffer -> !slot
          // expected-error @below {{schedule of @copy_before_acquire is wrong: role @load writes to slot 0 of a channel outside of a transaction: it has neither acquired the slot nor waited for it}}
          tile.copy %A[%i] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.acquire %ch[%p] : !channel
          tile.copy %B[%i] to %b {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Right, for 'wait after first read' and those that follow.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @wait_after_first_read_right is proved}}
  gpu.func @wait_after_first_read_right(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    %bs = tile.alloc_shared : !buffer
    %ch = tile.channel(%as, %bs) {producer = #tile.producer<tma>} : !buffer, !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0) -> !cursor {
          %a = tile.slot %as[%q] : !buffer -> !slot
          %b = tile.slot %bs[%q] : !buffer -> !slot
          tile.wait %ch[%q] : !channel
          %x = tile.load %a : !slot -> !tile
          %y = tile.load %b : !slot -> !tile
          tile.release %ch[%q] : !channel
          %qn = tile.advance %q : !cursor
          %z = arith.addf %x, %y : !tile
          tile.atomic_rmw <add> %z to %C : !tile to memref<16xf32>
          scf.yield %qn : !cursor
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          %i = arith.muli %k, %c16 : index
          tile.acquire %ch[%p] : !channel
          %a = tile.slot %as[%p] : !buffer -> !slot
          %b = tile.slot %bs[%p] : !buffer -> !slot
          tile.copy %A[%i] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.copy %B[%i] to %b {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: wait after first read.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @wait_after_first_read(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    %bs = tile.alloc_shared : !buffer
    %ch = tile.channel(%as, %bs) {producer = #tile.producer<tma>} : !buffer, !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0) -> !cursor {
          %a = tile.slot %as[%q] : !buffer -> !slot
          %b = tile.slot %bs[%q] : !buffer -> !slot
          // expected-error @below {{schedule of @wait_after_first_read is wrong: reads slot 0 of a channel outside of a transaction, between no tile.wait and tile.release of it, and the slot is filled again}}
          %x = tile.load %a : !slot -> !tile
          tile.wait %ch[%q] : !channel
          %y = tile.load %b : !slot -> !tile
          tile.release %ch[%q] : !channel
          %qn = tile.advance %q : !cursor
          %z = arith.addf %x, %y : !tile
          tile.atomic_rmw <add> %z to %C : !tile to memref<16xf32>
          scf.yield %qn : !cursor
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          %i = arith.muli %k, %c16 : index
          tile.acquire %ch[%p] : !channel
          %a = tile.slot %as[%p] : !buffer -> !slot
          %b = tile.slot %bs[%p] : !buffer -> !slot
          tile.copy %A[%i] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.copy %B[%i] to %b {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: release before wait.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @release_before_wait(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    %bs = tile.alloc_shared : !buffer
    %ch = tile.channel(%as, %bs) {producer = #tile.producer<tma>} : !buffer, !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0) -> !cursor {
          // expected-error @below {{schedule of @release_before_wait is wrong: role @math releases slot 0 in phase 0, which it has not waited for or has released already}}
          tile.release %ch[%q] : !channel
          tile.wait %ch[%q] : !channel
          %a = tile.slot %as[%q] : !buffer -> !slot
          %b = tile.slot %bs[%q] : !buffer -> !slot
          %x = tile.load %a : !slot -> !tile
          %y = tile.load %b : !slot -> !tile
          %qn = tile.advance %q : !cursor
          %z = arith.addf %x, %y : !tile
          tile.atomic_rmw <add> %z to %C : !tile to memref<16xf32>
          scf.yield %qn : !cursor
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          %i = arith.muli %k, %c16 : index
          tile.acquire %ch[%p] : !channel
          %a = tile.slot %as[%p] : !buffer -> !slot
          %b = tile.slot %bs[%p] : !buffer -> !slot
          tile.copy %A[%i] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.copy %B[%i] to %b {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: release outside of the loop.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @release_outside_of_the_loop(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    %bs = tile.alloc_shared : !buffer
    %ch = tile.channel(%as, %bs) {producer = #tile.producer<tma>} : !buffer, !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0) -> !cursor {
          tile.wait %ch[%q] : !channel
          %a = tile.slot %as[%q] : !buffer -> !slot
          %b = tile.slot %bs[%q] : !buffer -> !slot
          %x = tile.load %a : !slot -> !tile
          %y = tile.load %b : !slot -> !tile
          %qn = tile.advance %q : !cursor
          %z = arith.addf %x, %y : !tile
          tile.atomic_rmw <add> %z to %C : !tile to memref<16xf32>
          scf.yield %qn : !cursor
        }
        // expected-error @below {{schedule of @release_outside_of_the_loop is wrong: role @math releases slot 1 in phase 0, which it has not waited for or has released already}}
        tile.release %ch[%r] : !channel
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          %i = arith.muli %k, %c16 : index
          tile.acquire %ch[%p] : !channel
          %a = tile.slot %as[%p] : !buffer -> !slot
          %b = tile.slot %bs[%p] : !buffer -> !slot
          tile.copy %A[%i] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.copy %B[%i] to %b {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Right, for 'consumer writes before wait' and those that follow.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @consumer_writes_before_wait_right is proved}}
  gpu.func @consumer_writes_before_wait_right(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    %bs = tile.alloc_shared : !buffer
    %ch = tile.channel(%as, %bs) {producer = #tile.producer<tma>} : !buffer, !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0) -> !cursor {
          tile.wait %ch[%q] : !channel
          %a = tile.slot %as[%q] : !buffer -> !slot
          %b = tile.slot %bs[%q] : !buffer -> !slot
          %x = tile.load %a : !slot -> !tile
          tile.store %x to %a : !tile to !slot
          %y = tile.load %b : !slot -> !tile
          tile.release %ch[%q] : !channel
          %qn = tile.advance %q : !cursor
          %z = arith.addf %x, %y : !tile
          tile.atomic_rmw <add> %z to %C : !tile to memref<16xf32>
          scf.yield %qn : !cursor
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          %i = arith.muli %k, %c16 : index
          tile.acquire %ch[%p] : !channel
          %a = tile.slot %as[%p] : !buffer -> !slot
          %b = tile.slot %bs[%p] : !buffer -> !slot
          tile.copy %A[%i] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.copy %B[%i] to %b {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: consumer writes before wait.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @consumer_writes_before_wait(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    %bs = tile.alloc_shared : !buffer
    %ch = tile.channel(%as, %bs) {producer = #tile.producer<tma>} : !buffer, !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0) -> !cursor {
          %a0 = tile.slot %as[%q] : !buffer -> !slot
          %f = arith.constant dense<0.0> : !tile
          // expected-error @below {{schedule of @consumer_writes_before_wait is wrong: role @math writes to slot 0 of a channel outside of a transaction: it has neither acquired the slot nor waited for it}}
          tile.store %f to %a0 : !tile to !slot
          tile.wait %ch[%q] : !channel
          %a = tile.slot %as[%q] : !buffer -> !slot
          %b = tile.slot %bs[%q] : !buffer -> !slot
          %x = tile.load %a : !slot -> !tile
          %y = tile.load %b : !slot -> !tile
          tile.release %ch[%q] : !channel
          %qn = tile.advance %q : !cursor
          %z = arith.addf %x, %y : !tile
          tile.atomic_rmw <add> %z to %C : !tile to memref<16xf32>
          scf.yield %qn : !cursor
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          %i = arith.muli %k, %c16 : index
          tile.acquire %ch[%p] : !channel
          %a = tile.slot %as[%p] : !buffer -> !slot
          %b = tile.slot %bs[%p] : !buffer -> !slot
          tile.copy %A[%i] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.copy %B[%i] to %b {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: roles swapped.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @roles_swapped(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    %bs = tile.alloc_shared : !buffer
    %ch = tile.channel(%as, %bs) {producer = #tile.producer<tma>} : !buffer, !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0) -> !cursor {
          tile.acquire %ch[%q] : !channel
          %a = tile.slot %as[%q] : !buffer -> !slot
          %b = tile.slot %bs[%q] : !buffer -> !slot
          // expected-error @below {{schedule of @roles_swapped is wrong: role @math reads slot 0 of a channel while it is filled}}
          %x = tile.load %a : !slot -> !tile
          %y = tile.load %b : !slot -> !tile
          tile.commit %ch[%q] : !channel
          %qn = tile.advance %q : !cursor
          %z = arith.addf %x, %y : !tile
          tile.atomic_rmw <add> %z to %C : !tile to memref<16xf32>
          scf.yield %qn : !cursor
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          %i = arith.muli %k, %c16 : index
          tile.wait %ch[%p] : !channel
          %a = tile.slot %as[%p] : !buffer -> !slot
          %b = tile.slot %bs[%p] : !buffer -> !slot
          tile.copy %A[%i] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.copy %B[%i] to %b {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.release %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: two producers.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @two_producers(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    %bs = tile.alloc_shared : !buffer
    // expected-error @below {{schedule of @two_producers is wrong: a channel has one producer, but role @load and role @math both fill it}}
    %ch = tile.channel(%as, %bs) {producer = #tile.producer<tma>} : !buffer, !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0) -> !cursor {
          tile.wait %ch[%q] : !channel
          %a = tile.slot %as[%q] : !buffer -> !slot
          %b = tile.slot %bs[%q] : !buffer -> !slot
          %x = tile.load %a : !slot -> !tile
          %y = tile.load %b : !slot -> !tile
          tile.release %ch[%q] : !channel
          tile.commit %ch[%q] : !channel
          %qn = tile.advance %q : !cursor
          %z = arith.addf %x, %y : !tile
          tile.atomic_rmw <add> %z to %C : !tile to memref<16xf32>
          scf.yield %qn : !cursor
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          %i = arith.muli %k, %c16 : index
          tile.acquire %ch[%p] : !channel
          %a = tile.slot %as[%p] : !buffer -> !slot
          %b = tile.slot %bs[%p] : !buffer -> !slot
          tile.copy %A[%i] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.copy %B[%i] to %b {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}
