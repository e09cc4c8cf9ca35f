// Versioned buffers for which no layout is possible.
// RUN: tilews-opt %s -split-input-file -tile-infer-layouts -verify-diagnostics

// The layout of a buffer holds for its view, too. The view has slots of four rows, half
// of an atom of the swizzle.
#wg = #gpu.address_space<workgroup>
!a = memref<8x64xf16, #tile.shared<(8, 64):(64, 1), Sw<3,4,3>>, #wg>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @half_an_atom(%X: memref<4x64xf16>) kernel {
    // expected-note @below {{the layout is fixed here}}
    %a = tile.alloc_shared : !a
    %v = tile.view %a : !a to memref<2x4x64xf16, #wg>
    %p = tile.cursor : !tile.cursor<2>
    // expected-error @below {{'tile.slot' op cannot use shared memory with layout #tile.shared<(8, 64):(64, 1), Sw<3,4,3>>: slots of 512 bytes are no multiple of the swizzle's atom of 1024 bytes; copy the tile to a buffer of its own}}
    %s = tile.slot %v[%p] : memref<2x4x64xf16, #wg> -> memref<4x64xf16, #wg>
    tile.copy %X to %s : memref<4x64xf16> to memref<4x64xf16, #wg>
    gpu.return
  }
}

// -----

// wgmma reads slots whose rows are padded.
#wg = #gpu.address_space<workgroup>
!As = memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4608, 72, 1)>, #wg>
!a = memref<64x64xf16, #tile.shared<(64, 64):(72, 1)>, #wg>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @padded(%X: memref<64x64xf32>) kernel {
    // expected-note @below {{the layout is fixed here}}
    %a = tile.alloc_shared : !As
    %p = tile.cursor : !tile.cursor<2>
    %s = tile.slot %a[%p] : !As -> !a
    %c = tile.load %X : memref<64x64xf32> -> tensor<64x64xf32>
    // expected-error @below {{'tile.gemm' op cannot use shared memory with layout #tile.shared<(2, 64, 64):(4608, 72, 1)>: wgmma reads rows along M or N that are 16 bytes apart, found 144; copy the tile to a buffer of its own}}
    %d = tile.gemm %s, %s, %c {transpose_rhs, tile.inst = #tile.inst<wgmma>} : !a, !a -> tensor<64x64xf32>
    gpu.return
  }
}

// -----

// TMA writes dense boxes.
#wg = #gpu.address_space<workgroup>
!As = memref<2x64x64xf16, #tile.shared<(2, 64, 64):(4608, 72, 1)>, #wg>
!a = memref<64x64xf16, #tile.shared<(64, 64):(72, 1)>, #wg>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @padded_box(%X: memref<64x64xf16>) kernel {
    // expected-note @below {{the layout is fixed here}}
    %a = tile.alloc_shared : !As
    %p = tile.cursor : !tile.cursor<2>
    %s = tile.slot %a[%p] : !As -> !a
    // expected-error @below {{'tile.copy' op cannot use shared memory with layout #tile.shared<(2, 64, 64):(4608, 72, 1)>: boxes of 128 bytes without gaps lie 144 bytes apart in shared memory, not a multiple of 128; the layout is padded; copy the tile to a buffer of its own}}
    tile.copy %X to %s {tile.inst = #tile.inst<tma>} : memref<64x64xf16> to !a
    gpu.return
  }
}

// -----

// TMA reads along the contiguous dimension of global memory.
#wg = #gpu.address_space<workgroup>
!a = memref<64x64xf16, #tile.shared<(64, 64):(1, 64)>, #wg>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @transposed_box(%X: memref<64x64xf16>) kernel {
    // expected-note @below {{the layout is fixed here}}
    %a = tile.alloc_shared : !a
    // expected-error @below {{'tile.copy' op cannot use shared memory with layout #tile.shared<(64, 64):(1, 64)>: neighbours in shared memory are 1 apart along global dimension 0, they have to be neighbours along dimension 1; copy the tile to a buffer of its own}}
    tile.copy %X to %a {tile.inst = #tile.inst<tma>} : memref<64x64xf16> to !a
    gpu.return
  }
}

// -----

// There are gaps between the versions, and rows of the view would reach across them.
#wg = #gpu.address_space<workgroup>
!As = memref<2x3x40xf16, #tile.shared<(2, 3, 40):(128, 40, 1)>, #wg>
gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @gap_in_view() kernel {
    // expected-note @below {{the layout is fixed here}}
    %a = tile.alloc_shared : !As
    // expected-error @below {{'tile.view' op cannot use shared memory with layout #tile.shared<(2, 3, 40):(128, 40, 1)>: no layout of its type places the same bytes; copy the tile to a buffer of its own}}
    %v = tile.view %a : !As to memref<5x48xf16, #wg>
    gpu.return
  }
}
