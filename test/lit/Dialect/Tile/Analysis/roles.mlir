// REQUIRES: test-passes
// RUN: tilews-opt %s --test-tile-roles -o /dev/null | FileCheck %s

!S = memref<2x64xf16, #gpu.address_space<workgroup>>
!s = memref<64xf16, #gpu.address_space<workgroup>>
!c = !tile.cursor<2>

gpu.module @roles [#nvvm.target<chip = "sm_90a">] {
  // Both roles have the loop; only one has the copy, and only the other the sum.
  // CHECK-LABEL: kernel @two_roles
  // CHECK-NEXT: load warps: 1
  // CHECK-NEXT: load, math: %c0 = arith.constant
  // CHECK-NEXT: load, math: %c1 = arith.constant
  // CHECK-NEXT: math: %cst = arith.constant
  // CHECK-NEXT: load, math: %0 = tile.alloc_shared
  // CHECK-NEXT: load, math: %1 = tile.channel %0
  // CHECK-NEXT: load, math: %2 = tile.cursor
  // CHECK-NEXT: load, math: %3#0, %3#1, %3#2 = scf.for %c0, %arg2, %c1, %2, %2, %cst
  // CHECK-NEXT: load: tile.acquire %1, %arg4
  // CHECK-NEXT: load: %4 = tile.slot %0, %arg4
  // CHECK-NEXT: load: tile.copy %arg0, %arg3, %4
  // CHECK-NEXT: load: tile.commit %1, %arg4
  // CHECK-NEXT: load: %5 = tile.advance %arg4
  // CHECK-NEXT: math: tile.wait %1, %arg5
  // CHECK-NEXT: math: %6 = tile.slot %0, %arg5
  // CHECK-NEXT: math: %7 = tile.load %6
  // CHECK-NEXT: math: %8 = arith.addf %arg6, %7
  // CHECK-NEXT: math: tile.release %1, %arg5
  // CHECK-NEXT: math: %9 = tile.advance %arg5
  // CHECK-NEXT: math: tile.store %3#2, %arg1, %c0
  gpu.func @two_roles(%A: memref<?x64xf16>, %C: memref<64xf16>, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : tensor<64xf16>
    %S = tile.alloc_shared : !S
    %ch = tile.channel(%S) {producer = #tile.producer<tma>} : !S -> !tile.channel<2>
    %p0 = tile.cursor : !c
    %r:3 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0, %q = %p0, %sum = %zero) -> (!c, !c, tensor<64xf16>) {
      tile.acquire %ch[%p] : !tile.channel<2>
      %sp = tile.slot %S[%p] : !S -> !s
      tile.copy %A[%k, 0] [1, 64] to %sp {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to !s
      tile.commit %ch[%p] : !tile.channel<2>
      %p1 = tile.advance %p : !c
      tile.wait %ch[%q] : !tile.channel<2>
      %sq = tile.slot %S[%q] : !S -> !s
      %v = tile.load %sq : !s -> tensor<64xf16>
      %sum2 = arith.addf %sum, %v : tensor<64xf16>
      tile.release %ch[%q] : !tile.channel<2>
      %q1 = tile.advance %q : !c
      scf.yield %p1, %q1, %sum2 : !c, !c, tensor<64xf16>
    }
    tile.store %r#2 to %C[%c0] : tensor<64xf16> to memref<64xf16>
    gpu.return
  }

  // The row that is copied comes from an effect of the math role.
  // CHECK-LABEL: kernel @row_from_an_effect
  // CHECK-NEXT: no roles: tile-ws-0002 at memref.atomic_rmw: a copy that fills a channel, or a guard around one, needs this result
  gpu.func @row_from_an_effect(%A: memref<?x64xf16>, %C: memref<?xi32>, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %one = arith.constant 1 : i32
    %S = tile.alloc_shared : !S
    %ch = tile.channel(%S) {producer = #tile.producer<tma>} : !S -> !tile.channel<2>
    %p0 = tile.cursor : !c
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0, %q = %p0) -> (!c, !c) {
      %old = memref.atomic_rmw addi %one, %C[%c0] : (i32, memref<?xi32>) -> i32
      %row = arith.index_cast %old : i32 to index
      tile.acquire %ch[%p] : !tile.channel<2>
      %sp = tile.slot %S[%p] : !S -> !s
      tile.copy %A[%row, 0] [1, 64] to %sp {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to !s
      tile.commit %ch[%p] : !tile.channel<2>
      %p1 = tile.advance %p : !c
      tile.wait %ch[%q] : !tile.channel<2>
      %sq = tile.slot %S[%q] : !S -> !s
      %v = tile.load %sq : !s -> tensor<64xf16>
      tile.release %ch[%q] : !tile.channel<2>
      %q1 = tile.advance %q : !c
      scf.yield %p1, %q1 : !c, !c
    }
    gpu.return
  }

  // The signals of a channel in a kernel that has its roles: a TMA copy of 128 bytes, and
  // readers that are threads of four warps.
  // CHECK-LABEL: kernel @signals
  // CHECK-NEXT: %1 = tile.channel %0
  // CHECK-NEXT:   filled by: tma; read by: threads; arrivals: full 1, empty 4
  // CHECK-NEXT: tile.copy %arg0, %c0, %3
  // CHECK-NEXT:   128 bytes for %1, announced by its commit
  // CHECK-NEXT: role @load is elected
  gpu.func @signals(%A: memref<?x64xf16>, %C: memref<64xf16>) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %S = tile.alloc_shared : !S
    %ch = tile.channel(%S) {producer = #tile.producer<tma>} : !S -> !tile.channel<2>
    tile.specialize {
      tile.role @load warps(1) {
        %p = tile.cursor : !c
        tile.acquire %ch[%p] : !tile.channel<2>
        %sp = tile.slot %S[%p] : !S -> !s
        tile.copy %A[%c0, 0] [1, 64] to %sp {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to !s
        tile.commit %ch[%p] : !tile.channel<2>
      }
      tile.role @math warps(4) {
        %q = tile.cursor : !c
        tile.wait %ch[%q] : !tile.channel<2>
        %sq = tile.slot %S[%q] : !S -> !s
        %v = tile.load %sq : !s -> tensor<64xf16>
        tile.release %ch[%q] : !tile.channel<2>
        tile.store %v to %C[%c0] : tensor<64xf16> to memref<64xf16>
      }
    }
    gpu.return
  }

  // Threads write and read the slots: no elected role, no transaction bytes.
  // CHECK-LABEL: kernel @signals_of_stores
  // CHECK-NEXT: %1 = tile.channel %0
  // CHECK-NEXT:   filled by: stores; read by: threads; arrivals: full 128, empty 4
  gpu.func @signals_of_stores(%x: tensor<64xf16>, %C: memref<64xf16>) kernel attributes {tile.threads = 256 : i32} {
    %c0 = arith.constant 0 : index
    %S = tile.alloc_shared : !S
    %ch = tile.channel(%S) {producer = #tile.producer<simt>} : !S -> !tile.channel<2>
    tile.specialize {
      tile.role @load warps(4) {
        %p = tile.cursor : !c
        %zero = arith.constant dense<0.0> : tensor<64xf16>
        tile.acquire %ch[%p] : !tile.channel<2>
        %sp = tile.slot %S[%p] : !S -> !s
        tile.store %zero to %sp : tensor<64xf16> to !s
        tile.commit %ch[%p] : !tile.channel<2>
      }
      tile.role @math warps(4) {
        %q = tile.cursor : !c
        tile.wait %ch[%q] : !tile.channel<2>
        %sq = tile.slot %S[%q] : !S -> !s
        %v = tile.load %sq : !s -> tensor<64xf16>
        tile.release %ch[%q] : !tile.channel<2>
        tile.store %v to %C[%c0] : tensor<64xf16> to memref<64xf16>
      }
    }
    gpu.return
  }

  // The indices of rows are made for the load role alone.
  // CHECK-LABEL: kernel @computed_rows
  // CHECK-NEXT: load warps: 4
  // CHECK: load: %[[I:.*]] = tile.iota
  // CHECK-NEXT: load: tile.store %[[I]]
  // CHECK-NEXT: load: tile.acquire
  gpu.func @computed_rows(%A: memref<?x64xf16>, %B: memref<?x64xf16>, %C: memref<64xf16>, %D: memref<2xi32>, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %S = tile.alloc_shared : !S
    %R = tile.alloc_shared : memref<2x2x64xf16, #gpu.address_space<workgroup>>
    %rows = tile.alloc_shared : memref<2xi32, #gpu.address_space<workgroup>>
    %ch = tile.channel(%S) {producer = #tile.producer<tma>} : !S -> !tile.channel<2>
    %ch2 = tile.channel(%R) {producer = #tile.producer<cp_async>} : memref<2x2x64xf16, #gpu.address_space<workgroup>> -> !tile.channel<2>
    %p0 = tile.cursor : !c
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0, %q = %p0) -> (!c, !c) {
      tile.acquire %ch[%p] : !tile.channel<2>
      %sp = tile.slot %S[%p] : !S -> !s
      tile.copy %A[%k, 0] [1, 64] to %sp {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to !s
      tile.commit %ch[%p] : !tile.channel<2>
      %i = tile.iota {axis = 0 : i64} : tensor<2xi32>
      tile.store %i to %rows : tensor<2xi32> to memref<2xi32, #gpu.address_space<workgroup>>
      tile.acquire %ch2[%p] : !tile.channel<2>
      %rp = tile.slot %R[%p] : memref<2x2x64xf16, #gpu.address_space<workgroup>> -> memref<2x64xf16, #gpu.address_space<workgroup>>
      tile.copy %B[%k, 0] [2, 64] at(0 = %rows : memref<2xi32, #gpu.address_space<workgroup>>) to %rp {tile.inst = #tile.inst<cp_async>} : memref<?x64xf16> to memref<2x64xf16, #gpu.address_space<workgroup>>
      tile.commit %ch2[%p] : !tile.channel<2>
      %p1 = tile.advance %p : !c
      tile.wait %ch[%q] : !tile.channel<2>
      %sq = tile.slot %S[%q] : !S -> !s
      %v = tile.load %sq : !s -> tensor<64xf16>
      tile.release %ch[%q] : !tile.channel<2>
      tile.wait %ch2[%q] : !tile.channel<2>
      tile.release %ch2[%q] : !tile.channel<2>
      tile.store %v to %C[%c0] : tensor<64xf16> to memref<64xf16>
      %q1 = tile.advance %q : !c
      scf.yield %p1, %q1 : !c, !c
    }
    gpu.return
  }

  // The math role reads the indices, too.
  // CHECK-LABEL: kernel @rows_for_both
  // CHECK-NEXT: no roles: tile-ws-0003 at tile.copy: filling a channel needs this read of memory that the kernel writes
  gpu.func @rows_for_both(%A: memref<?x64xf16>, %B: memref<?x64xf16>, %C: memref<64xf16>, %D: memref<2xi32>, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %S = tile.alloc_shared : !S
    %R = tile.alloc_shared : memref<2x2x64xf16, #gpu.address_space<workgroup>>
    %rows = tile.alloc_shared : memref<2xi32, #gpu.address_space<workgroup>>
    %ch = tile.channel(%S) {producer = #tile.producer<tma>} : !S -> !tile.channel<2>
    %ch2 = tile.channel(%R) {producer = #tile.producer<cp_async>} : memref<2x2x64xf16, #gpu.address_space<workgroup>> -> !tile.channel<2>
    %p0 = tile.cursor : !c
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0, %q = %p0) -> (!c, !c) {
      tile.acquire %ch[%p] : !tile.channel<2>
      %sp = tile.slot %S[%p] : !S -> !s
      tile.copy %A[%k, 0] [1, 64] to %sp {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to !s
      tile.commit %ch[%p] : !tile.channel<2>
      %i = tile.iota {axis = 0 : i64} : tensor<2xi32>
      tile.store %i to %rows : tensor<2xi32> to memref<2xi32, #gpu.address_space<workgroup>>
      tile.acquire %ch2[%p] : !tile.channel<2>
      %rp = tile.slot %R[%p] : memref<2x2x64xf16, #gpu.address_space<workgroup>> -> memref<2x64xf16, #gpu.address_space<workgroup>>
      tile.copy %B[%k, 0] [2, 64] at(0 = %rows : memref<2xi32, #gpu.address_space<workgroup>>) to %rp {tile.inst = #tile.inst<cp_async>} : memref<?x64xf16> to memref<2x64xf16, #gpu.address_space<workgroup>>
      tile.commit %ch2[%p] : !tile.channel<2>
      %p1 = tile.advance %p : !c
      tile.wait %ch[%q] : !tile.channel<2>
      %sq = tile.slot %S[%q] : !S -> !s
      %v = tile.load %sq : !s -> tensor<64xf16>
      tile.release %ch[%q] : !tile.channel<2>
      tile.wait %ch2[%q] : !tile.channel<2>
      tile.release %ch2[%q] : !tile.channel<2>
      tile.store %v to %C[%c0] : tensor<64xf16> to memref<64xf16>
      %j = tile.load %rows : memref<2xi32, #gpu.address_space<workgroup>> -> tensor<2xi32>
      tile.store %j to %D : tensor<2xi32> to memref<2xi32>
      %q1 = tile.advance %q : !c
      scf.yield %p1, %q1 : !c, !c
    }
    gpu.return
  }
}
