// RUN: tilews-opt %s --tile-expand-pipeline --verify-diagnostics

!b = memref<2x64x64xf16, #gpu.address_space<workgroup>>

gpu.module @m [#nvvm.target<chip = "sm_80">] {
  // An operation was added to the loop after the plan was made.
  gpu.func @added(%n: index, %x: memref<?xindex>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %as = tile.alloc_shared : !b
    %ch = tile.channel(%as) {producer = #tile.producer<simt>} : !b -> !tile.channel<2>
    %p0 = tile.cursor : !tile.cursor<2>
    // expected-remark @below {{tile-pipe-0014: loop is not pipelined: 'memref.store' in it has neither a stage nor an order}}
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%p = %p0) -> (!tile.cursor<2>) {
      tile.acquire %ch[%p] {tile.stage = 0 : i32, tile.order = 0 : i32} : !tile.channel<2>
      tile.commit %ch[%p] {tile.stage = 0 : i32, tile.order = 1 : i32} : !tile.channel<2>
      memref.store %i, %x[%i] : memref<?xindex>
      %p1 = tile.advance %p : !tile.cursor<2>
      scf.yield %p1 : !tile.cursor<2>
    } {tile.num_stages = 2 : i32}
    gpu.return
  }

  gpu.func @unsigned(%n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %as = tile.alloc_shared : !b
    %ch = tile.channel(%as) {producer = #tile.producer<simt>} : !b -> !tile.channel<2>
    %p0 = tile.cursor : !tile.cursor<2>
    // expected-remark @below {{tile-pipe-0014: loop is not pipelined: the loop compares its induction variable as an unsigned number}}
    %r = scf.for unsigned %i = %c0 to %n step %c1 iter_args(%p = %p0) -> (!tile.cursor<2>) {
      tile.acquire %ch[%p] {tile.stage = 0 : i32, tile.order = 0 : i32} : !tile.channel<2>
      tile.commit %ch[%p] {tile.stage = 0 : i32, tile.order = 1 : i32} : !tile.channel<2>
      %p1 = tile.advance %p : !tile.cursor<2>
      scf.yield %p1 : !tile.cursor<2>
    } {tile.num_stages = 2 : i32}
    gpu.return
  }
}
