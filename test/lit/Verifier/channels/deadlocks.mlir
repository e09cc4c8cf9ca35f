// RUN: tilews-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(tile-verify-schedule{report}))' --verify-diagnostics=only-expected

// Right, for 'circular wait of two channels' and those that follow.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @circular_wait_of_two_channels_right is proved}}
  gpu.func @circular_wait_of_two_channels_right(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          tile.acquire %cha[%p] : !channel
          %a = tile.slot %as[%p] : !buffer -> !slot
          tile.copy %A[%k] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %cha[%p] : !channel
          tile.acquire %chb[%p] : !channel
          %b = tile.slot %bs[%p] : !buffer -> !slot
          tile.copy %B[%k] to %b {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %chb[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: circular wait of two channels.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @circular_wait_of_two_channels(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          // expected-error @below {{schedule of @circular_wait_of_two_channels is wrong: role @math waits for slot 0 in phase 0 to be filled, for ever}}
          tile.wait %cha[%q] : !channel
          %a = tile.slot %as[%q] : !buffer -> !slot
          %x = tile.load %a : !slot -> !tile
          tile.release %cha[%q] : !channel
          tile.acquire %chb[%q] : !channel
          tile.commit %chb[%q] : !channel
          %y = arith.mulf %x, %x : !tile
          %qn = tile.advance %q : !cursor
          %z = arith.addf %x, %y : !tile
          tile.atomic_rmw <add> %z to %C : !tile to memref<16xf32>
          scf.yield %qn : !cursor
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          tile.acquire %cha[%p] : !channel
          %a = tile.slot %as[%p] : !buffer -> !slot
          tile.copy %A[%k] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.wait %chb[%p] : !channel
          tile.release %chb[%p] : !channel
          tile.commit %cha[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: all of one channel first.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @all_of_one_channel_first(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          // expected-error @below {{schedule of @all_of_one_channel_first is wrong: role @math waits for slot 0 in phase 0 to be filled, for ever}}
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
          tile.acquire %cha[%p] : !channel
          %a = tile.slot %as[%p] : !buffer -> !slot
          tile.copy %A[%k] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %cha[%p] : !channel
          %pn0 = tile.advance %p : !cursor
          scf.yield %pn0 : !cursor
        }
        %s2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          tile.acquire %chb[%p] : !channel
          %b = tile.slot %bs[%p] : !buffer -> !slot
          tile.copy %B[%k] to %b {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %chb[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Right, for 'both slots held' and those that follow.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @both_slots_held_right is proved}}
  gpu.func @both_slots_held_right(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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

// Wrong: both slots held.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @both_slots_held(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          // expected-error @below {{schedule of @both_slots_held is wrong: role @math waits for slot 0 in phase 0 to be filled, for ever}}
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
          %ahead = tile.advance %p : !cursor
          %more = tile.advance %ahead : !cursor
          tile.acquire %ch[%ahead] : !channel
          tile.acquire %ch[%more] : !channel
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

// Wrong: consumer waits ahead.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @consumer_waits_ahead(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          %q1 = tile.advance %q : !cursor
          // expected-error @below {{schedule of @consumer_waits_ahead is wrong: role @math waits for slot 1 in phase 0 to be filled, for ever}}
          tile.wait %ch[%q1] : !channel
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

// Right, for 'no consumer' and those that follow.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @no_consumer_right is proved}}
  gpu.func @no_consumer_right(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          tile.wait %chb[%q] : !channel
          tile.release %cha[%q] : !channel
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
          tile.acquire %cha[%p] : !channel
          %a = tile.slot %as[%p] : !buffer -> !slot
          tile.copy %A[%k] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %cha[%p] : !channel
          tile.acquire %chb[%p] : !channel
          %b = tile.slot %bs[%p] : !buffer -> !slot
          tile.copy %B[%k] to %b {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %chb[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: no consumer.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @no_consumer(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    %bs = tile.alloc_shared : !buffer
    %cha = tile.channel(%as) {producer = #tile.producer<tma>} : !buffer -> !channel
    // expected-error @below {{schedule of @no_consumer is wrong: slot 0 is filled and never waited for: producer and consumer make different numbers of transactions}}
    %chb = tile.channel(%bs) {producer = #tile.producer<tma>} : !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0) -> !cursor {
          tile.wait %cha[%q] : !channel
          %a = tile.slot %as[%q] : !buffer -> !slot
          %x = tile.load %a : !slot -> !tile
          tile.release %cha[%q] : !channel
          %y = arith.mulf %x, %x : !tile
          %qn = tile.advance %q : !cursor
          %z = arith.addf %x, %y : !tile
          tile.atomic_rmw <add> %z to %C : !tile to memref<16xf32>
          scf.yield %qn : !cursor
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !cursor {
          tile.acquire %cha[%p] : !channel
          %a = tile.slot %as[%p] : !buffer -> !slot
          tile.copy %A[%k] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %cha[%p] : !channel
          tile.acquire %chb[%p] : !channel
          %b = tile.slot %bs[%p] : !buffer -> !slot
          tile.copy %B[%k] to %b {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %chb[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: no producer.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @no_producer(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          // expected-error @below {{schedule of @no_producer is wrong: role @math waits for slot 0 in phase 0 to be filled, for ever}}
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
          tile.acquire %cha[%p] : !channel
          %a = tile.slot %as[%p] : !buffer -> !slot
          tile.copy %A[%k] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %cha[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}
