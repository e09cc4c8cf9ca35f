// RUN: tilews-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(tile-verify-schedule{report}))' --verify-diagnostics=only-expected

// Right, for 'wait permits too many groups' and those that follow.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  // expected-remark @below {{tile-verify-0002: schedule of @wait_permits_too_many_groups_right is proved}}
  gpu.func @wait_permits_too_many_groups_right(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %true = arith.constant true
    %as = tile.alloc_shared {tile.offset = 0 : i64} : !buffer
    %ch = tile.channel(%as) {producer = #tile.producer<cp_async>} : !buffer -> !channel
    %start = tile.cursor : !cursor
    %any = arith.cmpi slt, %c0, %n : index
    %first = scf.if %any -> !cursor {
      %a = tile.slot %as[%start] : !buffer -> !slot
      tile.acquire %ch[%start] : !channel
      tile.copy %A[0] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
      tile.commit %ch[%start] : !channel
      %pn = tile.advance %start : !cursor
      scf.yield %pn : !cursor
    } else {
      scf.yield %start : !cursor
    }
    tile.commit_group
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %first, %q = %start) -> (!cursor, !cursor) {
      %next = arith.addi %k, %c1 : index
      %more = arith.cmpi slt, %next, %n : index
      tile.barrier
      %pm = scf.if %more -> !cursor {
        %a = tile.slot %as[%p] : !buffer -> !slot
        tile.acquire %ch[%p] : !channel
        tile.copy %A[%next] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
        tile.commit %ch[%p] : !channel
        %pn = tile.advance %p : !cursor
        scf.yield %pn : !cursor
      } else {
        scf.yield %p : !cursor
      }
      tile.commit_group
      tile.wait %ch[%q] {pending = 0 : i64} : !channel
      %b = tile.slot %as[%q] : !buffer -> !slot
      %x = tile.load %b : !slot -> !tile
      tile.release %ch[%q] : !channel
      %qn = tile.advance %q : !cursor
      tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
      scf.yield %pm, %qn : !cursor, !cursor
    }
    gpu.return
  }
}

// -----

// Wrong: wait permits too many groups.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @wait_permits_too_many_groups(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %true = arith.constant true
    %as = tile.alloc_shared {tile.offset = 0 : i64} : !buffer
    %ch = tile.channel(%as) {producer = #tile.producer<cp_async>} : !buffer -> !channel
    %start = tile.cursor : !cursor
    %any = arith.cmpi slt, %c0, %n : index
    %first = scf.if %any -> !cursor {
      %a = tile.slot %as[%start] : !buffer -> !slot
      tile.acquire %ch[%start] : !channel
      tile.copy %A[0] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
      tile.commit %ch[%start] : !channel
      %pn = tile.advance %start : !cursor
      scf.yield %pn : !cursor
    } else {
      scf.yield %start : !cursor
    }
    tile.commit_group
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %first, %q = %start) -> (!cursor, !cursor) {
      %next = arith.addi %k, %c1 : index
      %more = arith.cmpi slt, %next, %n : index
      tile.barrier
      %pm = scf.if %more -> !cursor {
        %a = tile.slot %as[%p] : !buffer -> !slot
        tile.acquire %ch[%p] : !channel
        tile.copy %A[%next] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
        tile.commit %ch[%p] : !channel
        %pn = tile.advance %p : !cursor
        scf.yield %pn : !cursor
      } else {
        scf.yield %p : !cursor
      }
      tile.commit_group
      tile.wait %ch[%q] {pending = 2 : i64} : !channel
      %b = tile.slot %as[%q] : !buffer -> !slot
      // expected-error @below {{schedule of @wait_permits_too_many_groups is wrong: reads slot 0 while copies to it may still be under way: the tile.wait before permits too many pending groups}}
      %x = tile.load %b : !slot -> !tile
      tile.release %ch[%q] : !channel
      %qn = tile.advance %q : !cursor
      tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
      scf.yield %pm, %qn : !cursor, !cursor
    }
    gpu.return
  }
}

// -----

