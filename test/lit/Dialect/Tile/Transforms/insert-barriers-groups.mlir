// RUN: tilews-opt %s --tile-plan-shared-memory --tile-insert-barriers | FileCheck %s

// Each iteration closes a group. The analysis stops counting at more groups than any
// pipeline has in flight, so it ends after a few passes over the loop.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  // CHECK-LABEL: gpu.func @many_groups
  // CHECK: scf.for
  // CHECK-NEXT: tile.barrier{{$}}
  // CHECK-NEXT: tile.acquire
  // CHECK-NOT: tile.barrier
  // CHECK: gpu.return
  gpu.func @many_groups(%A: memref<?xf32>, %C: memref<16xf32>, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %as = tile.alloc_shared : !buffer
    %ch = tile.channel(%as) {producer = #tile.producer<cp_async>} : !buffer -> !channel
    %start = tile.cursor : !cursor
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %start, %q = %start) -> (!cursor, !cursor) {
      tile.acquire %ch[%p] : !channel
      %a = tile.slot %as[%p] : !buffer -> !slot
      tile.copy %A[%k] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
      tile.commit %ch[%p] : !channel
      %pn = tile.advance %p : !cursor
      tile.commit_group
      tile.wait %ch[%q] {pending = 1023 : i64} : !channel
      %b = tile.slot %as[%q] : !buffer -> !slot
      %x = tile.load %b : !slot -> !tile
      tile.release %ch[%q] : !channel
      tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
      %qn = tile.advance %q : !cursor
      scf.yield %pn, %qn : !cursor, !cursor
    }
    gpu.return
  }

  // Threads read the indices of rows before they start a copy. So new indices wait for all
  // threads, and not for the copies that are in flight.
  // CHECK-LABEL: gpu.func @rows
  // CHECK: scf.for
  // CHECK: tile.acquire
  // CHECK: tile.barrier{{$}}
  // CHECK-NEXT: tile.store
  // CHECK-NEXT: tile.barrier{{$}}
  // CHECK-NEXT: tile.copy
  // CHECK-NOT: drain_copies
  // CHECK: gpu.return
  gpu.func @rows(%A: memref<?x16xf32>, %C: memref<16x16xf32>, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %as = tile.alloc_shared : memref<3x16x16xf32, #gpu.address_space<workgroup>>
    %rows = tile.alloc_shared : memref<16xi32, #gpu.address_space<workgroup>>
    %ch = tile.channel(%as) {producer = #tile.producer<cp_async>} : memref<3x16x16xf32, #gpu.address_space<workgroup>> -> !tile.channel<3>
    %start = tile.cursor : !tile.cursor<3>
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%p = %start) -> !tile.cursor<3> {
      tile.acquire %ch[%p] : !tile.channel<3>
      %a = tile.slot %as[%p] : memref<3x16x16xf32, #gpu.address_space<workgroup>> -> memref<16x16xf32, #gpu.address_space<workgroup>>
      %ids = tile.iota {axis = 0 : i64} : tensor<16xi32>
      tile.store %ids to %rows : tensor<16xi32> to memref<16xi32, #gpu.address_space<workgroup>>
      tile.copy %A[0, 0] [16, 16] at(0 = %rows : memref<16xi32, #gpu.address_space<workgroup>>) to %a {tile.inst = #tile.inst<cp_async>} : memref<?x16xf32> to memref<16x16xf32, #gpu.address_space<workgroup>>
      tile.commit %ch[%p] : !tile.channel<3>
      %pn = tile.advance %p : !tile.cursor<3>
      tile.commit_group
      scf.yield %pn : !tile.cursor<3>
    }
    gpu.return
  }
}
