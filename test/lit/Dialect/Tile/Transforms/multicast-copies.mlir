// RUN: tilews-opt %s --split-input-file --tile-multicast-copies --verify-diagnostics | FileCheck %s

#wg = #gpu.address_space<workgroup>
#sw = #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>
#sws = #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>
!S = memref<2x64x64xf16, #sws, #wg>
!s = memref<64x64xf16, #sw, #wg>

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // Blocks in a row of the grid share rows of A, blocks in a column share rows of B.
  // CHECK-LABEL: gpu.func @grid
  // CHECK: tile.copy %{{.*}} to %{{.*}} {multicast = #tile.cluster<x>, tile.inst = #tile.inst<tma>}
  // CHECK: tile.copy %{{.*}} to %{{.*}} {multicast = #tile.cluster<y>, tile.inst = #tile.inst<tma>}
  gpu.func @grid(%A: memref<?x?xf16>, %B: memref<?x?xf16>) kernel
      attributes {tile.threads = 160 : i32, tile.cluster = array<i32: 2, 2, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %k = memref.dim %A, %c1 : memref<?x?xf16>
    %x = gpu.block_id x
    %y = gpu.block_id y
    %m = arith.muli %y, %c64 : index
    %n = arith.muli %x, %c64 : index
    %As = tile.alloc_shared : !S
    %Bs = tile.alloc_shared : !S
    %ch = tile.channel(%As, %Bs) {producer = #tile.producer<tma>} : !S, !S -> !tile.channel<2>
    tile.specialize {
      tile.role @math warps(4) {
        %q = tile.cursor : !tile.cursor<2>
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
          %b = tile.slot %Bs[%p] : !S -> !s
          tile.copy %A[%m, %i] to %a {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !s
          tile.copy %B[%n, %i] to %b {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !s
          tile.commit %ch[%p] : !tile.channel<2>
          %next = tile.advance %p : !tile.cursor<2>
          scf.yield %next : !tile.cursor<2>
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
  // Panels of 8 rows, of which there is an even number, order the tiles: neighbours are
  // in the same column.
  // CHECK-LABEL: gpu.func @panels
  // CHECK: tile.copy %{{.*}} to %{{.*}} {tile.inst = #tile.inst<tma>}
  // CHECK: tile.copy %{{.*}} to %{{.*}} {multicast = #tile.cluster<x>, tile.inst = #tile.inst<tma>}
  gpu.func @panels(%A: memref<?x?xf16>, %B: memref<?x?xf16>) kernel
      attributes {tile.threads = 160 : i32, tile.cluster = array<i32: 2, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %M = memref.dim %A, %c0 : memref<?x?xf16>
    %k = memref.dim %A, %c1 : memref<?x?xf16>
    %N = memref.dim %B, %c0 : memref<?x?xf16>
    %pairs = arith.ceildivsi %M, %c128 : index
    %rows = arith.muli %pairs, %c2 : index
    %columns = arith.ceildivsi %N, %c64 : index
    %tiles = arith.muli %rows, %columns : index
    %block = gpu.block_id x
    %blocks = gpu.grid_dim x
    %As = tile.alloc_shared : !S
    %Bs = tile.alloc_shared : !S
    %ch = tile.channel(%As, %Bs) {producer = #tile.producer<tma>} : !S, !S -> !tile.channel<2>
    tile.specialize {
      tile.role @math warps(4) {
        %q = tile.cursor : !tile.cursor<2>
        %o = scf.for %t = %block to %tiles step %blocks iter_args(%p0 = %q) -> !tile.cursor<2> {
          %r = scf.for %i = %c0 to %k step %c64 iter_args(%p = %p0) -> !tile.cursor<2> {
            tile.wait %ch[%p] : !tile.channel<2>
            tile.release %ch[%p] : !tile.channel<2>
            %next = tile.advance %p : !tile.cursor<2>
            scf.yield %next : !tile.cursor<2>
          }
          scf.yield %r : !tile.cursor<2>
        }
      }
      tile.role @load warps(1) {
        %q = tile.cursor : !tile.cursor<2>
        %o = scf.for %t = %block to %tiles step %blocks iter_args(%p0 = %q) -> !tile.cursor<2> {
          %panel = arith.muli %columns, %c8 : index
          %index = arith.divui %t, %panel : index
          %within = arith.remui %t, %panel : index
          %first = arith.muli %index, %c8 : index
          %left = arith.subi %rows, %first : index
          %height = arith.minui %c8, %left : index
          %column = arith.divui %within, %height : index
          %row = arith.remui %within, %height : index
          %y = arith.addi %first, %row : index
          %m = arith.muli %y, %c64 : index
          %n = arith.muli %column, %c64 : index
          %r = scf.for %i = %c0 to %k step %c64 iter_args(%p = %p0) -> !tile.cursor<2> {
            tile.acquire %ch[%p] : !tile.channel<2>
            %a = tile.slot %As[%p] : !S -> !s
            %b = tile.slot %Bs[%p] : !S -> !s
            // expected-remark @below {{tile-cluster-0002: copy is not multicast, each block of the cluster fetches its tile: the tile is not known to be the same in any of its blocks}}
            tile.copy %A[%m, %i] to %a {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !s
            tile.copy %B[%n, %i] to %b {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !s
            tile.commit %ch[%p] : !tile.channel<2>
            %next = tile.advance %p : !tile.cursor<2>
            scf.yield %next : !tile.cursor<2>
          }
          scf.yield %r : !tile.cursor<2>
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
  // A guard is loaded from memory that the kernel does not write, so it is the same for
  // all blocks that load the same element. The flag that the loop carries keeps this
  // property.
  // CHECK-LABEL: gpu.func @guard
  // CHECK: tile.copy %{{.*}} to %{{.*}} {multicast = #tile.cluster<x>, tile.inst = #tile.inst<tma>}
  gpu.func @guard(%A: memref<?x?xf16>, %mask: memref<?x?xi8>) kernel
      attributes {tile.threads = 160 : i32, tile.cluster = array<i32: 2, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %z = arith.constant 0 : i8
    %false = arith.constant false
    %true = arith.constant true
    %k = memref.dim %A, %c0 : memref<?x?xf16>
    %y = gpu.block_id y
    %As = tile.alloc_shared : !S
    %ch = tile.channel(%As) {producer = #tile.producer<tma>} : !S -> !tile.channel<2>
    tile.specialize {
      tile.role @math warps(4) {
        %q = tile.cursor : !tile.cursor<2>
        %r:2 = scf.for %i = %c0 to %k step %c64 iter_args(%p = %q, %late = %false) -> (!tile.cursor<2>, i1) {
          %m = memref.load %mask[%y, %i] : memref<?x?xi8>
          %on = arith.cmpi ne, %m, %z : i8
          %next = scf.if %on -> !tile.cursor<2> {
            tile.wait %ch[%p] : !tile.channel<2>
            scf.if %late {
              tile.release %ch[%p] : !tile.channel<2>
            }
            %then = tile.advance %p : !tile.cursor<2>
            scf.yield %then : !tile.cursor<2>
          } else {
            scf.yield %p : !tile.cursor<2>
          }
          scf.yield %next, %true : !tile.cursor<2>, i1
        }
      }
      tile.role @load warps(1) {
        %q = tile.cursor : !tile.cursor<2>
        %r = scf.for %i = %c0 to %k step %c64 iter_args(%p = %q) -> !tile.cursor<2> {
          %m = memref.load %mask[%y, %i] : memref<?x?xi8>
          %on = arith.cmpi ne, %m, %z : i8
          %next = scf.if %on -> !tile.cursor<2> {
            tile.acquire %ch[%p] : !tile.channel<2>
            %a = tile.slot %As[%p] : !S -> !s
            tile.copy %A[%c0, %i] to %a {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !s
            tile.commit %ch[%p] : !tile.channel<2>
            %then = tile.advance %p : !tile.cursor<2>
            scf.yield %then : !tile.cursor<2>
          } else {
            scf.yield %p : !tile.cursor<2>
          }
          scf.yield %next : !tile.cursor<2>
        }
      }
    }
    gpu.return
  }
}