// Right, for 'missing group' and those that follow.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  // expected-remark @below {{tile-verify-0002: schedule of @missing_group_right is proved}}
  gpu.func @missing_group_right(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %true = arith.constant true
    %as = tile.alloc_shared {tile.offset = 0 : i64} : !buffer
    %ch = tile.channel(%as) {producer = #tile.producer<cp_async>} : !buffer -> !channel
    %start = tile.cursor : !cursor
    %any = arith.cmpi slt, %c0, %n : index
    %first = scf.if %any -> !cursor {
      %a = tile.slot %as[%start] : !buffer -> !slot
      tile.acquire %ch[%start] : !channel
      tile.copy %A[0] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
      tile.commit %ch[%start] : !channel
      %pn = tile.advance %start : !cursor
      scf.yield %pn : !cursor
    } else {
      scf.yield %start : !cursor
    }
    tile.commit_group
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %first, %q = %start) -> (!cursor, !cursor) {
      %next = arith.addi %k, %c1 : index
      %more = arith.cmpi slt, %next, %n : index
      tile.barrier
      %pm = scf.if %more -> !cursor {
        %a = tile.slot %as[%p] : !buffer -> !slot
        tile.acquire %ch[%p] : !channel
        tile.copy %A[%next] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
        tile.commit %ch[%p] : !channel
        %pn = tile.advance %p : !cursor
        scf.yield %pn : !cursor
      } else {
        scf.yield %p : !cursor
      }
      tile.commit_group
      tile.wait %ch[%q] {pending = 1 : i64} : !channel
      %b = tile.slot %as[%q] : !buffer -> !slot
      %x = tile.load %b : !slot -> !tile
      tile.release %ch[%q] : !channel
      %qn = tile.advance %q : !cursor
      tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
      scf.yield %pm, %qn : !cursor, !cursor
    }
    gpu.return
  }
}

// -----

// Wrong: missing group.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @missing_group(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %true = arith.constant true
    %as = tile.alloc_shared {tile.offset = 0 : i64} : !buffer
    %ch = tile.channel(%as) {producer = #tile.producer<cp_async>} : !buffer -> !channel
    %start = tile.cursor : !cursor
    %any = arith.cmpi slt, %c0, %n : index
    %first = scf.if %any -> !cursor {
      %a = tile.slot %as[%start] : !buffer -> !slot
      tile.acquire %ch[%start] : !channel
      tile.copy %A[0] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
      tile.commit %ch[%start] : !channel
      %pn = tile.advance %start : !cursor
      scf.yield %pn : !cursor
    } else {
      scf.yield %start : !cursor
    }
    tile.commit_group
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %first, %q = %start) -> (!cursor, !cursor) {
      %next = arith.addi %k, %c1 : index
      %more = arith.cmpi slt, %next, %n : index
      tile.barrier
      %pm = scf.if %more -> !cursor {
        %a = tile.slot %as[%p] : !buffer -> !slot
        tile.acquire %ch[%p] : !channel
        tile.copy %A[%next] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
        tile.commit %ch[%p] : !channel
        %pn = tile.advance %p : !cursor
        scf.yield %pn : !cursor
      } else {
        scf.yield %p : !cursor
      }
      tile.wait %ch[%q] {pending = 1 : i64} : !channel
      %b = tile.slot %as[%q] : !buffer -> !slot
      // expected-error @below {{schedule of @missing_group is wrong: reads slot 0 while copies to it may still be under way: the tile.wait before permits too many pending groups}}
      %x = tile.load %b : !slot -> !tile
      tile.release %ch[%q] : !channel
      %qn = tile.advance %q : !cursor
      tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
      scf.yield %pm, %qn : !cursor, !cursor
    }
    gpu.return
  }
}

// -----

// Wrong: first group is not closed.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @first_group_is_not_closed(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %true = arith.constant true
    %as = tile.alloc_shared {tile.offset = 0 : i64} : !buffer
    %ch = tile.channel(%as) {producer = #tile.producer<cp_async>} : !buffer -> !channel
    %start = tile.cursor : !cursor
    %any = arith.cmpi slt, %c0, %n : index
    %first = scf.if %any -> !cursor {
      %a = tile.slot %as[%start] : !buffer -> !slot
      tile.acquire %ch[%start] : !channel
      tile.copy %A[0] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
      tile.commit %ch[%start] : !channel
      %pn = tile.advance %start : !cursor
      scf.yield %pn : !cursor
    } else {
      scf.yield %start : !cursor
    }
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %first, %q = %start) -> (!cursor, !cursor) {
      %next = arith.addi %k, %c1 : index
      %more = arith.cmpi slt, %next, %n : index
      tile.barrier
      %pm = scf.if %more -> !cursor {
        %a = tile.slot %as[%p] : !buffer -> !slot
        tile.acquire %ch[%p] : !channel
        tile.copy %A[%next] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
        tile.commit %ch[%p] : !channel
        %pn = tile.advance %p : !cursor
        scf.yield %pn : !cursor
      } else {
        scf.yield %p : !cursor
      }
      tile.commit_group
      tile.wait %ch[%q] {pending = 1 : i64} : !channel
      %b = tile.slot %as[%q] : !buffer -> !slot
      // expected-error @below {{schedule of @first_group_is_not_closed is wrong: reads slot 0 while copies to it may still be under way: the tile.wait before permits too many pending groups}}
      %x = tile.load %b : !slot -> !tile
      tile.release %ch[%q] : !channel
      %qn = tile.advance %q : !cursor
      tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
      scf.yield %pm, %qn : !cursor, !cursor
    }
    gpu.return
  }
}

