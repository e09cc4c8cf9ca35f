// Copies run three iterations ahead of their readers. Both are guarded by a mask, whose
// element the copy loads at k + 3 and the reader at k. Before the loop the guards are those
// of iterations 0, 1 and 2.

!buffer = memref<4x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<4>
!cursor = !tile.cursor<4>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @mask_ahead(%A: memref<?xf32>, %mask: memref<?xi1>, %C: memref<16xf32>, %n: index) kernel attributes {tile.threads = 64 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %as = tile.alloc_shared : !buffer
    %ch = tile.channel(%as) {producer = #tile.producer<cp_async>} : !buffer -> !channel
    %q0 = tile.cursor : !cursor
    %in0 = arith.cmpi sgt, %n, %c0 : index
    %p0 = scf.if %in0 -> !cursor {
      %on = memref.load %mask[%c0] : memref<?xi1>
      %next = scf.if %on -> !cursor {
        tile.acquire %ch[%q0] : !channel
        %a = tile.slot %as[%q0] : !buffer -> !slot
        tile.copy %A[%c0] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
        tile.commit %ch[%q0] : !channel
        %pn = tile.advance %q0 : !cursor
        scf.yield %pn : !cursor
      } else {
        scf.yield %q0 : !cursor
      }
      scf.yield %next : !cursor
    } else {
      scf.yield %q0 : !cursor
    }
    tile.commit_group
    %in1 = arith.cmpi sgt, %n, %c1 : index
    %p1 = scf.if %in1 -> !cursor {
      %on = memref.load %mask[%c1] : memref<?xi1>
      %next = scf.if %on -> !cursor {
        tile.acquire %ch[%p0] : !channel
        %a = tile.slot %as[%p0] : !buffer -> !slot
        tile.copy %A[%c1] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
        tile.commit %ch[%p0] : !channel
        %pn = tile.advance %p0 : !cursor
        scf.yield %pn : !cursor
      } else {
        scf.yield %p0 : !cursor
      }
      scf.yield %next : !cursor
    } else {
      scf.yield %p0 : !cursor
    }
    tile.commit_group
    %in2 = arith.cmpi sgt, %n, %c2 : index
    %p2 = scf.if %in2 -> !cursor {
      %on = memref.load %mask[%c2] : memref<?xi1>
      %next = scf.if %on -> !cursor {
        tile.acquire %ch[%p1] : !channel
        %a = tile.slot %as[%p1] : !buffer -> !slot
        tile.copy %A[%c2] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
        tile.commit %ch[%p1] : !channel
        %pn = tile.advance %p1 : !cursor
        scf.yield %pn : !cursor
      } else {
        scf.yield %p1 : !cursor
      }
      scf.yield %next : !cursor
    } else {
      scf.yield %p1 : !cursor
    }
    tile.commit_group
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p2, %q = %q0) -> (!cursor, !cursor) {
      %k3 = arith.addi %k, %c3 : index
      %more = arith.cmpi slt, %k3, %n : index
      %pm = scf.if %more -> !cursor {
        %fill = memref.load %mask[%k3] : memref<?xi1>
        %next = scf.if %fill -> !cursor {
          tile.acquire %ch[%p] : !channel
          %a = tile.slot %as[%p] : !buffer -> !slot
          tile.copy %A[%k3] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
          tile.commit %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        } else {
          scf.yield %p : !cursor
        }
        scf.yield %next : !cursor
      } else {
        scf.yield %p : !cursor
      }
      tile.commit_group
      %read = memref.load %mask[%k] : memref<?xi1>
      %qm = scf.if %read -> !cursor {
        tile.wait %ch[%q] {pending = 3 : i64} : !channel
        %b = tile.slot %as[%q] : !buffer -> !slot
        %x = tile.load %b : !slot -> !tile
        tile.release %ch[%q] : !channel
        tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
        %qn = tile.advance %q : !cursor
        scf.yield %qn : !cursor
      } else {
        scf.yield %q : !cursor
      }
      scf.yield %pm, %qm : !cursor, !cursor
    }
    gpu.return
  }
}
