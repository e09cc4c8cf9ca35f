// Layouts that are given, and that the instruction cannot read or write.
// RUN: tilews-opt %s -split-input-file -tile-infer-layouts -verify-diagnostics

#wg = #gpu.address_space<workgroup>
!a = memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<2,4,4>>, #wg>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @swizzle() kernel {
    // expected-note @below {{the layout is fixed here}}
    %a = tile.alloc_shared : !a
    %c = arith.constant dense<0.0> : tensor<64x64xf32>
    // expected-error @below {{'tile.gemm' op cannot use shared memory with layout #tile.shared<(64, 64):(64, 1), Sw<2,4,4>>: wgmma has no swizzle Sw<2,4,4>, only Sw<1,4,3>, Sw<2,4,3> and Sw<3,4,3>; copy the tile to a buffer of its own}}
    %d = tile.gemm %a, %a, %c {transpose_rhs, tile.inst = #tile.inst<wgmma>} : !a, !a -> tensor<64x64xf32>
    gpu.return
  }
}

// -----

#wg = #gpu.address_space<workgroup>
!a = memref<64x64xf16, #tile.shared<(64, 64):(128, 2)>, #wg>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @gaps() kernel {
    // expected-note @below {{the layout is fixed here}}
    %a = tile.alloc_shared : !a
    %c = arith.constant dense<0.0> : tensor<64x64xf32>
    // expected-error @below {{'tile.gemm' op cannot use shared memory with layout #tile.shared<(64, 64):(128, 2)>: no 16 bytes along K, M or N lie side by side; copy the tile to a buffer of its own}}
    %d = tile.gemm %a, %a, %c {transpose_rhs, tile.inst = #tile.inst<wgmma>} : !a, !a -> tensor<64x64xf32>
    gpu.return
  }
}

// -----

// Bytes that are contiguous along N cannot be transposed.
#wg = #gpu.address_space<workgroup>
!a = memref<64x64xi8, #tile.shared<(64, 64):(64, 1), Sw<2,4,3>>, #wg>
!b = memref<64x64xi8, #tile.shared<(64, 64):(1, 64), Sw<2,4,3>>, #wg>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @bytes() kernel {
    %a = tile.alloc_shared : !a
    // expected-note @below {{the layout is fixed here}}
    %b = tile.alloc_shared : !b
    %c = arith.constant dense<0> : tensor<64x64xi32>
    // expected-error @below {{'tile.gemm' op cannot use shared memory with layout #tile.shared<(64, 64):(1, 64), Sw<2,4,3>>: elements of 8 bits that are not side by side along K cannot be transposed; wgmma does that for 16 bits; copy the tile to a buffer of its own}}
    %d = tile.gemm %a, %b, %c {transpose_rhs, tile.inst = #tile.inst<wgmma>} : !a, !b -> tensor<64x64xi32>
    gpu.return
  }
}

// -----

// The swizzle is wider than a contiguous piece of the layout.
#wg = #gpu.address_space<workgroup>
!a = memref<64x32xf16, #tile.shared<(64, 32):(32, 1), Sw<3,4,3>>, #wg>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @narrow(%X: memref<64x32xf16>) kernel {
    // expected-note @below {{the layout is fixed here}}
    %a = tile.alloc_shared : !a
    // expected-error @below {{'tile.copy' op cannot use shared memory with layout #tile.shared<(64, 32):(32, 1), Sw<3,4,3>>: runs of 64 bytes in shared memory are no multiple of the swizzle's 128 bytes; copy the tile to a buffer of its own}}
    tile.copy %X to %a {tile.inst = #tile.inst<tma>} : memref<64x32xf16> to !a
    gpu.return
  }
}

// -----

#wg = #gpu.address_space<workgroup>
!a = memref<64x4xf16, #tile.shared<(64, 4):(4, 1)>, #wg>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @sixteen_bytes(%X: memref<64x4xf16>) kernel {
    // expected-note @below {{the layout is fixed here}}
    %a = tile.alloc_shared : !a
    // expected-error @below {{'tile.copy' op cannot use shared memory with layout #tile.shared<(64, 4):(4, 1)>: runs of 8 bytes in shared memory are no multiple of 16 bytes; copy the tile to a buffer of its own}}
    tile.copy %X to %a {tile.inst = #tile.inst<tma>} : memref<64x4xf16> to !a
    gpu.return
  }
}

// -----

#wg = #gpu.address_space<workgroup>
!a = memref<64x64xf16, #tile.shared<(64, 64):(64, 1)>, #wg>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @part(%X: memref<64x56xf16>) kernel {
    // expected-note @below {{the layout is fixed here}}
    %a = tile.alloc_shared : !a
    // expected-error @below {{'tile.copy' op cannot use shared memory with layout #tile.shared<(64, 64):(64, 1)>: the region begins 16 bytes into the buffer, not at a multiple of 128; copy the tile to a buffer of its own}}
    tile.copy %X to %a[0, 8] [64, 56] {tile.inst = #tile.inst<tma>} : memref<64x56xf16> to !a
    gpu.return
  }
}

// -----

// The columns of one panel and half of those of the next one.
#wg = #gpu.address_space<workgroup>
!a = memref<64x128xf16, #tile.shared<(64, (64, 2)):(64, (1, 4096)), Sw<3,4,3>>, #wg>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @cut(%X: memref<64x96xf16>) kernel {
    // expected-note @below {{the layout is fixed here}}
    %a = tile.alloc_shared : !a
    // expected-error @below {{the region cuts through the runs of 64 elements along shared dimension 1; copy the tile to a buffer of its own}}
    tile.copy %X to %a[0, 0] [64, 96] {tile.inst = #tile.inst<tma>} : memref<64x96xf16> to !a
    gpu.return
  }
}

// -----

#wg = #gpu.address_space<workgroup>
!a = memref<64x64xf16, #tile.shared<(64, 64):(64, 1)>, #wg>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @place(%X: memref<32x64xf16>, %i: index) kernel {
    // expected-note @below {{the layout is fixed here}}
    %a = tile.alloc_shared : !a
    // expected-error @below {{the offset in shared memory is known only when the kernel runs; copy the tile to a buffer of its own}}
    tile.copy %X to %a[%i, 0] [32, 64] {tile.inst = #tile.inst<tma>} : memref<32x64xf16> to !a
    gpu.return
  }
}
