// RUN: tilews-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(tile-verify-schedule{report}))' --verify-diagnostics=only-expected

// A guard by a number that other turns have moved, one of them ahead.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  // expected-remark @below {{tile-verify-0002: schedule of @moved_bound_right is proved}}
  gpu.func @moved_bound_right(%A: memref<?xf32>, %table: memref<?xindex>, %mask: memref<16xi32>, %C: memref<16xf32>, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %as = tile.alloc_shared : !buffer
    %ch = tile.channel(%as) {producer = #tile.producer<cp_async>} : !buffer -> !channel
    %start = tile.cursor : !cursor
    %any = arith.cmpi slt, %c0, %n : index
    %b0, %p0 = scf.if %any -> (index, !cursor) {
      %e = memref.load %table[%c0] : memref<?xindex>
      %near = arith.cmpi slt, %e, %c2 : index
      %b1, %p1 = scf.if %near -> (index, !cursor) {
        %a = tile.slot %as[%start] : !buffer -> !slot
        tile.acquire %ch[%start] : !channel
        tile.copy %A[%e] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
        tile.commit %ch[%start] : !channel
        %pn = tile.advance %start : !cursor
        %bn = arith.addi %c2, %c2 : index
        scf.yield %bn, %pn : index, !cursor
      } else {
        %bn = arith.addi %c2, %c1 : index
        scf.yield %bn, %start : index, !cursor
      }
      scf.yield %b1, %p1 : index, !cursor
    } else {
      scf.yield %c2, %start : index, !cursor
    }
    tile.commit_group
    %r:4 = scf.for %k = %c0 to %n step %c1 iter_args(%ahead = %b0, %bound = %c2, %p = %p0, %q = %start) -> (index, index, !cursor, !cursor) {
      %next = arith.addi %k, %c1 : index
      %more = arith.cmpi slt, %next, %n : index
      %ba, %pa = scf.if %more -> (index, !cursor) {
        %e = memref.load %table[%next] : memref<?xindex>
        %near = arith.cmpi slt, %e, %ahead : index
        %b1, %p1 = scf.if %near -> (index, !cursor) {
          %a = tile.slot %as[%p] : !buffer -> !slot
          tile.acquire %ch[%p] : !channel
          tile.copy %A[%e] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
          tile.commit %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          %bn = arith.addi %ahead, %c2 : index
          scf.yield %bn, %pn : index, !cursor
        } else {
          %bn = arith.addi %ahead, %c1 : index
          scf.yield %bn, %p : index, !cursor
        }
        scf.yield %b1, %p1 : index, !cursor
      } else {
        scf.yield %ahead, %p : index, !cursor
      }
      tile.commit_group
      %e = memref.load %table[%k] : memref<?xindex>
      %near = arith.cmpi slt, %e, %bound : index
      %bb, %qa = scf.if %near -> (index, !cursor) {
        tile.wait %ch[%q] {pending = 1 : i64} : !channel
        %b = tile.slot %as[%q] : !buffer -> !slot
        %x = tile.load %b : !slot -> !tile
        tile.release %ch[%q] : !channel
        %qn = tile.advance %q : !cursor
        tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
        %bn = arith.addi %bound, %c2 : index
        scf.yield %bn, %qn : index, !cursor
      } else {
        %bn = arith.addi %bound, %c1 : index
        scf.yield %bn, %q : index, !cursor
      }
      scf.yield %ba, %bb, %pa, %qa : index, index, !cursor, !cursor
    }
    gpu.return
  }
}

// -----

// Wrong: the producer's number moves in other steps than the consumer's.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @moved_bound(%A: memref<?xf32>, %table: memref<?xindex>, %mask: memref<16xi32>, %C: memref<16xf32>, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %as = tile.alloc_shared : !buffer
    // expected-error @below {{schedule of @moved_bound is wrong: slot 1 is filled and never waited for: producer and consumer make different numbers of transactions}}
    %ch = tile.channel(%as) {producer = #tile.producer<cp_async>} : !buffer -> !channel
    %start = tile.cursor : !cursor
    %any = arith.cmpi slt, %c0, %n : index
    %b0, %p0 = scf.if %any -> (index, !cursor) {
      %e = memref.load %table[%c0] : memref<?xindex>
      %near = arith.cmpi slt, %e, %c2 : index
      %b1, %p1 = scf.if %near -> (index, !cursor) {
        %a = tile.slot %as[%start] : !buffer -> !slot
        tile.acquire %ch[%start] : !channel
        tile.copy %A[%e] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
        tile.commit %ch[%start] : !channel
        %pn = tile.advance %start : !cursor
        %bn = arith.addi %c2, %c2 : index
        scf.yield %bn, %pn : index, !cursor
      } else {
        %bn = arith.addi %c2, %c1 : index
        scf.yield %bn, %start : index, !cursor
      }
      scf.yield %b1, %p1 : index, !cursor
    } else {
      scf.yield %c2, %start : index, !cursor
    }
    tile.commit_group
    %r:4 = scf.for %k = %c0 to %n step %c1 iter_args(%ahead = %b0, %bound = %c2, %p = %p0, %q = %start) -> (index, index, !cursor, !cursor) {
      %next = arith.addi %k, %c1 : index
      %more = arith.cmpi slt, %next, %n : index
      %ba, %pa = scf.if %more -> (index, !cursor) {
        %e = memref.load %table[%next] : memref<?xindex>
        %near = arith.cmpi slt, %e, %ahead : index
        %b1, %p1 = scf.if %near -> (index, !cursor) {
          %a = tile.slot %as[%p] : !buffer -> !slot
          tile.acquire %ch[%p] : !channel
          tile.copy %A[%e] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
          tile.commit %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          %bn = arith.addi %ahead, %c2 : index
          scf.yield %bn, %pn : index, !cursor
        } else {
          %bn = arith.addi %ahead, %c1 : index
          scf.yield %bn, %p : index, !cursor
        }
        scf.yield %b1, %p1 : index, !cursor
      } else {
        scf.yield %ahead, %p : index, !cursor
      }
      tile.commit_group
      %e = memref.load %table[%k] : memref<?xindex>
      %near = arith.cmpi slt, %e, %bound : index
      %bb, %qa = scf.if %near -> (index, !cursor) {
        tile.wait %ch[%q] {pending = 1 : i64} : !channel
        %b = tile.slot %as[%q] : !buffer -> !slot
        %x = tile.load %b : !slot -> !tile
        tile.release %ch[%q] : !channel
        %qn = tile.advance %q : !cursor
        tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
        %bn = arith.addi %bound, %c1 : index
        scf.yield %bn, %qn : index, !cursor
      } else {
        %bn = arith.addi %bound, %c1 : index
        scf.yield %bn, %q : index, !cursor
      }
      scf.yield %ba, %bb, %pa, %qa : index, index, !cursor, !cursor
    }
    gpu.return
  }
}

