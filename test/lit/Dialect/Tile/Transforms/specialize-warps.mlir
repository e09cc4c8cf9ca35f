// RUN: tilews-opt %s --tile-specialize-warps --cse --split-input-file | FileCheck %s
// A second run changes nothing.
// RUN: tilews-opt %s --tile-specialize-warps --cse --split-input-file -o %t.once
// RUN: tilews-opt %t.once --tile-specialize-warps --cse --split-input-file | diff - %t.once

// A guard inside of a persistent loop: each role has both loops, the guard and its own
// cursor.
!G = memref<?x?xf16>
!As = memref<3x128x64xf16, #gpu.address_space<workgroup>>
!a = memref<128x64xf16, #gpu.address_space<workgroup>>
!Bs = memref<3x256x64xf16, #gpu.address_space<workgroup>>
!b = memref<256x64xf16, #gpu.address_space<workgroup>>
!cur = !tile.cursor<3>
!acc = tensor<128x256xf32>
// CHECK-LABEL: gpu.func @k
// CHECK-SAME: tile.threads = 288 : i32
// CHECK-NEXT: %[[AS:.*]] = tile.alloc_shared : memref<3x128x64xf16
// CHECK-NEXT: %[[BS:.*]] = tile.alloc_shared : memref<3x256x64xf16
// CHECK-NEXT: %[[CH:.*]] = tile.channel(%[[AS]], %[[BS]])
// CHECK-NEXT: tile.specialize {
// CHECK-NEXT: tile.role @math warps(8) {
// CHECK: %[[Q0:.*]] = tile.cursor
// CHECK-NOT: = tile.cursor
// CHECK: scf.for {{.*}} iter_args(%[[QA:.*]] = %[[Q0]]) -> (!tile.cursor<3>) {
// CHECK: %[[R:.*]]:2 = scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}, %[[Q:.*]] = %[[QA]]) -> (tensor<128x256xf32>, !tile.cursor<3>) {
// CHECK-NEXT: %[[ON:.*]] = memref.load
// CHECK-NEXT: scf.if %[[ON]] -> (tensor<128x256xf32>, !tile.cursor<3>) {
// CHECK-NEXT: tile.wait %[[CH]][%[[Q]]]
// CHECK-COUNT-2: tile.slot %{{.*}}[%[[Q]]]
// CHECK-NEXT: tile.gemm
// CHECK-NEXT: tile.release %[[CH]][%[[Q]]]
// CHECK-NEXT: tile.advance %[[Q]]
// CHECK: tile.store %[[R]]#0
// CHECK-NEXT: scf.yield %[[R]]#1
// CHECK: tile.role @load warps(1) {
// CHECK-NOT: dense
// CHECK: %[[P0:.*]] = tile.cursor
// CHECK: scf.for {{.*}} iter_args(%[[PA:.*]] = %[[P0]]) -> (!tile.cursor<3>) {
// CHECK: scf.for {{.*}} iter_args(%[[P:.*]] = %[[PA]]) -> (!tile.cursor<3>) {
// CHECK-NEXT: %[[ON:.*]] = memref.load
// CHECK: scf.if %[[ON]] -> (!tile.cursor<3>) {
// CHECK-NEXT: tile.acquire %[[CH]][%[[P]]]
// CHECK-COUNT-2: tile.slot %{{.*}}[%[[P]]]
// CHECK-COUNT-2: tile.copy
// CHECK: tile.commit %[[CH]][%[[P]]]
// CHECK-NEXT: tile.advance %[[P]]
// CHECK-NOT: tile.store
// CHECK: gpu.return
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @k(%A: !G, %B: !G, %mask: memref<?xi1>, %C: memref<?x?xf32>, %tiles: index, %n: index) kernel attributes {tile.threads = 256 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : !acc
    %As = tile.alloc_shared : !As
    %Bs = tile.alloc_shared : !Bs
    %ch = tile.channel(%As, %Bs) {producer = #tile.producer<tma>} : !As, !Bs -> !tile.channel<3>
    %p0 = tile.cursor : !cur
    %q0 = tile.cursor : !cur
    %x = gpu.block_id x
    %g = gpu.grid_dim x
    %e:2 = scf.for %t = %x to %tiles step %g iter_args(%pa = %p0, %qa = %q0) -> (!cur, !cur) {
      %row = arith.muli %t, %c128 : index
      %r:3 = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero, %p = %pa, %q = %qa) -> (!acc, !cur, !cur) {
        %on = memref.load %mask[%k] : memref<?xi1>
        %k0 = arith.muli %k, %c64 : index
        %pn = scf.if %on -> !cur {
          tile.acquire %ch[%p] : !tile.channel<3>
          %sa = tile.slot %As[%p] : !As -> !a
          %sb = tile.slot %Bs[%p] : !Bs -> !b
          tile.copy %A[%row, %k0] to %sa {tile.inst = #tile.inst<tma>} : !G to !a
          tile.copy %B[0, %k0] to %sb {tile.inst = #tile.inst<tma>} : !G to !b
          tile.commit %ch[%p] : !tile.channel<3>
          %p1 = tile.advance %p : !cur
          scf.yield %p1 : !cur
        } else { scf.yield %p : !cur }
        %qn:2 = scf.if %on -> (!acc, !cur) {
          tile.wait %ch[%q] : !tile.channel<3>
          %sa = tile.slot %As[%q] : !As -> !a
          %sb = tile.slot %Bs[%q] : !Bs -> !b
          %d = tile.gemm %sa, %sb, %acc {transpose_rhs} : !a, !b -> !acc
          tile.release %ch[%q] : !tile.channel<3>
          %q1 = tile.advance %q : !cur
          scf.yield %d, %q1 : !acc, !cur
        } else { scf.yield %acc, %q : !acc, !cur }
        scf.yield %qn#0, %pn, %qn#1 : !acc, !cur, !cur
      }
      tile.store %r#0 to %C[%row, 0] : !acc to memref<?x?xf32>
      scf.yield %r#1, %r#2 : !cur, !cur
    }
    gpu.return
  }
}

// -----

!G = memref<?x64xf16>
!S = memref<2x64xf16, #gpu.address_space<workgroup>>
!s = memref<64xf16, #gpu.address_space<workgroup>>
!I = memref<16xindex, #gpu.address_space<workgroup>>
!c = !tile.cursor<2>

// A table in shared memory names the rows. All threads fill it before the roles. A copy
// without TMA takes four warps.
// CHECK-LABEL: gpu.func @gather
// CHECK-SAME: tile.threads = 256 : i32
// CHECK: %[[TABLE:.*]] = tile.alloc_shared : memref<16xindex
// CHECK: tile.copy %arg1 to %[[TABLE]]
// CHECK-NOT: scf.for
// CHECK: tile.specialize
// CHECK: tile.role @math warps(4)
// CHECK-NOT: memref.load
// CHECK: scf.for {{.*}} -> (tensor<64xf16>, !tile.cursor<2>)
// CHECK: arith.addf
// CHECK: tile.store
// CHECK: tile.role @load warps(4)
// CHECK: scf.for
// CHECK: memref.load %[[TABLE]]
// CHECK: tile.copy %arg0
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @gather(%A: !G, %T: memref<16xindex>, %C: memref<64xf16>, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : tensor<64xf16>
    %S = tile.alloc_shared : !S
    %T2 = tile.alloc_shared : !S
    %table = tile.alloc_shared : !I
    %ch = tile.channel(%S, %T2) {producer = #tile.producer<mixed>} : !S, !S -> !tile.channel<2>
    %p0 = tile.cursor : !c
    tile.copy %T to %table : memref<16xindex> to !I
    %r:3 = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero, %p = %p0, %q = %p0) -> (tensor<64xf16>, !c, !c) {
      %row = memref.load %table[%k] : !I
      tile.acquire %ch[%p] : !tile.channel<2>
      %sp = tile.slot %S[%p] : !S -> !s
      tile.copy %A[%row, 0] [1, 64] to %sp {tile.inst = #tile.inst<cp_async>} : !G to !s
      %tp = tile.slot %T2[%p] : !S -> !s
      tile.copy %A[%k, 0] [1, 64] to %tp {tile.inst = #tile.inst<tma>} : !G to !s
      tile.commit %ch[%p] : !tile.channel<2>
      %p1 = tile.advance %p : !c
      tile.wait %ch[%q] : !tile.channel<2>
      %sq = tile.slot %S[%q] : !S -> !s
      %v = tile.load %sq : !s -> tensor<64xf16>
      %tq = tile.slot %T2[%q] : !S -> !s
      %w = tile.load %tq : !s -> tensor<64xf16>
      %both = arith.addf %v, %w : tensor<64xf16>
      %sum = arith.addf %acc, %both : tensor<64xf16>
      tile.release %ch[%q] : !tile.channel<2>
      %q1 = tile.advance %q : !c
      scf.yield %sum, %p1, %q1 : tensor<64xf16>, !c, !c
    }
    tile.store %r#0 to %C : tensor<64xf16> to memref<64xf16>
    gpu.return
  }
}

// -----

!S = memref<2x64xf16, #gpu.address_space<workgroup>>
!s = memref<64xf16, #gpu.address_space<workgroup>>
!c = !tile.cursor<2>

// The condition of the loop depends on a value that the consumer computes: each role
// repeats the computation.
// CHECK-LABEL: gpu.func @while
// CHECK: tile.role @math
// CHECK: scf.while (%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) : (index, !tile.cursor<2>) -> (index, !tile.cursor<2>)
// CHECK: memref.load
// CHECK: tile.wait
// CHECK: tile.store
// CHECK: tile.role @load
// CHECK: scf.while (%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) : (index, !tile.cursor<2>) -> (index, !tile.cursor<2>)
// CHECK: tile.acquire
// CHECK: memref.load
// CHECK-NOT: tile.store
// CHECK: gpu.return
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @while(%A: memref<?x64xf16>, %next: memref<?xindex>, %C: memref<?x64xf16>) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %S = tile.alloc_shared : !S
    %ch = tile.channel(%S) {producer = #tile.producer<tma>} : !S -> !tile.channel<2>
    %p0 = tile.cursor : !c
    %r:3 = scf.while (%i = %c0, %p = %p0, %q = %p0) : (index, !c, !c) -> (index, !c, !c) {
      %on = arith.cmpi sge, %i, %c0 : index
      scf.condition(%on) %i, %p, %q : index, !c, !c
    } do {
    ^bb0(%i: index, %p: !c, %q: !c):
      tile.acquire %ch[%p] : !tile.channel<2>
      %sp = tile.slot %S[%p] : !S -> !s
      tile.copy %A[%i, 0] [1, 64] to %sp {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to !s
      tile.commit %ch[%p] : !tile.channel<2>
      %p1 = tile.advance %p : !c
      %j = memref.load %next[%i] : memref<?xindex>
      tile.wait %ch[%q] : !tile.channel<2>
      %sq = tile.slot %S[%q] : !S -> !s
      %v = tile.load %sq : !s -> tensor<64xf16>
      tile.release %ch[%q] : !tile.channel<2>
      %q1 = tile.advance %q : !c
      tile.store %v to %C[%i, 0] [1, 64] : tensor<64xf16> to memref<?x64xf16>
      scf.yield %j, %p1, %q1 : index, !c, !c
    }
    gpu.return
  }
}
