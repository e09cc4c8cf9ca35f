// RUN: tilews-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(tile-verify-schedule{report}))' --verify-diagnostics=only-expected

// Each turn brings a mask of its own, from which the guard is read twice.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!mask = memref<4xi1, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  // expected-remark @below {{tile-verify-0002: schedule of @mask_of_a_turn is proved}}
  gpu.func @mask_of_a_turn(%A: memref<?xf32>, %mask: memref<?x4xi1>, %C: memref<16xf32>, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %false = arith.constant false
    %as = tile.alloc_shared : !buffer
    %ms = tile.alloc_shared : !mask
    %ch = tile.channel(%as) {producer = #tile.producer<cp_async>} : !buffer -> !channel
    %start = tile.cursor : !cursor
    %r:2 = scf.for %t = %c0 to %n step %c1 iter_args(%p = %start, %q = %start) -> (!cursor, !cursor) {
      tile.copy %mask[%t, 0] to %ms : memref<?x4xi1> to !mask
      %fill = memref.load %ms[%c1] : !mask
      %p1 = scf.if %fill -> !cursor {
        tile.acquire %ch[%p] : !channel
        %a = tile.slot %as[%p] : !buffer -> !slot
        tile.copy %A[%t] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
        tile.commit %ch[%p] : !channel
        %pn = tile.advance %p : !cursor
        scf.yield %pn : !cursor
      } else {
        scf.yield %p : !cursor
      }
      %read = memref.load %ms[%c1] : !mask
      %q1 = scf.if %read -> !cursor {
        tile.wait %ch[%q] : !channel
        %b = tile.slot %as[%q] : !buffer -> !slot
        %x = tile.load %b : !slot -> !tile
        tile.release %ch[%q] : !channel
        %qn = tile.advance %q : !cursor
        tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
        scf.yield %qn : !cursor
      } else {
        scf.yield %q : !cursor
      }
      scf.yield %p1, %q1 : !cursor, !cursor
    }
    gpu.return
  }
}

// -----

// The mask is another one when the guard is read again.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!mask = memref<4xi1, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @other_mask(%A: memref<?xf32>, %mask: memref<?x4xi1>, %C: memref<16xf32>, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %false = arith.constant false
    %as = tile.alloc_shared : !buffer
    %ms = tile.alloc_shared : !mask
    // expected-remark @below {{tile-verify-0001: schedule of @other_mask is not verified: slot 1 is filled and never waited for}}
    %ch = tile.channel(%as) {producer = #tile.producer<cp_async>} : !buffer -> !channel
    %start = tile.cursor : !cursor
    %r:2 = scf.for %t = %c0 to %n step %c1 iter_args(%p = %start, %q = %start) -> (!cursor, !cursor) {
      tile.copy %mask[%t, 0] to %ms : memref<?x4xi1> to !mask
      %fill = memref.load %ms[%c1] : !mask
      %p1 = scf.if %fill -> !cursor {
        tile.acquire %ch[%p] : !channel
        %a = tile.slot %as[%p] : !buffer -> !slot
        tile.copy %A[%t] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
        tile.commit %ch[%p] : !channel
        %pn = tile.advance %p : !cursor
        scf.yield %pn : !cursor
      } else {
        scf.yield %p : !cursor
      }
      %o = arith.addi %t, %c1 : index
      tile.copy %mask[%o, 0] to %ms : memref<?x4xi1> to !mask
      %read = memref.load %ms[%c1] : !mask
      %q1 = scf.if %read -> !cursor {
        tile.wait %ch[%q] : !channel
        %b = tile.slot %as[%q] : !buffer -> !slot
        %x = tile.load %b : !slot -> !tile
        tile.release %ch[%q] : !channel
        %qn = tile.advance %q : !cursor
        tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
        scf.yield %qn : !cursor
      } else {
        scf.yield %q : !cursor
      }
      scf.yield %p1, %q1 : !cursor, !cursor
    }
    gpu.return
  }
}

