// RUN: tilews-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(tile-verify-schedule{report}))' --verify-diagnostics=only-expected

// Right, for 'guard in the consumer only' and those that follow.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @guard_in_the_consumer_only_right is proved}}
  gpu.func @guard_in_the_consumer_only_right(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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

// Wrong: guard in the consumer only.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @guard_in_the_consumer_only(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          %on = memref.load %mask[%k] : memref<?xi1>
          scf.if %on {
            tile.wait %ch[%q] : !channel
          }
          %a = tile.slot %as[%q] : !buffer -> !slot
          %b = tile.slot %bs[%q] : !buffer -> !slot
          // expected-error @below {{schedule of @guard_in_the_consumer_only is wrong: role @math reads slot 1 of a channel without a tile.wait for its fill}}
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

// Right, for 'different guards' and those that follow.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @different_guards_right is proved}}
  gpu.func @different_guards_right(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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

// Wrong: different guards.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @different_guards(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
            // expected-error @below {{schedule of @different_guards is wrong: role @math waits for slot 1 in phase 0 to be filled, for ever}}
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
          %k1 = arith.addi %k, %c1 : index
          %on = memref.load %mask[%k1] : memref<?xi1>
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

// Right, for 'negated guard' and those that follow.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @negated_guard_right is proved}}
  gpu.func @negated_guard_right(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          %true = arith.constant true
          %off = arith.xori %on, %true : i1
          %same = arith.xori %off, %true : i1
          %pn = scf.if %same -> !cursor {
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

// Wrong: negated guard.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @negated_guard(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
            // expected-error @below {{schedule of @negated_guard is wrong: role @math waits for slot 0 in phase 0 to be filled, for ever}}
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
          %true = arith.constant true
          %off = arith.xori %on, %true : i1
          %pn = scf.if %off -> !cursor {
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

// Wrong: consumer has a turn less.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @consumer_has_a_turn_less(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    %bs = tile.alloc_shared : !buffer
    // expected-error @below {{schedule of @consumer_has_a_turn_less is wrong: slot 0 is filled and never waited for: producer and consumer make different numbers of transactions}}
    %ch = tile.channel(%as, %bs) {producer = #tile.producer<tma>} : !buffer, !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %k = %c1 to %n step %c1 iter_args(%q = %q0) -> !cursor {
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

// Wrong: producer has a turn more.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @producer_has_a_turn_more(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    %bs = tile.alloc_shared : !buffer
    // expected-error @below {{schedule of @producer_has_a_turn_more is wrong: slot 1 is filled and never waited for: producer and consumer make different numbers of transactions}}
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
        %n1 = arith.addi %n, %c1 : index
        %s = scf.for %k = %c0 to %n1 step %c1 iter_args(%p = %p0) -> !cursor {
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

// Wrong: loops of other lengths.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @loops_of_other_lengths(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    %bs = tile.alloc_shared : !buffer
    // expected-error @below {{schedule of @loops_of_other_lengths is wrong: slot 0 is filled and never waited for: producer and consumer make different numbers of transactions}}
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
        %s = scf.for %k = %c0 to %m step %c1 iter_args(%p = %p0) -> !cursor {
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

// Wrong: early exit of the producer.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @early_exit_of_the_producer(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          // expected-error @below {{schedule of @early_exit_of_the_producer is wrong: role @math waits for slot 0 in phase 0 to be filled, for ever}}
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
        %l = arith.minsi %n, %c16 : index
        %s = scf.for %k = %c0 to %l step %c1 iter_args(%p = %p0) -> !cursor {
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

// Wrong: early exit of the consumer.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @early_exit_of_the_consumer(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    // expected-error @below {{schedule of @early_exit_of_the_consumer is wrong: slot 0 is filled and never waited for: producer and consumer make different numbers of transactions}}
    %ch = tile.channel(%as) {producer = #tile.producer<tma>} : !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0) -> !cursor {
          %all = memref.load %mask[%k] : memref<?xi1>
          %low = arith.cmpi slt, %k, %c16 : index
          %on = arith.andi %all, %low : i1
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

// Right, for 'empty partition of the consumer' and those that follow.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @empty_partition_of_the_consumer_right is proved}}
  gpu.func @empty_partition_of_the_consumer_right(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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

// Wrong: empty partition of the consumer.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @empty_partition_of_the_consumer(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %as = tile.alloc_shared : !buffer
    // expected-error @below {{schedule of @empty_partition_of_the_consumer is wrong: slot 0 is filled and never waited for: producer and consumer make different numbers of transactions}}
    %ch = tile.channel(%as) {producer = #tile.producer<tma>} : !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %t = %c0 to %c0 step %c1 iter_args(%qt = %q0) -> !cursor {
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

// Wrong: guard differs between threads.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @guard_differs_between_threads(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 160 : i32} {
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
          %id = gpu.thread_id x
          %on = memref.load %mask[%id] : memref<?xi1>
          // expected-error @below {{schedule of @guard_differs_between_threads is wrong: threads of a role may decide differently here, but transactions are made by all of them}}
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