// -----

// Wrong: group closed under the guard.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @group_closed_under_the_guard(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %true = arith.constant true
    %as = tile.alloc_shared {tile.offset = 0 : i64} : !buffer
    %ch = tile.channel(%as) {producer = #tile.producer<cp_async>} : !buffer -> !channel
    %start = tile.cursor : !cursor
    %any = arith.cmpi slt, %c0, %n : index
    %first = scf.if %any -> !cursor {
      %a = tile.slot %as[%start] : !buffer -> !slot
      tile.acquire %ch[%start] : !channel
      tile.copy %A[0] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
      tile.commit %ch[%start] : !channel
      %pn = tile.advance %start : !cursor
      scf.yield %pn : !cursor
    } else {
      scf.yield %start : !cursor
    }
    tile.commit_group
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %first, %q = %start) -> (!cursor, !cursor) {
      %next = arith.addi %k, %c1 : index
      %more = arith.cmpi slt, %next, %n : index
      tile.barrier
      %pm = scf.if %more -> !cursor {
        %a = tile.slot %as[%p] : !buffer -> !slot
        tile.acquire %ch[%p] : !channel
        tile.copy %A[%next] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
        tile.commit %ch[%p] : !channel
        tile.commit_group
        %pn = tile.advance %p : !cursor
        scf.yield %pn : !cursor
      } else {
        scf.yield %p : !cursor
      }
      tile.wait %ch[%q] {pending = 1 : i64} : !channel
      %b = tile.slot %as[%q] : !buffer -> !slot
      // expected-error @below {{schedule of @group_closed_under_the_guard is wrong: reads slot 0 while copies to it may still be under way: the tile.wait before permits too many pending groups}}
      %x = tile.load %b : !slot -> !tile
      tile.release %ch[%q] : !channel
      %qn = tile.advance %q : !cursor
      tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
      scf.yield %pm, %qn : !cursor, !cursor
    }
    gpu.return
  }
}

// -----

// Right, for 'no barrier before a slot is refilled' and those that follow.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  // expected-remark @below {{tile-verify-0002: schedule of @no_barrier_before_a_slot_is_refilled_right is proved}}
  gpu.func @no_barrier_before_a_slot_is_refilled_right(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %true = arith.constant true
    %as = tile.alloc_shared {tile.offset = 0 : i64} : !buffer
    %ch = tile.channel(%as) {producer = #tile.producer<cp_async>} : !buffer -> !channel
    %start = tile.cursor : !cursor
    %any = arith.cmpi slt, %c0, %n : index
    %first = scf.if %any -> !cursor {
      %a = tile.slot %as[%start] : !buffer -> !slot
      tile.acquire %ch[%start] : !channel
      tile.copy %A[0] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
      tile.commit %ch[%start] : !channel
      %pn = tile.advance %start : !cursor
      scf.yield %pn : !cursor
    } else {
      scf.yield %start : !cursor
    }
    tile.commit_group
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %first, %q = %start) -> (!cursor, !cursor) {
      %next = arith.addi %k, %c1 : index
      %more = arith.cmpi slt, %next, %n : index
      %pm = scf.if %more -> !cursor {
        tile.barrier
        %a = tile.slot %as[%p] : !buffer -> !slot
        tile.acquire %ch[%p] : !channel
        tile.copy %A[%next] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
        tile.commit %ch[%p] : !channel
        %pn = tile.advance %p : !cursor
        scf.yield %pn : !cursor
      } else {
        scf.yield %p : !cursor
      }
      tile.commit_group
      tile.wait %ch[%q] {pending = 1 : i64} : !channel
      %b = tile.slot %as[%q] : !buffer -> !slot
      %x = tile.load %b : !slot -> !tile
      tile.release %ch[%q] : !channel
      %qn = tile.advance %q : !cursor
      tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
      scf.yield %pm, %qn : !cursor, !cursor
    }
    gpu.return
  }
}