// -----

// The tile of the turn before is read under the mask of this one.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!mask = memref<4xi1, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @late(%A: memref<?xf32>, %mask: memref<?x4xi1>, %C: memref<16xf32>, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %false = arith.constant false
    %as = tile.alloc_shared : !buffer
    %ms = tile.alloc_shared : !mask
    // expected-error @below {{schedule of @late is wrong: slot 0 is filled and never waited for}}
    %ch = tile.channel(%as) {producer = #tile.producer<cp_async>} : !buffer -> !channel
    %start = tile.cursor : !cursor
    %r:3 = scf.for %t = %c0 to %n step %c1 iter_args(%p = %start, %q = %start, %seen = %false) -> (!cursor, !cursor, i1) {
      tile.copy %mask[%t, 0] to %ms : memref<?x4xi1> to !mask
      %read = memref.load %ms[%c1] : !mask
      %late = arith.andi %read, %seen : i1
      %q1 = scf.if %late -> !cursor {
        tile.wait %ch[%q] : !channel
        %b = tile.slot %as[%q] : !buffer -> !slot
        %x = tile.load %b : !slot -> !tile
        tile.release %ch[%q] : !channel
        %qn = tile.advance %q : !cursor
        tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
        scf.yield %qn : !cursor
      } else {
        scf.yield %q : !cursor
      }
      %fill = memref.load %ms[%c1] : !mask
      %p1 = scf.if %fill -> !cursor {
        tile.acquire %ch[%p] : !channel
        %a = tile.slot %as[%p] : !buffer -> !slot
        tile.copy %A[%t] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
        tile.commit %ch[%p] : !channel
        %pn = tile.advance %p : !cursor
        scf.yield %pn : !cursor
      } else {
        scf.yield %p : !cursor
      }
      scf.yield %p1, %q1, %read : !cursor, !cursor, i1
    }
    gpu.return
  }
}

// -----


// The same, with a mask that the copy takes from the second of three dimensions.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!mask = memref<4xi1, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @late_of_three(%A: memref<?xf32>, %mask: memref<?x4x2xi1>, %C: memref<16xf32>, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %false = arith.constant false
    %as = tile.alloc_shared : !buffer
    %ms = tile.alloc_shared : !mask
    // expected-error @below {{schedule of @late_of_three is wrong: slot 0 is filled and never waited for}}
    %ch = tile.channel(%as) {producer = #tile.producer<cp_async>} : !buffer -> !channel
    %start = tile.cursor : !cursor
    %r:3 = scf.for %t = %c0 to %n step %c1 iter_args(%p = %start, %q = %start, %seen = %false) -> (!cursor, !cursor, i1) {
      tile.copy %mask[%t, 0, 0] [1, 4, 1] to %ms : memref<?x4x2xi1> to !mask
      %read = memref.load %ms[%c1] : !mask
      %late = arith.andi %read, %seen : i1
      %q1 = scf.if %late -> !cursor {
        tile.wait %ch[%q] : !channel
        %b = tile.slot %as[%q] : !buffer -> !slot
        %x = tile.load %b : !slot -> !tile
        tile.release %ch[%q] : !channel
        %qn = tile.advance %q : !cursor
        tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
        scf.yield %qn : !cursor
      } else {
        scf.yield %q : !cursor
      }
      %fill = memref.load %ms[%c1] : !mask
      %p1 = scf.if %fill -> !cursor {
        tile.acquire %ch[%p] : !channel
        %a = tile.slot %as[%p] : !buffer -> !slot
        tile.copy %A[%t] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
        tile.commit %ch[%p] : !channel
        %pn = tile.advance %p : !cursor
        scf.yield %pn : !cursor
      } else {
        scf.yield %p : !cursor
      }
      scf.yield %p1, %q1, %read : !cursor, !cursor, i1
    }
    gpu.return
  }
}
