// Copies that are not shared, with the reason, and operations that do not accept
// `multicast`.
// RUN: tilews-opt %s --split-input-file --tile-multicast-copies --verify-diagnostics | FileCheck %s
// CHECK-NOT: multicast

#wg = #gpu.address_space<workgroup>
#sw = #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>
#sws = #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>
!S = memref<2x64x64xf16, #sws, #wg>
!s = memref<64x64xf16, #sw, #wg>

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // The number of iterations depends on the block.
  gpu.func @turns(%A: memref<?x?xf16>) kernel
      attributes {tile.threads = 160 : i32, tile.cluster = array<i32: 2, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %x = gpu.block_id x
    %k = arith.muli %x, %c64 : index
    %As = tile.alloc_shared : !S
    %ch = tile.channel(%As) {producer = #tile.producer<tma>} : !S -> !tile.channel<2>
    tile.specialize {
      tile.role @math warps(4) {
        %q = tile.cursor : !tile.cursor<2>
        // expected-note @below {{here}}
        %r = scf.for %i = %c0 to %k step %c64 iter_args(%p = %q) -> !tile.cursor<2> {
          tile.wait %ch[%p] : !tile.channel<2>
          tile.release %ch[%p] : !tile.channel<2>
          %next = tile.advance %p : !tile.cursor<2>
          scf.yield %next : !tile.cursor<2>
        }
      }
      tile.role @load warps(1) {
        %q = tile.cursor : !tile.cursor<2>
        %r = scf.for %i = %c0 to %k step %c64 iter_args(%p = %q) -> !tile.cursor<2> {
          tile.acquire %ch[%p] : !tile.channel<2>
          %a = tile.slot %As[%p] : !S -> !s
          // expected-remark @below {{tile-cluster-0002: copy is not multicast, each block of the cluster fetches its tile: the blocks may diverge where they would have to wait for each other}}
          tile.copy %A[%c0, %i] to %a {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !s
          tile.commit %ch[%p] : !tile.channel<2>
          %next = tile.advance %p : !tile.cursor<2>
          scf.yield %next : !tile.cursor<2>
        }
      }
    }
    gpu.return
  }

  // The kernel writes the mask that it reads.
  gpu.func @written(%A: memref<?x?xf16>, %mask: memref<?xi8>) kernel
      attributes {tile.threads = 160 : i32, tile.cluster = array<i32: 2, 1, 1>} {
    %c0 = arith.constant 0 : index
    %z = arith.constant 0 : i8
    %m = memref.load %mask[%c0] : memref<?xi8>
    %on = arith.cmpi ne, %m, %z : i8
    %As = tile.alloc_shared : !S
    %ch = tile.channel(%As) {producer = #tile.producer<tma>} : !S -> !tile.channel<2>
    tile.specialize {
      tile.role @math warps(4) {
        %q = tile.cursor : !tile.cursor<2>
        // expected-note @below {{here}}
        scf.if %on {
          tile.wait %ch[%q] : !tile.channel<2>
          tile.release %ch[%q] : !tile.channel<2>
        }
        memref.store %z, %mask[%c0] : memref<?xi8>
      }
      tile.role @load warps(1) {
        %q = tile.cursor : !tile.cursor<2>
        scf.if %on {
          tile.acquire %ch[%q] : !tile.channel<2>
          %a = tile.slot %As[%q] : !S -> !s
          // expected-remark @below {{the blocks may diverge}}
          tile.copy %A to %a {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !s
          tile.commit %ch[%q] : !tile.channel<2>
        }
      }
    }
    gpu.return
  }
}

// -----

#wg = #gpu.address_space<workgroup>
#sw = #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>
#sws = #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>
!S = memref<2x64x64xf16, #sws, #wg>
!s = memref<64x64xf16, #sw, #wg>

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // The second transaction fetches a tile that only its own block needs.
  gpu.func @two(%A: memref<?x?xf16>) kernel
      attributes {tile.threads = 160 : i32, tile.cluster = array<i32: 2, 1, 1>} {
    %c64 = arith.constant 64 : index
    %x = gpu.block_id x
    %m = arith.muli %x, %c64 : index
    %As = tile.alloc_shared : !S
    %ch = tile.channel(%As) {producer = #tile.producer<tma>} : !S -> !tile.channel<2>
    tile.specialize {
      tile.role @math warps(4) {
        %q = tile.cursor : !tile.cursor<2>
        tile.wait %ch[%q] : !tile.channel<2>
        tile.release %ch[%q] : !tile.channel<2>
        %next = tile.advance %q : !tile.cursor<2>
        tile.wait %ch[%next] : !tile.channel<2>
        tile.release %ch[%next] : !tile.channel<2>
      }
      tile.role @load warps(1) {
        %q = tile.cursor : !tile.cursor<2>
        tile.acquire %ch[%q] : !tile.channel<2>
        %a = tile.slot %As[%q] : !S -> !s
        // expected-remark @below {{other transactions of its channel are each block's own}}
        tile.copy %A to %a {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !s
        tile.commit %ch[%q] : !tile.channel<2>
        %next = tile.advance %q : !tile.cursor<2>
        tile.acquire %ch[%next] : !tile.channel<2>
        %b = tile.slot %As[%next] : !S -> !s
        // expected-remark @below {{the tile is not known to be the same in any of its blocks}}
        tile.copy %A[%m, 0] to %b {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !s
        tile.commit %ch[%next] : !tile.channel<2>
      }
    }
    gpu.return
  }
}

// -----

#wg = #gpu.address_space<workgroup>
!S = memref<2x24x64xf16, #tile.shared<(2, 24, 64):(1536, 64, 1), Sw<3,4,3>>, #wg>
!s = memref<24x64xf16, #tile.shared<(24, 64):(64, 1), Sw<3,4,3>>, #wg>

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // Half of 24 rows is not a multiple of the swizzle's atom.
  gpu.func @rows(%A: memref<?x?xf16>) kernel
      attributes {tile.threads = 160 : i32, tile.cluster = array<i32: 2, 1, 1>} {
    %As = tile.alloc_shared : !S
    %ch = tile.channel(%As) {producer = #tile.producer<tma>} : !S -> !tile.channel<2>
    tile.specialize {
      tile.role @math warps(4) {
        %q = tile.cursor : !tile.cursor<2>
        tile.wait %ch[%q] : !tile.channel<2>
        tile.release %ch[%q] : !tile.channel<2>
      }
      tile.role @load warps(1) {
        %q = tile.cursor : !tile.cursor<2>
        tile.acquire %ch[%q] : !tile.channel<2>
        %a = tile.slot %As[%q] : !S -> !s
        // expected-remark @below {{boxes of 3072 bytes with 24 rows cannot be cut into 2 shares of multiples of 1024 bytes}}
        tile.copy %A to %a {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !s
        tile.commit %ch[%q] : !tile.channel<2>
      }
    }
    gpu.return
  }
}

// -----

#wg = #gpu.address_space<workgroup>
!S = memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>, #wg>
!s = memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #wg>

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @again(%A: memref<?x?xf16>) kernel
      attributes {tile.threads = 160 : i32, tile.cluster = array<i32: 2, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %As = tile.alloc_shared : !S
    %ch = tile.channel(%As) {producer = #tile.producer<tma>} : !S -> !tile.channel<2>
    %q = tile.cursor : !tile.cursor<2>
    %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%p = %q) -> !tile.cursor<2> {
      tile.specialize {
        tile.role @math warps(4) {
          tile.wait %ch[%p] : !tile.channel<2>
          tile.release %ch[%p] : !tile.channel<2>
        }
        tile.role @load warps(1) {
          tile.acquire %ch[%p] : !tile.channel<2>
          %a = tile.slot %As[%p] : !S -> !s
          // expected-remark @below {{the roles of the kernel do not run just once}}
          tile.copy %A to %a {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !s
          tile.commit %ch[%p] : !tile.channel<2>
        }
      }
      %next = tile.advance %p : !tile.cursor<2>
      scf.yield %next : !tile.cursor<2>
    }
    gpu.return
  }
}

// -----

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @store(%A: memref<64x64xf16>) kernel {
    %a = tile.alloc_shared : memref<64x64xf16, #gpu.address_space<workgroup>>
    // expected-error @below {{is multicast, which only TMA's copies from global to shared memory are; expected tile.inst = #tile.inst<tma>}}
    tile.copy %A to %a {multicast = #tile.cluster<x>} : memref<64x64xf16> to memref<64x64xf16, #gpu.address_space<workgroup>>
    gpu.return
  }
}

// -----

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @bytes(%slot: i32) kernel {
    %b = tile.mbarrier {count = 1 : i64} : !tile.mbarrier<2>
    // expected-error @below {{arrives in other blocks and has 'bytes', but a block expects only its own}}
    tile.mbarrier_arrive %b[%slot] {by = #tile.agents<thread>, bytes = 64 : i64, peers = [#tile.cluster<x>]} : !tile.mbarrier<2>
    gpu.return
  }
}

// -----

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @copies(%slot: i32) kernel {
    %b = tile.mbarrier {count = 1 : i64} : !tile.mbarrier<2>
    // expected-error @below {{arrives in other blocks by 'copies', which arrive only in their own block}}
    tile.mbarrier_arrive %b[%slot] {by = #tile.agents<copies>, peers = [#tile.cluster<x>]} : !tile.mbarrier<2>
    gpu.return
  }
}

// -----

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @role() kernel attributes {tile.threads = 32 : i32} {
    tile.specialize {
      tile.role @all warps(1) {
        // expected-error @below {{is in role @all, but synchronizes all threads of the block}}
        tile.cluster_barrier
      }
    }
    gpu.return
  }
}
