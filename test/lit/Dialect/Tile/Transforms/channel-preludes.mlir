// RUN: tilews-opt %s --tile-channel-preludes --split-input-file | FileCheck %s

!G = memref<?x64xf16>
!S = memref<64x64xf16, #gpu.address_space<workgroup>>
!V = memref<4096xf16, #gpu.address_space<workgroup>>
!K = memref<2x64x64xf16, #gpu.address_space<workgroup>>
!acc = tensor<64x64xf32>

// The outer loop has one tile in each iteration. Two copies fill its halves. It is read
// in an inner loop and, through a view, after that loop. The outer loop carries the
// cursors.
// CHECK-LABEL: gpu.func @tiles
// CHECK: %[[CH:.*]] = tile.channel(%[[BUFFER:.*]]) {producer = #tile.producer<tma>} : memref<1x64x64xf16, {{.*}}> -> !tile.channel<1>
// CHECK: %[[P0:.*]] = tile.cursor
// CHECK: %[[Q0:.*]] = tile.cursor
// CHECK: scf.for {{.*}} iter_args(%[[P:.*]] = %[[P0]], %[[Q:.*]] = %[[Q0]]) -> (!tile.cursor<1>, !tile.cursor<1>) {
// CHECK-NEXT: tile.acquire %[[CH]][%[[P]]]
// CHECK-NEXT: %[[A:.*]] = tile.slot %[[BUFFER]][%[[P]]]
// CHECK-NEXT: tile.copy %{{.*}} to %[[A]][0, 0]
// CHECK-NEXT: %[[B:.*]] = tile.slot %[[BUFFER]][%[[P]]]
// CHECK-NEXT: tile.copy %{{.*}} to %[[B]][32, 0]
// CHECK-NEXT: tile.commit %[[CH]][%[[P]]]
// CHECK-NEXT: %[[P1:.*]] = tile.advance %[[P]]
// CHECK-NEXT: tile.wait %[[CH]][%[[Q]]]
// CHECK-NEXT: %[[C:.*]] = tile.slot %[[BUFFER]][%[[Q]]]
// CHECK-NEXT: scf.for
// CHECK: tile.gemm %[[C]]
// CHECK: %[[D:.*]] = tile.slot %[[BUFFER]][%[[Q]]]
// CHECK-NEXT: %[[VIEW:.*]] = tile.view %[[D]]
// CHECK-NEXT: tile.load %[[VIEW]]
// CHECK-NEXT: tile.release %[[CH]][%[[Q]]]
// CHECK-NEXT: %[[Q1:.*]] = tile.advance %[[Q]]
// CHECK: scf.yield %[[P1]], %[[Q1]]
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @tiles(%Q: !G, %C: memref<?x64xf32>, %D: memref<4096xf16>, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant dense<0.0> : !acc
    %q = tile.alloc_shared : !S
    %v = tile.view %q : !S to !V
    %k = tile.alloc_shared : !K
    %ch = tile.channel(%k) {producer = #tile.producer<tma>} : !K -> !tile.channel<2>
    scf.for %i = %c0 to %n step %c1 {
      tile.copy %Q[%i, 0] [32, 64] to %q[0, 0] [32, 64] {tile.inst = #tile.inst<tma>} : !G to !S
      tile.copy %Q[%c32, 0] [32, 64] to %q[32, 0] [32, 64] {tile.inst = #tile.inst<tma>} : !G to !S
      %r = scf.for %j = %c0 to %n step %c1 iter_args(%a = %zero) -> !acc {
        %d = tile.gemm %q, %q, %a : !S, !S -> !acc
        scf.yield %d : !acc
      }
      %all = tile.load %v : !V -> tensor<4096xf16>
      tile.store %all to %D : tensor<4096xf16> to memref<4096xf16>
      tile.store %r to %C[%i, 0] : !acc to memref<?x64xf32>
    }
    gpu.return
  }
}

// -----

!G = memref<?x64xf16>
!S = memref<64x64xf16, #gpu.address_space<workgroup>>
!K = memref<2x64x64xf16, #gpu.address_space<workgroup>>

// Nothing orders the copies of a transaction, so they must write different elements. %q
// gets a channel, %twice gets none: an iteration fills its upper half again, as an
// unrolled loop does.
// CHECK-LABEL: gpu.func @written_twice
// CHECK-COUNT-2: tile.channel(
// CHECK-NOT: tile.channel(
// CHECK: tile.copy %arg0{{.*}} to %[[TWICE:.*]][0, 0]
// CHECK-NEXT: tile.copy %arg0{{.*}} to %[[TWICE]][32, 0]
// CHECK-NEXT: tile.copy %arg0{{.*}} to %[[TWICE]][0, 0]
// CHECK: tile.acquire
// CHECK-COUNT-2: tile.copy %arg0
// CHECK: tile.commit
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @written_twice(%Q: !G, %C: memref<64x64xf16>, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %twice = tile.alloc_shared : !S
    %q = tile.alloc_shared : !S
    %k = tile.alloc_shared : !K
    %ch = tile.channel(%k) {producer = #tile.producer<tma>} : !K -> !tile.channel<2>
    scf.for %i = %c0 to %n step %c1 {
      tile.copy %Q[%i, 0] [32, 64] to %twice[0, 0] [32, 64] {tile.inst = #tile.inst<tma>} : !G to !S
      tile.copy %Q[%c32, 0] [32, 64] to %twice[32, 0] [32, 64] {tile.inst = #tile.inst<tma>} : !G to !S
      tile.copy %Q[%i, 0] [32, 64] to %twice[0, 0] [32, 64] {tile.inst = #tile.inst<tma>} : !G to !S
      tile.copy %Q[%i, 0] [32, 64] to %q[0, 0] [32, 64] {tile.inst = #tile.inst<tma>} : !G to !S
      tile.copy %Q[%c32, 0] [32, 64] to %q[32, 0] [32, 64] {tile.inst = #tile.inst<tma>} : !G to !S
      %a = tile.load %twice : !S -> tensor<64x64xf16>
      %b = tile.load %q : !S -> tensor<64x64xf16>
      %c = arith.addf %a, %b : tensor<64x64xf16>
      tile.store %c to %C : tensor<64x64xf16> to memref<64x64xf16>
    }
    gpu.return
  }
}

// -----

!G = memref<?x64xf16>
!S = memref<64x64xf16, #gpu.address_space<workgroup>>
!K = memref<2x64x64xf16, #gpu.address_space<workgroup>>

// These buffers get no channel: one is read in the next iteration, one in another
// block, one is written by threads, too, and one is filled by copies other than TMA.
// CHECK-LABEL: gpu.func @others
// CHECK-COUNT-1: tile.channel(
// CHECK-NOT: tile.channel(
// CHECK-NOT: tile.acquire
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @others(%Q: !G, %C: memref<64x64xf16>, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf16>
    %before = tile.alloc_shared : !S
    %outside = tile.alloc_shared : !S
    %stored = tile.alloc_shared : !S
    %other = tile.alloc_shared : !S
    %k = tile.alloc_shared : !K
    %ch = tile.channel(%k) {producer = #tile.producer<tma>} : !K -> !tile.channel<2>
    scf.for %i = %c0 to %n step %c1 {
      %a = tile.load %before : !S -> tensor<64x64xf16>
      tile.copy %Q[%i, 0] to %before {tile.inst = #tile.inst<tma>} : !G to !S
      tile.store %a to %C : tensor<64x64xf16> to memref<64x64xf16>
      tile.copy %Q[%i, 0] to %outside {tile.inst = #tile.inst<tma>} : !G to !S
    }
    %b = tile.load %outside : !S -> tensor<64x64xf16>
    tile.store %b to %C : tensor<64x64xf16> to memref<64x64xf16>
    tile.copy %Q to %stored {tile.inst = #tile.inst<tma>} : !G to !S
    tile.store %zero to %stored : tensor<64x64xf16> to !S
    %c = tile.load %stored : !S -> tensor<64x64xf16>
    tile.store %c to %C : tensor<64x64xf16> to memref<64x64xf16>
    tile.copy %Q to %other {tile.inst = #tile.inst<cp_async>} : !G to !S
    %d = tile.load %other : !S -> tensor<64x64xf16>
    tile.store %d to %C : tensor<64x64xf16> to memref<64x64xf16>
    gpu.return
  }
}

// -----

!G = memref<64x?xf16>
!S = memref<64x64xf16, #gpu.address_space<workgroup>>
!K = memref<2x64x64xf16, #gpu.address_space<workgroup>>
!M = memref<1x8xi32, #gpu.address_space<workgroup>>
!half = tensor<64x64xf16>
!c = !tile.cursor<2>

// A buffer that the load role itself would have to wait for gets no channel: the guards
// of copies that fill a channel are read from the mask, and the sum decides whether a
// tile is copied. The queries get a channel.
// CHECK-LABEL: gpu.func @decides
// CHECK-COUNT-2: tile.channel(
// CHECK-NOT: tile.channel(
// CHECK: tile.copy %arg1{{.*}} to memref<1x8xi32, #gpu.address_space<workgroup>>
// CHECK-NEXT: tile.acquire {{.*}} : !tile.channel<1>
// CHECK-NEXT: tile.slot
// CHECK-NEXT: tile.copy %arg2
// CHECK: scf.for
// CHECK: tile.release {{.*}} : !tile.channel<1>
// CHECK: scf.if
// CHECK-NEXT: tile.copy
// CHECK-NEXT: tile.load

// A kernel without a load role gains nothing from a channel.
// CHECK-LABEL: gpu.func @no_roles
// CHECK-COUNT-1: tile.channel(
// CHECK-NOT: tile.channel(
// CHECK: gpu.return
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @decides(%A: !G, %mask: memref<?x8xi32>, %Q: !G, %C: memref<64x64xf16>, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : !half
    %none = arith.constant 0 : i32
    %limit = arith.constant 3.0 : f16
    %q = tile.alloc_shared : !S
    %ms = tile.alloc_shared : !M
    %more = tile.alloc_shared : !S
    %k = tile.alloc_shared : !K
    %ch = tile.channel(%k) {producer = #tile.producer<tma>} : !K -> !tile.channel<2>
    %p0 = tile.cursor : !c
    tile.copy %mask[0, 0] to %ms {tile.inst = #tile.inst<tma>} : memref<?x8xi32> to !M
    tile.copy %Q to %q {tile.inst = #tile.inst<tma>} : !G to !S
    %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %p = %p0, %o = %p0) -> (!half, !c, !c) {
      %on = memref.load %ms[%c0, %i] : !M
      %any = arith.cmpi sgt, %on, %none : i32
      %new:3 = scf.if %any -> (!half, !c, !c) {
        tile.acquire %ch[%p] : !tile.channel<2>
        %sp = tile.slot %k[%p] : !K -> !S
        tile.copy %A[0, %i] to %sp {tile.inst = #tile.inst<tma>} : !G to !S
        tile.commit %ch[%p] : !tile.channel<2>
        %p1 = tile.advance %p : !c
        tile.wait %ch[%o] : !tile.channel<2>
        %so = tile.slot %k[%o] : !K -> !S
        %a = tile.load %so : !S -> !half
        tile.release %ch[%o] : !tile.channel<2>
        %o1 = tile.advance %o : !c
        %b = tile.load %q : !S -> !half
        %ab = arith.mulf %a, %b : !half
        %sum = arith.addf %acc, %ab : !half
        scf.yield %sum, %p1, %o1 : !half, !c, !c
      } else {
        scf.yield %acc, %p, %o : !half, !c, !c
      }
      scf.yield %new#0, %new#1, %new#2 : !half, !c, !c
    }
    %m1 = tile.reduce <max> %r#0 {axis = 1 : i64} : !half -> tensor<64xf16>
    %m0 = tile.reduce <max> %m1 {axis = 0 : i64} : tensor<64xf16> -> tensor<f16>
    %m = tensor.extract %m0[] : tensor<f16>
    %big = arith.cmpf ogt, %m, %limit : f16
    scf.if %big {
      tile.copy %A[0, %n] to %more {tile.inst = #tile.inst<tma>} : !G to !S
      %a = tile.load %more : !S -> !half
      tile.store %a to %C : !half to memref<64x64xf16>
    }
    gpu.return
  }

  gpu.func @no_roles(%A: !G, %C: memref<64x64xf16>, %n: index) kernel attributes {tile.threads = 1024 : i32} {
    %q = tile.alloc_shared : !S
    %k = tile.alloc_shared : !K
    %ch = tile.channel(%k) {producer = #tile.producer<tma>} : !K -> !tile.channel<2>
    tile.copy %A to %q {tile.inst = #tile.inst<tma>} : !G to !S
    %a = tile.load %q : !S -> !half
    tile.store %a to %C : !half to memref<64x64xf16>
    gpu.return
  }
}
