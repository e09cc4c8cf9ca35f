// RUN: tilews-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(tile-verify-schedule{report=true}))' --verify-diagnostics

// Steps and bounds near the largest number: what the verifier knows of sums
// does not overflow, and its search ends.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{schedule of @right is proved}}
  gpu.func @right(%A: memref<?xf32>, %C: memref<16xf32>, %n: index) kernel attributes {tile.threads = 160 : i32} {
    %first = arith.constant -9223372036854775808 : index
    %step = arith.constant 9223372036854775807 : index
    %as = tile.alloc_shared : !buffer
    %ch = tile.channel(%as) {producer = #tile.producer<tma>} : !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %k = %first to %n step %step iter_args(%q = %q0) -> !cursor {
          tile.wait %ch[%q] : !channel
          %a = tile.slot %as[%q] : !buffer -> !slot
          %x = tile.load %a : !slot -> !tile
          tile.release %ch[%q] : !channel
          tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
          %qn = tile.advance %q : !cursor
          scf.yield %qn : !cursor
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %r = scf.for %k = %first to %n step %step iter_args(%p = %p0) -> !cursor {
          tile.acquire %ch[%p] : !channel
          %a = tile.slot %as[%p] : !buffer -> !slot
          tile.copy %A[%k] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @released_without_a_wait(%A: memref<?xf32>, %C: memref<16xf32>, %n: index) kernel attributes {tile.threads = 160 : i32} {
    %first = arith.constant 0 : index
    %step = arith.constant 9223372036854775807 : index
    %as = tile.alloc_shared : !buffer
    %ch = tile.channel(%as) {producer = #tile.producer<tma>} : !buffer -> !channel
    tile.specialize {
      tile.role @math warps(4) {
        %q0 = tile.cursor : !cursor
        %r = scf.for %k = %first to %n step %step iter_args(%q = %q0) -> !cursor {
          // expected-error @below {{role @math releases slot 0 in phase 0, which it has not waited for or has released already}}
          // expected-note @below {{}}
          tile.release %ch[%q] : !channel
          %qn = tile.advance %q : !cursor
          scf.yield %qn : !cursor
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %r = scf.for %k = %first to %n step %step iter_args(%p = %p0) -> !cursor {
          tile.acquire %ch[%p] : !channel
          %a = tile.slot %as[%p] : !buffer -> !slot
          tile.copy %A[%k] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
          tile.commit %ch[%p] : !channel
          %pn = tile.advance %p : !cursor
          scf.yield %pn : !cursor
        }
      }
    }
    gpu.return
  }
}