// -----

// Wrong: no barrier before a slot is refilled.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @no_barrier_before_a_slot_is_refilled(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %true = arith.constant true
    %as = tile.alloc_shared {tile.offset = 0 : i64} : !buffer
    %ch = tile.channel(%as) {producer = #tile.producer<cp_async>} : !buffer -> !channel
    %start = tile.cursor : !cursor
    %any = arith.cmpi slt, %c0, %n : index
    %first = scf.if %any -> !cursor {
      %a = tile.slot %as[%start] : !buffer -> !slot
      tile.acquire %ch[%start] : !channel
      tile.copy %A[0] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
      tile.commit %ch[%start] : !channel
      %pn = tile.advance %start : !cursor
      scf.yield %pn : !cursor
    } else {
      scf.yield %start : !cursor
    }
    tile.commit_group
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %first, %q = %start) -> (!cursor, !cursor) {
      %next = arith.addi %k, %c1 : index
      %more = arith.cmpi slt, %next, %n : index
      %pm = scf.if %more -> !cursor {
        %a = tile.slot %as[%p] : !buffer -> !slot
        tile.acquire %ch[%p] : !channel
        // expected-error @below {{schedule of @no_barrier_before_a_slot_is_refilled is wrong: fills slot 0 while other threads may still read it: a tile.barrier has to come before}}
        tile.copy %A[%next] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
        tile.commit %ch[%p] : !channel
        %pn = tile.advance %p : !cursor
        scf.yield %pn : !cursor
      } else {
        scf.yield %p : !cursor
      }
      tile.commit_group
      tile.wait %ch[%q] {pending = 1 : i64} : !channel
      %b = tile.slot %as[%q] : !buffer -> !slot
      %x = tile.load %b : !slot -> !tile
      tile.release %ch[%q] : !channel
      %qn = tile.advance %q : !cursor
      tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
      scf.yield %pm, %qn : !cursor, !cursor
    }
    gpu.return
  }
}

// -----

// Wrong: read before the wait.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @read_before_the_wait(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %true = arith.constant true
    %as = tile.alloc_shared {tile.offset = 0 : i64} : !buffer
    %ch = tile.channel(%as) {producer = #tile.producer<cp_async>} : !buffer -> !channel
    %start = tile.cursor : !cursor
    %any = arith.cmpi slt, %c0, %n : index
    %first = scf.if %any -> !cursor {
      %a = tile.slot %as[%start] : !buffer -> !slot
      tile.acquire %ch[%start] : !channel
      tile.copy %A[0] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
      tile.commit %ch[%start] : !channel
      %pn = tile.advance %start : !cursor
      scf.yield %pn : !cursor
    } else {
      scf.yield %start : !cursor
    }
    tile.commit_group
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %first, %q = %start) -> (!cursor, !cursor) {
      %next = arith.addi %k, %c1 : index
      %more = arith.cmpi slt, %next, %n : index
      tile.barrier
      %pm = scf.if %more -> !cursor {
        %a = tile.slot %as[%p] : !buffer -> !slot
        tile.acquire %ch[%p] : !channel
        tile.copy %A[%next] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
        tile.commit %ch[%p] : !channel
        %pn = tile.advance %p : !cursor
        scf.yield %pn : !cursor
      } else {
        scf.yield %p : !cursor
      }
      tile.commit_group
      %b = tile.slot %as[%q] : !buffer -> !slot
      // expected-error @below {{schedule of @read_before_the_wait is wrong: the kernel reads slot 0 of a channel without a tile.wait for its fill}}
      %x = tile.load %b : !slot -> !tile
      tile.wait %ch[%q] {pending = 1 : i64} : !channel
      tile.release %ch[%q] : !channel
      %qn = tile.advance %q : !cursor
      tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
      scf.yield %pm, %qn : !cursor, !cursor
    }
    gpu.return
  }
}

// -----

