// Kernels that keep one role, with each reason. Their copies do not use TMA.
// RUN: tilews-opt %s --tile-specialize-warps --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-COUNT-8: producer = #tile.producer<cp_async>
// CHECK-NOT: inst<tma>
// CHECK-NOT: tile.role @

!S = memref<2x64xf16, #gpu.address_space<workgroup>>
!s = memref<64xf16, #gpu.address_space<workgroup>>
!c = !tile.cursor<2>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-ws-0001: kernel keeps one role: TMA can do none of the kernel's copies}}
  gpu.func @k(%A: memref<?x64xf16>, %C: memref<?xi32>, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %one = arith.constant 1 : i32
    %S = tile.alloc_shared : !S
    %ch = tile.channel(%S) {producer = #tile.producer<cp_async>} : !S -> !tile.channel<2>
    %p0 = tile.cursor : !c
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0, %q = %p0) -> (!c, !c) {
      tile.acquire %ch[%p] : !tile.channel<2>
      %sp = tile.slot %S[%p] : !S -> !s
      tile.copy %A[%k, 0] [1, 64] to %sp {tile.inst = #tile.inst<cp_async>} : memref<?x64xf16> to !s
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
}

// -----

!S = memref<2x64xf16, #gpu.address_space<workgroup>>
!s = memref<64xf16, #gpu.address_space<workgroup>>
!c = !tile.cursor<2>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @k(%A: memref<?x64xf16>, %C: memref<?xi32>, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %one = arith.constant 1 : i32
    %S = tile.alloc_shared : !S
    %ch = tile.channel(%S) {producer = #tile.producer<tma>} : !S -> !tile.channel<2>
    %p0 = tile.cursor : !c
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0, %q = %p0) -> (!c, !c) {
      // expected-remark @below {{tile-ws-0002: kernel keeps one role: a copy that fills a channel, or a guard around one, needs this result}}
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
}

// -----

!S = memref<2x64xf16, #gpu.address_space<workgroup>>
!s = memref<64xf16, #gpu.address_space<workgroup>>
!c = !tile.cursor<2>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @k(%A: memref<?x64xf16>, %C: memref<?xi32>, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %one = arith.constant 1 : i32
    %S = tile.alloc_shared : !S
    %ch = tile.channel(%S) {producer = #tile.producer<tma>} : !S -> !tile.channel<2>
    %p0 = tile.cursor : !c
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0, %q = %p0) -> (!c, !c) {
      tile.acquire %ch[%p] : !tile.channel<2>
      %sp = tile.slot %S[%p] : !S -> !s
      // expected-remark @below {{tile-ws-0003: kernel keeps one role: filling a channel needs this read of memory that the kernel writes}}
      tile.copy %A[%k, 0] [1, 64] to %sp {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to !s
      tile.commit %ch[%p] : !tile.channel<2>
      %p1 = tile.advance %p : !c
      tile.wait %ch[%q] : !tile.channel<2>
      %sq = tile.slot %S[%q] : !S -> !s
      %v = tile.load %sq : !s -> tensor<64xf16>
      tile.release %ch[%q] : !tile.channel<2>
      %q1 = tile.advance %q : !c
      // expected-note @below {{written here}}
      tile.store %v to %A[%k, 0] [1, 64] : tensor<64xf16> to memref<?x64xf16>
      scf.yield %p1, %q1 : !c, !c
    }
    gpu.return
  }
}

// -----

!S = memref<2x64xf16, #gpu.address_space<workgroup>>
!s = memref<64xf16, #gpu.address_space<workgroup>>
!c = !tile.cursor<2>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @k(%A: memref<?x64xf16>, %C: memref<?xi32>, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %one = arith.constant 1 : i32
    %S = tile.alloc_shared : !S
    %ch = tile.channel(%S) {producer = #tile.producer<tma>} : !S -> !tile.channel<2>
    %p0 = tile.cursor : !c
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0, %q = %p0) -> (!c, !c) {
      tile.acquire %ch[%p] : !tile.channel<2>
      %sp = tile.slot %S[%p] : !S -> !s
      tile.copy %A[%k, 0] [1, 64] to %sp {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to !s
      tile.commit %ch[%p] : !tile.channel<2>
      %p1 = tile.advance %p : !c
      // expected-remark @below {{tile-ws-0004: kernel keeps one role: channels are used in an operation other than scf.for, scf.if and scf.while}}
      scf.execute_region {
        tile.wait %ch[%q] : !tile.channel<2>
        scf.yield
      }
      %sq = tile.slot %S[%q] : !S -> !s
      %v = tile.load %sq : !s -> tensor<64xf16>
      tile.release %ch[%q] : !tile.channel<2>
      %q1 = tile.advance %q : !c
      scf.yield %p1, %q1 : !c, !c
    }
    gpu.return
  }
}

// -----

!S = memref<2x64xf16, #gpu.address_space<workgroup>>
!s = memref<64xf16, #gpu.address_space<workgroup>>
!c = !tile.cursor<2>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-ws-0005: kernel keeps one role: with 1 more warps the kernel would have 1056 threads, more than the 1024 of sm_90a}}
  gpu.func @k(%A: memref<?x64xf16>, %C: memref<?xi32>, %n: index) kernel attributes {tile.threads = 1024 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %one = arith.constant 1 : i32
    %S = tile.alloc_shared : !S
    %ch = tile.channel(%S) {producer = #tile.producer<tma>} : !S -> !tile.channel<2>
    %p0 = tile.cursor : !c
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0, %q = %p0) -> (!c, !c) {
      tile.acquire %ch[%p] : !tile.channel<2>
      %sp = tile.slot %S[%p] : !S -> !s
      tile.copy %A[%k, 0] [1, 64] to %sp {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to !s
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
}

// -----

// Without TMA there is no remark.
!S = memref<2x64xf16, #gpu.address_space<workgroup>>
!s = memref<64xf16, #gpu.address_space<workgroup>>
!c = !tile.cursor<2>
gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @k(%A: memref<?x64xf16>, %C: memref<?xi32>, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %one = arith.constant 1 : i32
    %S = tile.alloc_shared : !S
    %ch = tile.channel(%S) {producer = #tile.producer<tma>} : !S -> !tile.channel<2>
    %p0 = tile.cursor : !c
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0, %q = %p0) -> (!c, !c) {
      tile.acquire %ch[%p] : !tile.channel<2>
      %sp = tile.slot %S[%p] : !S -> !s
      tile.copy %A[%k, 0] [1, 64] to %sp {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to !s
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
}

// -----

!S = memref<2x64xf16, #gpu.address_space<workgroup>>
!s = memref<64xf16, #gpu.address_space<workgroup>>
!c = !tile.cursor<2>

// The loop continues until a value that it has read ends it.
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @until(%A: memref<?x64xf16>, %C: memref<?xi32>, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f16
    %S = tile.alloc_shared : !S
    %ch = tile.channel(%S) {producer = #tile.producer<tma>} : !S -> !tile.channel<2>
    %p0 = tile.cursor : !c
    %r:4 = scf.while (%k = %c0, %last = %zero, %p = %p0, %q = %p0) : (index, f16, !c, !c) -> (index, f16, !c, !c) {
      %on = arith.cmpf oeq, %last, %zero : f16
      scf.condition(%on) %k, %last, %p, %q : index, f16, !c, !c
    } do {
    ^bb0(%k: index, %last: f16, %p: !c, %q: !c):
      tile.acquire %ch[%p] : !tile.channel<2>
      %sp = tile.slot %S[%p] : !S -> !s
      tile.copy %A[%k, 0] [1, 64] to %sp {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to !s
      tile.commit %ch[%p] : !tile.channel<2>
      %p1 = tile.advance %p : !c
      tile.wait %ch[%q] : !tile.channel<2>
      %sq = tile.slot %S[%q] : !S -> !s
      // expected-remark @below {{tile-ws-0006: kernel keeps one role: filling a channel needs this read of a tile that a channel delivers}}
      %v = memref.load %sq[%c0] : !s
      tile.release %ch[%q] : !tile.channel<2>
      %q1 = tile.advance %q : !c
      %j = arith.addi %k, %c1 : index
      scf.yield %j, %v, %p1, %q1 : index, f16, !c, !c
    }
    gpu.return
  }
}

// -----

!S = memref<2x64xf16, #gpu.address_space<workgroup>>
!s = memref<64xf16, #gpu.address_space<workgroup>>
!c = !tile.cursor<2>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-ws-0007: kernel keeps one role: 'tile.role_registers' gives registers to warpgroups of 4 warps, but the kernel has 64 threads}}
  gpu.func @half_a_warpgroup(%A: memref<?x64xf16>, %n: index) kernel
      attributes {tile.threads = 64 : i32, tile.role_registers = {load = 40 : i64, math = 232 : i64}} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %S = tile.alloc_shared : !S
    %ch = tile.channel(%S) {producer = #tile.producer<tma>} : !S -> !tile.channel<2>
    %p0 = tile.cursor : !c
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0, %q = %p0) -> (!c, !c) {
      tile.acquire %ch[%p] : !tile.channel<2>
      %sp = tile.slot %S[%p] : !S -> !s
      tile.copy %A[%k, 0] [1, 64] to %sp {tile.inst = #tile.inst<tma>} : memref<?x64xf16> to !s
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
}

// -----

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-ws-0008: kernel keeps one role: 'tile.role_registers' has no roles to go to, as none of its loops is pipelined}}
  gpu.func @no_pipeline() kernel attributes {tile.role_registers = {load = 40 : i64, math = 232 : i64}} {
    gpu.return
  }
}

// -----

gpu.module @m [#nvvm.target<chip = "sm_80">] {
  // expected-remark @below {{tile-ws-0009: kernel keeps one role: 'tile.role_registers' has no roles to go to, as sm_80 has no TMA}}
  gpu.func @no_tma() kernel attributes {tile.role_registers = {load = 40 : i64, math = 232 : i64}} {
    gpu.return
  }
}

// -----

// Copies by cp.async and through registers fill one channel, none by TMA.
!S = memref<2x64xf16, #gpu.address_space<workgroup>>
!s = memref<64xf16, #gpu.address_space<workgroup>>
!c = !tile.cursor<2>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-ws-0001: kernel keeps one role: TMA can do none of the kernel's copies}}
  gpu.func @mixed(%A: memref<?x64xf16>, %B: memref<?x?xf16>, %n: index) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %S = tile.alloc_shared : !S
    %T = tile.alloc_shared : !S
    %ch = tile.channel(%S, %T) {producer = #tile.producer<mixed>} : !S, !S -> !tile.channel<2>
    %p0 = tile.cursor : !c
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0, %q = %p0) -> (!c, !c) {
      tile.acquire %ch[%p] : !tile.channel<2>
      %sp = tile.slot %S[%p] : !S -> !s
      tile.copy %A[%k, 0] [1, 64] to %sp {tile.inst = #tile.inst<cp_async>} : memref<?x64xf16> to !s
      %tp = tile.slot %T[%p] : !S -> !s
      tile.copy %B[%k, 0] [1, 64] to %tp {tile.inst = #tile.inst<simt>} : memref<?x?xf16> to !s
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
}

// -----

// Without TMA a copy from an arbitrary column is not asynchronous.
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @any_column(%A: memref<64x512xf16>, %n: index) kernel {
    %a = tile.alloc_shared : memref<64x64xf16, #gpu.address_space<workgroup>>
    // expected-remark @below {{tile-inst-0002: copy uses simt, not cp_async: only 2 adjacent bytes are known to be aligned}}
    tile.copy %A[0, %n] to %a {tile.inst = #tile.inst<tma>} : memref<64x512xf16> to memref<64x64xf16, #gpu.address_space<workgroup>>
    gpu.return
  }
}
