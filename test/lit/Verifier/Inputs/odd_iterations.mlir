// Copies run two iterations ahead of the reads, and both are guarded by k mod 2 = 1.
// Before the loop the guards are those of iterations 0 and 1.

!buffer = memref<3x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @odd_iterations(%A: memref<?xf32>, %C: memref<16xf32>, %n: index) kernel attributes {tile.threads = 64 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %t = gpu.block_id x
    %as = tile.alloc_shared : !buffer
    %ch = tile.channel(%as) {producer = #tile.producer<cp_async>} : !buffer -> !tile.channel<3>
    %p0 = tile.cursor : !tile.cursor<3>
    %in0 = arith.cmpi sgt, %n, %c0 : index
    %in1 = arith.cmpi sgt, %n, %c1 : index
    %f0q = arith.floordivsi %c0, %c2 : index
    %f0m = arith.muli %f0q, %c2 : index
    %f0d = arith.subi %c0, %f0m : index
    %f0c = arith.cmpi eq, %f0d, %c1 : index
    %f0g = arith.andi %f0c, %in0 : i1
    %f0 = scf.if %f0g -> (!tile.cursor<3>) {
      tile.acquire %ch[%p0] : !tile.channel<3>
      %f0s = tile.slot %as[%p0] : !buffer, !tile.cursor<3> -> !slot
      tile.copy %A[%c0] to %f0s {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
      tile.commit %ch[%p0] : !tile.channel<3>
      %f0n = tile.advance %p0 : !tile.cursor<3>
      scf.yield %f0n : !tile.cursor<3>
    } else {
      scf.yield %p0 : !tile.cursor<3>
    }
    tile.commit_group
    %f1q = arith.floordivsi %c1, %c2 : index
    %f1m = arith.muli %f1q, %c2 : index
    %f1d = arith.subi %c1, %f1m : index
    %f1c = arith.cmpi eq, %f1d, %c1 : index
    %f1g = arith.andi %f1c, %in1 : i1
    %f1 = scf.if %f1g -> (!tile.cursor<3>) {
      tile.acquire %ch[%f0] : !tile.channel<3>
      %f1s = tile.slot %as[%f0] : !buffer, !tile.cursor<3> -> !slot
      tile.copy %A[%c1] to %f1s {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
      tile.commit %ch[%f0] : !tile.channel<3>
      %f1n = tile.advance %f0 : !tile.cursor<3>
      scf.yield %f1n : !tile.cursor<3>
    } else {
      scf.yield %f0 : !tile.cursor<3>
    }
    tile.commit_group
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %f1, %q = %p0) -> (!tile.cursor<3>, !tile.cursor<3>) {
      %k2 = arith.addi %k, %c2 : index
      %in = arith.cmpi slt, %k2, %n : index
      %bq = arith.floordivsi %k2, %c2 : index
      %bm = arith.muli %bq, %c2 : index
      %bd = arith.subi %k2, %bm : index
      %bc = arith.cmpi eq, %bd, %c1 : index
      %bg = arith.andi %bc, %in : i1
      %b = scf.if %bg -> (!tile.cursor<3>) {
        tile.acquire %ch[%p] : !tile.channel<3>
        %bs = tile.slot %as[%p] : !buffer, !tile.cursor<3> -> !slot
        tile.copy %A[%k2] to %bs {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
        tile.commit %ch[%p] : !tile.channel<3>
        %bn = tile.advance %p : !tile.cursor<3>
        scf.yield %bn : !tile.cursor<3>
      } else {
        scf.yield %p : !tile.cursor<3>
      }
      tile.commit_group
      %eq = arith.floordivsi %k, %c2 : index
      %em = arith.muli %eq, %c2 : index
      %ed = arith.subi %k, %em : index
      %ec = arith.cmpi eq, %ed, %c1 : index
      %qn = scf.if %ec -> (!tile.cursor<3>) {
        tile.wait %ch[%q] {pending = 2 : i64} : !tile.channel<3>
        %a = tile.slot %as[%q] : !buffer, !tile.cursor<3> -> !slot
        %x = tile.load %a : !slot -> !tile
        tile.release %ch[%q] : !tile.channel<3>
        tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
        %qa = tile.advance %q : !tile.cursor<3>
        scf.yield %qa : !tile.cursor<3>
      } else {
        scf.yield %q : !tile.cursor<3>
      }
      scf.yield %b, %qn : !tile.cursor<3>, !tile.cursor<3>
    }
    gpu.return
  }
}