// Wrong: guard one turn too long.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @guard_one_turn_too_long(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %true = arith.constant true
    %as = tile.alloc_shared {tile.offset = 0 : i64} : !buffer
    // expected-error @below {{schedule of @guard_one_turn_too_long is wrong: slot 1 is filled and never waited for: producer and consumer make different numbers of transactions}}
    %ch = tile.channel(%as) {producer = #tile.producer<cp_async>} : !buffer -> !channel
    %start = tile.cursor : !cursor
    %any = arith.cmpi slt, %c0, %n : index
    %first = scf.if %any -> !cursor {
      %a = tile.slot %as[%start] : !buffer -> !slot
      tile.acquire %ch[%start] : !channel
      tile.copy %A[0] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
      tile.commit %ch[%start] : !channel
      %pn = tile.advance %start : !cursor
      scf.yield %pn : !cursor
    } else {
      scf.yield %start : !cursor
    }
    tile.commit_group
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %first, %q = %start) -> (!cursor, !cursor) {
      %next = arith.addi %k, %c1 : index
      %more = arith.cmpi sle, %next, %n : index
      tile.barrier
      %pm = scf.if %more -> !cursor {
        %a = tile.slot %as[%p] : !buffer -> !slot
        tile.acquire %ch[%p] : !channel
        tile.copy %A[%next] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
        tile.commit %ch[%p] : !channel
        %pn = tile.advance %p : !cursor
        scf.yield %pn : !cursor
      } else {
        scf.yield %p : !cursor
      }
      tile.commit_group
      tile.wait %ch[%q] {pending = 1 : i64} : !channel
      %b = tile.slot %as[%q] : !buffer -> !slot
      %x = tile.load %b : !slot -> !tile
      tile.release %ch[%q] : !channel
      %qn = tile.advance %q : !cursor
      tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
      scf.yield %pm, %qn : !cursor, !cursor
    }
    gpu.return
  }
}

// -----

// Wrong: guard one turn too short.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @guard_one_turn_too_short(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %true = arith.constant true
    %as = tile.alloc_shared {tile.offset = 0 : i64} : !buffer
    // expected-error @below {{schedule of @guard_one_turn_too_short is wrong: slot 0 is filled and never waited for: producer and consumer make different numbers of transactions}}
    %ch = tile.channel(%as) {producer = #tile.producer<cp_async>} : !buffer -> !channel
    %start = tile.cursor : !cursor
    %any = arith.cmpi slt, %c0, %n : index
    %first = scf.if %any -> !cursor {
      %a = tile.slot %as[%start] : !buffer -> !slot
      tile.acquire %ch[%start] : !channel
      tile.copy %A[0] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
      tile.commit %ch[%start] : !channel
      %pn = tile.advance %start : !cursor
      scf.yield %pn : !cursor
    } else {
      scf.yield %start : !cursor
    }
    tile.commit_group
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %first, %q = %start) -> (!cursor, !cursor) {
      %next = arith.addi %k, %c1 : index
      %more = arith.cmpi slt, %next, %m : index
      tile.barrier
      %pm = scf.if %more -> !cursor {
        %a = tile.slot %as[%p] : !buffer -> !slot
        tile.acquire %ch[%p] : !channel
        tile.copy %A[%next] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
        tile.commit %ch[%p] : !channel
        %pn = tile.advance %p : !cursor
        scf.yield %pn : !cursor
      } else {
        scf.yield %p : !cursor
      }
      tile.commit_group
      tile.wait %ch[%q] {pending = 1 : i64} : !channel
      %b = tile.slot %as[%q] : !buffer -> !slot
      %x = tile.load %b : !slot -> !tile
      tile.release %ch[%q] : !channel
      %qn = tile.advance %q : !cursor
      tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
      scf.yield %pm, %qn : !cursor, !cursor
    }
    gpu.return
  }
}

// -----

// Wrong: prologue without guard.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @prologue_without_guard(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %true = arith.constant true
    %as = tile.alloc_shared {tile.offset = 0 : i64} : !buffer
    // expected-error @below {{schedule of @prologue_without_guard is wrong: slot 0 is filled and never waited for: producer and consumer make different numbers of transactions}}
    %ch = tile.channel(%as) {producer = #tile.producer<cp_async>} : !buffer -> !channel
    %start = tile.cursor : !cursor
    %any = arith.cmpi sle, %c0, %n : index
    %first = scf.if %any -> !cursor {
      %a = tile.slot %as[%start] : !buffer -> !slot
      tile.acquire %ch[%start] : !channel
      tile.copy %A[0] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
      tile.commit %ch[%start] : !channel
      %pn = tile.advance %start : !cursor
      scf.yield %pn : !cursor
    } else {
      scf.yield %start : !cursor
    }
    tile.commit_group
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %first, %q = %start) -> (!cursor, !cursor) {
      %next = arith.addi %k, %c1 : index
      %more = arith.cmpi slt, %next, %n : index
      tile.barrier
      %pm = scf.if %more -> !cursor {
        %a = tile.slot %as[%p] : !buffer -> !slot
        tile.acquire %ch[%p] : !channel
        tile.copy %A[%next] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
        tile.commit %ch[%p] : !channel
        %pn = tile.advance %p : !cursor
        scf.yield %pn : !cursor
      } else {
        scf.yield %p : !cursor
      }
      tile.commit_group
      tile.wait %ch[%q] {pending = 1 : i64} : !channel
      %b = tile.slot %as[%q] : !buffer -> !slot
      %x = tile.load %b : !slot -> !tile
      tile.release %ch[%q] : !channel
      %qn = tile.advance %q : !cursor
      tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
      scf.yield %pm, %qn : !cursor, !cursor
    }
    gpu.return
  }
}

