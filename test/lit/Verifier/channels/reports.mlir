// RUN: tilews-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(tile-verify-schedule{report}))' --verify-diagnostics

// The remark of each verdict, and all notes of a counterexample.

!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @roles is proved: 1 channels, 6 events}}
  gpu.func @roles(%A: memref<?xf32>, %C: memref<16xf32>, %n: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %as = tile.alloc_shared : !buffer
    %ch = tile.channel(%as) {producer = #tile.producer<tma>} : !buffer -> !tile.channel<2>
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !tile.cursor<2>
        %r = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0) -> !tile.cursor<2> {
          tile.wait %ch[%q] : !tile.channel<2>
          %a = tile.slot %as[%q] : !buffer -> !slot
          %x = tile.load %a : !slot -> tensor<16xf32>
          tile.atomic_rmw <add> %x to %C : tensor<16xf32> to memref<16xf32>
          tile.release %ch[%q] : !tile.channel<2>
          %qn = tile.advance %q : !tile.cursor<2>
          scf.yield %qn : !tile.cursor<2>
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !tile.cursor<2>
        %r = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> !tile.cursor<2> {
          tile.acquire %ch[%p] : !tile.channel<2>
          %a = tile.slot %as[%p] : !buffer -> !slot
          tile.copy %A[%c0] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %ch[%p] : !tile.channel<2>
          %pn = tile.advance %p : !tile.cursor<2>
          scf.yield %pn : !tile.cursor<2>
        }
      }
    }
    gpu.return
  }

  // expected-remark @below {{tile-verify-0003: nothing to prove of @nothing: no channels, no barriers in memory, no asynchronous copies}}
  gpu.func @nothing(%n: index) kernel {
    gpu.return
  }
}

// -----

!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>

gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @unknown(%C: memref<16xf32>) kernel attributes {tile.threads = 128 : i32} {
    %as = tile.alloc_shared : !buffer
    %ch = tile.channel(%as) {producer = #tile.producer<cp_async>} : !buffer -> !tile.channel<2>
    %p = tile.cursor : !tile.cursor<2>
    tile.acquire %ch[%p] : !tile.channel<2>
    // expected-remark @below {{tile-verify-0001: schedule of @unknown is not verified: a channel's buffer is accessed without tile.slot}}
    %x = tile.load %as[0, 0] [1, 16] : !buffer -> tensor<16xf32>
    tile.store %x to %C : tensor<16xf32> to memref<16xf32>
    gpu.return
  }
}

// -----

!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>

gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @wrong(%A: memref<?xf32>, %n: index {tile.name = "n"}) kernel attributes {tile.threads = 128 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %as = tile.alloc_shared : !buffer
    // expected-error @below {{schedule of @wrong is wrong: slot 0 is filled and never waited for: producer and consumer make different numbers of transactions}}
    // expected-note @below {{with n = 1}}
    %ch = tile.channel(%as) {producer = #tile.producer<cp_async>} : !buffer -> !tile.channel<2>
    %p = tile.cursor : !tile.cursor<2>
    scf.for %k = %c0 to %n step %c1 {
      // expected-note @below {{1: the kernel: tile.acquire slot 0 in phase 0}}
      tile.acquire %ch[%p] : !tile.channel<2>
      %a = tile.slot %as[%p] : !buffer -> !slot
      // expected-note @below {{2: the kernel: tile.copy writes slot 0 in phase 0}}
      tile.copy %A[%k] to %a {tile.inst = #tile.inst<cp_async>} : memref<?xf32> to !slot
      // expected-note @below {{filled here}}
      // expected-note @below {{3: the kernel: tile.commit slot 0 in phase 0}}
      tile.commit %ch[%p] : !tile.channel<2>
    }
    gpu.return
  }
}
