// RUN: tilews-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(tile-verify-schedule{report}))' --verify-diagnostics=only-expected

// Right, for 'producer does not advance' and those that follow.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @producer_does_not_advance_right is proved}}
  gpu.func @producer_does_not_advance_right(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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

// Wrong: producer does not advance.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @producer_does_not_advance(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          // expected-error @below {{schedule of @producer_does_not_advance is wrong: role @load acquires slot 0 in phase 0, but the next transaction is at slot 1 in phase 0: slots take turns}}
          tile.acquire %ch[%p] : !channel
          %a = tile.slot %as[%p] : !buffer -> !slot
          %b = tile.slot %bs[%p] : !buffer -> !slot
          tile.copy %A[%i] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.copy %B[%i] to %b {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %p : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: consumer does not advance.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @consumer_does_not_advance(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          // expected-error @below {{schedule of @consumer_does_not_advance is wrong: role @math waits for slot 0 in phase 0, but its next transaction is at slot 1 in phase 0: slots take turns}}
          tile.wait %ch[%q] : !channel
          %a = tile.slot %as[%q] : !buffer -> !slot
          %b = tile.slot %bs[%q] : !buffer -> !slot
          %x = tile.load %a : !slot -> !tile
          %y = tile.load %b : !slot -> !tile
          tile.release %ch[%q] : !channel
          %qn = tile.advance %q : !cursor
          %z = arith.addf %x, %y : !tile
          tile.atomic_rmw <add> %z to %C : !tile to memref<16xf32>
          scf.yield %q : !cursor
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

// Wrong: advance twice.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @advance_twice(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          // expected-error @below {{schedule of @advance_twice is wrong: role @load acquires slot 0 in phase 1, but the next transaction is at slot 1 in phase 0: slots take turns}}
          tile.acquire %ch[%p] : !channel
          %a = tile.slot %as[%p] : !buffer -> !slot
          %b = tile.slot %bs[%p] : !buffer -> !slot
          tile.copy %A[%i] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.copy %B[%i] to %b {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %ch[%p] : !channel
          %p1 = tile.advance %p : !cursor
          %pn = tile.advance %p1 : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: consumer advances twice.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @consumer_advances_twice(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          // expected-error @below {{schedule of @consumer_advances_twice is wrong: role @math waits for slot 0 in phase 1, but its next transaction is at slot 1 in phase 0: slots take turns}}
          tile.wait %ch[%q] : !channel
          %a = tile.slot %as[%q] : !buffer -> !slot
          %b = tile.slot %bs[%q] : !buffer -> !slot
          %x = tile.load %a : !slot -> !tile
          %y = tile.load %b : !slot -> !tile
          tile.release %ch[%q] : !channel
          %q1 = tile.advance %q : !cursor
          %qn = tile.advance %q1 : !cursor
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

// Wrong: consumer starts late.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @consumer_starts_late(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    %bs = tile.alloc_shared : !buffer
    %ch = tile.channel(%as, %bs) {producer = #tile.producer<tma>} : !buffer, !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %qz = tile.cursor : !cursor
        %q0 = tile.advance %qz : !cursor
        %r = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0) -> !cursor {
          // expected-error @below {{schedule of @consumer_starts_late is wrong: role @math waits for slot 1 in phase 0, but its next transaction is at slot 0 in phase 0: slots take turns}}
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

// Wrong: wrong slot is read.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @wrong_slot_is_read(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          %w = tile.advance %q : !cursor
          %b = tile.slot %bs[%w] : !buffer -> !slot
          %x = tile.load %a : !slot -> !tile
          // expected-error @below {{schedule of @wrong_slot_is_read is wrong: role @math reads slot 1 of a channel outside of a transaction, but the last one was at slot 0}}
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

// Wrong: wrong slot is filled.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @wrong_slot_is_filled(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          %w = tile.advance %p : !cursor
          %a = tile.slot %as[%w] : !buffer -> !slot
          %b = tile.slot %bs[%p] : !buffer -> !slot
          // expected-error @below {{schedule of @wrong_slot_is_filled is wrong: role @load writes to slot 1 of a channel outside of a transaction: it has neither acquired the slot nor waited for it}}
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

// Wrong: first slot is read always.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @first_slot_is_read_always(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          %a = tile.slot %as[%q0] : !buffer -> !slot
          %b = tile.slot %bs[%q] : !buffer -> !slot
          // expected-error @below {{schedule of @first_slot_is_read_always is wrong: role @math reads slot 0 of a channel outside of a transaction, but the last one was at slot 1}}
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

// Wrong: first slot is filled always.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @first_slot_is_filled_always(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          %b = tile.slot %bs[%p0] : !buffer -> !slot
          tile.copy %A[%i] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          // expected-error @below {{schedule of @first_slot_is_filled_always is wrong: role @load writes to slot 0 of a channel outside of a transaction: it has neither acquired the slot nor waited for it}}
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

// Right, for 'release of another slot' and those that follow.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @release_of_another_slot_right is proved}}
  gpu.func @release_of_another_slot_right(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          tile.release %ch[%q] : !channel
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

// Wrong: release of another slot.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @release_of_another_slot(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          // expected-error @below {{schedule of @release_of_another_slot is wrong: role @math releases slot 1 in phase 0, which it has not waited for or has released already}}
          tile.release %ch[%qn] : !channel
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

// Right, for 'commit of another slot' and those that follow.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @commit_of_another_slot_right is proved}}
  gpu.func @commit_of_another_slot_right(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          %pn = tile.advance %p : !cursor
          tile.commit %ch[%p] : !channel
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: commit of another slot.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @commit_of_another_slot(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          %pn = tile.advance %p : !cursor
          // expected-error @below {{schedule of @commit_of_another_slot is wrong: role @load commits slot 1 in phase 0, which it has not acquired or has committed already}}
          tile.commit %ch[%pn] : !channel
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Right, for 'cursor not carried by the outer loop' and those that follow.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @cursor_not_carried_by_the_outer_loop_right is proved}}
  gpu.func @cursor_not_carried_by_the_outer_loop_right(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    %ch = tile.channel(%as) {producer = #tile.producer<tma>} : !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %t = %c0 to %m step %c1 iter_args(%qt = %q0) -> !cursor {
          %u = scf.for %k = %c0 to %n step %c1 iter_args(%q = %qt) -> !cursor {
            tile.wait %ch[%q] : !channel
            %a = tile.slot %as[%q] : !buffer -> !slot
            %x = tile.load %a : !slot -> !tile
            tile.release %ch[%q] : !channel
            tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
            %qn = tile.advance %q : !cursor
            scf.yield %qn : !cursor
          }
          scf.yield %u : !cursor
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %t = %c0 to %m step %c1 iter_args(%pt = %p0) -> !cursor {
          %v = scf.for %k = %c0 to %n step %c1 iter_args(%p = %pt) -> !cursor {
            tile.acquire %ch[%p] : !channel
            %a = tile.slot %as[%p] : !buffer -> !slot
            tile.copy %A[%k] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
            tile.commit %ch[%p] : !channel
            %pn = tile.advance %p : !cursor
            scf.yield %pn : !cursor
          }
          scf.yield %v : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: cursor not carried by the outer loop.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @cursor_not_carried_by_the_outer_loop(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    %ch = tile.channel(%as) {producer = #tile.producer<tma>} : !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %t = %c0 to %m step %c1 iter_args(%qt = %q0) -> !cursor {
          %u = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0) -> !cursor {
            // expected-error @below {{schedule of @cursor_not_carried_by_the_outer_loop is wrong: role @math waits for slot 0 in phase 0, but its next transaction is at slot 0 in phase 1: slots take turns}}
            tile.wait %ch[%q] : !channel
            %a = tile.slot %as[%q] : !buffer -> !slot
            %x = tile.load %a : !slot -> !tile
            tile.release %ch[%q] : !channel
            tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
            %qn = tile.advance %q : !cursor
            scf.yield %qn : !cursor
          }
          scf.yield %u : !cursor
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %t = %c0 to %m step %c1 iter_args(%pt = %p0) -> !cursor {
          %v = scf.for %k = %c0 to %n step %c1 iter_args(%p = %pt) -> !cursor {
            tile.acquire %ch[%p] : !channel
            %a = tile.slot %as[%p] : !buffer -> !slot
            tile.copy %A[%k] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
            tile.commit %ch[%p] : !channel
            %pn = tile.advance %p : !cursor
            scf.yield %pn : !cursor
          }
          scf.yield %v : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: producers cursor not carried by the outer loop.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @producers_cursor_not_carried_by_the_outer_loop(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    %ch = tile.channel(%as) {producer = #tile.producer<tma>} : !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %t = %c0 to %m step %c1 iter_args(%qt = %q0) -> !cursor {
          %u = scf.for %k = %c0 to %n step %c1 iter_args(%q = %qt) -> !cursor {
            tile.wait %ch[%q] : !channel
            %a = tile.slot %as[%q] : !buffer -> !slot
            %x = tile.load %a : !slot -> !tile
            tile.release %ch[%q] : !channel
            tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
            %qn = tile.advance %q : !cursor
            scf.yield %qn : !cursor
          }
          scf.yield %u : !cursor
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %t = %c0 to %m step %c1 iter_args(%pt = %p0) -> !cursor {
          %v = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
            // expected-error @below {{schedule of @producers_cursor_not_carried_by_the_outer_loop is wrong: role @load acquires slot 0 in phase 0, but the next transaction is at slot 0 in phase 1: slots take turns}}
            tile.acquire %ch[%p] : !channel
            %a = tile.slot %as[%p] : !buffer -> !slot
            tile.copy %A[%k] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
            tile.commit %ch[%p] : !channel
            %pn = tile.advance %p : !cursor
            scf.yield %pn : !cursor
          }
          scf.yield %v : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: neither cursor carried by the outer loop.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @neither_cursor_carried_by_the_outer_loop(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    %ch = tile.channel(%as) {producer = #tile.producer<tma>} : !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %t = %c0 to %m step %c1 iter_args(%qt = %q0) -> !cursor {
          %u = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0) -> !cursor {
            tile.wait %ch[%q] : !channel
            %a = tile.slot %as[%q] : !buffer -> !slot
            %x = tile.load %a : !slot -> !tile
            tile.release %ch[%q] : !channel
            tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
            %qn = tile.advance %q : !cursor
            scf.yield %qn : !cursor
          }
          scf.yield %u : !cursor
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %t = %c0 to %m step %c1 iter_args(%pt = %p0) -> !cursor {
          %v = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
            // expected-error @below {{schedule of @neither_cursor_carried_by_the_outer_loop is wrong: role @load acquires slot 0 in phase 0, but the next transaction is at slot 0 in phase 1: slots take turns}}
            tile.acquire %ch[%p] : !channel
            %a = tile.slot %as[%p] : !buffer -> !slot
            tile.copy %A[%k] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
            tile.commit %ch[%p] : !channel
            %pn = tile.advance %p : !cursor
            scf.yield %pn : !cursor
          }
          scf.yield %v : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Right, for 'guard does not carry the cursor' and those that follow.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @guard_does_not_carry_the_cursor_right is proved}}
  gpu.func @guard_does_not_carry_the_cursor_right(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    %ch = tile.channel(%as) {producer = #tile.producer<tma>} : !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0) -> !cursor {
          %on = memref.load %mask[%k] : memref<?xi1>
          %qn = scf.if %on -> !cursor {
            tile.wait %ch[%q] : !channel
            %a = tile.slot %as[%q] : !buffer -> !slot
            %x = tile.load %a : !slot -> !tile
            tile.release %ch[%q] : !channel
            %qa = tile.advance %q : !cursor
            tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
            scf.yield %qa : !cursor
          } else {
            scf.yield %q : !cursor
          }
          scf.yield %qn : !cursor
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          %on = memref.load %mask[%k] : memref<?xi1>
          %pn = scf.if %on -> !cursor {
            tile.acquire %ch[%p] : !channel
            %a = tile.slot %as[%p] : !buffer -> !slot
            tile.copy %A[%k] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
            tile.commit %ch[%p] : !channel
            %pa = tile.advance %p : !cursor
            scf.yield %pa : !cursor
          } else {
            scf.yield %p : !cursor
          }
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: guard does not carry the cursor.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @guard_does_not_carry_the_cursor(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    %ch = tile.channel(%as) {producer = #tile.producer<tma>} : !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0) -> !cursor {
          %on = memref.load %mask[%k] : memref<?xi1>
          %qn = scf.if %on -> !cursor {
            // expected-error @below {{schedule of @guard_does_not_carry_the_cursor is wrong: role @math waits for slot 1 in phase 0, but its next transaction is at slot 1 in phase 1: slots take turns}}
            tile.wait %ch[%q] : !channel
            %a = tile.slot %as[%q] : !buffer -> !slot
            %x = tile.load %a : !slot -> !tile
            tile.release %ch[%q] : !channel
            %qa = tile.advance %q : !cursor
            tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
            scf.yield %qa : !cursor
          } else {
            %qe = tile.advance %q : !cursor
            scf.yield %qe : !cursor
          }
          scf.yield %qn : !cursor
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          %on = memref.load %mask[%k] : memref<?xi1>
          %pn = scf.if %on -> !cursor {
            tile.acquire %ch[%p] : !channel
            %a = tile.slot %as[%p] : !buffer -> !slot
            tile.copy %A[%k] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
            tile.commit %ch[%p] : !channel
            %pa = tile.advance %p : !cursor
            scf.yield %pa : !cursor
          } else {
            scf.yield %p : !cursor
          }
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: advance in both branches of the producer.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @advance_in_both_branches_of_the_producer(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    %ch = tile.channel(%as) {producer = #tile.producer<tma>} : !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0) -> !cursor {
          %on = memref.load %mask[%k] : memref<?xi1>
          %qn = scf.if %on -> !cursor {
            tile.wait %ch[%q] : !channel
            %a = tile.slot %as[%q] : !buffer -> !slot
            %x = tile.load %a : !slot -> !tile
            tile.release %ch[%q] : !channel
            %qa = tile.advance %q : !cursor
            tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
            scf.yield %qa : !cursor
          } else {
            scf.yield %q : !cursor
          }
          scf.yield %qn : !cursor
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          %on = memref.load %mask[%k] : memref<?xi1>
          %pn = scf.if %on -> !cursor {
            // expected-error @below {{schedule of @advance_in_both_branches_of_the_producer is wrong: role @load acquires slot 1 in phase 0, but the next transaction is at slot 1 in phase 1: slots take turns}}
            tile.acquire %ch[%p] : !channel
            %a = tile.slot %as[%p] : !buffer -> !slot
            tile.copy %A[%k] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
            tile.commit %ch[%p] : !channel
            %pa = tile.advance %p : !cursor
            scf.yield %pa : !cursor
          } else {
            %pe = tile.advance %p : !cursor
            scf.yield %pe : !cursor
          }
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}