// -----

// Wrong: slot released after it is acquired.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @slot_released_after_it_is_acquired(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %true = arith.constant true
    %as = tile.alloc_shared {tile.offset = 0 : i64} : !buffer
    %ch = tile.channel(%as) {producer = #tile.producer<cp_async>} : !buffer -> !channel
    %start = tile.cursor : !cursor
    %any = arith.cmpi slt, %c0, %n : index
    %first = scf.if %any -> !cursor {
      %a = tile.slot %as[%start] : !buffer -> !slot
      tile.acquire %ch[%start] : !channel
      tile.copy %A[0] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
      tile.commit %ch[%start] : !channel
      %pn = tile.advance %start : !cursor
      scf.yield %pn : !cursor
    } else {
      scf.yield %start : !cursor
    }
    tile.commit_group
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %first, %q = %start) -> (!cursor, !cursor) {
      %next = arith.addi %k, %c1 : index
      %more = arith.cmpi slt, %next, %n : index
      tile.barrier
      %pm = scf.if %more -> !cursor {
        %a = tile.slot %as[%p] : !buffer -> !slot
        tile.acquire %ch[%p] : !channel
        tile.copy %A[%next] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
        tile.commit %ch[%p] : !channel
        %pn = tile.advance %p : !cursor
        scf.yield %pn : !cursor
      } else {
        scf.yield %p : !cursor
      }
      tile.commit_group
      // expected-error @below {{schedule of @slot_released_after_it_is_acquired is wrong: slot 0 is waited for and never released}}
      tile.wait %ch[%q] {pending = 1 : i64} : !channel
      %b = tile.slot %as[%q] : !buffer -> !slot
      %x = tile.load %b : !slot -> !tile
      %qn = tile.advance %q : !cursor
      tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
      scf.yield %pm, %qn : !cursor, !cursor
    }
    gpu.return
  }
}

// -----

// Wrong: refilled at the consumers cursor.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @refilled_at_the_consumers_cursor(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index, %m: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %true = arith.constant true
    %as = tile.alloc_shared {tile.offset = 0 : i64} : !buffer
    %ch = tile.channel(%as) {producer = #tile.producer<cp_async>} : !buffer -> !channel
    %start = tile.cursor : !cursor
    %any = arith.cmpi slt, %c0, %n : index
    %first = scf.if %any -> !cursor {
      %a = tile.slot %as[%start] : !buffer -> !slot
      tile.acquire %ch[%start] : !channel
      tile.copy %A[0] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
      tile.commit %ch[%start] : !channel
      %pn = tile.advance %start : !cursor
      scf.yield %pn : !cursor
    } else {
      scf.yield %start : !cursor
    }
    tile.commit_group
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %first, %q = %start) -> (!cursor, !cursor) {
      %next = arith.addi %k, %c1 : index
      %more = arith.cmpi slt, %next, %n : index
      tile.barrier
      %pm = scf.if %more -> !cursor {
        %a = tile.slot %as[%q] : !buffer -> !slot
        tile.acquire %ch[%p] : !channel
        // expected-error @below {{schedule of @refilled_at_the_consumers_cursor is wrong: the kernel writes to slot 0 of a channel outside of a transaction: it has neither acquired the slot nor waited for it}}
        tile.copy %A[%next] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
        tile.commit %ch[%p] : !channel
        %pn = tile.advance %p : !cursor
        scf.yield %pn : !cursor
      } else {
        scf.yield %p : !cursor
      }
      tile.commit_group
      tile.wait %ch[%q] {pending = 1 : i64} : !channel
      %b = tile.slot %as[%q] : !buffer -> !slot
      %x = tile.load %b : !slot -> !tile
      tile.release %ch[%q] : !channel
      %qn = tile.advance %q : !cursor
      tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
      scf.yield %pm, %qn : !cursor, !cursor
    }
    gpu.return
  }
}