// -----

// A guard that is read from shared memory, filled before the loop.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  // expected-remark @below {{tile-verify-0002: schedule of @mask_in_shared_memory_right is proved}}
  gpu.func @mask_in_shared_memory_right(%A: memref<?xf32>, %table: memref<?xindex>, %mask: memref<16xi32>, %C: memref<16xf32>, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %Ms = tile.alloc_shared : memref<16xi32, #gpu.address_space<workgroup>>
    %as = tile.alloc_shared : !buffer
    %ch = tile.channel(%as) {producer = #tile.producer<cp_async>} : !buffer -> !channel
    %start = tile.cursor : !cursor
    tile.copy %mask to %Ms : memref<16xi32> to memref<16xi32, #gpu.address_space<workgroup>>
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %start, %q = %start) -> (!cursor, !cursor) {
      %m = memref.load %Ms[%k] : memref<16xi32, #gpu.address_space<workgroup>>
      %fills = arith.cmpi sgt, %m, %zero : i32
      %pa = scf.if %fills -> !cursor {
        %a = tile.slot %as[%p] : !buffer -> !slot
        tile.acquire %ch[%p] : !channel
        tile.copy %A[%k] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
        tile.commit %ch[%p] : !channel
        %pn = tile.advance %p : !cursor
        scf.yield %pn : !cursor
      } else {
        scf.yield %p : !cursor
      }
      tile.commit_group
      %l = memref.load %Ms[%k] : memref<16xi32, #gpu.address_space<workgroup>>
      %reads = arith.cmpi sgt, %l, %zero : i32
      %qa = scf.if %reads -> !cursor {
        tile.wait %ch[%q] {pending = 0 : i64} : !channel
        %b = tile.slot %as[%q] : !buffer -> !slot
        %x = tile.load %b : !slot -> !tile
        tile.release %ch[%q] : !channel
        %qn = tile.advance %q : !cursor
        tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
        scf.yield %qn : !cursor
      } else {
        scf.yield %q : !cursor
      }
      scf.yield %pa, %qa : !cursor, !cursor
    }
    gpu.return
  }
}

// -----

// No proof: what the guards read is written between them.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @mask_in_shared_memory(%A: memref<?xf32>, %table: memref<?xindex>, %mask: memref<16xi32>, %C: memref<16xf32>, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %Ms = tile.alloc_shared : memref<16xi32, #gpu.address_space<workgroup>>
    %as = tile.alloc_shared : !buffer
    // expected-remark @below {{tile-verify-0001: schedule of @mask_in_shared_memory is not verified: slot 1 is filled and never waited for: producer and consumer make different numbers of transactions}}
    %ch = tile.channel(%as) {producer = #tile.producer<cp_async>} : !buffer -> !channel
    %start = tile.cursor : !cursor
    tile.copy %mask to %Ms : memref<16xi32> to memref<16xi32, #gpu.address_space<workgroup>>
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %start, %q = %start) -> (!cursor, !cursor) {
      %m = memref.load %Ms[%k] : memref<16xi32, #gpu.address_space<workgroup>>
      %fills = arith.cmpi sgt, %m, %zero : i32
      %pa = scf.if %fills -> !cursor {
        %a = tile.slot %as[%p] : !buffer -> !slot
        tile.acquire %ch[%p] : !channel
        tile.copy %A[%k] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
        tile.commit %ch[%p] : !channel
        %pn = tile.advance %p : !cursor
        scf.yield %pn : !cursor
      } else {
        scf.yield %p : !cursor
      }
      tile.commit_group
      memref.store %one, %Ms[%k] : memref<16xi32, #gpu.address_space<workgroup>>
      %l = memref.load %Ms[%k] : memref<16xi32, #gpu.address_space<workgroup>>
      %reads = arith.cmpi sgt, %l, %zero : i32
      %qa = scf.if %reads -> !cursor {
        tile.wait %ch[%q] {pending = 0 : i64} : !channel
        %b = tile.slot %as[%q] : !buffer -> !slot
        %x = tile.load %b : !slot -> !tile
        tile.release %ch[%q] : !channel
        %qn = tile.advance %q : !cursor
        tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
        scf.yield %qn : !cursor
      } else {
        scf.yield %q : !cursor
      }
      scf.yield %pa, %qa : !cursor, !cursor
    }
    gpu.return
  }
}
